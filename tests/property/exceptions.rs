//! The intended differences between the tools and the `jsonschema` crate.
//!
//! In each the type refuses a value that its schema cannot describe, or that the crate rounds to a float.
//! No tool may accept a value that the schema refuses.

use crate::coercions::whole;
use crate::json::{Json, parse};
use serde_json::Value;

/// Returns whether the value contains an integer above 64 bits that a float rounds, or a fraction that a float rounds to
/// an integer. To the crate the number below the least `i64` equals the least `i64`. The tools see the digits.
pub(crate) fn rounds(sent: &Json) -> bool {
    match sent {
        Json::Raw(text) => {
            let Some(float) = sent
                .value()
                .filter(Value::is_f64)
                .and_then(|value| value.as_f64())
            else {
                return false;
            };
            match whole(text) {
                Some(digits) => float != 0.0 && format!("{float:.0}") != digits,
                None => float.fract() == 0.0,
            }
        }
        Json::Text(text) => parse(text).is_some_and(|inner| rounds(&inner)),
        Json::List(items) => items.iter().any(rounds),
        Json::Object(entries) => entries.iter().any(|(_, value)| rounds(value)),
    }
}

/// Tools with a type that serde buffers.
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

/// Returns whether the tool may refuse a value that the schema accepts.
pub(crate) fn may_refuse(tool: &str, value: &Value) -> bool {
    // `jiff` ends 26 hours before the year 10,000, which `format: date-time` cannot express.
    let last_days = |text: &str| text.starts_with("9999-12-3") || reads_marks_as_digits(text);
    // schemars writes the keys of any unsigned type as digits, and those of an enum with documented variants or of a
    // `char` as any text. The schema has neither the width nor the names.
    let wide_key = |key: &str| key.parse::<u32>().is_err();
    // serde buffers flattened and untagged values before it knows the type, and passes a negative zero as a float,
    // which no integer accepts. The distinction of the two zeros matters to floats.
    if COPIED.contains(&tool) && negative_zero(value) {
        return true;
    }
    match tool {
        "timestamp" | "option_timestamp" => text_in(value, "value").is_some_and(last_days),
        "format_date_time" | "format_date" | "format_time" => {
            text_in(value, "value").is_some_and(reads_marks_as_digits)
        }
        "create_event" => text_in(value, "start_time").is_some_and(last_days),
        "map_by_u32" => keys(value).any(wide_key),
        "map_by_i64" => keys(value).any(|key| key.parse::<i64>().is_err()),
        "map_by_documented" => keys(value).any(|key| !matches!(key, "One" | "Two" | "Three")),
        "map_by_char" => keys(value).any(|key| key.chars().count() != 1),
        // The standard library's `Duration` refuses unknown members, and more seconds than 64 bits hold
        // after the nanoseconds are carried. The schema of schemars says neither.
        "duration" | "option_duration" => {
            let most = value.pointer("/value/secs").and_then(Value::as_f64);
            keys(value).any(|key| key != "secs" && key != "nanos")
                || most.is_some_and(|most| most >= 1.8e19)
        }
        // schemars does not publish the aliases of nested fields. To the schema they are unknown members; to
        // serde they are the same field again.
        "aliased" | "flattened_aliased" => value.get("value").is_some_and(given_twice),
        "alias_beside_a_map" => value.pointer("/value/titled").is_some_and(given_twice),
        "aliased_list" => value
            .get("value")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .any(given_twice),
        // Serde takes the second for the first again.
        "flattened_alias_of_another" => {
            value.get("page").is_some() && value.get("offset").is_some()
        }
        // They read texts, which the published schema refuses.
        "converted_fields" | "converted_parameter" => true,
        // The float that stands for such an integer is another number.
        "one_of_large_float" | "range_from_large_float" => value
            .get("value")
            .and_then(Value::as_u64)
            .is_some_and(|whole| whole > 1 << 53),
        _ => false,
    }
}

/// The crate reads some characters below `0` as digits of a date or a time.
fn reads_marks_as_digits(text: &str) -> bool {
    let is_mark = |byte: u8| (b' '..b'0').contains(&byte);
    let marks = |part: &str, sound: &[usize]| {
        part.bytes()
            .enumerate()
            .any(|(at, b)| is_mark(b) && !sound.contains(&at))
    };
    let (date, time) = text.split_once(['T', 't']).unwrap_or((text, text));
    let offset = time
        .get(8..)
        .and_then(|rest| rest.split_once(['+', '-']))
        .map_or("", |(_, offset)| offset);
    marks(date, &[4, 7]) || time.bytes().take(8).any(is_mark) || marks(offset, &[])
}

/// A field with two of its names.
fn given_twice(value: &Value) -> bool {
    let has = |names: &[&str]| {
        names
            .iter()
            .filter(|name| value.get(name).is_some())
            .count()
    };
    has(&["name", "nick", "handle"]) > 1 || has(&["place", "where"]) > 1 || has(&["n"]) > 0
}

fn text_in<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str()
}

fn keys(value: &Value) -> impl Iterator<Item = &str> {
    value
        .get("value")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(key, _)| key.as_str())
}

fn negative_zero(value: &Value) -> bool {
    match value {
        Value::Number(number) => number
            .as_f64()
            .is_some_and(|float| float == 0.0 && float.is_sign_negative()),
        Value::Array(items) => items.iter().any(negative_zero),
        Value::Object(map) => map.values().any(negative_zero),
        _ => false,
    }
}
