//! Numbers: exact where the text is an integer, by their value as `f64` elsewhere.

use crate::json::tests::{decode, refuses, takes};
use serde_json::Value;

#[test]
fn an_integral_float_is_an_integer() {
    for (text, wanted) in [
        ("5.0", 5),
        ("1e2", 100),
        ("1E+2", 100),
        ("120e-1", 12),
        ("-0", 0),
        ("-0.0", 0),
        ("-3.0", -3),
    ] {
        assert!(takes(text, wanted), "{text}");
    }
    assert!(takes("-0", 0_u8) && takes("-0.0", 0_u64) && takes("-0e5", 0_u32));
}

#[test]
fn a_fraction_is_no_integer() {
    assert!(refuses::<i32>("1.5"));
    assert!(refuses::<u64>("1e-1"));
    assert!(refuses::<i128>("0.5"));
}

#[test]
fn an_integer_with_a_point_or_an_exponent_is_exact() {
    assert!(takes("9007199254740993.0", 9_007_199_254_740_993_i64));
    assert!(takes("9007199254740993000e-3", 9_007_199_254_740_993_u64));
    assert!(
        takes("9223372036854775807.0", i64::MAX) && takes("9223372036854775807.0", i64::MAX as u64)
    );
    assert!(
        takes("-9.223372036854775808e18", i64::MIN) && refuses::<i64>("-9223372036854775809.0")
    );
    assert!(takes("18446744073709551615.0", u64::MAX) && refuses::<u64>("18446744073709551616.0"));
    assert!(
        takes("1e19", 10_000_000_000_000_000_000_u64)
            && takes("1e20", 100_000_000_000_000_000_000_i128)
    );
    assert!(takes(
        "340282366920938463463374607431768211455.0",
        u128::MAX
    ));
    assert!(takes("0.5e1", 5) && takes("0e999", 0) && takes("-0.0e-9999999999999999999999", 0));
}

#[test]
fn a_fraction_next_to_an_integer_is_refused_as_an_integer() {
    for text in [
        "9007199254740993.5",
        "0.99999999999999999999",
        "1.00000000000000000001",
        "1e-400",
        "-1e-99999999999999999999",
    ] {
        assert!(refuses::<i64>(text) && refuses::<u128>(text), "{text}");
        assert_eq!(decode::<f64>(text).ok(), text.parse().ok(), "{text}");
    }
}

#[test]
fn plain_integer_text_is_exact_to_the_ends_of_each_type() {
    assert!(takes("18446744073709551615", u64::MAX) && refuses::<u64>("18446744073709551616"));
    assert!(takes("9223372036854775807", i64::MAX) && refuses::<i64>("9223372036854775808"));
    assert!(takes("-9223372036854775808", i64::MIN) && refuses::<i64>("-9223372036854775809"));
    assert!(takes(&i128::MIN.to_string(), i128::MIN) && takes(&i128::MAX.to_string(), i128::MAX));
    assert!(takes(&u128::MAX.to_string(), u128::MAX) && refuses::<i128>(&u128::MAX.to_string()));
    assert!(refuses::<u128>("340282366920938463463374607431768211456") && refuses::<u128>("-1"));
    assert!(takes("-0", 0_i128) && takes("-0", 0_u128) && takes("-7", -7_i128));
}

#[test]
fn an_integer_outside_its_type_is_refused() {
    assert!(takes("255", 255_u8) && refuses::<u8>("256") && refuses::<u8>("-1"));
    assert!(takes("-128", -128_i8) && refuses::<i8>("-129") && refuses::<i8>("128"));
    assert!(
        refuses::<u32>("4294967296") && refuses::<u32>("4294967296.0") && refuses::<u16>("1e5")
    );
}

#[test]
fn a_float_is_read_from_any_number() {
    assert!(takes("3", 3.0) && takes("-3", -3.0) && takes("0.1", 0.1) && takes("1e-400", 0.0));
    assert!(takes(
        "123456789012345678901234567890",
        1.234_567_890_123_456_8e29
    ));
    assert!(decode::<f64>("-0").is_ok_and(|zero| zero == 0.0 && zero.is_sign_negative()));
}

#[test]
fn short_decimals_are_rounded_as_the_standard_library_rounds_them() {
    for text in [
        "0.25",
        "-1.1",
        "9007199254.740993",
        "0.000001234",
        "123.456789012345",
        "-0.1",
        "99999999999999.9",
    ] {
        assert_eq!(decode::<f64>(text).ok(), text.parse().ok(), "{text}");
    }
}

#[test]
fn an_f32_is_not_rounded_to_infinity() {
    assert!(
        takes("3.4028234663852886e38", f32::MAX)
            && refuses::<f32>("3.4028235e38")
            && refuses::<f32>("-1e39")
    );
}

#[test]
fn a_number_beyond_f64_is_refused_everywhere() {
    let long = "9".repeat(400);
    for text in ["1e400", "-1e400", "1e999999999999999999999", long.as_str()] {
        assert!(
            refuses::<f64>(text) && refuses::<i64>(text) && refuses::<Value>(text),
            "{text}"
        );
        assert!(refuses::<serde::de::IgnoredAny>(text), "{text}");
    }
}

#[test]
fn what_is_no_json_number_is_refused() {
    for text in [
        "01",
        "-01",
        "00",
        "+1",
        ".5",
        "1.",
        "1.e1",
        "-",
        "1e",
        "1e+",
        "0x1",
        "NaN",
        "Infinity",
        "-Infinity",
        "1_0",
        "--1",
    ] {
        assert!(
            refuses::<i64>(text) && refuses::<f64>(text) && refuses::<i128>(text),
            "{text}"
        );
        assert!(
            refuses::<Value>(text) && refuses::<serde::de::IgnoredAny>(text),
            "{text}"
        );
    }
}

#[test]
fn text_is_no_number() {
    assert!(refuses::<i32>("\"1\"") && refuses::<f64>("\"1\"") && refuses::<i32>("null"));
}

#[test]
fn numbers_of_any_type_are_held_as_serde_json_holds_them() {
    for text in [
        "0",
        "-0",
        "1",
        "-1",
        "1.0",
        "1e2",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775809",
    ] {
        assert_eq!(
            decode::<Value>(text).ok(),
            serde_json::from_str(text).ok(),
            "{text}"
        );
    }
}
