//! Values taken out of messages.

use crate::call::error::ToolError;
use crate::tool::configure::metadata::ToolsetMetadata;
use crate::tool::configure::secret_document::{SecretDocument, SecretTexts};
use serde_json::json;

fn scrubbed(secrets: serde_json::Value, message: &str) -> String {
    SecretDocument::from(secrets)
        .scrub(ToolError::auth(message))
        .message()
        .to_owned()
}

// T1
#[test]
fn removes_secrets_of_four_characters_and_more() {
    let secrets = json!({"a": "hunter2", "b": ["pass"], "c": {"d": "abc"}, "e": ""});
    assert_eq!(
        scrubbed(secrets, "hunter2, hunter22, xpassx, abc"),
        "[hidden], [hidden]2, x[hidden]x, abc"
    );
}

// T1
#[test]
fn removes_numbers_of_four_digits_and_more() {
    let secrets = json!({"pin": 48151, "old": [-2342.5], "n": 123});
    assert_eq!(
        scrubbed(secrets, "pin 48151, not -2342.5, 123"),
        "pin [hidden], not [hidden], 123"
    );
}

// T1
#[test]
fn removes_base64_forms_of_secrets() {
    let secrets = json!({"password": "hunter2>>", "pin": 481_516});
    for (sent, left) in [
        // By itself, in both alphabets.
        ("aHVudGVyMj4+", "[hidden]"),
        ("aHVudGVyMj4-", "[hidden]"),
        ("NDgxNTE2", "[hidden]"),
        // `a:hunter2>>`, `al:hunter2>>`, `ali:hunter2>>`
        ("YTpodW50ZXIyPj4=", "YTp[hidden]="),
        ("YWw6aHVudGVyMj4+", "YWw6[hidden]"),
        ("YWxpOmh1bnRlcjI+Pg==", "YWxpOm[hidden]=="),
        // `hunter2>>!`
        ("aHVudGVyMj4+IQ==", "[hidden]IQ=="),
    ] {
        assert_eq!(
            scrubbed(secrets.clone(), &format!("sent {sent}.")),
            format!("sent {left}.")
        );
    }
}

// T1
#[test]
fn removes_the_longest_secret_first() {
    assert_eq!(
        scrubbed(json!({"a": "1234", "b": "123456"}), "got 123456 and 1234"),
        "got [hidden] and [hidden]"
    );
}

// T1
#[test]
fn hides_short_settings_only_as_whole_words() {
    let hidden = SecretTexts::of_settings(&json!({"a": "to", "b": ["x"], "c": "é", "d": 7}));
    assert_eq!(
        hidden.remove_from("tom to x, ex \"x\" to 7"),
        "tom [hidden] [hidden], ex \"[hidden]\" [hidden] 7"
    );
    assert_eq!(hidden.remove_from("café é"), "café [hidden]");
}
#[test]
fn compiles_again_after_the_schema_changed() {
    let mut form = ToolsetMetadata::new("form", "");
    assert!(form.check_config(&json!({"a": 1})).is_err());
    form.config_schema = Some(json!({"type": "object", "properties": {"a": {"type": "integer"}}}));
    assert!(form.check_config(&json!({"a": 1})).is_ok());
    let copy = form.clone();
    form.config_schema = Some(json!({"type": "object", "properties": {"a": {"type": "string"}}}));
    assert!(
        form.check_config(&json!({"a": 1})).is_err() && copy.check_config(&json!({"a": 1})).is_ok()
    );
}
