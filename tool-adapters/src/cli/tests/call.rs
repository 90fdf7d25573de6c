//! `call`: one call.

use crate::cli::Status;
use crate::cli::tests::{file, path, piped, run_with, shown, tools};

#[tokio::test]
async fn a_call_prints_its_envelope() {
    let ran = piped(&["call", "command_line_add", "--args", r#"{"a": 40, "b": 2}"#]).await;
    assert_eq!((ran.status, ran.errors.as_str()), (Status::Done, ""));
    assert_eq!(ran.json()["data"], 42);
    assert_eq!(ran.json()["meta"]["tool"], "command_line_add");
}

#[tokio::test]
async fn arguments_come_from_a_file_or_from_standard_input() {
    let file = file(r#"{"a": 1}"#);
    let at = format!("@{}", path(&file));
    assert_eq!(piped(&["call", "command_line_add", "--args", &at]).await.json()["data"], 1);
    let ran = run_with(&tools(), &["call", "command_line_add", "--args", "-"], r#"{"a": 7, "b": -2}"#, false).await;
    assert_eq!(ran.json()["data"], 5);
}

#[tokio::test]
async fn a_call_that_fails_ends_with_1_and_prints_its_envelope_all_the_same() {
    for (name, arguments, kind) in [
        ("command_line_add", r#"{"a": 5000, "c": 1}"#, "VALIDATION"),
        ("command_line_add", "{", "VALIDATION"),
        ("command_line_add", "-1", "VALIDATION"),
        ("command_line_ad", "{}", "NOT_FOUND"),
        ("command_line_delete", r#"{"id": 1}"#, "CONFIRMATION_REQUIRED"),
    ] {
        let ran = piped(&["call", name, "--args", arguments]).await;
        assert_eq!(ran.status, Status::Refused);
        assert_eq!(ran.json()["error"]["type"], kind, "{}", ran.output);
    }
    assert_eq!(piped(&["call", "command_line_add"]).await.json()["error"]["type"], "VALIDATION");
}

#[tokio::test]
async fn a_person_at_the_command_line_can_agree() {
    let waiting = piped(&["call", "command_line_delete", "--args", r#"{"id": 1}"#]).await;
    assert!(waiting.errors.contains("--approve"), "{}", waiting.errors);
    let ran = piped(&["call", "command_line_delete", "--args", r#"{"id": 1}"#, "--approve"]).await;
    assert_eq!((ran.status, &ran.json()["data"]), (Status::Done, &"deleted 1".into()));
}

#[tokio::test]
async fn a_terminal_shows_the_outcome_and_the_data() {
    let ran = shown(&["call", "command_line_add", "--args", r#"{"a": 40, "b": "2"}"#]).await;
    assert!(ran.output.starts_with("ok     in 0."), "{}", ran.output);
    assert!(ran.output.contains("\n42\n") && ran.output.contains("note   "), "{}", ran.output);
    let ran = shown(&["call", "command_line_add", "--args", "{}"]).await;
    assert!(ran.output.starts_with("error  VALIDATION: "), "{}", ran.output);
}
