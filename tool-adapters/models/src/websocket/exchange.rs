//! The exchange with the provider: the model's events, and what answers them.

use crate::websocket::audio::playing_time;
use crate::websocket::calls::{Delivery, FinishedWork, KnownCall};
use crate::websocket::connection::Connection;
use crate::websocket::events::LiveEvent;
use crate::websocket::input::HostInput;
use crate::websocket::state::{ResponseRequest, Steps, ToolsState, UnansweredText};
use crate::websocket::task::LiveTask;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use tokio::time::Instant;
use tool_adapters_http::api_key::redact_event;
use tool_adapters_providers::spec::LiveMessage;
use tool_adapters_providers::{Event, Finish, ProtocolError};
use tool_core::call::OutputKind;
use tool_core::session::{
    BackgroundAnswer, NOTE, SpeechEvent, ToolChoice, UserMessage, late_note, without_notes,
};
use tool_core::{Intent, ToolCall, ToolError, ToolResponse};

impl LiveTask {
    /// Ends the step of a reply that has made all its calls.
    pub(crate) fn end_step(&mut self) {
        self.state.steps.complete += u32::from(std::mem::take(&mut self.state.steps.has_call));
    }

    pub(crate) fn handle_event(&mut self, event: Event, connection: &mut Connection) {
        let event = match event {
            // The model has ended the response in the middle of the call, and waits for no result.
            Event::CutCall(call) if self.state.truncated_call.as_deref() == Some(call.id()) => {
                self.state.cut_call = Some(self.tools.declarations.restore(call));
                return;
            }
            // A part of the response is lost. The model waits for the result.
            Event::CutCall(call) => {
                return self.take_lost_call(self.tools.declarations.restore(call), connection);
            }
            Event::Call(call) => {
                return self.take_call(self.tools.declarations.restore(call), connection);
            }
            event => redact_event(event, Some(&connection.hidden)),
        };
        self.spans.record(&event);
        match &event {
            // A call may be one of the step whose results are on their way.
            Event::CallStarted { .. } => self.state.respond(),
            Event::Text(_) | Event::Audio { .. } | Event::Reasoning(_) => {
                self.state.respond();
                self.confirm_sent();
            }
            Event::Cancelled(ids) => self.calls.withdraw(ids),
            // Some providers report no usage.
            Event::Usage(usage) if usage.context() > 0 => {
                self.calls.session.observe_context(usage.context());
            }
            Event::Interrupted => {
                // The host plays audio for longer than the model takes to send it.
                let session = &self.calls.session;
                if self.state.is_responding || session.is_playing() {
                    session.observe_speech(SpeechEvent::Interrupted);
                }
                self.calls.interrupt_awaited();
                self.transcript.end_spoken();
                self.withhold_none();
                self.state.result_sent = None;
                // The provider responds to the user's speech by itself.
                (self.state.response_request, self.state.steps) =
                    (ResponseRequest::None, Steps::default());
                self.state.await_response();
                if self.answers_speech {
                    self.state.begin_speech();
                }
            }
            Event::Error(ProtocolError::Provider { code, .. }) => self.refused(code.as_deref()),
            Event::Error(ProtocolError::DuplicateId { id }) => {
                self.state.repeated_call = Some(id.clone());
            }
            Event::Error(ProtocolError::Truncated { call_id: Some(id) }) => {
                self.state.truncated_call = Some(id.clone());
            }
            Event::Finished(finish) => {
                let cut_call = self
                    .state
                    .cut_call
                    .take()
                    .filter(|_| *finish == Finish::Length);
                if let Some(call) = cut_call {
                    self.tell_cut_call(&call, connection);
                }
                self.state.is_responding = false;
                self.state.awaits_response = std::mem::take(&mut self.state.awaits_next);
                // The end of the interrupted response is not that of the response to the speech.
                if !self.state.awaits_response {
                    self.state.speech_expires = None;
                }
                self.state.owes_reply = false;
                self.end_step();
                self.confirm_sent();
                self.transcript.end();
                let withholds_next = std::mem::take(&mut self.state.withholds_next);
                self.events.withhold(withholds_next);
                self.state.result_sent = None;
                self.end_turn();
            }
            _ => {}
        }
        self.deliver(event);
    }

    /// Ends the turn, unless a response to results is still to come: it belongs to the same turn.
    fn end_turn(&mut self) {
        if self.state.response_request == ResponseRequest::None && !self.calls.are_running() {
            (self.entering, self.state.steps) = (false, Steps::default());
            self.calls.next_turn();
        }
    }

    /// Records that the model's response shows what has arrived before it.
    fn confirm_sent(&mut self) {
        let response = self.state.responses;
        self.calls.confirm_results(response);
        self.state
            .unanswered
            .retain(|text| text.sent_in >= response);
    }

    /// Takes in an error of the provider, which may have refused the request for a response.
    fn refused(&mut self, code: Option<&str>) {
        if code == Some("input_audio_buffer_commit_empty") {
            // The provider has heard the end before, and most often responds by itself. Where it
            // leaves the response to the host, it has committed the speech. Where it does not
            // detect speech (push to talk), nothing was said, so no response is requested.
            let was_awaited = std::mem::take(&mut self.state.awaits_commit);
            if was_awaited && std::mem::take(&mut self.state.has_unanswered_speech) {
                self.state.response_request = ResponseRequest::Now;
            }
            // The response that is active may be the interrupted one, after which the user speaks on.
            if !self.state.is_responding {
                self.state.speech_expires = None;
            }
            self.state.awaits_response =
                self.state.is_responding || self.state.response_request != ResponseRequest::None;
            return;
        }
        self.state.speech_expires = None;
        let was_requested = std::mem::take(&mut self.state.is_requested);
        if code == Some("conversation_already_has_active_response") {
            // Another response is active, to the user's speech: this one comes after it. The beginning
            // of the other may have arrived before this error.
            self.state.is_responding = true;
            self.state.response_request = ResponseRequest::Now;
        } else if was_requested {
            self.state.is_responding = false;
        }
    }

    /// Gives an event of the model to the host. Speech that the host gets is part of the history
    /// and of the metrics.
    fn deliver(&mut self, event: Event) {
        let (text, time) = match &event {
            Event::Text(text) => (Some(text.clone()), None),
            Event::Audio { data, mime_type } => {
                (None, Some(playing_time(mime_type, data.len() / 4 * 3)))
            }
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

    /// Takes a call of the model. A call that the provider repeats does not run again.
    fn take_call(&mut self, call: ToolCall, connection: &mut Connection) {
        let repeated = self.state.repeated_call.take();
        let wire_id = repeated.clone().unwrap_or_else(|| call.id().to_owned());
        let conversation = self.state.conversation;
        let response = self.state.responses;
        let known = repeated.and_then(|id| self.calls.repeated(&call, &id, conversation, response));
        match known {
            Some(KnownCall::Open) => return,
            Some(KnownCall::Answered(response)) => {
                return self.send_response(&response, true, connection);
            }
            None => {}
        }
        let event = Event::Call(call.clone());
        self.spans.record(&event);
        self.deliver(event);
        self.state.steps.has_call = true;
        if self.has_steps() {
            return self
                .calls
                .start(call, wire_id, conversation, &self.spans.agent);
        }
        // The model was asked not to call. Where it cannot be asked, it reads the reason and
        // answers.
        let refusal = self.calls.session.refuse_step(&call);
        self.answer_unrun(call, wire_id, &refusal, false, connection);
    }

    /// Tells the model that the limit of its answer has cut off a call.
    fn tell_cut_call(&mut self, call: &ToolCall, connection: &mut Connection) {
        let name = call.name().escape_debug();
        let note = format!(
            "{NOTE} The call of `{name}` was cut off: the answer reached the limit of its \
             output tokens, so nothing was done. Call it again with shorter arguments, or split the work into several calls."
        );
        self.send_note(&note, true, connection);
    }

    /// Answers a call of a response of which a part is lost: its arguments may not be the model's.
    fn take_lost_call(&mut self, call: ToolCall, connection: &mut Connection) {
        let event = Event::CutCall(call.clone());
        self.spans.record(&event);
        self.deliver(event);
        let error = "a part of the message was lost, so the call was not run; call the tool again";
        let refusal = self
            .calls
            .session
            .refuse(&call, ToolError::transient(error));
        let wire_id = call.id().to_owned();
        self.state.steps.has_call = true;
        self.answer_unrun(call, wire_id, &refusal, true, connection);
    }

    /// Answers a call that does not run. With `wants_reply`, the model is asked to go on.
    fn answer_unrun(
        &mut self,
        call: ToolCall,
        wire_id: String,
        answer: &ToolResponse,
        wants_reply: bool,
        connection: &mut Connection,
    ) {
        let conversation = self.state.conversation;
        let response = self.state.responses;
        self.calls.refuse(
            call.clone(),
            wire_id,
            conversation,
            response,
            answer.clone(),
        );
        self.send_response(answer, wants_reply, connection);
        self.transcript.answer(call, answer);
        self.events.push(LiveEvent::Answered(answer.clone()));
    }

    /// Delivers the outcome of work. Returns true if the session has ended.
    pub(crate) fn finish_work(&mut self, work: FinishedWork, connection: &mut Connection) -> bool {
        self.state.tools = self.state.tools.max(ToolsState::Unknown);
        match work {
            FinishedWork::Call(response) => {
                self.push_intents(&response);
                let conversation = self.state.conversation;
                let sent_in = self.state.responses;
                let Some((call, delivery)) = self.calls.finish(&response, conversation, sent_in)
                else {
                    return false;
                };
                let has_no_reply = match delivery {
                    Delivery::Send { wants_reply } => {
                        self.send_response(&response, wants_reply, connection);
                        is_stop(&response) || !wants_reply
                    }
                    // The provider does not know the call. A stop needs no words.
                    Delivery::Late if !is_stop(&response) => {
                        self.send_note(&late_note(&response), true, connection);
                        false
                    }
                    Delivery::Late | Delivery::Withdrawn => true,
                };
                let id = call.id().to_owned();
                self.transcript.answer(call, &response);
                if !matches!(delivery, Delivery::Withdrawn) {
                    self.events.push(LiveEvent::Answered(response));
                }
                self.release_answers(&id, connection);
                if has_no_reply && !self.replies_unasked() && !self.state.is_responding {
                    self.end_turn();
                }
            }
            FinishedWork::Decision { response, note } => {
                if let Some(note) = note {
                    let id = response.meta().call_id().unwrap_or_default();
                    let wants_reply =
                        !is_stop(&response) && !self.calls.was_interrupted(id, &response);
                    self.send_note(&note, wants_reply, connection);
                }
                self.push_intents(&response);
                self.events.push(LiveEvent::Answered(response));
            }
            FinishedWork::Turn(turn) => {
                let has_ended = turn.ended;
                self.events.push(LiveEvent::Turn(turn));
                return has_ended;
            }
        }
        false
    }

    /// Takes a further answer of a call in the background. The call's first answer comes before it.
    pub(crate) fn take_background_answer(
        &mut self,
        answer: BackgroundAnswer,
        connection: &mut Connection,
    ) {
        if self.calls.is_running(&answer.call_id) {
            self.held_answers.push(answer);
        } else {
            self.send_background_answer(answer, connection);
        }
    }

    /// Sends the answers that wait for the first one of a call.
    fn release_answers(&mut self, id: &str, connection: &mut Connection) {
        let answers = self
            .held_answers
            .extract_if(.., |answer| answer.call_id == id)
            .collect::<Vec<_>>();
        for answer in answers {
            self.send_background_answer(answer, connection);
        }
    }

    /// Sends a further answer of a call, unless the provider has withdrawn the call.
    fn send_background_answer(&mut self, answer: BackgroundAnswer, connection: &mut Connection) {
        if !self.calls.was_withdrawn(&answer.call_id)
            && let Some(note) = answer.note()
        {
            let was_interrupted = answer.is_end
                && self
                    .calls
                    .was_interrupted(&answer.call_id, &answer.response);
            self.send_note(&note, !was_interrupted, connection);
        }
        self.push_intents(&answer.response);
        self.events.push(LiveEvent::Updated(answer.response));
    }

    /// Reports the intents of a response.
    pub(crate) fn push_intents(&mut self, response: &ToolResponse) {
        for intent in response.intents() {
            let call_id = response.meta().call_id().unwrap_or_default().to_owned();
            self.events.push(LiveEvent::Intent {
                call_id,
                intent: intent.clone(),
            });
        }
        if response.intents().contains(&Intent::SuppressAudio) {
            self.events.silence();
        }
    }

    pub(crate) fn send_response(
        &mut self,
        response: &ToolResponse,
        wants_reply: bool,
        connection: &mut Connection,
    ) {
        let written = self.tools.declarations.written_response(response);
        let results = connection
            .messages
            .results(self.protocol.encode(std::slice::from_ref(&*written)));
        let wants_reply = wants_reply && !is_stop(response);
        self.send(
            results,
            if wants_reply {
                ResponseRequest::AfterCalls
            } else {
                ResponseRequest::None
            },
            connection,
        );
        self.state.steps.wants_reply |= !is_stop(response);
        if wants_reply {
            self.state.result_sent = Some(Instant::now());
        }
        if self.replies_unasked() && !self.calls.are_running() {
            self.state.await_response();
            let wants_reply = std::mem::take(&mut self.state.steps.wants_reply);
            self.events.withhold(!wants_reply);
        }
    }

    /// Returns true if the model goes on by itself once it has all results of a step.
    fn replies_unasked(&self) -> bool {
        self.answers_results && !self.model.transport.background_tools
    }

    /// Sends a note of the application. The model responds to it, or what it says is withheld.
    fn send_note(&mut self, note: &str, wants_reply: bool, connection: &mut Connection) {
        self.transcript.write(note);
        let message = connection.messages.text(note);
        if wants_reply {
            return self.send_text(message, connection);
        }
        self.send(message, ResponseRequest::None, connection);
        if self.answers_results && self.state.is_responding {
            // The current response is about something else.
            self.state.withholds_next = true;
        } else if self.answers_results {
            self.events.withhold(true);
        }
    }

    /// Gives the model's speech to the host again, because it responds to the user.
    fn withhold_none(&mut self) {
        self.events.withhold(false);
        self.state.withholds_next = false;
    }

    /// Sends a text to which the model responds, and again over a resumed connection if it does
    /// not.
    pub(crate) fn send_text(
        &mut self,
        message: impl Into<UnansweredText>,
        connection: &mut Connection,
    ) {
        const MAX_UNANSWERED: usize = 64;
        let mut text = message.into();
        text.sent_in = self.state.responses;
        self.send(text.message.clone(), ResponseRequest::Now, connection);
        if self.state.unanswered.len() < MAX_UNANSWERED {
            self.state.unanswered.push(text);
        }
    }

    /// Takes in a message of the user, and sends it.
    fn take_message(
        &mut self,
        said: UserMessage,
        message: LiveMessage,
        connection: &mut Connection,
    ) {
        self.state.tools = self.state.tools.max(ToolsState::Unknown);
        self.state.steps = Steps::default();
        self.transcript.write(said);
        self.withhold_none();
        self.send_text(message, connection);
    }

    pub(crate) fn handle_input(&mut self, input: HostInput, connection: &mut Connection) {
        let messages = connection.messages;
        match input {
            HostInput::Text(text) => {
                let text = without_notes(text);
                let message = messages.text(&text);
                self.take_message(text.into(), message, connection);
            }
            HostInput::Message(said) => {
                let said = said.without_notes();
                let message = messages.user(&said, self.host.accepted_parts());
                self.take_message(said, message, connection);
            }
            HostInput::Audio(audio) => {
                let time = playing_time(&self.model.transport.audio_type, audio.len());
                self.calls.session.observe_speech(SpeechEvent::Heard(time));
                self.state.hear();
                let audio = messages.audio(
                    &BASE64_STANDARD.encode(audio),
                    &self.model.transport.audio_type,
                );
                self.send(audio, ResponseRequest::None, connection);
            }
            HostInput::AudioEnd => {
                // Where the provider hears the end by itself, there may be no audio left.
                let mut end = messages.audio_end();
                self.state.awaits_commit = std::mem::take(&mut end.wants_response);
                self.send(end, ResponseRequest::Now, connection);
            }
            HostInput::Raw(message) => connection.outgoing.push_json(&message),
            HostInput::Decide(decision) => self.calls.decide(decision, &self.spans.agent),
            HostInput::Interrupt => {
                self.calls.interrupt();
                self.state.abandon_speech();
                self.end_reply();
                if let Some(cancel) = messages
                    .cancel_response()
                    .filter(|_| self.state.is_responding)
                {
                    connection.outgoing.push_json(&cancel);
                }
            }
        }
    }

    /// Ends the reply that the host has interrupted: the model is not asked to go on with its results. A
    /// text of the user is still answered.
    fn end_reply(&mut self) {
        self.state.steps = Steps::default();
        self.state.result_sent = None;
        if self.state.response_request == ResponseRequest::AfterCalls {
            self.state.response_request = ResponseRequest::None;
            self.state.awaits_next = false;
            self.state.awaits_response = self.state.is_responding;
        }
    }

    fn send(
        &mut self,
        message: LiveMessage,
        request: ResponseRequest,
        connection: &mut Connection,
    ) {
        for message in message.messages {
            connection.outgoing.push_json(&message);
        }
        if request != ResponseRequest::None {
            self.state.await_response();
        }
        if message.wants_response {
            self.state.response_request = self.state.response_request.max(request);
        }
    }

    /// Returns true if the reply may have another step of calls.
    pub(crate) fn has_steps(&self) -> bool {
        self.state.steps.complete < self.calls.session.max_tool_steps()
    }

    /// Asks the model for a response if that is due. The provider refuses this during a response,
    /// and while results of calls that it made in one message are missing. While the user speaks, the
    /// model would talk over the user.
    pub(crate) fn request_response(&mut self, connection: &mut Connection) {
        let is_due = match self.state.response_request {
            ResponseRequest::None => false,
            ResponseRequest::AfterCalls => !self.calls.are_running(),
            ResponseRequest::Now => true,
        };
        if is_due && !self.state.is_responding && self.state.speech_expires.is_none() {
            self.state.response_request = ResponseRequest::None;
            let tool_choice = if self.has_steps() {
                ToolChoice::Auto
            } else {
                ToolChoice::None
            };
            if let Some(request) = connection.messages.request_response(tool_choice) {
                connection.outgoing.push_json(&request);
                self.state.is_requested = true;
                self.state.respond();
            }
        }
    }
}

fn is_stop(response: &ToolResponse) -> bool {
    response.is_ok() && response.kind() == OutputKind::Stop
}
