//! Answers: JSON and text become results, and statuses kinds of errors.

use crate::headers::{is_json, is_text};
use crate::redact::Secrets;
use reqwest::StatusCode;
use reqwest::header;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::time::Duration;
use tool_adapters_http::egress::{EgressError, EgressResponse};
use tool_adapters_http::retry_after::requested_delay;
use tool_core::call::IntoToolError;
use tool_core::json::StringScanner;
use tool_core::text::truncate;
use tool_core::{ToolError, ToolOutput};

/// Maximum number of characters of an error's text.
const MAX_TEXT: usize = 2_000;

/// Maximum size in bytes of the body of an error that is read.
const MAX_ERROR_BODY: usize = 64 << 10;

/// Converts an answer. A body that is neither JSON nor text is described.
pub(crate) async fn convert_answer(
    answer: EgressResponse,
    secrets: &Secrets,
    is_idempotent: bool,
) -> Result<ToolOutput, ToolError> {
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
            read_start(answer, &media_type).await
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
        let media_type = truncate(&media_type, 100);
        let media_type = secrets.redact(&media_type);
        return Ok(ToolOutput::new(
            json!({"status": status.as_u16(), "contentType": media_type, "bytes": length}),
        ));
    }
    let body = answer
        .bytes()
        .await
        .map_err(|error| incomplete(error, is_idempotent))?;
    if body.is_empty() {
        return Ok(ToolOutput::new(json!({"status": status.as_u16()})));
    }
    let not_json = |reason: String| {
        let problem = format!("the answer is not the JSON that it claims to be{reason}");
        ToolError::permanent(problem).partial_side_effects(!is_idempotent)
    };
    let Some(text) = readable_text(&media_type, &body) else {
        if is_json(&media_type) {
            return Err(not_json(": it is not UTF-8".to_owned()));
        }
        let mut described = json!({"status": status.as_u16(), "bytes": body.len()});
        if !media_type.is_empty() {
            let media_type = truncate(&media_type, 100);
            described["contentType"] = secrets.redact(&media_type).into();
        }
        return Ok(ToolOutput::new(described));
    };
    if is_json(&media_type) || media_type.is_empty() {
        match serde_json::from_str::<Value>(&text) {
            Ok(value) => return Ok(json_output(&text, value, secrets)),
            Err(_) if media_type.is_empty() => {}
            Err(error) => return Err(not_json(format!(", at column {}", error.column()))),
        }
    }
    Ok(ToolOutput::new(secrets.redact(&text)))
}

/// Returns the output of an answer in JSON, whose value is given. The text has all digits of its
/// numbers, and the value has not.
fn json_output(text: &str, mut value: Value, secrets: &Secrets) -> ToolOutput {
    // The text may have a member twice, and the value has texts without their escapes.
    let is_in_text = matches!(secrets.redact(text), Cow::Owned(_));
    let is_in_value = secrets.redact_value(&mut value);
    if !is_in_text
        && !is_in_value
        && let Ok(raw) = RawValue::from_string(without_spaces(text))
    {
        return ToolOutput::new(raw);
    }
    ToolOutput::new(value)
}

/// Returns JSON without the spaces and lines between its values.
fn without_spaces(json: &str) -> String {
    let mut scanner = StringScanner::default();
    let mut compact = String::with_capacity(json.len());
    for character in json.chars() {
        let is_space = matches!(character, ' ' | '\t' | '\n' | '\r');
        // The bytes of other characters than ASCII ones neither begin nor end a string.
        let byte = u8::try_from(character).unwrap_or(b'x');
        let is_outside = scanner.step(byte);
        if !(is_outside && is_space) {
            compact.push(character);
        }
    }
    compact
}

/// Returns the text of a body without a byte order mark, if it is UTF-8, whatever the server says, or
/// of a western charset.
fn readable_text<'b>(media_type: &str, body: &'b [u8]) -> Option<Cow<'b, str>> {
    match str::from_utf8(body) {
        Ok(text) => Some(text.strip_prefix('\u{feff}').unwrap_or(text).into()),
        Err(_) if is_western(media_type) => Some(body.iter().map(|byte| western(*byte)).collect()),
        Err(_) => None,
    }
}

/// Returns the text of a body. What is invalid is replaced.
fn decode<'b>(media_type: &str, body: &'b [u8]) -> Cow<'b, str> {
    readable_text(media_type, body).unwrap_or_else(|| {
        let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
        String::from_utf8_lossy(body)
    })
}

/// Returns true for a `charset` that browsers read as windows-1252.
fn is_western(media_type: &str) -> bool {
    const NAMES: &[&str] = &["iso-8859-1", "latin1", "us-ascii", "windows-1252", "cp1252"];
    charset(media_type).is_some_and(|charset| NAMES.contains(&charset.as_str()))
}

/// Returns the `charset` of a media type in lowercase.
fn charset(media_type: &str) -> Option<String> {
    let parameters = media_type.split(';').skip(1);
    let named = parameters.filter_map(|parameter| parameter.split_once('='));
    let mut charsets = named.filter(|(name, _)| name.trim().eq_ignore_ascii_case("charset"));
    let (_, charset) = charsets.next()?;
    Some(charset.trim().trim_matches('"').to_ascii_lowercase())
}

/// Returns the character of a byte of windows-1252, as which browsers read ISO 8859-1 too.
fn western(byte: u8) -> char {
    const FROM_80: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž',
        '\u{8f}', '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}',
        'ž', 'Ÿ',
    ];
    let special = byte.checked_sub(0x80).map(usize::from);
    special
        .and_then(|index| FROM_80.get(index).copied())
        .unwrap_or(char::from(byte))
}

/// Returns true for media types whose body a model can read.
fn is_readable(media_type: &str) -> bool {
    is_json(media_type) || is_text(media_type)
}

/// Reads the start of an error's body. What does not arrive is left out.
async fn read_start(mut answer: EgressResponse, media_type: &str) -> String {
    let mut body = Vec::new();
    let mut is_whole = false;
    while body.len() < MAX_ERROR_BODY {
        match answer.chunk().await {
            Ok(Some(chunk)) => body.extend_from_slice(chunk.as_ref()),
            Ok(None) => {
                is_whole = true;
                break;
            }
            Err(_) => break,
        }
    }
    if !is_whole
        && let Err(error) = str::from_utf8(&body)
        && error.error_len().is_none()
    {
        // It ends within a character.
        body.truncate(error.valid_up_to());
    }
    decode(media_type, &body).into_owned()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_an_unknown_charset_is_not_readable() {
        let shift_jis = b"\x83\x65\x83\x58\x83\x67";
        assert_eq!(
            readable_text("text/csv; charset=shift_jis", shift_jis),
            None
        );
        assert_eq!(readable_text("text/plain", b"PK\x03\x04\xff"), None);
        assert!(readable_text("text/csv; charset=latin1", b"caf\xe9").is_some());
    }

    #[test]
    fn western_texts_are_decoded_by_their_charset() {
        for charset in ["iso-8859-1", "\"Windows-1252\"; x=y", "ISO-8859-1 "] {
            let media_type = format!("text/csv; header=present; Charset={charset}");
            assert_eq!(
                decode(&media_type, b"caf\xe9,5 \x80"),
                "café,5 €",
                "{charset}"
            );
        }
    }

    #[test]
    fn texts_of_other_charsets_lose_only_what_is_invalid() {
        assert_eq!(decode("text/csv", b"a,\xe9"), "a,\u{fffd}");
        assert_eq!(
            decode("text/csv; charset=latin1", "café".as_bytes()),
            "café"
        );
    }
}
