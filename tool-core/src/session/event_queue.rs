//! The events of a reply on their way from the loop, the model and the tools to the reader of a
//! stream.

use crate::call::{ProgressUpdate, ToolCall, ToolResponse};
use crate::session::agent_event::{AgentEvent, ApprovalWanted, EVENT_SCHEMA_VERSION};
use crate::session::reply::Reply;
use parking_lot::Mutex;
use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use tokio::sync::Notify;

/// The most updates that wait for the reader, and the most bytes of them. Older ones are left out.
const MAX_UPDATES: usize = 1_000;
const MAX_UPDATE_BYTES: usize = 1 << 20;

/// A sender of the events of one reply. A model finds it in
/// [`ModelRequest::events`](super::ModelRequest::events), and shows its answer with it piece by piece.
///
/// Cheap to clone; clones send to the same reader. After the end of the reply it does nothing.
///
/// ```
/// use futures_util::StreamExt;
/// use tool_core::session::{AgentEvent, History, Model, ModelRequest, ModelStep};
/// use tool_core::{Mode, Runtime, ToolContext, ToolError};
///
/// /// Answers word by word.
/// struct SlowSpeaker;
///
/// impl Model for SlowSpeaker {
///     async fn step(&mut self, request: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
///         for word in ["Good ", "morning"] {
///             if let Some(events) = request.events {
///                 events.text(word);
///                 events.taken().await;
///             }
///         }
///         Ok(ModelStep::says("Good morning"))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let runtime = Runtime::builder(ToolContext::builder().build()?).build()?;
/// let session = runtime.session("s-1", Mode::Text).await?;
/// let mut history = History::new();
/// let mut model = SlowSpeaker;
/// let mut events = session.reply_stream(&mut model, &mut history, "Hi");
/// let mut pieces = Vec::new();
/// while let Some(event) = events.next().await {
///     if let AgentEvent::Text { delta } = event {
///         pieces.push(delta);
///     }
/// }
/// assert_eq!(pieces, ["Good ", "morning"]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct EventSender(Arc<EventQueue>);

impl EventSender {
    pub(crate) fn new() -> Self {
        Self(Arc::default())
    }

    /// Sends the first event, with the id of the session and its turn. A further one is left out.
    pub fn started(&self, session: &str, turn: u64) {
        let mut waiting = self.0.waiting.lock();
        if std::mem::replace(&mut waiting.has_started, true) {
            return;
        }
        waiting.push(AgentEvent::Started {
            schema_version: EVENT_SCHEMA_VERSION.to_owned(),
            session: session.to_owned(),
            turn,
        });
    }

    /// Sends a piece of the model's text. The pieces of a step must be the text of the step: if a
    /// model sends none, the loop sends the whole.
    pub fn text(&self, piece: impl Into<String>) {
        let delta = piece.into();
        let mut waiting = self.0.waiting.lock();
        waiting.has_text |= !delta.is_empty();
        waiting.push(AgentEvent::Text { delta });
    }

    /// Sends a piece of the model's reasoning.
    pub fn reasoning(&self, piece: impl Into<String>) {
        let delta = piece.into();
        self.0.waiting.lock().push(AgentEvent::Reasoning { delta });
    }

    /// Sends a text that the host puts before the reply of the model.
    pub fn host_text(&self, text: impl Into<String>) {
        self.send(AgentEvent::Text { delta: text.into() });
    }

    /// Waits until the reader has taken all events. A model that awaits it between two reads of its
    /// server is as slow as the reader, and fills no memory.
    pub async fn taken(&self) {
        loop {
            let mut emptied = pin!(self.0.emptied.notified());
            // Enabled before the look, so that no reader comes in between.
            emptied.as_mut().enable();
            if self.0.waiting.lock().events.is_empty() {
                return;
            }
            emptied.await;
        }
    }

    /// Sends the end of a step's text and its usage. The text is sent if the model has sent no
    /// piece of it.
    pub(crate) fn step_ended(&self, text: Option<&str>, usage: AgentEvent) {
        let mut waiting = self.0.waiting.lock();
        let was_shown = std::mem::take(&mut waiting.has_text);
        if let Some(text) = text.filter(|_| !was_shown) {
            waiting.push(AgentEvent::Text {
                delta: text.to_owned(),
            });
        }
        waiting.push(usage);
    }

    /// Lets another model begin the step's text again. The loop then sends its text if it sends no
    /// piece.
    pub(crate) fn begin_again(&self) {
        self.0.waiting.lock().has_text = false;
    }

    /// Sends the beginning of a call, and returns the call with its updates sent, too.
    pub(crate) fn begin(&self, call: &ToolCall) -> ToolCall {
        let mut waiting = self.0.waiting.lock();
        waiting.open.insert(call.id().to_owned());
        waiting.push(AgentEvent::CallBegun {
            call_id: call.id().to_owned(),
            tool: call.name().to_owned(),
            arguments: call.arguments().to_owned(),
        });
        drop(waiting);

        let sender = self.clone();
        let call_id = Arc::clone(call.shared_id());
        let tool = call.name().to_owned();
        call.clone()
            .and_on_update(move |update| sender.update(&call_id, &tool, update))
    }

    /// Sends the beginning and the result of a call that does not run.
    pub(crate) fn not_run(&self, call: &ToolCall, response: &ToolResponse) {
        // It reports nothing.
        let _ = self.begin(call);
        self.result(call, response, Vec::new());
    }

    fn update(&self, call_id: &str, tool: &str, update: &ProgressUpdate) {
        let mut waiting = self.0.waiting.lock();
        // A tool on another thread may report while its call is answered.
        if !waiting.open.contains(call_id) {
            return;
        }
        waiting.push(AgentEvent::CallUpdate {
            call_id: call_id.to_owned(),
            tool: tool.to_owned(),
            message: update.message.clone(),
            fraction: update.fraction,
        });
    }

    /// Sends the result of a call, and the approvals that it waits for.
    pub(crate) fn result(
        &self,
        call: &ToolCall,
        response: &ToolResponse,
        approvals: Vec<ApprovalWanted>,
    ) {
        let mut waiting = self.0.waiting.lock();
        if !waiting.open.remove(call.id()) {
            return;
        }
        waiting.push(AgentEvent::CallResult {
            call_id: call.id().to_owned(),
            tool: call.name().to_owned(),
            response: Box::new(response.clone()),
        });
        for wanted in approvals {
            waiting.push(AgentEvent::ApprovalWanted(wanted));
        }
    }

    pub(crate) fn send(&self, event: AgentEvent) {
        self.0.waiting.lock().push(event);
    }

    /// Sends the last event.
    pub(crate) fn finish(&self, reply: Reply) {
        let mut waiting = self.0.waiting.lock();
        waiting.push(AgentEvent::Finished {
            reply: Box::new(reply),
        });
        waiting.has_ended = true;
    }

    /// Ends the reply without a last event, as its reader is gone.
    pub(crate) fn close(&self) {
        let mut waiting = self.0.waiting.lock();
        waiting.has_ended = true;
        waiting.events.clear();
        drop(waiting);
        self.0.emptied.notify_waiters();
    }

    /// Takes the oldest event. Without one, the reader is woken by the next.
    pub(crate) fn take(&self, reader: &Context<'_>) -> Option<AgentEvent> {
        let mut waiting = self.0.waiting.lock();
        let taken = waiting.pop();
        if taken.is_none() {
            waiting.reader = Some(reader.waker().clone());
        }
        let is_empty = waiting.events.is_empty();
        drop(waiting);
        if taken.is_some() && is_empty {
            self.0.emptied.notify_waiters();
        }
        taken
    }
}

impl fmt::Debug for EventSender {
    // Events have the user's data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventSender").finish_non_exhaustive()
    }
}

#[derive(Default)]
struct EventQueue {
    waiting: Mutex<WaitingEvents>,
    /// Told when the reader has taken the last event.
    emptied: Notify,
}

#[derive(Default)]
struct WaitingEvents {
    events: VecDeque<AgentEvent>,
    updates: usize,
    update_bytes: usize,
    /// The calls that have begun and have no result.
    open: HashSet<String>,
    has_started: bool,
    /// True if a piece of the step's text was sent.
    has_text: bool,
    has_ended: bool,
    reader: Option<Waker>,
}

impl WaitingEvents {
    fn push(&mut self, event: AgentEvent) {
        if self.has_ended || self.is_joined(&event) {
            return;
        }
        if let AgentEvent::CallUpdate { message, .. } = &event {
            self.updates += 1;
            self.update_bytes += message.len();
        }
        self.events.push_back(event);
        self.limit_updates();
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }

    /// Joins a piece of text to the piece before it, if that one still waits. Returns true for a
    /// piece that needs no event.
    fn is_joined(&mut self, event: &AgentEvent) -> bool {
        let last = self.events.back_mut();
        match (event, last) {
            (AgentEvent::Text { delta } | AgentEvent::Reasoning { delta }, _)
                if delta.is_empty() =>
            {
                true
            }
            (AgentEvent::Text { delta }, Some(AgentEvent::Text { delta: whole }))
            | (AgentEvent::Reasoning { delta }, Some(AgentEvent::Reasoning { delta: whole })) => {
                whole.push_str(delta);
                true
            }
            _ => false,
        }
    }

    /// Leaves out the oldest updates if too many wait.
    fn limit_updates(&mut self) {
        while self.updates > MAX_UPDATES
            || (self.update_bytes > MAX_UPDATE_BYTES && self.updates > 1)
        {
            let is_update = |event: &AgentEvent| matches!(event, AgentEvent::CallUpdate { .. });
            let Some(oldest) = self.events.iter().position(is_update) else {
                return;
            };
            let removed = self.events.remove(oldest);
            self.count_out(removed.as_ref());
        }
    }

    fn pop(&mut self) -> Option<AgentEvent> {
        let event = self.events.pop_front();
        self.count_out(event.as_ref());
        event
    }

    /// Counts an update that waits no more.
    fn count_out(&mut self, event: Option<&AgentEvent>) {
        if let Some(AgentEvent::CallUpdate { message, .. }) = event {
            self.updates -= 1;
            self.update_bytes -= message.len();
        }
    }
}
