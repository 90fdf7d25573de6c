//! Ollama's chat: lines of JSON with whole calls, whose arguments are objects and which have no id at older servers.
//!
//! - The item of a message is the message in the server's form, put together from its lines: `{"role": "assistant",
//!   "content": .., "thinking": .., "tool_calls": [..]}`. The members that the protocol does not know, of the message and of
//!   its calls, are kept. A message without content has no item.
//! - A line without a `message` is skipped, such as the state of a download, if it does not say whether the message is
//!   `done`. All else is a part of the answer: a line that is no object, that has a `message`, texts or calls of another
//!   form, or that comes after the end, is an error.
//! - The message ends with `done`. A server that has only loaded or unloaded a model has not answered.

pub(crate) mod messages;
pub(crate) mod read;
pub(crate) mod seen_calls;

#[cfg(test)]
mod tests;

use crate::ollama::read::OllamaReader;
use crate::schema::rules::{SchemaForm, SchemaSubset, TypeSet};
use crate::spec::{
    BEARER, Endpoint, HttpEndpoint, ModelUrls, ProviderSpec, Server, ToolListForm, segments,
};
use crate::structured::{AnswerForm, StructuredOutput};
use crate::tool_names::NameRule;
use serde_json::json;

/// The facts of Ollama's chat.
pub(crate) const SPEC: ProviderSpec = ProviderSpec {
    turn_id: "ollama",
    otel_name: "ollama",
    biller: Some("ollama"),
    manifest_key: "ollama",
    endpoint: Endpoint::Http(HttpEndpoint {
        server: Server {
            base_url: "http://127.0.0.1:11434",
            base_url_env: &["OLLAMA_HOST"],
            region_env: &[],
            key_env: &["OLLAMA_API_KEY"],
            key_header: BEARER,
            key_required: false,
            host_paths: &[],
            other_apis: &[&["v1"]],
        },
        headers: &[],
        path: |_, _| segments(&["api", "chat"]),
        stream_query: None,
        streams: true,
    }),
    urls: Some(ModelUrls {
        domain: None,
        model: |path| ((path.parent, path.last) == ("api", "chat")).then_some(None),
    }),
    reader: || Box::<OllamaReader>::default(),
    encode: messages::encode,
    request: messages::request,
    declaration: |tool| tool.nested_function(None),
    // The server accepts any name, but the templates of its models do not expect all characters.
    names: NameRule {
        punctuation: "-",
        any_first: true,
        max_length: 128,
    },
    schema: SchemaForm::Subset(&SUBSET),
    property_names: None,
    strict: None,
    repeats_refusals: false,
    answer_form: Some(AnswerForm {
        write: |answer| json!({"format": answer.schema}),
        needs_strict: false,
        support: |_, _| StructuredOutput::WithoutCalls,
    }),
    tool_list: ToolListForm::Flat,
    max_tools: None,
    search_tool: None,
    request_settings: |_| None,
};

/// The keywords that the server's type of a tool has. It drops all others.
const SUBSET: SchemaSubset = SchemaSubset {
    keeps: &[],
    typed: false,
    references: false,
    maps: false,
    enums: TypeSet::ALL,
    formats: |_, _| false,
    grammar: None,
};
