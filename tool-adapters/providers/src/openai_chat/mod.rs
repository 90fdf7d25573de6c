//! OpenAI's Chat Completions, which many other servers offer too.

pub(crate) mod call_entry;
pub(crate) mod calls;
pub(crate) mod chat_hosts;
pub(crate) mod known_hosts;
pub(crate) mod messages;
pub(crate) mod strict;
pub(crate) mod write;

#[cfg(test)]
mod tests;

use crate::accepted_parts::{AcceptedMedia, AcceptedParts, MEGABYTE, PDF, WEB, WEB_IMAGES};
use crate::chat_steps;
use crate::hosts::KnownHost;
use crate::openai_chat::known_hosts::KNOWN_HOSTS;
use crate::openai_chat::messages::ChatReader;
use crate::openai_chat::strict::STRICT;
use crate::part_form::has_form;
use crate::prompt_cache::PromptCache;
use crate::setting_places;
use crate::spec::{
    Endpoint, HttpEndpoint, MessageForm, ModelUrls, NamedModel, ProviderNames, ProviderSpec,
    Server, UrlPath, segments,
};
use crate::structured::{AnswerForm, AnswerSchema, StructuredOutput};
use serde_json::{Value, json};

/// The facts of Chat Completions.
pub(crate) const SPEC: ProviderSpec = ProviderSpec {
    endpoint: Endpoint::Http(HttpEndpoint {
        idempotency_header: Some("idempotency-key"),
        ..HttpEndpoint::new(OPENAI, |_, _| segments(&["chat", "completions"]))
    }),
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

/// developers.openai.com, "Images and vision", "Audio" and "File inputs": documents are PDF only,
/// in base64, of at most 50 MB.
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

/// Returns the facts of another server with the same API, whose base URL has no path. What OpenAI
/// adds to this API is not among them: its rules of messages (`rules`), images and files
/// (`accepted`), the limits of tools and the strict form.
pub(crate) const fn compatible(names: ProviderNames, server: Server) -> ProviderSpec {
    ProviderSpec {
        has_reasoning: chat_steps::has_reasoning,
        answer_form: Some(ANSWER_FORM),
        settings: setting_places::CHAT,
        prompt_cache: PromptCache::Key,
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
    has_form: has_form::<write::ChatMessages>,
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

fn structured_output(_model: &str, host: &str) -> StructuredOutput {
    let known = KnownHost::find(KNOWN_HOSTS, host);
    known.map_or(StructuredOutput::WithoutCalls, |known| {
        known.structured_output
    })
}

/// OpenAI's server.
pub(crate) const OPENAI: Server = Server {
    base_url_env: &["OPENAI_BASE_URL"],
    known_hosts: KNOWN_HOSTS,
    ..Server::new("https://api.openai.com/v1", &["OPENAI_API_KEY"])
};

/// Azure names the model's deployment in the path. Embeddings are recognised too, as they have a
/// cost.
fn model_of_url(path: &UrlPath<'_>) -> Option<NamedModel> {
    match (path.parent, path.last) {
        ("chat", "completions") => Some(path.segment_after("deployments")),
        ("v1", "embeddings") => Some(None),
        (_, "embeddings") => path.segment_after("deployments").map(Some),
        _ => None,
    }
}
