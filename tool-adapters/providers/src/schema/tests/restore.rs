//! Nulls that go, nulls that stay, and everything else.

use crate::schema::restore::restore;
use serde_json::{Value, json};
use std::borrow::Cow;

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b": {"type": "integer"},
            "c": {"type": ["string", "null"]},
            "d": {"$ref": "#/$defs/D", "description": "inner"},
            "list": {"type": "array", "items": {"$ref": "#/$defs/D"}},
            "tree": {"$ref": "#/$defs/Tree"},
            "shape": {"anyOf": [
                {"type": "object", "properties": {"kind": {"const": "circle"}, "r": {"type": "number"}}, "required": ["kind"]},
                {"type": "object", "properties": {"kind": {"const": "box"}, "r": {"type": ["number", "null"]}}, "required": ["kind"]},
                {"type": "null"},
            ]},
        },
        "required": ["a"],
        "$defs": {
            "D": {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": ["integer", "null"]}}},
            "Tree": {"type": "object", "properties": {
                "children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}, "note": {"type": "string"}}},
        },
    })
}

fn restored(arguments: &str) -> String {
    restore(&schema(), arguments).into_owned()
}

#[test]
fn a_text_without_null_is_not_even_parsed() {
    for text in [r#"{"a": "x"}"#, "{broken", ""] {
        assert!(matches!(restore(&schema(), text), Cow::Borrowed(same) if same == text));
    }
}

#[test]
fn null_goes_where_the_property_is_optional_and_takes_none() {
    assert_eq!(restored(r#"{"a":"x","b":null}"#), r#"{"a":"x"}"#);
    assert_eq!(restored(r#"{"b":null,"a":"x"}"#), r#"{"a":"x"}"#);
    assert_eq!(restored(r#"{"b":null}"#), "{}");
    assert_eq!(
        restored(r#"{ "b" : null , "list" : null , "a" : "x" }"#),
        r#"{ "a" : "x" }"#
    );
    assert_eq!(
        restored(r#"{"b":null,"a":"x","list":null,"d":null}"#),
        r#"{"a":"x"}"#
    );
    assert_eq!(restored(r#"{ "b" : null , "d" : null }"#), "{ }");
}

#[test]
fn null_stays_where_it_is_declared_required_or_unknown() {
    for text in [
        r#"{"c":null}"#,
        r#"{"a":null}"#,
        r#"{"unknown":null}"#,
        r#"{"shape":null}"#,
        "null",
        "[null]",
    ] {
        assert_eq!(restored(text), text);
    }
}

#[test]
fn it_is_looked_for_inside_objects_arrays_and_references() {
    assert_eq!(
        restored(r#"{"a":"x","d":{"x":null,"y":null}}"#),
        r#"{"a":"x","d":{"y":null}}"#
    );
    assert_eq!(
        restored(r#"{"list":[{"x":null},{"x":1,"y":null}],"b":null}"#),
        r#"{"list":[{},{"x":1,"y":null}]}"#
    );
    assert_eq!(
        restored(r#"{"tree":{"note":null,"children":[{"children":null,"note":"n"}]}}"#),
        r#"{"tree":{"children":[{"note":"n"}]}}"#,
    );
}

#[test]
fn of_a_union_the_branch_that_fits_decides() {
    assert_eq!(
        restored(r#"{"shape":{"kind":"circle","r":null}}"#),
        r#"{"shape":{"kind":"circle"}}"#
    );
    assert_eq!(
        restored(r#"{"shape":{"kind":"box","r":null}}"#),
        r#"{"shape":{"kind":"box","r":null}}"#
    );
    assert_eq!(
        restored(r#"{"shape":{"kind":"line","r":null}}"#),
        r#"{"shape":{"kind":"line","r":null}}"#
    );
}

#[test]
fn everything_else_stays_as_it_was_written() {
    let text = r#"{"z":9007199254740993, "a" : "\u006eull",  "n":1e400,"m":123456789012345678901234567890,"b":null,"a":1.0}"#;
    let kept = r#"{"z":9007199254740993, "a" : "\u006eull",  "n":1e400,"m":123456789012345678901234567890,"a":1.0}"#;
    assert_eq!(restored(text), kept);
}

#[test]
fn an_escaped_name_is_the_same_name() {
    assert_eq!(restored(r#"{"a":"x","\u0062":null}"#), r#"{"a":"x"}"#);
}

#[test]
fn what_is_not_json_stays() {
    for text in [
        r#"{"b":null"#,
        r#"{"b":null,}"#,
        "{'b':null}",
        r#"{"b":null} x"#,
        "null,",
        r#"{"\ud800":null,"b":null}"#,
    ] {
        assert_eq!(restored(text), text);
    }
}

#[test]
fn schemas_that_hold_together_decide_together() {
    let schema = json!({"type": "object", "properties": {"o": {"allOf": [
        {"type": "object", "properties": {"a": {"type": "string"}, "c": {"type": "string"}}},
        {"type": "object", "properties": {"b": {"type": "string"}}},
    ]}}});
    assert_eq!(
        restore(&schema, r#"{"o":{"a":null,"b":null,"c":"x"}}"#),
        r#"{"o":{"c":"x"}}"#
    );
}

#[test]
fn each_element_of_a_tuple_has_its_own_rule() {
    let object = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}});
    let schema = json!({"type": "object", "properties": {
        "pair": {"type": "array", "prefixItems": [object("a"), {"type": "integer"}], "items": object("b")}}});
    let text = r#"{"pair":[{"a":null},1,{"b":null},{"b":null,"a":null}]}"#;
    assert_eq!(restore(&schema, text), r#"{"pair":[{},1,{},{"a":null}]}"#);
}

#[test]
fn a_value_of_a_union_is_restored_inside_too() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}, "e": {"anyOf": [
        {"type": "object", "properties": {"x": {"type": "array", "items": {"$ref": "#/$defs/D"}}}, "required": ["x"]},
        {"type": "null"},
    ]}}, "$defs": {"D": {"type": "object", "properties": {"y": {"type": "integer"}, "e": {"$ref": "#/properties/e"}}}}});
    let text = r#"{"e":{"x":[{"y":null,"e":{"x":[{"y":null}]}},{"e":null}]},"a":null}"#;
    assert_eq!(
        restore(&schema, text),
        r#"{"e":{"x":[{"e":{"x":[{}]}},{"e":null}]}}"#
    );
}

#[test]
fn depth_is_bounded() {
    let depth = 20_000;
    let deep = r#"{"tree":"#.to_owned()
        + &r#"{"note":null,"children":["#.repeat(depth)
        + &"]}".repeat(depth)
        + "}";
    let _ = restore(&schema(), &deep);
    let looped = json!({"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}});
    assert_eq!(
        restore(&looped, r#"{"a":{"b":null}}"#),
        r#"{"a":{"b":null}}"#
    );
}

#[test]
fn unions_inside_unions_take_no_longer_than_their_size() {
    let schema = json!({"$ref": "#/$defs/E", "$defs": {"E": {"anyOf": [
        {"type": "object", "properties": {"add": {"$ref": "#/$defs/E"}, "note": {"type": "string"}}, "required": ["add"]},
        {"type": "object", "properties": {"sub": {"$ref": "#/$defs/E"}, "note": {"type": "string"}}, "required": ["sub"]},
        {"type": "object", "properties": {"sub": {"$ref": "#/$defs/E"}, "hint": {"type": "string"}}, "required": ["sub"]},
        {"type": "integer"},
    ]}}});
    let text = r#"{"note":null,"sub":"#.repeat(60) + "1" + &"}".repeat(60);
    assert_eq!(
        restore(&schema, &text),
        r#"{"sub":"#.repeat(60) + "1" + &"}".repeat(60)
    );
}
