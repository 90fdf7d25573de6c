//! serde's `Deserializer` over the text: each kind of Rust type from its one kind of JSON value.

use crate::json::decoder::{Decoder, Key};
use crate::json::error::Error;
use crate::json::keys::{MapKey, Scope};
use crate::json::number::{Integer, Number, Wide};
use serde::Deserializer;
use serde::de::{DeserializeSeed, EnumAccess, Error as _, MapAccess, SeqAccess, Unexpected, VariantAccess, Visitor};

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

// ---- Arrays and objects as serde reads them. Paths are built here, on the way out of a failure.

/// An array that is being read.
pub(crate) struct Array<'a, 'de> {
    decoder: &'a mut Decoder<'de>,
    index: usize,
    done: bool,
}

impl<'a, 'de> Array<'a, 'de> {
    /// Enters the array whose bracket is the next byte.
    #[inline]
    pub(crate) fn open(decoder: &'a mut Decoder<'de>) -> Result<Self, Error> {
        decoder.open()?;
        Ok(Self { decoder, index: 0, done: false })
    }

    /// A tuple's visitor stops at its last element: nothing may follow it.
    #[inline]
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        if self.done || !self.decoder.next_element(self.index == 0)? {
            return Ok(());
        }
        Err(self.decoder.syntax("more elements than wanted"))
    }
}

impl<'de> SeqAccess<'de> for Array<'_, 'de> {
    type Error = Error;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        if self.done {
            return Ok(None);
        }
        if !self.decoder.next_element(self.index == 0)? {
            self.done = true;
            return Ok(None);
        }
        match seed.deserialize(&mut *self.decoder) {
            Ok(value) => {
                self.index += 1;
                Ok(Some(value))
            }
            Err(error) => Err(error.under_index(self.index)),
        }
    }
}

/// An object that is being read.
pub(crate) struct Object<'a, 'de> {
    decoder: &'a mut Decoder<'de>,
    scope: Scope,
    /// Where the last entry begins, to read its key again if its value fails.
    entry: usize,
    /// Every key is remembered: a map's visitor would let the last of two win. A struct's visitor refuses the
    /// second of a known key, so there only the keys of ignored values are remembered.
    unique: bool,
    first: bool,
    done: bool,
}

impl<'a, 'de> Object<'a, 'de> {
    /// Enters the object whose brace is the next byte.
    #[inline]
    pub(crate) fn open(decoder: &'a mut Decoder<'de>, unique: bool) -> Result<Self, Error> {
        let scope = Scope::new(decoder);
        decoder.open()?;
        Ok(Self { decoder, scope, entry: 0, unique, first: true, done: false })
    }

    /// A visitor may stop before the end: nothing may be left then.
    #[inline]
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        if self.done || self.next_key()?.is_none() {
            return Ok(());
        }
        Err(self.decoder.syntax("more entries than wanted"))
    }

    /// The next key with its `:`.
    #[inline]
    fn next_key(&mut self) -> Result<Option<Key<'de>>, Error> {
        if self.done {
            return Ok(None);
        }
        self.entry = self.decoder.at;
        let key = self.decoder.next_key(self.first)?;
        self.first = false;
        if key.is_none() {
            self.done = true;
            if self.decoder.seen.is_some() {
                self.scope.close(self.decoder);
            }
        }
        Ok(key)
    }

    /// As `next_key`, for a key that must be new.
    pub(crate) fn next_unique(&mut self) -> Result<Option<Key<'de>>, Error> {
        match self.next_key()? {
            Some(key) if !self.scope.insert(self.decoder, key.clone()) => Err(Error::duplicate(&key)),
            key => Ok(key),
        }
    }

    pub(crate) fn check_value(&mut self) -> Result<(), Error> {
        self.decoder.check().map_err(|error| self.locate(error))
    }

    /// A value was ignored: two of the same unknown key are refused.
    #[cold]
    fn remember_ignored(&mut self) -> Result<(), Error> {
        self.decoder.ignored = false;
        if self.unique {
            return Ok(());
        }
        match Decoder::key_at(self.decoder.text, self.entry) {
            Some(key) if !self.scope.insert(self.decoder, key.clone()) => Err(Error::duplicate(&key)),
            _ => Ok(()),
        }
    }

    #[cold]
    fn locate(&self, error: Error) -> Error {
        match Decoder::key_at(self.decoder.text, self.entry) {
            Some(key) => error.under(&key),
            None => error,
        }
    }
}

impl<'de> MapAccess<'de> for Object<'_, 'de> {
    type Error = Error;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let key = if self.unique { self.next_unique()? } else { self.next_key()? };
        match key {
            Some(key) => seed.deserialize(MapKey(key)).map(Some),
            None => Ok(None),
        }
    }

    #[inline]
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        match seed.deserialize(&mut *self.decoder) {
            Ok(value) => {
                if self.decoder.ignored {
                    self.remember_ignored()?;
                }
                Ok(value)
            }
            Err(error) => Err(self.locate(error)),
        }
    }
}

// ---- Enums: text is a unit variant, an object of one entry is any other. Never the other way round.

/// A variant named by text.
pub(crate) struct Unit<'de>(pub(crate) Key<'de>);

impl<'de> EnumAccess<'de> for Unit<'de> {
    type Error = Error;
    type Variant = UnitOnly;

    #[inline]
    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, UnitOnly), Error> {
        Ok((seed.deserialize(MapKey(self.0))?, UnitOnly))
    }
}

/// What a variant named by text holds: nothing.
pub(crate) struct UnitOnly;

impl<'de> VariantAccess<'de> for UnitOnly {
    type Error = Error;

    #[inline]
    fn unit_variant(self) -> Result<(), Error> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, _: T) -> Result<T::Value, Error> {
        Err(Error::invalid_type(Unexpected::UnitVariant, &"newtype variant"))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Error> {
        Err(Error::invalid_type(Unexpected::UnitVariant, &"tuple variant"))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], _: V) -> Result<V::Value, Error> {
        Err(Error::invalid_type(Unexpected::UnitVariant, &"struct variant"))
    }
}

/// A variant that is the one key of an object, and the value under it.
pub(crate) struct Tagged<'a, 'de>(pub(crate) &'a mut Decoder<'de>);

impl<'a, 'de> EnumAccess<'de> for Tagged<'a, 'de> {
    type Error = Error;
    type Variant = Content<'a, 'de>;

    #[inline]
    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self::Variant), Error> {
        let entry = self.0.at;
        let Some(key) = self.0.next_key(true)? else {
            return Err(Error::custom("expected an object of one entry, the variant"));
        };
        let variant = seed.deserialize(MapKey(key))?;
        Ok((variant, Content { decoder: self.0, entry }))
    }
}

/// The value under a variant's key.
pub(crate) struct Content<'a, 'de> {
    decoder: &'a mut Decoder<'de>,
    entry: usize,
}

/// The failure, seen from the object that names the variant.
#[cold]
fn locate(text: &str, entry: usize, error: Error) -> Error {
    match Decoder::key_at(text, entry) {
        Some(key) => error.under(&key),
        None => error,
    }
}

impl<'de> VariantAccess<'de> for Content<'_, 'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        Err(Error::invalid_type(Unexpected::Map, &"the variant's name as text"))
    }

    #[inline]
    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        let text = self.decoder.text;
        seed.deserialize(self.decoder).map_err(|error| locate(text, self.entry, error))
    }

    #[inline]
    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Error> {
        let text = self.decoder.text;
        Deserializer::deserialize_tuple(self.decoder, len, visitor).map_err(|error| locate(text, self.entry, error))
    }

    #[inline]
    fn struct_variant<V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, Error> {
        let text = self.decoder.text;
        Deserializer::deserialize_struct(self.decoder, "", fields, visitor)
            .map_err(|error| locate(text, self.entry, error))
    }
}
