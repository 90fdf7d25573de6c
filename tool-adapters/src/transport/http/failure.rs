//! What went wrong on the way to a provider, and whether to ask again.

use crate::providers::event::ProtocolError;
use crate::transport::api_key::{ApiKey, told};
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, LOCATION, RETRY_AFTER};
use serde_json::Value;
use std::error::Error;
use std::time::{Duration, SystemTime};
use tool_core::ToolError;

/// A request that failed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Failure {
    pub(crate) error: ToolError,
    pub(crate) again: Again,
}

/// Whether to ask again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Again {
    /// It would fail in the same way.
    Never,
    /// After a time of our own choosing.
    Soon,
    /// After the time that the provider asks for.
    After(Duration),
}

impl Failure {
    pub(crate) fn never(error: ToolError) -> Self {
        Self { error, again: Again::Never }
    }

    pub(crate) fn soon(message: impl Into<String>) -> Self {
        Self { error: ToolError::transient(message), again: Again::Soon }
    }

    /// The request did not get there, or no answer came back.
    pub(crate) fn of_transport(error: &reqwest::Error, key: Option<&ApiKey>) -> Self {
        // Host and port alone: the rest of the URL may hold a password.
        let host = error.url().and_then(|url| Some((url.host_str()?, url.port_or_known_default()?)));
        let mut message = "the provider cannot be reached".to_owned();
        if let Some((host, port)) = host {
            message = format!("{message} at {host}:{port}");
        }
        let mut source = error.source();
        while let Some(error) = source {
            message = format!("{message}: {error}");
            source = error.source();
        }
        let message = told(&message, key);
        if error.is_builder() { Self::never(ToolError::permanent(message)) } else { Self::soon(message) }
    }

    /// The provider has answered with another status than 2xx.
    pub(crate) fn of_answer(status: StatusCode, headers: &HeaderMap, body: &[u8], key: Option<&ApiKey>) -> Self {
        let mut message = format!("the provider answered {}", status.as_u16());
        let said = if status.is_redirection() { redirected(headers) } else { said(body) };
        if !said.is_empty() {
            message = format!("{message}: {}", told(&said, key));
        }
        let again = again(status, headers, body);
        if let Again::After(wait) = again {
            message = format!("{message} (try again in {} s)", wait.as_secs_f64().ceil());
        }
        let error = match status.as_u16() {
            401 | 403 => ToolError::auth(message),
            429 => ToolError::rate_limit(message),
            _ if again == Again::Never => ToolError::permanent(message),
            _ => ToolError::transient(message),
        };
        Self { error: error.retryable(again != Again::Never), again }
    }

    /// The provider tells of an error in the middle of its answer.
    pub(crate) fn of_stream(error: &ProtocolError, key: Option<&ApiKey>) -> Self {
        let message = told(&error.to_string(), key);
        let ProtocolError::Provider { code, .. } = error else { return Self::soon(message) };
        let code = code.as_deref().unwrap_or_default().to_ascii_lowercase();
        let is = |words: &[&str]| words.iter().any(|word| code.contains(word));
        if is(&["rate_limit", "resource_exhausted", "throttl", "429"]) {
            Self { error: ToolError::rate_limit(message), again: Again::Soon }
        } else if is(&[
            "overload",
            "server",
            "internal",
            "api_error",
            "unavailable",
            "timeout",
            "deadline",
            "50",
            "529",
        ]) {
            Self::soon(message)
        } else if is(&["auth", "permission", "api_key"]) {
            Self::never(ToolError::auth(message))
        } else {
            Self::never(ToolError::permanent(message))
        }
    }
}

/// The statuses that the providers' own libraries try again, unless the provider says outright.
fn again(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Again {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let used_up = status == StatusCode::TOO_MANY_REQUESTS && contains(body, b"insufficient_quota");
    let worth_it = match header("x-should-retry") {
        Some("true") => true,
        Some("false") => false,
        _ => matches!(status.as_u16(), 408 | 409 | 429 | 500..) && !used_up,
    };
    if !worth_it {
        return Again::Never;
    }
    let milliseconds = header("retry-after-ms").and_then(|text| text.parse().ok()).map(Duration::from_millis);
    let asked = || header(RETRY_AFTER.as_str()).and_then(|text| retry_after(text, SystemTime::now()));
    milliseconds.or_else(asked).map_or(Again::Soon, Again::After)
}

/// Seconds, or a date of HTTP's.
fn retry_after(text: &str, now: SystemTime) -> Option<Duration> {
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
    Some(SystemTime::from(date).duration_since(now).unwrap_or_default())
}

fn contains(body: &[u8], word: &[u8]) -> bool {
    body.windows(word.len()).any(|part| part == word)
}

fn redirected(headers: &HeaderMap) -> String {
    let to = headers.get(LOCATION).and_then(|value| value.to_str().ok()).and_then(|to| reqwest::Url::parse(to).ok());
    let host = to.as_ref().and_then(reqwest::Url::host_str).unwrap_or("another place");
    format!("a redirect to {host}, which is not followed, as the key would go along; set that base URL if it is right")
}

/// What an error's body says, in any of the providers' forms.
fn said(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let Ok(value) = serde_json::from_slice::<Value>(body) else { return text.into_owned() };
    // Gemini wraps an error of a stream in an array.
    let value = value.get(0).unwrap_or(&value);
    let found = ["/error/message", "/error", "/message", "/Message", "/detail"].map(|at| value.pointer(at));
    match found.into_iter().flatten().next() {
        Some(Value::String(message)) => message.clone(),
        Some(other) => other.to_string(),
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;
    use tool_core::ErrorKind;

    fn answered(status: u16, headers: &[(&'static str, &'static str)], body: &str) -> Failure {
        let headers = headers
            .iter()
            .map(|(name, value)| (reqwest::header::HeaderName::from_static(name), HeaderValue::from_static(value)));
        let status = StatusCode::from_u16(status).expect("a status");
        Failure::of_answer(status, &headers.collect(), body.as_bytes(), Some(&ApiKey::new("sk-canary")))
    }

    #[test]
    fn statuses_have_their_kinds_and_the_busy_ones_are_tried_again() {
        let told = [400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 503, 529].map(|status| {
            let failure = answered(status, &[], "");
            format!("{status} {} {:?}", failure.error.kind(), failure.again)
        });
        expect_test::expect![[r"
            400 PERMANENT Never
            401 AUTH Never
            403 AUTH Never
            404 PERMANENT Never
            408 TRANSIENT Soon
            409 TRANSIENT Soon
            413 PERMANENT Never
            422 PERMANENT Never
            429 RATE_LIMIT Soon
            500 TRANSIENT Soon
            503 TRANSIENT Soon
            529 TRANSIENT Soon"]]
        .assert_eq(&told.join("\n"));
    }

    #[test]
    fn a_quota_that_is_used_up_and_a_provider_that_says_no_are_not_tried_again() {
        let quota = answered(429, &[], r#"{"error":{"message":"pay","code":"insufficient_quota"}}"#);
        assert_eq!((quota.error.kind(), quota.again), (ErrorKind::RateLimit, Again::Never));
        assert_eq!(answered(503, &[("x-should-retry", "false")], "").again, Again::Never);
        assert_eq!(answered(400, &[("x-should-retry", "true")], "").again, Again::Soon);
    }

    #[test]
    fn what_a_provider_says_is_found_in_each_form_without_the_key() {
        for body in [
            r#"{"error":{"message":"bad key sk-canary","type":"x"}}"#,
            r#"{"type":"error","error":{"type":"x","message":"bad key sk-canary"}}"#,
            r#"[{"error":{"code":401,"message":"bad key sk-canary"}}]"#,
            r#"{"message":"bad key sk-canary"}"#,
            r#"{"error":"bad key sk-canary"}"#,
            r#"{"detail":"bad key sk-canary"}"#,
            "bad key sk-canary",
        ] {
            assert_eq!(answered(401, &[], body).error.message(), "the provider answered 401: bad key [key]");
        }
    }

    #[test]
    fn a_time_to_wait_is_read_as_seconds_milliseconds_or_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_770);
        assert_eq!(retry_after("7", now), Some(Duration::from_secs(7)));
        assert_eq!(retry_after("0.5", now), Some(Duration::from_millis(500)));
        assert_eq!(retry_after("Sun, 06 Nov 1994 08:49:37 GMT", now), Some(Duration::from_secs(7)));
        assert_eq!(retry_after("Sun, 06 Nov 1994 08:49:00 GMT", now), Some(Duration::ZERO));
        for text in ["", "-1", "soon", "NaN", "1e400"] {
            assert_eq!(retry_after(text, now), None, "{text}");
        }
        let both = answered(429, &[("retry-after-ms", "250"), ("retry-after", "9")], "");
        assert_eq!(both.again, Again::After(Duration::from_millis(250)));
    }

    #[test]
    fn an_error_in_a_stream_is_told_by_its_code() {
        let failure = |code: &str| {
            let error = ProtocolError::Provider { code: Some(code.to_owned()), message: "m".into() };
            let Failure { error, again } = Failure::of_stream(&error, None);
            (error.kind(), again)
        };
        assert_eq!(failure("overloaded_error"), (ErrorKind::Transient, Again::Soon));
        assert_eq!(failure("rate_limit_exceeded"), (ErrorKind::RateLimit, Again::Soon));
        assert_eq!(failure("RESOURCE_EXHAUSTED"), (ErrorKind::RateLimit, Again::Soon));
        assert_eq!(failure("authentication_error"), (ErrorKind::Auth, Again::Never));
        assert_eq!(failure("invalid_request_error"), (ErrorKind::Permanent, Again::Never));
    }
}
