//! `--tools FILE`.

use crate::cli::CommandStatus;
use crate::cli::tests::{file, in_json, path, piped};
use expect_test::expect;
use serde_json::{Value, json};

/// Returns the errors of a file, without its path.
async fn errors_of(text: &str) -> String {
    let file = file(text);
    let ran = piped(&["list", "--tools", path(&file)]).await;
    assert_eq!((ran.status, ran.output.as_str()), (CommandStatus::Usage, ""));
    ran.errors.replace(path(&file), "FILE")
}

#[tokio::test]
async fn reports_every_problem_of_the_file() {
    let tools = json!([
        {"name": "fine", "description": "Fine.", "inputSchema": {"type": "object"}},
        {"name": "fine", "description": "Again.", "inputSchema": {"type": "object"}},
        {"description": 3},
        7,
        {"name": "no blanks", "inputSchema": {"type": "object"}},
        {"name": "list", "inputSchema": {"type": "array"}},
        {"name": "typo", "inputSchema": {"type": "object", "properties": {"a": {"type": "text"}}}},
        {"name": "is.ok", "inputSchema": {"type": "object"}},
    ]);
    let expected = expect![[r#"
        error: FILE: duplicate tool name `fine`: tools 1 and 2
        error: FILE: tool 3: missing `name`
        error: FILE: tool 3: expected `description` to be a string
        error: FILE: tool 3: missing `inputSchema`
        error: FILE: tool 4: expected an object
        error: FILE: tool `no blanks`: invalid raw tool name `no blanks`: names are 1-128 of `A-Z a-z 0-9 _ . : / -`
        error: FILE: tool `list`: the parameters schema is not one of an object; set `"type": "object"` at its root
        error: FILE: tool `typo`: the parameters schema is not a valid JSON Schema: `/properties/a/type`: expected one of array, boolean, integer, null, number, object and string, got "text"
    "#]];
    expected.assert_eq(&errors_of(&tools.to_string()).await);
}

#[tokio::test]
async fn reports_a_file_of_another_kind() {
    assert!(errors_of("[{").await.contains("error: FILE: invalid JSON: "));
    assert!(errors_of("3").await.contains("expected an array"));
    assert!(errors_of("{\"servers\": []}").await.contains("expected an array `tools`"));
    let deep = "[".repeat(100_000);
    assert!(errors_of(&deep).await.contains("recursion limit"));
}

#[tokio::test]
async fn reads_the_result_of_tools_list() {
    let result = json!({"tools": [{"name": "echo", "title": "Echo", "inputSchema": {
        "$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}, "outputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": true}}], "nextCursor": null});
    let file = file(result.to_string());
    let listed = in_json(&["list", "--tools", path(&file)]).await.json();
    assert_eq!((&listed[0]["title"], &listed[0]["outputSchema"]), (&json!("Echo"), &json!({"type": "object"})));
}

#[tokio::test]
async fn validates_and_echoes_a_call_of_a_declared_tool() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]});
    // The echo is not a result, so the output schema does not apply to it.
    let tools = json!([{"name": "math.factorial", "inputSchema": schema, "outputSchema": {"type": "integer"}}]);
    let file = file(tools.to_string());
    let call =
        async |arguments| in_json(&["call", "math.factorial", "--tools", path(&file), "--args", arguments]).await;
    let ran = call(r#"{"n": 5}"#).await;
    assert_eq!((ran.status, &ran.json()["data"]), (CommandStatus::Success, &json!({"n": 5})), "{}", ran.output);
    let ran = call(r#"{"n": 0}"#).await;
    assert_eq!((ran.status, &ran.json()["error"]["type"]), (CommandStatus::Failure, &json!("VALIDATION")));
    assert!(ran.json()["meta"]["problems"].is_array(), "{}", ran.output);
}

#[tokio::test]
async fn declares_ten_thousand_tools() {
    let tool = |n: usize| {
        json!({"name": format!("tool_{n}"), "description": "One of many.", "inputSchema": {
        "type": "object", "properties": {"n": {"type": "integer", "minimum": n}}}})
    };
    let file = file((0..10_000).map(tool).collect::<Value>().to_string());
    let ran = in_json(&["schema", "--provider", "openai-chat", "--tools", path(&file)]).await;
    let schema = ran.json();
    assert_eq!(schema["declarations"].as_array().map(Vec::len), Some(10_000));
    assert_eq!(schema["report"]["tools"].as_array().map(Vec::len), Some(10_000));
}
