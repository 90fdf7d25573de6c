//! A strict cursor over a JSON text: white space, punctuation, depth, and the values that generated
//! code reads itself.

use crate::json::error::{Error, begin_text};
use crate::json::keys::{Key, ObjectKeys, OpenObjects};
use crate::json::number::{self, ParsedInteger, ParsedNumber};
use crate::json::probe::{Request, SchemaProbe, address};
use crate::json::string::{read_runs, run_end};
use serde::de;
use serde::de::{Error as _, Unexpected};

/// The deepest that objects and arrays may be nested.
const MAX_DEPTH: u8 = 128;

/// A strict decoder over one JSON text.
pub struct Decoder<'de> {
    text: &'de str,
    /// The next byte to read. Outside a token it is always on a character's boundary.
    at: usize,
    /// The number of containers that may still be opened.
    depth: u8,
    /// True after a value was ignored, until the struct that holds it has remembered its key.
    ignored: bool,
    /// The keys of the open objects whose repetition no visitor finds. Allocated at the first such
    /// key.
    open_objects: Option<Box<OpenObjects<'de>>>,
    /// The probe whose text this is. None in a call.
    probe: Option<&'de SchemaProbe>,
}

impl<'de> Decoder<'de> {
    /// Makes a decoder at the beginning of the text.
    #[inline]
    pub fn new(text: &'de str) -> Self {
        begin_text();
        Self {
            text,
            at: 0,
            depth: MAX_DEPTH,
            ignored: false,
            open_objects: None,
            probe: None,
        }
    }

    /// Checks that only white space is left.
    #[inline]
    pub fn end(&mut self) -> Result<(), Error> {
        match self.peek() {
            0 if self.at >= self.text.len() => Ok(()),
            _ => Err(self.syntax("unexpected text after the value")),
        }
    }

    /// Returns true if no text is left, not even white space.
    #[inline]
    pub(crate) fn is_at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    /// Enters the object that must come next.
    #[inline]
    pub fn begin_object(&mut self) -> Result<(), Error> {
        match self.peek() {
            b'{' => self.open(),
            _ => Err(self.unexpected(&"an object")),
        }
    }

    /// Reads the next key of the object that was entered, with its `:`. Returns `None` at the
    /// object's end. `first` is true for the first call after [`Decoder::begin_object`]. The caller
    /// must find repeated keys.
    #[inline]
    pub fn next_key(&mut self, first: bool) -> Result<Option<Key<'de>>, Error> {
        match self.plain_key(first) {
            Some(key) => Ok(Some(Key::Borrowed(key))),
            None => self.other_key(first),
        }
    }

    /// Consumes the next key if it is the given one, with quotes and colon, in the form that most
    /// texts have: with at most one space, after the comma.
    #[inline]
    pub(crate) fn take_key(&mut self, first: bool, key: &str) -> bool {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let rest = match rest {
            _ if first => rest,
            [b',', b' ', rest @ ..] | [b',', rest @ ..] => rest,
            _ => return false,
        };
        match rest.strip_prefix(key.as_bytes()) {
            Some(rest) => {
                self.at = self.text.len() - rest.len();
                true
            }
            None => false,
        }
    }

    /// Leaves the object if its bracket is the next byte.
    #[inline]
    pub(crate) fn take_object_end(&mut self) -> bool {
        let ends = self.byte(self.at) == b'}';
        if ends {
            self.close();
        }
        ends
    }

    /// Reads the next key in the form that most texts have: without escapes, and with at most one
    /// space, after the comma. Does nothing for any other form.
    fn plain_key(&mut self, first: bool) -> Option<&'de str> {
        let mut at = self.at;
        if !first {
            if self.byte(at) != b',' {
                return None;
            }
            at += 1;
            at += usize::from(self.byte(at) == b' ');
        }
        if self.byte(at) != b'"' {
            return None;
        }
        let start = at + 1;
        let end = run_end(self.text.as_bytes(), start);
        if self.byte(end) != b'"' || self.byte(end + 1) != b':' {
            return None;
        }
        self.at = end + 2;
        self.text.get(start..end)
    }

    /// Reads the next key in any form, or the end of the object.
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

    /// Reads again the key of an entry that began, with its comma, at a place. An error is located
    /// that way, so that keys are not kept until then.
    #[cold]
    fn key_at(&self, place: usize) -> Option<Key<'de>> {
        let mut decoder = Decoder::new(self.text);
        decoder.at = place;
        let first = decoder.peek() != b',';
        decoder.next_key(first).ok().flatten()
    }

    /// Adds the key of the entry at `place` to an error's path.
    #[cold]
    pub(crate) fn locate(&self, place: usize, error: Error) -> Error {
        match self.key_at(place) {
            Some(key) => error.under(&key),
            None => error,
        }
    }

    /// Returns false if the next value is certainly not `null`.
    #[inline]
    pub(crate) fn may_be_null(&self) -> bool {
        let byte = self.byte(self.at);
        byte == b'n' || byte <= b' '
    }

    /// Consumes `null` if it is the next value.
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
        Ok(self.text_since(start))
    }

    /// Returns the place of the cursor.
    #[inline]
    pub(crate) fn place(&self) -> usize {
        self.at
    }

    /// Returns the text from a place up to the cursor.
    #[inline]
    pub(crate) fn text_since(&self, start: usize) -> &'de str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// Returns the byte at a place, or 0 at the end of the text. (A NUL in the text begins no token
    /// either.)
    #[inline]
    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    /// Skips white space and returns the byte after it without consuming it; 0 at the end.
    #[inline]
    pub(crate) fn peek(&mut self) -> u8 {
        let byte = self.byte(self.at);
        if byte > b' ' {
            byte
        } else {
            self.peek_after_space()
        }
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
    fn close(&mut self) {
        self.at += 1;
        // Each closing follows one opening, so this cannot exceed the limit.
        self.depth = self.depth.saturating_add(1);
    }

    /// Moves to the next element of an array. Returns false at the array's end.
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

    /// Moves to the opening quote of an object's next key. Returns false at the object's end.
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
        if byte == b'"' {
            Ok(true)
        } else {
            Err(self.syntax("expected a key in double quotes"))
        }
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

    /// Reads the string whose opening quote is the next byte.
    #[inline]
    pub(crate) fn string(&mut self) -> Result<Key<'de>, Error> {
        match self.plain_string() {
            Some(text) => Ok(Key::Borrowed(text)),
            None => self.escaped_string().map(Key::Owned),
        }
    }

    /// Reads the string whose opening quote is the next byte, if it is well formed and holds no
    /// escape. Otherwise does nothing. This is a function apart from [`Decoder::escaped_string`] so
    /// that its result fits two registers.
    pub(crate) fn plain_string(&mut self) -> Option<&'de str> {
        let start = self.at + 1;
        let end = run_end(self.text.as_bytes(), start);
        if self.byte(end) != b'"' {
            return None;
        }
        self.at = end + 1;
        self.text.get(start..end)
    }

    /// Reads a string that holds an escape or is malformed.
    #[cold]
    pub(crate) fn escaped_string(&mut self) -> Result<String, Error> {
        let mut text = String::new();
        self.at = read_runs(self.text, self.at, |run, escape| {
            text.push_str(run);
            text.extend(escape);
        })?;
        Ok(text)
    }

    /// Reads the number whose first byte is the next one.
    pub(crate) fn number(&mut self) -> Result<ParsedNumber, Error> {
        let (number, end) = number::number(self.text, self.at)?;
        self.at = end;
        Ok(number)
    }

    /// Reads a non-negative integer of up to 19 digits. Does nothing for any other value.
    #[inline]
    pub(crate) fn small_integer(&mut self) -> Option<u64> {
        let (value, end) = number::small_integer(self.text, self.at)?;
        self.at = end;
        Some(value)
    }

    /// Reads an integer of up to 128 bits.
    pub(crate) fn integer(&mut self) -> Result<ParsedInteger, Error> {
        let (integer, end) = number::integer(self.text, self.at)?;
        self.at = end;
        Ok(integer)
    }

    /// Returns a grammar error at the cursor.
    #[cold]
    pub(crate) fn syntax(&self, message: &'static str) -> Error {
        Error::unexpected_byte(self.text, self.at, message)
    }

    /// Returns the error for a value of another kind than the expected one, or for text that is no
    /// value.
    #[cold]
    pub(crate) fn unexpected(&mut self, expected: &dyn de::Expected) -> Error {
        self.describe(expected).unwrap_or_else(|syntax| syntax)
    }

    fn describe(&mut self, expected: &dyn de::Expected) -> Result<Error, Error> {
        Ok(match self.peek() {
            b'{' => Error::invalid_type(Unexpected::Map, expected),
            b'[' => Error::invalid_type(Unexpected::Seq, expected),
            b'"' => Error::invalid_type(Unexpected::Str(&self.string()?), expected),
            b't' => self
                .literal("true")
                .map(|()| Error::invalid_type(Unexpected::Bool(true), expected))?,
            b'f' => self
                .literal("false")
                .map(|()| Error::invalid_type(Unexpected::Bool(false), expected))?,
            // `null` says more than serde's `unit value`. serde_json words it so, too.
            b'n' => self
                .literal("null")
                .map(|()| Error::invalid_type(Unexpected::Other("null"), expected))?,
            b'-' | b'0'..=b'9' => match self.number()? {
                ParsedNumber::Unsigned(value) => {
                    Error::invalid_type(Unexpected::Unsigned(value), expected)
                }
                ParsedNumber::Signed(value) => {
                    Error::invalid_type(Unexpected::Signed(value), expected)
                }
                ParsedNumber::Big(value)
                | ParsedNumber::Float(value)
                | ParsedNumber::Rounded(value) => {
                    Error::invalid_type(Unexpected::Float(value), expected)
                }
            },
            _ => self.syntax("expected a value"),
        })
    }

    /// Checks one value and moves past it: its grammar, and that no object in it repeats a key. [`Decoder::open`] bounds
    /// the recursion.
    pub(crate) fn check(&mut self) -> Result<(), Error> {
        match self.peek() {
            b'"' => self.check_string(),
            b'{' => self.check_object(),
            b'[' => self.check_array(),
            b't' => self.literal("true"),
            b'f' => self.literal("false"),
            b'n' => self.literal("null"),
            b'-' | b'0'..=b'9' => {
                self.at = number::number_end(self.text, self.at)?;
                Ok(())
            }
            _ => Err(self.syntax("expected a value")),
        }
    }

    fn check_string(&mut self) -> Result<(), Error> {
        if self.plain_string().is_none() {
            self.at = read_runs(self.text, self.at, |_, _| ())?;
        }
        Ok(())
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
        let keys = self.object_keys();
        self.open()?;
        let mut first = true;
        while let Some(key) = self.next_key(std::mem::take(&mut first))? {
            self.insert_key(keys, &key)?;
            self.check().map_err(|error| error.under(&key))?;
        }
        self.close_keys(keys);
        Ok(())
    }

    /// Begins the keys of the object whose brace is the next byte.
    #[inline]
    pub(crate) fn object_keys(&self) -> ObjectKeys {
        ObjectKeys::new(self.open_objects.as_deref(), self.at)
    }

    /// Remembers a key of an object; a repeated one is an error.
    pub(crate) fn insert_key(&mut self, keys: ObjectKeys, key: &Key<'de>) -> Result<(), Error> {
        let open = self
            .open_objects
            .get_or_insert_with(|| Box::new(OpenObjects::new()));
        if keys.insert(open, key) {
            Ok(())
        } else {
            Err(Error::duplicate(key))
        }
    }

    /// Forgets the keys of an object that has ended.
    #[inline]
    pub(crate) fn close_keys(&mut self, keys: ObjectKeys) {
        if let Some(open) = &mut self.open_objects {
            keys.close(open);
        }
    }

    /// Checks one value that the type ignores.
    pub(crate) fn ignore_value(&mut self) -> Result<(), Error> {
        self.check()?;
        self.ignored = true;
        Ok(())
    }

    #[inline]
    pub(crate) fn has_ignored(&self) -> bool {
        self.ignored
    }

    /// Remembers the key of the entry at `place`, whose value was ignored, unless all keys of the
    /// object are remembered.
    #[cold]
    pub(crate) fn insert_ignored_key(
        &mut self,
        keys: ObjectKeys,
        place: usize,
        unique: bool,
    ) -> Result<(), Error> {
        self.ignored = false;
        match self.key_at(place).filter(|_| !unique) {
            Some(key) => self.insert_key(keys, &key),
            None => Ok(()),
        }
    }

    /// Reports each request for a value to a probe.
    #[inline]
    pub(crate) fn probe_with(&mut self, probe: Option<&'de SchemaProbe>) {
        self.probe = probe;
    }

    /// Returns the probe that this decoder serves.
    #[inline]
    pub(crate) fn probe(&self) -> Option<&'de SchemaProbe> {
        self.probe
    }

    /// Reports the request for the value that comes next, where the text is that of a probe.
    #[inline]
    pub(crate) fn observe(&self, request: Request<'_>) {
        if let Some(probe) = self.probe {
            probe.observe(address(self.text, self.at), request);
        }
    }
}
