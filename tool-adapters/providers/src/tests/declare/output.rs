//! MCP: output schemas and what satisfies them.

use crate::mcp::output_schema::{self, declared};
use serde_json::{Value, json};

fn structured(output: &Value, result: &Value) -> Value {
    serde_json::from_str(&output_schema::structured(output, &result.to_string())).expect("JSON")
}

fn accepts(schema: &Value, instance: &Value) -> bool {
    jsonschema::validator_for(schema)
        .expect("a schema")
        .is_valid(instance)
}

#[test]
fn an_object_stands_as_it_is() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    assert_eq!(declared(&schema), schema);
    assert_eq!(structured(&schema, &json!({"a": 1})), json!({"a": 1}));
}

#[test]
fn a_reference_to_an_object_says_that_it_is_one() {
    let schema = json!({"$ref": "#/$defs/Node", "$defs": {"Node": {"type": "object", "properties": {
        "next": {"$ref": "#/$defs/Node"}}}}});
    assert_eq!(declared(&schema)["type"], "object");
    let result = structured(&schema, &json!({"next": {}}));
    assert_eq!(result, json!({"next": {}}));
    assert!(accepts(&declared(&schema), &result));
}

#[test]
fn an_output_that_is_no_object_is_wrapped_with_its_references() {
    let schemas = [
        (
            json!({"type": "array", "items": {"$ref": "#/$defs/Word"}, "$defs": {"Word": {"type": "string"}}}),
            json!(["a"]),
            json!([1]),
        ),
        (
            json!({"anyOf": [{"type": "array", "items": {"$ref": "#"}}, {"type": "integer"}]}),
            json!([[1], 2]),
            json!([["a"]]),
        ),
        (json!({"type": ["object", "null"]}), json!(null), json!(1)),
    ];
    for (schema, good, bad) in schemas {
        let wrapped = declared(&schema);
        assert_eq!(wrapped["type"], "object");
        assert!(accepts(&wrapped, &structured(&schema, &good)), "{wrapped}");
        assert!(!accepts(&wrapped, &structured(&schema, &bad)), "{wrapped}");
    }
}

#[test]
fn names_and_values_that_look_like_references_stay() {
    let schema = json!({"type": "array", "items": {"type": "object", "properties": {"$ref": {"const": {"$ref": "#/a"}}}}});
    let items = &declared(&schema)["properties"]["result"]["items"];
    assert_eq!(items, &schema["items"]);
}
