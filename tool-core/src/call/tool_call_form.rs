//! The JSON form of a call.

use crate::call::tool_call::ToolCall;
use crate::json::nested::{MAX_STORED_DEPTH, is_text_deeper};
use crate::json::raw::{RawJson, RawText};
use serde::de::Error;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// A call is `{"id", "name", "arguments"}`. Arguments that are a JSON object stay as they are, byte
/// for byte. Other arguments, for example those that are no JSON or that nest deeper than 100, are
/// a text.
///
/// Members of the host are left out: the session, the approval, listeners, handlers and the token
/// that cancels the call.
impl Serialize for ToolCall {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut call = serializer.serialize_struct("ToolCall", 3)?;
        call.serialize_field("id", self.id())?;
        call.serialize_field("name", self.name())?;
        if is_embeddable(self.arguments()) {
            call.serialize_field("arguments", &RawJson(self.arguments()))?;
        } else {
            call.serialize_field("arguments", self.arguments())?;
        }
        call.end()
    }
}

impl<'de> Deserialize<'de> for ToolCall {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let form = ToolCallForm::deserialize(deserializer)?;
        let arguments = arguments_of(form.arguments.0).map_err(D::Error::custom)?;
        Ok(Self::new(form.id, form.name, arguments))
    }
}

#[derive(Deserialize)]
struct ToolCallForm {
    id: String,
    name: String,
    arguments: RawText,
}

/// Returns true for the text of a JSON object that every reader of JSON takes.
fn is_embeddable(arguments: &str) -> bool {
    // Blanks around an object would be lost.
    let looks_like_object = arguments.starts_with('{') && arguments.ends_with('}');
    looks_like_object
        && !is_text_deeper(arguments, MAX_STORED_DEPTH)
        && serde_json::from_str::<Map<String, Value>>(arguments).is_ok()
}

/// Returns the arguments in their JSON form: an object, or a text with what is none.
pub(crate) fn arguments_of(json: String) -> Result<String, &'static str> {
    match json.as_bytes().first() {
        Some(b'{') => Ok(json),
        Some(b'"') => serde_json::from_str(&json).map_err(|_| EXPECTED_ARGUMENTS),
        _ => Err(EXPECTED_ARGUMENTS),
    }
}

pub(crate) const EXPECTED_ARGUMENTS: &str = "expected the arguments as an object or a text";

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn round_trip(arguments: &str) -> (String, ToolCall) {
        let call = ToolCall::new("call_1", "add", arguments);
        let json = serde_json::to_string(&call).expect("serialises");
        let read = serde_json::from_str(&json).expect("is a call");
        assert_eq!(read, call, "{json}");
        (json, read)
    }

    #[test]
    fn a_call_is_written_with_its_arguments_as_an_object() {
        let (json, _) = round_trip(r#"{"a":1,"b":2}"#);
        let expected = r#"{"id":"call_1","name":"add","arguments":{"a":1,"b":2}}"#;
        assert_eq!(json, expected);
    }

    #[test]
    fn arguments_keep_every_byte() {
        let arguments = r#"{"b": 123456789012345678901234567890, "a":1.10, "a" :"\u0041"}"#;
        let (json, read) = round_trip(arguments);
        assert!(json.contains(arguments), "{json}");
        assert_eq!(read.arguments(), arguments);
    }

    #[test]
    fn arguments_that_are_no_object_are_a_text() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100), "]".repeat(100));
        let others = [
            "",
            "null",
            "[1]",
            "\"text\"",
            "{\"a\": 1",
            " {} ",
            "{} {}",
            "{\"a\":\"\\ud800\"}",
            &deep,
        ];
        for arguments in others {
            let (json, _) = round_trip(arguments);
            assert!(json.contains("\"arguments\":\""), "{json}");
        }
    }

    #[test]
    fn arguments_of_another_kind_are_refused() {
        let call = json!({"id": "1", "name": "add", "arguments": [1]});
        let error = serde_json::from_value::<ToolCall>(call).expect_err("is no call");
        assert!(error.to_string().contains("an object or a text"), "{error}");
    }

    #[test]
    fn what_belongs_to_the_host_is_left_out() {
        let call = ToolCall::new("1", "add", "{}").in_session("s-1");
        let json = serde_json::to_string(&call).expect("serialises");
        assert_eq!(json, r#"{"id":"1","name":"add","arguments":{}}"#);
    }
}
