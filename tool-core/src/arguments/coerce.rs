//! Slips that can be put right without losing anything, found by the schema.

use super::branches::Trials;
use super::view::{Types, View};
use super::{lossless, words};
use crate::pointer::child;
use crate::schema::allows_null;
use serde_json::{Map, Value};

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

pub(super) struct Walker<'a> {
    root: &'a Value,
    switches: Coercions,
    pub(super) notes: Vec<String>,
    pub(super) trials: Trials<'a>,
}

impl<'a> Walker<'a> {
    /// Corrects a value that must satisfy all of `schemas`.
    pub(super) fn walk(&mut self, value: &mut Value, schemas: &[&'a Value], pointer: &str, depth: usize) {
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
            self.walk(member, &view.property(name), &child(pointer, name), depth + 1);
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
            self.notes.push(format!("{}: null to absent", shown(&child(pointer, &name))));
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
