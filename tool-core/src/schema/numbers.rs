//! Numbers of JSON compared by their exact value, and bounds made tighter, never looser.

use serde_json::{Map, Number, Value};
use std::cmp::Ordering;

/// Compares two JSON numbers by value: an integer beyond 2^53 is not rounded to meet a float.
pub(crate) fn compare(left: &Number, right: &Number) -> Ordering {
    match (exact(left), exact(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        _ => as_float(left).partial_cmp(&as_float(right)).unwrap_or(Ordering::Equal),
    }
}

/// The whole number that this is, where it is one that fits.
pub(crate) fn exact(number: &Number) -> Option<i128> {
    if let Some(value) = number.as_i64() {
        return Some(i128::from(value));
    }
    if let Some(value) = number.as_u64() {
        return Some(i128::from(value));
    }
    let value = number.as_f64()?;
    // 2^127 is the first float beyond the type; the cast below it keeps the value, because it is whole.
    #[expect(clippy::cast_possible_truncation)]
    (value.fract() == 0.0 && value.abs() < 1.701_411_834_604_692_3e38).then_some(value as i128)
}

fn as_float(number: &Number) -> f64 {
    number.as_f64().unwrap_or(0.0)
}

/// A whole number as JSON; one that needs more than 64 bits becomes the nearest float.
pub(crate) fn whole(value: i128) -> Value {
    if let Ok(small) = i64::try_from(value) {
        return Value::from(small);
    }
    if let Ok(large) = u64::try_from(value) {
        return Value::from(large);
    }
    #[expect(clippy::cast_precision_loss)]
    Value::from(value as f64)
}

/// Sets the lower bound where it is higher than the one that is there.
pub(crate) fn raise_minimum(map: &mut Map<String, Value>, limit: Value) {
    let Value::Number(wanted) = &limit else { return };
    // An exclusive bound at or above this one says more.
    if number(map, "exclusiveMinimum").is_some_and(|there| compare(there, wanted).is_ge()) {
        return;
    }
    if number(map, "minimum").is_none_or(|there| compare(there, wanted).is_lt()) {
        map.insert("minimum".to_owned(), limit);
    }
}

/// Sets the upper bound where it is lower than the one that is there, and drops the one it replaces.
pub(crate) fn lower_maximum(map: &mut Map<String, Value>, limit: Value, exclusive: bool) {
    let Value::Number(wanted) = &limit else { return };
    let (mine, other) = if exclusive { ("exclusiveMaximum", "maximum") } else { ("maximum", "exclusiveMaximum") };
    if number(map, mine).is_some_and(|there| compare(there, wanted).is_le()) {
        return;
    }
    let other_wins = number(map, other).is_some_and(|there| match compare(there, wanted) {
        Ordering::Less => true,
        Ordering::Equal => !exclusive,
        Ordering::Greater => false,
    });
    if other_wins {
        return;
    }
    map.remove(other);
    map.insert(mine.to_owned(), limit);
}

/// Raises `minLength` or `minItems`, or lowers their counterparts.
pub(crate) fn tighten_count(map: &mut Map<String, Value>, keyword: &str, limit: u64, lower_bound: bool) {
    let there = map.get(keyword).and_then(Value::as_u64);
    let keeps = there.is_some_and(|there| if lower_bound { there >= limit } else { there <= limit });
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

// ---- The range of a number's Rust type, published as bounds instead of a format that no validator checks.

/// What a numeric format of schemars stands for.
pub(crate) struct Width {
    minimum: Option<Value>,
    maximum: Option<Value>,
    /// Whether `maximum` itself is out: 2^127 and 2^128 are floats, the numbers below them are not.
    exclusive: bool,
}

/// The range behind a format, or nothing where the format is not a number's.
pub(crate) fn width(format: &str) -> Option<Width> {
    let between = |minimum: i64, maximum: u64| Width {
        minimum: Some(minimum.into()),
        maximum: Some(maximum.into()),
        exclusive: false,
    };
    Some(match format {
        "int8" => between(i8::MIN.into(), 0x7f),
        "int16" => between(i16::MIN.into(), 0x7fff),
        "int32" => between(i32::MIN.into(), 0x7fff_ffff),
        // The widths of the machine are published as 64 bits, so that a schema is the same wherever it is built.
        "int64" | "int" => between(i64::MIN, 0x7fff_ffff_ffff_ffff),
        "uint8" => between(0, u8::MAX.into()),
        "uint16" => between(0, u16::MAX.into()),
        "uint32" => between(0, u32::MAX.into()),
        "uint64" | "uint" => between(0, u64::MAX),
        "int128" => wide(Value::from(-170_141_183_460_469_231_731_687_303_715_884_105_728.0)),
        "uint128" => Width {
            maximum: Some(Value::from(340_282_366_920_938_463_463_374_607_431_768_211_456.0)),
            ..wide(Value::from(0))
        },
        "float" => Width {
            minimum: Some(f64::from(f32::MIN).into()),
            maximum: Some(f64::from(f32::MAX).into()),
            exclusive: false,
        },
        "double" => Width { minimum: None, maximum: None, exclusive: false },
        _ => return None,
    })
}

fn wide(minimum: Value) -> Width {
    let maximum = Value::from(170_141_183_460_469_231_731_687_303_715_884_105_728.0);
    Width { minimum: Some(minimum), maximum: Some(maximum), exclusive: true }
}

/// Replaces a numeric format by the bounds of its type; a tighter bound that is there stays.
pub(crate) fn publish_bounds(map: &mut Map<String, Value>) {
    let Some(width) = map.get("format").and_then(Value::as_str).and_then(width) else { return };
    map.remove("format");
    if let Some(minimum) = width.minimum {
        raise_minimum(map, minimum);
    }
    if let Some(maximum) = width.maximum {
        lower_maximum(map, maximum, width.exclusive);
    }
}

/// Whether the bounds beside a numeric format are just those that schemars writes for the type itself.
pub(crate) fn bounds_are_the_types_own(map: &Map<String, Value>, format: &str) -> bool {
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
