//! Values.

use super::compound::Compound;
use super::{Error, Writer};
use serde::{Serialize, Serializer};
use std::fmt::Display;

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
