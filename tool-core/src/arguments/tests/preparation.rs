//! From the text that a model sent to arguments that a tool takes.

use crate::arguments::coerce::{Coercions, JsonRepair};
use crate::arguments::prepare::prepare;
use crate::arguments::tests::{event, prepared};
use crate::schema::validator::Validator;
use serde_json::json;

fn told(text: &str) -> Vec<String> {
    prepared(text, &event())
        .expect_err("they are wrong")
        .iter()
        .map(ToString::to_string)
        .collect()
}

fn none() -> serde_json::Value {
    json!({"type": "object", "properties": {}})
}

// L28
#[test]
fn nothing_and_null_are_no_arguments() {
    for text in ["", "  \n", "null", "\"\"", "\"null\""] {
        assert_eq!(prepared(text, &none()).expect(text).text, "{}");
    }
    assert_eq!(
        prepared("null", &none()).expect("empty").coerced,
        ["arguments: empty to object"]
    );
    assert_eq!(prepared("{}", &none()).expect("empty").coerced, [""; 0]);
}

// L28
#[test]
fn a_text_of_an_object_is_that_object() {
    let prepared = prepared(
        r#""{\"title\":\"a\",\"start_time\":\"2026-01-31T09:00:00Z\"}""#,
        &event(),
    )
    .expect("valid");
    assert_eq!(
        prepared.text,
        r#"{"title":"a","start_time":"2026-01-31T09:00:00Z"}"#
    );
    assert_eq!(prepared.coerced, ["arguments: text to object"]);
}

#[test]
fn whole_numbers_beyond_64_bits_keep_their_digits() {
    let schema = json!({"type": "object", "properties": {
        "wide": {"type": "integer"}, "list": {"type": "array", "items": {"type": "number"}}, "count": {"type": "integer"}}});
    let validator = Validator::for_tool(schema.clone());
    let prepared = |text: &str| {
        prepare(text, None, &validator, 1 << 20, Coercions::ALL)
            .expect(text)
            .text
    };
    let text = r#"{"wide":170141183460469231731687303715884105727,"list":[1,-9223372036854775809,0.5],"count":"5"}"#;
    assert_eq!(
        prepared(text),
        r#"{"wide":170141183460469231731687303715884105727,"list":[1,-9223372036854775809,0.5],"count":5}"#
    );
    let twice = serde_json::Value::from(text).to_string();
    assert_eq!(prepared(&twice), prepared(text));
}

// V1
#[test]
fn whole_numbers_beyond_64_bits_are_compared_exactly() {
    let schema = json!({"type": "object", "properties": {
        "n": {"type": "integer", "minimum": -1.701_411_834_604_692_3e38, "exclusiveMaximum": 1.701_411_834_604_692_3e38},
        "s": {"type": "integer"},
    }});
    let digits = [
        "-170141183460469231731687303715884105728",
        "170141183460469231731687303715884105727",
    ];
    for number in digits {
        let accepted =
            prepared(&format!(r#"{{"n":{number},"s":"5"}}"#), &schema).expect("within the bounds");
        assert_eq!(accepted.text, format!(r#"{{"n":{number},"s":5}}"#));
    }
    for number in [
        "-170141183460469231731687303715884105729",
        "170141183460469231731687303715884105728",
    ] {
        let refused = prepared(&format!(r#"{{"n":{number},"s":"5"}}"#), &schema)
            .expect_err("beyond the bounds");
        assert!(
            refused[0].text().ends_with(&format!("got {number}")),
            "{}",
            refused[0]
        );
    }
}

// V1
#[test]
fn items_beyond_64_bits_are_told_apart_by_their_digits() {
    let schema =
        json!({"type": "object", "properties": {"list": {"type": "array", "uniqueItems": true}}});
    let takes = |items: &str| prepared(&format!(r#"{{"list":[{items}]}}"#), &schema).is_ok();
    assert!(takes("18446744073709551616,18446744073709551617"));
    assert!(takes("[18446744073709551617],[18446744073709551618]"));
    assert!(!takes("18446744073709551617,18446744073709551617.0"));
    assert!(!takes("1,18446744073709551617,1.0"));
    assert!(!takes("1e40,10000000000000000000000000000000000000000"));
}

// V1
#[test]
fn constants_are_compared_with_all_digits() {
    let limits = [
        json!({"const": 18_446_744_073_709_551_616.0}),
        json!({"enum": [18_446_744_073_709_551_616.0, 1]}),
        json!({"const": {"n": [18_446_744_073_709_551_616.0]}}),
    ];
    for limit in limits {
        let schema = json!({"type": "object", "properties": {"value": limit}});
        let is_nested = limit["const"].is_object();
        let takes = |number: &str| {
            let value = if is_nested {
                format!(r#"{{"n":[{number}]}}"#)
            } else {
                number.to_owned()
            };
            prepared(&format!(r#"{{"value":{value}}}"#), &schema).is_ok()
        };
        assert!(takes("18446744073709551616"), "{limit}");
        assert!(!takes("18446744073709551617"), "{limit}");
    }
}

// V1
#[test]
fn multiples_are_counted_with_all_digits() {
    let takes = |number: &str, divisor: f64| {
        let schema = json!({"type": "object", "properties": {"n": {"multipleOf": divisor}}});
        prepared(&format!(r#"{{"n":{number}}}"#), &schema).is_ok()
    };
    assert!(takes("18446744073709551618", 3.0));
    assert!(!takes("18446744073709551619", 3.0));
    assert!(takes("-18446744073709551620", 10.0));
    assert!(!takes("18446744073709551617", 10.0));
    assert!(takes("18446744073709551617", 0.5));
    assert!(takes("123000000000000000000000000000", 1.23e27));
    assert!(!takes("123000000000000000000000000001", 1e20));
}

#[test]
fn anything_but_an_object_is_refused() {
    for text in ["[]", "5", "\"hello\"", "\"[1]\"", r#""\"{}\"""#] {
        let told = told(text);
        assert!(
            told[0].starts_with("arguments: expected a JSON object, got "),
            "{told:?}"
        );
    }
}

#[test]
fn broken_json_is_told_with_its_place() {
    let told = told("{\"title\": \"a\",\n oops}");
    assert_eq!(told.len(), 1);
    assert!(told[0].contains("line 2, column 2"), "{told:?}");
}

#[test]
fn every_problem_is_told_at_once_in_the_order_of_places() {
    assert_eq!(
        told(r#"{"title": 5, "title": 6, "duration_minutes": 3, "zzz": 1}"#),
        [
            "`/duration_minutes`: expected a number of at least 5, got 3",
            "`/start_time`: missing, expected an RFC 3339 date and time, such as \"2026-01-31T09:00:00Z\" (\"Start of the event, RFC 3339\")",
            "`/title`: expected a string, got 6",
            "`/title`: expected one value, got several: the key is repeated",
            "`/zzz`: unknown parameter, known: `title`, `start_time`, `duration_minutes`, `attendees`, `color`",
        ]
    );
}

// L34
#[test]
fn null_for_each_optional_parameter_is_its_absence() {
    let text = r#"{"title":"a","start_time":"2026-01-31T09:00:00Z","duration_minutes":null,"attendees":null,"color":null}"#;
    let prepared = prepared(text, &event()).expect("valid");
    assert_eq!(
        prepared.text,
        json!({"title": "a", "start_time": "2026-01-31T09:00:00Z"}).to_string()
    );
    // `null` is the published default of the others.
    assert_eq!(prepared.coerced, ["/duration_minutes: null to absent"]);
}

#[test]
fn whole_floats_are_written_as_integers() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "number"}}});
    let prepared = prepared(r#"{"a": 1e2, "b": -0.5}"#, &schema).expect("valid");
    assert_eq!(prepared.text, r#"{"a":100,"b":-0.5}"#);
    assert_eq!(prepared.coerced, [""; 0]);
}

#[test]
fn a_text_over_the_cap_is_refused_unread() {
    let schema = event();
    let caps = 10;
    let found = prepare(
        "{\"title\": 1}",
        None,
        &Validator::new(schema.clone()),
        caps,
        Coercions::ALL,
    );
    assert_eq!(
        found.expect_err("too long")[0].to_string(),
        "arguments: expected at most 10 bytes of JSON, got 12 bytes, send less at once"
    );
}

#[test]
fn deep_json_is_refused() {
    let told = told(&format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)));
    assert_eq!(told.len(), 1);
}

#[test]
fn a_deep_text_inside_deep_arguments_is_left_alone() {
    let schema = json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}}});
    let inner = format!("{}{}", "[".repeat(100), "]".repeat(100));
    let text = format!(
        "{{\"x\":{}\"{inner}\"{}}}",
        "[".repeat(100),
        "]".repeat(100)
    );
    assert_eq!(prepared(&text, &schema).expect_err("too deep").len(), 1);
}

#[test]
fn a_tool_without_parameters_ignores_members_with_a_note() {
    let validator = Validator::for_tool(none());
    let taken = prepare("{\"a\": 1}", None, &validator, 1 << 20, Coercions::ALL).expect("accepted");
    assert_eq!(
        (taken.text.as_str(), taken.coerced),
        (
            "{}",
            vec!["/a: ignored, as the tool has no parameters".to_owned()]
        )
    );
    let told = prepare("{\"a\": 1}", None, &validator, 1 << 20, Coercions::NONE)
        .expect_err("there are none");
    assert_eq!(
        told[0].to_string(),
        "`/a`: unknown parameter, there are none"
    );
}

#[test]
fn without_switches_arguments_are_taken_as_they_are() {
    let schema = event();
    let validator = Validator::new(schema.clone());
    for text in ["", "null", "\"{}\""] {
        assert!(prepare(text, None, &validator, 1 << 20, Coercions::NONE).is_err());
    }
}

#[test]
fn formats_that_are_not_assertions_are_not_checked() {
    let schema =
        json!({"type": "object", "properties": {"u": {"type": "string", "format": "uri"}}});
    assert!(prepared("{\"u\": \"no uri\"}", &schema).is_ok());
}

// L28
#[test]
fn nearly_json_is_repaired_only_if_asked_for() {
    let validator =
        Validator::for_tool(json!({"type": "object", "properties": {"n": {"type": "integer"}}}));
    let text = "{n: '5',}";
    let repairing = Coercions::ALL.with_repair(JsonRepair::All);
    let prepared = prepare(text, None, &validator, 1 << 20, repairing).expect("repaired");
    assert_eq!(prepared.text, r#"{"n":5}"#);
    assert_eq!(
        prepared.coerced,
        [
            "arguments: repaired JSON: a key without quotes, other quotation marks, a comma before a closing bracket",
            "/n: text to integer",
        ]
    );
    let refused = prepare(text, None, &validator, 1 << 20, Coercions::ALL).expect_err("not JSON");
    assert!(
        refused[0].to_string().contains("text that is not JSON"),
        "{refused:?}"
    );
}

// L28
#[test]
fn the_schema_decides_about_repaired_arguments() {
    let validator =
        Validator::for_tool(json!({"type": "object", "properties": {"n": {"type": "integer"}}}));
    let repairing = Coercions::ALL.with_repair(JsonRepair::All);
    let told = |text: &str| {
        prepare(text, None, &validator, 1 << 20, repairing).expect_err("refused")[0].to_string()
    };
    assert_eq!(told("{n: 'x'}"), "`/n`: expected an integer, got \"x\"");
    assert_eq!(
        told("{n: 1, \"n\": 2}"),
        "`/n`: expected one value, got several: the key is repeated"
    );
    assert!(told("{n: 1").contains("text that is not JSON"));
}

// L28
#[test]
fn nearly_json_in_a_json_string_is_repaired() {
    let validator =
        Validator::for_tool(json!({"type": "object", "properties": {"n": {"type": "integer"}}}));
    let repairing = Coercions::ALL.with_repair(JsonRepair::All);
    let prepared = prepare("\"{'n': 5}\"", None, &validator, 1 << 20, repairing).expect("repaired");
    assert_eq!(prepared.text, r#"{"n":5}"#);
    assert_eq!(
        prepared.coerced,
        [
            "arguments: text to object",
            "arguments: repaired JSON: other quotation marks"
        ]
    );
    assert!(prepare("\"{'n': 5\"", None, &validator, 1 << 20, repairing).is_err());
}
