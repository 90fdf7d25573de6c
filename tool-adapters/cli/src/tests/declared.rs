//! `--tools FILE`.

use crate::CommandStatus;
use crate::tests::{file, in_json, on_terminal, path, piped};
use expect_test::expect;
use serde_json::{Map, Value, json};

/// Returns the errors of a file, without its path.
async fn errors_of(text: &str) -> String {
    let file = file(text);
    let ran = piped(&["list", "--tools", path(&file)]).await;
    assert_eq!(
        (ran.status, ran.output.as_str()),
        (CommandStatus::Usage, "")
    );
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
    assert!(
        errors_of("[{")
            .await
            .contains("error: FILE: invalid JSON: ")
    );
    assert!(errors_of("3").await.contains("expected an array"));
    assert!(
        errors_of("{\"servers\": []}")
            .await
            .contains("expected an array `tools`")
    );
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
    assert_eq!(
        (&listed[0]["title"], &listed[0]["outputSchema"]),
        (&json!("Echo"), &json!({"type": "object"}))
    );
}

#[tokio::test]
async fn validates_and_echoes_a_call_of_a_declared_tool() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]});
    // The echo is not a result, so the output schema does not apply to it.
    let tools = json!([{"name": "math.factorial", "inputSchema": schema, "outputSchema": {"type": "integer"}}]);
    let file = file(tools.to_string());
    let call = async |arguments| {
        in_json(&[
            "call",
            "math.factorial",
            "--tools",
            path(&file),
            "--args",
            arguments,
        ])
        .await
    };
    let ran = call(r#"{"n": 5}"#).await;
    assert_eq!(
        (ran.status, &ran.json()["data"]),
        (CommandStatus::Success, &json!({"n": 5})),
        "{}",
        ran.output
    );
    let ran = call(r#"{"n": 0}"#).await;
    assert_eq!(
        (ran.status, &ran.json()["error"]["type"]),
        (CommandStatus::Failure, &json!("VALIDATION"))
    );
    assert!(ran.json()["meta"]["problems"].is_array(), "{}", ran.output);
}

#[tokio::test]
async fn declares_ten_thousand_tools() {
    let tool = |n: usize| {
        json!({"name": format!("tool_{n}"), "description": "One of many.", "inputSchema": {
        "type": "object", "properties": {"n": {"type": "integer", "minimum": n}}}})
    };
    let file = file((0..10_000).map(tool).collect::<Value>().to_string());
    let ran = in_json(&[
        "schema",
        "--provider",
        "openai-chat",
        "--tools",
        path(&file),
    ])
    .await;
    let schema = ran.json();
    assert_eq!(
        schema["declarations"].as_array().map(Vec::len),
        Some(10_000)
    );
    assert_eq!(
        schema["report"]["tools"].as_array().map(Vec::len),
        Some(10_000)
    );
}

#[tokio::test]
async fn reads_every_form_of_declarations() {
    let tool = json!({"name": "echo", "inputSchema": {"type": "object"}});
    let result = json!({"tools": [tool]});
    for text in [
        json!([tool]),
        result.clone(),
        json!({"jsonrpc": "2.0", "id": 1, "result": result}),
        json!([{"type": "function", "function": {"name": "echo", "parameters": {"type": "object"}, "strict": true}}]),
        json!([{"type": "function", "name": "echo", "parameters": {"type": "object"}, "strict": null}]),
    ] {
        let file = file(text.to_string());
        let listed = in_json(&["list", "--tools", path(&file)]).await.json();
        assert_eq!(
            (&listed[0]["name"], &listed[0]["inputSchema"]),
            (&json!("echo"), &json!({"type": "object"})),
            "{text}"
        );
    }
    // OpenAI's form may leave out the parameters of a tool without any.
    for text in [
        json!([{"type": "function", "function": {"name": "now"}}]),
        json!([{"type": "function", "name": "now", "parameters": null}]),
    ] {
        let file = file(text.to_string());
        let listed = in_json(&["list", "--tools", path(&file)]).await.json();
        assert_eq!(
            listed[0]["inputSchema"],
            json!({"type": "object", "properties": {}}),
            "{text}"
        );
    }
}

#[tokio::test]
async fn hints_become_the_category_and_come_out_again() {
    let schema = json!({"type": "object"});
    let reads = json!({"readOnlyHint": true, "openWorldHint": true, "title": "Reads"});
    let writes = json!({"readOnlyHint": false, "destructiveHint": true, "idempotentHint": true, "openWorldHint": false});
    let file = file(
        json!([
            {"name": "reads", "inputSchema": schema, "annotations": reads},
            {"name": "writes", "inputSchema": schema, "annotations": &writes},
            {"name": "silent", "inputSchema": schema, "annotations": {}},
            {"name": "plain", "inputSchema": schema},
        ])
        .to_string(),
    );
    let listed = in_json(&["list", "--tools", path(&file)]).await.json();
    let categories = [0, 1, 2, 3].map(|at: usize| listed[at]["category"].clone());
    assert_eq!(
        categories,
        ["retrieval", "action", "action", "utility"].map(Value::from)
    );
    let ran = in_json(&["schema", "--provider", "mcp", "--tools", path(&file)])
        .await
        .json();
    let hints = |at: usize| ran["declarations"][at]["annotations"].clone();
    assert_eq!(
        hints(0),
        json!({"readOnlyHint": true, "idempotentHint": true, "openWorldHint": true, "title": "Reads"})
    );
    assert_eq!(hints(1), writes);
    assert_eq!(
        hints(2),
        json!({"readOnlyHint": false, "destructiveHint": true, "openWorldHint": true})
    );
}

#[tokio::test]
async fn skips_invalid_tools_on_request() {
    let schema = json!({"type": "object"});
    let tools = json!([
        {"name": "fine", "inputSchema": schema},
        {"name": "fine", "inputSchema": schema},
        {"name": "no blanks", "inputSchema": schema},
        7,
        {"name": "typo", "inputSchema": {"type": "object", "properties": {"a": {"type": "text"}}}},
        {"name": "also", "inputSchema": schema},
    ]);
    let file = file(tools.to_string());
    let ran = in_json(&["list", "--tools", path(&file), "--skip-invalid"]).await;
    let names = ran
        .json()
        .as_array()
        .expect("a list")
        .iter()
        .map(|tool| tool["name"].clone())
        .collect::<Vec<_>>();
    assert_eq!(
        (ran.status, names),
        (CommandStatus::Success, vec![json!("fine"), json!("also")])
    );
    let warnings = ran
        .errors
        .lines()
        .filter(|line| line.starts_with("warning: "))
        .collect::<Vec<_>>();
    assert!(
        warnings.len() == 4 && warnings[0].contains("duplicate tool name `fine`"),
        "{}",
        ran.errors
    );
}

#[tokio::test]
async fn warns_of_more_tools_than_the_provider_accepts() {
    let tool = |n: usize| json!({"name": format!("tool_{n}"), "inputSchema": {"type": "object"}});
    let file = file((0..129).map(tool).collect::<Value>().to_string());
    let arguments = [
        "schema",
        "--provider",
        "openai-chat",
        "--tools",
        path(&file),
    ];
    let ran = in_json(&arguments).await;
    assert!(
        ran.errors
            .contains("warning: 129 tools are declared, but openai-chat accepts at most 128"),
        "{}",
        ran.errors
    );
    let ran = in_json(&["schema", "--provider", "anthropic", "--tools", path(&file)]).await;
    assert_eq!(ran.errors, "");
}

#[tokio::test]
async fn names_that_differ_in_case_or_punctuation_are_declared() {
    let names = ["get-item", "get.item", "get_item", "Get_Item", "get:item"];
    let file = file(
        names
            .map(|name| json!({"name": name, "inputSchema": {"type": "object"}}))
            .into_iter()
            .collect::<Value>()
            .to_string(),
    );
    for provider in ["openai-chat", "cohere", "gemini"] {
        let report = in_json(&["schema", "--provider", provider, "--tools", path(&file)])
            .await
            .json()["report"]
            .clone();
        let wire = report["tools"]
            .as_array()
            .expect("tools")
            .iter()
            .map(|tool| tool["declaredAs"].to_string());
        assert_eq!(
            wire.collect::<std::collections::HashSet<_>>().len(),
            names.len(),
            "{provider}: {report}"
        );
    }
    let ran = in_json(&["call", "get.item", "--tools", path(&file)]).await;
    assert_eq!(ran.json()["meta"]["tool"], json!("get.item"));
}

#[tokio::test]
async fn lint_folds_what_repeats_and_does_not_warn_of_titles() {
    let schema = json!({"type": "object", "title": "T", "properties": {"a": {"type": "string", "minLength": 1, "description": "A"},
        "m": {"type": "object", "description": "M", "propertyNames": {"type": "string"}}}});
    let tool = |n: usize| json!({"name": format!("tool_{n}"), "description": "One.", "inputSchema": schema});
    let file = file((0..40).map(tool).collect::<Value>().to_string());
    let ran = piped(&["lint", "--provider", "ollama", "--tools", path(&file)]).await;
    let warnings = ran
        .output
        .lines()
        .filter(|line| line.starts_with("warning: "))
        .collect::<Vec<_>>();
    let expected = "warning: `minLength` is not enforced: the description has it: 40 times in 40 tools, first tool_0 at `/properties/a` (ollama)";
    assert_eq!(warnings, [expected], "{}", ran.output);
}

#[tokio::test]
async fn show_takes_lines_with_many_leading_blanks() {
    let description = format!("A\n{}tool", " ".repeat(70_000));
    let tools =
        json!([{"name": "a", "description": description, "inputSchema": {"type": "object"}}]);
    let file = file(tools.to_string());
    let arguments = ["show", "a", "--tools", path(&file)];
    let ran = piped(&arguments).await;
    assert!(ran.output.contains("    tool\n"), "{}", ran.output.len());
    let ran = on_terminal(&arguments).await;
    let lines = ran.output.lines().take(3).collect::<Vec<_>>();
    assert_eq!(lines, ["a", "A", &format!("{}tool", " ".repeat(40))]);
}

#[tokio::test]
async fn show_says_that_there_are_more_parameters() {
    let property = |n: usize| (format!("p{n}"), json!({"type": "string"}));
    let properties = (0..501).map(property).collect::<Map<_, _>>();
    let schema = json!({"type": "object", "properties": properties});
    let file = file(json!([{"name": "a", "description": "A.", "inputSchema": schema}]).to_string());
    let shown = piped(&["show", "a", "--tools", path(&file)]).await;
    let hint = "There are more; --json prints the whole schema.\n";
    assert!(shown.output.contains(hint), "{}", shown.output);
    assert!(shown.output.contains("\np499 ") && !shown.output.contains("\np500 "));
    let listed = piped(&["list", "--tools", path(&file)]).await;
    assert!(listed.output.contains("p499?, .. "), "{}", listed.output);
}
