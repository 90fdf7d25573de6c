//! Members that are read in the forms that servers send them, and texts with invalid escapes.

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

/// A text. Numbers and booleans are read as their text, anything else as none.
#[derive(Debug, Default)]
pub(crate) struct LenientText<'a>(pub(crate) Option<Cow<'a, str>>);

/// A count. A text with digits is read as its number, anything else as 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LenientCount(pub(crate) u64);

/// An object. Anything else is read as none.
#[derive(Debug, Default)]
pub(crate) struct LenientObject<T>(pub(crate) Option<T>);

/// The objects of an array. A single object is read as an array of one, anything else as an empty one.
#[derive(Debug, Default)]
pub(crate) struct LenientObjects<T>(pub(crate) Vec<T>);

/// Any value, with its digits as they were written.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct RawJson<'a>(#[serde(borrow)] pub(crate) Option<&'a RawValue>);

/// Parses an object; `None` for another value.
pub(crate) fn parse_object<'a, T: Deserialize<'a>>(text: &'a str) -> serde_json::Result<Option<T>> {
    serde_json::from_str::<LenientObject<T>>(text).map(|object| object.0)
}

impl<'a> RawJson<'a> {
    /// Returns a string's text, the JSON of any other value, and nothing for null or no value.
    pub(crate) fn text(self) -> Cow<'a, str> {
        let raw = self.0.map_or("", RawValue::get);
        match raw.as_bytes().first() {
            Some(b'"') => unescaped(raw),
            _ if raw == "null" => Cow::Borrowed(""),
            _ => Cow::Borrowed(raw),
        }
    }

    /// Parses the value; `None` if it is of another type.
    pub(crate) fn parse<T: Deserialize<'a>>(self) -> Option<T> {
        serde_json::from_str(self.0?.get()).ok()
    }

    /// Returns the text of a string; `None` for another value.
    pub(crate) fn string(self) -> Option<Cow<'a, str>> {
        self.0.is_some_and(|raw| raw.get().starts_with('"')).then(|| self.text())
    }

    /// Returns a member of an object; none of another value.
    pub(crate) fn member(self, name: &str) -> Self {
        let members = self.parse::<BTreeMap<Cow<'a, str>, Self>>();
        members.and_then(|mut members| members.remove(name)).unwrap_or_default()
    }

    /// Parses an object, or the objects of an array; none for another value.
    pub(crate) fn objects<T: Deserialize<'a>>(self) -> Vec<T> {
        self.parse::<LenientObjects<T>>().map_or_else(Vec::new, |objects| objects.0)
    }

    /// Parses the items of an array; none for another value.
    pub(crate) fn items(self) -> Vec<&'a RawValue> {
        self.parse().unwrap_or_default()
    }
}

impl LenientText<'_> {
    /// Returns the text; empty for none.
    pub(crate) fn as_str(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }

    /// Returns true for the boolean `true`, or a text of it.
    pub(crate) fn is_true(&self) -> bool {
        self.as_str() == "true"
    }
}

impl<T> Deref for LenientObject<T> {
    type Target = Option<T>;

    fn deref(&self) -> &Option<T> {
        &self.0
    }
}

/// Implements the methods of a visitor for kinds of JSON values that are read as absent.
macro_rules! absent {
    ($absent:expr; $($kind:ident)*) => {
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("any value")
        }

        $(absent!(@ $kind $absent);)*
    };
    (@ bool $absent:expr) => { fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> { Ok($absent) } };
    (@ number $absent:expr) => {
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> { Ok($absent) }
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> { Ok($absent) }
        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> { Ok($absent) }
    };
    (@ text $absent:expr) => { fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> { Ok($absent) } };
    (@ null $absent:expr) => { fn visit_unit<E>(self) -> Result<Self::Value, E> { Ok($absent) } };
    (@ array $absent:expr) => {
        fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Self::Value, A::Error> {
            IgnoredAny.visit_seq(items).map(|_| $absent)
        }
    };
    (@ object $absent:expr) => {
        fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Self::Value, A::Error> {
            IgnoredAny.visit_map(members).map(|_| $absent)
        }
    };
}

impl<'de: 'a, 'a> Deserialize<'de> for LenientText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor).map(Self)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Option<Cow<'de, str>>;

    absent!(None; null array object);

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(text.to_owned())))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(value.to_string())))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(number.to_string())))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(number.to_string())))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(number.to_string())))
    }
}

impl<'de> Deserialize<'de> for LenientCount {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Saturates.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(match Value::deserialize(deserializer)? {
            // Cohere counts in floats.
            Value::Number(number) => number.as_u64().unwrap_or_else(|| number.as_f64().unwrap_or_default() as u64),
            Value::String(text) => text.parse().unwrap_or(0),
            _ => 0,
        }))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for LenientObject<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ObjectVisitor(PhantomData)).map(Self)
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = Option<T>;

    absent!(None; bool number text null array);

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(members)).map(Some)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for LenientObjects<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ObjectsVisitor(PhantomData)).map(Self)
    }
}

struct ObjectsVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectsVisitor<T> {
    type Value = Vec<T>;

    absent!(Vec::new(); bool number text null);

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut objects = Vec::new();
        while let Some(LenientObject(item)) = items.next_element::<LenientObject<T>>()? {
            // Most arrays have one object, and objects may be large.
            if objects.is_empty() {
                objects.reserve_exact(1);
            }
            objects.extend(item);
        }
        Ok(objects)
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(members)).map(|item| vec![item])
    }
}

/// Returns the text of a valid JSON string. A surrogate without its other half becomes a replacement character.
fn unescaped(string: &str) -> Cow<'_, str> {
    if !string.contains('\\') {
        return Cow::Borrowed(string.get(1..string.len() - 1).unwrap_or_default());
    }
    let parse = |json: &str| serde_json::from_str::<String>(json).ok();
    let text = parse(string).or_else(|| parse(&surrogates_replaced(string)?));
    Cow::Owned(text.unwrap_or_default())
}

fn utf16_unit(digits: &str) -> Option<u16> {
    u16::from_str_radix(digits.get(..4)?, 16).ok()
}

/// Returns JSON in which each escaped surrogate without its other half is a replacement character; `None` if there is
/// no such escape. Some servers cut a string between two UTF-16 units, which no JSON parser accepts.
pub(crate) fn surrogates_replaced(json: &str) -> Option<String> {
    let unit = |escape: &str| escape.strip_prefix("\\u").and_then(utf16_unit);
    let mut repaired = String::new();
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        repaired.push_str(before);
        let read = match unit(escape) {
            Some(0xD800..=0xDBFF) if matches!(escape.get(6..).and_then(unit), Some(0xDC00..=0xDFFF)) => 12,
            Some(0xD800..=0xDFFF) => {
                repaired.push_str("\\ufffd");
                rest = escape.get(6..).unwrap_or_default();
                continue;
            }
            // The backslash and the character after it.
            _ => escape.char_indices().nth(2).map_or(escape.len(), |(at, _)| at),
        };
        let (same, after) = escape.split_at(read);
        repaired.push_str(same);
        rest = after;
    }
    repaired.push_str(rest);
    (repaired != json).then_some(repaired)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_every_escape() {
        for (json, expected) in [
            (r#"{\"a\":\"b\\\/\"}"#, "{\"a\":\"b\\/\"}"),
            (r"\b\f\n\r\t", "\u{8}\u{c}\n\r\t"),
            (r"\u00e4\u20AC\ud83d\ude00ä", "ä€😀ä"),
            (r"\ud83d", "\u{FFFD}"),
            (r"\ud83dx\ude00", "\u{FFFD}x\u{FFFD}"),
            (r"\ud83d\ud83d\ude00", "\u{FFFD}😀"),
            (r"\ud83d\u0041", "\u{FFFD}A"),
            ("plain ä", "plain ä"),
            ("", ""),
        ] {
            assert_eq!(unescaped(&format!("\"{json}\"")), expected, "{json}");
        }
    }

    #[test]
    fn replaces_single_surrogates_only() {
        for (json, expected) in [
            (r#""\ud83d""#, Some(r#""\ufffd""#)),
            (r#""\uDE00\ud83d\u00e4""#, Some(r#""\ufffd\ufffd\u00e4""#)),
            (r#""\ud83dä\"\ud83d\ude00""#, Some(r#""\ufffdä\"\ud83d\ude00""#)),
            (r#""\ud83d\ude00 \\ud83d \n""#, None),
            (r#""\"#, None),
            (r#""\ud8"#, None),
        ] {
            assert_eq!(surrogates_replaced(json).as_deref(), expected, "{json}");
        }
    }

    proptest! {
        #[test]
        fn reads_what_a_json_parser_reads(text in any::<String>()) {
            let json = serde_json::to_string(&text).expect("JSON");
            prop_assert_eq!(unescaped(&json), text);
        }
    }
}
