//! The law of the canonical form: the same text exactly for equal values.

use crate::json::canonical::canonical;
use proptest::prelude::*;
use serde_json::{Map, Number, Value, json};
use std::cmp::Ordering;

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

fn numbers() -> impl Strategy<Value = Value> {
    let near = prop_oneof![Just(1_u64 << 53), Just(1 << 63), Just(u64::MAX), 0..4_u64];
    prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        // Near each other, in both spellings.
        (near, -2..3_i64).prop_map(|(base, step)| Value::from(base.saturating_add_signed(step))),
        (-3..4_i32).prop_map(|whole| Value::from(f64::from(whole))),
        (-3..4_i32).prop_map(Value::from),
        Just(Value::from(-0.0)),
        Just(Value::from(9_007_199_254_740_992.0)),
        Just(Value::from(18_446_744_073_709_551_616.0)),
    ]
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        numbers(),
        "[ab\"\\\\é\n]{0,2}".prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec(("[ab:]{0,2}", inner), 0..3)
                .prop_map(|entries| entries.into_iter().collect::<Value>()),
        ]
    })
}

/// Equality as JSON has it: objects as sets of members, numbers by value.
fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare(a, b) == Ordering::Equal,
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        (a, b) => a == b,
    }
}

/// By sign and magnitude, without the conversion that is under test.
fn compare(a: &Number, b: &Number) -> Ordering {
    match (a.is_f64(), b.is_f64()) {
        (true, true) => a.as_f64().partial_cmp(&b.as_f64()).expect("finite"),
        (true, false) => compare(b, a).reverse(),
        (false, false) => a.as_i128().cmp(&b.as_i128()),
        (false, true) => {
            let whole = a.as_i128().expect("whole");
            let float = b.as_f64().expect("float");
            if float >= 1e30 {
                Ordering::Less
            } else if float <= -1e30 {
                Ordering::Greater
            } else {
                let below = float.floor();
                let rest = float - float.floor();
                whole
                    .cmp(&format!("{below:.0}").parse().expect("whole"))
                    .then(if rest > 0.0 {
                        Ordering::Less
                    } else {
                        Ordering::Equal
                    })
            }
        }
    }
}

proptest! {
    // R-F2, L29
    #[test]
    fn two_values_have_the_same_text_exactly_when_they_are_equal_as_json(a in values(), b in values()) {
        prop_assert_eq!(canonical(&a) == canonical(&b), equal(&a, &b), "{} {}", a, b);
    }

    #[test]
    fn two_numbers_have_the_same_text_exactly_when_they_are_equal(a in numbers(), b in numbers()) {
        prop_assert_eq!(canonical(&a) == canonical(&b), equal(&a, &b), "{} {}", a, b);
    }

    #[test]
    fn the_text_is_json_of_an_equal_value(value in values()) {
        let again = parsed(&canonical(&value));
        prop_assert!(equal(&value, &again), "{} {}", value, again);
        prop_assert_eq!(canonical(&value), canonical(&again));
    }

    #[test]
    fn the_order_of_keys_does_not_matter(entries in prop::collection::vec(("[a-d]{1,2}", numbers()), 0..6)) {
        let mut entries = entries;
        entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        entries.dedup_by(|(a, _), (b, _)| a == b);
        let object = |entries: Vec<(String, Value)>| Value::Object(entries.into_iter().collect::<Map<_, _>>());
        let backwards = object(entries.iter().rev().cloned().collect());
        prop_assert_eq!(canonical(&object(entries)), canonical(&backwards));
    }
}

#[test]
fn a_whole_float_is_the_integer() {
    for text in ["1", "1.0", "1e0", "10e-1"] {
        assert_eq!(canonical(&parsed(text)), "1");
    }
    assert_eq!(canonical(&parsed("-0.0")), "0");
}

#[test]
fn an_integer_beyond_two_to_the_53_is_not_rounded() {
    assert_eq!(
        canonical(&json!(9_007_199_254_740_993_u64)),
        "9007199254740993"
    );
    assert_ne!(
        canonical(&json!(9_007_199_254_740_993_u64)),
        canonical(&json!(9_007_199_254_740_992.0))
    );
    assert_eq!(canonical(&json!(u64::MAX)), "18446744073709551615");
    assert_eq!(canonical(&json!(i64::MIN)), "-9223372036854775808");
}

#[test]
fn a_number_and_its_text_differ() {
    assert_ne!(canonical(&json!([1])), canonical(&json!(["1"])));
}

#[test]
fn there_is_no_white_space_and_keys_are_sorted() {
    let value = parsed(r#"{ "b" : [ 1.50, null ], "a" : { "é\n" : true } }"#);
    assert_eq!(canonical(&value), r#"{"a":{"é\n":true},"b":[1.5,null]}"#);
}
