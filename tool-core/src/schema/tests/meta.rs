//! Schemas are refused where the meta-schema of their draft refuses them.

use crate::schema::meta::{problems, problems_in_2020_12};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const DRAFTS: [&str; 5] = [
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
];

const KEYWORDS: &[&str] = &[
    "type",
    "enum",
    "const",
    "minimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxItems",
    "minContains",
    "uniqueItems",
    "required",
    "dependentRequired",
    "dependencies",
    "items",
    "prefixItems",
    "additionalItems",
    "contains",
    "properties",
    "patternProperties",
    "additionalProperties",
    "propertyNames",
    "allOf",
    "not",
    "if",
    "dependentSchemas",
    "unevaluatedItems",
    "$defs",
    "definitions",
    "title",
    "format",
    "pattern",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "$anchor",
    "$comment",
    "x-order",
    "contentSchema",
];

#[test]
fn every_mistake_is_named_with_its_place() {
    let schema = json!({
        "type": "object",
        "required": ["a", "a"],
        "properties": {
            "a": {"type": "text", "minLength": -1},
            "b/c": {"anyOf": [], "multipleOf": 0, "enum": "x"},
            "d": 5,
            "e": {"items": [{"type": ["string", "string"]}], "$anchor": "1", "uniqueItems": 1},
        },
    });
    let expected = [
        "`/required/1`: expected each name once, got \"a\"",
        "`/properties/a/type`: expected one of array, boolean, integer, null, number, object and string, got \"text\"",
        "`/properties/a/minLength`: expected a whole number of at least 0, got -1",
        "`/properties/b~1c/anyOf`: expected at least one schema, got []",
        "`/properties/b~1c/multipleOf`: expected a number above 0, got 0",
        "`/properties/b~1c/enum`: expected a list, got \"x\"",
        "`/properties/d`: expected a schema, which is an object or a boolean, got 5",
        "`/properties/e/items`: expected a schema, which is an object or a boolean, got [{\"type\":[\"string\",\"string\"]}]",
        "`/properties/e/$anchor`: expected a letter or `_`, then letters, digits, `-`, `.` and `_`, got \"1\"",
        "`/properties/e/uniqueItems`: expected a boolean, got 1",
    ];
    assert_eq!(problems(&schema), expected);
}

#[test]
fn at_most_20_problems_are_listed() {
    let schema = json!({"anyOf": vec![json!({"type": 1}); 25]});
    let found = problems(&schema);
    assert_eq!(
        (found.len(), found.last().map(String::as_str)),
        (21, Some("5 more"))
    );
}

#[test]
fn a_draft_has_its_own_forms() {
    let limit = json!({"$schema": DRAFTS[0], "minimum": 1, "exclusiveMinimum": true});
    assert!(problems(&limit).is_empty());
    assert_eq!(
        problems_in_2020_12(&limit),
        ["`/exclusiveMinimum`: expected a number, got true"]
    );
    let pair = json!({"$schema": DRAFTS[2], "items": [{}, {"type": "string"}]});
    assert!(problems(&pair).is_empty());
    assert_eq!(problems_in_2020_12(&pair).len(), 1);
}

fn value() -> impl Strategy<Value = Value> {
    let edges = [
        json!(null),
        json!(true),
        json!(0),
        json!(2),
        json!(1.5),
        json!(-1),
        json!("string"),
        json!("a"),
        json!([]),
        json!(["a", "b"]),
        json!(["string", "null"]),
        json!(["a", "a"]),
        json!({}),
    ];
    let leaf = proptest::sample::select(edges.to_vec());
    leaf.prop_recursive(4, 24, 4, |inner| {
        let names = proptest::sample::select(KEYWORDS.to_vec());
        let map = prop::collection::vec((names, inner.clone()), 1..4).prop_map(|all| {
            all.into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect::<Map<_, _>>()
                .into()
        });
        prop_oneof![
            map,
            prop::collection::vec(inner, 1..3).prop_map(Value::from)
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(4_000), ..ProptestConfig::default() })]

    #[test]
    fn the_meta_schema_of_2020_12_agrees(schema in value()) {
        // A pattern is compiled elsewhere.
        let theirs = jsonschema::draft202012::meta::is_valid(&schema);
        prop_assert_eq!(problems_in_2020_12(&schema).is_empty(), theirs, "{}", schema);
    }

    #[test]
    fn the_meta_schemas_of_older_drafts_agree(schema in value(), draft in 1..4_usize) {
        let Value::Object(mut map) = schema else { return Ok(()) };
        map.insert("$schema".to_owned(), DRAFTS[draft].into());
        let schema = Value::Object(map);
        prop_assert_eq!(problems(&schema).is_empty(), jsonschema::meta::is_valid(&schema), "{}", schema);
    }
}
