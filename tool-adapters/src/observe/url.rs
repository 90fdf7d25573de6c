//! Which provider a request goes to.

use crate::{Provider, prices};
use std::borrow::Cow;

/// Where a model is asked.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) provider: Provider,
    /// The model, where the path says it.
    pub(super) model: Option<String>,
    /// Who is paid, where the host or the protocol says it.
    pub(super) billed_by: Option<Cow<'static, str>>,
}

/// Where this request asks a model, if it does.
pub(super) fn place(method: &str, url: &str) -> Option<Place> {
    if !method.eq_ignore_ascii_case("POST") {
        return None;
    }
    let (host, path) = parts(url)?;
    let (provider, model) = asked(&host, path)?;
    let by_host = prices::biller(&format!("https://{host}{path}"));
    let billed_by = by_host.or_else(|| default_biller(provider)).map(Cow::Borrowed);
    Some(Place { provider, model, billed_by })
}

/// The host and the path of a URL.
fn parts(url: &str) -> Option<(String, &str)> {
    let (_, rest) = url.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    let with_port = authority.rsplit('@').next()?;
    // An address in brackets has colons of its own.
    let host = with_port.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')).map_or(with_port, |(host, _)| host);
    let path = rest.split(['?', '#']).next().unwrap_or_default();
    Some((host.to_ascii_lowercase(), path.trim_end_matches('/')))
}

/// The protocol that is spoken there, and the model that is asked.
fn asked(host: &str, path: &str) -> Option<(Provider, Option<String>)> {
    let (before, last) = path.rsplit_once('/')?;
    let parent = before.rsplit('/').next().unwrap_or_default();
    if let Some((model, method)) = last.rsplit_once(':') {
        let provider = match method {
            "generateContent" | "streamGenerateContent" => Provider::Gemini,
            // Anthropic's models at Google.
            "rawPredict" | "streamRawPredict" if path.contains("/publishers/anthropic/") => Provider::Anthropic,
            _ => return None,
        };
        return Some((provider, Some(decoded(model))));
    }
    Some(match (parent, last) {
        ("chat", "completions") if is_of(host, "mistral.ai") => (Provider::Mistral, None),
        ("chat", "completions") => (Provider::OpenAiChat, deployment(before)),
        // They cost too.
        ("v1", "embeddings") => (Provider::OpenAiChat, None),
        (_, "embeddings") if before.contains("/deployments/") => (Provider::OpenAiChat, Some(decoded(parent))),
        (_, "responses") => (Provider::OpenAiResponses, None),
        ("v1", "messages") => (Provider::Anthropic, None),
        (model, "converse" | "converse-stream") if before.contains("/model/") => {
            (Provider::Bedrock, Some(decoded(model)))
        }
        ("v2", "chat") => (Provider::Cohere, None),
        ("api", "chat") => (Provider::Ollama, None),
        _ => return None,
    })
}

/// The deployment in a path of Azure's, which mostly has its model's name.
fn deployment(before: &str) -> Option<String> {
    let (_, rest) = before.split_once("/deployments/")?;
    rest.split('/').next().map(decoded)
}

/// A part of a path without its escapes.
fn decoded(part: &str) -> String {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let escaped = after.first_chunk::<2>().filter(|_| byte == b'%').and_then(|digits| {
            let digits = std::str::from_utf8(digits).ok()?;
            digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then(|| u8::from_str_radix(digits, 16).ok())?
        });
        bytes.push(escaped.unwrap_or(byte));
        rest = after.get(if escaped.is_some() { 2 } else { 0 }..).unwrap_or_default();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn is_of(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Who is paid for what a protocol asks, wherever it is asked. Many others speak as `OpenAI` does: there the model's name
/// has to tell.
pub(crate) fn default_biller(provider: Provider) -> Option<&'static str> {
    Some(match provider {
        Provider::OpenAiRealtime => "openai",
        Provider::Anthropic => "anthropic",
        Provider::Gemini | Provider::GeminiJsonSchema | Provider::GeminiLive => "google",
        Provider::Bedrock => "aws",
        Provider::Mistral => "mistral",
        Provider::Cohere => "cohere",
        Provider::Ollama => "ollama",
        Provider::OpenAiChat | Provider::OpenAiResponses | Provider::Mcp => return None,
    })
}
