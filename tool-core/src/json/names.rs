//! The names that a tool publishes, to compare with those that its types know.
//!
//! A type may know more: `#[serde(alias)]` on a field or a variant of a nested type is in no schema. Serde hands the
//! decoder every name that a type knows, so a type with names of its own is noticed, and the validator asked.

use std::ptr;

use super::decoder::Decoder;

/// The names in one schema.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    /// The parameters.
    pub(crate) parameters: Vec<Box<str>>,
    /// Of each object with properties their names.
    pub(crate) fields: Vec<Vec<Box<str>>>,
    /// Of each `enum` its texts.
    pub(crate) variants: Vec<Vec<Box<str>>>,
    /// The types that are published as an `enum`. A struct around a text may say so too, and takes any text.
    pub(crate) enums: Vec<Box<str>>,
    /// Whether there are objects without named properties. A tool without any reads only structs that flatten others
    /// as maps, and those say nothing of the names that they know.
    pub(crate) maps: bool,
}

impl Names {
    /// Whether every name is that of a parameter.
    pub(crate) fn are_parameters(&self, names: &[&str]) -> bool {
        names.iter().all(|name| self.parameters.iter().any(|known| **known == **name))
    }
}

/// Whether the names are just those of one of the sets.
fn among(sets: &[Vec<Box<str>>], names: &[&str]) -> bool {
    let same = |set: &Vec<Box<str>>| {
        set.len() == names.len() && names.iter().all(|name| set.iter().any(|known| **known == **name))
    };
    names.is_empty() || sets.iter().any(same)
}

impl<'de> Decoder<'de> {
    /// Compares what it reads with what is published.
    #[inline]
    pub(crate) fn compare_with(&mut self, names: &'de Names) {
        self.names = Some(names);
    }

    /// A struct comes next, with these names for its fields.
    #[inline]
    pub(super) fn struct_of(&mut self, fields: &'static [&'static str]) {
        // A list of structs asks once.
        if !ptr::eq(fields, self.known) {
            self.compare_fields(fields);
        }
    }

    fn compare_fields(&mut self, fields: &'static [&'static str]) {
        match self.names {
            Some(names) if !among(&names.fields, fields) => self.buffered = true,
            _ => self.known = fields,
        }
    }

    /// A map comes next, or a struct that flattens another.
    #[inline]
    pub(super) fn map_or_flattened(&mut self) {
        self.buffered |= self.names.is_some_and(|names| !names.maps);
    }

    /// A struct around one value comes next.
    #[inline]
    pub(super) fn newtype_of(&mut self, name: &str) {
        self.buffered |= self.names.is_some_and(|names| names.enums.iter().any(|known| **known == *name));
    }

    /// A variant named by text comes next. One that is in no list is caught by `#[serde(other)]`.
    #[inline]
    pub(super) fn variant_of(&mut self, variants: &[&str], name: &str) {
        let published = |names: &Names| variants.contains(&name) && among(&names.variants, variants);
        self.buffered |= self.names.is_some_and(|names| !published(names));
    }
}
