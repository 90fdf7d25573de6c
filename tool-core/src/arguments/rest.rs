//! The entries that no parameter knows by name, for the flattened ones.

use crate::json::decoder::Decoder;
use crate::json::error::Error;
use crate::json::keys::Names;
use serde::de::value::StrDeserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, Visitor};
use std::borrow::Cow;
use std::cell::Cell;

/// Entries kept as text, so that a flattened type decodes them as strictly as any other: serde's own `flatten`
/// copies them into a looser form first.
#[derive(Default)]
pub struct Rest<'de> {
    entries: Vec<Entry<'de>>,
    buffered: Cell<bool>,
    names: Option<&'de Names>,
}

struct Entry<'de> {
    key: Cow<'de, str>,
    text: Cow<'de, str>,
    taken: Cell<bool>,
}

impl<'de> Rest<'de> {
    /// No entries.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Compares the names that a type knows with those that are published.
    pub(crate) fn compare_with(&mut self, names: Option<&'de Names>) {
        self.names = names;
    }

    pub(crate) fn push(&mut self, key: Cow<'de, str>, text: Cow<'de, str>) -> Result<(), String> {
        if self.entries.iter().any(|entry| entry.key == key) {
            return Err(format!("parameter `{}` is given twice", key.escape_debug()));
        }
        self.entries.push(Entry { key, text, taken: Cell::new(false) });
        Ok(())
    }

    /// Decodes `T` of the entries it asks for; they are not offered again.
    pub(crate) fn take<T: DeserializeOwned>(&self) -> Result<T, Error> {
        T::deserialize(Entries(self))
    }

    /// Whether all was taken, and whether some type read it through a looser copy.
    pub(crate) fn finish(self) -> Result<bool, String> {
        match self.entries.iter().find(|entry| !entry.taken.get()) {
            None => Ok(self.buffered.get()),
            Some(entry) => Err(format!("unknown parameter `{}`", entry.key.escape_debug())),
        }
    }
}

#[derive(Clone, Copy)]
struct Entries<'r>(&'r Rest<'r>);

impl<'r> Entries<'r> {
    fn offer(self, wanted: impl Fn(&str) -> bool) -> Offered<'r> {
        let fits = |entry: &&Entry<'r>| !entry.taken.get() && wanted(&entry.key);
        let entries = self.0.entries.iter().filter(fits).collect::<Vec<_>>();
        for entry in &entries {
            entry.taken.set(true);
        }
        Offered { entries: entries.into_iter(), current: None, rest: self.0 }
    }
}

impl<'r> Deserializer<'r> for Entries<'r> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'r>>(self, visitor: V) -> Result<V::Value, Error> {
        self.0.buffered.set(true);
        self.deserialize_map(visitor)
    }

    fn deserialize_map<V: Visitor<'r>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_map(self.offer(|_| true))
    }

    fn deserialize_struct<V: Visitor<'r>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        if self.0.names.is_some_and(|names| !names.are_parameters(fields)) {
            self.0.buffered.set(true);
        }
        visitor.visit_map(self.offer(|key| fields.contains(&key)))
    }

    fn deserialize_option<V: Visitor<'r>>(self, visitor: V) -> Result<V::Value, Error> {
        let nothing = self.0.entries.iter().all(|entry| entry.taken.get());
        if nothing { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'r>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_unit<V: Visitor<'r>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        <V: Visitor<'r>>
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit_struct
        seq tuple tuple_struct enum identifier ignored_any
    }
}

struct Offered<'r> {
    entries: std::vec::IntoIter<&'r Entry<'r>>,
    current: Option<&'r Entry<'r>>,
    rest: &'r Rest<'r>,
}

impl<'r> MapAccess<'r> for Offered<'r> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'r>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some(entry) = self.entries.next() else { return Ok(None) };
        self.current = Some(entry);
        seed.deserialize(StrDeserializer::<Error>::new(&entry.key)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'r>>(&mut self, seed: S) -> Result<S::Value, Error> {
        let (key, text) = self.current.map_or(("", ""), |entry| (&*entry.key, &*entry.text));
        let mut decoder = Decoder::new(text);
        if let Some(names) = self.rest.names {
            decoder.compare_with(names);
        }
        let value = seed.deserialize(&mut decoder).map_err(|error| error.under(key))?;
        decoder.end()?;
        self.rest.buffered.set(self.rest.buffered.get() || decoder.buffered());
        Ok(value)
    }
}
