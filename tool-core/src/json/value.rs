//! The tolerant parse of the failure path: a value even where keys repeat, so that every problem can be told.

use crate::json::decoder::Decoder;
use crate::json::error::{Error, pointer_token};
use crate::json::number::Number;
use serde_json::{Map, Value};
use std::fmt;

/// A text as a value, and what the value does not show.
#[derive(Debug)]
pub(crate) struct Parsed {
    /// The last of two same keys wins.
    pub(crate) value: Value,
    /// JSON pointers to the keys that stood more than once, in the order of their repetition.
    pub(crate) duplicates: Vec<String>,
    /// JSON pointers to whole numbers that the value holds rounded, with their digits.
    pub(crate) rounded: Vec<(String, String)>,
}

/// A text that is no JSON, or lies too deep, or holds a number beyond `f64`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Syntax {
    /// In bytes, from 0.
    pub(crate) offset: usize,
    /// From 1.
    pub(crate) line: usize,
    /// In characters, from 1.
    pub(crate) column: usize,
    /// What is wrong there.
    pub(crate) message: String,
}

impl fmt::Display for Syntax {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at line {} column {}", self.message, self.line, self.column)
    }
}

impl std::error::Error for Syntax {}

/// Parses a text into a value. Numbers are held as `serde_json` holds them.
pub(crate) fn parse(text: &str) -> Result<Parsed, Syntax> {
    let mut reader = Reader { decoder: Decoder::new(text), duplicates: Vec::new(), rounded: Vec::new() };
    let value = reader.value().and_then(|value| reader.decoder.end().map(|()| value));
    match value {
        Ok(value) => Ok(Parsed { value, duplicates: reader.duplicates, rounded: reader.rounded }),
        Err(error) => Err(place(text, &error)),
    }
}

struct Reader<'de> {
    decoder: Decoder<'de>,
    /// Those of the value that is being read lead from it; each container puts its own part before them.
    duplicates: Vec<String>,
    rounded: Vec<(String, String)>,
}

impl Reader<'_> {
    /// Recursion is bounded by the depth that `open` allows.
    fn value(&mut self) -> Result<Value, Error> {
        match self.decoder.peek() {
            b'"' => Ok(Value::String(self.decoder.string()?.into_owned())),
            b'{' => self.object(),
            b'[' => self.array(),
            b't' => self.decoder.literal("true").map(|()| Value::Bool(true)),
            b'f' => self.decoder.literal("false").map(|()| Value::Bool(false)),
            b'n' => self.decoder.literal("null").map(|()| Value::Null),
            b'-' | b'0'..=b'9' => self.number(),
            _ => Err(self.decoder.syntax("expected a value")),
        }
    }

    fn number(&mut self) -> Result<Value, Error> {
        let start = self.decoder.at;
        Ok(match self.decoder.number()? {
            Number::Unsigned(value) => Value::from(value),
            Number::Signed(value) => Value::from(value),
            Number::Float(value) => Value::from(value),
            Number::Big(value) => {
                let digits = self.decoder.slice(start, self.decoder.at)?;
                if format!("{value:.0}") != digits {
                    self.rounded.push((String::new(), digits.to_owned()));
                }
                Value::from(value)
            }
        })
    }

    fn array(&mut self) -> Result<Value, Error> {
        self.decoder.open()?;
        let mut items = Vec::new();
        while self.decoder.next_element(items.is_empty())? {
            let known = self.known();
            let item = self.value()?;
            self.lead_from(known, || items.len().to_string());
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn object(&mut self) -> Result<Value, Error> {
        self.decoder.open()?;
        let mut entries = Map::new();
        while let Some(key) = self.decoder.next_key(entries.is_empty())? {
            let known = self.known();
            let value = self.value()?;
            self.lead_from(known, || key.as_ref().to_owned());
            // An own copy of the key is needed for the map, and again for the pointer if it was there.
            if entries.insert(key.as_ref().to_owned(), value).is_some() {
                self.duplicates.push(pointer_token(&key));
            }
        }
        Ok(Value::Object(entries))
    }

    /// How much was found up to now.
    fn known(&self) -> (usize, usize) {
        (self.duplicates.len(), self.rounded.len())
    }

    /// Puts a step before the pointers that were found since then.
    fn lead_from(&mut self, (duplicates, rounded): (usize, usize), step: impl Fn() -> String) {
        let numbers = self.rounded.iter_mut().skip(rounded).map(|(pointer, _)| pointer);
        for pointer in self.duplicates.iter_mut().skip(duplicates).chain(numbers) {
            pointer.insert_str(0, &pointer_token(&step()));
        }
    }
}

fn place(text: &str, error: &Error) -> Syntax {
    let offset = error.offset().unwrap_or_default();
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    Syntax {
        offset,
        line: before.matches('\n').count() + 1,
        column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
        message: error.message().to_owned(),
    }
}
