//! The cursor over the text: white space, punctuation, depth, and the parts that generated code drives.

use crate::json::deserializer::Object;
use crate::json::error::Error;
use crate::json::keys::{Names, Seen};
use crate::json::number::Number;
use serde::de;
use serde::de::{Error as _, Unexpected};
use std::borrow::Cow;

/// Objects and arrays may lie this deep in one another.
pub(crate) const MAX_DEPTH: u8 = 128;

/// A key of an object: borrowed from the text unless it holds an escape.
pub type Key<'de> = Cow<'de, str>;

/// A strict decoder over one JSON text.
pub struct Decoder<'de> {
    pub(crate) text: &'de str,
    /// The next byte to read. Outside a token it always lies on a character's boundary.
    pub(crate) at: usize,
    /// How many more containers may open.
    pub(crate) depth: u8,
    pub(crate) buffered: bool,
    /// Set when a value is ignored, for the struct that holds it to remember the key; see `access`.
    pub(crate) ignored: bool,
    /// Keys of the open objects whose duplicates nobody else would find. Made at the first such key.
    pub(crate) seen: Option<Box<Seen<'de>>>,
    /// What is published, where that is to be compared; see `names`.
    pub(crate) names: Option<&'de Names>,
    /// The fields of the last struct that was found to be published as it is.
    pub(crate) known: &'static [&'static str],
}

impl<'de> Decoder<'de> {
    /// A decoder at the beginning of the text.
    #[inline]
    pub fn new(text: &'de str) -> Self {
        Self { text, at: 0, depth: MAX_DEPTH, buffered: false, ignored: false, seen: None, names: None, known: &[] }
    }

    /// Whether more may have been accepted than is published: `deserialize_any` was asked for an object, an array or
    /// a number (serde buffers untagged and flattened types that way, and what it then reads from its copy is looser
    /// than this decoder), or a type knows names that are not published.
    #[inline]
    pub fn buffered(&self) -> bool {
        self.buffered
    }

    /// Only white space may remain.
    #[inline]
    pub fn end(&mut self) -> Result<(), Error> {
        match self.peek() {
            0 if self.at >= self.text.len() => Ok(()),
            _ => Err(self.syntax("unexpected text after the value")),
        }
    }

    /// Enters the object that must come next.
    #[inline]
    pub fn begin_object(&mut self) -> Result<(), Error> {
        match self.peek() {
            b'{' => self.open(),
            _ => Err(self.unexpected(&"an object")),
        }
    }

    /// The next key of the object that was entered, with its `:` consumed; `None` once the object has ended.
    /// `first` is true for the first call after [`Decoder::begin_object`]. Duplicates are the caller's to find.
    #[inline]
    pub fn next_key(&mut self, first: bool) -> Result<Option<Key<'de>>, Error> {
        match self.plain_key(first) {
            Some(key) => Ok(Some(Key::Borrowed(key))),
            None => self.other_key(first),
        }
    }

    /// [`Decoder::next_key`] for every form that `plain_key` leaves, the end among them.
    fn other_key(&mut self, first: bool) -> Result<Option<Key<'de>>, Error> {
        if !self.next_entry(first)? {
            return Ok(None);
        }
        let key = self.string()?;
        match self.peek() {
            b':' => self.at += 1,
            _ => return Err(self.syntax("expected `:`")),
        }
        Ok(Some(key))
    }

    /// Reads again the key of an entry that began (with its comma, if any) at a place: to say where a value
    /// failed, without keeping every key until then.
    #[cold]
    pub(crate) fn key_at(text: &'de str, place: usize) -> Option<Key<'de>> {
        let mut reader = Decoder::new(text);
        reader.at = place;
        let first = reader.peek() != b',';
        reader.next_key(first).ok().flatten()
    }

    /// Consumes `null` if that is the next value.
    #[inline]
    pub fn take_null(&mut self) -> Result<bool, Error> {
        if self.peek() != b'n' {
            return Ok(false);
        }
        self.literal("null").map(|()| true)
    }

    /// Checks one value strictly and returns its text.
    pub fn raw(&mut self) -> Result<&'de str, Error> {
        self.peek();
        let start = self.at;
        self.check()?;
        self.slice(start, self.at)
    }

    /// The byte at a place, or 0 at the end of the text. (A NUL of the text is no token either.)
    #[inline]
    pub(crate) fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    /// Skips white space and looks at the byte after it; 0 at the end.
    #[inline]
    pub(crate) fn peek(&mut self) -> u8 {
        let byte = self.byte(self.at);
        if byte > b' ' { byte } else { self.peek_after_space() }
    }

    fn peek_after_space(&mut self) -> u8 {
        while matches!(self.byte(self.at), b' ' | b'\n' | b'\t' | b'\r') {
            self.at += 1;
        }
        self.byte(self.at)
    }

    /// Enters the container whose bracket is the next byte.
    #[inline]
    pub(crate) fn open(&mut self) -> Result<(), Error> {
        match self.depth.checked_sub(1) {
            Some(depth) => {
                self.depth = depth;
                self.at += 1;
                Ok(())
            }
            None => Err(self.syntax("nested more than 128 deep")),
        }
    }

    #[inline]
    pub(crate) fn close(&mut self) {
        self.at += 1;
        // Cannot pass the limit: each closing follows one opening.
        self.depth = self.depth.saturating_add(1);
    }

    /// Goes to the next element of an array; false at its end.
    #[inline]
    pub(crate) fn next_element(&mut self, first: bool) -> Result<bool, Error> {
        match self.peek() {
            b']' => {
                self.close();
                Ok(false)
            }
            b',' if !first => {
                self.at += 1;
                Ok(true)
            }
            _ if first => Ok(true),
            _ => Err(self.syntax("expected `,` or `]`")),
        }
    }

    /// Goes to the opening quote of an object's next key; false at its end.
    pub(crate) fn next_entry(&mut self, first: bool) -> Result<bool, Error> {
        let mut byte = self.peek();
        if byte == b'}' {
            self.close();
            return Ok(false);
        }
        if !first {
            if byte != b',' {
                return Err(self.syntax("expected `,` or `}`"));
            }
            self.at += 1;
            byte = self.peek();
        }
        if byte == b'"' { Ok(true) } else { Err(self.syntax("expected a key in double quotes")) }
    }

    /// Consumes `true`, `false` or `null`.
    #[inline]
    pub(crate) fn literal(&mut self, word: &'static str) -> Result<(), Error> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if !rest.starts_with(word.as_bytes()) {
            return Err(self.syntax("expected a value"));
        }
        self.at += word.len();
        Ok(())
    }

    #[inline]
    pub(crate) fn slice(&self, start: usize, end: usize) -> Result<&'de str, Error> {
        match self.text.get(start..end) {
            Some(part) => Ok(part),
            None => Err(Error::syntax("text cut inside a character", start)),
        }
    }

    /// The text breaks the grammar at the cursor.
    #[cold]
    pub(crate) fn syntax(&self, message: &'static str) -> Error {
        let ended = self.at >= self.text.len();
        Error::syntax(if ended { "unexpected end of the text" } else { message }, self.at.min(self.text.len()))
    }

    /// The next value is not of the wanted kind, if it is a value at all.
    #[cold]
    pub(crate) fn unexpected(&mut self, wanted: &dyn de::Expected) -> Error {
        self.describe(wanted).unwrap_or_else(|syntax| syntax)
    }

    fn describe(&mut self, wanted: &dyn de::Expected) -> Result<Error, Error> {
        Ok(match self.peek() {
            b'{' => Error::invalid_type(Unexpected::Map, wanted),
            b'[' => Error::invalid_type(Unexpected::Seq, wanted),
            b'"' => Error::invalid_type(Unexpected::Str(&self.string()?), wanted),
            b't' => self.literal("true").map(|()| Error::invalid_type(Unexpected::Bool(true), wanted))?,
            b'f' => self.literal("false").map(|()| Error::invalid_type(Unexpected::Bool(false), wanted))?,
            // As serde_json words it: `null` says more than `unit value`.
            b'n' => self.literal("null").map(|()| Error::invalid_type(Unexpected::Other("null"), wanted))?,
            b'-' | b'0'..=b'9' => match self.number()? {
                Number::Unsigned(value) => Error::invalid_type(Unexpected::Unsigned(value), wanted),
                Number::Signed(value) => Error::invalid_type(Unexpected::Signed(value), wanted),
                Number::Big(value) | Number::Float(value) => Error::invalid_type(Unexpected::Float(value), wanted),
            },
            _ => self.syntax("expected a value"),
        })
    }
}

// ---- Values that nobody reads: held to the grammar, and to unique keys, all the same.

impl Decoder<'_> {
    /// Checks one value and goes past it. Recursion is bounded by the depth that `open` allows.
    pub(crate) fn check(&mut self) -> Result<(), Error> {
        match self.peek() {
            b'"' => self.check_string(),
            b'{' => self.check_object(),
            b'[' => self.check_array(),
            b't' => self.literal("true"),
            b'f' => self.literal("false"),
            b'n' => self.literal("null"),
            b'-' | b'0'..=b'9' => self.check_number(),
            _ => Err(self.syntax("expected a value")),
        }
    }

    fn check_array(&mut self) -> Result<(), Error> {
        self.open()?;
        let mut index = 0;
        while self.next_element(index == 0)? {
            self.check().map_err(|error| error.under_index(index))?;
            index += 1;
        }
        Ok(())
    }

    fn check_object(&mut self) -> Result<(), Error> {
        let mut object = Object::open(self, true)?;
        while object.next_unique()?.is_some() {
            object.check_value()?;
        }
        Ok(())
    }
}
