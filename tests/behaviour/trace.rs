//! The span tree of tools, without labels by hand.

use crate::support::{block_on, paths};
use serde_json::json;
use std::sync::Arc;
use tool_core::trace::{self, Collector};
use tool_core::{
    FunctionTool, Policy, RunContext, Runtime, Tool, ToolCall, ToolContext, ToolError, ToolsetExt,
    agent, tool, toolset,
};

/// Returns the paths of the spans.
fn tree(collector: &Collector) -> Vec<String> {
    paths(collector).into_iter().map(|(path, _)| path).collect()
}

/// Runs a future with its own collector, and returns the paths of the spans.
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
fn direct_calls_between_tools_form_a_span_tree() {
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
fn dispatched_call_has_one_span() {
    let tools = ToolContext::builder()
        .with(tool_a)
        .with(tool_c)
        .build()
        .expect("sound");
    let found = traced(async {
        let ctx = RunContext::detached();
        assert!(
            tools
                .call("tool_a", json!({"text": "x"}), &ctx)
                .await
                .is_ok()
        );
        // The slow path decodes the arguments again.
        assert!(
            tools
                .call("tool_c", json!({"number": "7"}), &ctx)
                .await
                .is_ok()
        );
        assert!(!tools.call("tool_c", json!({}), &ctx).await.is_ok());
    });
    let expected = [
        "tool:tool_a/tool:tool_b",
        "tool:tool_a/tool:tool_c",
        "tool:tool_a",
        "tool:tool_c",
        "tool:tool_c",
    ];
    assert_eq!(found, expected);
}

/// Blocks its thread.
#[tool(blocking)]
fn blocks(text: String) -> String {
    tool_c(1) + &text
}

// S2
#[test]
fn session_call_has_one_span_on_the_blocking_pool() {
    let tools = ToolContext::builder()
        .with(tool_a)
        .with(blocks)
        .build()
        .expect("sound");
    let found = traced(async {
        let runtime = Runtime::builder(tools)
            .policy(Policy::text())
            .build()
            .expect("sound");
        let session = runtime
            .session("s", tool_core::Mode::Text)
            .await
            .expect("a session");
        for (id, name) in [("1", "tool_a"), ("2", "blocks")] {
            let response = session
                .call(ToolCall::new(id, name, json!({"text": "x"})))
                .await;
            assert!(response.is_ok(), "{}", response.to_json());
        }
    });
    let expected = [
        "tool:tool_a/tool:tool_b",
        "tool:tool_a/tool:tool_c",
        "tool:tool_a",
        "tool:blocks/tool:tool_c",
        "tool:blocks",
    ];
    assert_eq!(found, expected);
}

/// Calls itself.
#[tool]
async fn count_down(from: u8) -> u8 {
    if from == 0 {
        0
    } else {
        Box::pin(count_down(from - 1)).await
    }
}

/// Calls itself, without waiting.
#[tool]
fn count_down_now(from: u8) -> u8 {
    if from == 0 {
        0
    } else {
        count_down_now(from - 1)
    }
}

// S2
#[test]
fn recursive_tool_has_a_span_for_each_call() {
    let tools = ToolContext::builder()
        .with(count_down)
        .with(count_down_now)
        .build()
        .expect("sound");
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

#[toolset(prefix = "shelf", discover = false)]
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
        Self {
            label: "made",
            below: None,
        }
        .name()
        .len()
            + label.len()
    }
}

fn shelves() -> Shelf {
    Shelf {
        label: "upper",
        below: Some(Arc::new(Shelf {
            label: "lower",
            below: None,
        })),
    }
}

// S2
#[test]
fn calls_on_two_instances_have_separate_spans() {
    let tools = ToolContext::builder()
        .with(shelves())
        .build()
        .expect("sound");
    let ctx = RunContext::detached();
    let found = traced(async {
        let answer = tools.call("shelf_look", json!({"what": "tea"}), &ctx).await;
        assert_eq!(answer.data_json(), Some("\"tea on lower\""));
        assert!(
            tools
                .call("shelf_made", json!({"label": "x"}), &ctx)
                .await
                .is_ok()
        );
        assert_eq!(shelves().name(), "upper");
    });
    // Dispatch uses the tool's name in the context, and the method its own name.
    assert_eq!(
        found,
        [
            "tool:shelf_look/tool:look",
            "tool:shelf_look",
            "tool:shelf_made/tool:name",
            "tool:shelf_made",
            "tool:name"
        ]
    );
}

// S2
#[test]
fn renamed_tool_has_one_span() {
    let tool = |tool: Tool| match tool {
        Tool::Function(tool) => tool,
        _ => panic!("no function"),
    };
    let renamed: FunctionTool =
        tool(tool::IntoTool::into_tool(tool_c).expect("a tool")).renamed("other");
    let tools = ToolContext::builder()
        .with(renamed)
        .with(shelves().prefixed("own"))
        .build()
        .expect("sound");
    let ctx = RunContext::detached();
    let found = traced(async {
        assert!(
            tools
                .call("other", json!({"number": 1}), &ctx)
                .await
                .is_ok()
        );
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
    let inherits = tokio::spawn(trace::in_current_span(tool_b("inherits".into())));
    let _ = tokio::join!(alone, inherits);
}

// S2
#[test]
fn spawned_task_inherits_the_span() {
    let found = traced(works());
    assert_eq!(found, ["agent:worker/tool:tool_b", "agent:worker"]);
}

/// Puts a section around every call.
struct Around;

impl tool_core::session::Hook for Around {
    fn around<'a>(
        &'a self,
        _: &'a tool_core::session::HookedCall<'a>,
        next: tool_core::session::Next<'a>,
    ) -> tool_core::session::HookFuture<'a, tool_core::ToolResponse> {
        Box::pin(trace::section("watched", next.run()))
    }
}

// S2
#[test]
fn section_of_a_hook_does_not_cause_a_second_tool_span() {
    let tools = ToolContext::builder().with(tool_c).build().expect("sound");
    let found = traced(async {
        let runtime = Runtime::builder(tools).hook(Around).build().expect("sound");
        let session = runtime
            .session("s", tool_core::Mode::Text)
            .await
            .expect("a session");
        assert!(
            session
                .call(ToolCall::new("1", "tool_c", json!({"number": 1})))
                .await
                .is_ok()
        );
    });
    assert_eq!(found, ["tool:tool_c/section:watched", "tool:tool_c"]);
}
