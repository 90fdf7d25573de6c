//! OpenAI's Chat Completions, which many other servers offer too.

pub(crate) mod call_entry;
pub(crate) mod calls;
pub(crate) mod messages;
pub(crate) mod strict;
pub(crate) mod write;

#[cfg(test)]
mod tests;

use crate::openai_chat::messages::ChatReader;
use crate::openai_chat::strict::STRICT;
use crate::schema::rules::SchemaForm;
use crate::spec::{
    BEARER, Endpoint, HostPath, HttpEndpoint, ModelUrls, NamedModel, ProviderSpec, Server,
    ToolListForm, UrlPath, segments,
};
use crate::structured::{AnswerForm, AnswerSchema, StructuredOutput};
use crate::tool_names::NameRule;
use serde_json::{Value, json};

/// The facts of Chat Completions.
pub(crate) const SPEC: ProviderSpec = ProviderSpec {
    turn_id: "openai-chat",
    otel_name: "openai",
    biller: None,
    manifest_key: "openai",
    endpoint: Endpoint::Http(HttpEndpoint {
        server: OPENAI,
        headers: &[],
        path: |_, _| segments(&["chat", "completions"]),
        stream_query: None,
        streams: true,
    }),
    urls: Some(ModelUrls {
        domain: None,
        model: model_of_url,
    }),
    reader: || Box::<ChatReader>::default(),
    encode: write::encode,
    request: write::request,
    declaration: |tool| tool.nested_function(tool.strict_flag()),
    names: NameRule::OPENAI,
    schema: SchemaForm::Whole,
    property_names: None,
    strict: Some(STRICT),
    repeats_refusals: false,
    answer_form: Some(ANSWER_FORM),
    tool_list: ToolListForm::Flat,
    max_tools: Some(128),
    search_tool: None,
    request_settings: |_| None,
};

/// The form for structured output, which other servers have too.
pub(crate) const ANSWER_FORM: AnswerForm = AnswerForm {
    write: write_answer,
    needs_strict: false,
    support: structured_output,
};

fn write_answer(answer: &AnswerSchema<'_>) -> Value {
    let schema = json!({"name": answer.name, "schema": answer.schema, "strict": answer.strict});
    json!({"response_format": {"type": "json_schema", "json_schema": schema}})
}

/// The servers that differ from most: those that take the form beside tools, that refuse it there, and that refuse it always.
/// With the others, such as vLLM and llama.cpp, a model cannot call tools while its text has a form.
fn structured_output(_model: &str, host: &str) -> StructuredOutput {
    let is_at = |domains: &[&str]| {
        domains.iter().any(|domain| {
            host.strip_suffix(domain)
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        })
    };
    if is_at(&["api.openai.com", "openai.azure.com", "api.x.ai"]) {
        StructuredOutput::BesideTools
    } else if is_at(&[
        "api.groq.com",
        "api.cerebras.ai",
        "generativelanguage.googleapis.com",
    ]) {
        StructuredOutput::WithoutTools
    } else if is_at(&["api.deepseek.com"]) {
        StructuredOutput::Never
    } else {
        StructuredOutput::WithoutCalls
    }
}

/// OpenAI's server.
pub(crate) const OPENAI: Server = Server {
    base_url: "https://api.openai.com/v1",
    base_url_env: &["OPENAI_BASE_URL"],
    region_env: &[],
    key_env: &["OPENAI_API_KEY"],
    key_header: BEARER,
    key_required: true,
    host_paths: HOST_PATHS,
    other_apis: &[],
};

/// The paths at which known hosts have OpenAI's API, by their documents.
const HOST_PATHS: &[HostPath] = &[
    HostPath {
        host: "api.openai.com",
        path: &["v1"],
    },
    HostPath {
        host: "api.anthropic.com",
        path: &["v1"],
    },
    HostPath {
        host: "api.cerebras.ai",
        path: &["v1"],
    },
    HostPath {
        host: "api.cohere.ai",
        path: &["compatibility", "v1"],
    },
    HostPath {
        host: "api.cohere.com",
        path: &["compatibility", "v1"],
    },
    HostPath {
        host: "api.deepinfra.com",
        path: &["v1", "openai"],
    },
    HostPath {
        host: "api.fireworks.ai",
        path: &["inference", "v1"],
    },
    HostPath {
        host: "api.groq.com",
        path: &["openai", "v1"],
    },
    HostPath {
        host: "api.mistral.ai",
        path: &["v1"],
    },
    HostPath {
        host: "api.sambanova.ai",
        path: &["v1"],
    },
    HostPath {
        host: "api.together.xyz",
        path: &["v1"],
    },
    HostPath {
        host: "api.x.ai",
        path: &["v1"],
    },
    HostPath {
        host: "generativelanguage.googleapis.com",
        path: &["v1beta", "openai"],
    },
    HostPath {
        host: "integrate.api.nvidia.com",
        path: &["v1"],
    },
    HostPath {
        host: "openrouter.ai",
        path: &["api", "v1"],
    },
];

/// Azure names the model's deployment in the path. Embeddings are recognised too, as they have a cost.
fn model_of_url(path: &UrlPath<'_>) -> Option<NamedModel> {
    match (path.parent, path.last) {
        ("chat", "completions") => Some(path.segment_after("deployments")),
        ("v1", "embeddings") => Some(None),
        (_, "embeddings") => path.segment_after("deployments").map(Some),
        _ => None,
    }
}
