//! The keys of objects: repeated ones, and those that a tool publishes.

use std::borrow::Cow;
use std::collections::HashSet;

/// A key of an object: borrowed from the text unless it holds an escape.
pub type Key<'de> = Cow<'de, str>;

/// The number of keys of one object that are compared one by one.
const FEW: usize = 16;

/// The remembered keys of all open objects. The first few keys of each object are on one stack, the others in one set
/// with the place of their object. (The set's hasher has a random key, because keys come from outside.)
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
        Self { few: Vec::with_capacity(FEW), many: None }
    }
}

impl ObjectKeys {
    /// Begins the keys of the object whose brace is at `place`.
    #[inline]
    pub(crate) fn new(open: Option<&OpenObjects<'_>>, place: usize) -> Self {
        Self { place, base: open.map_or(0, |open| open.few.len()) }
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
        open.many.get_or_insert_default().insert((self.place, key.clone()))
    }

    /// Forgets the keys of an object that has ended.
    pub(crate) fn close(self, open: &mut OpenObjects<'_>) {
        open.few.truncate(self.base);
    }
}

/// The names in the schema that a tool publishes.
///
/// A type may know more names: `#[serde(alias)]` on a field or a variant of a nested type is in no schema. Serde hands
/// the decoder every name that a type knows, so such a type is noticed, and its value goes through the validator.
#[derive(Clone, Debug, Default)]
pub(crate) struct PublishedNames {
    /// The parameters.
    pub(crate) parameters: Vec<Box<str>>,
    /// For each object with properties, their names.
    pub(crate) fields: Vec<Vec<Box<str>>>,
    /// For each `enum`, its texts.
    pub(crate) variants: Vec<Vec<Box<str>>>,
    /// The types that are published as an `enum`. A struct around a text may be published as one and accept any text.
    pub(crate) enums: Vec<Box<str>>,
    /// True if an object without named properties is published. Without one, a type that reads a map is a struct that
    /// flattens another, and the names that it knows are not visible.
    pub(crate) maps: bool,
}

impl PublishedNames {
    /// Returns true if every name is that of a parameter.
    pub(crate) fn are_parameters(&self, names: &[&str]) -> bool {
        names.iter().all(|name| self.parameters.iter().any(|known| **known == **name))
    }

    /// Returns true if the names are exactly the fields of a published object.
    pub(crate) fn are_fields(&self, names: &[&str]) -> bool {
        is_one_of(&self.fields, names)
    }

    /// Returns true if the names are exactly the texts of a published `enum`.
    pub(crate) fn are_variants(&self, names: &[&str]) -> bool {
        is_one_of(&self.variants, names)
    }

    /// Returns true if the type of this name is published as an `enum`.
    pub(crate) fn is_enum(&self, name: &str) -> bool {
        self.enums.iter().any(|known| **known == *name)
    }
}

fn is_one_of(sets: &[Vec<Box<str>>], names: &[&str]) -> bool {
    let same = |set: &Vec<Box<str>>| {
        set.len() == names.len() && names.iter().all(|name| set.iter().any(|known| **known == **name))
    };
    names.is_empty() || sets.iter().any(same)
}
