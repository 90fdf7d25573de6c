//! Fields of messages, read leniently: one of another kind than expected is as good as absent, so that what stands
//! beside it is not lost.

use crate::providers::unescape::unescaped;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

/// A text. A number or a boolean is its text; null and all else is none.
#[derive(Debug, Default)]
pub(crate) struct Text<'a>(pub(crate) Option<Cow<'a, str>>);

/// A count; nothing and what is none is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count(pub(crate) u64);

/// An object; all else is none.
#[derive(Debug)]
pub(crate) struct Object<T>(pub(crate) Option<T>);

/// An array's objects; a single object is an array of one, all else none.
#[derive(Debug)]
pub(crate) struct Objects<T>(pub(crate) Vec<T>);

/// Any value as text: a text is what it says, null and nothing are empty, all else is its JSON, digit by digit.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct Json<'a>(#[serde(borrow)] pub(crate) Option<&'a RawValue>);

impl<'a> Json<'a> {
    /// The text.
    pub(crate) fn text(self) -> Cow<'a, str> {
        let raw = self.0.map_or("", RawValue::get);
        match raw.as_bytes().first() {
            Some(b'"') => unescaped(raw.get(1..raw.len() - 1).unwrap_or_default()),
            _ if raw == "null" => Cow::Borrowed(""),
            _ => Cow::Borrowed(raw),
        }
    }

    /// The value, read as something; `None` where it is something else.
    pub(crate) fn read<T: Deserialize<'a>>(self) -> Option<T> {
        serde_json::from_str(self.0?.get()).ok()
    }

    /// The text that it is; `None` where it is something else.
    pub(crate) fn string(self) -> Option<Cow<'a, str>> {
        self.0.is_some_and(|raw| raw.get().starts_with('"')).then(|| self.text())
    }

    /// The object that it is.
    pub(crate) fn object<T: Deserialize<'a>>(self) -> Option<T> {
        self.read::<Object<T>>()?.0
    }

    /// The objects of the array that it is.
    pub(crate) fn objects<T: Deserialize<'a>>(self) -> Vec<T> {
        let array = Self(self.0.filter(|raw| raw.get().starts_with('[')));
        array.read::<Objects<T>>().map_or_else(Vec::new, |objects| objects.0)
    }
}

impl Text<'_> {
    /// The text; empty for none.
    pub(crate) fn or_empty(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }
}

impl<T> Default for Object<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Default for Objects<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Deref for Object<T> {
    type Target = Option<T>;

    fn deref(&self) -> &Option<T> {
        &self.0
    }
}

/// The kinds of JSON values that a visitor takes for none.
macro_rules! none {
    ($none:expr; $($kind:ident)*) => { $(none!(@ $kind $none);)* };
    (@ bool $none:expr) => { fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> { Ok($none) } };
    (@ number $none:expr) => {
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> { Ok($none) }
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> { Ok($none) }
        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> { Ok($none) }
    };
    (@ text $none:expr) => { fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> { Ok($none) } };
    (@ null $none:expr) => { fn visit_unit<E>(self) -> Result<Self::Value, E> { Ok($none) } };
    (@ array $none:expr) => {
        fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Self::Value, A::Error> {
            IgnoredAny.visit_seq(items).map(|_| $none)
        }
    };
    (@ object $none:expr) => {
        fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Self::Value, A::Error> {
            IgnoredAny.visit_map(members).map(|_| $none)
        }
    };
}

/// What every visitor here says that it takes.
macro_rules! expecting {
    () => {
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("any value")
        }
    };
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Texts).map(Self)
    }
}

struct Texts;

impl<'de> Visitor<'de> for Texts {
    type Value = Option<Cow<'de, str>>;

    expecting!();
    none!(None; null array object);

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(text.to_owned())))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(value.to_string())))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(number.to_string())))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(number.to_string())))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(number.to_string())))
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Counts).map(Self)
    }
}

struct Counts;

impl<'de> Visitor<'de> for Counts {
    type Value = u64;

    expecting!();
    none!(0; bool null array object);

    fn visit_u64<E>(self, number: u64) -> Result<u64, E> {
        Ok(number)
    }

    fn visit_i64<E>(self, number: i64) -> Result<u64, E> {
        Ok(u64::try_from(number).unwrap_or(0))
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Saturates; Cohere counts in floats.
    fn visit_f64<E>(self, number: f64) -> Result<u64, E> {
        Ok(number as u64)
    }

    fn visit_str<E>(self, text: &str) -> Result<u64, E> {
        Ok(text.parse().unwrap_or(0))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Members(PhantomData)).map(Self)
    }
}

struct Members<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
    type Value = Option<T>;

    expecting!();
    none!(None; bool number text null array);

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(members)).map(Some)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Objects<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Items(PhantomData)).map(Self)
    }
}

struct Items<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Items<T> {
    type Value = Vec<T>;

    expecting!();
    none!(Vec::new(); bool number text null);

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut objects = Vec::new();
        while let Some(Object(item)) = items.next_element::<Object<T>>()? {
            // Most arrays have one, and items may be large.
            if objects.is_empty() {
                objects.reserve_exact(1);
            }
            objects.extend(item);
        }
        Ok(objects)
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(members)).map(|item| vec![item])
    }
}
