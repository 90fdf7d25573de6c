//! The state of a projection, and the definitions that its references lead to.

use crate::report::ChangeLog;
use crate::schema::document::{
    SchemaDocument, SchemaPlace, Subschema, for_each_schema, for_each_subschema,
};
use indexmap::{IndexMap, IndexSet};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use tool_core::schema::join_pointer as join;

/// The maximum depth of nested schemas.
pub(crate) const MAX_DEPTH: usize = 64;
/// The number of schemas that a projection may always write. References multiply: `a` refers to `b`
/// twice, `b` to `c` twice, and so on.
const MIN_BUDGET: usize = 2_000;
/// The number of schemas that a projection may write besides, for each schema of the document.
const BUDGET_PER_SCHEMA: usize = 4;

/// Projects one schema.
pub(crate) struct Projector<'a> {
    pub(crate) document: SchemaDocument<'a>,
    pub(crate) log: ChangeLog,
    names: &'static DefinitionNames,
    pub(crate) definitions: Definitions<'a>,
    /// The targets of the references that led to the current schema.
    pub(crate) active: IndexSet<*const Value>,
    pub(crate) depth: usize,
    /// The number of schemas visited so far.
    pub(crate) nodes: usize,
    /// The maximum number of schemas. Counted when first needed.
    budget: Option<usize>,
}

impl<'a> Projector<'a> {
    pub(crate) fn new(root: &'a Value, names: &'static DefinitionNames) -> Self {
        Self {
            document: SchemaDocument::new(root),
            log: ChangeLog::default(),
            names,
            definitions: Definitions::default(),
            active: IndexSet::new(),
            depth: 0,
            nodes: 0,
            budget: None,
        }
    }

    /// Returns true if the projection is too deep or too large to go on.
    pub(crate) fn is_exhausted(&mut self) -> bool {
        self.depth >= MAX_DEPTH || self.nodes > MIN_BUDGET && self.nodes > self.budget()
    }

    fn budget(&mut self) -> usize {
        let root = self.document.root();
        *self
            .budget
            .get_or_insert_with(|| MIN_BUDGET + BUDGET_PER_SCHEMA * count_schemas(root))
    }

    /// Reports a schema of which only the type is kept.
    pub(crate) fn report_exhausted(&mut self, pointer: &str) {
        let reason = if self.depth >= MAX_DEPTH {
            "too deep"
        } else {
            "too large, with the schemas it refers to"
        };
        self.log.weakened(
            pointer,
            "type",
            format!("the schema is {reason}: only its type is kept"),
        );
    }
}

fn count_schemas(root: &Value) -> usize {
    let mut count = 0;
    for_each_schema(root, &mut |_| count += 1);
    count
}

/// The targets of references, by the cycle that they belong to.
///
/// Two targets belong to one cycle if each leads to the other without an optional property between
/// them. The cycles are the strongly connected components of that graph.
pub(crate) struct Cycles(HashMap<*const Value, usize>);

impl Cycles {
    pub(crate) fn of(document: &SchemaDocument<'_>) -> Self {
        let mut targets = IndexMap::new();
        references(
            document,
            &SchemaPlace::root(document.root()),
            true,
            &mut |place| {
                targets
                    .entry(std::ptr::from_ref(place.schema))
                    .or_insert(place);
            },
        );
        let mut edges = Vec::with_capacity(targets.len());
        for place in targets.values() {
            let mut to = Vec::new();
            references(document, place, false, &mut |target| {
                to.extend(targets.get_index_of(&std::ptr::from_ref(target.schema)));
            });
            edges.push(to);
        }
        Self(targets.into_keys().zip(components(&edges)).collect())
    }

    /// Returns true if two schemas belong to one cycle.
    pub(crate) fn join(&self, left: &Value, right: &Value) -> bool {
        let of = |schema: &Value| self.0.get(&std::ptr::from_ref(schema));
        of(left).is_some_and(|component| of(right) == Some(component))
    }
}

/// Returns false for an optional property: a value need not have a value of the child.
fn is_entered(required: &HashSet<&str>, child: &Subschema<'_>) -> bool {
    match (child.keyword, child.name) {
        ("properties", Some(name)) => required.contains(name),
        ("$defs", _) => false,
        _ => true,
    }
}

/// Visits the targets of the references inside a schema, in all its subschemas or in those that are
/// entered.
fn references<'a>(
    document: &SchemaDocument<'a>,
    place: &SchemaPlace<'a>,
    enters_all: bool,
    found: &mut dyn FnMut(SchemaPlace<'a>),
) {
    let mut open = vec![place.clone()];
    while let Some(SchemaPlace { schema, pointer }) = open.pop() {
        let Value::Object(map) = schema else { continue };
        let reference = map.get("$ref").and_then(Value::as_str);
        if let Some(target) = reference.and_then(|reference| document.resolve(&pointer, reference))
        {
            found(target);
        }
        let required = map
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        let required = if enters_all {
            HashSet::new()
        } else {
            required.collect()
        };
        for_each_subschema(map, &pointer, &mut |child| {
            if enters_all || is_entered(&required, &child) {
                open.push(child.place);
            }
        });
    }
}

/// Returns the component of each node, by Kosaraju's two passes without recursion.
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

/// Calls `leave` for each reachable node that was not seen, children first.
fn visit(start: usize, edges: &[Vec<usize>], seen: &mut [bool], leave: &mut dyn FnMut(usize)) {
    let mut enter = |node: usize| {
        seen.get_mut(node)
            .is_some_and(|seen| !std::mem::replace(seen, true))
    };
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

/// The schemas of `$defs`, in the order of the first references to them.
#[derive(Default)]
pub(crate) struct Definitions<'a> {
    places: IndexMap<*const Value, (String, SchemaPlace<'a>)>,
    taken: HashSet<String>,
    /// The number of the last name that was made of a taken one.
    numbers: HashMap<String, usize>,
    written: usize,
    /// True if the projection has the root as it is, so that `#` means the same.
    pub(crate) root_stays: bool,
    /// Computed when first needed.
    cycles: Option<Cycles>,
    /// The definition that is being written.
    container: Option<SchemaPlace<'a>>,
    /// True inside of an optional property of the definition.
    pub(crate) optional: bool,
}

/// The names of definitions.
pub(crate) struct DefinitionNames {
    /// Returns the name for a pointer.
    pub(crate) of_pointer: fn(&str) -> String,
    /// The text between a name and the number that tells it from an earlier one.
    pub(crate) separator: &'static str,
}

/// `Point` for `/$defs/Point`, `properties_a_items` for `/properties/a/items`.
pub(crate) const PLAIN_NAMES: DefinitionNames = DefinitionNames {
    of_pointer: plain_name,
    separator: "_",
};

impl<'a> Definitions<'a> {
    fn name(&mut self, place: SchemaPlace<'a>, names: &DefinitionNames) -> String {
        let schema = std::ptr::from_ref(place.schema);
        if let Some((name, _)) = self.places.get(&schema) {
            return name.clone();
        }
        let base = (names.of_pointer)(&place.pointer);
        let mut name = base.clone();
        let number = self.numbers.entry(base.clone()).or_insert(1);
        while !self.taken.insert(name.clone()) {
            *number += 1;
            name = format!("{base}{}{number}", names.separator);
        }
        self.places.insert(schema, (name.clone(), place));
        name
    }
}

fn plain_name(pointer: &str) -> String {
    let raw = pointer
        .strip_prefix("/$defs/")
        .filter(|rest| !rest.contains('/'))
        .unwrap_or(pointer.trim_start_matches('/'));
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_.-".contains(letter);
    let name: String = raw
        .chars()
        .map(|letter| if plain(letter) { letter } else { '_' })
        .collect();
    if name.is_empty() {
        "root".to_owned()
    } else {
        name
    }
}

impl<'a> Projector<'a> {
    /// Returns the reference to a target in the projection; `None` without a target.
    pub(crate) fn refer(&mut self, reference: &str, pointer: &str) -> Option<String> {
        let Some(place) = self.document.resolve(pointer, reference) else {
            report_missing_target(&mut self.log, pointer, reference);
            return None;
        };
        Some(self.refer_to(place, reference, pointer))
    }

    /// Returns the reference to a schema in the projection, for a reference at `pointer`.
    pub(crate) fn refer_to(
        &mut self,
        place: SchemaPlace<'a>,
        reference: &str,
        pointer: &str,
    ) -> String {
        let new = if place.pointer.is_empty() && self.definitions.root_stays {
            "#".to_owned()
        } else {
            format!("#/$defs/{}", self.definitions.name(place, self.names))
        };
        if new != reference {
            self.log.rewritten(pointer, "$ref", format!("`{new}`"));
        }
        new
    }

    /// Returns the next definition to write. Writing one may lead to others.
    pub(crate) fn next_definition(&mut self) -> Option<(String, SchemaPlace<'a>)> {
        let (_, (name, place)) = self
            .definitions
            .places
            .get_index(self.definitions.written)?;
        let name = name.clone();
        let place = place.clone();
        self.definitions.written += 1;
        self.definitions.container = Some(place.clone());
        self.definitions.optional = false;
        Some((name, place))
    }

    /// Returns true if a reference closes a cycle without an optional property.
    pub(crate) fn closes_cycle(&mut self, reference: &str, pointer: &str) -> bool {
        let Some(container) = self
            .definitions
            .container
            .as_ref()
            .filter(|_| !self.definitions.optional)
        else {
            return false;
        };
        let Some(target) = self.document.resolve(pointer, reference) else {
            return false;
        };
        let cycles = self
            .definitions
            .cycles
            .get_or_insert_with(|| Cycles::of(&self.document));
        cycles.join(container.schema, target.schema)
    }

    /// Reports definitions that are left out.
    pub(crate) fn report_definitions(&mut self) {
        let Some(Value::Object(schemas)) = self.document.root().get("$defs") else {
            return;
        };
        let places: HashSet<&str> = self
            .definitions
            .places
            .values()
            .map(|(_, place)| place.pointer.as_str())
            .collect();
        if schemas
            .keys()
            .any(|name| !places.contains(join("/$defs", name).as_str()))
        {
            self.log.dropped(
                "",
                "$defs",
                "schemas that no reference leads to are left out",
            );
        }
    }
}

/// Reports a reference without a target.
pub(crate) fn report_missing_target(log: &mut ChangeLog, pointer: &str, reference: &str) {
    let detail = if reference.starts_with('#') {
        format!("`{reference}` has no target; any value is accepted")
    } else {
        format!("`{reference}` is not part of the schema and never fetched; any value is accepted")
    };
    log.weakened(pointer, "$ref", detail);
}
