//! Enums: text is a unit variant, an object of one entry is any other. Never the other way round.

use serde::de::{self, DeserializeSeed, EnumAccess, Error as _, Unexpected, VariantAccess, Visitor};

use super::decoder::{Decoder, Key};
use super::error::Error;
use super::keys::MapKey;

/// A variant named by text.
pub(super) struct Unit<'de>(pub(super) Key<'de>);

impl<'de> EnumAccess<'de> for Unit<'de> {
    type Error = Error;
    type Variant = UnitOnly;

    #[inline]
    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, UnitOnly), Error> {
        Ok((seed.deserialize(MapKey(self.0))?, UnitOnly))
    }
}

/// What a variant named by text holds: nothing.
pub(super) struct UnitOnly;

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
pub(super) struct Tagged<'a, 'de>(pub(super) &'a mut Decoder<'de>);

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
pub(super) struct Content<'a, 'de> {
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
        de::Deserializer::deserialize_tuple(self.decoder, len, visitor).map_err(|error| locate(text, self.entry, error))
    }

    #[inline]
    fn struct_variant<V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, Error> {
        let text = self.decoder.text;
        de::Deserializer::deserialize_struct(self.decoder, "", fields, visitor)
            .map_err(|error| locate(text, self.entry, error))
    }
}
