//! The root is an object, whatever the schema says it by.

use crate::Provider;
use crate::Provider::{Anthropic, Gemini, OpenAiChat};
use crate::report::ChangeKind;
use crate::schema::tests::{projected, reported};
use serde_json::{Value, json};

fn closed(kind: &str, name: &str, schema: &Value) -> Value {
    let properties = json!({"kind": {"const": kind}, name: schema});
    json!({"type": "object", "properties": properties, "required": ["kind", name], "additionalProperties": false})
}

#[test]
fn a_union_becomes_the_object_that_takes_what_any_branch_does() {
    let branches = [
        closed("a", "x", &json!({"type": "string"})),
        closed("b", "x", &json!({"type": "integer"})),
        closed("c", "y", &json!({"type": "null"})),
    ];
    let schema = json!({"oneOf": branches});
    let projection = projected(OpenAiChat, &schema);
    let written = json!({
        "type": "object",
        "description": "needs `kind`, `x` or else `kind`, `x` or else `kind`, `y`",
        "properties": {
            "kind": {"anyOf": [{"const": "a"}, {"const": "b"}, {"const": "c"}]},
            "x": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "y": {"type": "null"},
        },
        "required": ["kind"],
        "additionalProperties": false,
    });
    assert_eq!(projection.schema, written);
    assert_eq!(
        reported(&projection, "", "oneOf"),
        Some(ChangeKind::Weakened)
    );
    let typed = projected(Gemini, &schema).schema;
    assert_eq!(
        typed["properties"]["x"],
        json!({"anyOf": [{"type": "STRING"}, {"type": "INTEGER"}]})
    );
    assert_eq!(typed["properties"]["y"], json!({"type": "NULL"}));
}

#[test]
fn an_open_branch_accepts_any_value_for_names_of_others() {
    let schema = json!({"type": "object", "anyOf": [
        {"properties": {"x": {"type": "integer", "description": "Steps"}}, "required": ["x"]},
        {"properties": {"y": {"type": "string"}}, "required": ["y"]},
    ]});
    let written = projected(OpenAiChat, &schema).schema;
    assert_eq!(
        written["properties"]["x"],
        json!({"anyOf": [{"type": "integer", "description": "Steps"}, {}]})
    );
    assert_eq!(written["description"], json!("needs `x` or `y`"));
    assert_eq!(written.get("required"), None);
    let typed = projected(Gemini, &schema).schema;
    assert_eq!(
        typed["properties"]["x"]["anyOf"][0],
        json!({"type": "STRING", "description": "Steps", "nullable": true})
    );
}

#[test]
fn a_conjunction_is_merged_and_loses_nothing() {
    let schema = json!({
        "properties": {"a": {"type": "string"}},
        "allOf": [{"$ref": "#/$defs/more"}, {"properties": {"a": {"minLength": 1}}}],
        "$defs": {"more": {"type": "object", "properties": {"b": {"type": "null"}}, "required": ["b"]}},
    });
    let projection = projected(Anthropic, &schema);
    assert_eq!(
        projection.schema["properties"]["a"],
        json!({"allOf": [{"type": "string"}, {"minLength": 1}]})
    );
    assert_eq!(projection.schema["required"], json!(["b"]));
    assert_eq!(
        reported(&projection, "", "allOf"),
        Some(ChangeKind::Rewritten)
    );
    assert_eq!(
        projected(Gemini, &schema).schema["properties"]["a"],
        json!({"type": "STRING", "minLength": 1})
    );
}

#[test]
fn a_reference_to_a_merged_root_leads_to_a_copy_of_it() {
    let schema = json!({"anyOf": [{"type": "string"}, {"type": "object", "properties": {"next": {"$ref": "#"}}}]});
    let written = projected(OpenAiChat, &schema).schema;
    assert_eq!(
        written["properties"]["next"],
        json!({"$ref": "#/$defs/root"})
    );
    assert_eq!(
        written["$defs"]["root"]["anyOf"][0],
        json!({"type": "string"})
    );
    let plain = json!({"type": "object", "properties": {"next": {"$ref": "#"}}});
    assert_eq!(projected(OpenAiChat, &plain).schema, plain);
}

#[test]
fn references_are_pointers_into_the_definitions_of_the_root() {
    let schema = json!({
        "type": "object",
        "properties": {
            "a": {"$ref": "#/definitions/T"},
            "b": {"$ref": "#name"},
            "c": {"$ref": "#/properties/d/items"},
            "d": {"type": "array", "items": {"type": "boolean"}},
        },
        "definitions": {"T": {"type": "string"}, "U": {"$anchor": "name", "type": "null"}},
    });
    let projection = projected(OpenAiChat, &schema);
    let written = &projection.schema;
    let to = |name: &str| {
        written["properties"][name]["$ref"]
            .as_str()
            .expect("a reference")
            .to_owned()
    };
    assert_eq!(
        [to("a"), to("b"), to("c")],
        ["#/$defs/T", "#/$defs/U", "#/$defs/properties_d_items"]
    );
    assert_eq!(
        written["$defs"]["properties_d_items"],
        json!({"type": "boolean"})
    );
    assert_eq!(written.get("definitions"), None);
}

#[test]
fn a_root_that_says_nothing_is_an_object() {
    for provider in Provider::ALL {
        for schema in [
            json!({}),
            json!(true),
            json!({"properties": {}}),
            json!({"type": ["object", "null"]}),
        ] {
            let written = projected(provider, &schema).schema;
            let kind = written["type"]
                .as_str()
                .expect("a type")
                .to_ascii_lowercase();
            assert_eq!(kind, "object", "{provider}");
        }
    }
    assert_eq!(
        projected(Gemini, &json!({"type": "object"})).schema,
        json!({"type": "OBJECT", "properties": {}})
    );
}

// As the macro writes a parameter with an alias.
#[test]
fn names_of_which_one_is_needed_are_told() {
    let schema = json!({
        "type": "object",
        "properties": {"to": {"type": "string"}, "recipient": {"type": "string"}},
        "allOf": [{"anyOf": [{"required": ["to"]}, {"required": ["recipient"]}]}, {"not": {"required": ["to", "recipient"]}}],
    });
    let written = projected(OpenAiChat, &schema).schema;
    assert_eq!(
        written["description"],
        json!("needs `to` or `recipient`; not together: `to`, `recipient`")
    );
    assert_eq!(written["properties"], schema["properties"]);
}

// An object without properties is refused; the declaration then leaves the parameters out.
#[test]
fn a_map_at_the_root_names_no_parameter_for_gemini() {
    let map = json!({"type": "object", "additionalProperties": {"type": "string"}, "description": "Labels"});
    for provider in [Gemini, Provider::GeminiLive, Provider::GeminiJsonSchema] {
        let projection = projected(provider, &map);
        assert_eq!(
            projection.schema.as_object().map(serde_json::Map::len),
            Some(2),
            "{provider}"
        );
        assert_eq!(projection.schema["properties"], json!({}), "{provider}");
        for keyword in ["additionalProperties", "description"] {
            assert_eq!(
                reported(&projection, "", keyword),
                Some(ChangeKind::Dropped),
                "{provider}: {keyword}"
            );
        }
    }
    assert_eq!(
        projected(
            Provider::GeminiJsonSchema,
            &json!({"type": "object", "properties": {}})
        )
        .changes,
        []
    );
}
