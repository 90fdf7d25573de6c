//! Flattened parameters: types whose fields are entries of the arguments.

use crate::json::decoder::Decoder;
use crate::json::error::Error;
use crate::json::keys::{FEW, Key};
use crate::json::probe::{Request, SchemaProbe};
use serde::de::value::StrDeserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, Visitor};
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashSet;

/// The entries that no parameter has the name of, for the flattened parameters.
///
/// They are kept as text, so that a flattened type is decoded as strictly as any other. Serde's own
/// `flatten` decodes from a copy that has lost the form of the text.
#[derive(Default)]
pub struct FlattenedEntries<'de> {
    entries: Vec<FlattenedEntry<'de>>,
    /// The keys, once there are more than [`FEW`].
    keys: HashSet<Cow<'de, str>>,
    /// The number of entries that were taken.
    taken: Cell<usize>,
    probe: Option<&'de SchemaProbe>,
    /// The number of flattened parameters that were decoded.
    decoded: Cell<usize>,
}

struct FlattenedEntry<'de> {
    key: Cow<'de, str>,
    text: Cow<'de, str>,
    taken: Cell<bool>,
}

impl<'de> FlattenedEntries<'de> {
    /// Makes an empty list.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reports each request for a value to a probe.
    pub(crate) fn probe_with(&mut self, probe: Option<&'de SchemaProbe>) {
        self.probe = probe;
    }

    /// Adds an entry with the text of its value. A repeated key is an error.
    pub(crate) fn push(&mut self, key: Cow<'de, str>, text: Cow<'de, str>) -> Result<(), String> {
        if !self.is_new(&key) {
            return Err(format!("parameter `{}` is given twice", key.escape_debug()));
        }
        self.entries.push(FlattenedEntry {
            key,
            text,
            taken: Cell::new(false),
        });
        Ok(())
    }

    fn is_new(&mut self, key: &Key<'de>) -> bool {
        if self.entries.len() < FEW {
            return self.entries.iter().all(|entry| entry.key != *key);
        }
        if self.keys.is_empty() {
            self.keys
                .extend(self.entries.iter().map(|entry| entry.key.clone()));
        }
        self.keys.insert(key.clone())
    }

    /// Decodes `T` from the entries that it asks for. They are not offered to another type.
    pub(crate) fn take<T: DeserializeOwned>(&self) -> Result<T, Error> {
        let value = T::deserialize(EntriesDeserializer(self));
        self.decoded.set(self.decoded.get() + 1);
        value
    }

    /// Fails if an entry was not taken.
    pub(crate) fn finish(self) -> Result<(), String> {
        match self.entries.iter().find(|entry| !entry.taken.get()) {
            None => Ok(()),
            Some(entry) => Err(format!("unknown parameter `{}`", entry.key.escape_debug())),
        }
    }
}

#[derive(Clone, Copy)]
struct EntriesDeserializer<'r>(&'r FlattenedEntries<'r>);

impl<'r> EntriesDeserializer<'r> {
    fn observe(self, request: Request<'_>) {
        if let Some(probe) = self.0.probe {
            probe.observe(self.0.decoded.get(), request);
        }
    }

    /// Takes the entries whose keys a type asks for.
    fn take(self, is_wanted: impl Fn(&str) -> bool) -> TakenEntries<'r> {
        let fits = |entry: &&FlattenedEntry<'r>| !entry.taken.get() && is_wanted(&entry.key);
        let entries = self.0.entries.iter().filter(fits).collect::<Vec<_>>();
        for entry in &entries {
            entry.taken.set(true);
        }
        self.0.taken.set(self.0.taken.get() + entries.len());
        TakenEntries {
            entries: entries.into_iter(),
            current: None,
            all: self.0,
        }
    }
}

impl<'r> Deserializer<'r> for EntriesDeserializer<'r> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'r>>(self, visitor: V) -> Result<V::Value, Error> {
        self.observe(Request::Any);
        self.deserialize_map(visitor)
    }

    fn deserialize_map<V: Visitor<'r>>(self, visitor: V) -> Result<V::Value, Error> {
        self.observe(Request::Map);
        visitor.visit_map(self.take(|_| true))
    }

    fn deserialize_struct<V: Visitor<'r>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.observe(Request::Struct(fields));
        visitor.visit_map(self.take(|key| fields.contains(&key)))
    }

    fn deserialize_option<V: Visitor<'r>>(self, visitor: V) -> Result<V::Value, Error> {
        self.observe(Request::Option);
        let nothing = self.0.taken.get() == self.0.entries.len();
        if nothing {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'r>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_unit<V: Visitor<'r>>(self, visitor: V) -> Result<V::Value, Error> {
        self.observe(Request::Null);
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        <V: Visitor<'r>>
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit_struct
        seq tuple tuple_struct enum identifier ignored_any
    }
}

struct TakenEntries<'r> {
    entries: std::vec::IntoIter<&'r FlattenedEntry<'r>>,
    current: Option<&'r FlattenedEntry<'r>>,
    all: &'r FlattenedEntries<'r>,
}

impl<'r> MapAccess<'r> for TakenEntries<'r> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'r>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        let Some(entry) = self.entries.next() else {
            return Ok(None);
        };
        self.current = Some(entry);
        seed.deserialize(StrDeserializer::<Error>::new(&entry.key))
            .map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'r>>(&mut self, seed: S) -> Result<S::Value, Error> {
        let (key, text) = self
            .current
            .map_or(("", ""), |entry| (&*entry.key, &*entry.text));
        let mut decoder = Decoder::new(text);
        decoder.probe_with(self.all.probe);
        let value = seed
            .deserialize(&mut decoder)
            .map_err(|error| error.under(key))?;
        decoder.end()?;
        Ok(value)
    }
}
