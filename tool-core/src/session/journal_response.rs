//! The form in which the journal keeps the response of a call.

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Longest response that is kept whole, in bytes.
pub(crate) const MAX_RESPONSE: usize = 64 << 10;
/// Longest text in a response that is not kept whole, in characters.
const MAX_TEXT: usize = 1_000;

/// Returns the JSON of a response, or of a shorter one that says whether the call succeeded and that
/// its result is lost. Without any response the call would be recovered as unknown.
pub(crate) fn bounded(response: &str) -> Cow<'_, str> {
    if response.len() <= MAX_RESPONSE {
        return Cow::Borrowed(response);
    }
    // The data alone may fit. It is not read, so that it stays as it is.
    if let Ok(mut members) = serde_json::from_str::<BTreeMap<&str, &RawValue>>(response)
        && members.remove("content").is_some()
        && let Ok(data_only) = serde_json::to_string(&members)
        && data_only.len() <= MAX_RESPONSE
    {
        return Cow::Owned(data_only);
    }

    let bytes = response.len();
    let envelope: Map<String, Value> = serde_json::from_str(response).unwrap_or_default();
    let warning =
        format!("the call ended; its result of {bytes} bytes was too large to be kept and is lost");
    let mut meta = short_members(
        envelope.get("meta"),
        &["schemaVersion", "tool", "callId", "durationMs"],
    );
    meta.insert("warnings".to_owned(), json!([warning]));
    let short = if envelope.get("ok") == Some(&Value::Bool(true)) {
        json!({ "ok": true, "data": null, "intents": [], "meta": meta })
    } else {
        let error = short_members(
            envelope.get("error"),
            &["type", "message", "retryable", "partialSideEffects"],
        );
        json!({ "ok": false, "error": error, "meta": meta })
    };
    Cow::Owned(short.to_string())
}

/// Returns some members of an object, with shortened texts.
fn short_members(object: Option<&Value>, names: &[&str]) -> Map<String, Value> {
    let member = |name: &&str| {
        let value = match object?.get(*name)? {
            Value::String(text) => Value::String(text.chars().take(MAX_TEXT).collect()),
            value => value.clone(),
        };
        Some(((*name).to_owned(), value))
    };
    names.iter().filter_map(member).collect()
}
