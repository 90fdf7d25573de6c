//! References that stay, and the definitions that they need.

use super::cycles::Cycles;
use super::node::not_found;
use super::walk::Walk;
use crate::report::ChangeKind;
use crate::schema::{Place, join};
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};

/// What `$defs` will have to hold, in the order in which it was first referred to.
#[derive(Default)]
pub(super) struct Definitions<'a> {
    places: Vec<(String, Place<'a>)>,
    by_schema: HashMap<*const Value, usize>,
    taken: HashSet<String>,
    /// Whether the root stands in the projection as it is, so that `#` means what it did.
    pub(super) root_stays: bool,
    /// Found when first needed.
    cycles: Option<Cycles>,
    /// The definition that is being written.
    container: Option<Place<'a>>,
    /// Whether the way from there led through a property that is not required.
    pub(super) optional: bool,
}

impl<'a> Definitions<'a> {
    fn name(&mut self, place: Place<'a>) -> String {
        if let Some((name, _)) =
            self.by_schema.get(&std::ptr::from_ref(place.schema)).and_then(|at| self.places.get(*at))
        {
            return name.clone();
        }
        let base = base_name(&place.pointer);
        let mut name = base.clone();
        let mut number = 1;
        while !self.taken.insert(name.clone()) {
            number += 1;
            name = format!("{base}_{number}");
        }
        self.by_schema.insert(std::ptr::from_ref(place.schema), self.places.len());
        self.places.push((name.clone(), place));
        name
    }
}

/// `Point` for `/$defs/Point`, `properties_a_items` for `/properties/a/items`.
fn base_name(pointer: &str) -> String {
    let under = ["/$defs/", "/definitions/"].into_iter().find_map(|start| pointer.strip_prefix(start));
    let raw = under.filter(|rest| !rest.contains('/')).unwrap_or(pointer.trim_start_matches('/'));
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_.-".contains(letter);
    let name: String = raw.chars().map(|letter| if plain(letter) { letter } else { '_' }).collect();
    if name.is_empty() { "root".to_owned() } else { name }
}

impl<'a> Walk<'a> {
    /// The reference under which a schema will stand; nothing where it leads to nothing.
    pub(super) fn refer(&mut self, reference: &str, pointer: &str) -> Option<String> {
        let Some(place) = self.document.resolve(pointer, reference) else {
            not_found(&mut self.log, pointer, reference);
            self.inexact = true;
            return None;
        };
        let new = if place.pointer.is_empty() && self.definitions.root_stays {
            "#".to_owned()
        } else {
            format!("#/$defs/{}", self.definitions.name(place))
        };
        if new != reference {
            self.log.add(pointer, "$ref", ChangeKind::Rewritten, format!("`{new}`"));
        }
        Some(new)
    }

    /// Writes what was referred to, and what that refers to.
    pub(super) fn write_definitions(&mut self, write: fn(&mut Self, Place<'a>) -> Value) -> Map<String, Value> {
        let mut written = Map::new();
        let mut next = 0;
        while let Some((name, place)) = self.definitions.places.get(next).cloned() {
            self.definitions.container = Some(place.clone());
            self.definitions.optional = false;
            let schema = write(self, place);
            written.insert(name, schema);
            next += 1;
        }
        written
    }

    /// Whether a reference here closes a cycle that has to be entered: one without an optional property.
    pub(super) fn closes_cycle(&mut self, reference: &str, pointer: &str) -> bool {
        let Some(container) = self.definitions.container.as_ref().filter(|_| !self.definitions.optional) else {
            return false;
        };
        let Some(target) = self.document.resolve(pointer, reference) else { return false };
        let cycles = self.definitions.cycles.get_or_insert_with(|| Cycles::of(&self.document));
        cycles.join(container.schema, target.schema)
    }

    /// Reports definitions that have another place now, or none.
    pub(super) fn report_definitions(&mut self, map: &Map<String, Value>, pointer: &str) {
        for keyword in ["$defs", "definitions"] {
            let Some(Value::Object(held)) = map.get(keyword) else { continue };
            let under = join(pointer, keyword);
            let places: HashSet<&str> =
                self.definitions.places.iter().map(|(_, place)| place.pointer.as_str()).collect();
            if held.keys().any(|name| !places.contains(join(&under, name).as_str())) {
                self.log.add(pointer, keyword, ChangeKind::Dropped, "what nothing refers to is left out");
            } else if keyword == "definitions" || !pointer.is_empty() {
                self.log.add(pointer, keyword, ChangeKind::Rewritten, "`$defs` of the root");
            }
        }
    }
}
