//! The correction of a model's mistakes, where the schema shows a correction that loses nothing.

use crate::arguments::view::SchemaView;
use crate::json::number::{exact, number_end, whole};
use crate::json::pointer::Path;
use crate::json::value;
use crate::schema::compiled::CompiledSchema;
use crate::schema::evaluation::Evaluation;
use crate::schema::type_set::TypeSet;
use crate::schema::walk::address;
use rustc_hash::FxHashMap;
use serde_json::{Map, Number, Value};
use std::fmt;
use std::rc::Rc;

/// The mistakes of a model that are corrected before its arguments are checked. Defaults to [`Coercions::ALL`].
///
/// A correction loses nothing, does not change a value that the schema accepts, and is reported in
/// the call's `meta.coerced`. A `null` that the schema publishes as the default is not reported.
///
/// The [repair](Self::repair) of a text that is not JSON is off by default, as a broken text says
/// less surely what the model meant.
///
/// ```
/// use tool_core::arguments::Coercions;
/// use tool_core::{RunContext, ToolContext, tool};
///
/// /// Add two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_core::RegistryErrors> {
/// let arguments = r#"{"a": 1, "b": "2"}"#;
/// let tools = ToolContext::builder().with(add).build()?;
/// assert_eq!(tools.call("add", arguments, &RunContext::detached()).await.data_json(), Some("3"));
///
/// let tools = ToolContext::builder().with(add).coercions(Coercions::NONE).build()?;
/// assert!(!tools.call("add", arguments, &RunContext::detached()).await.is_ok());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent switch"
)]
#[non_exhaustive]
pub struct Coercions {
    /// Absent arguments, an empty text and `null` become `{}`.
    pub empty: bool,
    /// A JSON string that holds the JSON of an object becomes that object.
    pub double_encoded: bool,
    /// `null` for an optional property that does not accept `null` is removed.
    pub null_as_absent: bool,
    /// Members of the arguments of a tool without parameters are removed. Models make some up for
    /// such a tool.
    pub unknown_as_absent: bool,
    /// A string that is exactly a number, `true` or `false` becomes that value, where one is
    /// expected and a string is not.
    pub text_as_scalar: bool,
    /// A string that is the JSON of an array or object becomes that value, where one is expected
    /// and a string is not.
    pub text_as_json: bool,
    /// The tools whose arguments are repaired if they are nearly JSON.
    pub repair: JsonRepair,
}

/// The tools for which a text of arguments is repaired that is not JSON. Defaults to [`JsonRepair::Off`].
///
/// A repair covers other quotation marks, keys without quotes, line ends in strings, comments,
/// commas that are missing or too many, `True`, `False` and `None`, and a text around the object,
/// for example a code fence. A text that ends early stays an error, and so does one that could mean
/// two things. The schema decides about the result, and `meta.coerced` names the repairs.
///
/// ```
/// use tool_core::arguments::{Coercions, JsonRepair};
/// use tool_core::{RunContext, ToolContext, tool};
///
/// /// Search the shop.
/// #[tool(category = "retrieval")]
/// fn search(query: &str, limit: u32) -> String {
///     format!("{limit} results for {query}")
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_core::RegistryErrors> {
/// let coercions = Coercions::ALL.with_repair(JsonRepair::ReadOnly);
/// let tools = ToolContext::builder().with(search).coercions(coercions).build()?;
/// let response = tools.call("search", "{query: 'tea', limit: 5,}", &RunContext::detached()).await;
/// assert_eq!(response.data_json(), Some(r#""5 results for tea""#));
/// assert_eq!(
///     response.meta().coerced(),
///     ["arguments: repaired JSON: a key without quotes, other quotation marks, a comma before a closing bracket"]
/// );
///
/// // What was cut off is not completed.
/// assert!(!tools.call("search", "{query: 'tea', limit: 5", &RunContext::detached()).await.is_ok());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum JsonRepair {
    /// No tool.
    #[default]
    Off,
    /// Retrievals, unless they are marked destructive or need approval.
    ReadOnly,
    /// All tools but actions and those that are marked destructive or need approval.
    ExceptActions,
    /// All tools.
    All,
}

impl Coercions {
    /// Every correction of arguments that are JSON.
    pub const ALL: Self = Self {
        empty: true,
        double_encoded: true,
        null_as_absent: true,
        unknown_as_absent: true,
        text_as_scalar: true,
        text_as_json: true,
        repair: JsonRepair::Off,
    };
    /// No correction. Arguments are accepted exactly if the schema accepts them.
    pub const NONE: Self = Self {
        empty: false,
        double_encoded: false,
        null_as_absent: false,
        unknown_as_absent: false,
        text_as_scalar: false,
        text_as_json: false,
        repair: JsonRepair::Off,
    };

    /// Sets the tools whose arguments are repaired if they are nearly JSON.
    #[must_use]
    pub const fn with_repair(mut self, repair: JsonRepair) -> Self {
        self.repair = repair;
        self
    }
}

impl Default for Coercions {
    fn default() -> Self {
        Self::ALL
    }
}

/// The most passes over a value. A correction inside one branch may allow another elsewhere; few
/// schemas need a second pass.
const PASSES: usize = 8;
/// The depth to which schemas and values are followed. Nothing is corrected below it.
const DEPTH: usize = 256;
/// The depth that arguments may have, also after a string in them has become an array or object.
const VALUE_DEPTH: usize = 128;
/// The number of steps that correcting a value may take: schemas looked at, and values copied or
/// checked for a branch. Nothing is corrected after it.
const STEPS: usize = 100_000;
/// The number of corrections that an answer lists.
const MAX_NOTES: usize = 20;

/// Corrects a value, and adds one line for each change, for example `/count: text to integer`.
/// Returns true if there was one.
pub(crate) fn coerce(
    value: &mut Value,
    compiled: &CompiledSchema,
    switches: Coercions,
    notes: &mut Notes,
) -> bool {
    let branches = BranchTrials {
        compiled,
        steps: STEPS,
    };
    let root = compiled.root();
    let views = FxHashMap::default();
    let changes = notes.changes;
    let mut coercer = Coercer {
        root,
        views,
        switches,
        notes: std::mem::take(notes),
        branches,
        depth: 0,
    };
    for _ in 0..PASSES {
        let before = coercer.notes.changes;
        coercer.value(value, &[compiled.root()], &Path::ROOT);
        if coercer.notes.changes == before {
            break;
        }
    }
    *notes = coercer.notes;
    notes.changes > changes
}

/// The corrections of a value: the first in words, and the number of all.
#[derive(Default)]
pub(crate) struct Notes {
    lines: Vec<String>,
    /// The corrections that are reported.
    reported: usize,
    changes: usize,
}

impl Notes {
    /// Adds a correction of the value at a path.
    pub(crate) fn add(&mut self, path: &Path<'_>, change: impl fmt::Display) {
        if self.lines.len() < MAX_NOTES {
            let pointer = path.pointer();
            let place = if pointer.is_empty() {
                "arguments"
            } else {
                &pointer
            };
            self.lines.push(format!("{place}: {change}"));
        }
        self.reported += 1;
        self.changes += 1;
    }

    /// Counts a correction that the schema announces. It is not reported.
    fn add_documented(&mut self) {
        self.changes += 1;
    }

    /// Returns true if there was no correction.
    pub(crate) fn is_empty(&self) -> bool {
        self.changes == 0
    }

    /// Returns the lines. The last one counts the corrections that have none.
    pub(crate) fn into_lines(mut self) -> Vec<String> {
        if self.reported > MAX_NOTES {
            self.lines.truncate(MAX_NOTES - 1);
            self.lines.push(format!(
                "and {} more corrections",
                self.reported - self.lines.len()
            ));
        }
        self.lines
    }

    /// Returns the counts of this moment, for [`split_off`](Self::split_off).
    fn mark(&self) -> [usize; 3] {
        [self.lines.len(), self.reported, self.changes]
    }

    /// Takes the corrections since a mark out again.
    fn split_off(&mut self, [lines, reported, changes]: [usize; 3]) -> Self {
        let since = Self {
            lines: self.lines.split_off(lines),
            reported: self.reported - reported,
            changes: self.changes - changes,
        };
        (self.reported, self.changes) = (reported, changes);
        since
    }

    fn extend(&mut self, more: Self) {
        self.lines.extend(more.lines);
        self.reported += more.reported;
        self.changes += more.changes;
    }
}

struct Coercer<'a> {
    root: &'a Value,
    /// The views of single schemas by their addresses, because the items of an array share one.
    views: FxHashMap<usize, Rc<SchemaView<'a>>>,
    switches: Coercions,
    notes: Notes,
    branches: BranchTrials<'a>,
    /// The number of schemas that are being followed.
    depth: usize,
}

impl<'a> Coercer<'a> {
    /// Corrects a value that must satisfy all of `schemas`.
    fn value(&mut self, value: &mut Value, schemas: &[&'a Value], path: &Path<'_>) {
        if !schemas.is_empty() && self.branches.steps > 0 {
            let view = self.view(schemas);
            self.viewed(value, &view, path);
        }
    }

    fn view(&mut self, schemas: &[&'a Value]) -> Rc<SchemaView<'a>> {
        let view = || Rc::new(SchemaView::of(schemas, self.root));
        match schemas {
            [only] => Rc::clone(self.views.entry(address(only)).or_insert_with(view)),
            _ => view(),
        }
    }

    fn viewed(&mut self, value: &mut Value, view: &SchemaView<'a>, path: &Path<'_>) {
        if self.depth > DEPTH || !self.branches.spend(1 + view.parts.len()) {
            return;
        }
        self.depth += 1;
        if let Value::String(text) = value
            && let Some((better, kind)) = self.read_text(text, view.types(), path)
        {
            *value = better;
            self.notes.add(path, format_args!("text to {kind}"));
        }
        match value {
            Value::Object(members) => self.object(members, view, path),
            Value::Array(items) => self.array(items, view, path),
            _ => {}
        }
        for branches in view.choices() {
            self.choose(value, branches, path);
        }
        self.depth -= 1;
    }

    fn array(&mut self, items: &mut [Value], view: &SchemaView<'a>, path: &Path<'_>) {
        let prefix = view.prefix();
        let schemas = view.item(usize::MAX);
        let rest = self.view(&schemas);
        for (position, item) in items.iter_mut().enumerate() {
            let path = path.index(position);
            if position < prefix {
                self.value(item, &view.item(position), &path);
            } else if !schemas.is_empty() {
                self.viewed(item, &rest, &path);
            }
        }
    }

    fn object(&mut self, members: &mut Map<String, Value>, view: &SchemaView<'a>, path: &Path<'_>) {
        if self.switches.null_as_absent && members.values().any(Value::is_null) {
            self.drop_nulls(members, view, path);
        }
        for (name, member) in members.iter_mut() {
            self.value(member, &view.property(name), &path.key(name));
        }
    }

    fn drop_nulls(
        &mut self,
        members: &mut Map<String, Value>,
        view: &SchemaView<'a>,
        path: &Path<'_>,
    ) {
        let required = view.required();
        if !self.branches.spend(required.len()) {
            return;
        }
        members.retain(|name, value| {
            if !value.is_null() || required.contains(name.as_str()) {
                return true;
            }
            let declared = view.declared(name);
            let is_absent = declared
                .iter()
                .any(|schema| self.branches.refuses(schema, &Value::Null));
            if is_absent
                && declared
                    .iter()
                    .any(|schema| schema.get("default").is_some_and(Value::is_null))
            {
                self.notes.add_documented();
            } else if is_absent {
                self.notes.add(&path.key(name), "null to absent");
            }
            !is_absent
        });
    }

    /// Corrects a value towards one branch, if no branch accepts it as it is and exactly one
    /// accepts it corrected.
    fn choose(&mut self, value: &mut Value, branches: &'a [Value], path: &Path<'_>) {
        if branches
            .iter()
            .any(|branch| self.branches.accepts(branch, value))
        {
            return;
        }
        let mut found: Option<(Value, Notes)> = None;
        for branch in branches {
            let Some(mut copy) = self.branches.copy(value) else {
                return;
            };
            let mark = self.notes.mark();
            self.value(&mut copy, &[branch], path);
            let notes = self.notes.split_off(mark);
            if notes.changes == 0 || !self.branches.accepts(branch, &copy) {
                continue;
            }
            if found.is_some() {
                return;
            }
            found = Some((copy, notes));
        }
        if let Some((better, notes)) = found.filter(|_| self.branches.steps > 0) {
            *value = better;
            self.notes.extend(notes);
        }
    }

    /// Returns the value that a string spells, where a string is not expected, and the name of its
    /// type.
    fn read_text(
        &self,
        text: &str,
        types: TypeSet,
        path: &Path<'_>,
    ) -> Option<(Value, &'static str)> {
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
            let (wanted, kind) = if value.is_array() {
                (TypeSet::ARRAY, "array")
            } else {
                (TypeSet::OBJECT, "object")
            };
            let fits = depth(&value) + path.depth() < VALUE_DEPTH;
            return (fits && types.has(wanted)).then_some((value, kind));
        }
        None
    }
}

/// The trial of values against branches, in a limited number of steps.
pub(crate) struct BranchTrials<'a> {
    pub(crate) compiled: &'a CompiledSchema,
    /// The steps that are left.
    pub(crate) steps: usize,
}

impl<'a> BranchTrials<'a> {
    /// Takes some steps. Returns false if they are not left.
    pub(crate) fn spend(&mut self, steps: usize) -> bool {
        let left = self.steps.checked_sub(steps);
        self.steps = left.unwrap_or(0);
        left.is_some()
    }

    /// Returns true if a branch accepts the value. Without enough steps, no branch does.
    pub(crate) fn accepts(&mut self, branch: &'a Value, value: &Value) -> bool {
        self.verdict(branch, value) == Some(true)
    }

    /// Returns true if a branch refuses the value. Without enough steps, no branch does.
    fn refuses(&mut self, branch: &'a Value, value: &Value) -> bool {
        self.verdict(branch, value) == Some(false)
    }

    /// Returns whether a branch accepts the value; `None` without enough steps.
    fn verdict(&mut self, branch: &'a Value, value: &Value) -> Option<bool> {
        let mut evaluation = Evaluation::with_steps(self.compiled, self.steps);
        let verdict = evaluation.accepts_by(branch, value);
        self.steps = evaluation.steps();
        verdict.ok()
    }

    /// Copies a value, if there are enough steps.
    pub(crate) fn copy(&mut self, value: &Value) -> Option<Value> {
        self.spend_size(value).then(|| value.clone())
    }

    fn spend_size(&mut self, value: &Value) -> bool {
        let inside = match value {
            Value::Array(items) => items.iter().all(|item| self.spend_size(item)),
            Value::Object(members) => members.values().all(|member| self.spend_size(member)),
            Value::String(text) => self.spend(text.len() / 64),
            _ => true,
        };
        inside && self.spend(1)
    }
}

/// Returns the integer that the text spells in any way: `5`, `5.0`, `1e2`. Returns `None` if a JSON
/// number would not hold it exactly.
fn integer(text: &str) -> Option<Number> {
    let value = NumberText::read(text)?.whole()?;
    match whole(value) {
        // A number beyond 64 bits is a float, which may hold it exactly.
        Value::Number(number) if exact(&number) == Some(value) => Some(number),
        _ => None,
    }
}

/// Returns the number that the text spells, as if it had no quotes. Plain digits must be held
/// exactly. A number with a point or an exponent is a float and rounded like any other.
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
        let (negative, rest) = text
            .strip_prefix('-')
            .map_or((false, text), |rest| (true, rest));
        let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
        let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        // A longer exponent is beyond any number that can be held.
        let beyond = if exponent.starts_with('-') {
            -1 << 40
        } else {
            1 << 40
        };
        Some(Self {
            negative,
            integer,
            fraction,
            exponent: exponent.parse().unwrap_or(beyond),
        })
    }

    fn is_zero(&self) -> bool {
        self.integer
            .bytes()
            .chain(self.fraction.bytes())
            .all(|digit| digit == b'0')
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
        let shift = self
            .exponent
            .checked_add_unsigned(zeros as u64)?
            .checked_sub_unsigned(self.fraction.len() as u64)?;
        let scale = 10_i128.checked_pow(u32::try_from(shift).ok()?)?;
        let value = significant.parse::<i128>().ok()?.checked_mul(scale)?;
        Some(if self.negative { -value } else { value })
    }
}
