//! Flattened parameters: types whose fields are entries of the arguments.

use crate::json::decoder::Decoder;
use crate::json::error::Error;
use crate::json::keys::{FEW, Key};
use crate::json::probe::{Request, SchemaProbe};
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, Visitor};
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashSet;

/// The entries of flattened parameters. Each belongs to the parameter whose type publishes its
/// name.
///
/// They are kept as text, so that a flattened type is decoded as strictly as any other. Serde's own
/// `flatten` decodes from a copy that has lost the form of the text.
#[derive(Default)]
pub struct FlattenedEntries<'de> {
    entries: Vec<FlattenedEntry<'de>>,
    /// The keys, once there are more than [`FEW`].
    keys: HashSet<Cow<'de, str>>,
    probe: Option<&'de SchemaProbe>,
    /// The number of flattened parameters that were decoded.
    decoded: Cell<usize>,
}

struct FlattenedEntry<'de> {
    /// The position of the parameter that it belongs to.
    owner: usize,
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

    /// Adds an entry of a parameter with the text of its value. A repeated key is an error.
    pub(crate) fn push(
        &mut self,
        owner: usize,
        key: Cow<'de, str>,
        text: Cow<'de, str>,
    ) -> Result<(), String> {
        if !self.is_new(&key) {
            return Err(format!("parameter `{}` is given twice", key.escape_debug()));
        }
        self.entries.push(FlattenedEntry {
            owner,
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

    /// Decodes a parameter of type `T` from its entries.
    pub(crate) fn take<T: DeserializeOwned>(&self, parameter: usize) -> Result<T, Error> {
        let value = T::deserialize(EntriesDeserializer {
            all: self,
            parameter,
        });
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
struct EntriesDeserializer<'r> {
    all: &'r FlattenedEntries<'r>,
    parameter: usize,
}

impl<'r> EntriesDeserializer<'r> {
    fn observe(self, request: Request<'_>) {
        if let Some(probe) = self.all.probe {
            probe.observe(self.all.decoded.get(), request);
        }
    }

    /// Returns the entries of the parameter.
    fn own(self) -> impl Iterator<Item = &'r FlattenedEntry<'r>> {
        let is_own = move |entry: &&FlattenedEntry<'_>| entry.owner == self.parameter;
        self.all.entries.iter().filter(is_own)
    }

    /// Offers the entries whose keys a type asks for.
    fn offer(self, is_wanted: impl Fn(&str) -> bool) -> OfferedEntries<'r> {
        let wanted = self.own().filter(|entry| is_wanted(&entry.key));
        OfferedEntries {
            entries: wanted.collect::<Vec<_>>().into_iter(),
            current: None,
            all: self.all,
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
        visitor.visit_map(self.offer(|_| true))
    }

    fn deserialize_struct<V: Visitor<'r>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.observe(Request::Struct(fields));
        visitor.visit_map(self.offer(|key| fields.contains(&key)))
    }

    fn deserialize_enum<V: Visitor<'r>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.observe(Request::Variant(variants));
        // The name of a variant is the key of its entry.
        let entries = self.offer(|key| variants.contains(&key));
        visitor.visit_enum(MapAccessDeserializer::new(entries))
    }

    fn deserialize_option<V: Visitor<'r>>(self, visitor: V) -> Result<V::Value, Error> {
        self.observe(Request::Option);
        if self.own().next().is_none() {
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
        seq tuple tuple_struct identifier ignored_any
    }
}

struct OfferedEntries<'r> {
    entries: std::vec::IntoIter<&'r FlattenedEntry<'r>>,
    current: Option<&'r FlattenedEntry<'r>>,
    all: &'r FlattenedEntries<'r>,
}

impl<'r> MapAccess<'r> for OfferedEntries<'r> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'r>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        let Some(entry) = self.entries.next() else {
            return Ok(None);
        };
        entry.taken.set(true);
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
