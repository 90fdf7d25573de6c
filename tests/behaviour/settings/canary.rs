//! No problem and no error of settings shows a secret, or a text that somebody has set.

use super::{agents, kind};
use serde_json::{Map, Value, json};
use tool_core::arguments::Problem;
use tool_core::tool::{SecretDocument, ToolsetMetadata};

const CANARY: &str = "canary-4711-%?\"'\\";

/// The schema of everything that can be wrong with a value.
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

/// Every property with the canary, alone and inside.
fn values() -> Vec<Value> {
    let form = form();
    let names = form.config_schema.as_ref().and_then(|schema| schema["properties"].as_object()).expect("properties");
    let all =
        |value: Value| Value::Object(names.keys().map(|name| (name.clone(), value.clone())).collect::<Map<_, _>>());
    let lists = [json!([CANARY, CANARY]), json!({"x": CANARY, "kind": CANARY}), json!([[CANARY]])];
    lists.into_iter().chain([json!(CANARY)]).map(all).chain([json!(CANARY), json!([CANARY])]).collect()
}

fn assert_silent(problems: &[Problem]) {
    assert!(!problems.is_empty());
    for problem in problems {
        let shown = format!("{problem} {problem:?} {}", serde_json::to_string(problem).expect("JSON"));
        assert!(!shown.contains("4711"), "{shown}");
    }
}

// THREATS: secrets in errors
#[test]
fn no_problem_shows_a_text_of_settings_or_secrets() {
    let form = form();
    for value in values() {
        assert_silent(&form.check_config(&value).expect_err("refused"));
        assert_silent(&form.read_config::<Value>(&value).expect_err("refused"));
        assert_silent(&form.check_secrets(&value.clone().into()).expect_err("refused"));
        assert_silent(&form.read_secrets::<Value>(&value.into()).expect_err("refused"));
    }
}

// THREATS: secrets in errors
#[test]
fn numbers_and_booleans_of_secrets_are_not_shown_either() {
    let form = form();
    let secrets = |value: Value| {
        let problems = form.check_secrets(&SecretDocument::from(value)).expect_err("refused");
        problems.iter().map(ToString::to_string).collect::<String>()
    };
    let shown =
        secrets(json!({"short": 471_147, "one": true, "same": 471_147, "list": [471_147, 471_147], "nothing": false}));
    assert!(!shown.contains("471147") && !shown.contains("true"), "{shown}");
    // Nor which of the allowed ones comes near.
    assert!(!secrets(json!({"one": "canary-4711"})).contains("did you mean"));
}

// THREATS: secrets in errors
#[tokio::test]
async fn no_error_of_a_write_shows_a_text_of_settings_or_secrets() {
    let (agents, _) = agents();
    for tool in ["settings_post", "settings_door", "settings_drive", "settings_plain"] {
        for config in [json!(CANARY), json!({"server": [CANARY], "greeting": CANARY, "rooms": {"a": CANARY}})] {
            let secrets =
                json!({"password": [CANARY], "api_key": {"x": CANARY}, "master": [CANARY], "access_token": [CANARY]});
            let draft = agents.add("alice", tool).config(config).secrets(secrets);
            assert!(!format!("{draft:?}").contains("api_key"), "{draft:?}");
            let refused = kind(draft.save().await);
            let shown = format!("{refused} {refused:?}");
            assert!(!shown.contains("4711"), "{shown}");
        }
    }
}
