//! OpenAI's Chat Completions, which many other servers offer too.

pub(crate) mod call_entry;
pub(crate) mod calls;
pub(crate) mod known_hosts;
pub(crate) mod messages;
pub(crate) mod strict;
pub(crate) mod write;

#[cfg(test)]
mod tests;

use crate::accepted_parts::{AcceptedMedia, AcceptedParts, MEGABYTE, PDF, WEB, WEB_IMAGES};
use crate::openai_chat::known_hosts::KNOWN_HOSTS;
use crate::openai_chat::messages::ChatReader;
use crate::openai_chat::strict::STRICT;
use crate::spec::{
    Endpoint, HostPath, HttpEndpoint, MessageForm, ModelUrls, NamedModel, ProviderNames,
    ProviderSpec, Server, UrlPath, segments,
};
use crate::structured::{AnswerForm, AnswerSchema, StructuredOutput};
use serde_json::{Value, json};

/// The facts of Chat Completions.
pub(crate) const SPEC: ProviderSpec = ProviderSpec {
    endpoint: Endpoint::Http(HttpEndpoint::new(OPENAI, |_, _| {
        segments(&["chat", "completions"])
    })),
    urls: Some(ModelUrls {
        domain: None,
        model: model_of_url,
    }),
    known_hosts: KNOWN_HOSTS,
    accepted: ACCEPTED,
    declaration: |tool| tool.nested_function(tool.strict_flag()),
    strict: Some(STRICT),
    max_tools: Some(128),
    ..compatible(NAMES, OPENAI)
};

/// developers.openai.com, "Images and vision", "Audio" and "File inputs": documents are PDF only, in base64, of at most 50 MB.
const ACCEPTED: AcceptedParts = AcceptedParts {
    images: AcceptedMedia::bytes(WEB_IMAGES).or_urls(WEB),
    sounds: AcceptedMedia::bytes(SOUNDS),
    videos: AcceptedMedia::NONE,
    documents: AcceptedMedia::bytes(PDF).at_most(50 * MEGABYTE),
};

/// The sounds of an `input_audio`.
pub(crate) const SOUNDS: &[&str] = &["audio/wav", "audio/mpeg"];

const NAMES: ProviderNames = ProviderNames {
    otel: "openai",
    manifest: "openai",
    ..ProviderNames::of("openai-chat")
};

/// Returns the facts of another server with the same API, whose base URL has no path.
pub(crate) const fn compatible(names: ProviderNames, server: Server) -> ProviderSpec {
    ProviderSpec {
        answer_form: Some(ANSWER_FORM),
        ..ProviderSpec::new(names, endpoint_of(server), MESSAGES)
    }
}

/// Returns the endpoint of a server whose base URL has no path.
pub(crate) const fn endpoint_of(server: Server) -> Endpoint {
    Endpoint::Http(HttpEndpoint::new(server, |_, _| {
        segments(&["v1", "chat", "completions"])
    }))
}

pub(crate) const MESSAGES: MessageForm = MessageForm {
    reader: || Box::<ChatReader>::default(),
    encode: write::encode,
    request: write::request,
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
    base_url_env: &["OPENAI_BASE_URL"],
    host_paths: HOST_PATHS,
    ..Server::new("https://api.openai.com/v1", &["OPENAI_API_KEY"])
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
