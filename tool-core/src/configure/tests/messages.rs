//! Values taken out of messages.

use crate::configure::scrub::Hidden;
use crate::configure::{SecretDocument, ToolsetMetadata};
use crate::response::ToolError;
use serde_json::json;

fn scrubbed(secrets: serde_json::Value, message: &str) -> String {
    SecretDocument::from(secrets).scrubbed(ToolError::auth(message)).message().to_owned()
}

// THREATS: secrets in errors
#[test]
fn secrets_of_four_characters_and_more_are_taken_out_of_messages() {
    let secrets = json!({"a": "hunter2", "b": ["pass"], "c": {"d": "abc"}, "e": ""});
    assert_eq!(scrubbed(secrets, "hunter2, hunter22, xpassx, abc"), "[hidden], [hidden]2, x[hidden]x, abc");
}

// THREATS: secrets in errors
#[test]
fn of_secrets_that_hold_one_another_the_longest_goes_first() {
    assert_eq!(scrubbed(json!({"a": "1234", "b": "123456"}), "got 123456 and 1234"), "got [hidden] and [hidden]");
}

// THREATS: secrets in errors
#[test]
fn short_texts_of_settings_are_hidden_where_they_are_words() {
    let hidden = Hidden::of(&json!({"a": "to", "b": ["x"], "c": "é"}), 1);
    assert_eq!(hidden.removed_from("tom to x, ex \"x\" to"), "tom [hidden] [hidden], ex \"[hidden]\" [hidden]");
    assert_eq!(hidden.removed_from("café é"), "café [hidden]");
}

// DESIGN 6
#[test]
fn what_was_compiled_for_one_schema_is_not_used_for_another() {
    let mut form = ToolsetMetadata::new("form", "");
    assert!(form.check_config(&json!({"a": 1})).is_err());
    form.config_schema = Some(json!({"type": "object", "properties": {"a": {"type": "integer"}}}));
    assert!(form.check_config(&json!({"a": 1})).is_ok());
    let copy = form.clone();
    form.config_schema = Some(json!({"type": "object", "properties": {"a": {"type": "string"}}}));
    assert!(form.check_config(&json!({"a": 1})).is_err() && copy.check_config(&json!({"a": 1})).is_ok());
}
