//! The program `tools`, which has no linked tools.

use serde_json::{Value, json};
use std::process::{Command, Output};

fn tools(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tools"))
        .args(arguments)
        .env_remove("COLUMNS")
        .env_remove("CLICOLOR_FORCE")
        .output()
        .expect("the program runs")
}

#[test]
fn works_on_the_declarations_of_a_file() {
    let schema =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(
        file.path(),
        json!([{"name": "f", "inputSchema": schema}]).to_string(),
    )
    .expect("written");
    let path = file.path().to_str().expect("text");
    let output = tools(&["--tools", path, "call", "f", "n=5", "--json"]);
    let envelope = serde_json::from_slice::<Value>(&output.stdout).expect("JSON");
    assert_eq!(
        (output.status.code(), &envelope["data"]),
        (Some(0), &json!({"n": 5})),
        "{output:?}"
    );
    let output = tools(&["--tools", path, "list"]);
    assert!(
        String::from_utf8_lossy(&output.stdout).starts_with("TOOL  PARAMETERS  CONFIRM"),
        "{output:?}"
    );
}

#[test]
fn says_where_tools_come_from_without_a_file() {
    let output = tools(&["list"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("--tools FILE"),
        "{output:?}"
    );
}
