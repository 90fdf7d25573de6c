//! The keys of objects, and which of them are repeated.

use std::borrow::Cow;
use std::collections::HashSet;

/// A key of an object: borrowed from the text unless it holds an escape.
pub type Key<'de> = Cow<'de, str>;

/// The number of keys of one object that are compared one by one.
pub(crate) const FEW: usize = 16;

/// The remembered keys of all open objects. The first few keys of each object are on one stack, the
/// others in one set with the place of their object. (The set's hasher has a random key, because
/// keys come from outside.)
pub(crate) struct OpenObjects<'de> {
    few: Vec<Key<'de>>,
    many: Option<HashSet<(usize, Key<'de>)>>,
}

/// The keys of one open object.
#[derive(Clone, Copy)]
pub(crate) struct ObjectKeys {
    /// The place of the object's brace, which identifies it.
    place: usize,
    /// The index of its first key on the stack.
    base: usize,
}

impl OpenObjects<'_> {
    pub(crate) fn new() -> Self {
        Self {
            few: Vec::with_capacity(FEW),
            many: None,
        }
    }
}

impl ObjectKeys {
    /// Begins the keys of the object whose brace is at `place`.
    #[inline]
    pub(crate) fn new(open: Option<&OpenObjects<'_>>, place: usize) -> Self {
        Self {
            place,
            base: open.map_or(0, |open| open.few.len()),
        }
    }

    /// Remembers a key. Returns false if it is there already.
    pub(crate) fn insert<'de>(self, open: &mut OpenObjects<'de>, key: &Key<'de>) -> bool {
        let own = open.few.get(self.base..).unwrap_or_default();
        if own.contains(key) {
            return false;
        }
        if own.len() < FEW {
            open.few.push(key.clone());
            return true;
        }
        open.many
            .get_or_insert_default()
            .insert((self.place, key.clone()))
    }

    /// Forgets the keys of an object that has ended.
    pub(crate) fn close(self, open: &mut OpenObjects<'_>) {
        open.few.truncate(self.base);
    }
}
