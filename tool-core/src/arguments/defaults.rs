//! Defaults of a schema, put where the value leaves them out.

use crate::arguments::coerce::{Trials, standalone};
use crate::arguments::view::{Types, View};
use crate::arguments::words;
use crate::schema::walk;
use crate::schema::walk::join_pointer;
use serde_json::{Map, Value};

/// How deep defaults are filled in, and how many.
const DEPTH: usize = 32;
const DEFAULTS: usize = 10_000;
/// How often a default brings along an object in which defaults are filled in again. Where a schema leads back to itself
/// that would have no end, and whatever is made here has to be validated.
const WITHIN: u8 = 4;

/// Fills in what the schema has a default for and the value leaves out, in the objects that are there and in those that
/// a default brings along. Of several shapes, that of the one that the value has; none where that is not clear.
pub(crate) fn fill(value: &mut Value, root: &Value) {
    fill_as(value, root, root);
}

/// The same by a schema inside of `root`.
pub(crate) fn fill_as(value: &mut Value, schema: &Value, root: &Value) {
    Filler { root, left: DEFAULTS, within: 0, trials: Trials::new(root) }.walk(value, &[schema], DEPTH);
}

struct Filler<'a> {
    root: &'a Value,
    /// How many defaults may still be filled in.
    left: usize,
    /// How many defaults the value that is looked at stands in.
    within: u8,
    trials: Trials<'a>,
}

impl<'a> Filler<'a> {
    fn walk(&mut self, value: &mut Value, schemas: &[&'a Value], depth: usize) {
        let Some(depth) = depth.checked_sub(1).filter(|_| !schemas.is_empty()) else { return };
        let view = View::of(schemas, self.root);
        match value {
            Value::Object(members) => {
                let missing = self.insert(members, &view);
                for (name, member) in members {
                    let inserted = u8::from(missing.contains(&name.as_str()));
                    self.within += inserted;
                    self.walk(member, &view.property(name), depth);
                    self.within -= inserted;
                }
            }
            Value::Array(items) => {
                for (position, item) in items.iter_mut().enumerate() {
                    self.walk(item, &view.item(position), depth);
                }
            }
            _ => return,
        }
        for branches in view.choices() {
            self.choose(value, branches, depth);
        }
    }

    /// Puts in what is missing, and gives the names.
    fn insert(&mut self, members: &mut Map<String, Value>, view: &View<'a>) -> Vec<&'a str> {
        let mut missing = Vec::new();
        for name in view.names().into_iter().filter(|_| self.within < WITHIN) {
            if !members.contains_key(name)
                && let Some(default) = View::of(&view.declared(name), self.root).find("default")
            {
                let Some(left) = self.left.checked_sub(1) else { break };
                self.left = left;
                members.insert(name.to_owned(), default.clone());
                missing.push(name);
            }
        }
        missing
    }

    /// Fills in by the branch that the value is of.
    fn choose(&mut self, value: &mut Value, branches: &'a [Value], depth: usize) {
        let possible = branches.iter().filter(|branch| may_be(value, branch, self.root)).collect::<Vec<_>>();
        if !self.trials.pay(value, possible.len()) {
            return;
        }
        if let [only] = possible.as_slice() {
            return self.walk(value, &[only], depth);
        }
        let mut found = None;
        for branch in possible {
            let mut filled = value.clone();
            self.walk(&mut filled, &[branch], depth);
            if self.trials.accepts(branch, &filled) && found.replace(filled).is_some() {
                // A second one, so it is not clear which was meant.
                return;
            }
        }
        if let Some(filled) = found {
            *value = filled;
        }
    }
}

/// Whether the value can be of the branch at all: by its type, by the constants that tell shapes apart, and by what the
/// branch cannot do without.
fn may_be(value: &Value, branch: &Value, root: &Value) -> bool {
    let view = View::of(&[branch], root);
    match value {
        Value::Object(members) => view.types().has(Types::OBJECT) && !is_other(members, &view, root),
        Value::Array(_) => view.types().has(Types::ARRAY),
        _ => false,
    }
}

fn is_other(members: &Map<String, Value>, view: &View<'_>, root: &Value) -> bool {
    view.names().into_iter().any(|name| {
        let declared = View::of(&view.declared(name), root);
        match members.get(name) {
            Some(there) => declared.find("const").is_some_and(|tag| tag != there),
            None => view.requires(name) && declared.find("default").is_none(),
        }
    })
}

// ---- What is wrong with a schema that a form is made of.

/// Whether the schema has room for objects.
pub(crate) fn may_be_object(root: &Value) -> bool {
    may_be_an_object(root, root, 8)
}

fn may_be_an_object(schema: &Value, root: &Value, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return true };
    let view = View::of(&[schema], root);
    let choices = view.choices();
    schema != &Value::Bool(false)
        && view.types().has(Types::OBJECT)
        && choices.iter().all(|branches| branches.iter().any(|branch| may_be_an_object(branch, root, depth)))
}

/// Defaults that the schema itself refuses, each with its place.
pub(crate) fn wrong_defaults(root: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    each(root, "", &mut |pointer, schema| {
        let Some(default) = schema.get("default") else { return };
        let mut filled = default.clone();
        fill_as(&mut filled, schema, root);
        let accepts = |value: &Value| standalone(schema, root).is_some_and(|schema| schema.is_valid(value));
        if !accepts(default) && !accepts(&filled) {
            wrong.push(format!(
                "`{pointer}` has the default {}, which is not accepted there",
                words::value_in_words(default)
            ));
        }
    });
    wrong
}

/// Shows `visit` every schema in the schema, with its pointer.
fn each<'a>(schema: &'a Value, pointer: &str, visit: &mut dyn FnMut(&str, &'a Value)) {
    let Some(map) = schema.as_object() else { return };
    visit(pointer, schema);
    for (keyword, inner) in map {
        let pointer = join_pointer(pointer, keyword);
        let keyword = keyword.as_str();
        match inner {
            Value::Object(_) if walk::SCHEMA_KEYWORDS.contains(&keyword) => each(inner, &pointer, visit),
            Value::Array(list) if walk::LIST_KEYWORDS.contains(&keyword) => {
                list.iter()
                    .enumerate()
                    .for_each(|(at, inner)| each(inner, &join_pointer(&pointer, &at.to_string()), visit));
            }
            Value::Object(named) if walk::MAP_KEYWORDS.contains(&keyword) => {
                named.iter().for_each(|(name, inner)| each(inner, &join_pointer(&pointer, name), visit));
            }
            _ => {}
        }
    }
}
