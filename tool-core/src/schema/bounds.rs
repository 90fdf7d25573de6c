//! The bounds of numbers and counts, made tighter, never looser.

use crate::json::number::compare;
use serde_json::{Map, Number, Value};
use std::cmp::Ordering;

/// Sets the lower bound if it is higher than the present one.
pub(crate) fn raise_minimum(map: &mut Map<String, Value>, limit: Value) {
    let Value::Number(new) = &limit else { return };
    // An exclusive bound at or above the new one is tighter.
    if number(map, "exclusiveMinimum").is_some_and(|present| compare(present, new).is_ge()) {
        return;
    }
    if number(map, "minimum").is_none_or(|present| compare(present, new).is_lt()) {
        map.insert("minimum".to_owned(), limit);
    }
}

/// Sets the upper bound if it is lower than the present one, which it replaces.
pub(crate) fn lower_maximum(map: &mut Map<String, Value>, limit: Value, exclusive: bool) {
    let Value::Number(new) = &limit else { return };
    let (keyword, other) = if exclusive { ("exclusiveMaximum", "maximum") } else { ("maximum", "exclusiveMaximum") };
    if number(map, keyword).is_some_and(|present| compare(present, new).is_le()) {
        return;
    }
    let other_is_tighter = number(map, other).is_some_and(|present| match compare(present, new) {
        Ordering::Less => true,
        Ordering::Equal => !exclusive,
        Ordering::Greater => false,
    });
    if other_is_tighter {
        return;
    }
    map.remove(other);
    map.insert(keyword.to_owned(), limit);
}

/// Raises a lower bound such as `minLength`, or lowers an upper one.
pub(crate) fn tighten_count(map: &mut Map<String, Value>, keyword: &str, limit: u64, is_lower: bool) {
    let present = map.get(keyword).and_then(Value::as_u64);
    let keeps = present.is_some_and(|present| if is_lower { present >= limit } else { present <= limit });
    if !keeps {
        map.insert(keyword.to_owned(), limit.into());
    }
}

fn number<'a>(map: &'a Map<String, Value>, keyword: &str) -> Option<&'a Number> {
    match map.get(keyword) {
        Some(Value::Number(number)) => Some(number),
        _ => None,
    }
}

/// The range of a numeric type, published as bounds because no validator checks schemars' formats for numbers.
struct NumberRange {
    minimum: Option<Value>,
    maximum: Option<Value>,
    /// True if `maximum` itself is refused: 2^127 and 2^128 are floats, the integers below them are not.
    exclusive: bool,
}

/// Returns true for a format by which schemars names a numeric type.
pub(crate) fn is_number_format(format: &str) -> bool {
    number_range(format).is_some()
}

fn number_range(format: &str) -> Option<NumberRange> {
    const TWO_127: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0;
    let between = |minimum: i64, maximum: u64| NumberRange {
        minimum: Some(minimum.into()),
        maximum: Some(maximum.into()),
        exclusive: false,
    };
    let wide = |minimum: Value, maximum: f64| NumberRange {
        minimum: Some(minimum),
        maximum: Some(maximum.into()),
        exclusive: true,
    };
    Some(match format {
        "int8" => between(i8::MIN.into(), 0x7f),
        "int16" => between(i16::MIN.into(), 0x7fff),
        "int32" => between(i32::MIN.into(), 0x7fff_ffff),
        // `isize` and `usize` are published as 64 bits, so that a schema is the same on every machine.
        "int64" | "int" => between(i64::MIN, 0x7fff_ffff_ffff_ffff),
        "uint8" => between(0, u8::MAX.into()),
        "uint16" => between(0, u16::MAX.into()),
        "uint32" => between(0, u32::MAX.into()),
        "uint64" | "uint" => between(0, u64::MAX),
        "int128" => wide((-TWO_127).into(), TWO_127),
        "uint128" => wide(0.into(), TWO_127 * 2.0),
        "float" => NumberRange {
            minimum: Some(f64::from(f32::MIN).into()),
            maximum: Some(f64::from(f32::MAX).into()),
            exclusive: false,
        },
        "double" => NumberRange { minimum: None, maximum: None, exclusive: false },
        _ => return None,
    })
}

/// Replaces a numeric format by the bounds of its type. A tighter bound stays.
pub(crate) fn publish_bounds(map: &mut Map<String, Value>) {
    let Some(range) = map.get("format").and_then(Value::as_str).and_then(number_range) else { return };
    map.remove("format");
    if let Some(minimum) = range.minimum {
        raise_minimum(map, minimum);
    }
    if let Some(maximum) = range.maximum {
        lower_maximum(map, maximum, range.exclusive);
    }
}

/// Returns true if the bounds beside a numeric format are exactly those that schemars writes for the type itself.
pub(crate) fn are_bounds_of_type(map: &Map<String, Value>, format: &str) -> bool {
    let bounds = |keyword: &str| map.get(keyword).and_then(Value::as_i64);
    let written = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
    let count = written.iter().filter(|keyword| map.contains_key(**keyword)).count();
    match format {
        "int8" => count == 2 && bounds("minimum") == Some(-0x80) && bounds("maximum") == Some(0x7f),
        "int16" => count == 2 && bounds("minimum") == Some(-0x8000) && bounds("maximum") == Some(0x7fff),
        "uint8" => count == 2 && bounds("minimum") == Some(0) && bounds("maximum") == Some(0xff),
        "uint16" => count == 2 && bounds("minimum") == Some(0) && bounds("maximum") == Some(0xffff),
        "uint32" | "uint64" | "uint128" | "uint" => count == 1 && bounds("minimum") == Some(0),
        "int32" | "int64" | "int128" | "int" | "float" | "double" => count == 0,
        _ => false,
    }
}
