//! JSON text inside of other JSON, written and read unchanged.

use serde::de::{Error, MapAccess, Visitor};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::fmt;

/// The name by which `serde_json` knows a raw value.
const RAW_VALUE: &str = "$serde_json::private::RawValue";

/// JSON text that is embedded unchanged. Converting it to a `RawValue` would parse it again, so
/// this uses `serde_json`'s protocol for raw values directly. A test compares the two.
pub(crate) struct RawJson<'a>(pub(crate) &'a str);

impl Serialize for RawJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut raw = serializer.serialize_struct(RAW_VALUE, 1)?;
        raw.serialize_field(RAW_VALUE, self.0)?;
        raw.end()
    }
}

/// The text of any JSON value. From `serde_json` it is the text as it was sent. A deserializer that
/// has parsed the value already, for example inside of an enum with a tag, gives it as compact
/// JSON.
pub(crate) struct RawText(pub(crate) String);

impl<'de> Deserialize<'de> for RawText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(RAW_VALUE, RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = RawText;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawText, A::Error> {
        match map.next_key::<String>()? {
            Some(key) if key == RAW_VALUE => Ok(RawText(map.next_value()?)),
            _ => Err(A::Error::custom("expected any JSON value")),
        }
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, value: D) -> Result<RawText, D::Error> {
        let value = Value::deserialize(value)?;
        Ok(RawText(value.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[derive(Deserialize)]
    #[serde(tag = "type")]
    enum Tagged {
        A { value: RawText },
    }

    #[test]
    fn text_is_read_as_it_was_sent() {
        let sent = r#"{"b": 123456789012345678901234567890.10, "a":[1 ,2], "a":"\u0041"}"#;
        let read = serde_json::from_str::<RawText>(sent).expect("is JSON");
        assert_eq!(read.0, sent);
    }

    #[test]
    fn a_parsed_value_is_read_as_compact_json() {
        let read = serde_json::from_value::<RawText>(json!({"a": [1, 2]})).expect("is JSON");
        assert_eq!(read.0, r#"{"a":[1,2]}"#);

        let sent = r#"{"type": "A", "value": {"a": [1, 2]}}"#;
        let Tagged::A { value } = serde_json::from_str(sent).expect("is JSON");
        assert_eq!(value.0, r#"{"a":[1,2]}"#);
    }
}
