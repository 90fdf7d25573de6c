//! Numbers as bounds.

use serde_json::{Number, Value};
use std::cmp::Ordering;

/// How two numbers compare; exactly where both are integers.
pub(super) fn compare(left: &Number, right: &Number) -> Ordering {
    match (whole(left), whole(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        _ => float(left).total_cmp(&float(right)),
    }
}

/// Whether two values are the same to JSON Schema, where `1` and `1.0` are.
pub(super) fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => compare(left, right).is_eq(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| same(value, other)))
        }
        _ => left == right,
    }
}

/// The integer next to an exclusive bound that is the inclusive one for integers.
pub(super) fn next_integer(bound: &Number, upwards: bool) -> Option<Number> {
    // Beyond this, doubles have gaps: the nearest one might lie on the wrong side.
    const EXACT: f64 = 9_007_199_254_740_991.0;
    if let Some(whole) = whole(bound) {
        let next = i64::try_from(if upwards { whole + 1 } else { whole - 1 });
        return next.ok().map(Number::from);
    }
    let value = bound.as_f64().filter(|value| value.abs() < EXACT)?;
    let next = if upwards { value.floor() + 1.0 } else { value.ceil() - 1.0 };
    #[allow(clippy::cast_possible_truncation)] // it is whole, and small enough
    Some(Number::from(next as i64))
}

fn whole(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

fn float(number: &Number) -> f64 {
    number.as_f64().unwrap_or_default()
}
