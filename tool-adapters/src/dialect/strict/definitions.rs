//! What references lead to: the root, or what stands under `$defs`.

use super::walk::Walk;
use crate::report::NotStrict;
use crate::schema::Place;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// The definitions that are needed, in the order in which they were first referred to.
#[derive(Default)]
pub(super) struct Definitions<'a> {
    needed: Vec<(String, Place<'a>)>,
    names: HashMap<String, usize>,
}

impl<'a> Definitions<'a> {
    /// The reference by which a place is known in the projection.
    pub(super) fn refer(&mut self, place: Place<'a>) -> String {
        if place.pointer.is_empty() {
            return "#".to_owned();
        }
        if let Some((name, _)) = self.needed.iter().find(|(_, known)| std::ptr::eq(known.schema, place.schema)) {
            return format!("#/$defs/{name}");
        }
        let base = base_name(&place.pointer);
        let uses = self.names.entry(base.clone()).or_default();
        *uses += 1;
        // No base ends so: what is not a letter or a digit is one `_`.
        let name = if *uses == 1 { base } else { format!("{base}__{uses}") };
        let reference = format!("#/$defs/{name}");
        self.needed.push((name, place));
        reference
    }
}

/// `Point` for `/$defs/Point`, `properties_a_items` for `/properties/a/items`.
fn base_name(pointer: &str) -> String {
    let under = ["/$defs/", "/definitions/"].into_iter().find_map(|start| pointer.strip_prefix(start));
    let mut name = String::new();
    for letter in under.unwrap_or(pointer).trim_start_matches('/').chars() {
        match letter {
            letter if letter.is_ascii_alphanumeric() => name.push(letter),
            _ if name.ends_with('_') => {}
            _ => name.push('_'),
        }
    }
    name
}

impl Walk<'_> {
    /// Writes what was referred to, and what that refers to.
    pub(super) fn write_definitions(&mut self) -> Result<Map<String, Value>, NotStrict> {
        let mut written = Map::new();
        let mut next = 0;
        while let Some((name, place)) = self.definitions.needed.get(next).cloned() {
            let pointer = place.pointer.clone();
            let schema = self.node(place)?;
            written.insert(name, schema.ok_or(NotStrict::Untyped { pointer })?.into());
            next += 1;
        }
        Ok(written)
    }
}
