//! The `providers` example.

mod shared;

use serde_json::Value;
use shared::run;
use tool_adapters::Provider;

fn declared(arguments: &[&str]) -> Value {
    let output = run("providers", arguments, &[], "");
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn names(declarations: &Value) -> Vec<&str> {
    let items = declarations.as_array().unwrap();
    let name = |item: &'_ Value| item.get("name").or_else(|| item.get("type")).is_some();
    items
        .iter()
        .filter(|item| name(item))
        .filter_map(|item| item["name"].as_str().or(item["type"].as_str()))
        .collect()
}

#[test]
fn every_function_is_declared_or_reported() {
    for strict in [&["--json"][..], &["--json", "--strict"]] {
        let declared = declared(strict);
        for provider in Provider::ALL {
            let tools = &declared[provider.name()]["report"]["tools"];
            assert_eq!(tools.as_array().map(Vec::len), Some(3), "{provider}");
            for tool in tools.as_array().unwrap() {
                assert_ne!(
                    tool["declaredAs"].is_null(),
                    tool["refused"].is_null(),
                    "{provider}: {tool}"
                );
            }
        }
    }
}

// L4
#[test]
fn provider_tools_are_declared_to_their_provider_only() {
    let declared = declared(&["--json"]);
    assert_eq!(
        names(&declared["anthropic"]["declarations"]),
        ["find_trains", "layout_tree", "bash", "web_search"]
    );
    let openai = names(&declared["openai-responses"]["declarations"]);
    assert_eq!(openai, ["find_trains", "bash", "layout_tree", "web_search"]);
    let skipped = declared["mistral"]["report"]["skipped"].as_array().unwrap();
    assert_eq!(skipped.len(), 4);
    // L31
    assert!(
        declared["gemini"]["declarations"][1]["googleSearch"].is_object(),
        "{}",
        declared["gemini"]
    );
    assert_eq!(
        declared["gemini"]["settings"]["toolConfig"]["includeServerSideToolInvocations"],
        true
    );
    // L32
    assert!(declared["gemini-live"]["declarations"][0]["googleSearch"].is_object());
    assert!(declared["gemini-live"]["declarations"][0]["functionDeclarations"].is_array());
}

#[test]
fn table_shows_losses_and_cost() {
    let output = run("providers", &[], &[], "");
    let text = String::from_utf8(output.stdout).unwrap();
    for provider in Provider::ALL {
        assert!(
            text.contains(&format!("\n{}", provider.name())) || text.starts_with(provider.name()),
            "{text}"
        );
    }
    assert!(text.contains("warning: layout.tree: "), "{text}");
}

#[test]
fn unknown_argument_exits_with_2() {
    assert_eq!(
        run("providers", &["--yaml"], &[], "").status.code(),
        Some(2)
    );
}
