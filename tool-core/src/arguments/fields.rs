//! How argument structs read their fields: from JSON text, or from any other deserializer.

use crate::arguments::rest::Rest;
use crate::json::decoder::Decoder;
use crate::json::keys::Names;
use crate::json::{decoder, error};
use crate::schema::nullable::Null;
use crate::schema::parameter::{Absent, FieldValue, Parameter, ToolParameter};
use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// A struct that `#[tool]` made of a method's parameters.
pub trait ArgumentStruct<'de>: Sized {
    /// A row a parameter, in the order of the signature.
    const PARAMETERS: &'static [Parameter];

    /// Reads the fields in the order in which they come.
    fn decode<F: Fields<'de>>(fields: &mut F) -> Result<Self, F::Error>;
}

/// Where an argument struct reads its fields from.
pub trait Fields<'de> {
    /// What reading fails with.
    type Error: serde::de::Error;

    /// The index of the parameter that comes next. Unknown names and names that came before are errors.
    fn next(&mut self, parameters: &'static [Parameter]) -> Result<Option<usize>, Self::Error>;

    /// The value of the parameter that [`next`](Self::next) named.
    fn value<T: FieldValue<'de>>(&mut self) -> Result<T, Self::Error>;

    /// The same, kept unread for a flattened parameter.
    fn keep(&mut self, rest: &mut Rest<'de>) -> Result<(), Self::Error>;

    /// The value, or what `T` makes of an absent one.
    #[inline]
    fn required<T: FieldValue<'de>>(&mut self, value: Option<T>, index: usize) -> Result<T, Self::Error> {
        match value {
            Some(value) => Ok(value),
            None => T::deserialize(Absent).map_err(|_| missing(index)),
        }
    }

    /// A flattened parameter's value, of the entries that were kept.
    fn flattened<T: ToolParameter>(&mut self, rest: &mut Rest<'de>) -> Result<T, Self::Error> {
        rest.take().map_err(Self::Error::custom)
    }

    /// Refuses entries that no flattened parameter took.
    fn finish(&mut self, rest: Rest<'de>) -> Result<(), Self::Error> {
        rest.finish().map(drop).map_err(Self::Error::custom)
    }

    /// Refuses a value that its constraint does not allow.
    #[inline]
    fn check(&mut self, index: usize, holds: bool) -> Result<(), Self::Error> {
        if holds { Ok(()) } else { Err(refused(index)) }
    }
}

#[cold]
fn missing<E: serde::de::Error>(index: usize) -> E {
    E::custom(format_args!("parameter {index} is missing"))
}

#[cold]
fn refused<E: serde::de::Error>(index: usize) -> E {
    E::custom(format_args!("parameter {index} breaks its constraint"))
}

#[cold]
fn unknown<E: serde::de::Error>(name: &str) -> E {
    E::custom(format_args!("unknown parameter `{}`", name.escape_debug()))
}

#[cold]
fn twice<E: serde::de::Error>(name: &str) -> E {
    E::custom(format_args!("parameter `{name}` is given twice"))
}

/// Finds a parameter by name. Models send arguments in the order of the schema, so `guess` is tried first.
/// Tells beside the index whether the parameter is a flattened one.
#[inline]
fn find(parameters: &'static [Parameter], name: &str, guess: usize) -> Option<(usize, bool)> {
    match parameters.get(guess) {
        Some(parameter) if parameter.name == name && !parameter.flatten => Some((guess, false)),
        _ => search(parameters, name),
    }
}

fn search(parameters: &'static [Parameter], name: &str) -> Option<(usize, bool)> {
    let named =
        |parameter: &Parameter| !parameter.flatten && (parameter.name == name || parameter.aliases.contains(&name));
    let known = parameters.iter().position(named).map(|index| (index, false));
    // What nobody knows by name goes to the flattened parameters, if there are any.
    known.or_else(|| parameters.iter().position(|parameter| parameter.flatten).map(|index| (index, true)))
}

/// What the decoder saw, beside the fields.
pub(crate) struct Read {
    pub(crate) nulls: u64,
    pub(crate) buffered: bool,
}

/// The fields of a JSON object in text.
pub(crate) struct ObjectFields<'de, 'n> {
    decoder: Decoder<'de>,
    /// The name of the entry that a flattened parameter will keep.
    key: decoder::Key<'de>,
    nulls: &'n [Null],
    absent: bool,
    seen: Seen,
    guess: usize,
    first: bool,
    taken_nulls: u64,
    buffered: bool,
    names: Option<&'de Names>,
    /// One more than the index of the parameter whose value failed.
    failed: usize,
}

impl<'de, 'n> ObjectFields<'de, 'n> {
    #[inline]
    pub(crate) fn new(
        text: &'de str,
        nulls: &'n [Null],
        absent: bool,
        names: Option<&'de Names>,
    ) -> Result<Self, error::Error> {
        let mut decoder = Decoder::new(text);
        if let Some(names) = names {
            decoder.compare_with(names);
        }
        decoder.begin_object()?;
        let key = decoder::Key::default();
        Ok(Self {
            decoder,
            key,
            nulls,
            absent,
            seen: Seen::default(),
            guess: 0,
            first: true,
            taken_nulls: 0,
            buffered: false,
            names,
            failed: 0,
        })
    }

    /// A failure as seen from the arguments, if it is one of a parameter's value.
    #[cold]
    pub(crate) fn locate(&self, error: error::Error, parameters: &[Parameter]) -> error::Error {
        match self.failed.checked_sub(1).and_then(|index| parameters.get(index)) {
            Some(parameter) => error.under(parameter.name),
            None => error,
        }
    }

    #[inline]
    pub(crate) fn end(mut self) -> Result<Read, error::Error> {
        self.decoder.end()?;
        Ok(Read { nulls: self.taken_nulls, buffered: self.buffered || self.decoder.buffered() })
    }

    /// Reads a `null` as absent where that is what it means; where the schema allows one, the value's type decides.
    #[inline]
    fn absent(&mut self, index: usize) -> Result<bool, error::Error> {
        let refused = match self.nulls.get(index) {
            Some(Null::Absent) => !self.absent,
            Some(Null::Refused) => true,
            Some(Null::Allowed) | None => return Ok(false),
        };
        if !self.decoder.take_null()? {
            return Ok(false);
        }
        if refused {
            return Err(error::Error::custom("null is not allowed here"));
        }
        self.taken_nulls |= 1 << index.min(63);
        Ok(true)
    }
}

impl<'de> Fields<'de> for ObjectFields<'de, '_> {
    type Error = error::Error;

    #[inline]
    fn next(&mut self, parameters: &'static [Parameter]) -> Result<Option<usize>, error::Error> {
        loop {
            let Some(key) = self.decoder.next_key(std::mem::take(&mut self.first))? else { return Ok(None) };
            let Some((index, flattened)) = find(parameters, &key, self.guess) else { return Err(unknown(&key)) };
            self.guess = index + 1;
            if flattened {
                self.key = key;
                return Ok(Some(index));
            }
            if !self.seen.insert(index) {
                return Err(twice(&key));
            }
            if !self.absent(index)? {
                return Ok(Some(index));
            }
        }
    }

    #[inline]
    fn value<T: FieldValue<'de>>(&mut self) -> Result<T, error::Error> {
        T::deserialize(&mut self.decoder).inspect_err(|_| self.failed = self.guess)
    }

    fn keep(&mut self, rest: &mut Rest<'de>) -> Result<(), error::Error> {
        rest.compare_with(self.names);
        let raw = self.decoder.raw()?;
        rest.push(std::mem::take(&mut self.key), raw.into()).map_err(error::Error::custom)
    }

    fn flattened<T: ToolParameter>(&mut self, rest: &mut Rest<'de>) -> Result<T, error::Error> {
        rest.take()
    }

    fn finish(&mut self, rest: Rest<'de>) -> Result<(), error::Error> {
        self.buffered |= rest.finish().map_err(error::Error::custom)?;
        Ok(())
    }
}

/// Reads an argument struct from any deserializer.
pub fn deserialize_arguments<'de, A: ArgumentStruct<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<A, D::Error> {
    struct Arguments<A>(PhantomData<A>);

    impl<'de, A: ArgumentStruct<'de>> Visitor<'de> for Arguments<A> {
        type Value = A;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object of arguments")
        }

        fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<A, M::Error> {
            let mut fields = MapFields { map, seen: Seen::default(), guess: 0, key: String::new() };
            let args = A::decode(&mut fields)?;
            match fields.map.next_key::<IgnoredAny>()? {
                None => Ok(args),
                Some(_) => Err(M::Error::custom("unknown parameters")),
            }
        }
    }

    deserializer.deserialize_map(Arguments(PhantomData))
}

/// The fields of a map of some other deserializer.
struct MapFields<M> {
    map: M,
    seen: Seen,
    guess: usize,
    key: String,
}

impl<'de, M: MapAccess<'de>> Fields<'de> for MapFields<M> {
    type Error = M::Error;

    fn next(&mut self, parameters: &'static [Parameter]) -> Result<Option<usize>, M::Error> {
        let Some(key) = self.map.next_key::<String>()? else { return Ok(None) };
        let (index, flattened) = find(parameters, &key, self.guess).ok_or_else(|| unknown::<M::Error>(&key))?;
        self.guess = index + 1;
        if !self.seen.insert(index) && !flattened {
            return Err(twice(&key));
        }
        self.key = key;
        Ok(Some(index))
    }

    fn value<T: FieldValue<'de>>(&mut self) -> Result<T, M::Error> {
        self.map.next_value()
    }

    fn keep(&mut self, rest: &mut Rest<'de>) -> Result<(), M::Error> {
        let value = self.map.next_value::<serde_json::Value>()?;
        let text = serde_json::to_string(&value).map_err(M::Error::custom)?;
        rest.push(std::mem::take(&mut self.key).into(), text.into()).map_err(M::Error::custom)
    }
}

/// Decodes argument text outside of a call, for `confirm = fn`.
pub fn decode_arguments<'de, A: ArgumentStruct<'de>>(text: &'de str) -> Result<A, error::Error> {
    let mut fields = ObjectFields::new(text, &[], true, None)?;
    let args = A::decode(&mut fields)?;
    fields.end()?;
    Ok(args)
}

// ---- Which parameters of a call came already.

/// The parameters that came already. Two words and not one of 128 bits: shifting that takes three times as long.
#[derive(Default)]
pub(crate) struct Seen([u64; 2]);

impl Seen {
    /// Notes a parameter; false if it was noted before.
    #[inline]
    pub(crate) fn insert(&mut self, index: usize) -> bool {
        // A tool has at most 128 parameters: there is a word for each.
        let Some(word) = self.0.get_mut(index / 64) else { return true };
        let bit = 1_u64 << (index % 64);
        let new = *word & bit == 0;
        *word |= bit;
        new
    }
}
