//! The errors of Google Calendar, and their kinds.

use reqwest::StatusCode;
use serde_json::Value;
use std::fmt;
use tool_adapters::egress::EgressError;
use tool_core::call::IntoToolError;
use tool_core::{ErrorKind, ToolError};

/// An error of Google Calendar. The message is for the model, and the attribute sets the kind.
#[derive(Debug, ToolError)]
pub(crate) enum CalendarError {
    #[tool_error(kind = "auth")]
    Denied(String),
    #[tool_error(kind = "rate_limit", retryable)]
    TooMany(String),
    #[tool_error(kind = "conflict")]
    Conflict(String),
    #[tool_error(kind = "transient", retryable)]
    Unavailable(String),
    /// A change was sent and no answer arrived. It is not retryable, as a second attempt could create a second event.
    #[tool_error(kind = "transient", retryable = false, partial_side_effects)]
    Unknown(String),
    #[tool_error(kind = "permanent")]
    Refused(String),
}

impl fmt::Display for CalendarError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(why) => write!(
                f,
                "{why}; the event may exist already, list the events before trying again"
            ),
            Self::Denied(why)
            | Self::TooMany(why)
            | Self::Conflict(why)
            | Self::Unavailable(why)
            | Self::Refused(why) => f.write_str(why),
        }
    }
}

/// Converts the error of a missing token: consent is missing, or a refresh failed.
pub(crate) fn unconnected(error: &ToolError) -> CalendarError {
    let message = format!("Google Calendar is not connected: {}", error.message());
    if error.kind() == ErrorKind::Transient {
        CalendarError::Unavailable(message)
    } else {
        CalendarError::Denied(message)
    }
}

/// Converts an error response: `{"error":{"message":"..","errors":[{"reason":".."}]}}`.
pub(crate) fn refusal(status: StatusCode, body: &Value) -> CalendarError {
    let reason = body["error"]["errors"][0]["reason"]
        .as_str()
        .unwrap_or_default();
    let said = body["error"]["message"]
        .as_str()
        .or(status.canonical_reason())
        .unwrap_or("no reason given");
    let message = format!("Google Calendar answered {}: {said}", status.as_u16());
    match status.as_u16() {
        403 if matches!(
            reason,
            "rateLimitExceeded" | "userRateLimitExceeded" | "quotaExceeded"
        ) =>
        {
            CalendarError::TooMany(message)
        }
        401 | 403 => CalendarError::Denied(message),
        409 => CalendarError::Conflict(message),
        429 => CalendarError::TooMany(message),
        408 | 500.. => CalendarError::Unavailable(message),
        _ => CalendarError::Refused(message),
    }
}

/// Converts the error of a request that was not sent: the policy refuses its address, or the server cannot be reached.
pub(crate) fn unsent(error: EgressError) -> CalendarError {
    let message = format!("Google Calendar cannot be reached: {error}");
    if error.into_tool_error().kind() == ErrorKind::Transient {
        CalendarError::Unavailable(message)
    } else {
        CalendarError::Refused(message)
    }
}
