//! Integers of 128 bits. `serde_json` and the `jsonschema` crate hold integers above 64 bits as floats, so
//! these tests compare with Rust's own types instead.

use crate::accepts::config;
use crate::driver::{accepted, call, tools};
use proptest::prelude::*;

/// Returns the tool's answer to the number, or `None` if it is refused.
fn echoed(tool: &str, number: &str) -> Option<String> {
    let response = call(&tools().coercing, tool, format!("{{\"value\":{number}}}"));
    accepted(&response)
        .expect("a typed answer")
        .then(|| response.data_json().unwrap_or_default().to_owned())
}

#[allow(clippy::needless_pass_by_value, clippy::unnecessary_wraps)] // used as a callback
fn answer(number: impl ToString) -> Option<String> {
    Some(format!("{{\"value\":{}}}", number.to_string()))
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn every_i128_keeps_its_digits(number in any::<i128>()) {
        prop_assert_eq!(echoed("i128_", &number.to_string()), answer(number));
    }

    #[test]
    fn every_u128_keeps_its_digits(number in any::<u128>()) {
        prop_assert_eq!(echoed("u128_", &number.to_string()), answer(number));
    }

    #[test]
    fn every_64_bit_integer_is_read_in_every_spelling(number in any::<i64>(), unsigned in any::<u64>()) {
        prop_assert_eq!(echoed("i64_", &number.to_string()), answer(number));
        prop_assert_eq!(echoed("u64_", &unsigned.to_string()), answer(unsigned));
        prop_assert_eq!(echoed("i64_", &format!("\"{number}\"")), answer(number));
        prop_assert_eq!(echoed("u64_", &format!("\"{unsigned}.0\"")), answer(unsigned));
        prop_assert_eq!(echoed("i64_", &format!("{number}.0")), answer(number));
        prop_assert_eq!(echoed("u64_", &format!("{unsigned}0e-1")), answer(unsigned));
        prop_assert_eq!(echoed("range_above_floats", &format!("{unsigned}.0")).is_some(), unsigned > 1 << 53);
    }
}

#[test]
fn numbers_next_to_the_limits_are_exact() {
    for near in -3..=3_i128 {
        let floats = (1_i128 << 53) + near;
        for spelling in [floats.to_string(), format!("{floats}.0")] {
            assert_eq!(
                echoed("range_above_floats", &spelling).is_some(),
                near > 0,
                "{spelling}"
            );
        }
        for limit in [0, 1_i128 << 53, 1 << 63, 1 << 64, -(1 << 63), -(1 << 64)] {
            let number = limit + near;
            assert_eq!(echoed("i128_", &number.to_string()), answer(number));
            let unsigned = echoed("u128_", &number.to_string());
            assert_eq!(
                unsigned,
                u128::try_from(number).ok().and_then(answer),
                "{number}"
            );
        }
    }
}

// A coercion of another parameter keeps the digits.
#[test]
fn digits_are_kept_beside_a_coerced_value() {
    // Not the largest numbers: the validator of coerced arguments sees floats, and rounds the last 2^74 numbers
    // of 128 bits to 2^128.
    let large = u128::MAX / 2;
    let text = format!(r#"{{"value":["5",{large}]}}"#);
    let response = call(&tools().coercing, "wide_list", text);
    assert_eq!(
        response.data_json(),
        Some(format!(r#"{{"value":[5,{large}]}}"#).as_str())
    );
}

#[test]
fn fractions_next_to_an_integer_are_refused_as_integers() {
    for number in ["9007199254740993.5", "1.00000000000000000001", "1e-400"] {
        assert_eq!(echoed("i64_", number), None, "{number}");
        assert_eq!(echoed("i128_", number), None, "{number}");
        assert!(echoed("f64_", number).is_some(), "{number}");
    }
}

#[test]
fn limits_of_128_bits_are_exact() {
    for end in [i128::MIN, i128::MAX] {
        assert_eq!(echoed("i128_", &end.to_string()), answer(end));
    }
    assert_eq!(echoed("u128_", &u128::MAX.to_string()), answer(u128::MAX));
    assert_eq!(
        echoed("i128_", "170141183460469231731687303715884105728"),
        None
    );
    assert_eq!(
        echoed("i128_", "-170141183460469231731687303715884105729"),
        None
    );
    assert_eq!(
        echoed("u128_", "340282366920938463463374607431768211456"),
        None
    );
    assert_eq!(echoed("u128_", "-1"), None);
}
