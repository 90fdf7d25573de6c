//! Integers of 128 bits. `serde_json`, and with it the `jsonschema` crate, holds what is beyond 64 bits as a float, so
//! these are compared with Rust instead: the schema's bounds are those of the types, and the types are exact.

use crate::accepts::config;
use crate::driver::{accepted, call, tools};
use proptest::prelude::*;

/// What the tool answers to the number, or nothing where it is refused.
fn echoed(tool: &str, number: &str) -> Option<String> {
    let response = call(&tools().coercing, tool, format!("{{\"value\":{number}}}"));
    accepted(&response).expect("a typed answer").then(|| response.data_json().unwrap_or_default().to_owned())
}

#[allow(clippy::needless_pass_by_value, clippy::unnecessary_wraps)] // to compare with what is echoed
fn answer(number: impl ToString) -> Option<String> {
    Some(format!("{{\"value\":{}}}", number.to_string()))
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn every_i128_arrives_digit_for_digit(number in any::<i128>()) {
        prop_assert_eq!(echoed("i128_", &number.to_string()), answer(number));
    }

    #[test]
    fn every_u128_arrives_digit_for_digit(number in any::<u128>()) {
        prop_assert_eq!(echoed("u128_", &number.to_string()), answer(number));
    }

    #[test]
    fn every_integer_of_64_bits_arrives_in_every_spelling(number in any::<i64>(), unsigned in any::<u64>()) {
        prop_assert_eq!(echoed("i64_", &number.to_string()), answer(number));
        prop_assert_eq!(echoed("u64_", &unsigned.to_string()), answer(unsigned));
        prop_assert_eq!(echoed("i64_", &format!("\"{number}\"")), answer(number));
        prop_assert_eq!(echoed("u64_", &format!("\"{unsigned}.0\"")), answer(unsigned));
        let short = number >> 12; // what a float holds exactly
        prop_assert_eq!(echoed("i64_", &format!("{short}.0")), answer(short));
        prop_assert_eq!(echoed("i64_", &format!("{short}e0")), answer(short));
    }
}

// What was corrected beside it does not cost it a digit.
#[test]
fn digits_are_kept_where_another_value_is_coerced() {
    // Not quite the largest: the validator that looks at corrected arguments sees a float, and of the last 2^74 numbers
    // of 128 bits it sees 2^128.
    let large = u128::MAX / 2;
    let text = format!(r#"{{"value":["5",{large}]}}"#);
    let response = call(&tools().coercing, "wide_list", text);
    assert_eq!(response.data_json(), Some(format!(r#"{{"value":[5,{large}]}}"#).as_str()));
}

#[test]
fn the_ends_of_128_bits_are_taken_and_what_lies_beyond_is_not() {
    for end in [i128::MIN, i128::MAX] {
        assert_eq!(echoed("i128_", &end.to_string()), answer(end));
    }
    assert_eq!(echoed("u128_", &u128::MAX.to_string()), answer(u128::MAX));
    assert_eq!(echoed("i128_", "170141183460469231731687303715884105728"), None);
    assert_eq!(echoed("i128_", "-170141183460469231731687303715884105729"), None);
    assert_eq!(echoed("u128_", "340282366920938463463374607431768211456"), None);
    assert_eq!(echoed("u128_", "-1"), None);
}
