//! Derived toolsets.

use crate::support::{block_on, data, failure};
use serde_json::json;
use std::sync::Arc;
use tool_core::tool::merge_toolsets;
use tool_core::{ErrorKind, Mode, RunContext, ToolContext, Toolset, ToolsetExt, toolset};

struct Shop;

#[toolset(discover = false)]
impl Shop {
    /// List.
    #[tool]
    fn list(&self) -> &'static str {
        "list"
    }

    /// Buy.
    #[tool]
    fn buy(&self) -> &'static str {
        "buy"
    }
}

fn names(tools: &ToolContext) -> Vec<&str> {
    tools.definitions().map(tool_core::ToolDefinition::name).collect()
}

fn built(toolset: impl Toolset) -> ToolContext {
    ToolContext::builder().with(toolset).build().expect("sound")
}

// L12, L36
#[test]
fn filter_leaves_out_a_member_of_a_toolset() {
    let tools = built(Shop.filtered(|tool| tool.name() != "buy"));
    assert_eq!(names(&tools), ["list"]);
    assert_eq!(tools.toolsets().iter().map(|toolset| toolset.id()).collect::<Vec<_>>(), ["shop"]);
}

// L36
#[test]
fn renamed_and_prefixed_tools_run_under_their_new_names() {
    let renamed = built(Shop.renamed(|name| (name == "buy").then(|| "purchase".into())));
    assert_eq!(names(&renamed), ["list", "purchase"]);
    assert_eq!(data(&renamed, "purchase", "{}"), json!("buy"));
    let prefixed = built(Shop.prefixed("shop"));
    assert_eq!(data(&prefixed, "shop_list", "{}"), json!("list"));
    assert_eq!(failure(&prefixed, "list", "{}").0, ErrorKind::NotFound);
}

// L36
#[test]
fn combined_toolset_has_its_own_id() {
    let tools = built(merge_toolsets("both", [Arc::new(Shop) as Arc<dyn Toolset>, Arc::new(Shop.prefixed("other"))]));
    assert_eq!(names(&tools), ["list", "buy", "other_list", "other_buy"]);
    assert_eq!(tools.toolsets()[0].id(), "both");
}

// L36
#[test]
fn dynamic_toolset_is_visible_to_permitted_runs_only() {
    let tools = built(Shop.dynamic(|ctx| ctx.mode() == Mode::Text));
    let (text, voice) = (RunContext::detached(), RunContext::builder().mode(Mode::Voice).build());
    assert_eq!(tools.definitions_for(&text).count(), 2);
    assert_eq!(tools.definitions_for(&voice).count(), 0);
    block_on(async {
        assert!(tools.call("buy", "{}", &text).await.is_ok());
        let hidden = tools.call("buy", "{}", &voice).await;
        let message = &hidden.error().expect("hidden").message;
        assert_eq!(message, "unknown tool `buy`; no tools are available");
    });
}

// L8
#[test]
fn derived_toolset_returns_the_same_instances() {
    let shared = Arc::new(Shop.prefixed("x"));
    let build = || ToolContext::builder().with(Arc::clone(&shared)).build().expect("sound");
    assert_eq!(build(), build());
}
