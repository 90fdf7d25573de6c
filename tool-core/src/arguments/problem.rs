//! The problems of arguments, and the words in which a model reads of them.

use crate::json::pointer::cut_pointer;
use crate::json::writer::JsonWriter;
use crate::schema::constraints::ASSERTED_FORMATS;
use crate::schema::walk;
use crate::text::truncate;
use serde::Serialize;
use serde_json::{Map, Value};
use std::fmt;
use std::fmt::Write as _;

/// One problem of the arguments of a call, worded for a model.
///
/// Displayed as one line: `` `/duration_minutes`: expected a number of at least 5, got 3 ``.
///
/// ```
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
/// let tools = ToolContext::builder().with(add).build()?;
/// let response = tools.call("add", r#"{"a": "x", "c": 1}"#, &RunContext::detached()).await;
/// let pointers = response.meta().problems().iter().map(|problem| problem.pointer.as_str()).collect::<Vec<_>>();
/// assert_eq!(pointers, ["/a", "/b", "/c"]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct Problem {
    /// A JSON pointer into the arguments; empty for the arguments as a whole.
    pub pointer: String,
    /// The expected value; empty if no value is accepted there, as for an unknown parameter.
    pub expected: String,
    /// The value that was sent, shortened.
    pub got: String,
    /// The way to fix it, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Problem {
    pub(crate) fn new(
        pointer: impl Into<String>,
        expected: impl Into<String>,
        got: impl Into<String>,
    ) -> Self {
        let pointer = cut_pointer(&pointer.into());
        Self {
            pointer,
            expected: cut(expected.into()),
            got: cut(got.into()),
            hint: None,
        }
    }

    /// Reports an absent required property.
    pub(crate) fn missing(pointer: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::new(pointer, expected, MISSING)
    }

    /// Reports a value that nests deeper than recursion, or a store, can follow.
    pub(crate) fn too_deep(limit: usize) -> Self {
        Self::new("", format!("at most {limit} nested levels"), "more")
    }

    /// Reports a value that a Rust type refuses although the schema accepts it.
    pub(crate) fn refused(pointer: impl Into<String>, reason: &str) -> Self {
        let problem = Self::new(pointer, "", format!("{REFUSED}{reason}"));
        // What the standard library says of an address is not enough to write one.
        match reason {
            "invalid socket address syntax" => {
                problem.hint("write an address and a port, such as \"192.0.2.1:80\"")
            }
            "invalid IP address syntax" => {
                problem.hint("write an address such as \"192.0.2.1\" or \"2001:db8::1\"")
            }
            _ => problem,
        }
    }

    /// Returns true if a Rust type refuses a value that the schema accepts.
    pub(crate) fn is_refused(&self) -> bool {
        self.expected.is_empty() && self.got.starts_with(REFUSED)
    }

    /// Returns the line for a list of settings, which names its subject itself.
    pub(crate) fn in_settings(&self) -> String {
        if self.pointer.is_empty() {
            self.text()
        } else {
            self.to_string()
        }
    }

    /// Returns true if the problem is that the value at this place is missing.
    pub(crate) fn is_missing(&self, pointer: &str) -> bool {
        self.pointer == pointer && self.got == MISSING
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(cut(hint.into()));
        self
    }

    /// Returns the line without its place.
    pub(crate) fn text(&self) -> String {
        let mut text = match (self.expected.as_str(), self.got.as_str()) {
            ("", got) => got.to_owned(),
            (expected, MISSING) => format!("missing, expected {expected}"),
            (expected, got) => format!("expected {expected}, got {got}"),
        };
        if let Some(hint) = &self.hint {
            text.push_str(", ");
            text.push_str(hint);
        }
        text
    }
}

const MISSING: &str = "nothing";
const REFUSED: &str = "refused: ";

/// The number of characters in each text of a problem.
const MAX_TEXT: usize = 2_000;

fn cut(text: String) -> String {
    if text.len() <= MAX_TEXT {
        text
    } else {
        truncate(&text, MAX_TEXT)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pointer.as_str() {
            "" => write!(f, "arguments: {}", self.text()),
            pointer => write!(f, "`{pointer}`: {}", self.text()),
        }
    }
}

impl std::error::Error for Problem {}

/// The number of problems that an answer lists.
pub(crate) const LISTED: usize = 20;
/// The number of problems that are looked for. An answer counts those that it does not list.
pub(crate) const MAX_PROBLEMS: usize = 40;

/// Returns the answer to a model: the problems, and an example of valid arguments if one is known.
pub(crate) fn report(tool: &str, problems: &[Problem], example: Option<&Value>) -> String {
    let mut text = format!("invalid arguments for `{tool}`:");
    for problem in problems.iter().take(LISTED) {
        let place = if problem.pointer.is_empty() {
            "arguments"
        } else {
            &problem.pointer
        };
        let _ = write!(text, "\n- {place}: {}", problem.text());
    }
    let _ = match problems.len().saturating_sub(LISTED) {
        0 => Ok(()),
        more if problems.len() >= MAX_PROBLEMS => write!(text, "\nand at least {more} more"),
        more => write!(text, "\nand {more} more"),
    };
    if let Some(example) = example {
        let _ = write!(text, "\nexample of valid arguments: {example}");
    }
    text
}

/// Returns the known name that was probably meant: one that differs in case or separators, is the
/// beginning or the end of `name` or the other way round, or is a few letters off. Returns the
/// first of several equally near names.
///
/// ```
/// use tool_core::arguments::nearest;
///
/// let known = ["create_event", "delete_event"];
/// assert_eq!(nearest("createEvent", known), Some("create_event"));
/// assert_eq!(nearest("weather", known), None);
/// ```
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters = letters_of(name);
    let near = known
        .into_iter()
        .filter_map(|known| Some((distance(&letters, &letters_of(known))?, known)));
    near.min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

fn letters_of(name: &str) -> String {
    // The comparison is quadratic, so the length of a name is bounded.
    name.chars()
        .filter(|letter| letter.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .take(80)
        .collect()
}

/// Returns the distance between two names, or `None` if they are too far apart for a suggestion.
fn distance(left: &str, right: &str) -> Option<usize> {
    if left.is_empty() || right.is_empty() {
        return None;
    }
    let ((least, short), (most, long)) = {
        let [left, right] = [left, right].map(|name| (name.chars().count(), name));
        if left < right {
            (left, right)
        } else {
            (right, left)
        }
    };
    let longer_by = most - least;
    let max_edits = 1.max(most / 3);
    // The comparison is the cost of an unknown name where there are many tools, and a difference in
    // length is an edit each.
    if longer_by <= max_edits {
        let edits = strsim::osa_distance(left, right);
        if edits <= max_edits && edits < least {
            return Some(edits);
        }
    }
    // A shortened name such as `start` for `start_time` counts as farther than a typing error.
    (least >= 3 && (long.starts_with(short) || long.ends_with(short))).then_some(longer_by.max(4))
}

/// The number of characters that are shown of a value.
const SHOWN: usize = 60;

/// Returns the JSON of a value, shortened.
pub(crate) fn describe_value(value: &Value) -> String {
    // The writer ends once enough is there. A character has at most four bytes.
    let mut writer = JsonWriter::new(4 * (SHOWN + 1));
    let _ = value.serialize(&mut writer);
    truncate(&writer.into_text(), SHOWN)
}

/// Returns the values that a schema accepts, with an article: "an integer from 5 to 480".
pub(crate) fn describe_schema(schema: &Value, root: &Value) -> String {
    describe(schema, root, 3)
}

fn describe(schema: &Value, root: &Value, depth: usize) -> String {
    let Some(map) = walk::follow(root, schema).as_object() else {
        return "a value".to_owned();
    };
    let Some(depth) = depth.checked_sub(1) else {
        return "a value".to_owned();
    };
    if let Some(value) = map.get("const") {
        return describe_value(value);
    }
    if let Some(values) = map.get("enum").and_then(Value::as_array) {
        return describe_choice(values);
    }
    if map.contains_key("type") {
        let kinds: Vec<_> = walk::type_names(map).collect();
        return join_alternatives(&kinds, |kind| of_type(map, kind, root, depth));
    }
    if let Some(target) = walk::referenced(map, root) {
        return describe(target, root, depth);
    }
    if let Some(branches) = branches_of(map) {
        return join_alternatives(branches, |branch| describe(branch, root, depth));
    }
    match implied_type(map) {
        Some(kind) => of_type(map, kind, root, depth),
        None => "a value".to_owned(),
    }
}

fn branches_of(map: &Map<String, Value>) -> Option<&[Value]> {
    ["anyOf", "oneOf"]
        .iter()
        .find_map(|keyword| map.get(*keyword)?.as_array())
        .map(Vec::as_slice)
}

/// Returns the type of the values that the keywords of a schema without `type` are about.
fn implied_type(map: &Map<String, Value>) -> Option<&'static str> {
    let has = |keywords: &[&str]| keywords.iter().any(|keyword| map.contains_key(*keyword));
    match () {
        () if has(&["format", "pattern", "minLength", "maxLength"]) => Some("string"),
        () if has(&[
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
        ]) =>
        {
            Some("number")
        }
        () if has(&[
            "items",
            "prefixItems",
            "minItems",
            "maxItems",
            "uniqueItems",
        ]) =>
        {
            Some("array")
        }
        () if has(&[
            "properties",
            "required",
            "patternProperties",
            "minProperties",
            "maxProperties",
        ]) =>
        {
            Some("object")
        }
        () => None,
    }
}

/// The number of alternatives that are described.
const DESCRIBED: usize = 32;

/// Joins the distinct descriptions of alternatives by "or". Of more than four, the rest is only
/// counted.
pub(crate) fn join_alternatives<T>(alternatives: &[T], describe: impl Fn(&T) -> String) -> String {
    let mut distinct: Vec<String> = Vec::new();
    for word in alternatives.iter().take(DESCRIBED).map(describe) {
        if !distinct.contains(&word) {
            distinct.push(word);
        }
    }
    let hidden = distinct.len().saturating_sub(4) + alternatives.len().saturating_sub(DESCRIBED);
    distinct.truncate(4);
    if hidden > 0 {
        distinct.push(format!("one of {hidden} more forms"));
    }
    distinct.join(" or ")
}

/// Returns `one of "a", "b"`, or the only value.
pub(crate) fn describe_choice(values: &[Value]) -> String {
    let shown: Vec<String> = values.iter().take(20).map(describe_value).collect();
    let more = values.len().saturating_sub(20);
    match (shown.as_slice(), more) {
        ([only], 0) => only.clone(),
        (_, 0) => format!("one of {}", shown.join(", ")),
        (_, more) => format!("one of {} and {more} more", shown.join(", ")),
    }
}

fn of_type(map: &Map<String, Value>, kind: &str, root: &Value, depth: usize) -> String {
    match kind {
        "integer" => format!("an integer{}", range(map)),
        "number" => format!("a number{}", range(map)),
        "string" => text(map, root, depth),
        "boolean" => "`true` or `false`".to_owned(),
        "null" => "`null`".to_owned(),
        "array" => array(map, root, depth),
        "object" => object(map),
        other => format!("`{other}`"),
    }
}

/// The number of items of a tuple that are described.
const TUPLE: usize = 4;

/// Describes an array by its length, where that is fixed, and by its items.
fn array(map: &Map<String, Value>, root: &Value, depth: usize) -> String {
    let length = exactly(map, "minItems", "maxItems");
    let counted = length.map_or_else(
        || "an array".to_owned(),
        |length| format!("an array of {}", count_noun(length, "item")),
    );
    if depth == 0 {
        return counted;
    }
    let first = map
        .get("prefixItems")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    if !first.is_empty() && first.len() <= TUPLE && length == Some(first.len() as u64) {
        let items: Vec<String> = first
            .iter()
            .map(|item| describe(item, root, depth))
            .collect();
        return format!("{counted}: {}", items.join(", "));
    }
    match map.get("items").filter(|items| items.is_object()) {
        Some(items) => format!("{counted}, each item {}", describe(items, root, depth)),
        None => counted,
    }
}

/// Returns the only count that two keywords allow.
fn exactly(map: &Map<String, Value>, least: &str, most: &str) -> Option<u64> {
    let least = map.get(least)?.as_u64()?;
    (map.get(most)?.as_u64()? == least).then_some(least)
}

/// Describes an object by its required properties, which distinguish the branches of a choice, or
/// by its names.
fn object(map: &Map<String, Value>) -> String {
    let required = map
        .get("required")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    let names: Vec<String> = required
        .iter()
        .take(5)
        .filter_map(Value::as_str)
        .map(|name| format!("`{}`", truncate(name, SHOWN)))
        .collect();
    if !names.is_empty() {
        return format!("an object with {}", names.join(", "));
    }
    match describe_names(map) {
        Some(names) => format!("an object whose {names}"),
        None => "an object".to_owned(),
    }
}

/// The patterns by which schemars describes the keys of a map with numbers as keys, and others for
/// the same.
const NATURAL_NAMES: &[&str] = &["^(0|[1-9]\\d*)$", "^\\d+$", "^[0-9]+$"];
const INTEGER_NAMES: &[&str] = &["^(0|-?[1-9]\\d*)$", "^-?\\d+$", "^-?[0-9]+$"];

/// Describes the names of an object that has no others than those that match a pattern.
pub(crate) fn describe_names(map: &Map<String, Value>) -> Option<String> {
    let is_open = map.get("additionalProperties") != Some(&Value::Bool(false));
    let named = map
        .get("properties")
        .and_then(Value::as_object)
        .is_some_and(|named| !named.is_empty());
    if is_open || named {
        return None;
    }
    let patterns = map.get("patternProperties")?.as_object()?;
    let all = |known: &[&str]| {
        patterns
            .keys()
            .all(|pattern| known.contains(&pattern.as_str()))
    };
    if patterns.is_empty() {
        return None;
    }
    if all(NATURAL_NAMES) {
        return Some("keys are whole numbers as text, such as \"7\"".to_owned());
    }
    if all(INTEGER_NAMES) {
        return Some("keys are whole numbers as text, such as \"7\" or \"-7\"".to_owned());
    }
    let patterns: Vec<String> = patterns
        .keys()
        .take(3)
        .map(|pattern| format!("`{}`", truncate(pattern, SHOWN)))
        .collect();
    Some(format!("keys match {}", patterns.join(" or ")))
}

fn text(map: &Map<String, Value>, root: &Value, depth: usize) -> String {
    if let Some(name) = map
        .get("format")
        .and_then(Value::as_str)
        .filter(|name| ASSERTED_FORMATS.contains(name))
    {
        return describe_format(name);
    }
    if let Some(pattern) = map.get("pattern").and_then(Value::as_str) {
        return format!("a string that matches `{pattern}`");
    }
    // An address is of one of two formats.
    let forms = branches_of(map).filter(|_| depth > 0).unwrap_or_default();
    let is_text = |form: &Value| form.as_object().and_then(implied_type) == Some("string");
    if !forms.is_empty() && forms.iter().all(is_text) {
        return join_alternatives(forms, |form| describe(form, root, depth));
    }
    match exactly(map, "minLength", "maxLength") {
        Some(length) => format!("a string of {}", count_noun(length, "character")),
        None => "a string".to_owned(),
    }
}

/// Describes a format, with an example if its name alone does not say enough.
pub(crate) fn describe_format(name: &str) -> String {
    match name {
        "date-time" => "an RFC 3339 date and time, such as \"2026-01-31T09:00:00Z\"".to_owned(),
        "date" => "a date, such as \"2026-01-31\"".to_owned(),
        "time" => "a time of day with its offset, such as \"09:00:00Z\"".to_owned(),
        "duration" => "an ISO 8601 duration, such as \"PT30M\"".to_owned(),
        "email" => "an e-mail address".to_owned(),
        "hostname" => "a host name".to_owned(),
        "ipv4" => "an IPv4 address".to_owned(),
        "ipv6" => "an IPv6 address".to_owned(),
        "uuid" => "a UUID".to_owned(),
        other => format!("a string in the format `{other}`"),
    }
}

fn range(map: &Map<String, Value>) -> String {
    // The bounds of 32 and 64 bits do not help a model.
    let bound = |keyword: &str| {
        map.get(keyword).filter(|limit| {
            limit
                .as_f64()
                .is_some_and(|limit| limit.abs() < 2_147_483_647.0)
        })
    };
    match (
        bound("minimum"),
        bound("maximum"),
        bound("exclusiveMaximum"),
    ) {
        (Some(low), Some(high), _) => format!(" from {low} to {high}"),
        (Some(low), None, Some(high)) => format!(" from {low} to below {high}"),
        (Some(low), None, None) => format!(" of at least {low}"),
        (None, Some(high), _) => format!(" of at most {high}"),
        (None, None, Some(high)) => format!(" below {high}"),
        (None, None, None) => String::new(),
    }
}

/// Returns a count with its noun: `1 item`, `3 items`.
pub(crate) fn count_noun(count: u64, noun: &str) -> String {
    match (count, noun) {
        (1, _) => format!("1 {noun}"),
        (_, "property") => format!("{count} properties"),
        _ => format!("{count} {noun}s"),
    }
}
