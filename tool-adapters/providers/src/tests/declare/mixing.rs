//! Function tools and provider tools in one request.

use crate::Provider;
use crate::declarations::DeclareOptions;
use crate::tests::declare::support::{declared, echo, hosted, json_of};
use serde_json::{Value, json};
use std::sync::Arc;
use tool_core::ProviderTool;
use tool_core::tool::ProviderId;

const MIXES: DeclareOptions = DeclareOptions {
    strict: false,
    only_single_type: false,
    model_mixes: true,
    defer: false,
};
const ONE_KIND: DeclareOptions = DeclareOptions {
    strict: false,
    only_single_type: true,
    model_mixes: true,
    defer: false,
};
const CHATS: [Provider; 2] = [Provider::Gemini, Provider::GeminiJsonSchema];

fn search() -> Arc<dyn ProviderTool> {
    hosted("google_search", "gemini", json!({"googleSearch": {}}))
}

fn functions(json: &Value) -> usize {
    json[0]["functionDeclarations"]
        .as_array()
        .map_or(0, Vec::len)
}

// L4
#[test]
fn another_providers_tool_is_skipped_and_reported() {
    let declared = declared(
        Provider::Anthropic,
        &[echo("say")],
        &[search()],
        DeclareOptions::default(),
    );
    assert_eq!(json_of(&declared).as_array().map(Vec::len), Some(1));
    let skipped = &declared.report().skipped;
    assert_eq!(
        (skipped[0].id.as_str(), skipped.len()),
        ("google_search", 1)
    );
    assert!(
        skipped[0].reason.contains("anthropic"),
        "{}",
        skipped[0].reason
    );
}

#[test]
fn a_provider_tool_stands_after_the_functions() {
    let tools = [hosted(
        "search",
        "anthropic",
        json!({"type": "web_search_20260209", "name": "web_search"}),
    )];
    let declared = declared(
        Provider::Anthropic,
        &[echo("say")],
        &tools,
        DeclareOptions::default(),
    );
    assert_eq!(json_of(&declared)[1]["name"], "web_search");
    assert!(declared.report().skipped.is_empty());
}

#[test]
fn a_function_named_like_a_provider_tool_is_renamed() {
    let tools = [hosted(
        "search",
        "anthropic",
        json!({"type": "web_search_20260209", "name": "web_search"}),
    )];
    let declared = declared(
        Provider::Anthropic,
        &[echo("web_search")],
        &tools,
        DeclareOptions::default(),
    );
    let wire = declared.wire_name("web_search").expect("declared");
    assert_ne!(wire, "web_search");
    assert_eq!(json_of(&declared)[0]["name"], wire);
}

// L31
#[test]
fn gemini_skips_provider_tools_beside_functions_with_a_warning() {
    for provider in CHATS {
        let declared = declared(
            provider,
            &[echo("say")],
            &[search()],
            DeclareOptions::default(),
        );
        let json = json_of(&declared);
        assert_eq!(
            (json.as_array().map(Vec::len), functions(&json)),
            (Some(1), 1)
        );
        assert_eq!(declared.report().warnings.len(), 1);
        assert!(declared.report().warnings[0].contains("`google_search`"));
        assert_eq!(declared.report().skipped[0].id, "google_search");
        assert!(declared.settings().is_empty());
    }
}

// L31
#[test]
fn gemini_mixes_where_the_model_does() {
    for provider in CHATS {
        let declared = declared(provider, &[echo("say")], &[search()], MIXES);
        let json = json_of(&declared);
        assert_eq!(
            (functions(&json), &json[1]),
            (1, &json!({"googleSearch": {}}))
        );
        let settings = Value::from(declared.settings().clone());
        assert_eq!(
            settings,
            json!({"toolConfig": {"includeServerSideToolInvocations": true}})
        );
        assert!(declared.report().warnings.is_empty());
    }
}

// L31
#[test]
fn gemini_takes_provider_tools_alone() {
    for provider in CHATS {
        let declared = declared(provider, &[], &[search()], DeclareOptions::default());
        assert_eq!(json_of(&declared), json!([{"googleSearch": {}}]));
        assert!(declared.settings().is_empty() && declared.report().warnings.is_empty());
    }
}

struct Broken;

impl ProviderTool for Broken {
    fn id(&self) -> &'static str {
        "broken"
    }

    fn config(&self, _: &ProviderId) -> Option<Value> {
        unreachable!("not asked")
    }
}

// L31, L32
#[test]
fn only_one_kind_is_looked_at_before_a_provider_tool_is_asked() {
    for provider in [
        Provider::Gemini,
        Provider::GeminiJsonSchema,
        Provider::GeminiLive,
    ] {
        let declared = declared(provider, &[echo("say")], &[Arc::new(Broken)], ONE_KIND);
        let json = json_of(&declared);
        assert_eq!(
            (json.as_array().map(Vec::len), functions(&json)),
            (Some(1), 1)
        );
        assert_eq!(declared.report().skipped[0].id, "broken");
    }
}

// L32
#[test]
fn live_merges_all_into_one_object() {
    let tools = [
        search(),
        hosted("run", "gemini", json!({"codeExecution": {}})),
    ];
    let declared = declared(
        Provider::GeminiLive,
        &[echo("say")],
        &tools,
        DeclareOptions::default(),
    );
    let json = json_of(&declared);
    assert_eq!(
        (json.as_array().map(Vec::len), functions(&json)),
        (Some(1), 1)
    );
    assert_eq!(
        (&json[0]["googleSearch"], &json[0]["codeExecution"]),
        (&json!({}), &json!({}))
    );
    assert!(declared.report().warnings.is_empty() && declared.settings().is_empty());
}

// L32
#[test]
fn live_has_one_provider_tool_of_a_kind() {
    let tools = [search(), search()];
    let declared = declared(Provider::GeminiLive, &[], &tools, DeclareOptions::default());
    assert_eq!(json_of(&declared), json!([{"googleSearch": {}}]));
    assert_eq!(declared.report().skipped.len(), 1);
}
