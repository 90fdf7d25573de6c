//! Schemas and values in a few words.

use crate::schema::normalize::ASSERTED_FORMATS;
use crate::schema::walk;
use serde_json::{Map, Value};

/// How long a value is shown, in characters.
const SHOWN: usize = 60;

/// A value, shortened at a character.
pub(crate) fn value_in_words(value: &Value) -> String {
    shortened(&value.to_string(), SHOWN)
}

/// A text cut to `limit` characters.
pub(crate) fn shortened(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
    }
}

/// What the schema wants, with its article: "an integer from 5 to 480".
pub(crate) fn schema(schema: &Value, root: &Value) -> String {
    words(schema, root, 3)
}

fn words(schema: &Value, root: &Value, depth: usize) -> String {
    let Some(map) = walk::follow(root, schema).as_object() else { return "a value".to_owned() };
    let Some(depth) = depth.checked_sub(1) else { return "a value".to_owned() };
    if let Some(value) = map.get("const") {
        return value_in_words(value);
    }
    if let Some(values) = map.get("enum").and_then(Value::as_array) {
        return one_of(values);
    }
    if let Some(kinds) = map.get("type") {
        return of_types(map, kinds, root, depth);
    }
    if let Some(name) = map.get("$ref").and_then(Value::as_str).and_then(|name| walk::resolve(root, name)) {
        return words(name, root, depth);
    }
    let branches = ["anyOf", "oneOf"].iter().find_map(|keyword| map.get(*keyword)?.as_array());
    match branches {
        Some(branches) => alternatives(branches.iter().map(|branch| words(branch, root, depth))),
        None => "a value".to_owned(),
    }
}

/// Different words joined by "or"; beyond four they tell no more than that there is a choice.
pub(crate) fn alternatives(words: impl Iterator<Item = String>) -> String {
    let mut distinct: Vec<String> = Vec::new();
    for word in words {
        if !distinct.contains(&word) {
            distinct.push(word);
        }
    }
    let hidden = distinct.len().saturating_sub(4);
    distinct.truncate(4);
    if hidden > 0 {
        distinct.push(format!("one of {hidden} more shapes"));
    }
    distinct.join(" or ")
}

/// `one of "a", "b"`, or the only value there is.
pub(crate) fn one_of(values: &[Value]) -> String {
    let shown: Vec<String> = values.iter().take(20).map(value_in_words).collect();
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
            alternatives(kinds.iter().filter_map(Value::as_str).map(|kind| of_type(map, kind, root, depth)))
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
            Some(items) => format!("an array, each item {}", words(items, root, depth)),
            None => "an array".to_owned(),
        },
        "array" => "an array".to_owned(),
        "object" => object(map),
        other => format!("`{other}`"),
    }
}

/// An object by the names that it cannot do without: they tell one shape from another.
fn object(map: &Map<String, Value>) -> String {
    let required = map.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let names: Vec<String> =
        required.iter().take(5).filter_map(Value::as_str).map(|name| format!("`{name}`")).collect();
    if names.is_empty() { "an object".to_owned() } else { format!("an object with {}", names.join(", ")) }
}

fn text(map: &Map<String, Value>) -> String {
    if let Some(name) = map.get("format").and_then(Value::as_str).filter(|name| ASSERTED_FORMATS.contains(name)) {
        return format(name);
    }
    if let Some(pattern) = map.get("pattern").and_then(Value::as_str) {
        return format!("a string that matches `{pattern}`");
    }
    "a string".to_owned()
}

/// What a format means, with an example where its name does not say it.
pub(crate) fn format(name: &str) -> String {
    match name {
        "date-time" => "a date and time by RFC 3339, such as \"2026-01-31T09:00:00Z\"".to_owned(),
        "date" => "a date, such as \"2026-01-31\"".to_owned(),
        "time" => "a time of day with its offset, such as \"09:00:00Z\"".to_owned(),
        "duration" => "a duration by ISO 8601, such as \"PT30M\"".to_owned(),
        "email" => "an e-mail address".to_owned(),
        "hostname" => "a host name".to_owned(),
        "ipv4" => "an IPv4 address".to_owned(),
        "ipv6" => "an IPv6 address".to_owned(),
        "uuid" => "a UUID".to_owned(),
        other => format!("a text of the format `{other}`"),
    }
}

fn range(map: &Map<String, Value>) -> String {
    // The bounds of 32 and 64 bits are no advice to anyone.
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

/// `1 item`, `3 items`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    match (count, noun) {
        (1, _) => format!("1 {noun}"),
        (_, "property") => format!("{count} properties"),
        _ => format!("{count} {noun}s"),
    }
}
