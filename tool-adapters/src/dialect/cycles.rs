//! Which references close a cycle that has to be entered: one without a property that may be left out.

use crate::schema::{Child, Document, Place, for_each_child};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// The schemas that references lead to, by the cycle that they are in.
///
/// Two of them are in one cycle where each leads to the other without an optional property on the way: the strongly
/// connected components of that graph, found once and in linear time.
pub(super) struct Cycles(HashMap<*const Value, usize>);

impl Cycles {
    pub(super) fn of(document: &Document<'_>) -> Self {
        let mut places: Vec<Place<'_>> = Vec::new();
        let mut numbers = HashMap::new();
        references(document, &Place { schema: document.root(), pointer: String::new() }, &|_, _| true, &mut |place| {
            numbers.entry(std::ptr::from_ref(place.schema)).or_insert_with(|| {
                places.push(place);
                places.len() - 1
            });
        });
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
    pub(super) fn join(&self, left: &Value, right: &Value) -> bool {
        let of = |schema: &Value| self.0.get(&std::ptr::from_ref(schema));
        of(left).is_some_and(|component| of(right) == Some(component))
    }
}

/// Whether a value of the schema has to have a value of the child, as far as properties tell.
fn is_entered(map: &Map<String, Value>, child: &Child<'_>) -> bool {
    match (child.keyword, child.name) {
        ("properties", Some(name)) => {
            let required = map.get("required").and_then(Value::as_array);
            required.is_some_and(|names| names.iter().any(|it| it == name))
        }
        ("$defs" | "definitions", _) => false,
        _ => true,
    }
}

/// What the references inside a schema lead to, as far as `enters` lets the search go.
fn references<'a>(
    document: &Document<'a>,
    place: &Place<'a>,
    enters: &dyn Fn(&Map<String, Value>, &Child<'a>) -> bool,
    found: &mut dyn FnMut(Place<'a>),
) {
    let mut open = vec![place.clone()];
    while let Some(Place { schema, pointer }) = open.pop() {
        let Value::Object(map) = schema else { continue };
        let reference = map.get("$ref").and_then(Value::as_str);
        if let Some(target) = reference.and_then(|reference| document.resolve(&pointer, reference)) {
            found(target);
        }
        for_each_child(map, &pointer, &mut |child| {
            if enters(map, &child) {
                open.push(Place { schema: child.schema, pointer: child.pointer });
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
