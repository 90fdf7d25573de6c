//! Keywords that a provider refuses, as its spec lists them.

use crate::openai_chat;
use crate::projection::{Projection, project};
use crate::report::ChangeKind;
use crate::schema::rules::{SchemaForm, WholeSchema};
use crate::schema::tests::arbitrary::root;
use crate::schema::tests::oracle::{is_endless, validator};
use crate::schema::tests::reported;
use crate::schema::tests::widening::accepted;
use crate::spec::ProviderSpec;
use proptest::prelude::*;
use serde_json::{Value, json};
use tool_core::schema::to_draft_2020_12;

const REFUSED: [&str; 7] = [
    "pattern",
    "const",
    "oneOf",
    "minItems",
    "maxItems",
    "additionalProperties",
    "patternProperties",
];

const SPEC: ProviderSpec = ProviderSpec {
    schema: SchemaForm::Whole(&WholeSchema { refuses: &REFUSED }),
    ..openai_chat::SPEC
};

fn projected(schema: &Value) -> Projection {
    project(&SPEC, &to_draft_2020_12(schema), false).expect("the schema has a form")
}

fn parameter(schema: &Value) -> Value {
    let root = json!({"type": "object", "properties": {"p": schema}});
    projected(&root).schema["properties"]["p"].clone()
}

#[test]
fn the_description_has_a_refused_keyword() {
    let schema = json!({"type": "object", "properties": {
        "p": {"type": "string", "pattern": "^a", "description": "A name."},
    }});
    let projection = projected(&schema);
    assert_eq!(
        projection.schema["properties"]["p"],
        json!({"type": "string", "description": "A name. (matches ^a)"})
    );
    assert_eq!(
        reported(&projection, "/properties/p", "pattern"),
        Some(ChangeKind::Described)
    );
}

#[test]
fn constants_and_exclusive_branches_take_the_form_that_is_left() {
    assert_eq!(parameter(&json!({"const": "a"})), json!({"enum": ["a"]}));
    assert_eq!(
        parameter(&json!({"oneOf": [{"type": "string"}, {"const": 1}]})),
        json!({"anyOf": [{"type": "string"}, {"enum": [1]}]})
    );
}

// Without the keyword, `not` would refuse more.
#[test]
fn a_keyword_that_inverts_a_refused_one_is_described() {
    let schema = json!({"type": "string", "not": {"pattern": "^a"}});
    let described = r#"does not fit {"pattern":"^a"}"#;
    assert_eq!(
        parameter(&schema),
        json!({"type": "string", "description": described})
    );
}

/// A provider that refuses the names of properties and items by pattern and by place alone.
const NAMELESS: ProviderSpec = ProviderSpec {
    schema: SchemaForm::Whole(&WholeSchema {
        refuses: &["patternProperties", "prefixItems"],
    }),
    ..openai_chat::SPEC
};

#[test]
fn further_properties_and_items_are_open_without_those_named() {
    for (keyword, schema) in [
        (
            "additionalProperties",
            json!({"type": "object", "patternProperties": {"^x": {"type": "string"}}, "additionalProperties": false}),
        ),
        (
            "items",
            json!({"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "integer"}}),
        ),
    ] {
        let root = json!({"type": "object", "properties": {"p": schema}});
        let projection = project(&NAMELESS, &root, false).expect("the schema has a form");
        let written = &projection.schema["properties"]["p"];
        let rest = written.get(keyword);
        assert!(rest.is_none_or(|rest| *rest == json!({})), "{written}");
        assert_eq!(
            reported(&projection, "/properties/p", keyword),
            Some(ChangeKind::Weakened)
        );
    }
}

#[test]
fn a_merged_root_is_open_without_its_patterns() {
    let root = json!({
        "type": "object",
        "patternProperties": {"^x": {"type": "string"}},
        "additionalProperties": false,
        "oneOf": [{"required": ["x"]}, {"required": ["xy"]}]
    });
    let projection = project(&NAMELESS, &root, false).expect("the schema has a form");
    let written = &projection.schema;
    assert_eq!(written.get("additionalProperties"), None, "{written}");
    assert_eq!(
        reported(&projection, "", "additionalProperties"),
        Some(ChangeKind::Weakened)
    );
}

fn has_refused(written: &Value) -> bool {
    let mut found = false;
    crate::schema::document::for_each_schema(written, &mut |schema| {
        found |= REFUSED.iter().any(|keyword| schema.get(keyword).is_some());
    });
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    // L30: no valid instance is lost by a projection.
    #[test]
    fn what_a_schema_accepts_is_accepted_without_refused_keywords(schema in root(), seed: u64) {
        let Ok(projection) = project(&SPEC, &to_draft_2020_12(&schema), false) else {
            return Ok(());
        };
        let written = projection.schema;
        prop_assert!(!has_refused(&written), "{written}\nof {schema}");
        let accepts = validator(&written).expect("a schema");
        if is_endless(&written) {
            return Ok(());
        }
        for instance in accepted(&schema, seed) {
            prop_assert!(accepts.is_valid(&instance), "{instance}\nby {written}\nof {schema}");
        }
    }
}
