//! `--tools FILE`.

use crate::cli::Status;
use crate::cli::tests::{file, path, piped};
use expect_test::expect;
use serde_json::{Value, json};

/// With the name of the file left out.
async fn told(text: &str) -> String {
    let file = file(text);
    let ran = piped(&["list", "--tools", path(&file)]).await;
    assert_eq!((ran.status, ran.output.as_str()), (Status::Usage, ""));
    ran.errors.replace(path(&file), "FILE")
}

#[tokio::test]
async fn every_problem_of_the_file_is_told() {
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
        error: FILE: tools 1 and 2 are both called `fine`
        error: FILE: tool 3: `name` is missing
        error: FILE: tool 3: `description` has to be a text
        error: FILE: tool 3: `inputSchema` is missing
        error: FILE: tool 4: it is no object
        error: FILE: tool `no blanks`: invalid raw tool name `no blanks`: names are 1-128 of `A-Z a-z 0-9 _ . : / -`
        error: FILE: tool `list`: its parameters are no object; a parameters schema has `"type": "object"` at its root
        error: FILE: tool `typo`: its parameters are no JSON Schema: /properties/a/type: "text" is not valid under any of the schemas listed in the 'anyOf' keyword
        error: FILE: tool `typo`: its parameters do not compile: "text" is not valid under any of the schemas listed in the 'anyOf' keyword
    "#]];
    expected.assert_eq(&told(&tools.to_string()).await);
}

#[tokio::test]
async fn a_file_of_another_kind_is_told() {
    assert!(told("[{").await.contains("error: FILE: it is not JSON: "));
    assert!(told("3").await.contains("it is no array"));
    assert!(told("{\"servers\": []}").await.contains("without an array `tools`"));
    let deep = "[".repeat(100_000);
    assert!(told(&deep).await.contains("recursion limit"));
}

#[tokio::test]
async fn the_result_of_tools_list_is_taken_as_it_is() {
    let result = json!({"tools": [{"name": "echo", "title": "Echo", "inputSchema": {
        "$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}, "outputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": true}}], "nextCursor": null});
    let file = file(result.to_string());
    let listed = piped(&["list", "--tools", path(&file)]).await.json();
    assert_eq!((&listed[0]["title"], &listed[0]["outputSchema"]), (&json!("Echo"), &json!({"type": "object"})));
}

#[tokio::test]
async fn a_call_of_a_declared_tool_is_validated_and_echoed() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]});
    // There is no result, so its schema says nothing of the echo.
    let tools = json!([{"name": "math.factorial", "inputSchema": schema, "outputSchema": {"type": "integer"}}]);
    let file = file(tools.to_string());
    let call = async |arguments| piped(&["call", "math.factorial", "--tools", path(&file), "--args", arguments]).await;
    let ran = call(r#"{"n": 5}"#).await;
    assert_eq!((ran.status, &ran.json()["data"]), (Status::Done, &json!({"n": 5})), "{}", ran.output);
    let ran = call(r#"{"n": 0}"#).await;
    assert_eq!((ran.status, &ran.json()["error"]["type"]), (Status::Refused, &json!("VALIDATION")));
    assert!(ran.json()["meta"]["problems"].is_array(), "{}", ran.output);
}

#[tokio::test]
async fn ten_thousand_tools_are_declared() {
    let tool = |n: usize| {
        json!({"name": format!("tool_{n}"), "description": "One of many.", "inputSchema": {
        "type": "object", "properties": {"n": {"type": "integer", "minimum": n}}}})
    };
    let file = file((0..10_000).map(tool).collect::<Value>().to_string());
    let ran = piped(&["schema", "--provider", "openai-chat", "--tools", path(&file)]).await;
    let told = ran.json();
    assert_eq!(told["declarations"].as_array().map(Vec::len), Some(10_000));
    assert_eq!(told["report"]["tools"].as_array().map(Vec::len), Some(10_000));
}
