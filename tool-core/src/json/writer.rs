//! JSON text from any value that serialises: straight into a `String`, bounded in bytes and in depth.
//!
//! The text is what `serde_json::to_string` writes, byte for byte; tests hold it to that. A serializer of our own
//! because strings are a sixth of a call there, written byte by byte to a sink of bytes that must then be checked to
//! be UTF-8. Only what has the value's type is generic here, so that little is compiled again in each user's crate.

use serde::ser::{
    Impossible, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant,
};
use serde::{Serialize, Serializer};
use std::fmt;
use std::fmt::{Display, Formatter};

/// Results nest no deeper than arguments may.
const DEPTH: u32 = 128;

/// What most results fit in.
const CAPACITY: usize = 128;

/// Text on its way to be JSON.
pub(crate) struct Writer {
    pub(crate) text: String,
    pub(crate) limit: usize,
    depth: u32,
    full: bool,
    /// The limit proper, while the next string is to be written as it stands. The limit in force is then 0, so that
    /// nothing passes by the slow path, which alone has to know.
    pub(crate) verbatim: Option<usize>,
}

impl Writer {
    /// A writer that stops at `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self { text: String::with_capacity(CAPACITY), limit, depth: 0, full: false, verbatim: None }
    }

    /// Whether the limit stopped it. The text then holds all whole characters up to the limit.
    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }

    /// The bytes that may still come.
    #[inline]
    pub(crate) fn room(&self) -> usize {
        self.limit.saturating_sub(self.text.len())
    }

    /// Writes text as it stands.
    #[inline]
    pub(crate) fn push(&mut self, text: &str) -> Result<(), Error> {
        if text.len() > self.room() {
            return Err(self.overflow(text));
        }
        self.text.push_str(text);
        Ok(())
    }

    #[cold]
    fn overflow(&mut self, text: &str) -> Error {
        if let Some(limit) = self.verbatim.take() {
            self.limit = limit;
            return Error::not_text();
        }
        self.text.push_str(text.get(..text.floor_char_boundary(self.room())).unwrap_or_default());
        self.fill()
    }

    /// Cuts the text at its limit, for good: whoever goes on after an error adds nothing.
    #[cold]
    pub(crate) fn fill(&mut self) -> Error {
        self.text.truncate(self.text.floor_char_boundary(self.limit));
        self.limit = self.text.len();
        self.full = true;
        Error::full()
    }

    /// Opens a container.
    fn open(&mut self, bracket: &str) -> Result<(), Error> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(Error::too_deep());
        }
        self.push(bracket)
    }

    /// Opens the object around an enum's variant that holds something.
    fn open_variant(&mut self, variant: &'static str) -> Result<(), Error> {
        self.open("{")?;
        self.field(true, variant)
    }

    /// Closes a container.
    fn close(&mut self, bracket: &str) -> Result<(), Error> {
        self.depth -= 1;
        self.push(bracket)
    }

    fn close_variant(&mut self, brackets: &str) -> Result<(), Error> {
        self.depth -= 1;
        self.close(brackets)
    }
}

// ---- Values.

impl Writer {
    fn signed(&mut self, value: i64) -> Result<(), Error> {
        self.push(itoa::Buffer::new().format(value))
    }

    fn unsigned(&mut self, value: u64) -> Result<(), Error> {
        self.push(itoa::Buffer::new().format(value))
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.open("[")?;
        for (index, byte) in bytes.iter().enumerate() {
            if index > 0 {
                self.push(",")?;
            }
            self.unsigned(u64::from(*byte))?;
        }
        self.close("]")
    }
}

impl<'a> Serializer for &'a mut Writer {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Compound<'a>;
    type SerializeTuple = Compound<'a>;
    type SerializeTupleStruct = Compound<'a>;
    type SerializeTupleVariant = Compound<'a>;
    type SerializeMap = Compound<'a>;
    type SerializeStruct = Compound<'a>;
    type SerializeStructVariant = Compound<'a>;

    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        self.push(if value { "true" } else { "false" })
    }

    fn serialize_i8(self, value: i8) -> Result<(), Error> {
        self.signed(i64::from(value))
    }

    fn serialize_i16(self, value: i16) -> Result<(), Error> {
        self.signed(i64::from(value))
    }

    fn serialize_i32(self, value: i32) -> Result<(), Error> {
        self.signed(i64::from(value))
    }

    fn serialize_i64(self, value: i64) -> Result<(), Error> {
        self.signed(value)
    }

    fn serialize_i128(self, value: i128) -> Result<(), Error> {
        self.push(itoa::Buffer::new().format(value))
    }

    fn serialize_u8(self, value: u8) -> Result<(), Error> {
        self.unsigned(u64::from(value))
    }

    fn serialize_u16(self, value: u16) -> Result<(), Error> {
        self.unsigned(u64::from(value))
    }

    fn serialize_u32(self, value: u32) -> Result<(), Error> {
        self.unsigned(u64::from(value))
    }

    fn serialize_u64(self, value: u64) -> Result<(), Error> {
        self.unsigned(value)
    }

    fn serialize_u128(self, value: u128) -> Result<(), Error> {
        self.push(itoa::Buffer::new().format(value))
    }

    fn serialize_f32(self, value: f32) -> Result<(), Error> {
        if !value.is_finite() {
            return self.push("null");
        }
        self.push(zmij::Buffer::new().format_finite(value))
    }

    fn serialize_f64(self, value: f64) -> Result<(), Error> {
        if !value.is_finite() {
            return self.push("null");
        }
        self.push(zmij::Buffer::new().format_finite(value))
    }

    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.string(value.encode_utf8(&mut [0; 4]))
    }

    #[inline]
    fn serialize_str(self, value: &str) -> Result<(), Error> {
        self.string(value)
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Error> {
        self.bytes(value)
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.push("null")
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.push("null")
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), Error> {
        self.push("null")
    }

    #[inline]
    fn serialize_unit_variant(self, _name: &'static str, _index: u32, variant: &'static str) -> Result<(), Error> {
        self.string(variant)
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _name: &'static str, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        self.open_variant(variant)?;
        value.serialize(&mut *self)?;
        self.close("}")
    }

    #[inline]
    fn serialize_seq(self, _len: Option<usize>) -> Result<Compound<'a>, Error> {
        Compound::array(self)
    }

    #[inline]
    fn serialize_tuple(self, _len: usize) -> Result<Compound<'a>, Error> {
        Compound::array(self)
    }

    #[inline]
    fn serialize_tuple_struct(self, _name: &'static str, _len: usize) -> Result<Compound<'a>, Error> {
        Compound::array(self)
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Compound<'a>, Error> {
        self.open_variant(variant)?;
        Compound::array(self)
    }

    #[inline]
    fn serialize_map(self, _len: Option<usize>) -> Result<Compound<'a>, Error> {
        Compound::object(self)
    }

    #[inline]
    fn serialize_struct(self, name: &'static str, _len: usize) -> Result<Compound<'a>, Error> {
        Compound::structure(self, name)
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Compound<'a>, Error> {
        self.open_variant(variant)?;
        Compound::object(self)
    }

    #[inline]
    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<(), Error> {
        self.display(format_args!("{value}"))
    }
}

// ---- Containers: one type for all kinds, as the method that ends one tells its kind.

/// An open container.
pub(crate) struct Compound<'a> {
    writer: &'a mut Writer,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    First,
    Rest,
    /// No container: its one field holds JSON.
    Verbatim,
}

/// What a struct is called that stands for JSON text; the same as its one field.
fn is_verbatim(name: &str) -> bool {
    // The second only where something enables serde_json's `arbitrary_precision`.
    name == "$serde_json::private::RawValue" || name == "$serde_json::private::Number"
}

impl<'a> Compound<'a> {
    pub(crate) fn array(writer: &'a mut Writer) -> Result<Self, Error> {
        writer.open("[")?;
        Ok(Self { writer, state: State::First })
    }

    pub(crate) fn object(writer: &'a mut Writer) -> Result<Self, Error> {
        writer.open("{")?;
        Ok(Self { writer, state: State::First })
    }

    pub(crate) fn structure(writer: &'a mut Writer, name: &'static str) -> Result<Self, Error> {
        if is_verbatim(name) {
            return Ok(Self { writer, state: State::Verbatim });
        }
        Self::object(writer)
    }

    /// Whether this is the first member; the next is not.
    #[inline]
    fn first(&mut self) -> bool {
        let first = self.state == State::First;
        self.state = State::Rest;
        first
    }

    /// Goes to the next element.
    fn next(&mut self) -> Result<(), Error> {
        if self.first() { Ok(()) } else { self.writer.push(",") }
    }

    /// Goes to the value of the next field.
    fn key(&mut self, key: &'static str) -> Result<(), Error> {
        if self.state == State::Verbatim {
            return self.verbatim(key);
        }
        let first = self.first();
        self.writer.field(first, key)
    }

    #[cold]
    fn verbatim(&mut self, key: &str) -> Result<(), Error> {
        if !is_verbatim(key) {
            return Err(Error::no_value());
        }
        self.writer.expect_verbatim();
        Ok(())
    }

    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.next()?;
        value.serialize(&mut *self.writer)
    }

    fn field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
        self.key(key)?;
        value.serialize(&mut *self.writer)
    }

    fn end_structure(self) -> Result<(), Error> {
        if self.state == State::Verbatim { Ok(()) } else { self.writer.close("}") }
    }
}

impl SerializeSeq for Compound<'_> {
    type Ok = ();
    type Error = Error;

    #[inline]
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.element(value)
    }

    fn end(self) -> Result<(), Error> {
        self.writer.close("]")
    }
}

impl SerializeTuple for Compound<'_> {
    type Ok = ();
    type Error = Error;

    #[inline]
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.element(value)
    }

    fn end(self) -> Result<(), Error> {
        self.writer.close("]")
    }
}

impl SerializeTupleStruct for Compound<'_> {
    type Ok = ();
    type Error = Error;

    #[inline]
    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.element(value)
    }

    fn end(self) -> Result<(), Error> {
        self.writer.close("]")
    }
}

impl SerializeTupleVariant for Compound<'_> {
    type Ok = ();
    type Error = Error;

    #[inline]
    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.element(value)
    }

    fn end(self) -> Result<(), Error> {
        self.writer.close_variant("]}")
    }
}

impl SerializeMap for Compound<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.next()?;
        key.serialize(Key(&mut *self.writer))
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.writer.push(":")?;
        value.serialize(&mut *self.writer)
    }

    fn end(self) -> Result<(), Error> {
        self.writer.close("}")
    }
}

impl SerializeStruct for Compound<'_> {
    type Ok = ();
    type Error = Error;

    #[inline]
    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
        self.field(key, value)
    }

    fn end(self) -> Result<(), Error> {
        self.end_structure()
    }
}

impl SerializeStructVariant for Compound<'_> {
    type Ok = ();
    type Error = Error;

    #[inline]
    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
        self.field(key, value)
    }

    fn end(self) -> Result<(), Error> {
        self.writer.close_variant("}}")
    }
}

// ---- Why a value does not serialise.

/// A thin pointer, so that a result of nothing or this fits a register.
#[derive(Debug)]
pub(crate) struct Error(Box<Reason>);

#[derive(Debug)]
enum Reason {
    Known(&'static str),
    Custom(String),
}

impl Error {
    #[cold]
    fn known(reason: &'static str) -> Self {
        Self(Box::new(Reason::Known(reason)))
    }

    #[cold]
    pub(crate) fn full() -> Self {
        Self::known("the result is too large")
    }

    #[cold]
    pub(crate) fn too_deep() -> Self {
        Self::known("it nests deeper than 128")
    }

    #[cold]
    pub(crate) fn not_text() -> Self {
        Self::known("expected RawValue")
    }

    #[cold]
    pub(crate) fn no_value() -> Self {
        Self::known("expected value")
    }

    #[cold]
    pub(crate) fn key() -> Self {
        Self::known("key must be a string")
    }

    #[cold]
    pub(crate) fn float_key() -> Self {
        Self::known("float key must be finite (got NaN or +/-inf)")
    }

    #[cold]
    pub(crate) fn display() -> Self {
        Self::known("a value's `Display` failed")
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match &*self.0 {
            Reason::Known(reason) => reason,
            Reason::Custom(reason) => reason,
        })
    }
}

impl std::error::Error for Error {}

impl serde::ser::Error for Error {
    #[cold]
    fn custom<T: Display>(message: T) -> Self {
        Self(Box::new(Reason::Custom(message.to_string())))
    }
}

// ---- Keys of maps: text, or what has one obvious text.

/// Writes a key.
pub(crate) struct Key<'a>(pub(crate) &'a mut Writer);

macro_rules! integers {
    ($($method:ident: $integer:ty),* $(,)?) => {
        $(fn $method(self, value: $integer) -> Result<(), Error> {
            self.0.string(itoa::Buffer::new().format(value))
        })*
    };
}

macro_rules! floats {
    ($($method:ident: $float:ty),* $(,)?) => {
        $(fn $method(self, value: $float) -> Result<(), Error> {
            if !value.is_finite() {
                return Err(Error::float_key());
            }
            self.0.string(zmij::Buffer::new().format_finite(value))
        })*
    };
}

type Never = Impossible<(), Error>;

impl Serializer for Key<'_> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Never;
    type SerializeTuple = Never;
    type SerializeTupleStruct = Never;
    type SerializeTupleVariant = Never;
    type SerializeMap = Never;
    type SerializeStruct = Never;
    type SerializeStructVariant = Never;

    integers! {
        serialize_i8: i8,
        serialize_i16: i16,
        serialize_i32: i32,
        serialize_i64: i64,
        serialize_i128: i128,
        serialize_u8: u8,
        serialize_u16: u16,
        serialize_u32: u32,
        serialize_u64: u64,
        serialize_u128: u128,
    }

    floats! { serialize_f32: f32, serialize_f64: f64 }

    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        self.0.string(if value { "true" } else { "false" })
    }

    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.0.string(value.encode_utf8(&mut [0; 4]))
    }

    #[inline]
    fn serialize_str(self, value: &str) -> Result<(), Error> {
        self.0.string(value)
    }

    #[inline]
    fn serialize_unit_variant(self, _name: &'static str, _index: u32, variant: &'static str) -> Result<(), Error> {
        self.0.string(variant)
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _name: &'static str, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    #[inline]
    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<(), Error> {
        self.0.display(format_args!("{value}"))
    }

    fn serialize_bytes(self, _value: &[u8]) -> Result<(), Error> {
        Err(Error::key())
    }

    fn serialize_none(self) -> Result<(), Error> {
        Err(Error::key())
    }

    fn serialize_unit(self) -> Result<(), Error> {
        Err(Error::key())
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), Error> {
        Err(Error::key())
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _value: &T,
    ) -> Result<(), Error> {
        Err(Error::key())
    }

    fn serialize_seq(self, _len: Option<usize>) -> Result<Never, Error> {
        Err(Error::key())
    }

    fn serialize_tuple(self, _len: usize) -> Result<Never, Error> {
        Err(Error::key())
    }

    fn serialize_tuple_struct(self, _name: &'static str, _len: usize) -> Result<Never, Error> {
        Err(Error::key())
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _len: usize,
    ) -> Result<Never, Error> {
        Err(Error::key())
    }

    fn serialize_map(self, _len: Option<usize>) -> Result<Never, Error> {
        Err(Error::key())
    }

    fn serialize_struct(self, _name: &'static str, _len: usize) -> Result<Never, Error> {
        Err(Error::key())
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _len: usize,
    ) -> Result<Never, Error> {
        Err(Error::key())
    }
}
