//! The correction of a model's mistakes, where the schema shows a correction that loses nothing.

use crate::arguments::view::{SchemaView, TypeSet};
use crate::json::number::{exact, number_end, whole};
use crate::json::value;
use crate::schema::nullable::allows_null;
use crate::schema::validator::compile;
use crate::schema::walk::join_pointer;
use crate::text::truncate;
use serde_json::{Map, Number, Value};
use std::collections::HashMap;

/// The mistakes of a model that are corrected before its arguments are checked. Defaults to [`Coercions::ALL`].
///
/// A correction loses nothing, does not change a value that the schema accepts, and is reported in the call's
/// `meta.coerced`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an independent switch")]
#[non_exhaustive]
pub struct Coercions {
    /// Absent arguments, an empty text and `null` become `{}`.
    pub empty: bool,
    /// A JSON string that holds the JSON of an object becomes that object.
    pub double_encoded: bool,
    /// `null` for an optional property that does not accept `null` is removed.
    pub null_as_absent: bool,
    /// A string that is exactly a number, `true` or `false` becomes that value, where one is expected and a string is not.
    pub text_as_scalar: bool,
    /// A string that is the JSON of an array or object becomes that value, where one is expected and a string is not.
    pub text_as_json: bool,
}

impl Coercions {
    /// Every correction.
    pub const ALL: Self =
        Self { empty: true, double_encoded: true, null_as_absent: true, text_as_scalar: true, text_as_json: true };
    /// No correction. Arguments are accepted exactly where the schema accepts them.
    pub const NONE: Self =
        Self { empty: false, double_encoded: false, null_as_absent: false, text_as_scalar: false, text_as_json: false };
}

impl Default for Coercions {
    fn default() -> Self {
        Self::ALL
    }
}

/// The most passes over a value. A correction inside one branch may allow another elsewhere; few schemas need a second
/// pass.
const PASSES: usize = 8;
/// The depth to which schemas and values are followed. Nothing is corrected below it.
const DEPTH: usize = 256;
/// The depth that arguments may have, also after a string in them has become an array or object.
const VALUE_DEPTH: usize = 128;

/// Corrects a value and returns one line for each change, such as `/count: text to integer`.
pub(crate) fn coerce(value: &mut Value, schema: &Value, switches: Coercions) -> Vec<String> {
    let mut coercer = Coercer { root: schema, switches, notes: Vec::new(), branches: BranchValidators::new(schema) };
    for _ in 0..PASSES {
        let before = coercer.notes.len();
        coercer.value(value, &[schema], "", 0);
        if coercer.notes.len() == before {
            break;
        }
    }
    coercer.notes
}

struct Coercer<'a> {
    root: &'a Value,
    switches: Coercions,
    notes: Vec<String>,
    branches: BranchValidators<'a>,
}

impl<'a> Coercer<'a> {
    /// Corrects a value that must satisfy all of `schemas`.
    fn value(&mut self, value: &mut Value, schemas: &[&'a Value], pointer: &str, depth: usize) {
        if schemas.is_empty() || depth > DEPTH {
            return;
        }
        let view = SchemaView::of(schemas, self.root);
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
                    self.value(item, &view.item(position), &format!("{pointer}/{position}"), depth + 1);
                }
            }
            _ => {}
        }
        for branches in view.choices() {
            self.choose(value, branches, pointer, depth);
        }
    }

    fn object(&mut self, members: &mut Map<String, Value>, view: &SchemaView<'a>, pointer: &str, depth: usize) {
        if self.switches.null_as_absent {
            self.drop_nulls(members, view, pointer);
        }
        for (name, member) in members.iter_mut() {
            self.value(member, &view.property(name), &join_pointer(pointer, name), depth + 1);
        }
    }

    fn drop_nulls(&mut self, members: &mut Map<String, Value>, view: &SchemaView<'a>, pointer: &str) {
        let root = self.root;
        let means_absence = |name: &str| {
            !view.requires(name) && view.declared(name).into_iter().any(|schema| !allows_null(schema, root))
        };
        members.retain(|name, value| {
            let is_absent = value.is_null() && means_absence(name);
            if is_absent {
                self.notes.push(format!("{}: null to absent", shown(&join_pointer(pointer, name))));
            }
            !is_absent
        });
    }

    /// Corrects a value towards one branch, if no branch accepts it as it is and exactly one accepts it corrected.
    fn choose(&mut self, value: &mut Value, branches: &'a [Value], pointer: &str, depth: usize) {
        if !self.branches.spend(value, branches.len())
            || branches.iter().any(|branch| self.branches.accepts(branch, value))
        {
            return;
        }
        let mut found: Option<(Value, Vec<String>)> = None;
        for branch in branches {
            let mut copy = value.clone();
            let before = self.notes.len();
            self.value(&mut copy, &[branch], pointer, depth + 1);
            let notes = self.notes.split_off(before);
            if notes.is_empty() || !self.branches.accepts(branch, &copy) {
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

    /// Returns the value that a string spells, where a string is not expected, and the name of its type.
    fn read_text(&self, text: &str, types: TypeSet, pointer: &str) -> Option<(Value, &'static str)> {
        if types.has(TypeSet::STRING) {
            return None;
        }
        if self.switches.text_as_scalar {
            if types.has(TypeSet::BOOLEAN) && matches!(text, "true" | "false") {
                return Some((Value::Bool(text == "true"), "boolean"));
            }
            if types.has(TypeSet::FRACTION) {
                if let Some(number) = number(text) {
                    return Some((number.into(), "number"));
                }
            } else if types.has(TypeSet::INTEGER)
                && let Some(number) = integer(text)
            {
                return Some((number.into(), "integer"));
            }
        }
        if self.switches.text_as_json && (types.has(TypeSet::ARRAY) || types.has(TypeSet::OBJECT)) {
            let value = structure(text)?;
            let (wanted, kind) = if value.is_array() { (TypeSet::ARRAY, "array") } else { (TypeSet::OBJECT, "object") };
            let fits = depth(&value) + pointer.matches('/').count() < VALUE_DEPTH;
            return (fits && types.has(wanted)).then_some((value, kind));
        }
        None
    }
}

/// Returns a pointer as the notes show it.
fn shown(pointer: &str) -> String {
    if pointer.is_empty() { "arguments".to_owned() } else { truncate(pointer, 200) }
}

/// The number of values that may be validated against branches. Nested choices multiply; ordinary arguments need far
/// fewer.
const BRANCH_BUDGET: usize = 100_000;

/// The compiled branches of `anyOf` and `oneOf`, and the budget for trying them.
pub(crate) struct BranchValidators<'a> {
    root: &'a Value,
    /// By the address of the branch in the schema, which does not move while it is borrowed.
    compiled: HashMap<usize, Option<jsonschema::Validator>>,
    budget: usize,
}

impl<'a> BranchValidators<'a> {
    pub(crate) fn new(root: &'a Value) -> Self {
        Self { root, compiled: HashMap::new(), budget: BRANCH_BUDGET }
    }

    /// Spends the cost of validating a value against some branches. Returns false if the budget is exceeded.
    pub(crate) fn spend(&mut self, value: &Value, branches: usize) -> bool {
        let cost = size(value).saturating_mul(branches);
        let left = self.budget.checked_sub(cost);
        self.budget = left.unwrap_or(0);
        left.is_some()
    }

    /// Returns true if a branch accepts the value.
    pub(crate) fn accepts(&mut self, branch: &'a Value, value: &Value) -> bool {
        let root = self.root;
        let compiled =
            self.compiled.entry(std::ptr::from_ref(branch).addr()).or_insert_with(|| compile_branch(branch, root));
        compiled.as_ref().is_some_and(|compiled| compiled.is_valid(value))
    }
}

/// Compiles a subschema by itself, with the draft and the definitions of its root.
pub(crate) fn compile_branch(branch: &Value, root: &Value) -> Option<jsonschema::Validator> {
    let mut schema = Map::new();
    for keyword in ["$schema", "$defs", "definitions"] {
        if let Some(value) = root.get(keyword) {
            schema.insert(keyword.to_owned(), value.clone());
        }
    }
    schema.insert("allOf".to_owned(), Value::Array(vec![branch.clone()]));
    compile(&Value::Object(schema)).ok()
}

/// Returns the number of values in a value.
fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Object(members) => 1 + members.values().map(size).sum::<usize>(),
        _ => 1,
    }
}

/// Returns the integer that the text spells in any way: `5`, `5.0`, `1e2`. Returns `None` if a JSON number would not hold
/// it exactly.
fn integer(text: &str) -> Option<Number> {
    let value = NumberText::read(text)?.whole()?;
    match whole(value) {
        // A number beyond 64 bits is a float, which may hold it exactly.
        Value::Number(number) if exact(&number) == Some(value) => Some(number),
        _ => None,
    }
}

/// Returns the number that the text spells, as if it had no quotes. Plain digits must be held exactly. A number with a
/// point or an exponent is a float and rounded like any other.
fn number(text: &str) -> Option<Number> {
    let number = NumberText::read(text)?;
    let is_plain = number.fraction.is_empty() && number.exponent == 0;
    if !number.is_negative_zero() {
        match integer(text) {
            None if is_plain => return None,
            None => {}
            whole => return whole,
        }
    }
    let value: f64 = text.parse().ok()?;
    // A number too small for a float would become zero.
    if value == 0.0 && !number.is_zero() {
        return None;
    }
    Number::from_f64(value)
}

/// Returns the array or object whose JSON the text is.
fn structure(text: &str) -> Option<Value> {
    if !text.trim_start().starts_with(['[', '{']) {
        return None;
    }
    let parsed = value::parse(text).ok()?;
    (parsed.duplicates.is_empty() && parsed.rounded.is_none()).then_some(parsed.value)
}

/// Returns the depth of the nested arrays and objects.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// The parts of a JSON number.
struct NumberText<'a> {
    negative: bool,
    integer: &'a str,
    fraction: &'a str,
    exponent: i64,
}

impl<'a> NumberText<'a> {
    fn read(text: &'a str) -> Option<Self> {
        number_end(text, 0).ok().filter(|end| *end == text.len())?;
        let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
        let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        // A longer exponent is beyond any number that can be held.
        let beyond = if exponent.starts_with('-') { -1 << 40 } else { 1 << 40 };
        Some(Self { negative, integer, fraction, exponent: exponent.parse().unwrap_or(beyond) })
    }

    fn is_zero(&self) -> bool {
        self.integer.bytes().chain(self.fraction.bytes()).all(|digit| digit == b'0')
    }

    fn is_negative_zero(&self) -> bool {
        self.negative && self.is_zero()
    }

    /// Returns the value if it is an integer of up to 128 bits.
    fn whole(&self) -> Option<i128> {
        let digits = format!("{}{}", self.integer, self.fraction);
        let significant = digits.trim_end_matches('0');
        if significant.is_empty() {
            return Some(0);
        }
        let zeros = digits.len() - significant.len();
        let shift =
            self.exponent.checked_add_unsigned(zeros as u64)?.checked_sub_unsigned(self.fraction.len() as u64)?;
        let scale = 10_i128.checked_pow(u32::try_from(shift).ok()?)?;
        let value = significant.parse::<i128>().ok()?.checked_mul(scale)?;
        Some(if self.negative { -value } else { value })
    }
}
