//! The decoder as serde's `Deserializer`: each kind of Rust type is read from one kind of JSON
//! value.

use crate::json::decoder::Decoder;
use crate::json::error::Error;
use crate::json::keys::{Key, ObjectKeys};
use crate::json::number::{ParsedInteger, ParsedNumber, number_end, out_of_range};
use crate::json::probe::Request;
use serde::de::value::CowStrDeserializer;
use serde::de::{
    DeserializeSeed, EnumAccess, Error as _, Expected, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};
use serde::{Deserialize, Deserializer, forward_to_deserialize_any};

/// Parses a text into a type, as tools parse their arguments: repeated keys are refused, and so are
/// values that nest too deep.
///
/// ```
/// use serde_json::Value;
/// use tool_core::json::parse_strict;
///
/// let value: Value = parse_strict(r#"{"a": [1]}"#)?;
/// assert_eq!(value["a"][0], 1);
/// let error = parse_strict::<Value>(r#"{"a": {"b": 1, "b": 2}}"#).unwrap_err();
/// assert_eq!(error.to_string(), "duplicate key `b` at `/a/b`");
/// # Ok::<(), tool_core::json::Error>(())
/// ```
///
/// # Errors
///
/// Returns an error with an [`offset`](Error::offset) if the text is not JSON, and one without an
/// offset for a repeated key and for what the type does not take.
pub fn parse_strict<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, Error> {
    let mut decoder = Decoder::new(text);
    let value = T::deserialize(&mut decoder)?;
    decoder.end()?;
    Ok(value)
}

impl<'de> Decoder<'de> {
    #[inline]
    fn array<V: Visitor<'de>>(
        &mut self,
        visitor: V,
        request: Request<'_>,
    ) -> Result<V::Value, Error> {
        self.observe(request);
        if self.peek() != b'[' {
            return Err(self.unexpected(&visitor));
        }
        let mut array = ArrayAccess::open(self)?;
        let value = visitor.visit_seq(&mut array)?;
        array.finish()?;
        Ok(value)
    }

    #[inline]
    fn object<V: Visitor<'de>>(&mut self, visitor: V, unique: bool) -> Result<V::Value, Error> {
        if self.peek() != b'{' {
            return Err(self.unexpected(&visitor));
        }
        let mut object = ObjectAccess::open(self, unique)?;
        let value = visitor.visit_map(&mut object)?;
        object.finish()?;
        Ok(value)
    }

    /// Reads an integer that the fast path does not read, or reports another value.
    fn other_integer<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        if !matches!(self.peek(), b'-' | b'0'..=b'9') {
            return Err(self.unexpected(&visitor));
        }
        let start = self.place();
        match self.integer()? {
            ParsedInteger::Unsigned(value) => {
                visitor.visit_u64(value.try_into().map_err(|_| out_of_range(start))?)
            }
            ParsedInteger::Signed(value) => {
                visitor.visit_i64(value.try_into().map_err(|_| out_of_range(start))?)
            }
            ParsedInteger::Fraction(value) => {
                Err(Error::invalid_type(Unexpected::Float(value), &visitor))
            }
        }
    }

    fn wide<V: Visitor<'de>>(
        &mut self,
        visitor: V,
        format: &'static str,
    ) -> Result<V::Value, Error> {
        self.observe(Request::Integer(format));
        if !matches!(self.peek(), b'-' | b'0'..=b'9') {
            return Err(self.unexpected(&visitor));
        }
        match self.integer()? {
            ParsedInteger::Unsigned(value) => visitor.visit_u128(value),
            ParsedInteger::Signed(value) => visitor.visit_i128(value),
            ParsedInteger::Fraction(value) => {
                Err(Error::invalid_type(Unexpected::Float(value), &visitor))
            }
        }
    }

    fn float<V: Visitor<'de>>(
        &mut self,
        visitor: V,
        limit: f64,
        format: &'static str,
    ) -> Result<V::Value, Error> {
        self.observe(Request::Float(format));
        if !matches!(self.peek(), b'-' | b'0'..=b'9') {
            return Err(self.unexpected(&visitor));
        }
        let start = self.place();
        match self.number()? {
            ParsedNumber::Unsigned(value) => visitor.visit_u64(value),
            ParsedNumber::Signed(value) => visitor.visit_i64(value),
            ParsedNumber::Big(value)
            | ParsedNumber::Float(value)
            | ParsedNumber::Rounded(value)
                if value.abs() <= limit =>
            {
                visitor.visit_f64(value)
            }
            _ => Err(Error::syntax("number out of range", start)),
        }
    }
}

/// The integer types of up to 64 bits. The type's visitor checks the range.
macro_rules! integers {
    ($($method:ident $format:literal;)*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.observe(Request::Integer($format));
            self.peek();
            match self.small_integer() {
                Some(value) => visitor.visit_u64(value),
                None => self.other_integer(visitor),
            }
        }
    )*};
}

// Types that are read as another type is.
macro_rules! forward {
    ($($method:ident => $reader:ident($($argument:expr),*);)*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.$reader(visitor $(, $argument)*)
        }
    )*};
}

impl<'de> Deserializer<'de> for &mut Decoder<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.observe(Request::Any);
        match self.peek() {
            b'"' => self.deserialize_str(visitor),
            b'{' => self.object(visitor, true),
            b'[' => self.array(visitor, Request::Any),
            b't' | b'f' => self.deserialize_bool(visitor),
            b'n' => self.deserialize_unit(visitor),
            b'-' | b'0'..=b'9' => match self.number()? {
                ParsedNumber::Unsigned(value) => visitor.visit_u64(value),
                ParsedNumber::Signed(value) => visitor.visit_i64(value),
                ParsedNumber::Big(value)
                | ParsedNumber::Float(value)
                | ParsedNumber::Rounded(value) => visitor.visit_f64(value),
            },
            _ => Err(self.syntax("expected a value")),
        }
    }

    #[inline]
    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.observe(Request::Bool);
        match self.peek() {
            b't' => self.literal("true").and_then(|()| visitor.visit_bool(true)),
            b'f' => self
                .literal("false")
                .and_then(|()| visitor.visit_bool(false)),
            _ => Err(self.unexpected(&visitor)),
        }
    }

    integers! {
        deserialize_i8 "int8";
        deserialize_i16 "int16";
        deserialize_i32 "int32";
        deserialize_i64 "int64";
        deserialize_u8 "uint8";
        deserialize_u16 "uint16";
        deserialize_u32 "uint32";
        deserialize_u64 "uint64";
    }

    forward! {
        deserialize_i128 => wide("int128");
        deserialize_u128 => wide("uint128");
        deserialize_f32 => float(f64::from(f32::MAX), "float");
        deserialize_f64 => float(f64::MAX, "double");
        deserialize_char => deserialize_str();
        deserialize_string => deserialize_str();
        deserialize_identifier => deserialize_str();
        deserialize_byte_buf => deserialize_bytes();
        deserialize_seq => array(Request::List);
    }

    #[inline]
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.observe(Request::Text);
        if self.peek() != b'"' {
            return Err(self.unexpected(&visitor));
        }
        match self.plain_string() {
            Some(text) => visitor.visit_borrowed_str(text),
            None => visitor.visit_string(self.escaped_string()?),
        }
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.observe(Request::Bytes);
        match self.peek() {
            b'[' => self.array(visitor, Request::Bytes),
            b'"' => match self.plain_string() {
                Some(text) => visitor.visit_borrowed_bytes(text.as_bytes()),
                None => visitor.visit_byte_buf(self.escaped_string()?.into_bytes()),
            },
            _ => Err(self.unexpected(&visitor)),
        }
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.observe(Request::Option);
        if self.take_null()? {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.observe(Request::Null);
        if self.take_null()? {
            visitor.visit_unit()
        } else {
            Err(self.unexpected(&visitor))
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_unit(visitor)
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    #[inline]
    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Error> {
        self.array(visitor, Request::Tuple(len))
    }

    #[inline]
    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.array(visitor, Request::Tuple(len))
    }

    #[inline]
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.observe(Request::Map);
        self.object(visitor, true)
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.observe(Request::Struct(fields));
        self.object(visitor, false)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.observe(Request::Variant(variants));
        match self.peek() {
            b'"' => visitor.visit_enum(CowStrDeserializer::new(self.string()?)),
            b'{' => {
                self.open()?;
                let value = visitor.visit_enum(TaggedVariant(&mut *self))?;
                if self.next_entry(false)? {
                    return Err(self.syntax("expected an object of one entry, the variant"));
                }
                Ok(value)
            }
            _ => Err(self.unexpected(&visitor)),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.observe(Request::Ignored);
        self.ignore_value()?;
        visitor.visit_unit()
    }
}

/// An array that is being read. Errors are located here, on their way out.
struct ArrayAccess<'a, 'de> {
    decoder: &'a mut Decoder<'de>,
    index: usize,
    done: bool,
}

impl<'a, 'de> ArrayAccess<'a, 'de> {
    /// Enters the array whose bracket is the next byte.
    #[inline]
    fn open(decoder: &'a mut Decoder<'de>) -> Result<Self, Error> {
        decoder.open()?;
        Ok(Self {
            decoder,
            index: 0,
            done: false,
        })
    }

    /// Checks that no element is left, because a tuple's visitor stops at its last one.
    #[inline]
    fn finish(&mut self) -> Result<(), Error> {
        if self.done || !self.decoder.next_element(self.index == 0)? {
            return Ok(());
        }
        Err(self.decoder.syntax("more elements than wanted"))
    }
}

impl<'de> SeqAccess<'de> for ArrayAccess<'_, 'de> {
    type Error = Error;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
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
struct ObjectAccess<'a, 'de> {
    decoder: &'a mut Decoder<'de>,
    keys: ObjectKeys,
    /// The place of the last entry, whose key is read again if its value fails.
    entry: usize,
    /// True if every key is remembered, because a map's visitor would let the last of two win. A
    /// struct's visitor refuses the second of a known key, so there only the keys of ignored values
    /// are remembered.
    unique: bool,
    first: bool,
    done: bool,
}

impl<'a, 'de> ObjectAccess<'a, 'de> {
    /// Enters the object whose brace is the next byte.
    #[inline]
    fn open(decoder: &'a mut Decoder<'de>, unique: bool) -> Result<Self, Error> {
        let keys = decoder.object_keys();
        decoder.open()?;
        Ok(Self {
            decoder,
            keys,
            entry: 0,
            unique,
            first: true,
            done: false,
        })
    }

    /// Checks that no entry is left, because a visitor may stop before the end.
    #[inline]
    fn finish(&mut self) -> Result<(), Error> {
        if self.done || self.next_key()?.is_none() {
            return Ok(());
        }
        Err(self.decoder.syntax("more entries than wanted"))
    }

    /// Reads the next key with its `:`.
    #[inline]
    fn next_key(&mut self) -> Result<Option<Key<'de>>, Error> {
        if self.done {
            return Ok(None);
        }
        self.entry = self.decoder.place();
        let key = self.decoder.next_key(self.first)?;
        self.first = false;
        if key.is_none() {
            self.done = true;
            self.decoder.close_keys(self.keys);
        }
        Ok(key)
    }
}

impl<'de> MapAccess<'de> for ObjectAccess<'_, 'de> {
    type Error = Error;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        let Some(key) = self.next_key()? else {
            return Ok(None);
        };
        if self.unique {
            self.decoder.insert_key(self.keys, &key)?;
        }
        seed.deserialize(MapKey(key)).map(Some)
    }

    #[inline]
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        match seed.deserialize(&mut *self.decoder) {
            Ok(value) => {
                if self.decoder.has_ignored() {
                    self.decoder
                        .insert_ignored_key(self.keys, self.entry, self.unique)?;
                }
                Ok(value)
            }
            Err(error) => Err(self.decoder.locate(self.entry, error)),
        }
    }
}

/// A variant with content: an object with the variant as its only key.
struct TaggedVariant<'a, 'de>(&'a mut Decoder<'de>);

impl<'a, 'de> EnumAccess<'de> for TaggedVariant<'a, 'de> {
    type Error = Error;
    type Variant = VariantContent<'a, 'de>;

    #[inline]
    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Self::Variant), Error> {
        let entry = self.0.place();
        let Some(key) = self.0.next_key(true)? else {
            return Err(Error::custom(
                "expected an object of one entry, the variant",
            ));
        };
        let variant = seed.deserialize(MapKey(key))?;
        Ok((
            variant,
            VariantContent {
                decoder: self.0,
                entry,
            },
        ))
    }
}

/// The value under a variant's key.
struct VariantContent<'a, 'de> {
    decoder: &'a mut Decoder<'de>,
    entry: usize,
}

impl<'de> VariantContent<'_, 'de> {
    #[inline]
    fn read<T>(self, read: impl FnOnce(&mut Decoder<'de>) -> Result<T, Error>) -> Result<T, Error> {
        read(self.decoder).map_err(|error| self.decoder.locate(self.entry, error))
    }
}

impl<'de> VariantAccess<'de> for VariantContent<'_, 'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        Err(Error::invalid_type(
            Unexpected::Map,
            &"the variant's name as text",
        ))
    }

    #[inline]
    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        self.read(|decoder| seed.deserialize(decoder))
    }

    #[inline]
    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Error> {
        self.read(|decoder| decoder.deserialize_tuple(len, visitor))
    }

    #[inline]
    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.read(|decoder| decoder.deserialize_struct("", fields, visitor))
    }
}

/// A key, read by a map's key type or as the name of a field or a variant.
struct MapKey<'de>(Key<'de>);

impl MapKey<'_> {
    /// Returns the key if it is an integer: digits, with a `-` before them where the type is
    /// signed. Leading zeros and `-0` are refused, because with two spellings of one key an object
    /// could hold it twice. The published pattern says the same.
    fn digits(&self, signed: bool, expected: &dyn Expected) -> Result<&str, Error> {
        let digits = if signed {
            self.0.strip_prefix('-').unwrap_or(&self.0)
        } else {
            &self.0
        };
        let spelled_twice = digits.starts_with('0') && self.0.len() > 1;
        if digits.is_empty() || spelled_twice || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Error::invalid_value(Unexpected::Str(&self.0), expected));
        }
        Ok(&self.0)
    }

    /// Reads the key as a float. Its whole text must be a JSON number.
    fn float<'v, V: Visitor<'v>>(&self, visitor: V, limit: f64) -> Result<V::Value, Error> {
        let is_number = number_end(&self.0, 0).is_ok_and(|end| end == self.0.len());
        match self.0.parse::<f64>() {
            Ok(value) if is_number && value.abs() <= limit => visitor.visit_f64(value),
            _ => Err(Error::invalid_value(Unexpected::Str(&self.0), &visitor)),
        }
    }
}

/// The integer types, each through the widest of its sign. The type's visitor checks the range.
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

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_enum(CowStrDeserializer::new(self.0))
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
