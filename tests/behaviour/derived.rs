//! Derived toolsets.

use crate::support::{block_on, data, failure};
use serde_json::json;
use std::sync::Arc;
use tool_core::tool::merge_toolsets;
use tool_core::{ErrorKind, Mode, RunContext, ToolContext, Toolset, ToolsetExt, tool, toolset};

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
    tools
        .definitions()
        .map(tool_core::ToolDefinition::name)
        .collect()
}

fn built(toolset: impl Toolset) -> ToolContext {
    ToolContext::builder().with(toolset).build().expect("sound")
}

// L12, L36
#[test]
fn filter_leaves_out_a_member_of_a_toolset() {
    let tools = built(Shop.filtered(|tool| tool.name() != "buy"));
    assert_eq!(names(&tools), ["list"]);
    assert_eq!(
        tools
            .toolsets()
            .iter()
            .map(|toolset| toolset.id())
            .collect::<Vec<_>>(),
        ["shop"]
    );
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
    let tools = built(merge_toolsets(
        "both",
        [
            Arc::new(Shop) as Arc<dyn Toolset>,
            Arc::new(Shop.prefixed("other")),
        ],
    ));
    assert_eq!(names(&tools), ["list", "buy", "other_list", "other_buy"]);
    assert_eq!(tools.toolsets()[0].id(), "both");
}

// L36
#[test]
fn dynamic_toolset_is_visible_to_permitted_runs_only() {
    let tools = built(Shop.dynamic(|ctx| ctx.mode() == Mode::Text));
    let (text, voice) = (
        RunContext::detached(),
        RunContext::builder().mode(Mode::Voice).build(),
    );
    assert_eq!(tools.definitions_for(&text).count(), 2);
    assert_eq!(tools.definitions_for(&voice).count(), 0);
    block_on(async {
        assert!(tools.call("buy", "{}", &text).await.is_ok());
        let hidden = tools.call("buy", "{}", &voice).await;
        let message = &hidden.error().expect("hidden").message;
        assert_eq!(message, "unknown tool `buy`; no tools are available");
    });
}

fn is_text(ctx: &RunContext) -> bool {
    ctx.mode() == Mode::Text
}

/// Open the till.
#[tool(name = "open_the_till", dynamic = is_text)]
fn open_the_till() -> bool {
    true
}

struct Vault;

#[toolset(discover = false)]
impl Vault {
    /// Open the vault.
    #[tool(dynamic = Self::is_open)]
    fn open_vault(&self) {}

    /// Lock the vault.
    #[tool(dynamic = |ctx| ctx.mode() == Mode::Voice)]
    fn lock_vault(&self) {}

    fn is_open(ctx: &RunContext) -> bool {
        is_text(ctx)
    }
}

// L36
#[test]
fn dynamic_tool_is_visible_to_permitted_runs_only() {
    let tools = ToolContext::builder()
        .with(open_the_till)
        .with(Vault)
        .build()
        .expect("sound");
    let (text, voice) = (
        RunContext::detached(),
        RunContext::builder().mode(Mode::Voice).build(),
    );
    let names = |ctx| {
        tools
            .definitions_for(ctx)
            .map(|tool| tool.name().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (names(&text), names(&voice)),
        (
            vec!["open_the_till".into(), "open_vault".into()],
            vec!["lock_vault".into()]
        )
    );
    block_on(async {
        assert!(tools.call("open_the_till", "{}", &text).await.is_ok());
        let hidden = tools.call("open_the_till", "{}", &voice).await;
        assert_eq!(hidden.error().expect("hidden").kind, ErrorKind::NotFound);
    });
}

// L36
#[test]
fn a_dynamic_tool_has_to_pass_every_predicate() {
    let shared = Arc::new(Vault);
    let tools = ToolContext::builder()
        .with(open_the_till)
        .with(Arc::clone(&shared))
        .build()
        .expect("sound");
    let narrowed = tools
        .function_tool("open_the_till")
        .expect("a tool")
        .dynamic(|ctx| ctx.turn() == 1);
    let at = |turn, mode| narrowed.visible_in(&RunContext::builder().turn(turn).mode(mode).build());
    assert_eq!(
        [at(0, Mode::Text), at(1, Mode::Voice), at(1, Mode::Text)],
        [false, false, true]
    );
    // The predicate of its declaration does not make a tool another instance.
    assert_eq!(
        tools,
        ToolContext::builder()
            .with(open_the_till)
            .with(shared)
            .build()
            .expect("sound")
    );
}

// L8
#[test]
fn derived_toolset_returns_the_same_instances() {
    let shared = Arc::new(Shop.prefixed("x"));
    let build = || {
        ToolContext::builder()
            .with(Arc::clone(&shared))
            .build()
            .expect("sound")
    };
    assert_eq!(build(), build());
}
