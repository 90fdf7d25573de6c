//! Where the tools and the `jsonschema` crate differ on purpose, each with its reason.
//!
//! All are of one kind: the type refuses what its schema has no words for, or what the crate sees through a float.
//! Nothing may be taken that the schema refuses.

use crate::json::Json;
use serde_json::Value;

/// Whether a whole number of more than 64 bits is in it that a float rounds. The crate sees the float: to it the
/// number one below the least `i64` is the least `i64`. The tools see the digits.
pub(crate) fn rounds(sent: &Json) -> bool {
    match sent {
        Json::Raw(text) => {
            let whole = text.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit());
            let held = sent
                .value()
                .is_some_and(|value| !value.is_f64() || format!("{:.0}", value.as_f64().unwrap_or(0.0)) == *text);
            whole && !held
        }
        // A text of JSON; reading it would lose the digits that are looked for.
        Json::Text(text) => text.split(|letter: char| !letter.is_ascii_digit()).any(|digits| digits.len() > 18),
        Json::List(items) => items.iter().any(rounds),
        Json::Object(entries) => entries.iter().any(|(_, value)| rounds(value)),
    }
}

/// Tools with a type that serde copies first.
const COPIED: &[&str] = &[
    "flattened",
    "flattened_closed",
    "flattened_aliased",
    "untagged",
    "narrow",
    "option_narrow",
    "holder",
    "internal",
    "adjacent",
    "flattened_enum",
];

/// Whether the tool may refuse what the schema accepts.
pub(crate) fn may_refuse(tool: &str, value: &Value) -> bool {
    // `jiff` ends 26 hours before the year 10,000 does, and `format: date-time` cannot say so. And the crate takes some
    // characters just below `0` for digits of the year.
    let last_days = |text: &str| text.starts_with("9999-12-3") || text.starts_with(['-', '+', '.', '/', ',']);
    // schemars writes the keys of any unsigned type as digits, and those of an enum with documented variants or of a
    // `char` as any text: the width and the names are not in the schema.
    let wide_key = |key: &str| key.parse::<u32>().is_err();
    // serde copies what is flattened or untagged before it knows the type, and hands a negative zero on as a float,
    // which no integer takes. Telling the two zeros apart matters more to floats.
    if COPIED.contains(&tool) && negative_zero(value) {
        return true;
    }
    match tool {
        "timestamp" | "option_timestamp" => text_in(value, "value").is_some_and(last_days),
        "create_event" => text_in(value, "start_time").is_some_and(last_days),
        "map_by_u32" => keys(value).any(wide_key),
        "map_by_i64" => keys(value).any(|key| key.parse::<i64>().is_err()),
        "map_by_documented" => keys(value).any(|key| !matches!(key, "One" | "Two" | "Three")),
        "map_by_char" => keys(value).any(|key| key.chars().count() != 1),
        // The standard library's `Duration` refuses members that it does not know, and more seconds than 64 bits hold
        // once the nanoseconds are carried over; what schemars writes says neither.
        "duration" | "option_duration" => {
            let most = value.pointer("/value/secs").and_then(Value::as_f64);
            keys(value).any(|key| key != "secs" && key != "nanos") || most.is_some_and(|most| most >= 1.8e19)
        }
        // schemars does not publish the aliases of nested fields. To the schema they are members that nobody knows; to
        // serde they are the field once more.
        "aliased" | "flattened_aliased" => value.get("value").is_some_and(given_twice),
        "aliased_list" => value.get("value").and_then(Value::as_array).into_iter().flatten().any(given_twice),
        _ => false,
    }
}

/// A field under two of its names.
fn given_twice(value: &Value) -> bool {
    let has = |names: &[&str]| names.iter().filter(|name| value.get(name).is_some()).count();
    has(&["name", "nick", "handle"]) > 1 || has(&["place", "where"]) > 1 || has(&["n"]) > 0
}

fn text_in<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str()
}

fn keys(value: &Value) -> impl Iterator<Item = &str> {
    value.get("value").and_then(Value::as_object).into_iter().flatten().map(|(key, _)| key.as_str())
}

fn negative_zero(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_f64().is_some_and(|float| float == 0.0 && float.is_sign_negative()),
        Value::Array(items) => items.iter().any(negative_zero),
        Value::Object(map) => map.values().any(negative_zero),
        _ => false,
    }
}
