//! The responses that are kept: whole, or in short where they are long.

use std::borrow::Cow;
use tool_core::serde_json::{self, Map, Value, json};
use tool_core::session::JournalError;

/// The bytes of the longest response that is kept whole.
pub(super) const LIMIT: usize = 64 << 10;
/// The characters of an error's message, and of other texts, in a response that is not kept whole.
const TEXT: usize = 1_000;

/// The response, or what is kept in its place: that the call ended, whether well, and that the result is not there. Nothing
/// at all would read as if nobody knew whether the call had ended.
pub(super) fn bounded(response: &str) -> Result<Cow<'_, str>, JournalError> {
    if response.len() <= LIMIT {
        return Ok(Cow::Borrowed(response));
    }
    match serde_json::from_str(response) {
        Ok(Value::Object(envelope)) => Ok(Cow::Owned(in_short(&envelope, response.len()).to_string())),
        _ => Err(JournalError::new(format!("a response of {} bytes is no envelope", response.len()))),
    }
}

fn in_short(envelope: &Map<String, Value>, bytes: usize) -> Value {
    let warning =
        format!("the call ended; its result, {bytes} bytes, was too large to be kept and is not known any more");
    let mut meta = members(envelope.get("meta"), &["schemaVersion", "tool", "callId", "durationMs"]);
    meta.insert("warnings".to_owned(), json!([warning]));
    if envelope.get("ok") == Some(&Value::Bool(true)) {
        return json!({ "ok": true, "data": null, "intents": [], "meta": meta });
    }
    let error = members(envelope.get("error"), &["type", "message", "retryable", "partialSideEffects"]);
    json!({ "ok": false, "error": error, "meta": meta })
}

/// Some members of an object; texts only as far as they are short.
fn members(object: Option<&Value>, names: &[&str]) -> Map<String, Value> {
    let member = |name: &&str| {
        let value = match object?.get(*name)? {
            Value::String(text) => Value::String(text.chars().take(TEXT).collect()),
            value => value.clone(),
        };
        Some(((*name).to_owned(), value))
    };
    names.iter().filter_map(member).collect()
}

#[cfg(test)]
mod tests {
    use super::{LIMIT, bounded};
    use tool_core::{ToolResponse, serde_json};

    fn kept(response: &str) -> ToolResponse {
        let kept = bounded(response).unwrap();
        assert!(kept.len() < LIMIT);
        serde_json::from_str(&kept).unwrap()
    }

    #[test]
    fn a_response_of_64_kib_is_kept_as_it_is() {
        let response = "x".repeat(LIMIT);
        assert_eq!(bounded(&response).unwrap(), response);
    }

    #[test]
    fn of_a_longer_one_it_is_kept_that_the_call_succeeded() {
        let data = "x".repeat(LIMIT);
        let kept = kept(&format!(
            r#"{{"ok":true,"data":"{data}","intents":[],"meta":{{"tool":"find","callId":"c","durationMs":1.5}}}}"#
        ));
        assert!(kept.is_ok());
        assert_eq!(kept.data_json(), Some("null"));
        assert_eq!((kept.meta().tool(), kept.meta().call_id()), ("find", Some("c")));
        assert!(kept.meta().warnings()[0].contains("too large to be kept"), "{:?}", kept.meta().warnings());
    }

    #[test]
    fn of_a_longer_one_it_is_kept_why_the_call_failed() {
        let message = "é".repeat(LIMIT);
        let kept = kept(&format!(
            r#"{{"ok":false,"error":{{"type":"CONFLICT","message":"{message}","retryable":true,"partialSideEffects":true}},
            "meta":{{"tool":"find"}}}}"#
        ));
        let error = kept.error().unwrap();
        assert_eq!(error.message.chars().count(), 1_000);
        assert!(error.retryable && error.partial_side_effects);
    }

    #[test]
    fn a_long_text_that_is_no_envelope_is_an_error() {
        assert!(bounded(&"x".repeat(LIMIT + 1)).is_err());
    }
}
