//! Older drafts: what they say in other words, and what means nothing in them.

use crate::Provider::{Gemini, GeminiJsonSchema, OpenAiChat};
use crate::report::ChangeKind;
use crate::schema::tests::{projected, reported};
use serde_json::{Value, json};

const SEVEN: &str = "http://json-schema.org/draft-07/schema#";

fn with(draft: &str, parameter: &Value) -> Value {
    json!({"$schema": draft, "type": "object", "properties": {"p": parameter}, "definitions": {"d": {"type": "string"}}})
}

#[test]
fn a_list_of_items_is_a_tuple() {
    let pair = json!({"type": "array", "items": [{"type": "string"}, {"type": "null"}], "additionalItems": false});
    let schema = with(SEVEN, &pair);
    let written = projected(OpenAiChat, &schema).schema["properties"]["p"].clone();
    assert_eq!(
        written,
        json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "null"}], "items": {}, "maxItems": 2})
    );
    let json_schema = projected(GeminiJsonSchema, &schema).schema["properties"]["p"].clone();
    let either = json!([{"type": "string"}, {"type": "null"}]);
    assert_eq!(
        (&json_schema["items"]["anyOf"], &json_schema["maxItems"]),
        (&either, &json!(2))
    );
    assert_eq!(json_schema.get("prefixItems"), None);
    let typed = projected(Gemini, &schema).schema["properties"]["p"].clone();
    assert_eq!(
        (&typed["items"], &typed["maxItems"]),
        (&json!({"type": "STRING", "nullable": true}), &json!(2))
    );
}

#[test]
fn beside_a_reference_nothing_is_read() {
    let schema = with(
        SEVEN,
        &json!({"$ref": "#/definitions/d", "minLength": 3, "description": "Who"}),
    );
    for provider in [OpenAiChat, Gemini] {
        let projection = projected(provider, &schema);
        assert_eq!(
            projection.schema["properties"]["p"].get("minLength"),
            None,
            "{provider}"
        );
        assert_eq!(
            projection.schema["properties"]["p"]["description"],
            json!("Who"),
            "{provider}"
        );
    }
}

// Without its `$schema` the projection is read as today's draft, where they would refuse values.
#[test]
fn keywords_that_came_later_go() {
    let schema = with(
        SEVEN,
        &json!({"type": "object", "dependentRequired": {"a": ["b"]}, "unevaluatedProperties": false}),
    );
    let projection = projected(OpenAiChat, &schema);
    assert_eq!(
        projection.schema["properties"]["p"],
        json!({"type": "object"})
    );
}

#[test]
fn dependencies_have_two_names_now() {
    let schema = with(
        SEVEN,
        &json!({"type": "object", "dependencies": {"a": ["b"], "c": {"required": ["d"]}}}),
    );
    let written = projected(OpenAiChat, &schema).schema["properties"]["p"].clone();
    let split = json!({"type": "object", "dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": {"required": ["d"]}}});
    assert_eq!(written, split);
}

#[test]
fn an_exclusive_bound_was_a_flag_once() {
    let schema = with(
        "http://json-schema.org/draft-04/schema#",
        &json!({"type": "integer", "minimum": 3, "exclusiveMinimum": true}),
    );
    let written = projected(OpenAiChat, &schema).schema["properties"]["p"].clone();
    assert_eq!(
        written,
        json!({"type": "integer", "minimum": 3, "exclusiveMinimum": 3})
    );
    assert_eq!(
        projected(Gemini, &schema).schema["properties"]["p"],
        json!({"type": "INTEGER", "minimum": 4})
    );
}

// A provider would refuse the whole request for them.
#[test]
fn keywords_with_a_value_that_they_cannot_have_go() {
    let parameter =
        json!({"type": "dict", "required": true, "minimum": "3", "enum": "a", "description": "D"});
    for provider in [OpenAiChat, GeminiJsonSchema] {
        let projection = projected(provider, &with("", &parameter));
        assert_eq!(
            projection.schema["properties"]["p"],
            json!({"description": "D"}),
            "{provider}"
        );
        for keyword in ["required", "minimum", "enum", "type"] {
            assert_eq!(
                reported(&projection, "/properties/p", keyword),
                Some(ChangeKind::Dropped),
                "{provider} {keyword}"
            );
        }
    }
}
