//! Tools that a provider's own search finds.

use crate::Provider;
use crate::declarations::{Declarations, DeclareOptions};
use crate::declare::declare_searchable;
use crate::tests::declare::support::{definitions, echo, hosted, json_of};
use serde_json::{Value, json};
use std::sync::Arc;
use tool_core::{ProviderTool, ToolCall};

const DEFER: DeclareOptions = DeclareOptions {
    strict: false,
    only_single_type: false,
    model_mixes: false,
    defer: true,
};

/// Declares `help`, `search_tools` and `reports.query`, of which the last was found, beside `reports.list`.
fn declared(
    provider: Provider,
    options: DeclareOptions,
    hosts: &[Arc<dyn ProviderTool>],
) -> Declarations {
    let tools = definitions(&[echo("help"), echo("search_tools"), echo("reports.query")]);
    let searchable = definitions(&[echo("reports.list"), echo("reports.query")]);
    declare_searchable(provider, &tools, &searchable, hosts, options)
}

/// Returns the names, or else the kinds, of what is declared, and what is deferred.
fn brief(declared: &Declarations) -> Vec<(String, bool)> {
    let json = json_of(declared);
    let item = |item: &Value| {
        let name = item
            .get("name")
            .or_else(|| item.get("type"))
            .and_then(Value::as_str)
            .unwrap_or_default();
        (name.to_owned(), item["defer_loading"] == true)
    };
    json.as_array().expect("a list").iter().map(item).collect()
}

// L39
#[test]
fn a_providers_own_search_takes_the_place_of_ours() {
    for (provider, search) in [
        (Provider::Anthropic, "tool_search_tool_bm25"),
        (Provider::OpenAiResponses, "tool_search"),
    ] {
        let declared = declared(provider, DEFER, &[]);
        let expected = [
            ("help", false),
            ("reports_list", true),
            ("reports_query", true),
            (search, false),
        ];
        assert_eq!(
            brief(&declared),
            expected.map(|(name, deferred)| (name.to_owned(), deferred)),
            "{provider}"
        );
        // A deferred tool is called like any other.
        assert_eq!(
            declared
                .restore(ToolCall::new("c", "reports_list", "{}"))
                .name(),
            "reports.list"
        );
    }
}

#[test]
fn the_search_is_declared_in_the_providers_form() {
    let last = |provider| {
        json_of(&declared(provider, DEFER, &[]))
            .as_array()
            .and_then(|all| all.last().cloned())
    };
    let anthropic =
        json!({"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"});
    assert_eq!(last(Provider::Anthropic), Some(anthropic));
    assert_eq!(
        last(Provider::OpenAiResponses),
        Some(json!({"type": "tool_search"}))
    );
}

// L39
#[test]
fn without_deferral_what_was_found_is_declared() {
    let names = ["help", "search_tools", "reports_query"];
    let shown = |declared: &Declarations| {
        names.map(|name| declared.json().get().contains(&format!("\"{name}\"")))
    };
    let plain = DeclareOptions::default();
    for (provider, options) in [
        (Provider::Anthropic, plain),
        (Provider::OpenAiResponses, plain),
        (Provider::OpenAiChat, DEFER),
    ] {
        let declared = declared(provider, options, &[]);
        assert_eq!(shown(&declared), [true; 3], "{provider}");
        let text = declared.json().get();
        assert!(
            !text.contains("reports_list") && !text.contains("defer_loading"),
            "{provider}: {text}"
        );
    }
}

#[test]
fn a_search_that_the_host_declares_is_not_repeated() {
    let own = json!({"type": "tool_search", "execution": "server"});
    let declared = declared(
        Provider::OpenAiResponses,
        DEFER,
        &[hosted("mine", "openai", own)],
    );
    assert_eq!(declared.json().get().matches("tool_search").count(), 1);
}
