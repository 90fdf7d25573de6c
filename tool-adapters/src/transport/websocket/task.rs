//! The task of a live conversation, across its connections.

use crate::providers::framing::frame::is_too_large_to_parse;
use crate::providers::spec::LiveMessage;
use crate::providers::{Event, Protocol, ProtocolError, Request, protocol};
use crate::transport::api_key::redact_event;
use crate::transport::host_text::{decision_note, late_note, update_note, updated_call_id};
use crate::transport::websocket::audio::playing_time;
use crate::transport::websocket::calls::{Delivery, FinishedWork, LiveCalls};
use crate::transport::websocket::connection::{Connection, can_retry, received, timeout_error};
use crate::transport::websocket::events::{EventQueue, LiveEvent};
use crate::transport::websocket::input::HostInput;
use crate::transport::websocket::model::{LiveModel, live_api};
use crate::transport::websocket::setup::DeclaredTools;
use crate::transport::websocket::spans::ConversationSpans;
use crate::transport::websocket::state::{ConversationState, ResponseRequest, Steps, ToolsState};
use crate::transport::websocket::transcript::Transcript;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use futures_util::StreamExt;
use serde_json::Value;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};
use tool_core::call::OutputKind;
use tool_core::session::{SpeechEvent, ToolChoice, without_notes};
use tool_core::{Intent, Session, ToolCall, ToolError, ToolResponse, time};

/// A connection that has lasted this long resets the number of attempts.
const STABLE_AFTER: Duration = Duration::from_secs(5);

/// With this many messages waiting for the socket, no input of the host is accepted.
const MAX_OUTGOING: usize = 64;

/// The task of a conversation.
pub(crate) struct LiveTask {
    model: LiveModel,
    protocol: Box<dyn Protocol>,
    tools: DeclaredTools,
    /// True if the provider goes on by itself once it has all results of a step.
    answers_results: bool,
    /// True until the model has spoken first.
    entering: bool,
    calls: LiveCalls,
    inputs: mpsc::Receiver<HostInput>,
    closed: watch::Receiver<bool>,
    events: EventQueue,
    transcript: Transcript,
    state: ConversationState,
    spans: ConversationSpans,
}

/// The reason why a connection was closed without an error.
enum Closed {
    /// The host or the session has ended the conversation.
    ByHost,
    /// The tools have changed, and the provider takes others in a new connection only.
    ForOtherTools,
}

impl LiveTask {
    pub(crate) fn new(
        session: Session,
        model: LiveModel,
        inputs: mpsc::Receiver<HostInput>,
        closed: watch::Receiver<bool>,
        events: EventQueue,
        transcript: Transcript,
    ) -> Self {
        let entering = model.transport.enters;
        Self {
            protocol: protocol(model.provider),
            tools: DeclaredTools::new(&session, &model, entering),
            answers_results: live_api(model.provider).is_some_and(|live| live.answers_results),
            entering,
            calls: LiveCalls::new(session),
            inputs,
            closed,
            events,
            transcript,
            state: ConversationState::default(),
            spans: ConversationSpans::open(&model),
            model,
        }
    }

    pub(crate) async fn run(mut self) {
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
            tokio::select! {
                () = wait_until_closed(&mut self.closed) => break None,
                () = sleep(delay) => {}
            }
        };
        self.calls.abort().await;
        self.transcript.end();
        self.spans.close(error.as_ref());
    }

    /// Opens one connection, and serves it until the host or the session ends the conversation.
    async fn run_connection(&mut self) -> Result<Closed, ToolError> {
        let mut connection = tokio::select! {
            () = wait_until_closed(&mut self.closed) => return Ok(Closed::ByHost),
            connection = Connection::open(&self.model) => connection?,
        };
        let session = &self.calls.session;
        if let Some(tools) = self.tools.changed(session, &self.model, self.entering) {
            self.tools = tools;
        }
        let handle = self.state.resume_handle.as_deref();
        self.state.history = if handle.is_some() { Vec::new() } else { self.transcript.recent() };
        let setup = self.tools.setup(&*self.protocol, session, &self.model, &self.state.history);
        connection.outgoing.push_json(&connection.messages.resumable(setup, handle));
        self.state.is_connecting = true;
        let closed = self.serve(&mut connection).await?;
        connection.close().await;
        Ok(closed)
    }

    /// Records that the provider has accepted the setup. A new conversation gets the history, a resumed one the results that
    /// may not have arrived.
    fn connected(&mut self, connection: &mut Connection) {
        let resumed = self.state.resume_handle.is_some();
        self.state.connected_at = Some(Instant::now());
        self.events.push(LiveEvent::Connected { resumed });
        if resumed {
            for response in self.calls.resend() {
                self.send_response(&response, true, connection);
            }
        } else {
            self.state.conversation += 1;
            // They are part of the history.
            self.calls.confirm_results(true);
            let history = std::mem::take(&mut self.state.history);
            if !history.is_empty() {
                let messages = connection.messages;
                let write = |request: &Request<'_>| messages.history(request);
                let written = self.tools.write(&self.calls.session, &self.model, &history, write);
                for message in &written {
                    connection.outgoing.push_json(message);
                }
            }
        }
        if self.entering {
            self.send(connection.messages.opening(), ResponseRequest::Now, connection);
        }
    }

    /// Resets the state of the connection. Returns the time that it has lasted.
    fn disconnect(&mut self) -> Duration {
        self.spans.disconnect();
        self.transcript.end();
        self.events.withhold(false);
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
            self.connected(connection);
        }
        loop {
            let is_set_up = connection.is_set_up;
            let is_full = self.events.is_full();
            let has_room = connection.outgoing.messages.len() < MAX_OUTGOING;
            let updates = &mut self.model.transport.updates;
            let alarm = if is_set_up {
                time::after(last_ping, self.model.transport.heartbeat)
            } else {
                time::after(opened, self.model.transport.connect_timeout)
            };
            tokio::select! {
                () = wait_until_closed(&mut self.closed) => return Ok(Closed::ByHost),
                () = self.events.taken(), if is_full => {}
                message = connection.incoming.next(), if !is_full => {
                    let message = received(message, &connection.hidden)?;
                    (last_received, last_ping) = (Instant::now(), Instant::now());
                    if let Some(bytes) = message {
                        self.receive(&bytes, connection);
                    }
                }
                sent = connection.outgoing.flush(), if connection.outgoing.has_unsent => sent?,
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
                    // Nothing is read while the host is slow, not even pongs.
                    last_received = if is_full { Instant::now() } else { last_received };
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
            return events.map(LiveEvent::Model).for_each(|event| _ = self.events.push(event));
        };
        let messages = connection.messages;
        if messages.confirms_setup(&message) && !connection.is_set_up {
            connection.is_set_up = true;
            self.connected(connection);
        }
        self.state.is_responding |= messages.begins_response(&message);
        if let Some(handle) = messages.resumption_handle(&message) {
            self.state.resume_handle = handle;
        }
        let heard = messages.heard(&message);
        for event in self.protocol.push_event(&message) {
            // The host gets the user's speech as its own event.
            if !(heard.is_some() && matches!(event, Event::Unknown(_))) {
                self.handle_event(event, connection);
            }
        }
        if let Some(heard) = heard {
            // The user's speech begins another exchange.
            self.events.withhold(false);
            if self.events.push(LiveEvent::Heard(heard.text.clone())) {
                self.transcript.hear(&heard);
            }
        }
        if self.answers_results {
            self.end_step();
        }
        self.spans.end_message();
    }

    /// Ends the step of a reply that has made all its calls.
    fn end_step(&mut self) {
        self.state.steps.complete += u32::from(std::mem::take(&mut self.state.steps.has_call));
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
            // A call may be one of the step whose results are on their way.
            Event::CallStarted { .. } => self.state.is_responding = true,
            Event::Text(_) | Event::Audio { .. } | Event::Reasoning(_) => {
                self.state.is_responding = true;
                // The model has the results to which it responds.
                self.calls.confirm_results(false);
            }
            Event::Call(_) => self.state.steps.has_call = true,
            Event::Cancelled(ids) => self.calls.withdraw(ids),
            // Some providers report no usage.
            Event::Usage(usage) if usage.input > 0 => self.calls.session.observe_context(usage.input),
            Event::Interrupted => {
                if self.state.is_responding {
                    self.calls.session.observe_speech(SpeechEvent::Interrupted);
                }
                self.calls.interrupt();
                self.transcript.end_spoken();
                self.events.withhold(false);
                // The provider responds to the user's speech by itself.
                (self.state.response_request, self.state.steps) = (ResponseRequest::None, Steps::default());
            }
            Event::Error(ProtocolError::DuplicateId { id }) => self.state.repeated_call = Some(id.clone()),
            Event::Error(ProtocolError::Truncated { call_id: Some(id) }) => {
                self.state.truncated_call = Some(id.clone());
            }
            Event::Finished(_) => {
                (self.state.is_responding, self.state.awaits_response) = (false, false);
                self.end_step();
                self.calls.confirm_results(true);
                self.transcript.end();
                self.events.withhold(false);
                self.end_turn();
            }
            _ => {}
        }
        self.deliver(event);
    }

    /// Ends the turn, unless a response to results is still to come: it belongs to the same turn.
    fn end_turn(&mut self) {
        if self.state.response_request == ResponseRequest::None && !self.calls.are_running() {
            self.entering = false;
            self.calls.next_turn();
        }
    }

    /// Gives an event of the model to the host. Speech that the host gets is part of the history and of the metrics.
    fn deliver(&mut self, event: Event) {
        let (text, time) = match &event {
            Event::Text(text) => (Some(text.clone()), None),
            Event::Audio { data, mime_type } => (None, Some(playing_time(mime_type, data.len() / 4 * 3))),
            _ => (None, None),
        };
        if !self.events.push(LiveEvent::Model(event)) {
            return;
        }
        if let Some(text) = text {
            self.transcript.speak(&text);
        }
        if let Some(time) = time {
            let session = &self.calls.session;
            session.observe_speech(SpeechEvent::Spoken(time));
            if let Some(sent) = self.state.result_sent.take() {
                session.observe_speech(SpeechEvent::FirstAudio(sent.elapsed()));
            }
        }
    }

    fn start_call(&mut self, call: &ToolCall, connection: &mut Connection) {
        let repeated = self.state.repeated_call.take();
        if repeated.is_none() && !self.has_steps() {
            // The model was asked not to call. Where it cannot be asked, it reads the reason and answers.
            let response = self.calls.session.refuse_step(call);
            self.send_response(&response, false, connection);
            self.transcript.answer(call.clone(), &response);
            self.events.push(LiveEvent::Answered(response));
            return;
        }
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
                let Some((call, delivery)) = self.calls.finish(&response, self.state.conversation) else {
                    return false;
                };
                match delivery {
                    Delivery::Send { wants_reply } => self.send_response(&response, wants_reply, connection),
                    // The provider does not know the call. A stop needs no words.
                    Delivery::Late if !is_stop(&response) => self.send_note(&late_note(&response), connection),
                    Delivery::Late | Delivery::Withdrawn => {}
                }
                self.transcript.answer(call, &response);
                let ends_turn = is_stop(&response) && !self.answers_results;
                if !matches!(delivery, Delivery::Withdrawn) {
                    self.events.push(LiveEvent::Answered(response));
                }
                // No response follows a stop.
                if ends_turn && !self.state.is_responding {
                    self.end_turn();
                }
            }
            FinishedWork::Decision { response, decision, mark } => {
                if let Some(note) = decision_note(&response, decision, mark.as_deref()) {
                    self.send_note(&note, connection);
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
            self.send_note(&update_note(&response), connection);
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
        self.state.steps.wants_reply |= !is_stop(response);
        self.state.result_sent = Some(Instant::now()).filter(|_| wants_reply);
        if self.answers_results && !self.model.transport.background_tools && !self.calls.are_running() {
            let wants_reply = std::mem::take(&mut self.state.steps.wants_reply);
            self.events.withhold(!wants_reply);
        }
    }

    /// Sends a note of the application, to which the model responds.
    fn send_note(&mut self, note: &str, connection: &mut Connection) {
        self.transcript.write(note);
        self.send(connection.messages.text(note), ResponseRequest::Now, connection);
    }

    fn handle_input(&mut self, input: HostInput, connection: &mut Connection) {
        let messages = connection.messages;
        match input {
            HostInput::Text(text) => {
                (self.state.tools, self.state.steps) = (self.state.tools.max(ToolsState::Unknown), Steps::default());
                let text = without_notes(text);
                self.transcript.write(&text);
                self.send(messages.text(&text), ResponseRequest::Now, connection);
            }
            HostInput::Audio(audio) => {
                let time = playing_time(&self.model.transport.audio_type, audio.len());
                self.calls.session.observe_speech(SpeechEvent::Heard(time));
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
        if request == ResponseRequest::Now {
            self.events.withhold(false);
        }
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
        let session = &self.calls.session;
        let Some(tools) = self.tools.changed(session, &self.model, self.entering) else { return false };
        let setup = tools.setup(&*self.protocol, session, &self.model, &[]);
        let Some(update) = connection.messages.update_tools(&setup) else {
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

    /// Returns true if the reply may have another step of calls.
    fn has_steps(&self) -> bool {
        self.state.steps.complete < self.calls.session.max_tool_steps()
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
            let tool_choice = if self.has_steps() { ToolChoice::Auto } else { ToolChoice::None };
            if let Some(request) = connection.messages.request_response(tool_choice) {
                connection.outgoing.push_json(&request);
                self.state.is_responding = true;
            }
        }
    }
}

fn is_stop(response: &ToolResponse) -> bool {
    response.is_ok() && response.kind() == OutputKind::Stop
}

/// Waits until the host closes the conversation or drops all of its inputs.
async fn wait_until_closed(closed: &mut watch::Receiver<bool>) {
    let _ = closed.wait_for(|closed| *closed).await;
}
