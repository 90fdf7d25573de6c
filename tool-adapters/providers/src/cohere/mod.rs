//! Cohere's chat, version 2.
//!
//! - The item of a message is the message in the provider's form, put together from its events: `{"role": "assistant",
//!   "tool_plan": .., "content": [..], "tool_calls": [..], "citations": [..]}`. The members that the protocol does not know, of
//!   the message, of its parts and of its calls, are kept. A message without content has no item.
//! - Events of unknown types are skipped if they have no `message`, such as `debug`. All else is a part of the answer: an event
//!   that is no object, a piece without its text, its index or its beginning, or one that comes after the end, is an error.
//!   The end of a text or of a call with whole arguments may be missing.

pub(crate) mod messages;
pub(crate) mod read;

#[cfg(test)]
mod tests;

use crate::anthropic;
use crate::cohere::read::CohereReader;
use crate::schema::rules::SchemaForm;
use crate::spec::{
    BEARER, Endpoint, HttpEndpoint, ModelUrls, ProviderSpec, Server, ToolListForm, segments,
};
use crate::strict::budget::{StrictBudget, StrictForm, StrictRules};
use crate::structured::{AnswerForm, StructuredOutput};
use crate::tool_names::NameRule;
use serde_json::json;

/// The facts of Cohere's chat.
pub(crate) const SPEC: ProviderSpec = ProviderSpec {
    turn_id: "cohere",
    otel_name: "cohere",
    biller: Some("cohere"),
    manifest_key: "cohere",
    endpoint: Endpoint::Http(HttpEndpoint {
        server: Server {
            base_url: "https://api.cohere.com",
            base_url_env: &["CO_API_URL"],
            region_env: &[],
            key_env: &["CO_API_KEY", "COHERE_API_KEY"],
            key_header: BEARER,
            key_required: true,
            host_paths: &[],
            other_apis: &[&["compatibility", "v1"], &["v1"]],
        },
        headers: &[],
        path: |_, _| segments(&["v2", "chat"]),
        stream_query: None,
        streams: true,
    }),
    urls: Some(ModelUrls {
        domain: None,
        model: |path| ((path.parent, path.last) == ("v2", "chat")).then_some(None),
    }),
    reader: || Box::<CohereReader>::default(),
    encode: messages::encode,
    request: messages::request,
    declaration: |tool| tool.nested_function(None),
    // The models call tools as Python does.
    names: NameRule {
        punctuation: "",
        any_first: false,
        max_length: 64,
    },
    schema: SchemaForm::Whole,
    property_names: None,
    strict: Some(StrictRules {
        form: &StrictForm {
            formats: &["date-time", "time", "date", "uuid"],
            ..anthropic::STRICT_FORM
        },
        budget: StrictBudget::AllOrNone { max_fields: 200 },
    }),
    repeats_refusals: false,
    answer_form: Some(AnswerForm {
        write: |answer| json!({"response_format": {"type": "json_object", "json_schema": answer.schema}}),
        needs_strict: false,
        support: |_, _| StructuredOutput::WithoutTools,
    }),
    tool_list: ToolListForm::Flat,
    max_tools: None,
    search_tool: None,
    request_settings: |kinds| kinds.strict.then(|| json!({"strict_tools": true})),
};
