//! JSON with its spelling: numbers keep their text, and objects keep their order and duplicates.

use crate::coercions::whole;
use crate::tape::Tape;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};
use std::fmt::{self, Write as _};

/// A JSON text as a tree.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    /// A number, `true`, `false` or `null`, with its spelling.
    Raw(String),
    /// A text.
    Text(String),
    /// An array.
    List(Vec<Json>),
    /// An object.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Converts a value, in its usual spelling.
    pub(crate) fn of(value: &Value) -> Self {
        match value {
            Value::String(text) => Self::Text(text.clone()),
            Value::Array(items) => Self::List(items.iter().map(Self::of).collect()),
            Value::Object(map) => Self::Object(
                map.iter()
                    .map(|(key, value)| (key.clone(), Self::of(value)))
                    .collect(),
            ),
            scalar => Self::Raw(scalar.to_string()),
        }
    }

    #[allow(clippy::needless_pass_by_value)] // short at the call
    pub(crate) fn raw(text: impl ToString) -> Self {
        Self::Raw(text.to_string())
    }

    /// Returns the value, with the last of two equal keys. `None` if a number exceeds every float.
    pub(crate) fn value(&self) -> Option<Value> {
        Some(match self {
            Self::Raw(text) => scalar(text)?,
            Self::Text(text) => Value::String(text.clone()),
            Self::List(items) => {
                Value::Array(items.iter().map(Self::value).collect::<Option<_>>()?)
            }
            Self::Object(entries) => {
                let mut map = Map::new();
                for (key, value) in entries {
                    map.insert(key.clone(), value.value()?);
                }
                Value::Object(map)
            }
        })
    }

    /// Returns whether some object has a duplicate key.
    pub(crate) fn repeats(&self) -> bool {
        match self {
            Self::Raw(_) | Self::Text(_) => false,
            Self::List(items) => items.iter().any(Self::repeats),
            Self::Object(entries) => {
                let twice = |at: usize, key: &str| {
                    entries.iter().skip(at + 1).any(|(other, _)| other == key)
                };
                entries
                    .iter()
                    .enumerate()
                    .any(|(at, (key, value))| twice(at, key) || value.repeats())
            }
        }
    }

    /// Writes compact text.
    pub(crate) fn text(&self) -> String {
        self.written(&Tape::new(&[]))
    }

    /// Writes text with some white space and some escapes.
    pub(crate) fn written(&self, tape: &Tape<'_>) -> String {
        let mut text = String::new();
        self.write(&mut text, tape);
        text
    }

    fn write(&self, out: &mut String, tape: &Tape<'_>) {
        let gaps = ["", "", "", " ", "\n\t", "\r\n  "];
        let gap = || *tape.pick(&gaps);
        match self {
            Self::Raw(text) => out.push_str(text),
            Self::Text(text) => string(out, text, tape),
            Self::List(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    out.push_str(gap());
                    item.write(out, tape);
                }
                out.push(']');
            }
            Self::Object(entries) => {
                out.push('{');
                for (at, (key, value)) in entries.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    out.push_str(gap());
                    string(out, key, tape);
                    out.push_str(gap());
                    out.push(':');
                    out.push_str(gap());
                    value.write(out, tape);
                }
                out.push('}');
            }
        }
    }
}

fn string(out: &mut String, text: &str, tape: &Tape<'_>) {
    if !tape.one_in(8) {
        out.push_str(&Value::from(text).to_string());
        return;
    }
    out.push('"');
    for unit in text.encode_utf16() {
        let _ = write!(out, "\\u{unit:04x}");
    }
    out.push('"');
}

/// Converts a scalar for `serde_json`. Integers of 64 bits and floats are read exactly, however they are written.
fn scalar(text: &str) -> Option<Value> {
    match text {
        "null" => return Some(Value::Null),
        "true" => return Some(Value::Bool(true)),
        "false" => return Some(Value::Bool(false)),
        _ => {}
    }
    let float: f64 = text.parse().ok()?;
    let digits = if float.abs() < 9e15 {
        text.to_owned()
    } else {
        whole(text).unwrap_or_default()
    };
    if text != "-0" {
        if let Ok(number) = digits.parse::<u64>() {
            return Some(number.into());
        }
        if let Ok(number) = digits.parse::<i64>() {
            return Some(number.into());
        }
    }
    Number::from_f64(float).map(Value::Number)
}

/// Parses a text with its duplicates and the spelling of its numbers. `None` if it is not JSON.
pub(crate) fn parse(text: &str) -> Option<Json> {
    let number = text.trim_matches([' ', '\n', '\t', '\r']);
    if number.starts_with(|first: char| first == '-' || first.is_ascii_digit()) {
        return serde_json::from_str::<IgnoredAny>(number)
            .ok()
            .map(|_| Json::raw(number));
    }
    serde_json::from_str(text).ok()
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

/// Reads any value but a number.
struct Reader;

fn inner<E: Error>(text: &RawValue) -> Result<Json, E> {
    parse(text.get()).ok_or_else(|| E::custom("no JSON"))
}

impl<'de> Visitor<'de> for Reader {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Json, E> {
        Ok(Json::raw(value))
    }

    fn visit_unit<E: Error>(self) -> Result<Json, E> {
        Ok(Json::raw("null"))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element::<Box<RawValue>>()? {
            list.push(inner(&item)?);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some((key, value)) = entries.next_entry::<String, Box<RawValue>>()? {
            list.push((key, inner(&value)?));
        }
        Ok(Json::Object(list))
    }
}
