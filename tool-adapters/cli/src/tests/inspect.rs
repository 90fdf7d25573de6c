//! `list`, `schema`, `manifest` and `lint`, in JSON and as text.

use crate::CommandStatus;
use crate::tests::{file, in_json, on_terminal, path, piped, run_in, tools};
use serde_json::{Value, json};
use tool_adapters_providers::{Provider, declare};

#[tokio::test]
async fn list_prints_what_the_tools_option_accepts() {
    let listed = in_json(&["list"]).await;
    let first = &listed.json()[0];
    assert_eq!(
        (&first["name"], &first["kind"]),
        (&json!("command_line_add"), &json!("function"))
    );
    assert_eq!(
        (&first["category"], &first["confirm"]),
        (&json!("retrieval"), &json!("never"))
    );
    assert_eq!(first["inputSchema"]["properties"]["a"]["maximum"], 1000);

    let file = file(&listed.output);
    let again = in_json(&["list", "--tools", path(&file)]).await.json();
    assert_eq!(again[0]["inputSchema"], first["inputSchema"]);
    assert_eq!(again.as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn schema_prints_only_the_declarations() {
    for provider in Provider::ALL {
        let ran = in_json(&["schema", "--provider", provider.name()]).await;
        assert_eq!(ran.status, CommandStatus::Success);
        assert_eq!(
            ran.output.trim_end(),
            declare(provider, &tools()).json().get(),
            "{provider}"
        );
    }
}

#[tokio::test]
async fn schema_prints_the_report_on_request_or_for_a_file() {
    let file = file(in_json(&["list"]).await.output);
    for arguments in [
        &["schema", "--provider", "anthropic", "--report"][..],
        &["schema", "--provider", "anthropic", "--tools", path(&file)],
    ] {
        let schema = in_json(arguments).await.json();
        let members = schema
            .as_object()
            .expect("an object")
            .keys()
            .map(String::as_str)
            .collect::<Vec<_>>();
        assert_eq!(members.len(), 3, "{members:?}");
        assert_eq!(schema["declarations"].as_array().map(Vec::len), Some(2));
        assert_eq!(schema["settings"], json!({}));
        assert_eq!(
            schema["report"]["tools"][1]["declaredAs"],
            "command_line_delete"
        );
    }
}

#[tokio::test]
async fn the_report_is_json_without_the_option_json() {
    let arguments = ["schema", "--provider", "anthropic", "--report"];
    assert_eq!(
        piped(&arguments).await.output,
        in_json(&arguments).await.output
    );
}

#[tokio::test]
async fn schema_prints_a_table_without_json() {
    let ran = on_terminal(&["schema", "--provider", "mcp"]).await;
    assert!(
        ran.output.starts_with("TOOL                 DECLARED AS"),
        "{}",
        ran.output
    );
    assert!(
        ran.output
            .contains("command_line_add     command_line_add     no"),
        "{}",
        ran.output
    );
}

// R-F1
#[tokio::test]
async fn manifest_has_the_declarations_for_each_provider() {
    let manifest = in_json(&["manifest"]).await.json();
    assert!(
        manifest["version"]
            .as_str()
            .is_some_and(|version| version.starts_with("1.0.")),
        "{manifest}"
    );
    let schemas = manifest["tools"][0]["providerSchemas"]
        .as_object()
        .expect("an object");
    assert_eq!(schemas.len(), Provider::ALL.len());
    assert!(schemas.contains_key("openai") && schemas.contains_key("geminiNative"));
    for (provider, schema) in schemas {
        assert!(
            schema.to_string().contains("command_line_add"),
            "{provider}: {schema}"
        );
    }
}

// R-F2
#[tokio::test]
async fn provider_schemas_do_not_change_the_version() {
    let alone = tool_core::describe::Manifest::build(&tools())
        .expect("sound")
        .version;
    assert_eq!(in_json(&["manifest"]).await.json()["version"], alone);
}

#[tokio::test]
async fn manifest_check_reports_the_drift() {
    let manifest = in_json(&["manifest"]).await.output;
    let same = file(&manifest);
    let ran = in_json(&["manifest", "--check", path(&same)]).await;
    assert_eq!(
        (ran.status, ran.errors.as_str()),
        (CommandStatus::Success, "")
    );

    let mut changed = serde_json::from_str::<Value>(&manifest).expect("JSON");
    changed["tools"][0]["jsonSchema"]["properties"]["a"]["maximum"] = json!(2000);
    changed["tools"].as_array_mut().expect("a list").pop();
    let changed = file(changed.to_string());
    let ran = in_json(&["manifest", "--check", path(&changed)]).await;
    assert_eq!(
        (ran.status, ran.output.as_str()),
        (CommandStatus::Failure, "")
    );
    assert!(
        ran.errors
            .contains("error: tool `command_line_delete`: added"),
        "{}",
        ran.errors
    );
    assert!(
        ran.errors
            .contains("`/jsonSchema/properties/a/maximum`: expected 2000, got 1000"),
        "{}",
        ran.errors
    );
}

// R-F3
#[tokio::test]
async fn manifest_reports_all_unfit_tools() {
    let silent = json!([{"name": "a", "inputSchema": {"type": "object"}}, {"name": "b", "inputSchema": {"type": "object"}}]);
    let file = file(silent.to_string());
    let ran = in_json(&["manifest", "--tools", path(&file)]).await;
    assert_eq!(
        (ran.status, ran.errors.lines().count()),
        (CommandStatus::Failure, 2),
        "{}",
        ran.errors
    );
}

#[tokio::test]
async fn lint_reports_the_cost_for_each_requested_provider() {
    let linted = in_json(&["lint", "--provider", "mcp", "--provider", "anthropic"]).await;
    assert_eq!(linted.status, CommandStatus::Success, "{}", linted.errors);
    let linted = linted.json();
    assert_eq!(
        linted["costs"].as_array().map(Vec::len),
        Some(2),
        "{linted}"
    );
    assert_eq!(linted["costs"][1]["provider"], "anthropic");
    assert_eq!(linted["costs"][0]["tools"][0]["tool"], "command_line_add");
}

#[tokio::test]
async fn escapes_invisible_characters() {
    let declared = json!([{"name": "a", "description": "Red \u{1b}[31m and\u{7}\u{202e}", "inputSchema": {"type": "object"}}]);
    let file = file(declared.to_string());
    let ran = piped(&["list", "--tools", path(&file)]).await;
    assert!(
        !ran.output.contains(['\u{1b}', '\u{7}', '\u{202e}']),
        "{}",
        ran.output
    );
    let ran = run_in(
        &tools(),
        &["show", "a", "--tools", path(&file)],
        "",
        Some(40),
        false,
    )
    .await;
    assert!(
        !ran.output.contains(['\u{1b}', '\u{7}', '\u{202e}']),
        "{}",
        ran.output
    );
}
