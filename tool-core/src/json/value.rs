//! The lenient parse of the failure path. It gives a value even where keys repeat, so that all
//! problems can be reported at once.

use crate::json::decoder::Decoder;
use crate::json::error::Error;
use crate::json::number::{ParsedNumber, unheld};
use crate::json::pointer::Path;
use serde_json::{Map, Value};
use std::collections::HashMap;
use thiserror::Error;

/// A parsed text, with what its value does not show.
#[derive(Debug)]
pub(crate) struct ParsedValue {
    /// The value. Of two equal keys the last one wins.
    pub(crate) value: Value,
    /// JSON pointers to the first repeated keys, in the order of their repetition.
    pub(crate) duplicates: Vec<String>,
    /// The integers that the value holds rounded.
    pub(crate) rounded: RoundedNumbers,
}

/// The number of repeated keys that are kept: one more than an answer lists, which shows that there
/// are more.
const MAX_DUPLICATES: usize = 21;

/// The digits of the numbers that a value holds as the nearest float: integers beyond 64 bits, and
/// fractions next to an integer. They are in a tree of the value's own shape. Integers of 2^127 and
/// more are among them where the float holds them, because its text does not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum RoundedNumbers {
    /// The value holds no such integer.
    #[default]
    None,
    /// The value is such an integer.
    Digits(String),
    /// Some members hold such integers, by their keys; the key of an item is its index.
    Inside(HashMap<String, RoundedNumbers>),
}

impl RoundedNumbers {
    /// Returns the integers inside a member.
    pub(crate) fn member(&self, key: &str) -> &Self {
        match self {
            Self::Inside(members) => members.get(key).unwrap_or(&Self::None),
            Self::None | Self::Digits(_) => &Self::None,
        }
    }

    /// Returns the digits, if the value itself is such a number.
    pub(crate) fn digits(&self) -> Option<&str> {
        match self {
            Self::Digits(digits) => Some(digits),
            Self::None | Self::Inside(_) => None,
        }
    }

    /// Returns true if there are none.
    pub(crate) fn is_none(&self) -> bool {
        *self == Self::None
    }

    /// Follows a member that gets another name.
    pub(crate) fn rename(&mut self, before: &str, after: &str) {
        if let Self::Inside(members) = self
            && let Some(inside) = members.remove(before)
        {
            members.insert(after.to_owned(), inside);
        }
    }

    /// Changes what is inside a member.
    pub(crate) fn change(&mut self, key: impl Fn() -> String, change: impl FnOnce(&mut Self)) {
        let Self::Inside(members) = self else {
            return change(&mut Self::None);
        };
        change(members.entry(key()).or_default());
    }

    fn insert(&mut self, key: &str, inside: Self) {
        if let Self::Inside(members) = self {
            members.insert(key.to_owned(), inside);
        } else {
            *self = Self::Inside(HashMap::from([(key.to_owned(), inside)]));
        }
    }
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
    let mut parser = Parser {
        decoder: Decoder::new(text),
        duplicates: Vec::new(),
        rounded: RoundedNumbers::None,
    };
    let value = parser
        .value(&Path::ROOT)
        .and_then(|value| parser.decoder.end().map(|()| value));
    match value {
        Ok(value) => Ok(ParsedValue {
            value,
            duplicates: parser.duplicates,
            rounded: parser.rounded,
        }),
        Err(error) => Err(located(text, &error)),
    }
}

struct Parser<'de> {
    decoder: Decoder<'de>,
    duplicates: Vec<String>,
    /// The rounded integers of the value that was read last.
    rounded: RoundedNumbers,
}

impl Parser<'_> {
    /// Reads a value. [`Decoder::open`] bounds the recursion.
    fn value(&mut self, path: &Path<'_>) -> Result<Value, Error> {
        match self.decoder.peek() {
            b'"' => Ok(Value::String(self.decoder.string()?.into_owned())),
            b'{' => self.object(path),
            b'[' => self.array(path),
            b't' => self.decoder.literal("true").map(|()| Value::Bool(true)),
            b'f' => self.decoder.literal("false").map(|()| Value::Bool(false)),
            b'n' => self.decoder.literal("null").map(|()| Value::Null),
            b'-' | b'0'..=b'9' => self.number(),
            _ => Err(self.decoder.syntax("expected a value")),
        }
    }

    fn number(&mut self) -> Result<Value, Error> {
        let start = self.decoder.place();
        let number = self.decoder.number()?;
        if let Some(digits) = unheld(number, self.decoder.text_since(start)) {
            self.rounded = RoundedNumbers::Digits(digits.into_owned());
        }
        Ok(match number {
            ParsedNumber::Unsigned(value) => Value::from(value),
            ParsedNumber::Signed(value) => Value::from(value),
            ParsedNumber::Float(value)
            | ParsedNumber::Big(value)
            | ParsedNumber::Rounded(value) => Value::from(value),
        })
    }

    fn array(&mut self, path: &Path<'_>) -> Result<Value, Error> {
        self.decoder.open()?;
        let mut items = Vec::new();
        let mut rounded = RoundedNumbers::None;
        while self.decoder.next_element(items.is_empty())? {
            let item = self.value(&path.index(items.len()))?;
            self.keep_rounded(&mut rounded, || items.len().to_string());
            items.push(item);
        }
        self.rounded = rounded;
        // A vector begins with room for four values, which is most of the memory of many short
        // arrays.
        if items.len() * 2 < items.capacity() {
            items.shrink_to_fit();
        }
        Ok(Value::Array(items))
    }

    fn object(&mut self, path: &Path<'_>) -> Result<Value, Error> {
        self.decoder.open()?;
        let mut entries = Map::new();
        let mut rounded = RoundedNumbers::None;
        while let Some(key) = self.decoder.next_key(entries.is_empty())? {
            let value = self.value(&path.key(&key))?;
            self.keep_rounded(&mut rounded, || key.as_ref().to_owned());
            // The map takes a copy of the key, which is needed again if it was there already.
            if entries.insert(key.as_ref().to_owned(), value).is_some()
                && self.duplicates.len() < MAX_DUPLICATES
            {
                self.duplicates.push(path.key(&key).pointer());
            }
        }
        self.rounded = rounded;
        Ok(Value::Object(entries))
    }

    /// Moves the rounded integers of the last value to those of the container around it.
    fn keep_rounded(&mut self, container: &mut RoundedNumbers, key: impl Fn() -> String) {
        match std::mem::take(&mut self.rounded) {
            RoundedNumbers::None => {}
            inside => container.insert(&key(), inside),
        }
    }
}

fn located(text: &str, error: &Error) -> SyntaxError {
    let before = text
        .get(..error.offset().unwrap_or_default())
        .unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    SyntaxError {
        message: error.message().to_owned(),
        line: before.matches('\n').count() + 1,
        column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
    }
}
