//! Short names of members that are damaged: without their members, calls would have no arguments, and texts fewer words.
//!
//! Longer names are compared with every name that an object knows. Short ones have too many neighbours for that.

use crate::providers::json_reader::{JsonReader, differs_in_one_byte};
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
        self.is_found |= N::NAMES.iter().any(|known| differs_in_one_byte(known.as_bytes(), name.as_bytes()));
        json.skip()
    }

    pub(crate) fn is_found(&self) -> bool {
        self.is_found
    }
}

/// Defines sets of essential names.
macro_rules! essential_names {
    ($($vis:vis $set:ident = $names:expr;)*) => {$(
        #[derive(Debug, Default)]
        $vis struct $set;

        impl $crate::providers::misspelled::EssentialNames for $set {
            const NAMES: &[&str] = &$names;
        }
    )*};
}

pub(crate) use essential_names;
