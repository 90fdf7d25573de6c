//! The smallest valid instance.

use crate::schema::constraints;
use crate::schema::example::minimal_example;
use serde_json::{Value, json};

fn example(schema: &Value) -> Value {
    let example = minimal_example(schema, schema);
    assert!(
        jsonschema::options()
            .should_validate_formats(true)
            .build(schema)
            .unwrap()
            .is_valid(&example),
        "{example}"
    );
    example
}

#[test]
fn it_has_the_required_properties_alone() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["b"]});
    assert_eq!(example(&schema), json!({"b": "text"}));
}

#[test]
fn it_holds_to_bounds() {
    assert_eq!(
        example(&json!({"type": "integer", "minimum": 5, "maximum": 480})),
        json!(5)
    );
    assert_eq!(
        example(&json!({"type": "integer", "maximum": -3})),
        json!(-3)
    );
    assert_eq!(
        example(&json!({"type": "integer", "exclusiveMinimum": 7})),
        json!(8)
    );
    example(&json!({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.5}));
    example(&json!({"type": "number", "minimum": 0, "exclusiveMaximum": 0.1}));
    example(&json!({"type": "string", "minLength": 11, "maxLength": 12}));
    example(
        &json!({"type": "array", "items": {"type": "integer"}, "minItems": 3, "uniqueItems": true}),
    );
}

#[test]
fn it_takes_what_the_schema_names() {
    assert_eq!(example(&json!({"enum": ["a", "b"]})), json!("a"));
    assert_eq!(example(&json!({"const": 7})), json!(7));
    assert_eq!(
        example(&json!({"type": "string", "examples": ["hello"]})),
        json!("hello")
    );
}

#[test]
fn it_knows_formats_and_simple_patterns() {
    for format in constraints::ASSERTED_FORMATS {
        example(&json!({"type": "string", "format": format}));
    }
    for pattern in [
        "^[a-z]{3,5}-\\d+$",
        "^(?:red|blue)!?$",
        "^\\+[1-9]\\d{7,14}$",
        "x*y",
    ] {
        example(&json!({"type": "string", "pattern": pattern}));
    }
}

#[test]
fn a_type_that_contains_itself_ends() {
    let schema = json!({
        "$ref": "#/$defs/T",
        "$defs": {"T": {"oneOf": [
            {"type": "object", "properties": {"next": {"$ref": "#/$defs/T"}}, "required": ["next"]},
            {"type": "null"},
        ]}},
    });
    example(&schema);
}
