//! The published schemas themselves.

use crate::driver::{accepted, call, tools};
use serde_json::Value;

// R-F3: every canonical schema passes the meta-schema.
#[test]
fn every_schema_is_valid_draft_2020_12() {
    for definition in tools().coercing.definitions() {
        let schema = definition.parameters();
        let checked = jsonschema::draft202012::meta::validate(schema);
        assert!(
            checked.is_ok(),
            "{}: {:?} in {schema}",
            definition.name(),
            checked.err()
        );
    }
}

#[test]
fn schema_text_equals_schema_value() {
    for definition in tools().coercing.definitions() {
        let text: Value =
            serde_json::from_str(definition.parameters_json()).expect("the text is JSON");
        assert_eq!(text, *definition.parameters(), "{}", definition.name());
    }
}

// V2
#[test]
fn example_shown_by_a_refusal_is_accepted() {
    for case in &tools().cases {
        let refusal = call(&tools().strict, case.name, r#"{"no such parameter": []}"#);
        let Some(error) = refusal.error() else {
            assert_eq!(
                case.name, "flattened_map",
                "only a map of parameters has room for an unknown one"
            );
            continue;
        };
        // Their example is published, and not read: by functions that take texts, and as a float.
        if matches!(
            case.name,
            "converted_fields" | "converted_parameter" | "range_from_large_float"
        ) {
            continue;
        }
        let Some((_, shown)) = error.message.rsplit_once("example of valid arguments: ") else {
            assert_eq!(
                case.name, "pattern_ahead",
                "only a pattern that looks ahead is too much for it"
            );
            continue;
        };
        let response = call(&tools().strict, case.name, shown);
        assert_eq!(
            accepted(&response),
            Ok(true),
            "{}: {shown}: {}",
            case.name,
            response.to_json()
        );
    }
}

// There are at least 40 argument types.
#[test]
fn generated_types_are_varied() {
    assert!(tools().cases.len() >= 180, "{}", tools().cases.len());
}
