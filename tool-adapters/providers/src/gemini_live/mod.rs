//! Gemini Live, over a WebSocket: each message is one JSON text.
//!
//! - Messages about the session come whole as `Event::Unknown`: `setupComplete`, `goAway`,
//!   `sessionResumptionUpdate`, and `inputTranscription`, the user's speech. The model's speech,
//!   `outputTranscription`, comes as text.
//! - A request is the `setup` message. `Request::extra` is laid over the members of `setup`, which
//!   have no place for the choice of tools. The history follows in a `clientContent`, as the setup
//!   announces.
//! - Answers that want no reply are `SILENT`. The further answers of a call that reports its
//!   progress (`<id>_update_N`, `<id>_final`) go out under the call's own id as `WHEN_IDLE`, so
//!   that the model mentions them without interrupting the user. The server accepts them for
//!   functions that are declared `NON_BLOCKING`; of other functions it accepts the first answer
//!   only.
//! - Calls that the server has withdrawn are not answered.
//! - A call that comes again in its turn is not run again. After a message that cannot be read, the
//!   calls of the turn are `Event::CutCall`.

pub(crate) mod messages;

#[cfg(test)]
mod tests;

use crate::accepted_parts::{AcceptedMedia, AcceptedParts};
use crate::gemini;
use crate::gemini_live::messages::{GeminiLiveMessages, LiveReader};
use crate::part_form::has_form;
use crate::spec::{
    Endpoint, LiveEndpoint, MessageForm, ProviderNames, ProviderSpec, Server, ToolListForm,
};

/// The facts of Live.
pub(crate) const SPEC: ProviderSpec = ProviderSpec {
    declaration: gemini::SPEC.declaration,
    tool_names: gemini::SPEC.tool_names,
    schema: gemini::SPEC.schema,
    accepted: ACCEPTED,
    tool_list: ToolListForm::Merged,
    max_tools: gemini::SPEC.max_tools,
    ..ProviderSpec::new(
        ProviderNames {
            provider: "gemini-live",
            turns: "gemini-live",
            manifest: "geminiLive",
            ..gemini::NAMES
        },
        ENDPOINT,
        MessageForm {
            reader: || Box::<LiveReader>::default(),
            encode: messages::encode,
            request: messages::request,
            has_form: has_form::<messages::RealtimeInput>,
        },
    )
};

/// ai.google.dev, "Live API capabilities": images are frames of the video in JPEG or PNG, and
/// sounds are raw PCM.
const ACCEPTED: AcceptedParts = AcceptedParts {
    images: AcceptedMedia::bytes(&["image/jpeg", "image/png"]),
    sounds: AcceptedMedia::bytes(&["audio/pcm"]),
    ..AcceptedParts::TEXT
};

const ENDPOINT: Endpoint = Endpoint::WebSocket(LiveEndpoint {
    server: Server {
        base_url: "wss://generativelanguage.googleapis.com",
        ..gemini::GOOGLE
    },
    path: "ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent",
    model_query: None,
    audio_rate: 16_000,
    confirms_setup: true,
    interruption_ends_response: true,
    answers_results: true,
    instruction_settings: &["systemInstruction", "system_instruction"],
    messages: &GeminiLiveMessages,
});
