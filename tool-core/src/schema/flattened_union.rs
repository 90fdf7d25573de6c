//! The schemas of flattened types that are more than a list of properties, for example enums. Each
//! stands beside the entries of other parameters.

use crate::schema::constraints::push_all_of;
use crate::schema::flattened::FlattenedNames;
use crate::schema::walk;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The keywords that say whether an object has further properties, and which.
pub(crate) const CLOSING: [&str; 2] = ["additionalProperties", "unevaluatedProperties"];

/// Makes a schema accept the tool's other properties. The root refuses unknown names.
pub(crate) fn remove_closing(schema: &mut Value, root: &Value) {
    UnionChange::new(root).remove_closing(schema);
}

/// Makes each variant of an enum refuse the names of its other variants. Beside a type that takes
/// all other names the root would accept them, and none would read them.
pub(crate) fn refuse_other_variants(schema: &mut Value, root: &Value) {
    UnionChange::new(root).refuse_other_variants(schema, &BTreeSet::new());
}

/// A change to all parts of a schema. Its methods return true if there was something to change.
struct UnionChange<'r> {
    root: &'r Value,
    /// The references that are being followed.
    open: Vec<String>,
}

impl<'r> UnionChange<'r> {
    fn new(root: &'r Value) -> Self {
        Self {
            root,
            open: Vec::new(),
        }
    }

    /// Changes a schema without a reference. If there is one, what it leads to is changed and
    /// written out, because others may refer to it as it is.
    fn change(
        &mut self,
        schema: &mut Value,
        change: impl FnOnce(&mut Self, &mut Value) -> bool,
    ) -> bool {
        let reference = schema.get("$ref").and_then(Value::as_str);
        let Some(reference) = reference.map(str::to_owned) else {
            return change(self, schema);
        };
        if self.open.contains(&reference) {
            return false;
        }

        let mut written = written_out(schema, self.root);
        self.open.push(reference);
        let has_changed = self.change(&mut written, change);
        self.open.pop();

        if has_changed {
            *schema = written;
        }
        has_changed
    }

    fn remove_closing(&mut self, schema: &mut Value) -> bool {
        self.change(schema, Self::remove_closing_of_parts)
    }

    fn remove_closing_of_parts(&mut self, schema: &mut Value) -> bool {
        let Some(map) = schema.as_object_mut() else {
            return false;
        };

        let mut has_changed = false;
        for keyword in CLOSING {
            if map.get(keyword) == Some(&Value::Bool(false)) {
                map.remove(keyword);
                has_changed = true;
            }
        }
        for keyword in ["oneOf", "anyOf", "allOf"] {
            let branches = map.get_mut(keyword).and_then(Value::as_array_mut);
            for branch in branches.into_iter().flatten() {
                has_changed |= self.remove_closing(branch);
            }
        }
        has_changed
    }

    /// Changes the choices in a schema. The names in `taken` are read beside it.
    fn refuse_other_variants(&mut self, schema: &mut Value, taken: &BTreeSet<String>) -> bool {
        self.change(schema, |this, schema| {
            this.refuse_other_variants_in_parts(schema, taken)
        })
    }

    fn refuse_other_variants_in_parts(
        &mut self,
        schema: &mut Value,
        taken: &BTreeSet<String>,
    ) -> bool {
        let mut has_changed = false;
        for keyword in ["allOf", "oneOf", "anyOf"] {
            let Some(list) = schema.get_mut(keyword).and_then(Value::as_array_mut) else {
                continue;
            };
            let mut branches = std::mem::take(list);

            let mut beside = self.names(schema);
            beside.extend(taken.iter().cloned());
            has_changed |= if keyword == "allOf" {
                self.refuse_in_each(&mut branches, &beside)
            } else {
                self.refuse_in_choice(&mut branches, &beside)
            };

            schema[keyword] = branches.into();
        }
        has_changed
    }

    /// Changes the choices in the parts of an `allOf`. Each is read beside the others.
    fn refuse_in_each(&mut self, parts: &mut [Value], taken: &BTreeSet<String>) -> bool {
        let names: Vec<BTreeSet<String>> = parts.iter().map(|part| self.names(part)).collect();

        let mut has_changed = false;
        for (position, part) in parts.iter_mut().enumerate() {
            let mut beside = taken.clone();
            for (other, others) in names.iter().enumerate() {
                if other != position {
                    beside.extend(others.iter().cloned());
                }
            }
            has_changed |= self.refuse_other_variants(part, &beside);
        }
        has_changed
    }

    /// Makes each branch of a choice refuse the names that only its other branches have.
    fn refuse_in_choice(&mut self, branches: &mut [Value], taken: &BTreeSet<String>) -> bool {
        let names: Vec<BTreeSet<String>> =
            branches.iter().map(|branch| self.names(branch)).collect();
        let all: BTreeSet<&String> = names.iter().flatten().collect();

        let mut has_changed = false;
        for (branch, own) in branches.iter_mut().zip(&names) {
            has_changed |= self.refuse_other_variants(branch, taken);

            let is_refused = |name: &&String| !own.contains(*name) && !taken.contains(*name);
            let refused: Vec<&String> = all.iter().copied().filter(is_refused).collect();
            if !refused.is_empty() {
                refuse(branch, &refused, self.root);
                has_changed = true;
            }
        }
        has_changed
    }

    fn names(&self, schema: &Value) -> BTreeSet<String> {
        FlattenedNames::of_schema(schema, self.root).names
    }
}

/// Makes a variant refuse some names. A named one is written out, because others may refer to it as
/// it is.
fn refuse(variant: &mut Value, names: &[&String], root: &Value) {
    *variant = walk::follow(root, variant).clone();
    let Some(map) = variant.as_object_mut() else {
        return;
    };
    let properties = map.entry("properties").or_insert_with(|| json!({}));
    if let Some(properties) = properties.as_object_mut() {
        for name in names {
            properties.insert((*name).clone(), Value::Bool(false));
        }
    }
}

/// Returns a schema with what its reference leads to in place of the reference.
fn written_out(schema: &Value, root: &Value) -> Value {
    let mut written = walk::follow(root, schema).clone();
    if let Some(map) = written.as_object_mut()
        && let Some(target) = walk::referenced(map, root)
    {
        map.remove("$ref");
        push_all_of(map, target.clone());
    }
    written
}
