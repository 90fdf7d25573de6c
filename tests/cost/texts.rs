//! Texts that are redacted.

use crate::Shape;
use std::hint::black_box;
use tool_core::trace::Redaction;

/// Repeats a text, with the number in place of `~`.
pub(crate) fn repeat(parts: usize, text: &str, between: &str) -> String {
    (0..parts)
        .map(|part| text.replace('~', &part.to_string()))
        .collect::<Vec<_>>()
        .join(between)
}

pub(crate) fn shapes() -> Vec<Shape> {
    let mut shapes = Vec::new();
    for (what, part, between) in [
        ("members", r#""member_~":"x""#, ","),
        ("names and values", r#""name":"api_key","value":"x""#, ","),
        ("names", r#""name":"n~""#, ","),
        ("headers", r#""h~":{"name":"cookie","value":"x"}"#, ","),
        ("texts with JSON", r#""t~":"{\"password\":\"x\"}""#, ","),
        ("open brackets in texts", r#""t~":"[[[[[[[[""#, ","),
        ("bidirectional marks", "\"t~\":\"\u{202e}\u{202e}\"", ","),
        (
            "pairs of surrogates",
            r#""t~":"\ud83d\ude00\ud83d\ude00""#,
            ",",
        ),
    ] {
        shapes.push(Shape::new(
            format!("redaction: JSON, {what}"),
            move |parts| {
                let json = format!("{{{}}}", repeat(parts, part, between));
                Box::new(move || drop(black_box(Redaction::new().key("diagnosis").json(&json))))
            },
        ));
    }
    for (what, part) in [
        ("assignments", "password=secret~, "),
        ("words", "word "),
        ("a word", "password"),
        ("colons", "password:"),
        ("signs without values", "password=,"),
        ("quotes", "password=\"\\\""),
        ("open quotes", "password=\"x"),
        ("backslashes", "password=\\\\\\\\\""),
        ("escaped quotes", "\\\"password\\\":\\\"x\\\" "),
        ("spaces", "password   "),
        ("addresses", "https://user:pass@host "),
        ("open addresses", "://"),
        ("signs of addresses", "://a:@"),
        ("PEM blocks", "-----BEGIN"),
        ("ends of PEM blocks", "-----BEGIN x-----END"),
        ("bearers", "Bearer "),
        ("lines", "password:\n"),
        ("tags", "<password>x</password>"),
        ("open tags", "<password>"),
        ("angles", "<"),
        ("ends of tags", "</password"),
        ("keys", "sk-1234567890~"),
        ("dots", "eyJ.a"),
        ("marks", "\u{202e}"),
        ("CDATA", "<password><![CDATA["),
        ("tags inside", "<password><a></"),
        ("prefixes", "a:a:"),
        ("texts of several lines", "password: |\n"),
        ("open strings", "[\""),
        ("escaped braces", "\\\"{\\\""),
        ("values", "{\"value\":1,"),
    ] {
        shapes.push(Shape::new(
            format!("redaction: text, {what}"),
            move |parts| {
                let text = repeat(parts, part, "");
                Box::new(move || drop(black_box(Redaction::new().key("diagnosis").text(&text))))
            },
        ));
    }
    shapes
}
