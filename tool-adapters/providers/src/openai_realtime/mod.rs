//! OpenAI's Realtime, over a WebSocket: each message is one event.

pub(crate) mod messages;

#[cfg(test)]
mod tests;

use crate::accepted_parts::{AcceptedMedia, AcceptedParts};
use crate::openai_chat::OPENAI;
use crate::openai_realtime::messages::{RealtimeMessages, RealtimeReader};
use crate::part_form::has_form;
use crate::spec::{Endpoint, LiveEndpoint, MessageForm, ProviderNames, ProviderSpec, Server};

/// The facts of Realtime.
pub(crate) const SPEC: ProviderSpec = ProviderSpec {
    declaration: |tool| tool.flat_function(None),
    accepted: ACCEPTED,
    max_tools: Some(128),
    ..ProviderSpec::new(
        ProviderNames {
            otel: "openai",
            manifest: "openaiRealtime",
            biller: Some("openai"),
            ..ProviderNames::of("openai-realtime")
        },
        ENDPOINT,
        MessageForm {
            reader: || Box::<RealtimeReader>::default(),
            encode: messages::encode,
            request: messages::request,
            has_form: has_form::<messages::RealtimeParts>,
        },
    )
};

/// openai-python, `RealtimeConversationItemUserMessage`: PNG and JPEG as `data:` URIs, and sounds
/// in the format of the session.
const ACCEPTED: AcceptedParts = AcceptedParts {
    images: AcceptedMedia::bytes(&["image/png", "image/jpeg"]),
    sounds: AcceptedMedia::bytes(&["audio/pcm"]),
    ..AcceptedParts::TEXT
};

const ENDPOINT: Endpoint = Endpoint::WebSocket(LiveEndpoint {
    server: Server {
        base_url: "wss://api.openai.com/v1",
        ..OPENAI
    },
    path: "realtime",
    model_query: Some("model"),
    audio_rate: 24_000,
    confirms_setup: false,
    interruption_ends_response: false,
    answers_results: false,
    instruction_settings: &["instructions"],
    messages: &RealtimeMessages,
});
