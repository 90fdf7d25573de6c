//! `call --batch`.

use crate::tests::{file, path, piped, run_with, tools};
use crate::{CommandStatus, tests};
use serde_json::json;
use std::fmt::Write;

async fn batch(input: &str) -> tests::Outcome {
    run_with(&tools(), &["call", "--batch", "-"], input).await
}

#[tokio::test]
async fn prints_an_envelope_for_each_line_in_order() {
    let ran = batch(
        "{\"name\": \"command_line_add\", \"arguments\": {\"a\": 1}, \"id\": \"mine\"}\n\n\
         {\"name\": \"command_line_add\", \"arguments\": \"{\\\"a\\\": 2}\"}\r\n\
         {\"name\": \"nobody\"}\n\
         {\"name\": \"command_line_add\", \"arguments\": {\"a\": \n\
         [1, 2]\n\
         {\"arguments\": {}}\n\
         {\"name\": \"command_line_add\", \"arguments\": {\"a\": 3}}",
    )
    .await;
    let lines = ran.lines();
    let kinds = lines
        .iter()
        .map(|line| line["error"]["type"].as_str().unwrap_or("ok"))
        .collect::<Vec<_>>();
    assert_eq!(
        kinds,
        [
            "ok",
            "ok",
            "NOT_FOUND",
            "VALIDATION",
            "VALIDATION",
            "VALIDATION",
            "ok"
        ]
    );
    assert_eq!(
        (&lines[0]["meta"]["callId"], &lines[1]["meta"]["callId"]),
        (&json!("mine"), &json!("call_3"))
    );
    assert!(
        lines[3]["error"]["message"]
            .as_str()
            .is_some_and(|text| text.starts_with("line 5: expected {name, arguments}: "))
    );
    assert_eq!(
        (&lines[6]["data"], ran.status),
        (&json!(3), CommandStatus::Failure)
    );
}

#[tokio::test]
async fn refuses_invalid_and_oversized_lines_alone() {
    let mut lines =
        b"\xff\xfe\n{\"name\": \"command_line_add\", \"arguments\": {\"a\": \"".to_vec();
    lines.extend(std::iter::repeat_n(b'x', (16 << 20) + 10));
    lines.extend(b"\"}}\n{\"name\": \"command_line_add\", \"arguments\": {\"a\": 1}}\n");
    let file = file(lines);
    let ran = piped(&["call", "--batch", path(&file)]).await;
    let oks = ran
        .lines()
        .iter()
        .map(|line| line["ok"].as_bool())
        .collect::<Vec<_>>();
    assert_eq!(oks, [Some(false), Some(false), Some(true)]);
    assert!(ran.output.contains("longer than 16777216 bytes"));
}

#[tokio::test]
async fn gives_each_line_its_own_turn() {
    let lines = "{\"name\": \"command_line_add\", \"arguments\": {\"a\": 1}}\n".repeat(10_000);
    let ran = batch(&lines).await;
    assert_eq!(
        (ran.status, ran.output.lines().count()),
        (CommandStatus::Success, 10_000)
    );
}

#[tokio::test]
async fn echoes_ten_thousand_lines_of_declared_tools() {
    let schema =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let file = file(
        json!([{"name": "math.factorial", "description": "n!", "inputSchema": schema}]).to_string(),
    );
    let mut lines = String::new();
    for n in 0..10_000 {
        writeln!(
            lines,
            r#"{{"name": "math.factorial", "arguments": {{"n": {n}}}}}"#
        )
        .expect("a string");
    }
    let ran = run_with(
        &tools(),
        &["call", "--batch", "-", "--tools", path(&file)],
        &lines,
    )
    .await;
    assert_eq!(ran.status, CommandStatus::Success);
    for (n, line) in ran.lines().into_iter().enumerate() {
        assert_eq!(line["data"], json!({"n": n}));
    }
}

#[tokio::test]
async fn makes_no_calls_for_empty_input() {
    let ran = batch("").await;
    assert_eq!(
        (ran.status, ran.output.as_str()),
        (CommandStatus::Success, "")
    );
}

#[tokio::test]
async fn the_file_may_begin_with_a_byte_order_mark() {
    let line = r#"{"name": "command_line_add", "arguments": {"a": 1}}"#;
    let ran = batch(&format!("\u{feff}{line}\n{line}\n")).await;
    assert_eq!(ran.status, CommandStatus::Success, "{}", ran.output);
}
