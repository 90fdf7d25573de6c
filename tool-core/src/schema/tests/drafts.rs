//! Schemas of older drafts, and the same schemas in draft 2020-12.

use crate::schema::compiled::CompiledSchema;
use crate::schema::evaluation::is_valid;
use crate::schema::to_draft_2020_12;
use jsonschema::Draft;
use serde_json::{Value, json};

const FOUR: &str = "http://json-schema.org/draft-04/schema#";
const SIX: &str = "http://json-schema.org/draft-06/schema#";
const SEVEN: &str = "http://json-schema.org/draft-07/schema#";
const TWENTY_NINETEEN: &str = "https://json-schema.org/draft/2019-09/schema";
const TWENTY_TWENTY: &str = "https://json-schema.org/draft/2020-12/schema";

/// A schema of a draft with one property, `p`.
fn with(draft: &str, property: &Value) -> Value {
    json!({"$schema": draft, "type": "object", "properties": {"p": property}, "definitions": {"d": {"type": "string"}}})
}

/// The property after the rewrite.
fn property(draft: &str, property: &Value) -> Value {
    let upgraded = to_draft_2020_12(&with(draft, property));
    assert_eq!(
        (upgraded.get("$schema"), upgraded.get("definitions")),
        (None, None)
    );
    assert_eq!(upgraded["$defs"], json!({"d": {"type": "string"}}));
    upgraded["properties"]["p"].clone()
}

/// Asserts that the schema stays what it is to the letter, the order of its keywords included.
fn assert_unchanged(schema: &Value) {
    assert_eq!(to_draft_2020_12(schema).to_string(), schema.to_string());
}

#[test]
fn item_lists_become_prefix_items() {
    let pair = json!({"type": "array", "items": [{"type": "string"}, {"type": "null"}], "additionalItems": false});
    let expected = json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "null"}], "items": false});
    for draft in [FOUR, SIX, SEVEN, TWENTY_NINETEEN] {
        assert_eq!(property(draft, &pair), expected);
    }
    assert_eq!(to_draft_2020_12(&pair), expected);
    let open = json!({"items": [{"items": [true]}], "additionalItems": {"items": [{}]}});
    assert_eq!(
        to_draft_2020_12(&open),
        json!({"prefixItems": [{"prefixItems": [true]}], "items": {"prefixItems": [{}]}})
    );
    assert_eq!(
        to_draft_2020_12(&json!({"items": [], "additionalItems": {"type": "string"}})),
        json!({"items": {"type": "string"}})
    );
    assert_unchanged(&json!({"items": {"type": "string"}, "additionalItems": false}));
}

#[test]
fn assertions_beside_old_references_are_removed() {
    let named = json!({"$ref": "#/definitions/d", "minLength": 3, "description": "Who"});
    for draft in [FOUR, SIX, SEVEN] {
        assert_eq!(
            property(draft, &named),
            json!({"$ref": "#/$defs/d", "description": "Who"})
        );
    }
    let kept = json!({"$ref": "#/$defs/d", "minLength": 3, "description": "Who"});
    assert_eq!(property(TWENTY_NINETEEN, &named), kept);
}

#[test]
fn a_reference_at_the_root_keeps_its_definitions() {
    let old = json!({"$schema": SEVEN, "$id": "urn:a", "$ref": "#/definitions/T", "definitions": {"T": {"type": "object"}}});
    let new = json!({"$id": "urn:a", "$ref": "#/$defs/T", "$defs": {"T": {"type": "object"}}});
    assert_eq!(to_draft_2020_12(&old), new);
}

#[test]
fn keywords_of_later_drafts_are_removed() {
    let later = json!({"type": "object", "dependentRequired": {"a": ["b"]}, "unevaluatedProperties": false,
        "if": {"required": ["a"]}, "then": false, "const": {}, "examples": [{}], "prefixItems": [true]});
    assert_eq!(
        property(FOUR, &later),
        json!({"type": "object", "examples": [{}]})
    );
    assert_eq!(
        property(SIX, &later),
        json!({"type": "object", "const": {}, "examples": [{}]})
    );
    assert_eq!(
        property(SEVEN, &later),
        json!({"type": "object", "if": {"required": ["a"]}, "then": false, "const": {}, "examples": [{}]})
    );
    assert_eq!(
        property(TWENTY_NINETEEN, &later).get("unevaluatedProperties"),
        Some(&json!(false))
    );
    assert_unchanged(&later);
}

#[test]
fn dependencies_are_split() {
    let both = json!({"type": "object", "dependencies": {"a": ["b"], "c": {"required": ["d"]}}});
    let split = json!({"type": "object", "dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": {"required": ["d"]}}});
    assert_eq!(property(SEVEN, &both), split);
    assert_eq!(to_draft_2020_12(&both), split);
    assert_eq!(
        to_draft_2020_12(&json!({"dependencies": {"a": ["b"]}})),
        json!({"dependentRequired": {"a": ["b"]}})
    );
    assert_unchanged(&json!({"dependencies": {"a": ["b"]}, "dependentRequired": {"c": ["d"]}}));
}

#[test]
fn exclusive_flags_become_bounds() {
    let low = json!({"type": "integer", "minimum": 3, "exclusiveMinimum": true});
    assert_eq!(
        property(FOUR, &low),
        json!({"type": "integer", "minimum": 3, "exclusiveMinimum": 3})
    );
    let high = json!({"maximum": 0.5, "exclusiveMaximum": true, "exclusiveMinimum": false});
    assert_eq!(
        to_draft_2020_12(&high),
        json!({"maximum": 0.5, "exclusiveMaximum": 0.5})
    );
    assert_eq!(
        to_draft_2020_12(&json!({"exclusiveMinimum": true})),
        json!({})
    );
    assert_unchanged(&json!({"exclusiveMinimum": 3, "minimum": 5}));
}

#[test]
fn identifiers_and_anchors_have_todays_names() {
    let four = json!({"$schema": FOUR, "id": "urn:root#", "properties": {"id": {"id": "#name"}, "b": {"$ref": "#name"}}});
    let new = json!({"$id": "urn:root#", "properties": {"id": {"$anchor": "name"}, "b": {"$ref": "#name"}}});
    assert_eq!(to_draft_2020_12(&four), new);
    assert_eq!(
        property(SEVEN, &json!({"$id": "#name"})),
        json!({"$anchor": "name"})
    );
    assert_unchanged(&json!({"id": "urn:root", "$id": "urn:other"}));
}

#[test]
fn recursive_references_lead_to_the_root() {
    let tree = json!({"$schema": TWENTY_NINETEEN, "$recursiveAnchor": true, "type": "object",
        "properties": {"children": {"type": "array", "items": {"$recursiveRef": "#"}}}});
    let new = json!({"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}});
    assert_eq!(to_draft_2020_12(&tree), new);
    assert_eq!(property(SEVEN, &json!({"$recursiveRef": "#"})), json!({}));
}

#[test]
fn pointers_follow_what_they_point_at() {
    let old = json!({
        "$id": "https://example.com/root.json",
        "properties": {
            "definitions": {"items": [{"$ref": "#/definitions/a~1b%20c"}, {"definitions": {"x": {"enum": [1]}}}]},
            "first": {"$ref": "#/properties/definitions/items/0"},
            "second": {"$ref": "https://example.com/root.json#/properties/definitions/items/1/definitions/x"},
            "third": {"$ref": "#/dependencies/definitions/additionalItems"},
            "items": {"items": {"type": "string"}, "additionalItems": {"type": "null"}},
            "fourth": {"$ref": "#/properties/items/items"},
            "fifth": {"$ref": "#/properties/items/additionalItems"},
            "sixth": {"$ref": "https://elsewhere.example/x.json#/definitions/a"},
            "seventh": {"$ref": "#/default/definitions/x"},
            "eighth": {"$ref": "#/definitions/missing/items/definitions"},
        },
        "default": {"definitions": {"x": {}}},
        "definitions": {"a/b c": {"type": "integer"}},
        "dependencies": {"definitions": {"items": [{}], "additionalItems": {"type": "boolean"}}},
    });
    let new = to_draft_2020_12(&old);
    let reference = |name: &str| {
        new["properties"][name]["$ref"]
            .as_str()
            .expect("a reference")
            .to_owned()
    };
    assert_eq!(
        new.pointer("/properties/definitions/prefixItems/0/$ref"),
        Some(&json!("#/$defs/a~1b%20c"))
    );
    assert_eq!(reference("first"), "#/properties/definitions/prefixItems/0");
    assert_eq!(
        reference("second"),
        "https://example.com/root.json#/properties/definitions/prefixItems/1/$defs/x"
    );
    assert_eq!(reference("third"), "#/dependentSchemas/definitions/items");
    assert_eq!(reference("fourth"), "#/properties/items/items");
    assert_eq!(reference("fifth"), "#/properties/items/additionalItems");
    assert_eq!(
        reference("sixth"),
        "https://elsewhere.example/x.json#/definitions/a"
    );
    assert_eq!(reference("seventh"), "#/default/definitions/x");
    assert_eq!(reference("eighth"), "#/$defs/missing/items/definitions");
    assert_eq!(new["default"], old["default"]);
}

#[test]
fn references_lead_into_the_nearest_resource() {
    let old = json!({"definitions": {"inner": {"$id": "urn:inner", "$ref": "#/definitions/deep",
        "definitions": {"deep": {"type": "string"}}}}, "$ref": "urn:inner#/definitions/deep"});
    let new = json!({"$defs": {"inner": {"$id": "urn:inner", "$ref": "#/$defs/deep",
        "$defs": {"deep": {"type": "string"}}}}, "$ref": "urn:inner#/$defs/deep"});
    assert_eq!(to_draft_2020_12(&old), new);
}

#[test]
fn an_identifier_beside_an_old_reference_names_nothing() {
    let old = json!({"$schema": SEVEN, "properties": {"a": {"$id": "urn:a", "$ref": "#/definitions/d"}},
        "definitions": {"d": {"type": "string"}}});
    let new =
        json!({"properties": {"a": {"$ref": "#/$defs/d"}}, "$defs": {"d": {"type": "string"}}});
    assert_eq!(to_draft_2020_12(&old), new);
}

#[test]
fn names_and_values_are_no_keywords() {
    for schema in [
        json!({"properties": {"definitions": {"type": "string"}, "id": true, "dependencies": {"minimum": 1}}}),
        json!({"enum": [{"definitions": {}, "items": [1]}], "const": {"dependencies": {"a": ["b"]}}}),
        json!({"default": {"exclusiveMinimum": true}, "examples": [{"$id": "#a", "items": []}]}),
        json!({"x-note": {"definitions": {}}, "required": ["id", "definitions"]}),
        json!(true),
    ] {
        assert_unchanged(&schema);
    }
    assert_unchanged(
        &json!({"$schema": SEVEN, "properties": {"$ref": {"type": "string"}, "const": {"minLength": 1}}}),
    );
}

#[test]
fn a_schema_of_draft_2020_12_is_unchanged() {
    for draft in [TWENTY_TWENTY, "https://example.com/own-dialect", ""] {
        assert_unchanged(&json!({
            "$schema": draft, "type": "object", "required": ["b", "a"], "$defs": {"z": {"$anchor": "n"}, "a": {}},
            "properties": {"b": {"$ref": "#/$defs/z", "minLength": 3}, "a": {"prefixItems": [{}], "items": false}},
            "dependentRequired": {"a": ["b"]}, "unevaluatedProperties": false, "title": "T",
        }));
    }
}

#[test]
fn both_names_of_one_keyword_stay() {
    assert_unchanged(
        &json!({"$ref": "#/definitions/a", "definitions": {"a": {}}, "$defs": {"a": false}}),
    );
    assert_unchanged(&json!({"items": [true], "prefixItems": [false]}));
}

// A validator of the old draft and one of draft 2020-12 agree on every value.
#[test]
fn the_rewrite_accepts_the_same_values() {
    let schemas = [
        (
            Draft::Draft4,
            FOUR,
            json!({"type": "number", "minimum": 1, "exclusiveMinimum": true}),
        ),
        (
            Draft::Draft4,
            FOUR,
            json!({"maximum": 1, "exclusiveMaximum": false}),
        ),
        (
            Draft::Draft4,
            FOUR,
            json!({"const": 1, "contains": false, "if": true, "then": false}),
        ),
        (
            Draft::Draft4,
            FOUR,
            json!({"items": [{"$ref": "#/definitions/d"}], "additionalItems": false}),
        ),
        (
            Draft::Draft6,
            SIX,
            json!({"contains": {"const": 1}, "if": true, "then": false}),
        ),
        (
            Draft::Draft7,
            SEVEN,
            json!({"dependencies": {"a": ["b"], "b": {"required": ["c"]}}}),
        ),
        (
            Draft::Draft7,
            SEVEN,
            json!({"$ref": "#/definitions/d", "type": "integer", "minLength": 9}),
        ),
        (
            Draft::Draft7,
            SEVEN,
            json!({"items": [{}, {"$ref": "#/definitions/d"}], "additionalItems": {"type": "null"}}),
        ),
        (
            Draft::Draft7,
            SEVEN,
            json!({"items": {"type": "string"}, "additionalItems": false}),
        ),
        (
            Draft::Draft7,
            SEVEN,
            json!({"dependentRequired": {"a": ["b"]}, "prefixItems": [false]}),
        ),
        (
            Draft::Draft201909,
            TWENTY_NINETEEN,
            json!({"$ref": "#/definitions/d", "minLength": 2}),
        ),
        (
            Draft::Draft201909,
            TWENTY_NINETEEN,
            json!({"items": [{"type": "string"}], "unevaluatedItems": false}),
        ),
    ];
    let values = [
        json!(0),
        json!(1),
        json!(1.5),
        json!(2),
        json!(null),
        json!("a"),
        json!("abc"),
        json!([]),
        json!(["a"]),
        json!([1]),
        json!([1, "a"]),
        json!([1, "a", null]),
        json!([1, "a", 2]),
        json!(["a", "b"]),
        json!({}),
        json!({"a": 1}),
        json!({"a": 1, "b": 1}),
        json!({"a": 1, "b": 1, "c": 1}),
        json!({"b": 1}),
    ];
    for (draft, name, property) in schemas {
        let old = with(name, &property);
        let reader = jsonschema::options()
            .with_draft(draft)
            .build(&old)
            .expect("a sound schema");
        let upgraded = to_draft_2020_12(&old);
        let today = CompiledSchema::new(&upgraded).expect("a sound schema");
        for value in &values {
            let value = json!({"p": value});
            assert_eq!(
                reader.is_valid(&value),
                is_valid(&today, &value),
                "{old} {upgraded} {value}"
            );
        }
        assert!(
            jsonschema::draft202012::meta::is_valid(&upgraded),
            "{upgraded}"
        );
    }
}
