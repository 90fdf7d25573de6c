//! Keys: what has been seen of them, and how a map's key type reads them.

use crate::json::decoder::{Decoder, Key};
use crate::json::deserializer::Unit;
use crate::json::error::Error;
use serde::de::{Error as _, Unexpected, Visitor};
use serde::{Deserializer, forward_to_deserialize_any};
use std::collections::HashSet;
use std::ptr;

/// Up to this many keys of one object are compared one by one.
const FEW: usize = 16;

/// The remembered keys of all open objects: the first few of each on one stack, the others in one set under
/// the place of their object. (The set's hasher is seeded: keys come from outside.)
pub(crate) struct Seen<'de> {
    few: Vec<Key<'de>>,
    many: Option<HashSet<(usize, Key<'de>)>>,
}

/// One object's part of [`Seen`].
#[derive(Clone, Copy)]
pub(crate) struct Scope {
    /// The place of the object's brace.
    place: usize,
    /// Where its keys begin on the stack.
    base: usize,
}

impl Scope {
    /// The part of the object whose brace is the next byte.
    #[inline]
    pub(crate) fn new(decoder: &Decoder<'_>) -> Self {
        Self { place: decoder.at, base: decoder.seen.as_ref().map_or(0, |seen| seen.few.len()) }
    }

    /// Remembers a key; false if it was there already.
    pub(crate) fn insert<'de>(self, decoder: &mut Decoder<'de>, key: Key<'de>) -> bool {
        let seen = decoder.seen.get_or_insert_with(|| Box::new(Seen { few: Vec::with_capacity(FEW), many: None }));
        let own = seen.few.get(self.base..).unwrap_or_default();
        if own.contains(&key) {
            return false;
        }
        if own.len() < FEW {
            seen.few.push(key);
            return true;
        }
        seen.many.get_or_insert_default().insert((self.place, key))
    }

    /// The object has ended.
    pub(crate) fn close(self, decoder: &mut Decoder<'_>) {
        if let Some(seen) = &mut decoder.seen {
            seen.few.truncate(self.base);
        }
    }
}

/// A key that a map's key type, or a struct's field names, read.
pub(crate) struct MapKey<'de>(pub(crate) Key<'de>);

impl MapKey<'_> {
    /// The key as an integer: digits, with a `-` before them where the type is signed. No leading zeros and no `-0`:
    /// with two spellings of one key an object could hold it twice. The published pattern says the same.
    fn digits(&self, signed: bool, wanted: &dyn serde::de::Expected) -> Result<&str, Error> {
        let digits = if signed { self.0.strip_prefix('-').unwrap_or(&self.0) } else { &self.0 };
        let spelled_twice = digits.starts_with('0') && self.0.len() > 1;
        if digits.is_empty() || spelled_twice || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Error::invalid_value(Unexpected::Str(&self.0), wanted));
        }
        Ok(&self.0)
    }

    /// The key as a float: its whole text must be a number of JSON.
    fn float<'v, V: Visitor<'v>>(&self, visitor: V, limit: f64) -> Result<V::Value, Error> {
        let mut reader = Decoder::new(&self.0);
        let whole = reader.check_number().is_ok() && reader.at == self.0.len();
        match self.0.parse::<f64>() {
            Ok(value) if whole && value.abs() <= limit => visitor.visit_f64(value),
            _ => Err(Error::invalid_value(Unexpected::Str(&self.0), &visitor)),
        }
    }
}

/// The integer types, each through the widest of its sign: the type's own visitor checks the range.
macro_rules! integer_keys {
    ($($method:ident $visit:ident $wide:ty, $signed:literal;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            match self.digits($signed, &visitor)?.parse::<$wide>() {
                Ok(value) => visitor.$visit(value),
                Err(_) => Err(Error::invalid_value(Unexpected::Str(&self.0), &visitor)),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for MapKey<'de> {
    type Error = Error;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Key::Borrowed(text) => visitor.visit_borrowed_str(text),
            Key::Owned(text) => visitor.visit_string(text),
        }
    }

    integer_keys! {
        deserialize_i8 visit_i64 i64, true;
        deserialize_i16 visit_i64 i64, true;
        deserialize_i32 visit_i64 i64, true;
        deserialize_i64 visit_i64 i64, true;
        deserialize_i128 visit_i128 i128, true;
        deserialize_u8 visit_u64 u64, false;
        deserialize_u16 visit_u64 u64, false;
        deserialize_u32 visit_u64 u64, false;
        deserialize_u64 visit_u64 u64, false;
        deserialize_u128 visit_u128 u128, false;
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &*self.0 {
            "true" => visitor.visit_bool(true),
            "false" => visitor.visit_bool(false),
            other => Err(Error::invalid_value(Unexpected::Str(other), &visitor)),
        }
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.float(visitor, f64::from(f32::MAX))
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.float(visitor, f64::MAX)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_enum(Unit(self.0))
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Key::Borrowed(text) => visitor.visit_borrowed_bytes(text.as_bytes()),
            Key::Owned(text) => visitor.visit_byte_buf(text.into_bytes()),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_bytes(visitor)
    }

    forward_to_deserialize_any! {
        char str string unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

// ---- The names that a tool publishes, to compare with those that its types know.
//
// A type may know more: `#[serde(alias)]` on a field or a variant of a nested type is in no schema. Serde hands the
// decoder every name that a type knows, so a type with names of its own is noticed, and the validator asked.

/// The names in one schema.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    /// The parameters.
    pub(crate) parameters: Vec<Box<str>>,
    /// Of each object with properties their names.
    pub(crate) fields: Vec<Vec<Box<str>>>,
    /// Of each `enum` its texts.
    pub(crate) variants: Vec<Vec<Box<str>>>,
    /// The types that are published as an `enum`. A struct around a text may say so too, and takes any text.
    pub(crate) enums: Vec<Box<str>>,
    /// Whether there are objects without named properties. A tool without any reads only structs that flatten others
    /// as maps, and those say nothing of the names that they know.
    pub(crate) maps: bool,
}

impl Names {
    /// Whether every name is that of a parameter.
    pub(crate) fn are_parameters(&self, names: &[&str]) -> bool {
        names.iter().all(|name| self.parameters.iter().any(|known| **known == **name))
    }
}

/// Whether the names are just those of one of the sets.
fn among(sets: &[Vec<Box<str>>], names: &[&str]) -> bool {
    let same = |set: &Vec<Box<str>>| {
        set.len() == names.len() && names.iter().all(|name| set.iter().any(|known| **known == **name))
    };
    names.is_empty() || sets.iter().any(same)
}

impl<'de> Decoder<'de> {
    /// Compares what it reads with what is published.
    #[inline]
    pub(crate) fn compare_with(&mut self, names: &'de Names) {
        self.names = Some(names);
    }

    /// A struct comes next, with these names for its fields.
    #[inline]
    pub(crate) fn struct_of(&mut self, fields: &'static [&'static str]) {
        // A list of structs asks once.
        if !ptr::eq(fields, self.known) {
            self.compare_fields(fields);
        }
    }

    fn compare_fields(&mut self, fields: &'static [&'static str]) {
        match self.names {
            Some(names) if !among(&names.fields, fields) => self.buffered = true,
            _ => self.known = fields,
        }
    }

    /// A map comes next, or a struct that flattens another.
    #[inline]
    pub(crate) fn map_or_flattened(&mut self) {
        self.buffered |= self.names.is_some_and(|names| !names.maps);
    }

    /// A struct around one value comes next.
    #[inline]
    pub(crate) fn newtype_of(&mut self, name: &str) {
        self.buffered |= self.names.is_some_and(|names| names.enums.iter().any(|known| **known == *name));
    }

    /// A variant named by text comes next. One that is in no list is caught by `#[serde(other)]`.
    #[inline]
    pub(crate) fn variant_of(&mut self, variants: &[&str], name: &str) {
        let published = |names: &Names| variants.contains(&name) && among(&names.variants, variants);
        self.buffered |= self.names.is_some_and(|names| !published(names));
    }
}
