//! The task of a live conversation: from connection to connection.

use crate::providers::declare::{Declarations, declare_tools};
use crate::providers::event::{Event, Request};
use crate::providers::protocol::{Protocol, protocol};
use crate::providers::spec::LiveEndpoint;
use crate::transport::websocket::calls::Calls;
use crate::transport::websocket::connect::{Link, Lost, Socket, connect, slow};
use crate::transport::websocket::spans::Spans;
use crate::transport::websocket::{Input, LiveEvent, LiveModel};
use std::collections::VecDeque;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep};
use tool_core::session::ToolChoice;
use tool_core::{Session, ToolDefinition};

/// A connection that has held for longer was a good one: attempts are counted anew.
const HELD: Duration = Duration::from_secs(5);

pub(crate) struct Driver {
    pub(crate) model: LiveModel,
    pub(crate) protocol: Box<dyn Protocol>,
    pub(crate) declarations: Declarations,
    pub(crate) calls: Calls,
    pub(crate) inputs: mpsc::Receiver<Input>,
    pub(crate) closed: watch::Receiver<bool>,
    pub(crate) events: Events,
    pub(crate) state: State,
    pub(crate) spans: Spans,
}

/// What is to be kept from one connection to the next.
#[derive(Default)]
pub(crate) struct State {
    /// By what the conversation can be taken up again.
    pub(crate) handle: Option<String>,
    /// Counts the provider's conversations: one that is taken up again is the same.
    pub(crate) conversation: u64,
    /// The model is speaking, as far as we know.
    pub(crate) speaking: bool,
    /// The model is to speak now that there is something new, or as soon as all calls have their results.
    pub(crate) asked: Asked,
    /// Whether the setup was sent,
    pub(crate) connecting: bool,
    /// and since when the provider has taken part.
    pub(crate) since: Option<Instant>,
    /// The id of a call that the provider has sent before.
    pub(crate) again: Option<String>,
    /// The id of a call that was cut off.
    pub(crate) cut: Option<String>,
}

/// When the model is to be told to speak.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Asked {
    #[default]
    No,
    AfterCalls,
    Now,
}

/// How a connection ends.
pub(crate) enum End {
    /// The host or the session has ended the conversation.
    Over,
    Lost(Lost),
}

/// What the host has not taken yet.
pub(crate) struct Events {
    pub(crate) sender: mpsc::Sender<LiveEvent>,
    pub(crate) waiting: VecDeque<LiveEvent>,
}

impl Events {
    /// From here on the socket is not read until the host has caught up.
    const MOST: usize = 1_000;

    pub(crate) fn push(&mut self, event: LiveEvent) {
        self.waiting.push_back(event);
    }

    pub(crate) fn are_too_many(&self) -> bool {
        self.waiting.len() >= Self::MOST
    }

    /// Gives them all to the host, who may be gone.
    async fn flush(&mut self) {
        for event in self.waiting.drain(..) {
            if self.sender.send(event).await.is_err() {
                return;
            }
        }
    }
}

impl Driver {
    pub(crate) fn new(
        session: Session,
        model: LiveModel,
        inputs: mpsc::Receiver<Input>,
        events: mpsc::Sender<LiveEvent>,
        closed: watch::Receiver<bool>,
    ) -> Self {
        let mode = session.mode();
        let shown = |tool: &&ToolDefinition| tool.modes().contains(mode);
        let tools = session.tools().definitions().filter(shown);
        let declarations = declare_tools(model.provider, tools, session.tools().provider_tools(), model.declare);
        Self {
            protocol: protocol(model.provider),
            declarations,
            calls: Calls::new(session),
            inputs,
            closed,
            events: Events { sender: events, waiting: VecDeque::new() },
            state: State::default(),
            spans: Spans::open(&model),
            model,
        }
    }

    pub(crate) async fn run(mut self) {
        let mut failed = 0;
        let over = loop {
            let lost = match self.connection().await {
                End::Over => break None,
                End::Lost(lost) => lost,
            };
            let with_handle = self.state.handle.is_some();
            let held = self.lost();
            failed = if held > HELD { 1 } else { failed + 1 };
            let again = lost.again || with_handle && self.state.handle.is_none();
            let wait = self.model.retry.wait(failed).filter(|_| again);
            let Some(wait) = wait else {
                self.events.push(LiveEvent::Failed(lost.error.clone()));
                break Some(lost.error);
            };
            tracing::warn!(provider = %self.model.provider, error = %lost.error, ?wait, "the live connection is opened again");
            self.events.push(LiveEvent::Disconnected { error: lost.error, retry_in: wait });
            self.events.flush().await;
            if self.closes_within(wait).await {
                break None;
            }
        };
        self.calls.give_up().await;
        self.spans.close(over.as_ref());
        self.events.flush().await;
    }

    async fn closes_within(&mut self, time: Duration) -> bool {
        tokio::select! {
            _ = self.closed.wait_for(|closed| *closed) => true,
            () = sleep(time) => false,
        }
    }

    /// One connection, from its beginning to its end.
    async fn connection(&mut self) -> End {
        let socket = tokio::select! {
            _ = self.closed.wait_for(|closed| *closed) => return End::Over,
            socket = connect(&self.model) => socket,
        };
        let mut link = match socket {
            Ok((socket, live)) => self.link(socket, live),
            Err(lost) => return End::Lost(lost),
        };
        self.state.connecting = true;
        let end = self.serve(&mut link).await;
        if let End::Over = end {
            link.close().await;
        }
        end
    }

    /// A connection on which the setup is on its way.
    fn link(&self, socket: Socket, live: LiveEndpoint) -> Link {
        let mut link = Link::new(socket, live);
        let session = self.calls.session();
        let setup = self.protocol.request(&Request {
            model: &self.model.model,
            instructions: &session.instructions(),
            history: &[],
            declarations: &self.declarations,
            tool_choice: ToolChoice::Auto,
            stream: true,
            max_tokens: None,
            extra: &self.model.extra,
        });
        link.out.json(&live.messages.resumable(setup, self.state.handle.as_deref()));
        link
    }

    /// The provider takes part in the conversation.
    pub(crate) fn connected(&mut self) {
        let resumed = self.state.handle.is_some();
        if !resumed {
            self.state.conversation += 1;
        }
        self.state.since = Some(Instant::now());
        self.events.push(LiveEvent::Connected { resumed });
    }

    /// Nothing of the message that was under way will come. How long the connection has held.
    fn lost(&mut self) -> Duration {
        self.spans.lost();
        for event in self.protocol.finish() {
            // A call that was cut off runs not: the model that takes the conversation up makes it again.
            if !matches!(event, Event::Call(_)) {
                self.events.push(LiveEvent::Model(event));
            }
        }
        let State { handle, conversation, since, connecting, .. } = std::mem::take(&mut self.state);
        // A handle with which the provider let nobody in is of no use.
        let handle = handle.filter(|_| since.is_some() || !connecting);
        self.state = State { handle, conversation, ..State::default() };
        since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    pub(crate) fn too_slow(&self) -> Lost {
        slow(self.model.connect_timeout)
    }
}
