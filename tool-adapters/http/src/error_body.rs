//! The message in the body of an error of a model's server.

use serde_json::Value;

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
