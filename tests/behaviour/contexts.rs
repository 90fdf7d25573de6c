//! The tool context: order, duplicates, equality, replacement.

use crate::support::tools;
use serde_json::{Value, json};
use std::sync::Arc;
use tool_core::tool::{ProviderId, ToolKind};
use tool_core::{
    FunctionTool, ProviderTool, RawTool, RunContext, Tool, ToolContext, ToolError, Toolset, tool,
    toolset,
};

/// One.
#[tool]
fn one() -> u8 {
    1
}

/// Two.
#[tool]
fn two() -> u8 {
    2
}

struct Pair;

#[toolset(discover = false)]
impl Pair {
    /// Left.
    #[tool]
    fn left(&self) -> u8 {
        3
    }

    /// Right.
    #[tool]
    fn right(&self) -> u8 {
        4
    }
}

struct Nested(Arc<Pair>, FunctionTool);

impl Toolset for Nested {
    fn id(&self) -> &str {
        "nested"
    }

    fn tools(self: Arc<Self>) -> Vec<Tool> {
        vec![
            Tool::provider(Search),
            Tool::Toolset(self.0.clone()),
            self.1.clone().into(),
        ]
    }
}

struct Search;

impl ProviderTool for Search {
    fn id(&self) -> &str {
        "web_search"
    }

    fn config(&self, provider: &ProviderId) -> Option<Value> {
        (provider.as_str() == "acme").then(|| json!({"type": "web_search"}))
    }
}

async fn echo(arguments: Value, _: &RunContext) -> Result<Value, ToolError> {
    Ok(arguments)
}

fn raw(name: &str) -> FunctionTool {
    FunctionTool::raw(
        RawTool {
            name: name.into(),
            description: "x".into(),
            parameters: json!({}),
        },
        echo,
    )
}

fn ids(tools: &ToolContext) -> Vec<String> {
    tools.flatten().map(|tool| tool.id().to_owned()).collect()
}

// L1, L7
#[test]
fn flatten_yields_functions_before_provider_tools() {
    let nested = Nested(Arc::new(Pair), raw("raw"));
    let tools = ToolContext::builder()
        .with(two)
        .with(nested)
        .with(one)
        .build()
        .expect("sound");
    assert_eq!(
        ids(&tools),
        ["two", "left", "right", "raw", "one", "web_search"]
    );
    let toolsets = tools
        .toolsets()
        .iter()
        .map(|toolset| toolset.id())
        .collect::<Vec<_>>();
    assert_eq!(toolsets, ["nested", "pair"]);
}

// L11
#[test]
fn has_tool_covers_provider_tools_and_function_tool_does_not() {
    let tools = ToolContext::builder()
        .with(one)
        .with(Tool::provider(Search))
        .build()
        .expect("sound");
    assert!(tools.has_tool("one") && tools.has_tool("web_search") && !tools.has_tool("pair"));
    assert!(tools.function_tool("one").is_some() && tools.function_tool("web_search").is_none());
}

// L8
#[test]
fn duplicate_name_error_gives_both_places() {
    let errors = ToolContext::builder()
        .with(raw("x"))
        .with(raw("x"))
        .with(Pair)
        .with(Pair)
        .build()
        .expect_err("twice");
    let text = errors.to_string();
    assert!(text.starts_with("duplicate function name: x"), "{text}");
    assert!(
        text.contains("duplicate function name: left")
            && text.contains("duplicate function name: right"),
        "{text}"
    );
    assert!(
        errors.iter().all(|error| error.locations.len() == 2),
        "{text}"
    );
}

// L8
#[test]
fn adding_one_instance_twice_changes_nothing() {
    let tool = raw("x");
    let pair = Arc::new(Pair);
    let tools = ToolContext::builder()
        .with(&tool)
        .with(&tool)
        .with(one)
        .with(one)
        .with(Arc::clone(&pair))
        .with(pair)
        .build()
        .expect("no collision");
    assert_eq!(ids(&tools), ["x", "one", "left", "right"]);
}

// L8
#[test]
fn provider_tools_are_not_deduplicated() {
    let tools = ToolContext::builder()
        .with(Tool::provider(Search))
        .with(Tool::provider(Search))
        .build()
        .expect("sound");
    assert_eq!(tools.provider_tools().len(), 2);
}

// L9
#[test]
fn update_tools_replaces_all_tools_but_not_in_clones() {
    let mut tools = tools(one);
    let before = tools.clone();
    assert_eq!(before, tools, "a clone is equal");
    tools.update_tools([raw("new").into()]).expect("sound");
    assert_eq!(
        (ids(&tools), ids(&before)),
        (vec!["new".to_owned()], vec!["one".to_owned()])
    );
    assert_ne!(before, tools);
    tools
        .update_tools([raw("y").into(), raw("y").into()])
        .expect_err("a collision");
    assert_eq!(ids(&tools), ["new"], "a failed update changes nothing");
}

// L10
#[test]
fn contexts_with_the_same_instances_are_equal() {
    let (a, b) = (raw("a"), raw("b"));
    let build = |tools: [&FunctionTool; 2]| {
        ToolContext::builder()
            .with_all(tools)
            .build()
            .expect("sound")
    };
    assert_eq!(build([&a, &b]), build([&b, &a]), "order does not matter");
    assert_ne!(build([&a, &b]), build([&a, &raw("b")]), "another instance");
}

// L10
#[test]
fn contexts_of_one_toolset_instance_are_equal() {
    let pair = Arc::new(Pair);
    let build = || {
        ToolContext::builder()
            .with(Arc::clone(&pair))
            .with(one)
            .build()
            .expect("sound")
    };
    assert_eq!(build(), build());
}

// L10
#[test]
fn toolset_differs_from_its_tools_and_other_instances() {
    let pair = Arc::new(Pair);
    let whole = ToolContext::builder()
        .with(Arc::clone(&pair))
        .build()
        .expect("sound");
    let spelled = ToolContext::builder()
        .with_all(Arc::clone(&pair).tools())
        .build()
        .expect("sound");
    assert_ne!(whole, spelled);
    assert_ne!(tools(Pair), tools(Pair));
}

// L38
#[test]
fn tool_kind_serialises_as_one_word() {
    let kinds = [
        Tool::from(raw("x")),
        Tool::provider(Search),
        Tool::toolset(Pair),
    ]
    .map(|tool| tool.kind());
    assert_eq!(
        kinds,
        [ToolKind::Function, ToolKind::Provider, ToolKind::Toolset]
    );
    assert_eq!(
        serde_json::to_value(kinds).expect("JSON"),
        json!(["function", "provider", "toolset"])
    );
    assert!(Tool::toolset(Pair).is_toolset() && !Tool::toolset(Pair).is_function_tool());
    assert!(Tool::provider(Search).is_provider_tool());
}

// L4
#[test]
fn a_provider_tool_is_configured_for_its_own_provider_only() {
    assert!(Search.config(&ProviderId::new("acme")).is_some());
    assert!(Search.config(&ProviderId::from_static("other")).is_none());
}

// L14
#[test]
fn frozen_context_can_be_shared_and_outlives_its_parts() {
    fn shared<T: Send + Sync + Clone + 'static>(_: &T) {}
    let tools = tools(one);
    shared(&tools);
    let other = tools.clone();
    let answer = std::thread::spawn(move || crate::support::data(&other, "one", "{}"))
        .join()
        .expect("no panic");
    assert_eq!(answer, json!(1));
}

#[test]
fn cached_values_of_a_context_last_until_its_tools_change() {
    #[derive(Default)]
    struct Made(std::sync::atomic::AtomicU32);
    let mut tools = ToolContext::builder().with(one).build().expect("sound");
    let kept = tools.memo::<Made>();
    kept.0.store(7, std::sync::atomic::Ordering::Relaxed);
    assert!(Arc::ptr_eq(&kept, &tools.clone().memo::<Made>()));
    tools.update_tools([]).expect("nothing is sound");
    assert_eq!(
        tools
            .memo::<Made>()
            .0
            .load(std::sync::atomic::Ordering::Relaxed),
        0
    );
}
