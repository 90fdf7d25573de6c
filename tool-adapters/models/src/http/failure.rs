//! Failures of requests, and whether to retry.

use reqwest::StatusCode;
use reqwest::header::{HeaderMap, LOCATION};
use std::error::Error;
use std::time::Duration;
use tool_adapters_http::api_key::{ApiKey, excerpt};
use tool_adapters_http::error_body::{
    USED_UP, error_message, error_of_status, is_used_up, is_worth_a_retry, kind_of_code,
    status_of_code,
};
use tool_adapters_http::retry_after::delay_of_error;
use tool_adapters_providers::ProtocolError;
use tool_core::{ErrorKind, ToolError};

/// The header in which AWS names the kind of an error.
const AWS_ERROR_TYPE: &str = "x-amzn-errortype";

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RequestFailure {
    pub(crate) error: ToolError,
    pub(crate) retry: RetryAdvice,
    /// The status of the answer, if there was one.
    pub(crate) status: Option<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum RetryAdvice {
    /// Another attempt would fail in the same way.
    Never,
    /// Retry after the delay of the policy.
    Backoff,
    /// Retry after the time that the provider requests.
    After(Duration),
}

/// Parts of the codes of failures that another attempt can mend: those of a busy server, and those
/// of an answer that went wrong, as the model answers anew each time.
const TRANSIENT: &[&str] = &[
    "overload",
    "server",
    "internal",
    "api_error",
    "unavailable",
    "timeout",
    "timed_out",
    "deadline",
    "malformed",
    "unexpected_tool_call",
    "too_many_tool_calls",
    "invalid_tool_generation",
    "finish_reason_unspecified",
    "language",
    "no_image",
    "image_other",
    "model_error",
    "modelstreamerror",
    "network",
    "connection",
    "abort",
    "cancel",
    "interrupt",
    "insufficient_system_resource",
    "failed",
    "incomplete",
    "engine",
    "generation",
    "exception",
    "crash",
    "unexpected",
    "repetition",
    "exhausted",
    "disconnect",
];

/// The codes by which a provider refuses an image or a file within a stream, as it loads them after
/// it has answered 200. The status would be 400.
const REFUSED_IN_STREAM: &[&str] = &[
    "image_too_large",
    "image_too_small",
    "image_file_too_large",
    "image_parse_error",
    "image_file_not_found",
    "image_content_policy_violation",
    "empty_image_file",
    "failed_to_download_image",
    "invalid_image",
    "invalid_image_format",
    "invalid_image_mode",
    "invalid_image_url",
    "invalid_base64_image",
    "unsupported_image_media_type",
    "validationexception",
];

impl RequestFailure {
    pub(crate) fn permanent(error: ToolError) -> Self {
        Self::new(error, RetryAdvice::Never)
    }

    pub(crate) fn transient(message: impl Into<String>) -> Self {
        Self::new(ToolError::transient(message.into()), RetryAdvice::Backoff)
    }

    fn new(error: ToolError, retry: RetryAdvice) -> Self {
        Self {
            error,
            retry,
            status: None,
        }
    }

    /// Converts an error of sending the request or of receiving the answer.
    pub(crate) fn from_transport(error: &reqwest::Error, key: Option<&ApiKey>) -> Self {
        // Only the host and the port, as the rest of the URL may hold a password.
        let host = error
            .url()
            .and_then(|url| Some((url.host_str()?, url.port_or_known_default()?)));
        let mut message = "failed to reach the provider".to_owned();
        if let Some((host, port)) = host {
            message = format!("{message} at {host}:{port}");
        }
        for cause in std::iter::successors(error.source(), |cause| (*cause).source()) {
            message = format!("{message}: {cause}");
        }
        let message = excerpt(&message, key);
        if error.is_builder() {
            Self::permanent(ToolError::permanent(message))
        } else {
            Self::transient(message)
        }
    }

    /// Converts an answer with a status other than 2xx.
    pub(crate) fn from_status(
        status: StatusCode,
        headers: &HeaderMap,
        body: &[u8],
        key: Option<&ApiKey>,
    ) -> Self {
        let mut message = format!("the provider answered {}", status.as_u16());
        let details = if status.is_redirection() {
            describe_redirect(headers)
        } else {
            error_message(body)
        };
        let details = match headers
            .get(AWS_ERROR_TYPE)
            .and_then(|kind| kind.to_str().ok())
        {
            // `ExpiredTokenException:http://internal.amazon.com/..`
            Some(kind) => format!("{}: {details}", kind.split(':').next().unwrap_or_default()),
            None => details,
        };
        if !details.is_empty() {
            message = format!("{message}: {}", excerpt(&details, key));
        }
        let retry = retry_advice(status, headers, body, &details);
        Self::of_status(status.as_u16(), message, retry)
    }

    /// Makes the failure that a status stands for.
    fn of_status(status: u16, message: String, retry: RetryAdvice) -> Self {
        let message = with_delay(message, retry);
        let error = error_of_status(status, message, retry != RetryAdvice::Never);
        Self {
            status: Some(status),
            ..Self::new(error, retry)
        }
    }

    /// Returns true if the provider refused the request for what is in it.
    pub(crate) fn is_refused_request(&self) -> bool {
        matches!(self.status, Some(400 | 404 | 413 | 415 | 422 | 501))
    }

    /// Returns true if the provider refused the request for the form of the text that it asks for.
    pub(crate) fn refuses_structured_output(&self) -> bool {
        let message = self.error.message().to_ascii_lowercase();
        let words = [
            "format",
            "schema",
            "structured",
            "mime type",
            "output_config",
            "outputconfig",
            "json mode",
        ];
        self.is_refused_request() && words.iter().any(|word| message.contains(word))
    }

    /// Converts an error within a stream.
    pub(crate) fn from_stream(error: &ProtocolError, key: Option<&ApiKey>) -> Self {
        let message = excerpt(&error.to_string(), key);
        let ProtocolError::Provider {
            code, retry_after, ..
        } = error
        else {
            return Self::transient(message);
        };
        let code = code.as_deref().unwrap_or_default().to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| code.contains(word));
        let retry = retry_after.map_or(RetryAdvice::Backoff, RetryAdvice::After);
        if let Some(status) = status_of_code(&code) {
            let is_mendable = is_worth_a_retry(status);
            let retry = if is_mendable {
                retry
            } else {
                RetryAdvice::Never
            };
            return Self::of_status(status, message, retry);
        }
        if REFUSED_IN_STREAM.contains(&code.as_str()) {
            return Self::of_status(400, message, RetryAdvice::Never);
        }
        if USED_UP.contains(&code.as_str()) {
            return Self::permanent(ToolError::rate_limit(message));
        }
        let message = with_delay(message, retry);
        let is_transient =
            has(TRANSIENT) || matches!(code.as_str(), "error" | "other" | "load" | "unload");
        match kind_of_code(&code) {
            Some(ErrorKind::RateLimit) => Self::new(ToolError::rate_limit(message), retry),
            Some(ErrorKind::Auth) => Self::permanent(ToolError::auth(message)),
            None if is_transient => Self::new(ToolError::transient(message), retry),
            _ => Self::permanent(ToolError::permanent(message)),
        }
    }
}

/// Adds the delay that the provider asks for.
fn with_delay(message: String, retry: RetryAdvice) -> String {
    match retry {
        RetryAdvice::After(delay) => {
            format!("{message} (retry after {} s)", delay.as_secs_f64().ceil())
        }
        RetryAdvice::Never | RetryAdvice::Backoff => message,
    }
}

/// Returns the advice of the provider, or that of its own libraries for the status.
fn retry_advice(
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
    message: &str,
) -> RetryAdvice {
    let header = |name: &str| {
        headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .map(str::trim)
    };
    let should_retry = match header("x-should-retry") {
        Some("true") => true,
        Some("false") => false,
        _ => is_worth_a_retry(status.as_u16()) && !is_used_up(body),
    };
    if !should_retry {
        return RetryAdvice::Never;
    }
    delay_of_error(status, headers, body, message).map_or(RetryAdvice::Backoff, RetryAdvice::After)
}

fn describe_redirect(headers: &HeaderMap) -> String {
    let to = headers
        .get(LOCATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|to| reqwest::Url::parse(to).ok());
    let host = to
        .as_ref()
        .and_then(reqwest::Url::host_str)
        .unwrap_or("another host");
    format!(
        "a redirect to {host} was not followed, as it would carry the API key; set the base URL to follow it"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::{HeaderName, HeaderValue};
    use tool_core::ErrorKind;

    fn failure(status: u16, headers: &[(&str, &str)], body: &str) -> RequestFailure {
        let headers = headers.iter().map(|(name, value)| {
            (
                HeaderName::try_from(*name).expect("a name"),
                HeaderValue::try_from(*value).expect("a value"),
            )
        });
        let status = StatusCode::from_u16(status).expect("a status");
        RequestFailure::from_status(
            status,
            &headers.collect(),
            body.as_bytes(),
            Some(&ApiKey::new("sk-canary")),
        )
    }

    #[test]
    fn converts_statuses_and_retries_the_busy_ones() {
        let statuses = [400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 503, 529].map(|status| {
            let failure = failure(status, &[], "");
            format!("{status} {} {:?}", failure.error.kind(), failure.retry)
        });
        expect_test::expect![[r"
            400 PERMANENT Never
            401 AUTH Never
            403 AUTH Never
            404 PERMANENT Never
            408 TRANSIENT Backoff
            409 TRANSIENT Backoff
            413 PERMANENT Never
            422 PERMANENT Never
            429 RATE_LIMIT Backoff
            500 TRANSIENT Backoff
            503 TRANSIENT Backoff
            529 TRANSIENT Backoff"]]
        .assert_eq(&statuses.join("\n"));
    }

    #[test]
    fn follows_the_advice_of_the_provider() {
        let quota = failure(
            429,
            &[],
            r#"{"error":{"message":"pay","code":"insufficient_quota"}}"#,
        );
        assert_eq!(
            (quota.error.kind(), quota.retry),
            (ErrorKind::RateLimit, RetryAdvice::Never)
        );
        assert_eq!(
            failure(503, &[("x-should-retry", "false")], "").retry,
            RetryAdvice::Never
        );
        assert_eq!(
            failure(400, &[("x-should-retry", "true")], "").retry,
            RetryAdvice::Backoff
        );
    }

    #[test]
    fn an_account_without_money_is_not_asked_again() {
        for name in USED_UP {
            for member in ["code", "type"] {
                let body = format!(r#"{{"error":{{"message":"pay","{member}":"{name}"}}}}"#);
                let failure = failure(429, &[], &body);
                assert_eq!(failure.retry, RetryAdvice::Never, "{body}");
                assert_eq!(failure.error.kind(), ErrorKind::RateLimit);
            }
        }
        let busy = r#"{"error":{"message":"slow down; this is no insufficient_quota","code":"rate_limit_exceeded"}}"#;
        assert_eq!(failure(429, &[], busy).retry, RetryAdvice::Backoff);
    }

    #[test]
    fn finds_the_message_in_each_form_without_the_key() {
        for body in [
            r#"{"error":{"message":"bad key sk-canary","type":"x"}}"#,
            r#"{"type":"error","error":{"type":"x","message":"bad key sk-canary"}}"#,
            r#"[{"error":{"code":401,"message":"bad key sk-canary"}}]"#,
            r#"{"message":"bad key sk-canary"}"#,
            r#"{"error":"bad key sk-canary"}"#,
            r#"{"detail":"bad key sk-canary"}"#,
            "bad key sk-canary",
        ] {
            assert_eq!(
                failure(401, &[], body).error.message(),
                "the provider answered 401: bad key [key]"
            );
        }
    }

    /// Returns the delay in milliseconds.
    fn delay(failure: &RequestFailure) -> Option<u128> {
        match failure.retry {
            RetryAdvice::After(delay) => Some(delay.as_millis()),
            RetryAdvice::Never | RetryAdvice::Backoff => None,
        }
    }

    const RETRY_INFO: &str = r#"{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Please retry in 9s.",
        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.07s"}]}}"#;

    type Headers = [(&'static str, &'static str)];

    // M8
    #[test]
    fn the_most_explicit_delay_decides() {
        let reset = ("x-ratelimit-reset-tokens", "6m0s");
        let repeated = r#"{"error": {"message": "try again in 1.2s", "metadata": {"headers": {"X-RateLimit-Reset": "7"}}}}"#;
        let text = r#"{"error": {"message": "Rate limit reached. Please try again in 1.2s."}}"#;
        let cases: &[(&Headers, &str, u128)] = &[
            (
                &[("retry-after-ms", "250"), ("retry-after", "9"), reset],
                RETRY_INFO,
                250,
            ),
            (
                &[("x-ms-retry-after-ms", "250"), ("retry-after", "9")],
                RETRY_INFO,
                250,
            ),
            (&[("retry-after", "9"), reset], RETRY_INFO, 9_000),
            (&[reset], RETRY_INFO, 34_070),
            (&[reset], repeated, 360_000),
            (&[], repeated, 7_000),
            (&[], text, 1_200),
            (
                &[("retry-after", "-1"), ("retry-after-ms", "NaN")],
                text,
                1_200,
            ),
        ];
        for (headers, body, expected) in cases {
            let found = failure(429, headers, body);
            assert_eq!(delay(&found), Some(*expected), "{headers:?} {body}");
            let shown = format!("(retry after {} s)", expected.div_ceil(1_000));
            assert!(found.error.message().ends_with(&shown), "{}", found.error);
        }
    }

    // M8
    #[test]
    fn the_reset_of_a_limit_counts_if_the_limit_was_reached() {
        let headers = [
            ("x-ratelimit-remaining-requests", "10"),
            ("x-ratelimit-reset-requests", "6m0s"),
        ];
        assert_eq!(delay(&failure(429, &headers, "")), Some(360_000));
        assert_eq!(failure(503, &headers, "").retry, RetryAdvice::Backoff);
        let of_the_day = [
            ("x-ratelimit-limit-requests-day", "14400"),
            ("x-ratelimit-remaining-requests-day", "14390"),
            ("x-ratelimit-reset-requests-day", "33011"),
        ];
        assert_eq!(
            failure(429, &of_the_day, "").retry,
            RetryAdvice::Backoff,
            "most of the limit is left"
        );
    }

    // M8
    #[test]
    fn a_delay_is_never_the_reason_for_another_attempt() {
        let quota = r#"{"error":{"message":"try again in 1s","code":"insufficient_quota"}}"#;
        assert_eq!(
            failure(429, &[("retry-after", "1")], quota).retry,
            RetryAdvice::Never
        );
        assert_eq!(
            failure(400, &[("retry-after", "1")], "").retry,
            RetryAdvice::Never
        );
    }

    // M8
    #[test]
    fn an_error_in_a_stream_may_name_a_delay() {
        let delay_of = |code: &str| {
            let error = ProtocolError::Provider {
                code: Some(code.to_owned()),
                message: "m".to_owned(),
                retry_after: Some(Duration::from_millis(1_200)),
            };
            delay(&RequestFailure::from_stream(&error, None))
        };
        assert_eq!(delay_of("rate_limit_exceeded"), Some(1_200));
        assert_eq!(delay_of("overloaded_error"), Some(1_200));
        assert_eq!(delay_of("invalid_request_error"), None);
    }

    #[test]
    fn a_status_in_a_stream_counts_like_that_of_an_answer() {
        for status in 400..600_u16 {
            let error = ProtocolError::of_provider(Some(status.to_string()), "m");
            let in_stream = RequestFailure::from_stream(&error, None);
            let of_answer = failure(status, &[], "");
            let found = (in_stream.error.kind(), in_stream.retry, in_stream.status);
            let wanted = (of_answer.error.kind(), of_answer.retry, of_answer.status);
            assert_eq!(found, wanted, "{status}");
        }
        // A number of the provider's own.
        let error = ProtocolError::of_provider(Some("1250".to_owned()), "m");
        assert_eq!(
            RequestFailure::from_stream(&error, None).retry,
            RetryAdvice::Never
        );
    }

    #[test]
    fn an_image_refused_in_a_stream_is_a_refused_request() {
        for code in [
            "invalid_image",
            "failed_to_download_image",
            "validationException",
        ] {
            let error = ProtocolError::of_provider(Some(code.to_owned()), "m");
            let failure = RequestFailure::from_stream(&error, None);
            assert!(failure.is_refused_request(), "{code}");
            assert_eq!(failure.retry, RetryAdvice::Never, "{code}");
            assert_eq!(failure.error.kind(), ErrorKind::Permanent, "{code}");
        }
    }

    #[test]
    fn converts_an_error_in_a_stream_by_its_code() {
        let stream_failure = |code: &str| {
            let error = ProtocolError::of_provider(Some(code.to_owned()), "m");
            let RequestFailure { error, retry, .. } = RequestFailure::from_stream(&error, None);
            (error.kind(), retry)
        };
        assert_eq!(
            stream_failure("overloaded_error"),
            (ErrorKind::Transient, RetryAdvice::Backoff)
        );
        assert_eq!(
            stream_failure("rate_limit_exceeded"),
            (ErrorKind::RateLimit, RetryAdvice::Backoff)
        );
        assert_eq!(
            stream_failure("RESOURCE_EXHAUSTED"),
            (ErrorKind::RateLimit, RetryAdvice::Backoff)
        );
        assert_eq!(
            stream_failure("authentication_error"),
            (ErrorKind::Auth, RetryAdvice::Never)
        );
        assert_eq!(
            stream_failure("invalid_request_error"),
            (ErrorKind::Permanent, RetryAdvice::Never)
        );
    }
}
