//! One connection: reading, writing, calls and the host, side by side.

use crate::agent::notes::{call_id, later, note};
use crate::providers::event::{Event, ProtocolError};
use crate::providers::spec::LiveMessage;
use crate::transport::api_key::told;
use crate::transport::websocket::calls::{Done, Told};
use crate::transport::websocket::connect::{Incoming, Link, Lost, read};
use crate::transport::websocket::driver::{Asked, Driver, End};
use crate::transport::websocket::{Input, LiveEvent};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use futures_util::StreamExt;
use serde_json::Value;
use tokio::time::{Instant, sleep_until};
use tokio_tungstenite::tungstenite::Error;
use tool_core::session::Turn;
use tool_core::{ToolCall, ToolResponse};

/// The messages that may wait for the socket before the host has to.
const WAITING: usize = 64;

/// What comes next.
enum Tick {
    Read(Incoming),
    Written(Result<(), Error>),
    Done(Done),
    Host(Option<Input>),
    Update(ToolResponse),
    Shown,
    Heartbeat,
    Close,
}

impl Driver {
    pub(crate) async fn serve(&mut self, link: &mut Link) -> End {
        let mut heard = Instant::now();
        let mut pinged = heard;
        let began = heard;
        if link.ready {
            self.connected();
        }
        loop {
            let alarm = if link.ready { pinged + self.model.heartbeat } else { began + self.model.connect_timeout };
            let end = match self.tick(link, alarm).await {
                Tick::Read(Incoming::Gone(lost)) => Some(End::Lost(lost)),
                Tick::Read(incoming) => {
                    (heard, pinged) = (Instant::now(), Instant::now());
                    if let Incoming::Json(bytes) = incoming {
                        self.message(&bytes, link);
                    }
                    None
                }
                Tick::Written(Ok(())) | Tick::Shown => None,
                Tick::Written(Err(error)) => {
                    let message = format!("the connection broke: {}", told(&error.to_string(), None));
                    Some(End::Lost(Lost::again(message)))
                }
                Tick::Done(done) => self.done(done, link),
                Tick::Host(input) => {
                    if let Some(input) = input {
                        self.host(input, link);
                    }
                    None
                }
                Tick::Update(response) => {
                    self.updated(response, link);
                    None
                }
                Tick::Heartbeat if !link.ready => Some(End::Lost(self.too_slow())),
                Tick::Heartbeat if heard.elapsed() >= self.model.heartbeat * 2 => {
                    Some(End::Lost(Lost::again("the provider gives no sign of life")))
                }
                Tick::Heartbeat => {
                    pinged = Instant::now();
                    link.out.ping();
                    None
                }
                Tick::Close => Some(End::Over),
            };
            if let Some(end) = end {
                return end;
            }
            self.ask(link);
        }
    }

    async fn tick(&mut self, link: &mut Link, alarm: Instant) -> Tick {
        let Link { out, incoming, ready, .. } = link;
        let ready = *ready;
        let room = out.len() < WAITING;
        let updates = &mut self.model.updates;
        tokio::select! {
            _ = self.closed.wait_for(|closed| *closed) => Tick::Close,
            message = incoming.next(), if !self.events.are_too_many() => Tick::Read(read(message)),
            written = out.flush(), if !out.is_empty() => Tick::Written(written),
            Ok(permit) = self.events.sender.reserve(), if !self.events.waiting.is_empty() => {
                if let Some(event) = self.events.waiting.pop_front() {
                    permit.send(event);
                }
                Tick::Shown
            }
            done = self.calls.next(), if ready => Tick::Done(done),
            Some(input) = self.inputs.recv(), if ready && room => Tick::Host(Some(input)),
            Some(response) = async { updates.as_mut()?.0.recv().await }, if ready => Tick::Update(response),
            () = sleep_until(alarm) => Tick::Heartbeat,
        }
    }

    fn message(&mut self, bytes: &[u8], link: &mut Link) {
        let Ok(message) = serde_json::from_slice::<Value>(bytes) else {
            // The protocol says what is wrong with it.
            let mut events = self.protocol.push(bytes);
            if events.is_empty() {
                let text = String::from_utf8_lossy(bytes).chars().take(200).collect();
                events.push(Event::Error(ProtocolError::Malformed { message: "a message is not JSON".into(), text }));
            }
            return self.events.waiting.extend(events.into_iter().map(LiveEvent::Model));
        };
        if link.messages.confirms_setup(&message) && !link.ready {
            link.ready = true;
            self.connected();
        }
        self.state.speaking |= link.messages.begins_response(&message);
        if let Some(handle) = link.messages.resumption_handle(&message) {
            self.state.handle = handle;
        }
        for event in self.protocol.push_event(&message) {
            self.event(event, link);
        }
        self.spans.message_over();
    }

    fn event(&mut self, event: Event, link: &mut Link) {
        let event = match event {
            // The model was stopped in the middle of it: what has come of it may mean something else.
            Event::Call(call) if self.state.cut.as_deref() == Some(call.id()) => return,
            Event::Call(call) => {
                let call = self.declarations.restore(call);
                self.call(&call, link);
                Event::Call(call)
            }
            event => event,
        };
        self.spans.event(&event);
        match &event {
            Event::Text(_) | Event::Audio { .. } | Event::Reasoning(_) | Event::CallStarted { .. } => {
                self.state.speaking = true;
            }
            Event::Cancelled(ids) => self.calls.withdraw(ids),
            Event::Interrupted => {
                self.calls.interrupt();
                // What the user says will be answered.
                self.state.asked = Asked::No;
            }
            Event::Error(ProtocolError::DuplicateId { id }) => self.state.again = Some(id.clone()),
            Event::Error(ProtocolError::Truncated { call_id: Some(id) }) => self.state.cut = Some(id.clone()),
            Event::Finished(_) => {
                self.state.speaking = false;
                // Results that the model has yet to speak of belong to the same turn.
                if self.state.asked == Asked::No && !self.calls.are_awaited() {
                    self.calls.next_turn();
                }
            }
            _ => {}
        }
        self.events.push(LiveEvent::Model(event));
    }

    fn call(&mut self, call: &ToolCall, link: &mut Link) {
        let again = self.state.again.take();
        let known = self.calls.start(call.clone(), self.state.conversation, again.as_deref(), self.spans.agent());
        if let Some(answer) = known {
            self.answer(&answer, true, link);
        }
    }

    fn done(&mut self, done: Done, link: &mut Link) -> Option<End> {
        match done {
            Done::Answered(response) => match self.calls.answered(response, self.state.conversation) {
                Told::Send(response, speak) => {
                    self.answer(&response, speak, link);
                    self.events.push(LiveEvent::Answered(response));
                }
                Told::Late(response) => self.events.push(LiveEvent::Unsent(response)),
                Told::Withdrawn => {}
            },
            Done::Decided(response, word) => {
                if let Some(note) = note(&response, word) {
                    self.say(link.messages.text(&note), Asked::Now, link);
                }
                self.events.push(LiveEvent::Answered(response));
            }
            Done::Turned(turn) => return self.turned(turn),
        }
        None
    }

    /// Word of a call that goes on. Of one that the provider has withdrawn it wants to hear nothing.
    fn updated(&mut self, response: ToolResponse, link: &mut Link) {
        if !self.calls.was_withdrawn(call_id(&response)) {
            self.say(link.messages.text(&later(&response)), Asked::Now, link);
        }
        self.events.push(LiveEvent::Updated(response));
    }

    fn turned(&mut self, turn: Turn) -> Option<End> {
        let ended = turn.ended;
        self.events.push(LiveEvent::Turn(turn));
        ended.then_some(End::Over)
    }

    fn answer(&mut self, response: &ToolResponse, speak: bool, link: &mut Link) {
        let results = link.messages.results(self.protocol.encode(std::slice::from_ref(response)));
        let asked = if speak { Asked::AfterCalls } else { Asked::No };
        self.say(results, asked, link);
    }

    fn host(&mut self, input: Input, link: &mut Link) {
        match input {
            Input::Text(text) => self.say(link.messages.text(&text), Asked::Now, link),
            Input::Audio(sound) => {
                let audio = link.messages.audio(&BASE64_STANDARD.encode(sound), &self.model.audio_type);
                self.say(audio, Asked::No, link);
            }
            Input::AudioEnd => self.say(link.messages.audio_end(), Asked::Now, link),
            Input::Raw(message) => link.out.json(&message),
            Input::Decide(token, word) => self.calls.decide(token, word, self.spans.agent()),
            Input::Interrupt => {
                self.calls.interrupt();
                if let Some(stop) = link.messages.cancel_response().filter(|_| self.state.speaking) {
                    link.out.json(&stop);
                }
            }
        }
    }

    fn say(&mut self, message: LiveMessage, asked: Asked, link: &mut Link) {
        for message in &message.messages {
            link.out.json(message);
        }
        if message.wants_response {
            self.state.asked = self.state.asked.max(asked);
        }
    }

    /// Tells the model to speak, where it has to be told: not while it does, as that is refused, and not while results
    /// are missing that it has asked for in one message.
    fn ask(&mut self, link: &mut Link) {
        let now = match self.state.asked {
            Asked::No => false,
            Asked::AfterCalls => !self.calls.are_awaited(),
            Asked::Now => true,
        };
        if now && !self.state.speaking {
            self.state.asked = Asked::No;
            if let Some(answer) = link.messages.request_response() {
                link.out.json(&answer);
                self.state.speaking = true;
            }
        }
    }
}
