//! The lenient parse of the failure path. It gives a value even where keys repeat, so that all problems can be reported
//! at once.

use crate::json::decoder::Decoder;
use crate::json::error::{Error, pointer_token};
use crate::json::number::{ParsedNumber, is_rounded};
use serde_json::{Map, Value};
use thiserror::Error;

/// A parsed text, with what its value does not show.
#[derive(Debug)]
pub(crate) struct ParsedValue {
    /// The value. Of two equal keys the last one wins.
    pub(crate) value: Value,
    /// JSON pointers to the repeated keys, in the order of their repetition.
    pub(crate) duplicates: Vec<String>,
    /// The integers that the value holds rounded.
    pub(crate) rounded: Vec<RoundedNumber>,
}

/// An integer that a value holds as the nearest float.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RoundedNumber {
    /// A JSON pointer to it.
    pub(crate) pointer: String,
    /// Its text.
    pub(crate) digits: String,
}

/// A text that is not JSON, is nested too deep, or holds a number beyond `f64`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message} at line {line} column {column}")]
pub(crate) struct SyntaxError {
    /// The problem.
    pub(crate) message: String,
    /// The line, from 1.
    pub(crate) line: usize,
    /// The column in characters, from 1.
    pub(crate) column: usize,
}

/// Parses a text into a value. Numbers are held as `serde_json` holds them.
pub(crate) fn parse(text: &str) -> Result<ParsedValue, SyntaxError> {
    let mut parser = Parser { decoder: Decoder::new(text), duplicates: Vec::new(), rounded: Vec::new() };
    let value = parser.value().and_then(|value| parser.decoder.end().map(|()| value));
    match value {
        Ok(value) => Ok(ParsedValue { value, duplicates: parser.duplicates, rounded: parser.rounded }),
        Err(error) => Err(located(text, &error)),
    }
}

struct Parser<'de> {
    decoder: Decoder<'de>,
    /// Pointers relative to the value that is being read. Each container prepends its own token.
    duplicates: Vec<String>,
    rounded: Vec<RoundedNumber>,
}

impl Parser<'_> {
    /// Reads a value. [`Decoder::open`] bounds the recursion.
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
        let start = self.decoder.place();
        Ok(match self.decoder.number()? {
            ParsedNumber::Unsigned(value) => Value::from(value),
            ParsedNumber::Signed(value) => Value::from(value),
            ParsedNumber::Float(value) => Value::from(value),
            ParsedNumber::Big(value) => {
                let digits = self.decoder.text_since(start);
                if is_rounded(value, digits) {
                    self.rounded.push(RoundedNumber { pointer: String::new(), digits: digits.to_owned() });
                }
                Value::from(value)
            }
        })
    }

    fn array(&mut self) -> Result<Value, Error> {
        self.decoder.open()?;
        let mut items = Vec::new();
        while self.decoder.next_element(items.is_empty())? {
            let item = self.member(|| pointer_token(&items.len().to_string()))?;
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn object(&mut self) -> Result<Value, Error> {
        self.decoder.open()?;
        let mut entries = Map::new();
        while let Some(key) = self.decoder.next_key(entries.is_empty())? {
            let value = self.member(|| pointer_token(&key))?;
            // The map takes a copy of the key, which is needed again if it was there already.
            if entries.insert(key.as_ref().to_owned(), value).is_some() {
                self.duplicates.push(pointer_token(&key));
            }
        }
        Ok(Value::Object(entries))
    }

    /// Reads a value inside a container, and prepends its token to the pointers that were found in it.
    fn member(&mut self, token: impl Fn() -> String) -> Result<Value, Error> {
        let (duplicates, rounded) = (self.duplicates.len(), self.rounded.len());
        let value = self.value()?;
        let numbers = self.rounded.iter_mut().skip(rounded).map(|number| &mut number.pointer);
        for pointer in self.duplicates.iter_mut().skip(duplicates).chain(numbers) {
            pointer.insert_str(0, &token());
        }
        Ok(value)
    }
}

fn located(text: &str, error: &Error) -> SyntaxError {
    let before = text.get(..error.offset().unwrap_or_default()).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    SyntaxError {
        message: error.message().to_owned(),
        line: before.matches('\n').count() + 1,
        column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
    }
}
