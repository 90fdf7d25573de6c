//! Hostile texts: each gets one typed answer, and the next call works.

use crate::driver::{accepted, call, schema, tools};
use crate::generate::Maker;
use crate::suite::{BROKEN, EITHER, SOUND};
use crate::tape::Tape;
use proptest::prelude::*;
use serde_json::Value;
use tool_core::ErrorKind;
use tool_core::call::Arguments;

/// Tools that decode in different ways: nothing, anything, many types, borrowed text, buffered, with the validator.
const READERS: &[&str] = &[
    "nothing",
    "anything",
    "many",
    "text",
    "flattened",
    "untagged",
    "asserted",
    "flattened_map",
    "values",
];

/// Returns whether the arguments are accepted, and checks that the next call is answered.
fn taken<'a>(tool: &str, arguments: impl Into<Arguments<'a>>) -> bool {
    let response = call(&tools().coercing, tool, arguments);
    let answer = accepted(&response).expect("one typed answer");
    assert!(response.to_json().starts_with(if answer {
        r#"{"ok":true,"#
    } else {
        r#"{"ok":false,"#
    }));
    let next = call(&tools().coercing, "pattern", r#"{"value":"abc"}"#);
    assert_eq!(
        next.data_json(),
        Some(r#"{"value":"abc"}"#),
        "the next call works"
    );
    answer
}

// T4
#[test]
fn broken_text_is_refused_by_every_tool() {
    for text in BROKEN {
        for tool in READERS {
            // L28: an empty text is `{}`.
            let empty = text.trim().is_empty() && matches!(*tool, "nothing" | "flattened_map");
            assert!(!taken(tool, *text) || empty, "{tool}: {text:?}");
            for whole in [
                format!("{{\"value\":{text}}}"),
                format!("{{\"unknown\":[{text}],\"value\":1}}"),
            ] {
                // L26: without parameters, the members of a text that is JSON as a whole are ignored.
                let ignored = *tool == "nothing" && serde_json::from_str::<Value>(&whole).is_ok();
                assert!(!taken(tool, whole) || ignored, "{tool}: {text:?}");
            }
        }
    }
}

#[test]
fn valid_text_is_accepted_by_every_tool() {
    for text in SOUND {
        let response = call(
            &tools().coercing,
            "anything",
            format!("{{\"value\":{text}}}"),
        );
        let sent: Value = serde_json::from_str(text).expect("it is sound");
        let got: Value = response
            .data()
            .unwrap_or_else(|error| panic!("{text:?}: {error}"));
        assert_eq!(
            got.get("value").map(normal),
            Some(normal(&sent)),
            "{text:?}"
        );
        for tool in READERS {
            taken(tool, *text);
        }
    }
}

#[test]
fn ambiguous_json_gets_one_answer() {
    for text in EITHER {
        for tool in READERS {
            taken(tool, *text);
            taken(tool, format!("{{\"value\":{text}}}"));
        }
    }
}

fn normal(value: &Value) -> Value {
    match value.as_f64() {
        Some(float) if value.is_number() => Value::from(float + 0.0),
        _ => value.clone(),
    }
}

// V4
#[test]
fn bytes_that_are_not_utf_8_are_refused() {
    let bad: [&[u8]; 8] = [
        b"\xff",
        b"\xc0\xaf",
        b"\xe2\x82",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"\x80",
        b"\xfe\xff\x00{",
        b"{\x00}\xc3",
    ];
    for bytes in bad {
        for tool in READERS {
            assert!(!taken(tool, bytes));
            assert!(!taken(tool, [b"{\"value\":\"", bytes, b"\"}"].concat()));
            assert!(!taken(tool, [b"{\"", bytes, b"\":1}"].concat()));
        }
    }
}

// V4
#[test]
fn depth_limit_is_128_including_the_arguments() {
    let nested = |open: &str, close: &str, depth: usize| {
        format!(
            "{{\"value\":{}1{}}}",
            open.repeat(depth - 1),
            close.repeat(depth - 1)
        )
    };
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        for (depth, fits) in [
            (2, true),
            (127, true),
            (128, true),
            (129, false),
            (130, false),
            (100_000, false),
        ] {
            assert_eq!(
                taken("anything", nested(open, close, depth)),
                fits,
                "{depth}"
            );
            assert!(!taken("many", nested(open, close, depth)));
            assert!(!taken("untagged", nested(open, close, depth)) || depth < 3);
        }
    }
    for text in [
        "[".repeat(100_000),
        "{\"value\":".repeat(100_000),
        "[{\"a\":".repeat(100_000),
    ] {
        for tool in READERS {
            assert!(!taken(tool, text.as_str()));
        }
    }
}

// V4
#[test]
fn text_is_accepted_up_to_the_cap() {
    let cap = 1 << 20;
    let around = "{\"value\":\"\"}".len();
    for (length, fits) in [
        (cap - around, true),
        (cap - around + 1, false),
        (10 * cap, false),
    ] {
        assert_eq!(
            taken(
                "string",
                format!("{{\"value\":\"{}\"}}", "a".repeat(length))
            ),
            fits
        );
    }
    assert!(!taken(
        "string",
        format!("{{\"value\":\"{}", "\\u0041".repeat(100_000))
    ));
    assert!(!taken(
        "range_u32",
        format!("{{\"value\":\"{}\"}}", "9".repeat(500_000))
    ));
    assert!(!taken(
        "range_u32",
        format!("{{\"value\":{}}}", "9".repeat(500_000))
    ));
    assert!(!taken(
        "many",
        format!(
            "{{{}}}",
            (0..50_000)
                .map(|n| format!("\"k{n}\":0"))
                .collect::<Vec<_>>()
                .join(",")
        )
    ));
}

// V4
#[test]
fn duplicate_keys_are_refused_at_every_depth() {
    let twice = [
        ("anything", r#"{"value":{"a":1,"a":1}}"#, "/value/a"),
        ("anything", r#"{"value":1,"value":1}"#, "/value"),
        (
            "anything",
            r#"{"value":[{"a":{"b":1,"\u0062":2}}]}"#,
            "/value/0/a/b",
        ),
        ("map", r#"{"value":{"a":1,"a":2}}"#, "/value/a"),
        ("point", r#"{"value":{"x":1,"y":2,"x":1}}"#, "/value/x"),
        (
            "point",
            r#"{"value":{"x":1,"y":2,"z":1,"z":1}}"#,
            "/value/z",
        ),
        (
            "flattened",
            r#"{"value":{"title":"","x":1,"y":2,"other":{"a":1,"a":2}}}"#,
            "/value/other/a",
        ),
        ("untagged", r#"{"value":{"id":1,"id":1}}"#, "/value/id"),
        (
            "flattened_two",
            r#"{"query":"","page":1,"page":1}"#,
            "/page",
        ),
        ("nothing", r#"{"a":1,"a":1}"#, "/a"),
    ];
    for (tool, text, pointer) in twice {
        let response = call(&tools().coercing, tool, text);
        let told: Vec<&str> = response
            .meta()
            .problems()
            .iter()
            .map(|problem| problem.pointer.as_str())
            .collect();
        assert!(told.contains(&pointer), "{text}: {}", response.to_json());
    }
}

// V9. `tests/cost` counts what they take.
#[test]
fn deeply_nested_choices_have_one_answer() {
    let deep_choice = "[".repeat(120) + &"]".repeat(120);
    taken("untagged", format!("{{\"value\":{deep_choice}}}"));
    let all = "{\"All\":[".repeat(60) + &"]}".repeat(60);
    taken("recursive", format!("{{\"value\":{all}}}"));
    let not = "{\"Not\":".repeat(110) + "\"5\"" + &"}".repeat(110);
    taken("recursive", format!("{{\"value\":{not}}}"));
    taken(
        "untagged",
        format!("{{\"value\":[{}]}}", vec!["\"x\""; 20_000].join(",")),
    );
    taken(
        "tree",
        format!(
            "{{\"value\":{}}}",
            "{\"size\":\"1\",\"children\":[".repeat(60) + &"]}".repeat(60)
        ),
    );
}

proptest! {
    #![proptest_config(crate::accepts::config(1_000))]

    // Valid arguments, cut or changed in one byte.
    #[test]
    fn a_damaged_text_has_one_answer(numbers in crate::accepts::numbers(), at in any::<usize>(), byte in any::<u8>(), cut in any::<bool>()) {
        let tape = Tape::new(&numbers);
        let case = tape.pick(&tools().cases);
        let mut bytes = Maker { root: schema(case.name), tape: &tape }.arguments().text().into_bytes();
        let at = at % bytes.len();
        if cut { bytes.truncate(at) } else { bytes[at] = byte }
        taken(case.name, bytes);
    }

    #[test]
    fn any_text_has_one_answer(text in "\\PC{0,40}", tool in 0..READERS.len()) {
        taken(READERS[tool], text.as_str());
    }

    #[test]
    fn any_sequence_of_json_tokens_has_one_answer(tokens in prop::collection::vec(prop::sample::select(vec![
        "{", "}", "[", "]", ",", ":", "\"value\"", "\"", "1", "-", "e5", ".", "null", "true", "\\u", " ", "\"a\"", "{}", "[]",
    ]), 0..25), tool in 0..READERS.len()) {
        taken(READERS[tool], tokens.concat());
    }
}

#[test]
fn unknown_tool_has_one_answer() {
    for name in ["", "no such tool", "\u{1b}[31m", "value\n", "Many"] {
        let response = call(&tools().coercing, name, "{}");
        assert_eq!(
            response.error().map(|error| error.kind),
            Some(ErrorKind::NotFound),
            "{name:?}"
        );
    }
}
