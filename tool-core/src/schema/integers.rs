//! The range of a number's Rust type, published as bounds instead of a format that no validator checks.

use super::numbers::{lower_maximum, raise_minimum};
use serde_json::{Map, Value};

/// What a numeric format of schemars stands for.
pub(super) struct Width {
    minimum: Option<Value>,
    maximum: Option<Value>,
    /// Whether `maximum` itself is out: 2^127 and 2^128 are floats, the numbers below them are not.
    exclusive: bool,
}

/// The range behind a format, or nothing where the format is not a number's.
pub(super) fn width(format: &str) -> Option<Width> {
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
pub(super) fn publish_bounds(map: &mut Map<String, Value>) {
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
pub(super) fn bounds_are_the_types_own(map: &Map<String, Value>, format: &str) -> bool {
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
