//! OpenAI's Realtime, over a WebSocket: each message is one event.

pub(crate) mod messages;

#[cfg(test)]
mod tests;

use crate::openai_chat::OPENAI;
use crate::openai_realtime::messages::{RealtimeMessages, RealtimeReader};
use crate::schema::rules::SchemaForm;
use crate::spec::{Endpoint, LiveEndpoint, ProviderSpec, Server, ToolListForm};
use crate::tool_names::NameRule;

/// The facts of Realtime.
pub(crate) const SPEC: ProviderSpec = ProviderSpec {
    turn_id: "openai-realtime",
    otel_name: "openai",
    biller: Some("openai"),
    manifest_key: "openaiRealtime",
    endpoint: Endpoint::WebSocket(LiveEndpoint {
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
    }),
    urls: None,
    reader: || Box::<RealtimeReader>::default(),
    encode: messages::encode,
    request: messages::request,
    declaration: |tool| tool.flat_function(None),
    names: NameRule::OPENAI,
    schema: SchemaForm::Whole,
    property_names: None,
    strict: None,
    repeats_refusals: false,
    answer_form: None,
    tool_list: ToolListForm::Flat,
    max_tools: Some(128),
    search_tool: None,
    request_settings: |_| None,
};
