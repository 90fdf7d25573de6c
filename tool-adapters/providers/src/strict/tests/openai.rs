//! OpenAI's strict form. L27

use crate::Provider;
use crate::projection::Projection;
use crate::report;
use crate::report::{ChangeKind, NotStrict};
use crate::schema::tests::project;
use crate::strict::tests::checker::problems;
use serde_json::{Value, json};

fn projected(schema: &Value) -> Projection {
    let before = schema.clone();
    let projection = project(Provider::OpenAiChat, schema, true).expect("not refused");
    assert_eq!(*schema, before); // L30
    if projection.not_strict.is_none() {
        assert_eq!(
            problems(Provider::OpenAiChat, &projection.schema),
            Vec::<String>::new(),
            "{}",
            projection.schema
        );
    }
    projection
}

/// The strict form of a property that need not be given.
fn optional(schema: &Value) -> Value {
    strict(&json!({"type": "object", "properties": {"p": schema}, "additionalProperties": false}))["properties"]["p"]
        .clone()
}

/// The strict form of a property that has to be given.
fn required(schema: &Value) -> Value {
    let root = json!({"type": "object", "properties": {"p": schema}, "required": ["p"], "additionalProperties": false});
    strict(&root)["properties"]["p"].clone()
}

fn strict(schema: &Value) -> Value {
    let projection = projected(schema);
    assert_eq!(projection.not_strict, None, "{schema}");
    projection.schema
}

fn not_strict(property: &Value) -> NotStrict {
    let root = json!({"type": "object", "properties": {"p": property}, "required": ["p"], "additionalProperties": false});
    projected(&root).not_strict.expect("not strict")
}

#[test]
fn every_object_is_closed_and_every_property_required() {
    let inner =
        json!({"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]});
    let schema = json!({"type": "object", "properties": {"a": inner, "b": {"type": "boolean"}}, "required": ["a"]});
    assert_eq!(
        strict(&schema),
        json!({"type": "object", "additionalProperties": false, "required": ["a", "b"], "properties": {
            "a": {"type": "object", "additionalProperties": false, "required": ["x"], "properties": {"x": {"type": "integer"}}},
            "b": {"type": ["boolean", "null"]},
        }}),
    );
    let changes = projected(&schema).changes;
    let closed = changes
        .iter()
        .filter(|change| change.kind == ChangeKind::Closed);
    assert_eq!(
        closed
            .map(|change| change.pointer.as_str())
            .collect::<Vec<_>>(),
        ["", "/properties/a"]
    );
}

#[test]
fn a_tool_without_parameters_is_strict() {
    let schema = strict(&json!({"type": "object", "properties": {}})); // L26
    assert_eq!(
        schema,
        json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false})
    );
}

#[test]
fn an_optional_property_is_null_instead_of_absent() {
    assert_eq!(
        optional(&json!({"type": "string"})),
        json!({"type": ["string", "null"]})
    );
    assert_eq!(
        optional(&json!({"enum": ["a", "b"]})),
        json!({"type": ["string", "null"], "enum": ["a", "b", null]})
    );
    assert_eq!(
        optional(&json!({"type": ["string", "null"]})),
        json!({"type": ["string", "null"]})
    );
    assert_eq!(
        optional(&json!({"anyOf": [{"type": "string"}, {"type": "integer"}], "description": "d"})),
        json!({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}], "description": "d"}),
    );
}

#[test]
fn a_nullable_of_one_type_is_a_list_of_types() {
    let union = json!({"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]});
    assert_eq!(
        required(&union),
        json!({"type": ["string", "null"], "enum": ["a", null]})
    );
}

#[test]
fn a_default_is_told_and_a_title_goes() {
    let schema =
        json!({"type": "integer", "default": 30, "title": "Minutes", "description": "Length"});
    assert_eq!(
        optional(&schema),
        json!({"type": ["integer", "null"], "description": "Length (default 30)"})
    );
    assert_eq!(
        optional(&json!({"type": "integer", "default": null})),
        json!({"type": ["integer", "null"]})
    );
}

#[test]
fn a_constant_is_never_null() {
    assert_eq!(
        required(&json!({"const": "a"})),
        json!({"type": "string", "const": "a"})
    );
    assert_eq!(
        optional(&json!({"const": "a", "default": "a"})),
        json!({"type": "string", "const": "a", "description": "default \"a\""})
    );
    // Without a default, to leave it out says something else, and there is no way to say that.
    let schema = json!({"type": "object", "properties": {"p": {"const": "a"}}, "additionalProperties": false});
    let why = NotStrict::Keyword {
        pointer: "/properties/p".into(),
        keyword: "const".into(),
    };
    assert_eq!(projected(&schema).not_strict, Some(why));
}

#[test]
fn one_of_is_any_of_and_the_discriminator_goes() {
    let schema = json!({"oneOf": [{"type": "string"}, {"type": "integer"}], "discriminator": {"propertyName": "x"}});
    assert_eq!(
        required(&schema),
        json!({"anyOf": [{"type": "string"}, {"type": "integer"}]})
    );
}

#[test]
fn what_stands_beside_a_union_stands_in_its_branches() {
    let schema = json!({"type": "string", "anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]});
    assert_eq!(
        required(&schema),
        json!({"anyOf": [{"type": "string", "format": "ipv4"}, {"type": "string", "format": "ipv6"}]}),
    );
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "additionalProperties": false, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]});
    assert_eq!(required(&schema)["description"], "needs `a` or `b`");
}

#[test]
fn a_reference_with_siblings_is_written_out() {
    let schema = json!({"type": "object", "required": ["p", "q"], "additionalProperties": false,
        "properties": {"p": {"$ref": "#/$defs/P", "description": "Where"}, "q": {"$ref": "#/$defs/P"}},
        "$defs": {"P": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"], "additionalProperties": false}}});
    let point = json!({"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"], "additionalProperties": false});
    let mut described = point.clone();
    described["description"] = "Where".into();
    let written = strict(&schema);
    assert_eq!(
        written["properties"],
        json!({"p": described, "q": {"$ref": "#/$defs/P"}})
    );
    assert_eq!(written["$defs"], json!({"P": point}));
}

#[test]
fn what_refers_to_itself_ends() {
    let schema = json!({"type": "object", "properties": {"tree": {"$ref": "#/$defs/Tree", "description": "The tree"}},
    "$defs": {"Tree": {"type": "object", "additionalProperties": false, "properties": {
        "left": {"$ref": "#/$defs/Tree", "default": null, "description": "Left"},
        "more": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
        "root": {"$ref": "#"},
    }}}});
    let written = strict(&schema);
    let left = &written["$defs"]["Tree"]["properties"]["left"];
    assert_eq!(
        *left,
        json!({"anyOf": [{"$ref": "#/$defs/Tree"}, {"type": "null"}], "description": "Left"})
    );
    assert_eq!(
        written["$defs"]["Tree"]["properties"]["root"],
        json!({"anyOf": [{"$ref": "#"}, {"type": "null"}]})
    );
}

#[test]
fn references_that_fan_out_do_not_explode() {
    let mut definitions = serde_json::Map::new();
    for at in 0..40 {
        let next = json!({"$ref": format!("#/$defs/D{}", at + 1), "description": "next"});
        let object = json!({"type": "object", "additionalProperties": false, "properties": {"a": next, "b": next}});
        definitions.insert(format!("D{at}"), object);
    }
    definitions.insert("D40".into(), json!({"type": "string"}));
    let schema = json!({"type": "object", "properties": {"p": {"$ref": "#/$defs/D0"}}, "$defs": definitions});
    assert!(matches!(
        projected(&schema).not_strict,
        Some(NotStrict::Limit { .. })
    ));
}

// L27
#[test]
fn references_that_fan_out_without_levels_do_not_explode() {
    let mut definitions = serde_json::Map::new();
    for at in 0..60 {
        let next = json!({"$ref": format!("#/$defs/D{}", at + 1)});
        let over_next = json!({"$ref": format!("#/$defs/D{}", at + 2)});
        definitions.insert(format!("D{at}"), json!({"anyOf": [next, over_next]}));
    }
    definitions.insert("D60".into(), json!({"type": "string"}));
    definitions.insert("D61".into(), json!({"type": "integer"}));
    let schema = json!({
        "type": "object", "additionalProperties": false, "required": ["p"],
        "properties": {"p": {"$ref": "#/$defs/D0"}},
        "$defs": definitions,
    });
    assert_eq!(projected(&schema).not_strict, None);
}

#[test]
fn what_is_not_enforced_is_described() {
    let schema = json!({"type": "string", "minLength": 1, "maxLength": 5, "format": "uri", "pattern": "^(?!a)", "description": "A link"});
    assert_eq!(
        required(&schema),
        json!({"type": "string", "description": "A link (1 to 5 characters; format uri; matches ^(?!a))"}),
    );
    let schema = json!({"type": "string", "format": "email", "pattern": "^[a-z]+$"});
    assert_eq!(required(&schema), schema);
    let schema = json!({"type": "number", "minimum": 1, "exclusiveMaximum": 5, "multipleOf": 0.5});
    assert_eq!(required(&schema), schema);
}

// They have "failed to generate regex for integer range" and "too many digits" from a compiler of grammars.
#[test]
fn numbers_that_no_grammar_holds_are_described() {
    let schema = json!({"type": "integer", "minimum": i64::MIN + 1, "maximum": i64::MAX - 1});
    let described =
        json!({"type": "integer", "description": "-9223372036854775807 to 9223372036854775806"});
    assert_eq!(required(&schema), described);
    let schema = json!({"type": "number", "exclusiveMaximum": 1e300, "minimum": 0});
    assert_eq!(
        required(&schema),
        json!({"type": "number", "minimum": 0, "description": "less than 1e+300"})
    );
    for multiple in [json!(0.123_456_789), json!(1_u64 << 53)] {
        let written = required(&json!({"type": "number", "multipleOf": multiple}));
        assert_eq!(
            written,
            json!({"type": "number", "description": format!("a multiple of {multiple}")})
        );
    }
    for multiple in [json!(5), json!(0.01), json!(99.99), json!(1e-9)] {
        let schema = json!({"type": "number", "multipleOf": multiple, "minimum": -(1_i64 << 53), "maximum": 1_i64 << 53});
        assert_eq!(required(&schema), schema);
    }
}

#[test]
fn a_union_that_one_schema_says_is_reported() {
    let union = json!({"anyOf": [{"type": "string", "enum": ["a", "b"]}, {"type": "null"}]});
    let projection = projected(
        &json!({"type": "object", "properties": {"p": union}, "additionalProperties": false}),
    );
    assert_eq!(
        projection.schema["properties"]["p"],
        json!({"type": ["string", "null"], "enum": ["a", "b", null]})
    );
    let rewritten = |change: &report::Change| {
        (
            change.pointer.as_str(),
            change.keyword.as_str(),
            change.kind,
        ) == ("/properties/p", "anyOf", ChangeKind::Rewritten)
    };
    assert!(
        projection.changes.iter().any(rewritten),
        "{:?}",
        projection.changes
    );
}

#[test]
fn what_says_nothing_to_a_model_is_reported() {
    let schema = json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "$comment": "c", "type": "object",
        "properties": {"p": {"type": "string", "$anchor": "p"}}, "required": ["p"], "additionalProperties": false});
    let changes = projected(&schema).changes;
    let dropped = changes
        .iter()
        .filter(|change| change.kind == ChangeKind::Dropped);
    let mut found = dropped
        .map(|change| (change.pointer.as_str(), change.keyword.as_str()))
        .collect::<Vec<_>>();
    found.sort_unstable();
    assert_eq!(
        found,
        [
            ("", "$comment"),
            ("", "$schema"),
            ("/properties/p", "$anchor")
        ]
    );
}

#[test]
fn tuples_are_arrays_of_any_of_their_items() {
    let schema = json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "minItems": 2, "maxItems": 2});
    let written = required(&schema);
    assert_eq!(
        written["items"],
        json!({"anyOf": [{"type": "string"}, {"type": "integer"}]})
    );
    assert_eq!(
        (&written["minItems"], &written["maxItems"]),
        (&json!(2), &json!(2))
    );
    let closed = json!({"type": "array", "prefixItems": [{"type": "string"}], "items": false});
    assert_eq!(required(&closed)["maxItems"], 1);
    let open = json!({"type": "array", "prefixItems": [{"type": "string"}]});
    assert_eq!(
        not_strict(&open),
        NotStrict::Untyped {
            pointer: "/properties/p/items".into()
        }
    );
}

#[test]
fn an_open_object_is_not_strict() {
    for schema in [
        json!({"type": "object"}),
        json!({"type": "object", "properties": {}}),
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": true}),
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}}),
        json!({"type": "object", "patternProperties": {"^a": {"type": "string"}}, "additionalProperties": false}),
    ] {
        assert_eq!(
            not_strict(&schema),
            NotStrict::OpenObject {
                pointer: "/properties/p".into()
            },
            "{schema}"
        );
    }
}

#[test]
fn what_has_no_type_is_not_strict() {
    let untyped = |pointer: &str| NotStrict::Untyped {
        pointer: pointer.into(),
    };
    for schema in [
        json!(true),
        json!({}),
        json!({"description": "anything"}),
        json!({"properties": {"a": {"type": "string"}}}),
    ] {
        assert_eq!(not_strict(&schema), untyped("/properties/p"), "{schema}");
    }
    assert_eq!(
        not_strict(&json!({"type": "array"})),
        untyped("/properties/p/items")
    );
    assert_eq!(
        not_strict(&json!({"type": "array", "items": {}})),
        untyped("/properties/p/items")
    );
    assert_eq!(
        not_strict(&json!({"$ref": "#/$defs/Gone"})),
        untyped("/properties/p")
    );
}

#[test]
fn a_union_at_the_root_is_not_strict() {
    let schema = json!({"type": "object", "anyOf": [
        {"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"properties": {"b": {"type": "string"}}, "required": ["b"]}]});
    let why = NotStrict::Keyword {
        pointer: String::new(),
        keyword: "anyOf".into(),
    };
    assert_eq!(projected(&schema).not_strict, Some(why));
}

#[test]
fn all_of_is_one_schema() {
    let schema = json!({"allOf": [{"$ref": "#/$defs/A"}, {"type": "object", "properties": {"b": {"type": "integer"}}, "required": ["b"]}]});
    let root = json!({"type": "object", "properties": {"p": schema}, "required": ["p"], "additionalProperties": false,
        "$defs": {"A": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}}});
    assert_eq!(
        strict(&root)["properties"]["p"],
        json!({"type": "object", "additionalProperties": false, "required": ["a", "b"],
            "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}),
    );
}

#[test]
fn limits_are_those_of_the_document() {
    let limit = |schema: &Value| match projected(schema).not_strict {
        Some(NotStrict::Limit { what, .. }) => what,
        other => panic!("{other:?}"),
    };
    let values = (0..1_001).map(|at| format!("v{at}")).collect::<Vec<_>>();
    let root = |property: Value| json!({"type": "object", "properties": {"p": property}, "required": ["p"]});
    assert_eq!(limit(&root(json!({"enum": values}))), "enum values");
    let deep = (0..10).fold(
        json!({"type": "string"}),
        |inner, _| json!({"type": "array", "items": inner}),
    );
    assert_eq!(limit(&root(deep)), "levels");
    let named = (0..5_001)
        .map(|at| (format!("p{at}"), json!({"type": "string"})))
        .collect::<serde_json::Map<_, _>>();
    assert_eq!(
        limit(&json!({"type": "object", "properties": named})),
        "properties"
    );
    let long = (0..13)
        .map(|at| {
            (
                "x".repeat(10_000) + &at.to_string(),
                json!({"type": "string"}),
            )
        })
        .collect::<serde_json::Map<_, _>>();
    assert_eq!(
        limit(&json!({"type": "object", "properties": long})),
        "characters of names and enum values"
    );
}

#[test]
fn names_are_not_keywords() {
    let schema = json!({"type": "object", "additionalProperties": false, "required": ["$ref", "properties", "title", "type"],
        "properties": {"title": {"type": "string"}, "type": {"type": "string"}, "properties": {"type": "string"}, "$ref": {"type": "string"}}});
    assert_eq!(strict(&schema), schema);
}
