//! serde's `Deserializer` over the text: each kind of Rust type from its one kind of JSON value.

use serde::Deserializer;
use serde::de::{Error as _, Unexpected, Visitor};

use super::access::{Array, Object};
use super::decoder::Decoder;
use super::enums::{Tagged, Unit};
use super::error::Error;
use super::number::{Integer, Number, Wide};

impl<'de> Decoder<'de> {
    #[inline]
    fn array<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        if self.peek() != b'[' {
            return Err(self.unexpected(&visitor));
        }
        let mut array = Array::open(self)?;
        let value = visitor.visit_seq(&mut array)?;
        array.finish()?;
        Ok(value)
    }

    #[inline]
    fn object<V: Visitor<'de>>(&mut self, visitor: V, unique: bool) -> Result<V::Value, Error> {
        if self.peek() != b'{' {
            return Err(self.unexpected(&visitor));
        }
        let mut object = Object::open(self, unique)?;
        let value = visitor.visit_map(&mut object)?;
        object.finish()?;
        Ok(value)
    }

    /// An integer that the fast path does not know, or something else.
    fn other_integer<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        if !matches!(self.peek(), b'-' | b'0'..=b'9') {
            return Err(self.unexpected(&visitor));
        }
        match self.integer()? {
            Integer::Unsigned(value) => visitor.visit_u64(value),
            Integer::Signed(value) => visitor.visit_i64(value),
            Integer::Fraction(value) => Err(Error::invalid_type(Unexpected::Float(value), &visitor)),
        }
    }

    fn wide<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        if !matches!(self.peek(), b'-' | b'0'..=b'9') {
            return Err(self.unexpected(&visitor));
        }
        match self.wide_integer()? {
            Some(Wide::Unsigned(value)) => visitor.visit_u128(value),
            Some(Wide::Signed(value)) => visitor.visit_i128(value),
            None => Err(Error::custom("expected an integer, not a fraction")),
        }
    }

    fn float<V: Visitor<'de>>(&mut self, visitor: V, limit: f64) -> Result<V::Value, Error> {
        if !matches!(self.peek(), b'-' | b'0'..=b'9') {
            return Err(self.unexpected(&visitor));
        }
        let start = self.at;
        match self.number()? {
            Number::Unsigned(value) => visitor.visit_u64(value),
            Number::Signed(value) => visitor.visit_i64(value),
            Number::Big(value) | Number::Float(value) if value.abs() <= limit => visitor.visit_f64(value),
            _ => Err(Error::syntax("number out of range", start)),
        }
    }
}

/// The integer types of up to 64 bits: the type's own visitor checks the range.
macro_rules! integers {
    ($($method:ident)*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.peek();
            match self.small_integer() {
                Some(value) => visitor.visit_u64(value),
                None => self.other_integer(visitor),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for &mut Decoder<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let byte = self.peek();
        self.buffered |= matches!(byte, b'{' | b'[' | b'-' | b'0'..=b'9');
        match byte {
            b'"' => self.deserialize_str(visitor),
            b'{' => self.object(visitor, true),
            b'[' => self.array(visitor),
            b't' | b'f' => self.deserialize_bool(visitor),
            b'n' => self.deserialize_unit(visitor),
            b'-' | b'0'..=b'9' => match self.number()? {
                Number::Unsigned(value) => visitor.visit_u64(value),
                Number::Signed(value) => visitor.visit_i64(value),
                Number::Big(value) | Number::Float(value) => visitor.visit_f64(value),
            },
            _ => Err(self.syntax("expected a value")),
        }
    }

    #[inline]
    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.peek() {
            b't' => self.literal("true").and_then(|()| visitor.visit_bool(true)),
            b'f' => self.literal("false").and_then(|()| visitor.visit_bool(false)),
            _ => Err(self.unexpected(&visitor)),
        }
    }

    integers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.wide(visitor)
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.wide(visitor)
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.float(visitor, f64::from(f32::MAX))
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.float(visitor, f64::MAX)
    }

    #[inline]
    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    #[inline]
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.peek() != b'"' {
            return Err(self.unexpected(&visitor));
        }
        match self.plain() {
            Some(text) => visitor.visit_borrowed_str(text),
            None => visitor.visit_string(self.escaped()?),
        }
    }

    #[inline]
    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.peek() {
            b'[' => self.array(visitor),
            b'"' => match self.plain() {
                Some(text) => visitor.visit_borrowed_bytes(text.as_bytes()),
                None => visitor.visit_byte_buf(self.escaped()?.into_bytes()),
            },
            _ => Err(self.unexpected(&visitor)),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_bytes(visitor)
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.take_null()? { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.take_null()? { visitor.visit_unit() } else { Err(self.unexpected(&visitor)) }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_unit(visitor)
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, Error> {
        self.newtype_of(name);
        visitor.visit_newtype_struct(self)
    }

    #[inline]
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.array(visitor)
    }

    #[inline]
    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.array(visitor)
    }

    #[inline]
    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.array(visitor)
    }

    #[inline]
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.map_or_flattened();
        self.object(visitor, true)
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.struct_of(fields);
        self.object(visitor, false)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.peek() {
            b'"' => {
                let name = self.string()?;
                self.variant_of(variants, &name);
                visitor.visit_enum(Unit(name))
            }
            b'{' => {
                self.open()?;
                let value = visitor.visit_enum(Tagged(&mut *self))?;
                if self.next_entry(false)? {
                    return Err(self.syntax("expected an object of one entry, the variant"));
                }
                Ok(value)
            }
            _ => Err(self.unexpected(&visitor)),
        }
    }

    #[inline]
    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.check()?;
        self.ignored = true;
        visitor.visit_unit()
    }
}
