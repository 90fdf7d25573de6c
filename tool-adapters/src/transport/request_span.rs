//! The span of one HTTP request, under the names that OpenTelemetry gives.

use reqwest::{Method, Url};
use std::borrow::Cow;
use tool_core::trace::{Redaction, SpanHandle, SpanKind};

/// Opens it for somebody who has asked for spans of requests.
#[cfg(feature = "reqwest-middleware")]
pub(crate) fn open(method: &Method, url: &Url) -> SpanHandle {
    told(SpanHandle::open(SpanKind::Http, name(method, url)), method, url)
}

/// Opens it for a request of the library's own.
#[cfg(feature = "http")]
pub(crate) fn open_if_wanted(method: &Method, url: &Url) -> SpanHandle {
    told(SpanHandle::open_if_wanted(SpanKind::Http, name(method, url)), method, url)
}

/// The name under which an answer's status is told.
pub(crate) const STATUS: &str = "http.response.status_code";

fn name(method: &Method, url: &Url) -> String {
    format!("{method} {}", url.host_str().unwrap_or_default())
}

/// Of the address neither the query nor a password is told, nor what looks like a key in its path: Telegram's and
/// Slack's stand there.
fn told(span: SpanHandle, method: &Method, url: &Url) -> SpanHandle {
    if !span.is_open() {
        return span;
    }
    span.attribute("http.request.method", method.as_str());
    span.attribute("server.address", url.host_str().unwrap_or_default());
    if let Some(port) = url.port_or_known_default() {
        span.attribute("server.port", port);
    }
    span.attribute("url.path", shown(url.path()));
    span
}

/// What stands in the place of a segment that is not shown.
const HIDDEN: &str = "{..}";

/// From so many characters on a segment is shown only where it is made of words.
const LONG: usize = 20;

/// What may follow a model's name behind a colon, at Google.
const METHODS: [&str; 8] = [
    "batchEmbedContents",
    "countTokens",
    "embedContent",
    "generateContent",
    "predict",
    "rawPredict",
    "streamGenerateContent",
    "streamRawPredict",
];

fn shown(path: &str) -> String {
    let redaction = Redaction::new();
    let segments = path
        .split('/')
        .map(|segment| if is_shown(segment, &redaction) { Cow::Borrowed(segment) } else { Cow::Borrowed(HIDDEN) });
    segments.collect::<Vec<_>>().join("/")
}

fn is_shown(segment: &str, redaction: &Redaction) -> bool {
    // As in `anthropic.claude-v2:1`.
    let is_version = |text: &str| matches!(text.len(), 1 | 2) && text.bytes().all(|byte| byte.is_ascii_digit());
    let name = match segment.split_once(':') {
        Some((name, rest)) if METHODS.contains(&rest) => name,
        Some((name, rest)) if is_version(rest) && is_of_words(name) => name,
        Some(_) => return false,
        None => segment,
    };
    let is_encoded_colon = || name.to_ascii_lowercase().contains("%3a");
    let is_short = name.len() < LONG && !is_encoded_colon();
    (is_short || is_of_words(name)) && redaction.text(name) == name
}

/// Whether a text is made of words and short numbers, as names are: `gpt-4o-2024-08-06`, `listAllMessages`.
fn is_of_words(text: &str) -> bool {
    text.split(['-', '_', '.']).all(|part| {
        let starts = part.char_indices().filter(|(_, c)| c.is_ascii_uppercase()).map(|(at, _)| at);
        let mut bounds = starts.filter(|at| *at > 0).collect::<Vec<_>>();
        bounds.push(part.len());
        let mut from = 0;
        bounds.into_iter().all(|to| {
            let word = part.get(from..to).unwrap_or_default();
            from = to;
            is_word(word)
        })
    })
}

fn is_word(text: &str) -> bool {
    let all = |is: fn(&u8) -> bool| text.as_bytes().iter().all(is);
    let is_capital = text.starts_with(|c: char| c.is_ascii_uppercase());
    match text.len() {
        3 if is_capital => all(u8::is_ascii_alphabetic),
        0..=3 => !is_capital && all(u8::is_ascii_alphanumeric),
        4..=8 if all(u8::is_ascii_digit) => true,
        4..=16 => all(u8::is_ascii_alphabetic),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // THREATS: secrets in traces
    #[test]
    fn what_looks_like_a_key_in_a_path_is_not_shown() {
        for (path, expected) in [
            ("/bot123456:AAcanaryCANARYcanary/sendMessage", "/{..}/sendMessage"),
            ("/bot123456%3AAAcanary/sendMessage", "/{..}/sendMessage"),
            ("/services/T00000000/B00000000/XCanaRyCanAryXcanaryXyzQ", "/services/T00000000/B00000000/{..}"),
            ("/api/webhooks/123456789012345678/canary-4AJz8WQ0kP1xy", "/api/webhooks/123456789012345678/{..}"),
            ("/v1/550e8400-e29b-41d4-a716-446655440000", "/v1/{..}"),
            ("/v1/sk-canary123456/x", "/v1/{..}/x"),
            ("/v1/x;token=canary/", "/v1/{..}/"),
            ("/users/ann:canary", "/users/{..}"),
            ("/0123456789abcdef0123456789abcdef:predict", "/{..}"),
        ] {
            assert_eq!(shown(path), expected);
        }
    }

    #[test]
    fn names_of_models_and_methods_stay_readable() {
        for path in [
            "/",
            "/v1/chat/completions",
            "/v1beta/models/gpt-4o-2024-08-06:generateContent",
            "/v1beta/models/gemini-2.5-flash-preview-05-20:streamGenerateContent",
            "/model/anthropic.claude-3-5-sonnet-20241022-v2:0/converse",
            "/v1/deployments/text-embedding-3-small/listAllMessagesForThread",
        ] {
            assert_eq!(shown(path), path);
        }
    }
}
