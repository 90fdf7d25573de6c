//! Arrays and objects as serde reads them. Paths are built here, on the way out of a failure.

use serde::de::{DeserializeSeed, MapAccess, SeqAccess};

use super::decoder::{Decoder, Key};
use super::error::Error;
use super::keys::{MapKey, Scope};

/// An array that is being read.
pub(super) struct Array<'a, 'de> {
    decoder: &'a mut Decoder<'de>,
    index: usize,
    done: bool,
}

impl<'a, 'de> Array<'a, 'de> {
    /// Enters the array whose bracket is the next byte.
    #[inline]
    pub(super) fn open(decoder: &'a mut Decoder<'de>) -> Result<Self, Error> {
        decoder.open()?;
        Ok(Self { decoder, index: 0, done: false })
    }

    /// A tuple's visitor stops at its last element: nothing may follow it.
    #[inline]
    pub(super) fn finish(&mut self) -> Result<(), Error> {
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
pub(super) struct Object<'a, 'de> {
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
    pub(super) fn open(decoder: &'a mut Decoder<'de>, unique: bool) -> Result<Self, Error> {
        let scope = Scope::new(decoder);
        decoder.open()?;
        Ok(Self { decoder, scope, entry: 0, unique, first: true, done: false })
    }

    /// A visitor may stop before the end: nothing may be left then.
    #[inline]
    pub(super) fn finish(&mut self) -> Result<(), Error> {
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
    pub(super) fn next_unique(&mut self) -> Result<Option<Key<'de>>, Error> {
        match self.next_key()? {
            Some(key) if !self.scope.insert(self.decoder, key.clone()) => Err(Error::duplicate(&key)),
            key => Ok(key),
        }
    }

    pub(super) fn check_value(&mut self) -> Result<(), Error> {
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
