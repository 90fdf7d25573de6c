//! `call` with one call.

use crate::cli::CommandStatus;
use crate::cli::tests::{file, on_terminal, path, piped, run_with, tools};

#[tokio::test]
async fn prints_the_envelope_of_a_call() {
    let ran = piped(&["call", "command_line_add", "--args", r#"{"a": 40, "b": 2}"#]).await;
    assert_eq!((ran.status, ran.errors.as_str()), (CommandStatus::Success, ""));
    assert_eq!(ran.json()["data"], 42);
    assert_eq!(ran.json()["meta"]["tool"], "command_line_add");
}

#[tokio::test]
async fn reads_arguments_from_a_file_or_standard_input() {
    let file = file(r#"{"a": 1}"#);
    let at = format!("@{}", path(&file));
    assert_eq!(piped(&["call", "command_line_add", "--args", &at]).await.json()["data"], 1);
    let ran = run_with(&tools(), &["call", "command_line_add", "--args", "-"], r#"{"a": 7, "b": -2}"#, false).await;
    assert_eq!(ran.json()["data"], 5);
}

#[tokio::test]
async fn prints_the_envelope_of_a_failed_call_and_exits_with_1() {
    for (name, arguments, kind) in [
        ("command_line_add", r#"{"a": 5000, "c": 1}"#, "VALIDATION"),
        ("command_line_add", "{", "VALIDATION"),
        ("command_line_add", "-1", "VALIDATION"),
        ("command_line_ad", "{}", "NOT_FOUND"),
        ("command_line_delete", r#"{"id": 1}"#, "CONFIRMATION_REQUIRED"),
    ] {
        let ran = piped(&["call", name, "--args", arguments]).await;
        assert_eq!(ran.status, CommandStatus::Failure);
        assert_eq!(ran.json()["error"]["type"], kind, "{}", ran.output);
    }
    assert_eq!(piped(&["call", "command_line_add"]).await.json()["error"]["type"], "VALIDATION");
}

#[tokio::test]
async fn approves_a_call_on_request() {
    let waiting = piped(&["call", "command_line_delete", "--args", r#"{"id": 1}"#]).await;
    assert!(waiting.errors.contains("--approve"), "{}", waiting.errors);
    let ran = piped(&["call", "command_line_delete", "--args", r#"{"id": 1}"#, "--approve"]).await;
    assert_eq!((ran.status, &ran.json()["data"]), (CommandStatus::Success, &"deleted 1".into()));
}

#[tokio::test]
async fn prints_the_outcome_and_the_data_on_a_terminal() {
    let ran = on_terminal(&["call", "command_line_add", "--args", r#"{"a": 40, "b": "2"}"#]).await;
    assert!(ran.output.starts_with("ok     in 0."), "{}", ran.output);
    assert!(ran.output.contains("\n42\n") && ran.output.contains("note   "), "{}", ran.output);
    let ran = on_terminal(&["call", "command_line_add", "--args", "{}"]).await;
    assert!(ran.output.starts_with("error  VALIDATION: "), "{}", ran.output);
}
