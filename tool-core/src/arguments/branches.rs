//! Choices among schemas: a branch is taken when it is the only one that a correction leads to.

use super::coerce::Walker;
use super::validator::compile;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// How many values may be looked at while trying branches. Nested choices multiply; honest arguments stay far below.
const FUEL: usize = 100_000;

/// Compiled branches, and what is left to spend on trying them.
pub(super) struct Trials<'a> {
    root: &'a Value,
    /// By the address of the branch in the schema, which does not move while it is borrowed.
    compiled: HashMap<usize, Option<jsonschema::Validator>>,
    fuel: usize,
}

impl<'a> Trials<'a> {
    pub(super) fn new(root: &'a Value) -> Self {
        Self { root, compiled: HashMap::new(), fuel: FUEL }
    }

    /// Pays for looking at the value once for each branch.
    pub(super) fn pay(&mut self, value: &Value, branches: usize) -> bool {
        let cost = size(value).saturating_mul(branches);
        let left = self.fuel.checked_sub(cost);
        self.fuel = left.unwrap_or(0);
        left.is_some()
    }

    pub(super) fn accepts(&mut self, branch: &'a Value, value: &Value) -> bool {
        let root = self.root;
        let compiled =
            self.compiled.entry(std::ptr::from_ref(branch).addr()).or_insert_with(|| standalone(branch, root));
        compiled.as_ref().is_some_and(|compiled| compiled.is_valid(value))
    }
}

impl<'a> Walker<'a> {
    /// Corrects the value towards one branch: only if none accepts it as it is, and one alone does when corrected.
    pub(super) fn choose(&mut self, value: &mut Value, branches: &'a [Value], pointer: &str, depth: usize) {
        if !self.trials.pay(value, branches.len()) || branches.iter().any(|branch| self.trials.accepts(branch, value)) {
            return;
        }
        let mut found: Option<(Value, Vec<String>)> = None;
        for branch in branches {
            let mut copy = value.clone();
            let before = self.notes.len();
            self.walk(&mut copy, &[branch], pointer, depth + 1);
            let notes = self.notes.split_off(before);
            if notes.is_empty() || !self.trials.accepts(branch, &copy) {
                continue;
            }
            if found.is_some() {
                return;
            }
            found = Some((copy, notes));
        }
        if let Some((better, notes)) = found {
            *value = better;
            self.notes.extend(notes);
        }
    }
}

/// A branch as a schema of its own, with the definitions that it may refer to.
pub(super) fn standalone(branch: &Value, root: &Value) -> Option<jsonschema::Validator> {
    let mut schema = Map::new();
    for definitions in ["$defs", "definitions"] {
        if let Some(there) = root.get(definitions) {
            schema.insert(definitions.to_owned(), there.clone());
        }
    }
    schema.insert("allOf".to_owned(), Value::Array(vec![branch.clone()]));
    compile(&Value::Object(schema)).ok()
}

fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Object(members) => 1 + members.values().map(size).sum::<usize>(),
        _ => 1,
    }
}
