//! Names of properties that a provider does not accept.

use crate::Provider::{Anthropic, Bedrock, OpenAiChat};
use crate::projection::Projection;
use crate::report::{ChangeKind, NotStrict, Refusal};
use crate::schema::tests::{project, projected, reported};
use serde_json::{Value, json};

/// A tool with an odd name in every place that has names.
fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "$vectorSearch": {"type": "object", "properties": {"filter[a]": {"type": "integer"}, "k": {"type": "integer"}}, "required": ["filter[a]"]},
            "list": {"type": "array", "items": {"$ref": "#/$defs/D"}},
            "pair": {"type": "array", "prefixItems": [{"$ref": "#/$defs/D"}, {"type": "integer"}]},
            "one": {"anyOf": [{"$ref": "#/properties/$vectorSearch"}, {"type": "string"}]},
            "map": {"type": "object", "additionalProperties": {"type": "string"}},
            "maps": {"type": "object", "additionalProperties": {"$ref": "#/$defs/D"}},
        },
        "required": ["$vectorSearch"],
        "dependentRequired": {"list": ["$vectorSearch"]},
        "$defs": {"D": {"type": "object", "properties": {"@id": {"type": "string"}}, "const": {"@id": "x"}}},
    })
}

fn written(projection: &Projection, arguments: &str) -> String {
    projection
        .renames
        .as_ref()
        .expect("other names")
        .write(arguments)
        .into_owned()
}

fn restored(projection: &Projection, arguments: &str) -> String {
    projection
        .renames
        .as_ref()
        .expect("other names")
        .restore(arguments)
        .into_owned()
}

#[test]
fn odd_names_are_renamed_at_every_depth() {
    for provider in [Anthropic, Bedrock] {
        let written = projected(provider, &schema()).schema;
        let properties = &written["properties"];
        assert_eq!(properties["vectorSearch"]["required"], json!(["filter_a"]));
        assert!(properties["vectorSearch"]["properties"]["filter_a"].is_object());
        assert_eq!(
            properties["one"]["anyOf"][0],
            json!({"$ref": "#/$defs/properties_vectorSearch"})
        );
        assert_eq!(
            (&written["required"], &written["dependentRequired"]),
            (&json!(["vectorSearch"]), &json!({"list": ["vectorSearch"]}))
        );
        assert_eq!(written["$defs"]["D"]["const"], json!({"id": "x"}));
        assert!(!written.to_string().contains("filter["), "{written}");
    }
    assert_eq!(projected(OpenAiChat, &schema()).renames.map(|_| ()), None);
}

#[test]
fn arguments_are_restored_at_every_depth() {
    let projection = projected(Anthropic, &schema());
    for (model, tool) in [
        (
            r#"{"vectorSearch":{"filter_a":1,"k":2}}"#,
            r#"{"$vectorSearch":{"filter[a]":1,"k":2}}"#,
        ),
        (
            r#"{ "list" : [{"id" : "x"}, {}] }"#,
            r#"{ "list" : [{"@id": "x"}, {}] }"#,
        ),
        (
            r#"{"pair":[{"id":"x"},1,{"id":2}]}"#,
            r#"{"pair":[{"@id":"x"},1,{"id":2}]}"#,
        ),
        (
            r#"{"one":{"filter_a":12345678901234567890123}}"#,
            r#"{"one":{"filter[a]":12345678901234567890123}}"#,
        ),
        (
            r#"{"maps":{"id":{"id":"x"}}}"#,
            r#"{"maps":{"id":{"@id":"x"}}}"#,
        ),
    ] {
        assert_eq!(restored(&projection, model), tool);
        assert_eq!(restored(&projection, &written(&projection, tool)), tool);
    }
}

#[test]
fn keys_of_maps_are_data() {
    let projection = projected(Anthropic, &schema());
    let arguments =
        r#"{"map":{"vectorSearch":"a","id":"b","$vectorSearch":"c"},"maps":{"@id":{},"id":{}}}"#;
    assert_eq!(restored(&projection, arguments), arguments);
    assert_eq!(written(&projection, arguments), arguments);
}

#[test]
fn an_own_name_and_a_text_that_is_not_json_stay() {
    let projection = projected(Anthropic, &schema());
    for text in [
        r#"{"$vectorSearch":{"filter[a]":1}}"#,
        r#"{"vectorSearch":{"filter_a":"#,
        "",
        "null",
        r#""vectorSearch""#,
    ] {
        assert_eq!(restored(&projection, text), text);
    }
}

#[test]
fn two_names_never_become_one() {
    let names = [
        "a b",
        "a/b",
        "a_b",
        "a b ",
        "  ",
        "ä",
        "ö",
        "",
        "x".repeat(65).as_str(),
        "y",
    ]
    .map(str::to_owned);
    let properties = names
        .iter()
        .map(|name| (name.clone(), json!({"type": "integer"})))
        .collect::<Value>();
    let projection = projected(
        Anthropic,
        &json!({"type": "object", "properties": properties, "required": names}),
    );
    let new = projection.schema["properties"]
        .as_object()
        .expect("properties");
    assert_eq!(new.len(), names.len());
    assert!(
        new.keys().all(|name| (1..=64).contains(&name.len())),
        "{new:?}"
    );
    let arguments = names
        .iter()
        .map(|name| (name.clone(), json!(1)))
        .collect::<Value>()
        .to_string();
    assert_eq!(
        restored(&projection, &written(&projection, &arguments)),
        arguments
    );
    let given = new
        .keys()
        .map(|name| (name.clone(), json!(1)))
        .collect::<Value>();
    assert_eq!(restored(&projection, &given.to_string()), arguments);
}

#[test]
fn a_new_name_that_says_nothing_is_explained() {
    let schema = json!({"type": "object", "properties": {"名前": {"type": "string", "description": "Who."}, "$x": {}}});
    let written = projected(Anthropic, &schema).schema["properties"]
        .as_object()
        .expect("properties")
        .clone();
    assert_eq!(
        written.values().next(),
        Some(&json!({"type": "string", "description": "Who. (named \"名前\")"}))
    );
    assert_eq!(written["x"], json!({}));
}

#[test]
fn each_new_name_is_reported() {
    let projection = projected(Anthropic, &schema());
    assert_eq!(
        reported(&projection, "/properties/$vectorSearch", "properties"),
        Some(ChangeKind::Rewritten)
    );
    let detail = &projection.changes.first().expect("a change").detail;
    assert!(
        detail.starts_with('`') && detail.contains("is declared as"),
        "{detail}"
    );
    let anchored = json!({"type": "object", "properties": {"$x": {"$anchor": "a"}}});
    assert_eq!(
        reported(
            &projected(Anthropic, &anchored),
            "/properties/$x",
            "$anchor"
        ),
        Some(ChangeKind::Dropped)
    );
}

#[test]
fn strict_schemas_have_the_new_names_too() {
    let schema = json!({"type": "object", "properties": {"$x": {"type": "integer"}}, "required": ["$x"], "additionalProperties": false});
    let projection = project(Anthropic, &schema, true).expect("a form");
    assert_eq!(projection.not_strict, None::<NotStrict>);
    assert_eq!(projection.schema["required"], json!(["x"]));
    assert_eq!(restored(&projection, r#"{"x":1}"#), r#"{"$x":1}"#);
}

#[test]
fn patterns_of_names_decide_alike_about_the_new_name() {
    let schema = |pattern: &str| json!({"type": "object", "properties": {"$x": {}}, "patternProperties": {pattern: {"type": "string"}}});
    assert!(projected(Anthropic, &schema("^y")).schema["properties"]["x"].is_object());
    // `x` would match, and `_x` does not.
    assert!(projected(Anthropic, &schema("^x")).schema["properties"]["_x"].is_object());
    let refusal = project(Anthropic, &schema("^\\$"), false).expect_err("no accepted name matches");
    assert!(matches!(refusal, Refusal::PropertyName { name, .. } if name == "$x"));
    let zod = json!({"type": "object", "properties": {"$x": {"type": "object", "propertyNames": {"type": "string"}, "additionalProperties": {}}}});
    assert!(project(Anthropic, &zod, false).is_ok());
}

#[test]
fn many_odd_names_cost_little() {
    let object = |at: usize| json!({"type": "object", "properties": {format!("$p{at}"): {"$ref": format!("#/$defs/d{}", at + 1)}}});
    let defs = (0..3_000)
        .map(|at| (format!("d{at}"), object(at)))
        .collect::<Value>();
    let schema =
        json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": defs});
    let projection = projected(Anthropic, &schema);
    assert_eq!(
        restored(&projection, r#"{"a":{"p0":{"p1":{}}}}"#),
        r#"{"a":{"$p0":{"$p1":{}}}}"#
    );
}

#[test]
fn errors_name_properties_as_the_model_sees_them() {
    let projection = projected(Anthropic, &schema());
    let renames = projection.renames.expect("other names");
    let text = "invalid arguments for `t`:\n- /$vectorSearch/filter[a]: expected an integer, got \"a\"\n- /$vectorSearchX: unknown";
    let told = "invalid arguments for `t`:\n- /vectorSearch/filter_a: expected an integer, got \"a\"\n- /$vectorSearchX: unknown";
    assert_eq!(renames.write_error(text), told);
    assert_eq!(
        renames.write_error("did you mean `@id`?"),
        "did you mean `id`?"
    );
}
