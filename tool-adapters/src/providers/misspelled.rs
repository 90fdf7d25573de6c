//! Names of members that are damaged: without their members, calls would have fewer arguments, and texts fewer words.

use crate::providers::json_reader::JsonReader;
use serde_json::Result;
use std::fmt::Debug;
use std::marker::PhantomData;

/// The members without which an object says something else.
pub(crate) trait EssentialNames: Debug + Default {
    const NAMES: &[&str];
}

/// The other members of an object. They are passed over, unless one has an essential name but for a byte.
#[derive(Debug, Default)]
pub(crate) struct Misspelled<N> {
    is_found: bool,
    names: PhantomData<N>,
}

impl<N: EssentialNames> Misspelled<N> {
    /// Passes over a member.
    pub(crate) fn read(&mut self, name: &str, json: &mut JsonReader<'_>) -> Result<()> {
        self.is_found |= is_misspelled(name, N::NAMES);
        json.skip()
    }

    pub(crate) fn is_found(&self) -> bool {
        self.is_found
    }
}

/// Returns true for a name that is one of others but for a byte.
pub(crate) fn is_misspelled(name: &str, known: &[&str]) -> bool {
    known.iter().any(|known| differs_in_one_byte(known, name))
}

fn differs_in_one_byte(one: &str, other: &str) -> bool {
    one.len() == other.len() && one.bytes().zip(other.bytes()).filter(|(one, other)| one != other).count() == 1
}

/// Defines sets of essential names.
macro_rules! essential_names {
    ($($(#[$meta:meta])* $vis:vis $set:ident = $names:expr;)*) => {$(
        $(#[$meta])*
        #[derive(Debug, Default)]
        $vis struct $set;

        impl $crate::providers::misspelled::EssentialNames for $set {
            const NAMES: &[&str] = &$names;
        }
    )*};
}

pub(crate) use essential_names;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_another_byte_is_misspelled() {
        for (name, is_misspelled) in
            [("args", false), ("~rgs", true), ("arks", true), ("arg", false), ("argss", false), ("marg", false)]
        {
            assert_eq!(differs_in_one_byte("args", name), is_misspelled, "{name}");
        }
    }
}
