//! `{"name": "X-Api-Key", "value": ".."}`: a name and its value as members of one object, in either order.

use super::keys;
use std::ops::Range;

/// What an object has said so far of the value in it.
#[derive(Default)]
pub(super) struct Pair {
    named: Option<Named>,
    /// The value that is being written: where it begins, and whether it is a number.
    begun: Option<(usize, bool)>,
    /// Where values are written that came before their name.
    values: Vec<(Range<usize>, bool)>,
}

/// That the name is a word for a secret.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Named {
    /// Of many things: a number says how many.
    SecretUnlessNumber,
    Secret,
}

/// Whether a member of this key names the value.
pub(super) fn is_name(key: &str) -> bool {
    matches!(&*keys::normal(key), "name" | "key" | "header")
}

fn is_value(key: &str) -> bool {
    matches!(&*keys::normal(key), "value" | "values")
}

impl Pair {
    /// What is written at a place is to be hidden from here on; the places that were written before.
    pub(super) fn named(&mut self, named: Named) -> Vec<Range<usize>> {
        let named = self.named.map_or(named, |before| before.max(named));
        self.named = Some(named);
        let (hidden, shown) =
            std::mem::take(&mut self.values).into_iter().partition::<Vec<_>, _>(|(_, number)| hides(named, *number));
        self.values = shown;
        hidden.into_iter().map(|(range, _)| range).collect()
    }

    pub(super) fn hides(&self, key: &str, number: bool) -> bool {
        self.named.is_some_and(|named| hides(named, number)) && is_value(key)
    }

    pub(super) fn begins(&mut self, key: &str, at: usize, number: bool) {
        self.begun = is_value(key).then_some((at, number));
    }

    pub(super) fn ends(&mut self, at: usize) {
        if let Some((begun, number)) = self.begun.take() {
            self.values.push((begun..at, number));
        }
    }

    /// Whether there is a value that a name may still say to be a secret.
    pub(super) fn waits(&self) -> bool {
        self.named != Some(Named::Secret) && (self.begun.is_some() || !self.values.is_empty())
    }
}

fn hides(named: Named, number: bool) -> bool {
    named == Named::Secret || !number
}
