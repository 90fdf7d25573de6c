//! Which references close a cycle that has to be entered: one without a property that may be left out.

use crate::providers::report::ChangeKind;
use crate::providers::schema::document::{SchemaDocument, SchemaPlace, Subschema, for_each_subschema};
use crate::providers::schema::node::not_found;
use crate::providers::schema::projector::Projector;
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};
use tool_core::schema::join_pointer as join;

/// The schemas that references lead to, by the cycle that they are in.
///
/// Two of them are in one cycle where each leads to the other without an optional property on the way: the strongly
/// connected components of that graph, found once and in linear time.
pub(crate) struct Cycles(HashMap<*const Value, usize>);

impl Cycles {
    pub(crate) fn of(document: &SchemaDocument<'_>) -> Self {
        let mut places: Vec<SchemaPlace<'_>> = Vec::new();
        let mut numbers = HashMap::new();
        references(
            document,
            &SchemaPlace { schema: document.root(), pointer: String::new() },
            &|_, _| true,
            &mut |place| {
                numbers.entry(std::ptr::from_ref(place.schema)).or_insert_with(|| {
                    places.push(place);
                    places.len() - 1
                });
            },
        );
        let mut edges = Vec::with_capacity(places.len());
        for place in &places {
            let mut to = Vec::new();
            references(document, place, &is_entered, &mut |target| {
                to.extend(numbers.get(&std::ptr::from_ref(target.schema)).copied());
            });
            edges.push(to);
        }
        let components = components(&edges);
        Self(numbers.into_iter().filter_map(|(schema, at)| Some((schema, *components.get(at)?))).collect())
    }

    /// Whether the two are in one cycle.
    pub(crate) fn join(&self, left: &Value, right: &Value) -> bool {
        let of = |schema: &Value| self.0.get(&std::ptr::from_ref(schema));
        of(left).is_some_and(|component| of(right) == Some(component))
    }
}

/// Whether a value of the schema has to have a value of the child, as far as properties tell.
fn is_entered(map: &Map<String, Value>, child: &Subschema<'_>) -> bool {
    match (child.keyword, child.name) {
        ("properties", Some(name)) => {
            let required = map.get("required").and_then(Value::as_array);
            required.is_some_and(|names| names.iter().any(|it| it == name))
        }
        ("$defs", _) => false,
        _ => true,
    }
}

/// What the references inside a schema lead to, as far as `enters` lets the search go.
fn references<'a>(
    document: &SchemaDocument<'a>,
    place: &SchemaPlace<'a>,
    enters: &dyn Fn(&Map<String, Value>, &Subschema<'a>) -> bool,
    found: &mut dyn FnMut(SchemaPlace<'a>),
) {
    let mut open = vec![place.clone()];
    while let Some(SchemaPlace { schema, pointer }) = open.pop() {
        let Value::Object(map) = schema else { continue };
        let reference = map.get("$ref").and_then(Value::as_str);
        if let Some(target) = reference.and_then(|reference| document.resolve(&pointer, reference)) {
            found(target);
        }
        for_each_subschema(map, &pointer, &mut |child| {
            if enters(map, &child) {
                open.push(child.place);
            }
        });
    }
}

/// The component of each node: Kosaraju's two passes, without recursion.
fn components(edges: &[Vec<usize>]) -> Vec<usize> {
    let mut reverse = vec![Vec::new(); edges.len()];
    for (from, to) in edges.iter().enumerate() {
        for to in to {
            if let Some(back) = reverse.get_mut(*to) {
                back.push(from);
            }
        }
    }
    let mut order = Vec::with_capacity(edges.len());
    let mut seen = vec![false; edges.len()];
    for start in 0..edges.len() {
        visit(start, edges, &mut seen, &mut |node| order.push(node));
    }
    let mut component = vec![0; edges.len()];
    let mut seen = vec![false; edges.len()];
    for (number, start) in order.into_iter().rev().enumerate() {
        visit(start, &reverse, &mut seen, &mut |node| {
            if let Some(of) = component.get_mut(node) {
                *of = number;
            }
        });
    }
    component
}

/// Shows `leave` every node that is reached and was not seen, those that it leads to first.
fn visit(start: usize, edges: &[Vec<usize>], seen: &mut [bool], leave: &mut dyn FnMut(usize)) {
    let mut enter = |node: usize| seen.get_mut(node).is_some_and(|seen| !std::mem::replace(seen, true));
    if !enter(start) {
        return;
    }
    let next = |node: usize, at: usize| edges.get(node).and_then(|to| to.get(at)).copied();
    let mut path = vec![(start, 0)];
    while let Some((node, at)) = path.pop() {
        match next(node, at) {
            Some(to) => {
                path.push((node, at + 1));
                if enter(to) {
                    path.push((to, 0));
                }
            }
            None => leave(node),
        }
    }
}

// ---- References that stay, and the definitions that they need.

/// What `$defs` will have to hold, in the order in which it was first referred to.
#[derive(Default)]
pub(crate) struct Definitions<'a> {
    places: Vec<(String, SchemaPlace<'a>)>,
    by_schema: HashMap<*const Value, usize>,
    taken: HashSet<String>,
    /// Whether the root stands in the projection as it is, so that `#` means what it did.
    pub(crate) root_stays: bool,
    /// Found when first needed.
    cycles: Option<Cycles>,
    /// The definition that is being written.
    container: Option<SchemaPlace<'a>>,
    /// Whether the way from there led through a property that is not required.
    pub(crate) optional: bool,
}

impl<'a> Definitions<'a> {
    fn name(&mut self, place: SchemaPlace<'a>) -> String {
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
    let raw =
        pointer.strip_prefix("/$defs/").filter(|rest| !rest.contains('/')).unwrap_or(pointer.trim_start_matches('/'));
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_.-".contains(letter);
    let name: String = raw.chars().map(|letter| if plain(letter) { letter } else { '_' }).collect();
    if name.is_empty() { "root".to_owned() } else { name }
}

impl<'a> Projector<'a> {
    /// The reference under which a schema will stand; nothing where it leads to nothing.
    pub(crate) fn refer(&mut self, reference: &str, pointer: &str) -> Option<String> {
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
    pub(crate) fn write_definitions(&mut self, write: fn(&mut Self, SchemaPlace<'a>) -> Value) -> Map<String, Value> {
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
    pub(crate) fn closes_cycle(&mut self, reference: &str, pointer: &str) -> bool {
        let Some(container) = self.definitions.container.as_ref().filter(|_| !self.definitions.optional) else {
            return false;
        };
        let Some(target) = self.document.resolve(pointer, reference) else { return false };
        let cycles = self.definitions.cycles.get_or_insert_with(|| Cycles::of(&self.document));
        cycles.join(container.schema, target.schema)
    }

    /// Reports definitions that have another place now, or none.
    pub(crate) fn report_definitions(&mut self, map: &Map<String, Value>) {
        let Some(Value::Object(schemas)) = map.get("$defs") else { return };
        let places: HashSet<&str> = self.definitions.places.iter().map(|(_, place)| place.pointer.as_str()).collect();
        if schemas.keys().any(|name| !places.contains(join("/$defs", name).as_str())) {
            self.log.add("", "$defs", ChangeKind::Dropped, "schemas that no reference leads to are left out");
        }
    }
}
