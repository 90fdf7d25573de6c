//! The span of one HTTP request, with OpenTelemetry's attribute names.

use reqwest::{Method, Url};
use tool_core::trace::{Redaction, SpanHandle, SpanKind};

/// The attribute for the status of the response.
pub const STATUS_CODE: &str = "http.response.status_code";

/// Opens the span of a request. With `if_wanted`, the span is opened only if spans are collected.
///
/// The attributes leave out the query, the password, and path segments that look like a key:
/// Telegram and Slack put keys into the path.
pub fn open(method: &Method, url: &Url, if_wanted: bool) -> SpanHandle {
    let name = format!("{method} {}", url.host_str().unwrap_or_default());
    let open = if if_wanted {
        SpanHandle::open_if_wanted
    } else {
        SpanHandle::open
    };
    let span = open(SpanKind::Http, name);
    if span.is_open() {
        span.attribute("http.request.method", method.as_str());
        span.attribute("server.address", url.host_str().unwrap_or_default());
        if let Some(port) = url.port_or_known_default() {
            span.attribute("server.port", port);
        }
        span.attribute("url.path", redacted_path(url.path()));
    }
    span
}

/// Replaces a redacted path segment.
const REDACTED: &str = "{..}";

/// Segments of this length and longer are kept only if they are made of words.
const LONG: usize = 20;

/// Methods that follow a model's name and a colon in Google's APIs.
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

fn redacted_path(path: &str) -> String {
    let redaction = Redaction::new();
    let segments = path.split('/').map(|segment| {
        if is_public(segment, &redaction) {
            segment
        } else {
            REDACTED
        }
    });
    segments.collect::<Vec<_>>().join("/")
}

fn is_public(segment: &str, redaction: &Redaction) -> bool {
    // Such as `anthropic.claude-v2:1`.
    let is_version =
        |text: &str| matches!(text.len(), 1 | 2) && text.bytes().all(|byte| byte.is_ascii_digit());
    let name = match segment.split_once(':') {
        Some((name, rest)) if METHODS.contains(&rest) => name,
        Some((name, rest)) if is_version(rest) && is_made_of_words(name) => name,
        Some(_) => return false,
        None => segment,
    };
    let has_encoded_colon = || name.to_ascii_lowercase().contains("%3a");
    let is_short = name.len() < LONG && !has_encoded_colon();
    (is_short || is_made_of_words(name)) && redaction.text(name) == name
}

/// Returns true for a text of words and short numbers, such as `gpt-4o-2024-08-06` and
/// `listAllMessages`.
fn is_made_of_words(text: &str) -> bool {
    text.split(['-', '_', '.']).all(|part| {
        let starts = part
            .char_indices()
            .filter(|(_, c)| c.is_ascii_uppercase())
            .map(|(at, _)| at);
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

    // T1
    #[test]
    fn redacts_path_segments_that_look_like_keys() {
        for (path, expected) in [
            (
                "/bot123456:AAcanaryCANARYcanary/sendMessage",
                "/{..}/sendMessage",
            ),
            ("/bot123456%3AAAcanary/sendMessage", "/{..}/sendMessage"),
            (
                "/services/T00000000/B00000000/XCanaRyCanAryXcanaryXyzQ",
                "/services/T00000000/B00000000/{..}",
            ),
            (
                "/api/webhooks/123456789012345678/canary-4AJz8WQ0kP1xy",
                "/api/webhooks/123456789012345678/{..}",
            ),
            ("/v1/550e8400-e29b-41d4-a716-446655440000", "/v1/{..}"),
            ("/v1/sk-canary123456/x", "/v1/{..}/x"),
            ("/v1/x;token=canary/", "/v1/{..}/"),
            ("/users/ann:canary", "/users/{..}"),
            ("/0123456789abcdef0123456789abcdef:predict", "/{..}"),
        ] {
            assert_eq!(redacted_path(path), expected);
        }
    }

    #[test]
    fn keeps_names_of_models_and_methods() {
        for path in [
            "/",
            "/v1/chat/completions",
            "/v1beta/models/gpt-4o-2024-08-06:generateContent",
            "/v1beta/models/gemini-2.5-flash-preview-05-20:streamGenerateContent",
            "/model/anthropic.claude-3-5-sonnet-20241022-v2:0/converse",
            "/v1/deployments/text-embedding-3-small/listAllMessagesForThread",
        ] {
            assert_eq!(redacted_path(path), path);
        }
    }
}
