//! `call` with one call.

use crate::CommandStatus;
use crate::tests::{file, in_json, path, piped, run_with, tools};
use tool_core::{ToolContext, tool};

#[tokio::test]
async fn prints_the_envelope_of_a_call() {
    let ran = in_json(&["call", "command_line_add", "--args", r#"{"a": 40, "b": 2}"#]).await;
    assert_eq!(
        (ran.status, ran.errors.as_str()),
        (CommandStatus::Success, "")
    );
    assert_eq!(ran.json()["data"], 42);
    assert_eq!(ran.json()["meta"]["tool"], "command_line_add");
}

#[tokio::test]
async fn reads_arguments_from_a_file_or_standard_input() {
    let file = file(r#"{"a": 1}"#);
    let at = format!("@{}", path(&file));
    assert_eq!(
        in_json(&["call", "command_line_add", "--args", &at])
            .await
            .json()["data"],
        1
    );
    let ran = run_with(
        &tools(),
        &["call", "command_line_add", "--args", "-"],
        r#"{"a": 7, "b": -2}"#,
    )
    .await;
    assert_eq!(ran.output, "5\n");
}

#[tokio::test]
async fn prints_the_envelope_of_a_failed_call_and_exits_with_1() {
    for (name, arguments, kind) in [
        ("command_line_add", r#"{"a": 5000, "c": 1}"#, "VALIDATION"),
        ("command_line_add", "{", "VALIDATION"),
        ("command_line_add", "-1", "VALIDATION"),
        ("command_line_ad", "{}", "NOT_FOUND"),
        (
            "command_line_delete",
            r#"{"id": 1}"#,
            "CONFIRMATION_REQUIRED",
        ),
    ] {
        let ran = in_json(&["call", name, "--args", arguments]).await;
        assert_eq!(ran.status, CommandStatus::Failure);
        assert_eq!(ran.json()["error"]["type"], kind, "{}", ran.output);
    }
    assert_eq!(
        in_json(&["call", "command_line_add"]).await.json()["error"]["type"],
        "VALIDATION"
    );
}

#[tokio::test]
async fn shows_the_values_and_the_reasons_of_a_call_that_waits() {
    let waiting = piped(&["call", "command_line_delete", "--args", r#"{"id": 1}"#]).await;
    let expected = "note: command_line_delete waits for a person\nnote: with id: 1\n\
                    note: asked by tool: it asks before each call\n";
    assert!(waiting.errors.contains(expected), "{}", waiting.errors);
}

#[tokio::test]
async fn approves_a_call_on_request() {
    let waiting = in_json(&["call", "command_line_delete", "--args", r#"{"id": 1}"#]).await;
    assert!(waiting.errors.contains("--approve"), "{}", waiting.errors);
    let ran = in_json(&[
        "call",
        "command_line_delete",
        "--args",
        r#"{"id": 1}"#,
        "--approve",
    ])
    .await;
    assert_eq!(
        (ran.status, &ran.json()["data"]),
        (CommandStatus::Success, &"deleted 1".into())
    );
}

#[tokio::test]
async fn prints_the_data_and_notes_the_outcome() {
    let ran = piped(&[
        "call",
        "command_line_add",
        "--args",
        r#"{"a": 40, "b": "2"}"#,
    ])
    .await;
    assert_eq!(
        (ran.status, ran.output.as_str()),
        (CommandStatus::Success, "42\n")
    );
    assert!(
        ran.errors.starts_with("ok: 0.") && ran.errors.contains("\nnote: /b"),
        "{}",
        ran.errors
    );
    let ran = piped(&[
        "call",
        "command_line_delete",
        "--args",
        r#"{"id": 1}"#,
        "--approve",
    ])
    .await;
    assert_eq!(ran.output, "deleted 1\n");
}

#[tokio::test]
async fn writes_every_problem_of_a_failed_call_to_the_error_stream() {
    let ran = piped(&["call", "command_line_add", "a=5000", "c=1"]).await;
    assert_eq!(
        (ran.status, ran.output.as_str()),
        (CommandStatus::Failure, "")
    );
    assert!(
        ran.errors.starts_with("error: VALIDATION: "),
        "{}",
        ran.errors
    );
    assert!(
        ran.errors.contains("/a") && ran.errors.contains("/c"),
        "{}",
        ran.errors
    );
}

#[tokio::test]
async fn takes_arguments_as_pairs() {
    let ran = in_json(&["call", "command_line_add", "a=40", "b:=2"]).await;
    assert_eq!(
        (ran.status, &ran.json()["data"]),
        (CommandStatus::Success, &42.into()),
        "{}",
        ran.output
    );
    let ran = piped(&["call", "command_line_add", "a=1", "--args", "{}"]).await;
    assert!(
        ran.status == CommandStatus::Usage && ran.errors.contains("cannot be used with"),
        "{}",
        ran.errors
    );
}

#[tokio::test]
async fn reports_every_bad_pair_before_the_call() {
    let ran = piped(&["call", "command_line_add", "a", "b:=two", "=3"]).await;
    assert_eq!(
        (ran.status, ran.output.as_str()),
        (CommandStatus::Usage, "")
    );
    assert_eq!(
        ran.errors
            .lines()
            .filter(|line| line.starts_with("error: "))
            .count(),
        3,
        "{}",
        ran.errors
    );
}

/// Return a number of more than 64 bits.
#[tool]
fn command_line_wide() -> Vec<u128> {
    vec![1 << 100]
}

#[tokio::test]
async fn text_keeps_all_digits_of_a_number() {
    let tools = ToolContext::builder()
        .with(command_line_wide)
        .build()
        .expect("sound tools");
    let ran = run_with(&tools, &["call", "command_line_wide"], "").await;
    assert_eq!(ran.output, "[\n  1267650600228229401496703205376\n]\n");
}

#[tokio::test]
async fn arguments_may_begin_with_a_byte_order_mark() {
    let text = "\u{feff}{\"a\": 1}";
    let file = file(text);
    let at = format!("@{}", path(&file));
    for from in [at.as_str(), "-"] {
        let arguments = ["call", "command_line_add", "--args", from];
        let ran = run_with(&tools(), &arguments, text).await;
        assert_eq!(ran.output, "1\n", "{}", ran.errors);
    }
}
