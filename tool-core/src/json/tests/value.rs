//! The tolerant parse of the failure path.

use crate::json::value::{RoundedNumbers, parse};
use serde_json::{Value, json};

#[test]
fn every_repeated_key_is_reported_and_the_last_wins() {
    let parsed = parse(r#"{"a":[0,{"x/y":1,"x/y":2,"x/y":3}],"b":1,"\u0062":2}"#).ok();
    assert_eq!(
        parsed.as_ref().map(|parsed| &parsed.value),
        Some(&json!({"a": [0, {"x/y": 3}], "b": 2}))
    );
    let duplicates = parsed.map(|parsed| parsed.duplicates).unwrap_or_default();
    assert_eq!(duplicates, ["/a/1/x~1y", "/a/1/x~1y", "/b"]);
}

#[test]
fn rounded_integers_are_reported_with_their_digits() {
    let rounded = |text: &str| parse(text).map(|parsed| parsed.rounded).unwrap_or_default();
    let found = rounded(r#"{"a":[1,18446744073709551617],"b":{"c/d": -9223372036854775809 }}"#);
    let digits = |text: &str| RoundedNumbers::Digits(text.to_owned());
    assert_eq!(
        *found.member("a").member("1"),
        digits("18446744073709551617")
    );
    assert_eq!(
        *found.member("b").member("c/d"),
        digits("-9223372036854775809")
    );
    assert!(found.member("a").member("0").is_none());
    assert!(rounded("[18446744073709551616,1e300,0.1,9007199254740993]").is_none());
}

#[test]
fn numbers_are_held_as_serde_json_holds_them() {
    for text in [
        "0",
        "-0",
        "-0.0",
        "7",
        "-7",
        "1.5",
        "1e2",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775808",
        "-9223372036854775809",
        "1e308",
        "1e-400",
    ] {
        let wanted: Option<Value> = serde_json::from_str(text).ok();
        assert_eq!(
            parse(text).ok().map(|parsed| parsed.value),
            wanted,
            "{text}"
        );
    }
    assert!(parse("1e400").is_err() && parse("-1e400").is_err());
}

#[test]
fn a_syntax_error_is_placed_in_line_and_column() {
    let error = parse("{\n  \"ä\": tru\n}").err();
    let place = error.as_ref().map(|error| (error.line, error.column));
    assert_eq!(place, Some((2, 8)));
    assert_eq!(
        error.map(|error| error.to_string()).as_deref(),
        Some("expected a value at line 2 column 8")
    );
}

#[test]
fn the_end_of_a_cut_text_is_named() {
    let error = parse("{\"a\": [1").err();
    assert_eq!(
        error.map(|error| (error.line, error.column, error.message)),
        Some((1, 9, "unexpected end of the text".to_owned()))
    );
}

#[test]
fn depth_is_bounded_at_128() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(parse(&nested(128)).is_ok() && parse(&nested(129)).is_err());
    assert!(parse(&"[".repeat(100_000)).is_err() && parse(&"{\"a\":".repeat(100_000)).is_err());
}

#[test]
fn pointers_to_repeated_keys_are_few_and_short() {
    let repeated = format!(
        "{{\"{}\":{{{}}}}}",
        "k".repeat(10_000),
        vec!["\"a\":1"; 1_000].join(",")
    );
    let duplicates = parse(&repeated)
        .map(|parsed| parsed.duplicates)
        .unwrap_or_default();
    assert_eq!(duplicates.len(), 21);
    assert!(
        duplicates.iter().all(|pointer| pointer.len() <= 256),
        "{duplicates:?}"
    );
}
