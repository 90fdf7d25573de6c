//! The state of a conversation with the provider: responses, steps and the tools that it knows.

use std::time::Duration;
use tokio::time::Instant;
use tool_adapters_providers::spec::LiveMessage;
use tool_core::ToolCall;
use tool_core::session::Message;

/// The user's speech counts as over once no audio has come for this long. The provider hears the
/// end of speech in the audio after it, so without any it never responds.
const MAX_AUDIO_GAP: Duration = Duration::from_secs(2);

/// The state of a conversation with the provider. A new connection begins with a new one.
#[derive(Default)]
#[allow(clippy::struct_excessive_bools)] // each is a separate fact
pub(crate) struct ConversationState {
    /// The handle with which the conversation can be resumed.
    pub(crate) resume_handle: Option<String>,
    /// Counts the provider's conversations. A resumed conversation keeps its number.
    pub(crate) conversation: u64,
    /// True while the model is generating a response.
    pub(crate) is_responding: bool,
    /// True from a message to which the model responds until a response has ended.
    pub(crate) awaits_response: bool,
    pub(crate) tools: ToolsState,
    /// True once the provider has said that it closes the connection soon.
    pub(crate) ends_soon: bool,
    pub(crate) response_request: ResponseRequest,
    pub(crate) steps: Steps,
    /// Counts the model's responses, also those of earlier connections.
    pub(crate) responses: u64,
    /// True if a response was requested that has not begun.
    pub(crate) is_requested: bool,
    /// True if a message asks for another response than the current one.
    pub(crate) awaits_next: bool,
    /// True if the model's next response is withheld from the host, which does not want it.
    pub(crate) withholds_next: bool,
    /// True from the end of the user's audio, as the host reports it, until the provider has committed
    /// the speech.
    pub(crate) awaits_commit: bool,
    /// True if the provider has committed speech by itself and leaves the response to the host.
    pub(crate) has_unanswered_speech: bool,
    /// The time at which the user's speech counts as over unless more audio comes. It is set from
    /// the beginning of the speech until the model responds to it. No response is requested
    /// meanwhile.
    pub(crate) speech_expires: Option<Instant>,
    /// True if the last connection broke before the model had replied.
    pub(crate) owes_reply: bool,
    /// The texts to which the model has not responded.
    pub(crate) unanswered: Vec<UnansweredText>,
    /// The history that a new conversation gets after its setup.
    pub(crate) history: Vec<Message>,
    /// True once the setup was sent.
    pub(crate) is_connecting: bool,
    pub(crate) connected_at: Option<Instant>,
    /// The id of a call that the provider has repeated.
    pub(crate) repeated_call: Option<String>,
    /// The id of a call that was truncated.
    pub(crate) truncated_call: Option<String>,
    /// A call in the middle of which the response has ended.
    pub(crate) cut_call: Option<ToolCall>,
    /// The time at which a result was sent, until the model speaks.
    pub(crate) result_sent: Option<Instant>,
}

impl ConversationState {
    /// Records that the model responds.
    pub(crate) fn respond(&mut self) {
        if !std::mem::replace(&mut self.is_responding, true) {
            self.responses += 1;
        }
    }

    /// Records that the user speaks.
    pub(crate) fn begin_speech(&mut self) {
        self.speech_expires = Some(Instant::now() + MAX_AUDIO_GAP);
    }

    /// Records that audio of the user goes to the provider.
    pub(crate) fn hear(&mut self) {
        if self.speech_expires.is_some() {
            self.begin_speech();
        }
    }

    /// Ends speech to which the provider does not respond. The model is asked to respond to the
    /// texts before it, because no response to the speech answers them.
    pub(crate) fn abandon_speech(&mut self) {
        if self.speech_expires.take().is_some() && !self.unanswered.is_empty() {
            self.response_request = ResponseRequest::Now;
        }
    }

    /// Records that the model owes a response.
    pub(crate) fn await_response(&mut self) {
        self.awaits_response = true;
        self.awaits_next |= self.is_responding;
    }
}

/// A text to which the model has not responded.
pub(crate) struct UnansweredText {
    pub(crate) message: LiveMessage,
    /// The number of the model's response during or before which it was sent.
    pub(crate) sent_in: u64,
}

impl From<LiveMessage> for UnansweredText {
    fn from(message: LiveMessage) -> Self {
        Self {
            message,
            sent_in: 0,
        }
    }
}

/// The steps of a reply: responses with calls.
#[derive(Default)]
pub(crate) struct Steps {
    pub(crate) complete: u32,
    /// True if the current step has a call.
    pub(crate) has_call: bool,
    /// True if a result of the current step wants a reply.
    pub(crate) wants_reply: bool,
}

/// The time at which the model has to be asked for a response.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ResponseRequest {
    #[default]
    None,
    AfterCalls,
    Now,
}

/// Knowledge about the declared tools.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ToolsState {
    #[default]
    Current,
    /// They may have changed.
    Unknown,
    /// They have changed, and wait for another connection.
    Outdated,
}
