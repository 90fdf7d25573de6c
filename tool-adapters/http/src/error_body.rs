//! The message in the body of an error of a model's server.

use serde_json::Value;
use tool_core::{ErrorKind, ToolError};

/// Returns the kind of an error by the code that a provider gives it. `None` if the code does not
/// tell.
pub fn kind_of_code(code: &str) -> Option<ErrorKind> {
    let code = code.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| code.contains(word));
    if has(&["rate_limit", "resource_exhausted", "throttl", "429"]) {
        Some(ErrorKind::RateLimit)
    } else if has(&["auth", "permission", "api_key", "accessdenied"]) {
        Some(ErrorKind::Auth)
    } else if has(&["validation"]) {
        Some(ErrorKind::Permanent)
    } else {
        None
    }
}

/// The codes and types by which providers say that an account has no money or no plan, with the status of a limit.
pub const USED_UP: &[&str] = &[
    "insufficient_quota",
    "exceeded_current_quota_error",
    "billing_not_active",
];

/// Returns true if the body of an error says that the account has no money or no plan.
pub fn is_used_up(body: &[u8]) -> bool {
    let Ok(body) = serde_json::from_slice::<Value>(body) else {
        return false;
    };
    let error = body.get("error").unwrap_or(&body);
    let mut names = ["code", "type"]
        .into_iter()
        .filter_map(|key| error.get(key)?.as_str());
    names.any(|name| USED_UP.contains(&name))
}

/// Returns true if another attempt may succeed after a status, as the providers' own libraries have it.
pub const fn is_worth_a_retry(status: u16) -> bool {
    matches!(status, 408 | 409 | 429 | 500..)
}

/// Returns the error that a status other than 2xx stands for.
pub fn error_of_status(status: u16, message: String, can_retry: bool) -> ToolError {
    let error = match status {
        401 | 403 => ToolError::auth(message),
        429 => ToolError::rate_limit(message),
        _ if can_retry => ToolError::transient(message),
        _ => ToolError::permanent(message),
    };
    error.retryable(can_retry)
}

/// Returns the status that the code of an error in a stream is, if it is one.
pub fn status_of_code(code: &str) -> Option<u16> {
    let status = code.parse().ok()?;
    (100..600).contains(&status).then_some(status)
}

/// Returns the message in an error's body, in any of the providers' forms.
pub fn error_message(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let Ok(value) = serde_json::from_slice::<Value>(body) else {
        return text.into_owned();
    };
    // Gemini wraps an error of a stream in an array.
    let value = value.get(0).unwrap_or(&value);
    let members = [
        "/error/message",
        "/error",
        "/message",
        "/Message",
        "/detail",
    ]
    .map(|at| value.pointer(at));
    match members.into_iter().flatten().next() {
        Some(Value::String(message)) => message.clone(),
        Some(other) => other.to_string(),
        None => text.into_owned(),
    }
}
