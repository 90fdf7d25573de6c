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
pub(super) fn raise_minimum(map: &mut Map<String, Value>, limit: Value) {
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
pub(super) fn lower_maximum(map: &mut Map<String, Value>, limit: Value, exclusive: bool) {
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
pub(super) fn tighten_count(map: &mut Map<String, Value>, keyword: &str, limit: u64, lower_bound: bool) {
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
