//! Keys of maps: text, or what has one obvious text.

use super::{Error, Writer};
use serde::ser::Impossible;
use serde::{Serialize, Serializer};
use std::fmt::Display;

/// Writes a key.
pub(super) struct Key<'a>(pub(super) &'a mut Writer);

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
