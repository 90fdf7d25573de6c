//! Errors that a provider reports.

use super::event::ProtocolError;
use serde_json::Value;

/// The error that an answer is, or holds under `error`.
pub(super) fn provider_error(answer: &Value) -> Option<ProtocolError> {
    let inner = answer.get("error").filter(|error| !error.is_null());
    let error = inner.unwrap_or(answer);
    let text = |key: &str| {
        let value = error.get(key)?;
        let text = value.as_str().map(str::to_owned).or_else(|| value.as_number().map(ToString::to_string));
        text.filter(|text| !text.is_empty())
    };
    let message = text("message").or_else(|| error.as_str().map(str::to_owned));
    let message = message.or_else(|| error.get("detail").map(Value::to_string));
    let message = match (message, inner) {
        (Some(message), _) => message,
        (None, Some(error)) => error.to_string(),
        (None, None) => return None,
    };
    let code = ["code", "type", "status"].into_iter().find_map(text);
    Some(ProtocolError::Provider { code, message })
}
