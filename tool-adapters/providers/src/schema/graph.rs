//! Which schemas of a document lead to which, by their keywords and references.

use crate::schema::document::{SchemaDocument, SchemaPlace, for_each_subschema};
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};

/// A schema of a document, by its place in memory.
pub(crate) type SchemaId = *const Map<String, Value>;

/// The schemas that each schema leads to, and those that lead to it. Definitions are led to by
/// references only.
#[derive(Default)]
pub(crate) struct SchemaGraph {
    inner: HashMap<SchemaId, Vec<SchemaId>>,
    outer: HashMap<SchemaId, Vec<SchemaId>>,
}

impl SchemaGraph {
    pub(crate) fn of(document: &SchemaDocument<'_>) -> Self {
        let mut graph = Self::default();
        let mut seen = HashSet::new();
        let mut open = vec![SchemaPlace::root(document.root())];
        while let Some(SchemaPlace { schema, pointer }) = open.pop() {
            let Value::Object(map) = schema else { continue };
            if !seen.insert(std::ptr::from_ref(map)) {
                continue;
            }
            let reference = map.get("$ref").and_then(Value::as_str);
            let target = reference.and_then(|reference| document.resolve(&pointer, reference));
            if let Some(target) = target {
                graph.connect(map, &target);
                open.push(target);
            }
            for_each_subschema(map, &pointer, &mut |child| {
                if child.keyword != "$defs" {
                    graph.connect(map, &child.place);
                }
                open.push(child.place);
            });
        }
        graph
    }

    fn connect(&mut self, outer: SchemaId, inner: &SchemaPlace<'_>) {
        if let Value::Object(inner) = inner.schema {
            let inner = std::ptr::from_ref(inner);
            self.inner.entry(outer).or_default().push(inner);
            self.outer.entry(inner).or_default().push(outer);
        }
    }

    /// Returns schemas and all that they lead to.
    pub(crate) fn inside(&self, schemas: impl IntoIterator<Item = SchemaId>) -> HashSet<SchemaId> {
        reachable(&self.inner, schemas)
    }

    /// Returns schemas and all that lead to them.
    pub(crate) fn around(&self, schemas: impl IntoIterator<Item = SchemaId>) -> HashSet<SchemaId> {
        reachable(&self.outer, schemas)
    }
}

fn reachable(
    edges: &HashMap<SchemaId, Vec<SchemaId>>,
    from: impl IntoIterator<Item = SchemaId>,
) -> HashSet<SchemaId> {
    let mut reached = HashSet::new();
    let mut open = from.into_iter().collect::<Vec<_>>();
    while let Some(schema) = open.pop() {
        if reached.insert(schema) {
            open.extend(edges.get(&schema).into_iter().flatten());
        }
    }
    reached
}
