//! The task of a live conversation, across its connections.

use crate::websocket::calls::{FinishedWork, LiveCalls};
use crate::websocket::connection::{Connection, can_retry, received, refused_setup, timeout_error};
use crate::websocket::events::{EventQueue, LiveEvent};
use crate::websocket::input::HostInput;
use crate::websocket::model::{LiveModel, live_api};
use crate::websocket::setup::DeclaredTools;
use crate::websocket::spans::ConversationSpans;
use crate::websocket::state::{ConversationState, ResponseRequest, ToolsState};
use crate::websocket::transcript::Transcript;
use futures_util::StreamExt;
use serde_json::Value;
use std::collections::VecDeque;
use std::future::pending;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};
use tool_adapters_providers::framing::frame::is_too_large_to_parse;
use tool_adapters_providers::half_characters::mark_surrogates;
use tool_adapters_providers::turns::{CONTINUE, OPENING};
use tool_adapters_providers::{Event, Host, Protocol, Request, protocol};
use tool_core::session::BackgroundAnswer;
use tool_core::{Session, ToolError, time};

/// A connection that has lasted this long resets the number of attempts.
const STABLE_AFTER: Duration = Duration::from_secs(5);

/// With this many messages waiting for the socket, no input of the host is accepted.
const MAX_OUTGOING: usize = 64;

/// The task of a conversation.
pub(crate) struct LiveTask {
    pub(crate) model: LiveModel,
    /// The server, which decides what a message may have.
    pub(crate) host: Host,
    pub(crate) protocol: Box<dyn Protocol>,
    pub(crate) tools: DeclaredTools,
    /// True if the provider goes on by itself once it has all results of a step.
    pub(crate) answers_results: bool,
    /// True if the provider responds to the user's speech by itself.
    pub(crate) answers_speech: bool,
    /// True until the model has spoken first.
    pub(crate) entering: bool,
    pub(crate) calls: LiveCalls,
    pub(crate) inputs: mpsc::Receiver<HostInput>,
    pub(crate) closed: watch::Receiver<bool>,
    pub(crate) events: EventQueue,
    pub(crate) transcript: Transcript,
    pub(crate) state: ConversationState,
    pub(crate) spans: ConversationSpans,
    /// The further answers of calls in the background that the model has to be told.
    pub(crate) answers: VecDeque<BackgroundAnswer>,
    /// Those of calls that have no first answer yet.
    pub(crate) held_answers: Vec<BackgroundAnswer>,
}

/// The reason why a connection was closed without an error.
enum Closed {
    /// The host or the session has ended the conversation.
    ByHost,
    /// Another connection takes over: the tools have changed, and the provider takes others in a new
    /// one only, or the provider is about to close this one.
    ToResume,
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
        let host = model.host();
        let mut protocol = protocol(model.provider);
        protocol.host(host.clone());
        Self {
            host,
            protocol,
            tools: DeclaredTools::new(&session, &model, entering),
            answers_results: live_api(model.provider).is_some_and(|live| live.answers_results),
            answers_speech: true,
            entering,
            calls: LiveCalls::new(session),
            inputs,
            closed,
            events,
            transcript,
            state: ConversationState::default(),
            spans: ConversationSpans::open(&model),
            answers: VecDeque::new(),
            held_answers: Vec::new(),
            model,
        }
    }

    pub(crate) async fn run(mut self) {
        let mut failed = 0;
        let error = loop {
            let error = match self.run_connection().await {
                Ok(Closed::ByHost) => break None,
                Ok(Closed::ToResume) => {
                    self.disconnect();
                    continue;
                }
                Err(error) => error,
            };
            let had_handle = self.state.resume_handle.is_some();
            let lasted = self.disconnect();
            failed = if lasted > STABLE_AFTER { 1 } else { failed + 1 };
            // A handle that the provider refused is dropped, so a new conversation may still be
            // possible.
            let can_retry = can_retry(&error) || had_handle && self.state.resume_handle.is_none();
            let delay = match error.requested_delay() {
                Some(asked) => self.model.retry.delay_asked(failed, asked),
                None => self.model.retry.delay(failed),
            };
            let Some(delay) = delay.filter(|_| can_retry) else {
                break Some(error);
            };
            tracing::warn!(provider = %self.model.provider, %error, ?delay, "reconnecting to a live model");
            self.events.push(LiveEvent::Disconnected {
                error,
                retry_in: delay,
            });
            tokio::select! {
                () = wait_until_closed(&mut self.closed) => break None,
                () = sleep(delay) => {}
            }
        };
        self.take_decisions();
        self.end_calls().await;
        self.spans.close(error.as_ref());
        if let Some(error) = error {
            self.events.push(LiveEvent::Failed(error));
        }
    }

    /// Carries out the denials that the host has made before the conversation ended. An approval is
    /// answered, and its call waits on.
    fn take_decisions(&mut self) {
        self.inputs.close();
        self.calls.begin_no_more();
        while let Ok(input) = self.inputs.try_recv() {
            if let HostInput::Decide(decision) = input {
                self.calls.decide(decision, &self.spans.agent);
            }
        }
    }

    /// Ends the calls that still run. The history has a result for each.
    async fn end_calls(&mut self) {
        for work in self.calls.cancel_all().await {
            match work {
                FinishedWork::Call(response) => {
                    if let Some((call, _)) =
                        self.calls.finish(&response, self.state.conversation, 0)
                    {
                        self.transcript.answer(call, &response);
                    }
                    self.push_intents(&response);
                    self.events.push(LiveEvent::Answered(response));
                }
                FinishedWork::Decision { response, note } => {
                    if let Some(note) = note {
                        self.transcript.write(&note);
                    }
                    self.push_intents(&response);
                    self.events.push(LiveEvent::Answered(response));
                }
                FinishedWork::Turn(turn) => _ = self.events.push(LiveEvent::Turn(turn)),
            }
        }
        for call in self.calls.take_unanswered() {
            self.transcript.lose(call);
        }
        // What comes later waits in the session for the next conversation.
        let held = std::mem::take(&mut self.held_answers);
        for answer in held.into_iter().chain(std::mem::take(&mut self.answers)) {
            if let Some(note) = answer.note() {
                self.transcript.write(&note);
            }
            self.push_intents(&answer.response);
            self.events.push(LiveEvent::Updated(answer.response));
        }
        self.transcript.end();
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
        self.state.history = if handle.is_some() {
            Vec::new()
        } else {
            self.transcript.recent()
        };
        let mut setup =
            self.tools
                .setup(&*self.protocol, session, &self.model, &self.state.history);
        connection.messages.name_setup(&mut setup);
        self.answers_speech = connection.messages.answers_speech(&setup);
        self.spans.transcriber = connection.messages.transcriber(&setup);
        connection
            .outgoing
            .push_json(&connection.messages.resumable(setup, handle));
        self.state.is_connecting = true;
        let closed = self.serve(&mut connection).await?;
        if connection.is_set_up && matches!(closed, Closed::ByHost) {
            self.calls.begin_no_more();
            while let Ok(input) = self.inputs.try_recv() {
                self.handle_input(input, &mut connection);
            }
            self.request_response(&mut connection);
        }
        connection.close().await;
        Ok(closed)
    }

    /// Records that the provider has accepted the setup. A new conversation gets the history, a
    /// resumed one the results that may not have arrived.
    fn connected(&mut self, connection: &mut Connection) {
        let resumed = self.state.resume_handle.is_some();
        self.state.connected_at = Some(Instant::now());
        self.events.push(LiveEvent::Connected { resumed });
        if resumed {
            for response in self.calls.resend(self.state.responses) {
                self.send_response(&response, true, connection);
            }
            for text in std::mem::take(&mut self.state.unanswered) {
                self.send_text(text, connection);
            }
        } else {
            self.begin_conversation(connection);
        }
    }

    /// Begins another conversation with the provider, with the history of the ones before.
    fn begin_conversation(&mut self, connection: &mut Connection) {
        self.state.conversation += 1;
        // They are part of the history.
        self.calls.confirm_all_results();
        self.state.unanswered.clear();
        let history = std::mem::take(&mut self.state.history);
        let messages = connection.messages;
        if !history.is_empty() {
            let accepted = *self.host.accepted_parts();
            let write = |request: &Request<'_>| messages.history(request, &accepted);
            let written = self
                .tools
                .write(&self.calls.session, &self.model, &history, write);
            for message in &written {
                connection.outgoing.push_json(message);
            }
        }
        let owes_reply = std::mem::take(&mut self.state.owes_reply) && !history.is_empty();
        if self.entering {
            self.send_text(messages.cue(OPENING), connection);
        } else if owes_reply && !self.calls.are_running() {
            self.send_text(messages.cue(CONTINUE), connection);
        }
    }

    /// Resets the state of the connection. Returns the time that it has lasted.
    fn disconnect(&mut self) -> Duration {
        self.spans.disconnect();
        self.transcript.disconnect();
        self.events.withhold(false);
        for event in self.protocol.finish() {
            // A truncated call does not run. The model makes it again when the conversation is
            // resumed.
            if !matches!(event, Event::Call(_) | Event::CutCall(_)) {
                self.events.push(LiveEvent::Model(event));
            }
        }
        let before = std::mem::take(&mut self.state);
        let owes_reply = before.is_responding || before.awaits_response;
        self.state = ConversationState {
            // A handle with which the provider refused the setup is not used again.
            resume_handle: before
                .resume_handle
                .filter(|_| before.connected_at.is_some() || !before.is_connecting),
            conversation: before.conversation,
            responses: before.responses,
            steps: before.steps,
            unanswered: before.unanswered,
            owes_reply: owes_reply
                || before.owes_reply
                || before.response_request != ResponseRequest::None,
            ..ConversationState::default()
        };
        before
            .connected_at
            .map_or(Duration::ZERO, |since| since.elapsed())
    }

    async fn serve(&mut self, connection: &mut Connection) -> Result<Closed, ToolError> {
        let opened = Instant::now();
        let session = self.calls.session.clone();
        let mut last_received = opened;
        let mut last_ping = opened;
        if connection.is_set_up {
            self.connected(connection);
        }
        loop {
            let is_set_up = connection.is_set_up;
            // Until the setup is confirmed, nothing but the confirmation arrives.
            let is_full = self.events.is_full() && is_set_up;
            let has_room = connection.outgoing.messages.len() < MAX_OUTGOING;
            let has_answers = !self.answers.is_empty();
            let alarm = if is_set_up {
                time::after(last_ping, self.model.transport.heartbeat)
            } else {
                time::after(opened, self.model.transport.connect_timeout)
            };
            tokio::select! {
                () = wait_until_closed(&mut self.closed) => return Ok(Closed::ByHost),
                () = self.events.taken(), if is_full => {}
                message = connection.incoming.next(), if !is_full && (has_room || !is_set_up) => {
                    let message = received(message, &connection.hidden, connection.is_set_up)?;
                    (last_received, last_ping) = (Instant::now(), Instant::now());
                    if let Some(bytes) = message {
                        self.receive(&bytes, connection)?;
                    }
                }
                sent = connection.outgoing.flush(), if connection.outgoing.has_unsent => sent?,
                work = self.calls.next(), if is_set_up => {
                    if self.finish_work(work, connection) {
                        return Ok(Closed::ByHost);
                    }
                }
                Some(input) = self.inputs.recv(), if is_set_up && has_room => self.handle_input(input, connection),
                () = answers_ready(&session, has_answers), if is_set_up && has_room && !is_full => {
                    // The session bounds those that it keeps.
                    if self.answers.is_empty() {
                        self.answers.extend(session.take_background_answers());
                    }
                    if let Some(answer) = self.answers.pop_front() {
                        self.take_background_answer(answer, connection);
                    }
                }
                () = speech_expired(self.state.speech_expires) => self.state.abandon_speech(),
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
            let takes_over = is_set_up
                && (self.declare_again(connection) || self.state.ends_soon && self.may_resume());
            if takes_over {
                return Ok(Closed::ToResume);
            }
            self.request_response(connection);
        }
    }

    /// Takes in a message of the provider. Fails if the provider refuses the setup.
    fn receive(&mut self, bytes: &[u8], connection: &mut Connection) -> Result<(), ToolError> {
        let text = std::str::from_utf8(bytes)
            .ok()
            .filter(|_| !is_too_large_to_parse(bytes));
        let Some(message) = text.and_then(parse_message) else {
            // The protocol describes the problem, and takes note that a part of the response may be
            // lost.
            for event in self.protocol.push_message(bytes) {
                self.handle_event(event, connection);
            }
            return Ok(());
        };
        let messages = connection.messages;
        if let Some(reason) = messages.refusal_of_setup(&message) {
            return Err(refused_setup(&reason, &connection.hidden));
        }
        if messages.confirms_setup(&message) && !connection.is_set_up {
            connection.is_set_up = true;
            self.connected(connection);
        }
        if messages.begins_response(&message) {
            self.state.is_requested = false;
            self.state.speech_expires = None;
            self.state.awaits_commit = false;
            self.state.has_unanswered_speech = false;
            self.state.respond();
        }
        if messages.ends_speech(&message) && self.answers_speech {
            self.state.awaits_commit = false;
        }
        if messages.discards_speech(&message) {
            self.state.abandon_speech();
        }
        if let Some(id) = messages.committed_speech(&message) {
            self.transcript.mark_speech(id);
            if std::mem::take(&mut self.state.awaits_commit) {
                self.state.speech_expires = None;
                self.state.response_request = ResponseRequest::Now;
            } else {
                self.state.has_unanswered_speech = !self.answers_speech;
            }
        }
        if let Some(id) = messages.untranscribed_speech(&message) {
            self.transcript.forget_speech(&id);
        }
        self.state.ends_soon |= messages.announces_end(&message);
        if let Some(handle) = messages.resumption_handle(&message) {
            self.state.resume_handle = handle;
        }
        if let Some(usage) = messages.transcription_usage(&message) {
            self.spans.record_transcription(usage);
        }
        let was_responding = self.state.is_responding;
        let heard = messages.heard(&message);
        for event in self.protocol.push_event(&message) {
            // The host gets the user's speech as its own event.
            if !(heard.is_some() && matches!(event, Event::Unknown(_))) {
                self.handle_event(event, connection);
            }
        }
        if let Some(heard) = heard {
            // Speech that arrives later belongs to the exchange whose response has begun.
            self.state.awaits_response |= self.answers_results && !self.state.is_responding;
            if self.events.push(LiveEvent::Heard(heard.text.clone())) {
                self.transcript.hear(&heard);
            } else {
                self.transcript.forget_speech(&heard.item_id);
            }
        }
        if self.answers_results && self.state.steps.has_call {
            self.end_step();
            // The model waits for the results.
            self.state.is_responding = was_responding && self.model.transport.background_tools;
        }
        self.spans.end_message();
        Ok(())
    }

    /// Declares the tools again if others are visible now. Returns true if that needs another
    /// connection, and nothing is lost with this one.
    fn declare_again(&mut self, connection: &mut Connection) -> bool {
        match self.state.tools {
            ToolsState::Current => return false,
            ToolsState::Unknown => self.state.tools = ToolsState::Current,
            ToolsState::Outdated => return self.may_resume(),
        }
        let session = &self.calls.session;
        let Some(tools) = self.tools.changed(session, &self.model, self.entering) else {
            return false;
        };
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
        let ConversationState {
            is_responding,
            awaits_response,
            response_request,
            resume_handle,
            ..
        } = &self.state;
        let owes_response =
            *is_responding || *awaits_response || *response_request != ResponseRequest::None;
        resume_handle.is_some() && !owes_response && !self.calls.are_running()
    }
}

/// Parses a message. The halves of a character that the server has cut into two messages become
/// marks.
fn parse_message(text: &str) -> Option<Value> {
    if let Ok(message) = serde_json::from_str(text) {
        return Some(message);
    }
    let marked = mark_surrogates(text).ok()??;
    serde_json::from_str(&marked).ok()
}

/// Waits until the model has to be told an answer: one that was taken, or one that waits in the
/// session.
async fn answers_ready(session: &Session, has_answers: bool) {
    if !has_answers {
        session.background_answers_ready().await;
    }
}

/// Waits until the user's speech counts as over. Waits for ever while the user does not speak.
async fn speech_expired(expires: Option<Instant>) {
    match expires {
        Some(time) => sleep_until(time).await,
        None => pending().await,
    }
}

/// Waits until the host closes the conversation or drops all of its inputs.
async fn wait_until_closed(closed: &mut watch::Receiver<bool>) {
    let _ = closed.wait_for(|closed| *closed).await;
}
