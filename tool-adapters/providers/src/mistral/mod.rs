//! Mistral's chat, which is read like Chat Completions and written a little differently.

pub(crate) mod write;

#[cfg(test)]
mod tests;

use crate::openai_chat;
use crate::openai_chat::messages::ChatReader;
use crate::schema::rules::SchemaForm;
use crate::spec::{
    BEARER, Endpoint, HttpEndpoint, ModelUrls, ProviderSpec, Server, ToolListForm, segments,
};
use crate::structured::{AnswerForm, StructuredOutput};
use crate::tool_names::NameRule;

/// The facts of Mistral's chat.
pub(crate) const SPEC: ProviderSpec = ProviderSpec {
    turn_id: "mistral",
    otel_name: "mistral_ai",
    biller: Some("mistral"),
    manifest_key: "mistral",
    endpoint: Endpoint::Http(HttpEndpoint {
        server: Server {
            base_url: "https://api.mistral.ai",
            base_url_env: &["MISTRAL_BASE_URL"],
            region_env: &[],
            key_env: &["MISTRAL_API_KEY"],
            key_header: BEARER,
            key_required: true,
            host_paths: &[],
            other_apis: &[],
        },
        headers: &[],
        path: |_, _| segments(&["v1", "chat", "completions"]),
        stream_query: None,
        streams: true,
    }),
    // The path is that of Chat Completions too.
    urls: Some(ModelUrls {
        domain: Some("mistral.ai"),
        model: |path| ((path.parent, path.last) == ("chat", "completions")).then_some(None),
    }),
    reader: || Box::<ChatReader>::default(),
    encode: write::encode,
    request: write::request,
    declaration: |tool| tool.nested_function(None),
    names: NameRule::OPENAI,
    schema: SchemaForm::Whole,
    property_names: None,
    // Functions have a `strict`, but the accepted schemas are not documented.
    strict: None,
    repeats_refusals: false,
    answer_form: Some(AnswerForm {
        support: |_, _| StructuredOutput::WithoutCalls,
        ..openai_chat::ANSWER_FORM
    }),
    tool_list: ToolListForm::Flat,
    max_tools: Some(128),
    search_tool: None,
    request_settings: |_| None,
};
