//! Answers: JSON and text become results, and statuses kinds of errors.

use crate::headers::is_json;
use crate::redact::Secrets;
use reqwest::StatusCode;
use reqwest::header;
use serde_json::{Value, json};
use std::time::Duration;
use tool_adapters_http::egress::{EgressError, EgressResponse};
use tool_adapters_http::retry_after::requested_delay;
use tool_core::ToolError;
use tool_core::call::IntoToolError;
use tool_core::text::truncate;

/// Maximum number of characters of an error's text.
const MAX_TEXT: usize = 2_000;

/// Maximum size in bytes of the body of an error that is read.
const MAX_ERROR_BODY: usize = 64 << 10;

/// Converts an answer. A body that is neither JSON nor text is described.
pub(crate) async fn convert_answer(
    answer: EgressResponse,
    secrets: &Secrets,
    is_idempotent: bool,
) -> Result<Value, ToolError> {
    let status = answer.status();
    let text_of = |name| {
        answer
            .headers()
            .get(name)
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned)
    };
    let media_type = text_of(header::CONTENT_TYPE).unwrap_or_default();
    if !status.is_success() {
        let host = answer.url().host_str().unwrap_or_default().to_owned();
        let wait = requested_delay(answer.headers());
        let body = if is_readable(&media_type) {
            read_start(answer).await
        } else {
            String::new()
        };
        return Err(refusal(
            &host,
            status,
            &secrets.redact(&body),
            wait,
            is_idempotent,
        ));
    }
    let length = text_of(header::CONTENT_LENGTH);
    if !media_type.is_empty() && !is_readable(&media_type) {
        let media_type = secrets.redact(&truncate(&media_type, 100));
        return Ok(json!({"status": status.as_u16(), "contentType": media_type, "bytes": length}));
    }
    let body = answer
        .bytes()
        .await
        .map_err(|error| incomplete(error, is_idempotent))?;
    if body.is_empty() {
        return Ok(json!({"status": status.as_u16()}));
    }
    if is_json(&media_type) || media_type.is_empty() {
        match serde_json::from_slice::<Value>(&body) {
            Ok(mut value) => {
                secrets.redact_value(&mut value);
                return Ok(value);
            }
            Err(_) if media_type.is_empty() => {}
            Err(error) => {
                let problem = format!(
                    "the answer is not the JSON that it claims to be, at column {}",
                    error.column()
                );
                return Err(ToolError::permanent(problem).partial_side_effects(!is_idempotent));
            }
        }
    }
    match String::from_utf8(body) {
        Ok(text) => Ok(secrets.redact(&text).into()),
        Err(error) => Ok(json!({"status": status.as_u16(), "bytes": error.as_bytes().len()})),
    }
}

/// Returns true for media types whose body a model can read.
fn is_readable(media_type: &str) -> bool {
    const TEXTS: &[&str] = &[
        "application/xml",
        "application/yaml",
        "application/x-ndjson",
        "application/x-www-form-urlencoded",
    ];
    let essence = media_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    is_json(media_type)
        || essence.starts_with("text/")
        || essence.ends_with("+xml")
        || TEXTS.contains(&essence.as_str())
}

/// Reads the start of an error's body. What does not arrive is left out.
async fn read_start(mut answer: EgressResponse) -> String {
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = answer.chunk().await {
        body.extend_from_slice(chunk.as_ref());
        if body.len() >= MAX_ERROR_BODY {
            break;
        }
    }
    String::from_utf8_lossy(&body).into_owned()
}

/// Converts the status of an error.
fn refusal(
    host: &str,
    status: StatusCode,
    body: &str,
    wait: Option<Duration>,
    is_idempotent: bool,
) -> ToolError {
    let reason = status.canonical_reason().unwrap_or("without a reason");
    let mut text = format!("`{host}` answered {} {reason}", status.as_u16());
    let body = body.trim();
    // A page for people says no more than the status.
    if !body.is_empty() && !body.starts_with('<') {
        text = format!("{text}: {}", truncate(body, MAX_TEXT));
    }
    if let Some(wait) = wait {
        text = format!("{text}; try again after {} s", wait.as_secs_f64().ceil());
    }
    let error = match status.as_u16() {
        401 | 403 | 407 => ToolError::auth(text),
        408 | 425 | 503 => ToolError::transient(text),
        409 | 412 | 423 => ToolError::conflict(text),
        429 => ToolError::rate_limit(text),
        500 | 502 | 504.. => {
            let error = ToolError::transient(text);
            if is_idempotent {
                error
            } else {
                error.retryable(false).partial_side_effects(true)
            }
        }
        // Another try does not help, but a part may have run.
        501 => ToolError::permanent(text).partial_side_effects(!is_idempotent),
        _ => ToolError::permanent(text),
    };
    match wait {
        Some(wait) => error.retry_after(wait),
        None => error,
    }
}

/// Converts the error of a request that was not sent.
pub(crate) fn unsent(error: EgressError) -> ToolError {
    error.into_tool_error()
}

/// Converts the error of a request whose answer is incomplete.
pub(crate) fn incomplete(error: EgressError, is_idempotent: bool) -> ToolError {
    let error = error.into_tool_error();
    if is_idempotent {
        error
    } else {
        error.retryable(false).partial_side_effects(true)
    }
}
