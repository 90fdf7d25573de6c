//! The task of a live conversation, across its connections.

use crate::providers::framing::frame::is_too_large_to_parse;
use crate::providers::spec::LiveMessage;
use crate::providers::{Declarations, Event, Protocol, ProtocolError, Request, declare_tools, protocol};
use crate::transport::api_key::redact_event;
use crate::transport::call_note::{decision_note, update_note, updated_call_id};
use crate::transport::websocket::calls::{Delivery, FinishedWork, LiveCalls};
use crate::transport::websocket::connection::{Connection, can_retry, received, timeout_error};
use crate::transport::websocket::events::{
    EventQueue, HostInput, LiveEvent, LiveInput, SpeechFilter, SuppressedSpeech,
};
use crate::transport::websocket::model::LiveModel;
use crate::transport::websocket::spans::ConversationSpans;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use futures_util::StreamExt;
use serde_json::Value;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until};
use tool_core::session::{ToolChoice, without_notes};
use tool_core::{Intent, Session, ToolCall, ToolDefinition, ToolError, ToolResponse, time};

/// A live conversation. See the [module](super). Dropping it ends the conversation.
#[derive(Debug)]
pub struct LiveLoop {
    events: mpsc::Receiver<LiveEvent>,
    filter: SpeechFilter,
    input: LiveInput,
    task: JoinHandle<()>,
}

impl LiveLoop {
    /// Starts a conversation in a task. Needs a tokio runtime.
    pub fn start(session: Session, model: LiveModel) -> Self {
        const CAPACITY: usize = 64;
        let (event_sender, events) = mpsc::channel(CAPACITY);
        let (input_sender, inputs) = mpsc::channel(CAPACITY);
        let (close, closed) = watch::channel(false);
        let filter = SpeechFilter::new(session.clone());
        let task = LiveTask {
            protocol: protocol(model.provider),
            tools: DeclaredTools::new(&session, &model),
            calls: LiveCalls::new(session),
            inputs,
            closed,
            events: EventQueue::new(event_sender, filter.clone()),
            state: ConversationState::default(),
            // Opened here, so that the spans are children of the caller's span.
            spans: ConversationSpans::open(&model),
            model,
        };
        Self { events, filter, input: LiveInput::new(input_sender, close), task: tokio::spawn(task.run()) }
    }

    /// Returns the next event, or `None` after the conversation has ended. Dropping the future loses no event.
    pub async fn next(&mut self) -> Option<LiveEvent> {
        loop {
            let event = self.events.recv().await?;
            if self.filter.admits(&event) {
                return Some(event);
            }
        }
    }

    /// Returns how much speech the session has kept from the host so far.
    pub fn suppressed(&self) -> SuppressedSpeech {
        self.filter.suppressed()
    }

    /// Returns the input of the conversation. Cheap to clone.
    pub fn input(&self) -> LiveInput {
        self.input.clone()
    }
}

impl Drop for LiveLoop {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A connection that has lasted this long resets the number of attempts.
const STABLE_AFTER: Duration = Duration::from_secs(5);

/// With this many messages waiting for the socket, no input of the host is accepted.
const MAX_OUTGOING: usize = 64;

struct LiveTask {
    model: LiveModel,
    protocol: Box<dyn Protocol>,
    tools: DeclaredTools,
    calls: LiveCalls,
    inputs: mpsc::Receiver<HostInput>,
    closed: watch::Receiver<bool>,
    events: EventQueue,
    state: ConversationState,
    spans: ConversationSpans,
}

/// The tools that the provider knows.
struct DeclaredTools {
    names: Vec<String>,
    declarations: Declarations,
}

impl DeclaredTools {
    fn new(session: &Session, model: &LiveModel) -> Self {
        Self::of(&session.definitions(), session, model)
    }

    fn of(tools: &[ToolDefinition], session: &Session, model: &LiveModel) -> Self {
        let names = tools.iter().map(|tool| tool.name().to_owned()).collect();
        let provider_tools = session.tools().provider_tools();
        Self { names, declarations: declare_tools(model.provider, tools.iter(), provider_tools, model.declare) }
    }

    /// Declares the tools that the model may see now, if they are others than these.
    fn changed(&self, session: &Session, model: &LiveModel) -> Option<Self> {
        let tools = session.definitions();
        let is_same = tools.iter().map(ToolDefinition::name).eq(self.names.iter().map(String::as_str));
        if is_same { None } else { Some(Self::of(&tools, session, model)) }
    }
}

/// The reason why a connection was closed without an error.
enum Closed {
    /// The host or the session has ended the conversation.
    ByHost,
    /// The tools have changed, and the provider takes others in a new connection only.
    ForOtherTools,
}

#[derive(Default)]
struct ConversationState {
    /// The handle with which the conversation can be resumed.
    resume_handle: Option<String>,
    /// Counts the provider's conversations. A resumed conversation keeps its number.
    conversation: u64,
    /// True while the model is generating a response.
    is_responding: bool,
    /// True from a message to which the model responds until a response has ended.
    awaits_response: bool,
    tools: ToolsState,
    response_request: ResponseRequest,
    steps: Steps,
    /// True once the setup was sent.
    is_connecting: bool,
    connected_at: Option<Instant>,
    /// The id of a call that the provider has repeated.
    repeated_call: Option<String>,
    /// The id of a call that was truncated.
    truncated_call: Option<String>,
}

/// The steps of a reply: responses with calls.
#[derive(Default)]
struct Steps {
    complete: u32,
    /// True if the current response has a call.
    has_call: bool,
}

/// The time at which the model has to be asked for a response.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum ResponseRequest {
    #[default]
    None,
    AfterCalls,
    Now,
}

/// Knowledge about the declared tools.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum ToolsState {
    #[default]
    Current,
    /// They may have changed.
    Unknown,
    /// They have changed, and wait for another connection.
    Outdated,
}

impl LiveTask {
    async fn run(mut self) {
        let mut failed = 0;
        let error = loop {
            let error = match self.run_connection().await {
                Ok(Closed::ByHost) => break None,
                Ok(Closed::ForOtherTools) => {
                    self.disconnect();
                    continue;
                }
                Err(error) => error,
            };
            let had_handle = self.state.resume_handle.is_some();
            let lasted = self.disconnect();
            failed = if lasted > STABLE_AFTER { 1 } else { failed + 1 };
            // A handle that the provider refused is dropped, so a new conversation may still be possible.
            let can_retry = can_retry(&error) || had_handle && self.state.resume_handle.is_none();
            let Some(delay) = self.model.retry.delay(failed).filter(|_| can_retry) else {
                self.events.push(LiveEvent::Failed(error.clone()));
                break Some(error);
            };
            tracing::warn!(provider = %self.model.provider, %error, ?delay, "reconnecting to a live model");
            self.events.push(LiveEvent::Disconnected { error, retry_in: delay });
            self.events.flush().await;
            tokio::select! {
                () = wait_until_closed(&mut self.closed) => break None,
                () = sleep(delay) => {}
            }
        };
        self.calls.abort().await;
        self.spans.close(error.as_ref());
        self.events.flush().await;
    }

    /// Opens one connection, and serves it until the host or the session ends the conversation.
    async fn run_connection(&mut self) -> Result<Closed, ToolError> {
        let mut connection = tokio::select! {
            () = wait_until_closed(&mut self.closed) => return Ok(Closed::ByHost),
            connection = Connection::open(&self.model) => connection?,
        };
        if let Some(tools) = self.tools.changed(&self.calls.session, &self.model) {
            self.tools = tools;
        }
        let setup = self.setup(&self.tools);
        connection.outgoing.push_json(&connection.messages.resumable(setup, self.state.resume_handle.as_deref()));
        self.state.is_connecting = true;
        let closed = self.serve(&mut connection).await?;
        connection.close().await;
        Ok(closed)
    }

    fn setup(&self, tools: &DeclaredTools) -> Value {
        self.protocol.request(&Request {
            model: &self.model.model,
            instructions: &self.calls.session.instructions(),
            history: &[],
            declarations: &tools.declarations,
            tool_choice: ToolChoice::Auto,
            stream: true,
            max_tokens: None,
            extra: &self.model.extra,
        })
    }

    /// Records that the provider has accepted the setup.
    fn connected(&mut self) {
        let resumed = self.state.resume_handle.is_some();
        if !resumed {
            self.state.conversation += 1;
        }
        self.state.connected_at = Some(Instant::now());
        self.events.push(LiveEvent::Connected { resumed });
    }

    /// Resets the state of the connection. Returns the time that it has lasted.
    fn disconnect(&mut self) -> Duration {
        self.spans.disconnect();
        for event in self.protocol.finish() {
            // A truncated call does not run. The model makes it again when the conversation is resumed.
            if !matches!(event, Event::Call(_)) {
                self.events.push(LiveEvent::Model(event));
            }
        }
        let ConversationState { resume_handle, conversation, connected_at, is_connecting, .. } =
            std::mem::take(&mut self.state);
        // A handle with which the provider refused the setup is not used again.
        let resume_handle = resume_handle.filter(|_| connected_at.is_some() || !is_connecting);
        self.state = ConversationState { resume_handle, conversation, ..ConversationState::default() };
        connected_at.map_or(Duration::ZERO, |since| since.elapsed())
    }

    async fn serve(&mut self, connection: &mut Connection) -> Result<Closed, ToolError> {
        let opened = Instant::now();
        let (mut last_received, mut last_ping) = (opened, opened);
        if connection.is_set_up {
            self.connected();
        }
        loop {
            let is_set_up = connection.is_set_up;
            let has_room = connection.outgoing.messages.len() < MAX_OUTGOING;
            let updates = &mut self.model.transport.updates;
            let alarm = if is_set_up {
                time::after(last_ping, self.model.transport.heartbeat)
            } else {
                time::after(opened, self.model.transport.connect_timeout)
            };
            tokio::select! {
                () = wait_until_closed(&mut self.closed) => return Ok(Closed::ByHost),
                message = connection.incoming.next(), if !self.events.is_full() => {
                    let message = received(message, &connection.hidden)?;
                    (last_received, last_ping) = (Instant::now(), Instant::now());
                    if let Some(bytes) = message {
                        self.receive(&bytes, connection);
                    }
                }
                sent = connection.outgoing.flush(), if connection.outgoing.has_unsent => sent?,
                () = self.events.deliver(), if !self.events.waiting.is_empty() => {}
                work = self.calls.next(), if is_set_up => {
                    if self.finish_work(work, connection) {
                        return Ok(Closed::ByHost);
                    }
                }
                Some(input) = self.inputs.recv(), if is_set_up && has_room => self.handle_input(input, connection),
                Some(response) = async { updates.as_mut()?.0.recv().await }, if is_set_up => {
                    self.send_update(response, connection);
                }
                () = sleep_until(alarm) => {
                    if !is_set_up {
                        return Err(timeout_error(self.model.transport.connect_timeout));
                    }
                    if last_received.elapsed() >= self.model.transport.heartbeat.saturating_mul(2) {
                        return Err(ToolError::transient("the provider does not answer pings"));
                    }
                    last_ping = Instant::now();
                    connection.outgoing.push_ping();
                    self.state.tools = self.state.tools.max(ToolsState::Unknown);
                }
            }
            if is_set_up && self.declare_again(connection) {
                return Ok(Closed::ForOtherTools);
            }
            self.request_response(connection);
        }
    }

    fn receive(&mut self, bytes: &[u8], connection: &mut Connection) {
        let text = std::str::from_utf8(bytes).ok().filter(|text| !is_too_large_to_parse(text));
        let Some(message) = text.and_then(|text| serde_json::from_str::<Value>(text).ok()) else {
            // The protocol describes the problem.
            let mut events = self.protocol.push(bytes);
            if events.is_empty() {
                let text = String::from_utf8_lossy(bytes).chars().take(200).collect();
                let message = "a message is not JSON".into();
                events.push(Event::Error(ProtocolError::Malformed { message, text, source: None }));
            }
            let events = events.into_iter().map(|event| redact_event(event, Some(&connection.hidden)));
            return events.map(LiveEvent::Model).for_each(|event| self.events.push(event));
        };
        let messages = connection.messages;
        if messages.confirms_setup(&message) && !connection.is_set_up {
            connection.is_set_up = true;
            self.connected();
        }
        self.state.is_responding |= messages.begins_response(&message);
        if let Some(handle) = messages.resumption_handle(&message) {
            self.state.resume_handle = handle;
        }
        for event in self.protocol.push_event(&message) {
            self.handle_event(event, connection);
        }
        self.spans.end_message();
    }

    fn handle_event(&mut self, event: Event, connection: &mut Connection) {
        let event = match event {
            // The arguments of a truncated call may be incomplete.
            Event::Call(call) if self.state.truncated_call.as_deref() == Some(call.id()) => return,
            Event::Call(call) => {
                let call = self.tools.declarations.restore(call);
                self.start_call(&call, connection);
                Event::Call(call)
            }
            event => redact_event(event, Some(&connection.hidden)),
        };
        self.spans.record(&event);
        match &event {
            Event::Text(_) | Event::Audio { .. } | Event::Reasoning(_) | Event::CallStarted { .. } => {
                self.state.is_responding = true;
            }
            Event::Call(_) => self.state.steps.has_call = true,
            Event::Cancelled(ids) => self.calls.withdraw(ids),
            // Some providers report no usage.
            Event::Usage(usage) if usage.input > 0 => self.calls.session.observe_context(usage.input),
            Event::Interrupted => {
                self.calls.interrupt();
                // The provider responds to the user's speech by itself.
                (self.state.response_request, self.state.steps) = (ResponseRequest::None, Steps::default());
            }
            Event::Error(ProtocolError::DuplicateId { id }) => self.state.repeated_call = Some(id.clone()),
            Event::Error(ProtocolError::Truncated { call_id: Some(id) }) => {
                self.state.truncated_call = Some(id.clone());
            }
            Event::Finished(_) => {
                (self.state.is_responding, self.state.awaits_response) = (false, false);
                self.state.steps.complete += u32::from(std::mem::take(&mut self.state.steps.has_call));
                // The response to results belongs to the same turn.
                if self.state.response_request == ResponseRequest::None && !self.calls.are_running() {
                    self.calls.next_turn();
                }
            }
            _ => {}
        }
        self.events.push(LiveEvent::Model(event));
    }

    fn start_call(&mut self, call: &ToolCall, connection: &mut Connection) {
        let repeated = self.state.repeated_call.take();
        let agent = &self.spans.agent;
        let response = self.calls.start(call.clone(), self.state.conversation, repeated.as_deref(), agent);
        if let Some(response) = response {
            self.send_response(&response, true, connection);
        }
    }

    /// Delivers the outcome of work. Returns true if the session has ended.
    fn finish_work(&mut self, work: FinishedWork, connection: &mut Connection) -> bool {
        self.state.tools = self.state.tools.max(ToolsState::Unknown);
        match work {
            FinishedWork::Call(response) => {
                self.push_intents(&response);
                match self.calls.finish(response, self.state.conversation) {
                    Delivery::Send { response, wants_reply } => {
                        self.send_response(&response, wants_reply, connection);
                        self.events.push(LiveEvent::Answered(response));
                    }
                    Delivery::ConversationOver(response) => self.events.push(LiveEvent::Unsent(response)),
                    Delivery::Withdrawn => {}
                }
            }
            FinishedWork::Decision { response, decision, mark } => {
                if let Some(note) = decision_note(&response, decision, mark.as_deref()) {
                    self.send(connection.messages.text(&note), ResponseRequest::Now, connection);
                }
                self.push_intents(&response);
                self.events.push(LiveEvent::Answered(response));
            }
            FinishedWork::Turn(turn) => {
                self.state.steps = Steps::default();
                let has_ended = turn.ended;
                self.events.push(LiveEvent::Turn(turn));
                return has_ended;
            }
        }
        false
    }

    /// Sends an update of a running call, unless the provider has withdrawn the call.
    fn send_update(&mut self, response: ToolResponse, connection: &mut Connection) {
        if !self.calls.was_withdrawn(updated_call_id(&response)) {
            self.send(connection.messages.text(&update_note(&response)), ResponseRequest::Now, connection);
        }
        self.push_intents(&response);
        self.events.push(LiveEvent::Updated(response));
    }

    /// Reports the intents of a response.
    fn push_intents(&mut self, response: &ToolResponse) {
        for intent in response.intents() {
            let call_id = response.meta().call_id().unwrap_or_default().to_owned();
            self.events.push(LiveEvent::Intent { call_id, intent: intent.clone() });
        }
        if response.intents().contains(&Intent::SuppressAudio) {
            self.events.silence();
        }
    }

    fn send_response(&mut self, response: &ToolResponse, wants_reply: bool, connection: &mut Connection) {
        let results = connection.messages.results(self.protocol.encode(std::slice::from_ref(response)));
        let request = if wants_reply { ResponseRequest::AfterCalls } else { ResponseRequest::None };
        self.send(results, request, connection);
    }

    fn handle_input(&mut self, input: HostInput, connection: &mut Connection) {
        let messages = connection.messages;
        match input {
            HostInput::Text(text) => {
                (self.state.tools, self.state.steps) = (self.state.tools.max(ToolsState::Unknown), Steps::default());
                self.send(messages.text(&without_notes(text)), ResponseRequest::Now, connection);
            }
            HostInput::Audio(audio) => {
                let audio = messages.audio(&BASE64_STANDARD.encode(audio), &self.model.transport.audio_type);
                self.send(audio, ResponseRequest::None, connection);
            }
            HostInput::AudioEnd => self.send(messages.audio_end(), ResponseRequest::Now, connection),
            HostInput::Raw(message) => connection.outgoing.push_json(&message),
            HostInput::Decide(token, decision) => self.calls.decide(token, decision, &self.spans.agent),
            HostInput::Interrupt => {
                self.calls.interrupt();
                if let Some(cancel) = messages.cancel_response().filter(|_| self.state.is_responding) {
                    connection.outgoing.push_json(&cancel);
                }
            }
        }
    }

    fn send(&mut self, message: LiveMessage, request: ResponseRequest, connection: &mut Connection) {
        for message in message.messages {
            connection.outgoing.push_json(&message);
        }
        self.state.awaits_response |= request != ResponseRequest::None;
        if message.wants_response {
            self.state.response_request = self.state.response_request.max(request);
        }
    }

    /// Declares the tools again if others are visible now. Returns true if that needs another connection, and nothing is
    /// lost with this one.
    fn declare_again(&mut self, connection: &mut Connection) -> bool {
        match self.state.tools {
            ToolsState::Current => return false,
            ToolsState::Unknown => self.state.tools = ToolsState::Current,
            ToolsState::Outdated => return self.may_resume(),
        }
        let Some(tools) = self.tools.changed(&self.calls.session, &self.model) else { return false };
        let Some(update) = connection.messages.update_tools(&self.setup(&tools)) else {
            // Until then, the model calls the tools that this connection has declared.
            self.state.tools = ToolsState::Outdated;
            return self.may_resume();
        };
        connection.outgoing.push_json(&update);
        self.tools = tools;
        false
    }

    /// Returns true if another connection can take over, because the model owes no response.
    fn may_resume(&self) -> bool {
        let ConversationState { is_responding, awaits_response, resume_handle, .. } = &self.state;
        resume_handle.is_some() && !is_responding && !awaits_response && !self.calls.are_running()
    }

    /// Asks the model for a response if that is due. The provider refuses this during a response, and while results of
    /// calls that it made in one message are missing.
    fn request_response(&mut self, connection: &mut Connection) {
        let is_due = match self.state.response_request {
            ResponseRequest::None => false,
            ResponseRequest::AfterCalls => !self.calls.are_running(),
            ResponseRequest::Now => true,
        };
        if is_due && !self.state.is_responding {
            self.state.response_request = ResponseRequest::None;
            let has_steps = self.state.steps.complete < self.calls.session.max_tool_steps();
            let tool_choice = if has_steps { ToolChoice::Auto } else { ToolChoice::None };
            if let Some(request) = connection.messages.request_response(tool_choice) {
                connection.outgoing.push_json(&request);
                self.state.is_responding = true;
            }
        }
    }
}

/// Waits until the host closes the conversation or drops all of its inputs.
async fn wait_until_closed(closed: &mut watch::Receiver<bool>) {
    let _ = closed.wait_for(|closed| *closed).await;
}
