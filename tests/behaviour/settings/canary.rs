//! No error about settings shows a secret or a text of the settings.

use super::{agents, kind};
use serde_json::{Map, Value, json};
use tool_core::arguments::Problem;
use tool_core::tool::{SecretDocument, ToolsetMetadata};

const CANARY: &str = "canary-4711-%?\"'\\";

/// A schema in which a value can be wrong in every way.
fn form() -> ToolsetMetadata {
    let schema = json!({
        "type": "object",
        "properties": {
            "number": {"type": "integer"}, "short": {"type": "string", "maxLength": 3},
            "long": {"type": "string", "minLength": 300}, "pattern": {"type": "string", "pattern": "^[0-9]+$"},
            "format": {"type": "string", "format": "date-time"}, "one": {"enum": ["a", "canary-4712"]}, "same": {"const": 1},
            "list": {"type": "array", "items": {"type": "integer"}, "uniqueItems": true, "maxItems": 1},
            "named": {"type": "object", "propertyNames": {"maxLength": 40}, "maxProperties": 0},
            "not": {"not": {"type": "string"}}, "nothing": false, "contains": {"contains": {"type": "integer"}},
            "either": {"anyOf": [{"type": "integer"}, {"type": "object", "required": ["x"]}]},
            "shape": {"oneOf": [
                {"type": "object", "properties": {"kind": {"const": "a"}}, "required": ["kind"]},
                {"type": "object", "properties": {"kind": {"const": "b"}}, "required": ["kind"]},
            ]},
            "both": {"oneOf": [{"type": "string"}, {"minLength": 1}]},
            "closed": {"type": "object", "additionalProperties": false},
        },
    });
    let mut form = ToolsetMetadata::new("canaries", "");
    (form.config_schema, form.secrets_schema) = (Some(schema.clone()), Some(schema));
    form
}

/// Sets every property to the canary, directly and nested.
fn values() -> Vec<Value> {
    let form = form();
    let names = form
        .config_schema
        .as_ref()
        .and_then(|schema| schema["properties"].as_object())
        .expect("properties");
    let all = |value: Value| {
        Value::Object(
            names
                .keys()
                .map(|name| (name.clone(), value.clone()))
                .collect::<Map<_, _>>(),
        )
    };
    let lists = [
        json!([CANARY, CANARY]),
        json!({"x": CANARY, "kind": CANARY}),
        json!([[CANARY]]),
    ];
    lists
        .into_iter()
        .chain([json!(CANARY)])
        .map(all)
        .chain([json!(CANARY), json!([CANARY])])
        .collect()
}

fn assert_silent(problems: &[Problem]) {
    assert!(!problems.is_empty());
    for problem in problems {
        let shown = format!(
            "{problem} {problem:?} {}",
            serde_json::to_string(problem).expect("JSON")
        );
        assert!(!shown.contains("4711"), "{shown}");
    }
}

// T1
#[test]
fn problems_show_no_text_of_settings_or_secrets() {
    let form = form();
    for value in values() {
        assert_silent(&form.check_config(&value).expect_err("refused"));
        assert_silent(&form.read_config::<Value>(&value).expect_err("refused"));
        assert_silent(
            &form
                .check_secrets(&value.clone().into())
                .expect_err("refused"),
        );
        assert_silent(
            &form
                .read_secrets::<Value>(&value.into())
                .expect_err("refused"),
        );
    }
}

// T1
#[test]
fn problems_show_no_number_or_boolean_of_secrets() {
    let form = form();
    let secrets = |value: Value| {
        let problems = form
            .check_secrets(&SecretDocument::from(value))
            .expect_err("refused");
        problems.iter().map(ToString::to_string).collect::<String>()
    };
    let shown = secrets(
        json!({"short": 471_147, "one": true, "same": 471_147, "list": [471_147, 471_147], "nothing": false}),
    );
    assert!(
        !shown.contains("471147") && !shown.contains("true"),
        "{shown}"
    );
    // The nearest allowed value is not shown either.
    assert!(!secrets(json!({"one": "canary-4711"})).contains("did you mean"));
}

// T1
#[tokio::test]
async fn write_errors_show_no_text_of_settings_or_secrets() {
    let (agents, _) = agents();
    for tool in [
        "settings_post",
        "settings_door",
        "settings_drive",
        "settings_plain",
    ] {
        for config in [
            json!(CANARY),
            json!({"server": [CANARY], "greeting": CANARY, "rooms": {"a": CANARY}}),
        ] {
            let secrets = json!({"password": [CANARY], "api_key": {"x": CANARY}, "master": [CANARY], "access_token": [CANARY]});
            let draft = agents.add("alice", tool).config(config).secrets(secrets);
            assert!(!format!("{draft:?}").contains("api_key"), "{draft:?}");
            let refused = kind(draft.save().await);
            let shown = format!("{refused} {refused:?}");
            assert!(!shown.contains("4711"), "{shown}");
        }
    }
}
