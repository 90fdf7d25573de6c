//! Descriptions of schemas and values in a few words, for messages to a model.

use crate::schema::normalize::ASSERTED_FORMATS;
use crate::schema::walk;
use crate::text::truncate;
use serde_json::{Map, Value};

/// The number of characters that are shown of a value.
const SHOWN: usize = 60;

/// Returns the JSON of a value, shortened.
pub(crate) fn describe_value(value: &Value) -> String {
    truncate(&value.to_string(), SHOWN)
}

/// Returns the values that a schema accepts, with an article: "an integer from 5 to 480".
pub(crate) fn describe_schema(schema: &Value, root: &Value) -> String {
    describe(schema, root, 3)
}

fn describe(schema: &Value, root: &Value, depth: usize) -> String {
    let Some(map) = walk::follow(root, schema).as_object() else { return "a value".to_owned() };
    let Some(depth) = depth.checked_sub(1) else { return "a value".to_owned() };
    if let Some(value) = map.get("const") {
        return describe_value(value);
    }
    if let Some(values) = map.get("enum").and_then(Value::as_array) {
        return describe_choice(values);
    }
    if let Some(kinds) = map.get("type") {
        return of_types(map, kinds, root, depth);
    }
    if let Some(name) = map.get("$ref").and_then(Value::as_str).and_then(|name| walk::resolve(root, name)) {
        return describe(name, root, depth);
    }
    let branches = ["anyOf", "oneOf"].iter().find_map(|keyword| map.get(*keyword)?.as_array());
    match branches {
        Some(branches) => join_alternatives(branches.iter().map(|branch| describe(branch, root, depth))),
        None => "a value".to_owned(),
    }
}

/// Joins distinct descriptions by "or". Of more than four, the rest is only counted.
pub(crate) fn join_alternatives(words: impl Iterator<Item = String>) -> String {
    let mut distinct: Vec<String> = Vec::new();
    for word in words {
        if !distinct.contains(&word) {
            distinct.push(word);
        }
    }
    let hidden = distinct.len().saturating_sub(4);
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

fn of_types(map: &Map<String, Value>, kinds: &Value, root: &Value, depth: usize) -> String {
    match kinds {
        Value::String(kind) => of_type(map, kind, root, depth),
        Value::Array(kinds) => {
            join_alternatives(kinds.iter().filter_map(Value::as_str).map(|kind| of_type(map, kind, root, depth)))
        }
        _ => "a value".to_owned(),
    }
}

fn of_type(map: &Map<String, Value>, kind: &str, root: &Value, depth: usize) -> String {
    match kind {
        "integer" => format!("an integer{}", range(map)),
        "number" => format!("a number{}", range(map)),
        "string" => text(map),
        "boolean" => "`true` or `false`".to_owned(),
        "null" => "`null`".to_owned(),
        "array" if depth > 0 => match map.get("items").filter(|items| items.is_object()) {
            Some(items) => format!("an array, each item {}", describe(items, root, depth)),
            None => "an array".to_owned(),
        },
        "array" => "an array".to_owned(),
        "object" => object(map),
        other => format!("`{other}`"),
    }
}

/// Describes an object by its required properties, which distinguish the branches of a choice.
fn object(map: &Map<String, Value>) -> String {
    let required = map.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let names: Vec<String> =
        required.iter().take(5).filter_map(Value::as_str).map(|name| format!("`{name}`")).collect();
    if names.is_empty() { "an object".to_owned() } else { format!("an object with {}", names.join(", ")) }
}

fn text(map: &Map<String, Value>) -> String {
    if let Some(name) = map.get("format").and_then(Value::as_str).filter(|name| ASSERTED_FORMATS.contains(name)) {
        return describe_format(name);
    }
    if let Some(pattern) = map.get("pattern").and_then(Value::as_str) {
        return format!("a string that matches `{pattern}`");
    }
    "a string".to_owned()
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
        map.get(keyword).filter(|limit| limit.as_f64().is_some_and(|limit| limit.abs() < 2_147_483_647.0))
    };
    match (bound("minimum"), bound("maximum"), bound("exclusiveMaximum")) {
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
