//! Projections end, and are of a size.

use crate::Provider;
use crate::Provider::{Gemini, GeminiJsonSchema, Ollama, OpenAiChat};
use crate::report::ChangeKind;
use crate::schema::tests::{parameter, project, projected, reported};
use serde_json::{Map, Value, json};

/// The values in a value.
fn size(value: &Value) -> usize {
    let mut found = 0;
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        found += 1;
        match value {
            Value::Array(list) => open.extend(list),
            Value::Object(map) => open.extend(map.values()),
            _ => {}
        }
    }
    found
}

// Each definition refers to the next one twice: 2^40 schemas, without a cycle.
#[test]
fn references_that_fan_out_stop_at_a_budget() {
    let mut definitions = Map::new();
    for level in 0..40 {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        definitions.insert(
            format!("d{level}"),
            json!({"type": "object", "properties": {"l": next, "r": next}}),
        );
    }
    definitions.insert("d40".to_owned(), json!({"type": "string"}));
    let schema = json!({"type": "object", "properties": {"p": {"$ref": "#/$defs/d0"}}, "$defs": definitions});
    for provider in Provider::ALL {
        let projection = projected(provider, &schema);
        assert!(
            size(&projection.schema) < 30_000,
            "{provider}: {}",
            size(&projection.schema)
        );
    }
    let changes = projected(Gemini, &schema).changes;
    assert!(
        changes.iter().any(
            |change| change.kind == ChangeKind::Weakened && change.detail.contains("too large")
        )
    );
}

#[test]
fn a_cycle_is_inlined_once() {
    let node = json!({"type": "object", "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}});
    let schema = json!({"type": "object", "properties": {"tree": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}});
    for provider in [Gemini, Ollama] {
        let projection = projected(provider, &schema);
        let tree = &projection.schema["properties"]["tree"];
        assert!(tree["properties"]["name"].is_object(), "{provider}");
        assert_eq!(
            tree["properties"]["children"]["items"]
                .as_object()
                .map(Map::len),
            Some(1),
            "{provider}"
        );
        assert_eq!(
            reported(&projection, "/$defs/node/properties/children/items", "$ref"),
            Some(ChangeKind::Weakened)
        );
    }
    assert_eq!(projected(OpenAiChat, &schema).schema, schema);
    assert_eq!(projected(GeminiJsonSchema, &schema).schema, schema);
}

// Gemini unrolls cycles only where a property may be left out.
#[test]
fn a_cycle_that_has_to_be_entered_is_cut() {
    let node = json!({"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}, "required": ["next"]});
    let schema = json!({"type": "object", "properties": {"list": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}});
    let projection = projected(GeminiJsonSchema, &schema);
    assert_eq!(
        projection.schema["properties"]["list"],
        json!({"$ref": "#/$defs/node"})
    );
    assert_eq!(
        projection.schema["$defs"]["node"]["properties"]["next"],
        json!({"type": "object"})
    );
    assert_eq!(
        reported(&projection, "/$defs/node/properties/next", "$ref"),
        Some(ChangeKind::Weakened)
    );
}

#[test]
fn schemas_that_are_only_themselves_end() {
    let schemas = [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}], "properties": {"a": {"$ref": "#/properties/a"}}}),
        json!({"anyOf": [{"$ref": "#"}, {"$ref": "#/$defs/a"}], "$defs": {"a": {"oneOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}}}),
        json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"items": {"$ref": "#/$defs/a"}, "additionalProperties": {"$ref": "#/$defs/a"}}}}),
    ];
    for provider in Provider::ALL {
        for schema in &schemas {
            let written = projected(provider, schema).schema;
            assert!(size(&written) < 200, "{provider}: {written}");
        }
    }
}

#[test]
fn branches_in_branches_stop_at_a_budget() {
    let mut schema = json!({"type": "string"});
    for _ in 0..20 {
        schema = json!({"properties": {"a": schema.clone(), "b": {"minLength": 1}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}, {"type": "null"}]});
    }
    let schema = json!({"type": "object", "properties": {"p": schema}});
    for provider in Provider::ALL {
        let written = projected(provider, &schema).schema;
        assert!(size(&written) < 60_000, "{provider}: {}", size(&written));
    }
}

fn nested(depth: usize) -> Value {
    let mut schema = json!({"type": "string"});
    for _ in 0..depth {
        schema = json!({"type": "array", "items": schema});
    }
    json!({"type": "object", "properties": {"p": schema}})
}

#[test]
fn what_is_too_deep_keeps_its_type() {
    for provider in Provider::ALL
        .into_iter()
        .filter(|provider| *provider != Provider::Mcp)
    {
        let projection = projected(provider, &nested(500));
        assert!(
            projection
                .changes
                .iter()
                .any(|change| change.detail.contains("too deep")),
            "{provider}"
        );
    }
}

// `tests/cost` holds that twice as many take twice the instructions.
#[test]
fn ten_thousand_schemas_are_not_too_large() {
    let wide = |count: usize| {
        let property = |at: usize| {
            let inner = json!({"type": "object", "properties": {"x": {"type": "integer", "minimum": at}, "y": {"$ref": "#/$defs/d"}, "z": {"anyOf": [{"type": "string"}, {"type": "null"}]}}});
            (format!("p{at}"), inner)
        };
        let properties: Map<_, _> = (0..count).map(property).collect();
        json!({"type": "object", "properties": properties, "$defs": {"d": {"type": "string", "pattern": "^x"}}})
    };
    let schema = wide(1_500);
    for provider in Provider::ALL {
        let projection = projected(provider, &schema);
        assert!(
            projection
                .changes
                .iter()
                .all(|change| !change.detail.contains("too large")),
            "{provider}"
        );
    }
}

#[test]
fn bounds_that_restate_the_width_of_a_type_are_left_out() {
    let widths = [
        json!({"minimum": i32::MIN, "maximum": i32::MAX}),
        json!({"minimum": i64::MIN, "maximum": i64::MAX}),
        json!({"maximum": u32::MAX}),
        json!({"maximum": u64::MAX}),
        json!({"minimum": -9_007_199_254_740_991_i64, "maximum": 9_007_199_254_740_991_i64}),
        json!({"minimum": -1.701_411_834_604_692_3e38, "exclusiveMaximum": 1.701_411_834_604_692_3e38}),
    ];
    for width in widths {
        let mut number = json!({"type": "integer"});
        number
            .as_object_mut()
            .expect("an object")
            .extend(width.as_object().expect("an object").clone());
        let schema = json!({"type": "object", "properties": {"p": number}, "required": ["p"], "additionalProperties": false});
        for (provider, strict) in [
            (OpenAiChat, false),
            (OpenAiChat, true),
            (Gemini, false),
            (Ollama, false),
        ] {
            let projection = project(provider, &schema, strict).expect("the schema has a form");
            let text = projection.schema["properties"]["p"].to_string();
            assert!(
                !text.contains("inimum")
                    && !text.contains("aximum")
                    && !text.contains("description"),
                "{text}"
            );
            assert!(width.as_object().expect("an object").keys().all(|keyword| {
                reported(&projection, "/properties/p", keyword) == Some(ChangeKind::Rewritten)
            }));
        }
    }
}

#[test]
fn a_negation_elsewhere_keeps_no_width() {
    let schema = json!({"type": "object", "properties": {
        "p": {"type": "integer", "minimum": i32::MIN},
        "q": {"not": {"const": 1}},
    }});
    let projection = project(OpenAiChat, &schema, false).expect("the schema has a form");
    assert_eq!(
        projection.schema["properties"]["p"],
        json!({"type": "integer"})
    );
}

#[test]
fn other_bounds_of_numbers_stay() {
    let schema = json!({"type": "integer", "minimum": 0, "maximum": 255});
    assert_eq!(parameter(OpenAiChat, &schema), schema);
    let nearly = json!({"type": "integer", "minimum": 1, "maximum": u64::MAX - 1});
    assert_eq!(parameter(OpenAiChat, &nearly), nearly);
    // Without its bound, `not` would refuse every number.
    let inverted = json!({"type": "integer", "not": {"minimum": 0, "maximum": u32::MAX}});
    assert_eq!(parameter(OpenAiChat, &inverted), inverted);
}
