//! Arrays say what is in them, in the form that each provider reads.

use crate::Provider;
use crate::Provider::{
    Anthropic, Gemini, GeminiJsonSchema, OpenAiChat, OpenAiRealtime, OpenAiResponses,
};
use crate::report::ChangeKind;
use crate::schema::tests::{parameter, projected, reported};
use serde_json::{Value, json};

fn projection(provider: Provider, schema: &Value) -> crate::projection::Projection {
    projected(
        provider,
        &json!({"type": "object", "properties": {"p": schema}}),
    )
}

// OpenAI answers a boolean there with "array schema missing items".
#[test]
fn items_are_a_schema_and_no_boolean() {
    for provider in [OpenAiChat, OpenAiResponses, OpenAiRealtime, Anthropic] {
        for (schema, written) in [
            (
                json!({"type": "array", "items": true}),
                json!({"type": "array", "items": {}}),
            ),
            (
                json!({"type": "array", "items": false}),
                json!({"type": "array", "items": {}, "maxItems": 0}),
            ),
            (
                json!({"type": "array", "prefixItems": [{"type": "string"}], "items": false, "maxItems": 4}),
                json!({"type": "array", "prefixItems": [{"type": "string"}], "items": {}, "maxItems": 1}),
            ),
            (
                json!({"type": "array", "prefixItems": [{"type": "string"}], "items": false, "maxItems": 0}),
                json!({"type": "array", "prefixItems": [{"type": "string"}], "items": {}, "maxItems": 0}),
            ),
        ] {
            let projection = projection(provider, &schema);
            assert_eq!(projection.schema["properties"]["p"], written, "{provider}");
            assert_eq!(
                reported(&projection, "/properties/p", "items"),
                Some(ChangeKind::Rewritten),
                "{provider}"
            );
        }
    }
}

#[test]
fn an_array_always_has_items_in_both_forms_of_gemini() {
    for schema in [
        json!({"type": "array"}),
        json!({"type": "array", "items": true}),
        json!({"type": ["array", "string"]}),
    ] {
        assert_eq!(
            parameter(GeminiJsonSchema, &schema)["items"],
            json!({}),
            "{schema}"
        );
    }
    let listed = parameter(GeminiJsonSchema, &json!({"enum": [["a"], ["b"]]}));
    assert_eq!(
        (&listed["type"], &listed["items"]),
        (&json!("array"), &json!({}))
    );
    assert!(
        parameter(Gemini, &json!({"type": "array"}))
            .get("items")
            .is_some()
    );
    // A schema that accepts anything is no array.
    assert_eq!(parameter(GeminiJsonSchema, &json!({})), json!({}));
}

// `types.JSONSchema` of Google's own library does not know `prefixItems`.
#[test]
fn a_tuple_is_an_array_of_any_item_in_geminis_json_schema() {
    let pair = json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false, "minItems": 2});
    let projection = projection(GeminiJsonSchema, &pair);
    let written = &projection.schema["properties"]["p"];
    assert_eq!(
        written["items"]["anyOf"],
        json!([{"type": "string"}, {"type": "integer"}])
    );
    assert_eq!(
        (&written["minItems"], &written["maxItems"]),
        (&json!(2), &json!(2))
    );
    assert_eq!(written.get("prefixItems"), None);
    assert_eq!(
        reported(&projection, "/properties/p", "prefixItems"),
        Some(ChangeKind::Weakened)
    );
}
