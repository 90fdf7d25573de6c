//! The same arguments in two spellings: servers space, escape and order what they repeat as they
//! like.

use serde_json::{Number, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Returns true if two texts are the same JSON value, however they are written.
pub(crate) fn is_same_json(one: &str, other: &str) -> bool {
    one == other || canonical_json(one) == canonical_json(other)
}

/// Returns the one spelling of a JSON value: sorted, without spaces, and 5 for 5.0. No arguments
/// are an empty object. A text that is not JSON stays as it is.
pub(crate) fn canonical_json(text: &str) -> Cow<'_, str> {
    let text = text.trim_ascii();
    if text.is_empty() || text == "null" {
        return Cow::Borrowed("{}");
    }
    match serde_json::from_str(text) {
        Ok(value) => Cow::Owned(canonical(unwrapped(value)).to_string()),
        Err(_) => Cow::Borrowed(text),
    }
}

/// Returns the value in a text that was encoded twice.
fn unwrapped(value: Value) -> Value {
    let inner = value
        .as_str()
        .and_then(|text| serde_json::from_str(text).ok());
    inner.unwrap_or(value)
}

fn canonical(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::Number(canonical_number(number)),
        Value::Array(items) => items.into_iter().map(canonical).collect(),
        Value::Object(members) => {
            let members = members
                .into_iter()
                .map(|(name, value)| (name, canonical(value)));
            let sorted = members.collect::<BTreeMap<_, _>>();
            Value::Object(sorted.into_iter().collect())
        }
        other => other,
    }
}

/// Returns a whole number without a fraction, if it is small enough to be exact.
#[allow(clippy::cast_possible_truncation)] // The number is whole and small.
fn canonical_number(number: Number) -> Number {
    const MAX_EXACT: f64 = 9_007_199_254_740_992.0;
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < MAX_EXACT => {
            (float as i64).into()
        }
        _ => number,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // M3
    #[test]
    fn spacing_order_and_escapes_make_no_difference() {
        for (one, other) in [
            (r#"{"a":1,"b":"ä"}"#, "{ \"b\" : \"\\u00e4\",\n \"a\" : 1 }"),
            (r#"{"a":5}"#, r#"{"a":5.0}"#),
            ("", "{}"),
            ("null", " {} "),
            (r#"{"a":1}"#, r#""{\"a\":1}""#),
            ("oops", " oops "),
        ] {
            assert!(is_same_json(one, other), "{one} {other}");
        }
    }

    // M3
    #[test]
    fn other_values_are_others() {
        for (one, other) in [
            (r#"{"a":1}"#, r#"{"a":2}"#),
            (r#"{"a":9007199254740993}"#, r#"{"a":9007199254740992}"#),
            (r#"{"a":1}"#, r#"{"a":1,"b":2}"#),
            (r#"{"a":[1,2]}"#, r#"{"a":[2,1]}"#),
            (r#"{"a":"1"}"#, r#"{"a":1}"#),
            (r#"{"a":"#, r#"{"a":1}"#),
        ] {
            assert!(!is_same_json(one, other), "{one} {other}");
        }
    }
}
