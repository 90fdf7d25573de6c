//! Numbers of the arguments, as servers read them.

use serde_json::{Number, Value};

/// 2^63, the first float beyond `i64`.
const TWO_63: f64 = 9_223_372_036_854_775_808.0;

/// 2^127, the first float whose text may have fewer digits than the model wrote.
const TWO_127: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0;

/// Replaces each float without a fraction by the integer that it is. The schema takes `7.0` and
/// `1e2` for an integer, and many servers take neither.
pub(crate) fn use_integers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(whole) = whole(number) {
                *number = whole;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(use_integers),
        Value::Object(members) => members.values_mut().for_each(use_integers),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // below the ends of the types
fn whole(number: &Number) -> Option<Number> {
    let float = number.as_f64().filter(|float| float.fract() == 0.0)?;
    if !number.is_f64() {
        return None;
    }
    if float.abs() < TWO_63 {
        Some(Number::from(float as i64))
    } else if float > 0.0 && float < 2.0 * TWO_63 {
        Some(Number::from(float as u64))
    } else {
        None
    }
}

/// Returns the text of a number. A larger whole number has no exponent either.
pub(crate) fn number_text(number: &Number) -> String {
    let large = number
        .as_f64()
        .filter(|float| number.is_f64() && float.fract() == 0.0 && float.abs() < TWO_127);
    match large {
        Some(float) => format!("{float:.0}"),
        None => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn floats_without_a_fraction_become_integers() {
        let mut value = json!({"a": [7.0, -1e2, 0.5], "b": {"c": -0.0, "d": 1e19}, "e": 3});
        use_integers(&mut value);
        let expected = r#"{"a":[7,-100,0.5],"b":{"c":0,"d":10000000000000000000},"e":3}"#;
        assert_eq!(value.to_string(), expected);
    }

    #[test]
    fn large_whole_numbers_have_no_exponent() {
        let text = |value: Value| number_text(value.as_number().expect("a number"));
        assert_eq!(text(json!(1e20)), "100000000000000000000");
        assert!(text(json!(1e300)).contains('e'));
        assert_eq!(text(json!(2.5)), "2.5");
    }
}
