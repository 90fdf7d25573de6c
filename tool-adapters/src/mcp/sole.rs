//! JSON in which no member stands twice.

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::cell::RefCell;
use std::fmt;

#[derive(Debug, PartialEq)]
pub(super) enum Error {
    /// It is not JSON, nests too deep, or has more behind it.
    Syntax(String),
    /// A member stands twice.
    Duplicate(String),
}

/// Reads a text in which no object has a member twice, at any depth.
pub(super) fn parse(text: &str) -> Result<Value, Error> {
    let twice = RefCell::new(None);
    let mut source = serde_json::Deserializer::from_str(text);
    let read = Sole { twice: &twice }.deserialize(&mut source).and_then(|value| source.end().map(|()| value));
    read.map_err(|error| match twice.into_inner() {
        Some(key) => Error::Duplicate(key),
        None => Error::Syntax(error.to_string()),
    })
}

#[derive(Clone, Copy)]
struct Sole<'a> {
    /// The member that stands twice: the text of an error could be anybody's.
    twice: &'a RefCell<Option<String>>,
}

impl<'de> DeserializeSeed<'de> for Sole<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, source: D) -> Result<Value, D::Error> {
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Sole<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut read = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            read.push(item);
        }
        Ok(Value::Array(read))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut read = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            if read.contains_key(&key) {
                let shown = key.chars().take(64).collect::<String>();
                *self.twice.borrow_mut() = Some(shown.escape_debug().to_string());
                return Err(A::Error::custom("a member stands twice"));
            }
            let value = members.next_value_seed(self)?;
            read.insert(key, value);
        }
        Ok(Value::Object(read))
    }
}
