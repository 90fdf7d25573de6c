//! The tree of tools, with nothing labelled by hand.

use crate::support::{block_on, paths};
use serde_json::json;
use std::sync::Arc;
use tool_core::trace::{self, Collector, SpanKind, SpanStatus};
use tool_core::{
    FunctionTool, Policy, RunContext, Runtime, Tool, ToolCall, ToolContext, ToolError, ToolsetExt, agent, tool, toolset,
};

const OK: SpanStatus = SpanStatus::Ok;

/// The paths alone.
fn tree(collector: &Collector) -> Vec<String> {
    paths(collector).into_iter().map(|(path, _)| path).collect()
}

/// Runs a future with a collector of its own, and gives the tree.
fn traced<F: Future>(work: F) -> Vec<String> {
    let collector = Collector::new();
    block_on(collector.run(work));
    tree(&collector)
}

/// Outer.
#[tool]
async fn tool_a(text: &str) -> String {
    tool_b(text.to_owned()).await + &tool_c(1)
}

/// Inner.
#[tool]
async fn tool_b(text: String) -> String {
    tokio::task::yield_now().await;
    text
}

/// Inner, without waiting.
#[tool]
fn tool_c(number: u8) -> String {
    number.to_string()
}

// S2
#[test]
fn tools_that_call_each_other_directly_are_a_tree_without_any_runtime() {
    let found = traced(trace::agent("planner", async {
        assert_eq!(tool_a("x").await, "x1");
    }));
    let expected = [
        "agent:planner/tool:tool_a/tool:tool_b",
        "agent:planner/tool:tool_a/tool:tool_c",
        "agent:planner/tool:tool_a",
        "agent:planner",
    ];
    assert_eq!(found, expected);
}

// S2
#[test]
fn a_call_that_is_dispatched_has_one_span() {
    let tools = ToolContext::builder().with(tool_a).with(tool_c).build().expect("sound");
    let found = traced(async {
        let ctx = RunContext::detached();
        assert!(tools.call("tool_a", json!({"text": "x"}), &ctx).await.is_ok());
        // By way of the slow path.
        assert!(tools.call("tool_c", json!({"number": "7"}), &ctx).await.is_ok());
        assert!(!tools.call("tool_c", json!({}), &ctx).await.is_ok());
    });
    let expected = ["tool:tool_a/tool:tool_b", "tool:tool_a/tool:tool_c", "tool:tool_a", "tool:tool_c", "tool:tool_c"];
    assert_eq!(found, expected);
}

/// Blocks its thread.
#[tool(blocking)]
fn blocks(text: String) -> String {
    tool_c(1) + &text
}

// S2
#[test]
fn a_call_of_a_session_has_one_span_and_keeps_it_on_the_blocking_pool() {
    let tools = ToolContext::builder().with(tool_a).with(blocks).build().expect("sound");
    let found = traced(async {
        let runtime = Runtime::builder(tools).policy(Policy::text()).build().expect("sound");
        let session = runtime.session("s", tool_core::Mode::Text).await.expect("a session");
        for (id, name) in [("1", "tool_a"), ("2", "blocks")] {
            let response = session.call(ToolCall::new(id, name, json!({"text": "x"}))).await;
            assert!(response.is_ok(), "{}", response.to_json());
        }
    });
    let expected =
        ["tool:tool_a/tool:tool_b", "tool:tool_a/tool:tool_c", "tool:tool_a", "tool:blocks/tool:tool_c", "tool:blocks"];
    assert_eq!(found, expected);
}

/// Calls itself.
#[tool]
async fn count_down(from: u8) -> u8 {
    if from == 0 { 0 } else { Box::pin(count_down(from - 1)).await }
}

/// Calls itself, without waiting.
#[tool]
fn count_down_now(from: u8) -> u8 {
    if from == 0 { 0 } else { count_down_now(from - 1) }
}

// S2
#[test]
fn a_tool_that_calls_itself_has_a_span_for_each_call() {
    let tools = ToolContext::builder().with(count_down).with(count_down_now).build().expect("sound");
    for name in ["count_down", "count_down_now"] {
        let found = traced(tools.call(name, json!({"from": 2}), &RunContext::detached()));
        let label = format!("tool:{name}");
        let of = |depth: usize| vec![label.as_str(); depth].join("/");
        assert_eq!(found, [of(3), of(2), of(1)]);
    }
}

struct Shelf {
    label: &'static str,
    below: Option<Arc<Shelf>>,
}

#[toolset(prefix = "shelf")]
impl Shelf {
    /// Look something up.
    #[tool(name = "look")]
    async fn look_up(&self, what: &str) -> Result<String, ToolError> {
        match &self.below {
            Some(below) => Box::pin(below.look_up(what)).await,
            None if what.is_empty() => Err(ToolError::permanent("nothing to look up")),
            None => Ok(format!("{what} on {}", self.label)),
        }
    }

    /// Say which it is.
    #[tool]
    fn name(&self) -> &str {
        self.label
    }

    /// Make one.
    #[tool]
    fn made(label: String) -> usize {
        Self { label: "made", below: None }.name().len() + label.len()
    }
}

fn shelves() -> Shelf {
    Shelf { label: "upper", below: Some(Arc::new(Shelf { label: "lower", below: None })) }
}

// S2
#[test]
fn methods_of_two_instances_are_told_apart_by_their_calls() {
    let tools = ToolContext::builder().with(shelves()).build().expect("sound");
    let ctx = RunContext::detached();
    let found = traced(async {
        let answer = tools.call("shelf_look", json!({"what": "tea"}), &ctx).await;
        assert_eq!(answer.data_json(), Some("\"tea on lower\""));
        assert!(tools.call("shelf_made", json!({"label": "x"}), &ctx).await.is_ok());
        assert_eq!(shelves().name(), "upper");
    });
    // Dispatch knows a tool by the name that it has there, the method by its own.
    assert_eq!(
        found,
        ["tool:shelf_look/tool:look", "tool:shelf_look", "tool:shelf_made/tool:name", "tool:shelf_made", "tool:name"]
    );
}

// S2
#[test]
fn a_tool_under_another_name_has_one_span_too() {
    let tool = |tool: Tool| match tool {
        Tool::Function(tool) => tool,
        _ => panic!("no function"),
    };
    let renamed: FunctionTool = tool(tool_core::IntoTool::into_tool(tool_c).expect("a tool")).renamed("other");
    let tools = ToolContext::builder().with(renamed).with(shelves().prefixed("own")).build().expect("sound");
    let ctx = RunContext::detached();
    let found = traced(async {
        assert!(tools.call("other", json!({"number": 1}), &ctx).await.is_ok());
        assert!(tools.call("own_shelf_name", json!({}), &ctx).await.is_ok());
    });
    assert_eq!(found, ["tool:other", "tool:own_shelf_name"]);
}

// S2
#[test]
fn tools_that_run_at_the_same_time_share_their_parent() {
    let mut found = traced(trace::agent("planner", async {
        tokio::join!(tool_b("one".into()), tool_a("two"), tool_b("three".into()));
    }));
    found.sort();
    let expected = [
        "agent:planner",
        "agent:planner/tool:tool_a",
        "agent:planner/tool:tool_a/tool:tool_b",
        "agent:planner/tool:tool_a/tool:tool_c",
        "agent:planner/tool:tool_b",
        "agent:planner/tool:tool_b",
    ];
    assert_eq!(found, expected);
}

#[agent("worker")]
async fn works() {
    let alone = tokio::spawn(tool_b("alone".into()));
    let inherits = tokio::spawn(trace::inherit(tool_b("inherits".into())));
    let _ = tokio::join!(alone, inherits);
}

// S2
#[test]
fn a_task_that_is_spawned_belongs_where_it_inherits_from() {
    let found = traced(works());
    assert_eq!(found, ["agent:worker/tool:tool_b", "agent:worker"]);
}

// S5
#[test]
fn an_error_closes_the_span_of_a_direct_call_as_one() {
    let collector = Collector::new();
    let lower = Shelf { label: "lower", below: None };
    let failed = block_on(collector.run(lower.look_up("")));
    assert_eq!(failed.map_err(|error| error.message().to_owned()), Err("nothing to look up".to_owned()));
    assert!(block_on(collector.run(lower.look_up("tea"))).is_ok());
    assert_eq!(paths(&collector), [("tool:look".to_owned(), SpanStatus::Error), ("tool:look".to_owned(), OK)]);
    let report = collector.report();
    let error = report.spans()[0].error().expect("an error");
    assert!(error.kind.ends_with("ToolError"), "{error:?}");
    assert_eq!(error.message, None);
}

/// Panics, or waits for ever.
#[tool]
async fn fragile(panics: bool) {
    if panics {
        panic!("boom");
    }
    std::future::pending::<()>().await;
}

/// Panics at once.
#[tool]
fn brittle() -> u8 {
    panic!("boom")
}

// S1
#[test]
fn a_direct_call_that_panics_or_is_dropped_closes_its_span() {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    let collector = Collector::new();
    assert!(catch_unwind(AssertUnwindSafe(|| block_on(collector.run(fragile(true))))).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| collector.run_sync(brittle))).is_err());
    block_on(async {
        let work = collector.run(fragile(false));
        assert!(tokio::time::timeout(std::time::Duration::from_millis(1), work).await.is_err());
    });
    let statuses = paths(&collector).into_iter().map(|(_, status)| status).collect::<Vec<_>>();
    assert_eq!(statuses, [SpanStatus::Panicked, SpanStatus::Panicked, SpanStatus::Cancelled]);
}

struct Held;

impl Drop for Held {
    fn drop(&mut self) {
        trace::in_scope(SpanKind::Section, "dropped", || ());
    }
}

/// Holds something while it waits.
#[tool]
async fn keeps_something(wait: bool) {
    let _held = Held;
    if wait {
        std::future::pending::<()>().await;
    }
}

// S1
#[test]
fn what_a_tool_holds_is_dropped_inside_its_span() {
    let found = traced(async {
        keeps_something(false).await;
        let waits = std::pin::pin!(async {
            tokio::time::timeout(std::time::Duration::from_millis(1), keeps_something(true)).await
        });
        assert!(waits.await.is_err());
    });
    assert_eq!(
        found,
        [
            "tool:keeps_something/section:dropped",
            "tool:keeps_something",
            "tool:keeps_something/section:dropped",
            "tool:keeps_something"
        ]
    );
}

/// Puts a section around every call.
struct Around;

impl tool_core::runtime::Hook for Around {
    fn around<'a>(
        &'a self,
        _: &'a tool_core::runtime::HookedCall<'a>,
        next: tool_core::runtime::Next<'a>,
    ) -> tool_core::runtime::HookFuture<'a, tool_core::ToolResponse> {
        Box::pin(trace::section("watched", next.run()))
    }
}

// S2
#[test]
fn a_section_that_a_hook_opens_does_not_come_between_a_call_and_its_tool() {
    let tools = ToolContext::builder().with(tool_c).build().expect("sound");
    let found = traced(async {
        let runtime = Runtime::builder(tools).hook(Around).build().expect("sound");
        let session = runtime.session("s", tool_core::Mode::Text).await.expect("a session");
        assert!(session.call(ToolCall::new("1", "tool_c", json!({"number": 1}))).await.is_ok());
    });
    assert_eq!(found, ["tool:tool_c/section:watched", "tool:tool_c"]);
}

/// With an attribute of its own.
#[allow(clippy::mixed_attributes_style)]
#[tool]
fn inner_attribute(text: &str) -> usize {
    #![allow(unused_variables)]
    //! And a word about it.
    let unused = 1;
    text.len()
}

struct Grid<T, const N: usize>([T; N]);

#[toolset(name = "grid")]
impl<T: Clone + serde::Serialize + Send + Sync + 'static, const N: usize> Grid<T, N> {
    /// All cells.
    #[tool]
    async fn cells(&self, mut most: usize) -> Result<Vec<T>, Box<dyn std::error::Error + Send + Sync>> {
        most = most.min(Self::size());
        let wanted: usize = "2".parse()?;
        if most < wanted {
            return Err("too few".into());
        }
        Ok(self.0.iter().take(most).cloned().collect())
    }

    fn size() -> usize {
        N
    }
}

// S2
#[test]
fn bodies_mean_what_they_meant_before() {
    let found = traced(async {
        assert_eq!(inner_attribute("four"), 4);
        assert_eq!(Grid([1, 2, 3]).cells(9).await.expect("cells"), [1, 2, 3]);
        assert_eq!(Grid([1, 2, 3]).cells(1).await.expect_err("too few").to_string(), "too few");
    });
    assert_eq!(found, ["tool:inner_attribute", "tool:cells", "tool:cells"]);
}
