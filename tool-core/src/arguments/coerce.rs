//! Slips that can be put right without losing anything, found by the schema.

use crate::arguments::view::{Types, View};
use crate::arguments::{lossless, words};
use crate::schema::nullable::allows_null;
use crate::schema::validator::compile;
use crate::schema::walk::join_pointer;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// Which slips of a model are put right before its arguments are checked. All of them are, unless switched off.
///
/// None of them loses anything, none touches a value that the schema accepts, and each is reported in the call's
/// `meta.coerced`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
#[non_exhaustive]
pub struct Coercions {
    /// No arguments, an empty text or `null` become `{}`.
    pub empty: bool,
    /// Arguments that are a JSON text of an object become that object.
    pub double_encoded: bool,
    /// `null` for a property that may be left out, but not be null, becomes its absence.
    pub null_as_absent: bool,
    /// A text that is exactly a number, `true` or `false` becomes that, where one is wanted and no text is.
    pub text_as_scalar: bool,
    /// A text that is the JSON of an array or object becomes that, where one is wanted and no text is.
    pub text_as_json: bool,
}

impl Coercions {
    /// All of them.
    pub const ALL: Self =
        Self { empty: true, double_encoded: true, null_as_absent: true, text_as_scalar: true, text_as_json: true };
    /// None: arguments are accepted exactly where the schema accepts them.
    pub const NONE: Self =
        Self { empty: false, double_encoded: false, null_as_absent: false, text_as_scalar: false, text_as_json: false };
}

impl Default for Coercions {
    fn default() -> Self {
        Self::ALL
    }
}

/// What one branch of a choice puts right may be what another keyword was waiting for; few schemas need a second pass.
const PASSES: usize = 8;
/// How deep schemas and values are followed. Beyond it nothing is put right, and the validator has the word.
const DEPTH: usize = 256;
/// How deep arguments may be, also after a text in them has become a structure.
const VALUE_DEPTH: usize = 128;

/// Puts right what can be and returns one line for each change: `/count: text to integer`.
pub(crate) fn coerce(value: &mut Value, schema: &Value, switches: Coercions) -> Vec<String> {
    let mut walker = Walker { root: schema, switches, notes: Vec::new(), trials: Trials::new(schema) };
    for _ in 0..PASSES {
        let before = walker.notes.len();
        walker.walk(value, &[schema], "", 0);
        if walker.notes.len() == before {
            break;
        }
    }
    walker.notes
}

pub(crate) struct Walker<'a> {
    root: &'a Value,
    switches: Coercions,
    pub(crate) notes: Vec<String>,
    pub(crate) trials: Trials<'a>,
}

impl<'a> Walker<'a> {
    /// Corrects a value that must satisfy all of `schemas`.
    pub(crate) fn walk(&mut self, value: &mut Value, schemas: &[&'a Value], pointer: &str, depth: usize) {
        if schemas.is_empty() || depth > DEPTH {
            return;
        }
        let view = View::of(schemas, self.root);
        if let Value::String(text) = value
            && let Some((better, kind)) = self.read_text(text, view.types(), pointer)
        {
            *value = better;
            self.notes.push(format!("{}: text to {kind}", shown(pointer)));
        }
        match value {
            Value::Object(members) => self.object(members, &view, pointer, depth),
            Value::Array(items) => {
                for (position, item) in items.iter_mut().enumerate() {
                    self.walk(item, &view.item(position), &format!("{pointer}/{position}"), depth + 1);
                }
            }
            _ => {}
        }
        for branches in view.choices() {
            self.choose(value, branches, pointer, depth);
        }
    }

    fn object(&mut self, members: &mut Map<String, Value>, view: &View<'a>, pointer: &str, depth: usize) {
        if self.switches.null_as_absent {
            self.drop_nulls(members, view, pointer);
        }
        for (name, member) in members.iter_mut() {
            self.walk(member, &view.property(name), &join_pointer(pointer, name), depth + 1);
        }
    }

    fn drop_nulls(&mut self, members: &mut Map<String, Value>, view: &View<'a>, pointer: &str) {
        let root = self.root;
        let stands_for_absence = |name: &str| {
            !view.requires(name) && view.declared(name).into_iter().any(|schema| !allows_null(schema, root))
        };
        let absent: Vec<String> = members
            .iter()
            .filter(|(name, value)| value.is_null() && stands_for_absence(name))
            .map(|(name, _)| name.clone())
            .collect();
        for name in absent {
            members.remove(&name);
            self.notes.push(format!("{}: null to absent", shown(&join_pointer(pointer, &name))));
        }
    }

    /// What the text stands for where no text is wanted.
    fn read_text(&self, text: &str, types: Types, pointer: &str) -> Option<(Value, &'static str)> {
        if types.has(Types::STRING) {
            return None;
        }
        if self.switches.text_as_scalar {
            if types.has(Types::BOOLEAN) && matches!(text, "true" | "false") {
                return Some((Value::Bool(text == "true"), "boolean"));
            }
            if types.has(Types::FRACTION) {
                if let Some(number) = lossless::number(text) {
                    return Some((number.into(), "number"));
                }
            } else if types.has(Types::INTEGER)
                && let Some(number) = lossless::integer(text)
            {
                return Some((number.into(), "integer"));
            }
        }
        if self.switches.text_as_json && (types.has(Types::ARRAY) || types.has(Types::OBJECT)) {
            let value = lossless::structure(text)?;
            let (wanted, kind) = if value.is_array() { (Types::ARRAY, "array") } else { (Types::OBJECT, "object") };
            let fits = lossless::depth(&value) + pointer.matches('/').count() < VALUE_DEPTH;
            return (fits && types.has(wanted)).then_some((value, kind));
        }
        None
    }
}

/// A pointer as notes show it.
fn shown(pointer: &str) -> String {
    if pointer.is_empty() { "arguments".to_owned() } else { words::shortened(pointer, 200) }
}

// ---- Choices among schemas: a branch is taken when it is the only one that a correction leads to.

/// How many values may be looked at while trying branches. Nested choices multiply; honest arguments stay far below.
const FUEL: usize = 100_000;

/// Compiled branches, and what is left to spend on trying them.
pub(crate) struct Trials<'a> {
    root: &'a Value,
    /// By the address of the branch in the schema, which does not move while it is borrowed.
    compiled: HashMap<usize, Option<jsonschema::Validator>>,
    fuel: usize,
}

impl<'a> Trials<'a> {
    pub(crate) fn new(root: &'a Value) -> Self {
        Self { root, compiled: HashMap::new(), fuel: FUEL }
    }

    /// Pays for looking at the value once for each branch.
    pub(crate) fn pay(&mut self, value: &Value, branches: usize) -> bool {
        let cost = size(value).saturating_mul(branches);
        let left = self.fuel.checked_sub(cost);
        self.fuel = left.unwrap_or(0);
        left.is_some()
    }

    pub(crate) fn accepts(&mut self, branch: &'a Value, value: &Value) -> bool {
        let root = self.root;
        let compiled =
            self.compiled.entry(std::ptr::from_ref(branch).addr()).or_insert_with(|| standalone(branch, root));
        compiled.as_ref().is_some_and(|compiled| compiled.is_valid(value))
    }
}

impl<'a> Walker<'a> {
    /// Corrects the value towards one branch: only if none accepts it as it is, and one alone does when corrected.
    pub(crate) fn choose(&mut self, value: &mut Value, branches: &'a [Value], pointer: &str, depth: usize) {
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
pub(crate) fn standalone(branch: &Value, root: &Value) -> Option<jsonschema::Validator> {
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
