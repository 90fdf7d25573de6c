//! JSON text from any value that serializes, written into a `String` and bounded in bytes and in
//! depth.
//!
//! The text is what `serde_json::to_string` writes, byte for byte. This serializer exists because
//! `serde_json` writes strings byte by byte into a buffer of bytes and then checks it as UTF-8,
//! which took a sixth of a call. Only functions with the value's type are generic here, so that
//! little is compiled again in each user's crate.

use crate::json::string::{push_escaped, push_string};
use crate::text::prefix;
use serde::ser::{
    SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant,
};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::fmt::{Display, Write};
use thiserror::Error;

/// The deepest that results may be nested, as for arguments.
const MAX_DEPTH: u32 = 128;

/// The capacity that most results fit in.
const CAPACITY: usize = 128;

/// A bounded writer of JSON text.
pub(crate) struct JsonWriter {
    text: String,
    limit: usize,
    depth: u32,
    max_depth: u32,
    full: bool,
    /// The limit, while the next string is to be written as it is. The limit in force is 0 then, so
    /// that every write takes the slow path, which alone looks at this.
    verbatim: Option<usize>,
    /// True while the key of a map is written. JSON text is no key.
    in_key: bool,
}

impl JsonWriter {
    /// Makes a writer that stops at `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self::with_depth(limit, MAX_DEPTH)
    }

    /// Makes a writer that stops at `limit` bytes, or at containers that nest deeper than
    /// `max_depth`.
    pub(crate) fn with_depth(limit: usize, max_depth: u32) -> Self {
        let text = String::with_capacity(CAPACITY);
        Self {
            text,
            limit,
            depth: 0,
            max_depth,
            full: false,
            verbatim: None,
            in_key: false,
        }
    }

    /// Returns true if the depth stopped the writer.
    pub(crate) fn is_too_deep(&self) -> bool {
        self.depth > self.max_depth
    }

    /// Returns true if the limit stopped the writer. The text then holds all whole characters up to
    /// the limit.
    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }

    /// Returns the number of bytes that may still be written.
    #[inline]
    fn room(&self) -> usize {
        self.limit.saturating_sub(self.text.len())
    }

    /// Writes text as it is.
    #[inline]
    pub(crate) fn push(&mut self, text: &str) -> Result<(), WriteError> {
        if text.len() > self.room() {
            return Err(self.overflow(text));
        }
        self.text.push_str(text);
        Ok(())
    }

    #[cold]
    fn overflow(&mut self, text: &str) -> WriteError {
        if let Some(limit) = self.verbatim.take() {
            self.limit = limit;
            return WriteError::new("expected RawValue");
        }
        self.text.push_str(prefix(text, self.room()));
        self.fill()
    }

    /// Cuts the text at its limit. A caller that goes on after the error adds nothing.
    #[cold]
    fn fill(&mut self) -> WriteError {
        self.text.truncate(prefix(&self.text, self.limit).len());
        self.limit = self.text.len();
        self.full = true;
        WriteError::new("the result is too large")
    }

    /// Opens a container.
    fn open(&mut self, bracket: &str) -> Result<(), WriteError> {
        self.depth += 1;
        if self.is_too_deep() {
            return Err(WriteError::new("it nests deeper than 128"));
        }
        self.push(bracket)
    }

    /// Opens the object around an enum's variant with content.
    fn open_variant(&mut self, variant: &'static str) -> Result<(), WriteError> {
        self.open("{")?;
        self.field(true, variant)
    }

    /// Closes a container.
    fn close(&mut self, bracket: &str) -> Result<(), WriteError> {
        self.depth -= 1;
        self.push(bracket)
    }

    fn close_variant(&mut self, brackets: &str) -> Result<(), WriteError> {
        self.depth -= 1;
        self.close(brackets)
    }

    /// Returns true if a string fits with up to six more characters around it, even if each of its
    /// bytes takes the six bytes of the longest escape.
    #[inline]
    fn surely_fits(&self, value: &str) -> bool {
        value.len() < self.room() / 8
    }

    /// Writes a string value.
    fn string(&mut self, value: &str) -> Result<(), WriteError> {
        if !self.surely_fits(value) {
            return self.tight_string(value);
        }
        push_string(&mut self.text, value);
        Ok(())
    }

    /// Writes a struct's key, with the comma before it and the colon after it.
    fn field(&mut self, first: bool, key: &'static str) -> Result<(), WriteError> {
        if !self.surely_fits(key) {
            return self.tight_field(first, key);
        }
        let text = &mut self.text;
        if first {
            text.push('"');
        } else {
            text.push_str(",\"");
        }
        push_escaped(text, key);
        text.push_str("\":");
        Ok(())
    }

    #[cold]
    fn tight_field(&mut self, first: bool, key: &str) -> Result<(), WriteError> {
        if !first {
            self.push(",")?;
        }
        self.tight_string(key)?;
        self.push(":")
    }

    /// Writes a string value close to the limit, or verbatim.
    #[cold]
    fn tight_string(&mut self, value: &str) -> Result<(), WriteError> {
        if let Some(limit) = self.verbatim.take() {
            self.limit = limit;
            return self.push(value);
        }
        self.push("\"")?;
        self.part(value)?;
        self.push("\"")
    }

    /// Writes part of a string.
    fn part(&mut self, value: &str) -> Result<(), WriteError> {
        // An escape is no shorter than its character, so whatever is cut off here is beyond the
        // limit in any case.
        let kept = prefix(value, self.room());
        push_escaped(&mut self.text, kept);
        if kept.len() < value.len() || self.text.len() > self.limit {
            return Err(self.fill());
        }
        Ok(())
    }

    /// Writes the `Display` of a value as a string value.
    fn display(&mut self, value: fmt::Arguments<'_>) -> Result<(), WriteError> {
        if self.verbatim.is_some() {
            return self.tight_string(&value.to_string());
        }
        self.push("\"")?;
        let mut adapter = StringAdapter {
            writer: self,
            error: None,
        };
        if adapter.write_fmt(value).is_err() {
            return Err(adapter
                .error
                .unwrap_or_else(|| WriteError::new("a value's `Display` failed")));
        }
        self.push("\"")
    }

    /// Writes the key of a map. A key that is not a string is quoted or refused as `serde_json`
    /// does it.
    fn map_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), WriteError> {
        let start = self.text.len();
        let limit = self.limit;
        let depth = self.depth;
        self.in_key = true;
        let written = key.serialize(&mut *self);
        self.in_key = false;
        if self
            .text
            .as_bytes()
            .get(start)
            .is_none_or(|first| *first == b'"')
        {
            return written;
        }
        self.text.truncate(start);
        (self.limit, self.depth, self.full, self.verbatim) = (limit, depth, false, None);
        let object = serde_json::to_string(&SingleKey(key)).map_err(serde::ser::Error::custom)?;
        self.push(
            object
                .strip_prefix('{')
                .and_then(|object| object.strip_suffix(":null}"))
                .unwrap_or_default(),
        )
    }
}

/// Serialises as an object with one key, whose value is `null`.
struct SingleKey<'a, T: ?Sized>(&'a T);

impl<T: Serialize + ?Sized> Serialize for SingleKey<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([(self.0, ())])
    }
}

/// Writes formatted text as part of a string value.
struct StringAdapter<'a> {
    writer: &'a mut JsonWriter,
    error: Option<WriteError>,
}

impl Write for StringAdapter<'_> {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        self.writer.part(part).map_err(|error| {
            self.error = Some(error);
            fmt::Error
        })
    }
}

macro_rules! integers {
    ($($method:ident($integer:ty))*) => {
        $(fn $method(self, value: $integer) -> Result<(), WriteError> {
            self.push(itoa::Buffer::new().format(value))
        })*
    };
}

macro_rules! floats {
    ($($method:ident($float:ty))*) => {
        $(fn $method(self, value: $float) -> Result<(), WriteError> {
            if !value.is_finite() {
                return self.push("null");
            }
            self.push(zmij::Buffer::new().format_finite(value))
        })*
    };
}

impl<'a> Serializer for &'a mut JsonWriter {
    type Ok = ();
    type Error = WriteError;
    type SerializeSeq = Compound<'a>;
    type SerializeTuple = Compound<'a>;
    type SerializeTupleStruct = Compound<'a>;
    type SerializeTupleVariant = Compound<'a>;
    type SerializeMap = Compound<'a>;
    type SerializeStruct = Compound<'a>;
    type SerializeStructVariant = Compound<'a>;

    fn serialize_bool(self, value: bool) -> Result<(), WriteError> {
        self.push(if value { "true" } else { "false" })
    }

    integers! {
        serialize_i8(i8) serialize_i16(i16) serialize_i32(i32) serialize_i64(i64) serialize_i128(i128)
        serialize_u8(u8) serialize_u16(u16) serialize_u32(u32) serialize_u64(u64) serialize_u128(u128)
    }

    floats! { serialize_f32(f32) serialize_f64(f64) }

    fn serialize_char(self, value: char) -> Result<(), WriteError> {
        self.string(value.encode_utf8(&mut [0; 4]))
    }

    #[inline]
    fn serialize_str(self, value: &str) -> Result<(), WriteError> {
        self.string(value)
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), WriteError> {
        self.collect_seq(value)
    }

    fn serialize_none(self) -> Result<(), WriteError> {
        self.push("null")
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), WriteError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), WriteError> {
        self.push("null")
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), WriteError> {
        self.push("null")
    }

    #[inline]
    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<(), WriteError> {
        self.string(variant)
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<(), WriteError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), WriteError> {
        self.open_variant(variant)?;
        value.serialize(&mut *self)?;
        self.close("}")
    }

    #[inline]
    fn serialize_seq(self, _len: Option<usize>) -> Result<Compound<'a>, WriteError> {
        Compound::open(self, "[")
    }

    #[inline]
    fn serialize_tuple(self, _len: usize) -> Result<Compound<'a>, WriteError> {
        Compound::open(self, "[")
    }

    #[inline]
    fn serialize_tuple_struct(
        self,
        _name: &'static str,
        _len: usize,
    ) -> Result<Compound<'a>, WriteError> {
        Compound::open(self, "[")
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Compound<'a>, WriteError> {
        self.open_variant(variant)?;
        Compound::open(self, "[")
    }

    #[inline]
    fn serialize_map(self, _len: Option<usize>) -> Result<Compound<'a>, WriteError> {
        Compound::open(self, "{")
    }

    #[inline]
    fn serialize_struct(self, name: &'static str, _len: usize) -> Result<Compound<'a>, WriteError> {
        if is_verbatim(name) {
            if self.in_key {
                return Err(WriteError::new("key must be a string"));
            }
            return Ok(Compound {
                writer: self,
                state: State::Verbatim,
            });
        }
        Compound::open(self, "{")
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Compound<'a>, WriteError> {
        self.open_variant(variant)?;
        Compound::open(self, "{")
    }

    #[inline]
    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<(), WriteError> {
        self.display(format_args!("{value}"))
    }
}

/// An open container of any kind. The method that ends it closes it by its kind.
pub(crate) struct Compound<'a> {
    writer: &'a mut JsonWriter,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    First,
    Rest,
    /// A struct whose one field is JSON text, written as it is.
    Verbatim,
}

/// Returns true for the name that `serde_json` gives to a struct of JSON text, and to its one
/// field.
fn is_verbatim(name: &str) -> bool {
    // `Number` is such a struct where a crate of the build enables `serde_json`'s
    // `arbitrary_precision`.
    name == "$serde_json::private::RawValue" || name == "$serde_json::private::Number"
}

impl<'a> Compound<'a> {
    fn open(writer: &'a mut JsonWriter, bracket: &'static str) -> Result<Self, WriteError> {
        writer.open(bracket)?;
        Ok(Self {
            writer,
            state: State::First,
        })
    }

    /// Returns true for the first member.
    #[inline]
    fn first(&mut self) -> bool {
        let first = self.state == State::First;
        self.state = State::Rest;
        first
    }

    /// Moves to the next element.
    fn next(&mut self) -> Result<(), WriteError> {
        if self.first() {
            Ok(())
        } else {
            self.writer.push(",")
        }
    }

    /// Writes the key of the next field.
    fn key(&mut self, key: &'static str) -> Result<(), WriteError> {
        if self.state == State::Verbatim {
            return self.verbatim(key);
        }
        let first = self.first();
        self.writer.field(first, key)
    }

    #[cold]
    fn verbatim(&mut self, key: &str) -> Result<(), WriteError> {
        if !is_verbatim(key) {
            return Err(WriteError::new("expected value"));
        }
        self.writer.verbatim = Some(self.writer.limit);
        self.writer.limit = 0;
        Ok(())
    }

    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), WriteError> {
        self.next()?;
        value.serialize(&mut *self.writer)
    }

    fn field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), WriteError> {
        self.key(key)?;
        value.serialize(&mut *self.writer)
    }

    fn end_structure(self) -> Result<(), WriteError> {
        if self.state == State::Verbatim {
            Ok(())
        } else {
            self.writer.close("}")
        }
    }
}

// The containers whose members have no keys.
macro_rules! elements {
    ($($trait:ident::$method:ident, $close:ident($brackets:literal);)*) => {
        $(impl $trait for Compound<'_> {
            type Ok = ();
            type Error = WriteError;

            #[inline]
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), WriteError> {
                self.element(value)
            }

            fn end(self) -> Result<(), WriteError> {
                self.writer.$close($brackets)
            }
        })*
    };
}

elements! {
    SerializeSeq::serialize_element, close("]");
    SerializeTuple::serialize_element, close("]");
    SerializeTupleStruct::serialize_field, close("]");
    SerializeTupleVariant::serialize_field, close_variant("]}");
}

impl SerializeMap for Compound<'_> {
    type Ok = ();
    type Error = WriteError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), WriteError> {
        self.next()?;
        self.writer.map_key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), WriteError> {
        self.writer.push(":")?;
        value.serialize(&mut *self.writer)
    }

    fn end(self) -> Result<(), WriteError> {
        self.writer.close("}")
    }
}

impl SerializeStruct for Compound<'_> {
    type Ok = ();
    type Error = WriteError;

    #[inline]
    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), WriteError> {
        self.field(key, value)
    }

    fn end(self) -> Result<(), WriteError> {
        self.end_structure()
    }
}

impl SerializeStructVariant for Compound<'_> {
    type Ok = ();
    type Error = WriteError;

    #[inline]
    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), WriteError> {
        self.field(key, value)
    }

    fn end(self) -> Result<(), WriteError> {
        self.writer.close_variant("}}")
    }
}

/// The reason why a value does not serialize. It is a thin pointer, so that the writer's results
/// fit a register.
#[derive(Debug, Error)]
#[error("{0}")]
pub(crate) struct WriteError(Box<Cow<'static, str>>);

impl WriteError {
    #[cold]
    fn new(reason: &'static str) -> Self {
        Self(Box::new(Cow::Borrowed(reason)))
    }
}

impl serde::ser::Error for WriteError {
    #[cold]
    fn custom<T: Display>(message: T) -> Self {
        Self(Box::new(Cow::Owned(message.to_string())))
    }
}
