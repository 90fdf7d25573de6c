//! OpenAI's Responses.

pub(crate) mod items;
pub(crate) mod output;
pub(crate) mod read;
pub mod tools;
pub(crate) mod write;

#[cfg(test)]
mod tests;

use crate::openai_chat::strict::STRICT;
use crate::openai_chat::{self, OPENAI};
use crate::openai_responses::read::ResponsesReader;
use crate::schema::rules::SchemaForm;
use crate::spec::{Endpoint, HttpEndpoint, ModelUrls, ProviderSpec, ToolListForm, segments};
use crate::structured::{AnswerForm, AnswerSchema};
use crate::tool_names::NameRule;
use serde_json::{Value, json};

/// The facts of Responses.
pub(crate) const SPEC: ProviderSpec = ProviderSpec {
    turn_id: "openai-responses",
    otel_name: "openai",
    biller: None,
    manifest_key: "openaiResponses",
    endpoint: Endpoint::Http(HttpEndpoint {
        server: OPENAI,
        headers: &[],
        path: |_, _| segments(&["responses"]),
        stream_query: None,
        streams: true,
    }),
    urls: Some(ModelUrls {
        domain: None,
        model: |path| (path.last == "responses").then_some(None),
    }),
    reader: || Box::<ResponsesReader>::default(),
    encode: write::encode,
    request: write::request,
    // A declaration that does not say is strict.
    declaration: |tool| tool.flat_function(Some(tool.strict)),
    names: NameRule::OPENAI,
    schema: SchemaForm::Whole,
    property_names: None,
    strict: Some(STRICT),
    repeats_refusals: false,
    answer_form: Some(AnswerForm {
        write: write_answer,
        needs_strict: false,
        support: |model, host| (openai_chat::ANSWER_FORM.support)(model, host),
    }),
    tool_list: ToolListForm::Flat,
    max_tools: Some(128),
    search_tool: Some(r#"{"type":"tool_search"}"#),
    request_settings: |_| None,
};

/// Writes the form of the text.
fn write_answer(answer: &AnswerSchema<'_>) -> Value {
    let AnswerSchema {
        name,
        schema,
        strict,
        ..
    } = answer;
    json!({"text": {"format": {"type": "json_schema", "name": name, "schema": schema, "strict": strict}}})
}
