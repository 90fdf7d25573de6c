//! Anthropic's strict form, which Bedrock shares.

use crate::Provider;
use crate::report::NotStrict;
use crate::schema::tests::project;
use crate::strict::tests::checker::problems;
use serde_json::{Value, json};

fn strict(schema: &Value) -> Result<Value, NotStrict> {
    let projection = project(Provider::Anthropic, schema, true).expect("not refused");
    let bedrock = project(Provider::Bedrock, schema, true).expect("not refused");
    assert_eq!(
        (&bedrock.schema, &bedrock.not_strict),
        (&projection.schema, &projection.not_strict)
    );
    if let Some(why) = projection.not_strict {
        return Err(why);
    }
    assert_eq!(
        problems(Provider::Anthropic, &projection.schema),
        Vec::<String>::new(),
        "{}",
        projection.schema
    );
    Ok(projection.schema)
}

#[test]
fn what_is_optional_stays_optional() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string", "default": "x"}}, "required": ["a"]});
    assert_eq!(
        strict(&schema),
        Ok(
            json!({"type": "object", "additionalProperties": false, "required": ["a"], "properties": {
            "a": {"type": "string"}, "b": {"type": "string", "description": "default \"x\""}}})
        ),
    );
}

#[test]
fn bounds_and_lengths_are_described() {
    let schema = json!({"type": "object", "additionalProperties": false, "properties": {
        "n": {"type": "integer", "minimum": 1, "maximum": 5},
        "s": {"type": "string", "maxLength": 5, "pattern": "^a", "format": "uri"},
        "l": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3},
    }});
    let written = strict(&schema).expect("strict");
    assert_eq!(
        written["properties"]["n"],
        json!({"type": "integer", "description": "1 to 5"})
    );
    let text = json!({"type": "string", "format": "uri", "description": "at most 5 characters; matches ^a"});
    assert_eq!(written["properties"]["s"], text);
    let list = json!({"type": "array", "items": {"type": "string"}, "minItems": 1, "description": "at most 3 items"});
    assert_eq!(written["properties"]["l"], list);
}

#[test]
fn references_are_written_out_and_may_not_lead_back() {
    let schema = json!({"type": "object", "properties": {"p": {"$ref": "#/$defs/P"}}, "$defs": {"P": {"type": "string"}}});
    assert_eq!(
        strict(&schema).expect("strict")["properties"]["p"],
        json!({"type": "string"})
    );
    let schema = json!({"type": "object", "properties": {"p": {"$ref": "#"}}});
    assert!(matches!(strict(&schema), Err(NotStrict::Recursive { .. })));
}

#[test]
fn other_providers_have_no_strict_form() {
    let schema = json!({"type": "object", "properties": {}});
    for provider in Provider::ALL {
        let has = matches!(
            provider,
            Provider::OpenAiChat
                | Provider::OpenAiResponses
                | Provider::Anthropic
                | Provider::Bedrock
                | Provider::Cohere
        );
        let projection = project(provider, &schema, true).expect("not refused");
        assert_eq!(
            projection.not_strict,
            (!has).then_some(NotStrict::Unsupported),
            "{provider}"
        );
    }
}
