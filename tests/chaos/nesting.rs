//! T5: cycles of tools end, and no call waits for itself.

use crate::support::{block_on, call, kind, open_policy, session, tools};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tool_core::{ErrorKind, Policy, RunContext, Session, ToolResponse, toolset};

#[derive(Clone, Default)]
struct Ring {
    ran: Arc<AtomicUsize>,
    session: Arc<OnceLock<Session>>,
}

impl Ring {
    async fn step(&self, ctx: &RunContext, next: &str, n: u32) -> Value {
        self.ran.fetch_add(1, Ordering::SeqCst);
        let response = ctx.call(next, json!({"n": n + 1})).await;
        response
            .data()
            .unwrap_or_else(|_| json!(response.error().map(|error| error.kind)))
    }

    fn session(&self) -> &Session {
        self.session.get().expect("set")
    }
}

#[toolset(discover = false)]
impl Ring {
    /// Call pong.
    #[tool]
    async fn ping(&self, ctx: &RunContext, n: u32) -> Value {
        self.step(ctx, "pong", n).await
    }

    /// Call ping.
    #[tool]
    async fn pong(&self, ctx: &RunContext, n: u32) -> Value {
        self.step(ctx, "ping", n).await
    }

    /// The first of three.
    #[tool(sequential)]
    async fn one(&self, ctx: &RunContext, n: u32) -> Value {
        self.step(ctx, "two", n).await
    }

    /// The second of three.
    #[tool]
    async fn two(&self, ctx: &RunContext, n: u32) -> Value {
        self.step(ctx, "three", n).await
    }

    /// The third of three.
    #[tool(on_duplicate = "allow")]
    async fn three(&self, ctx: &RunContext, n: u32) -> Value {
        self.step(ctx, "one", n).await
    }

    /// Call itself twice, with other arguments each time.
    #[tool]
    async fn double(&self, ctx: &RunContext, n: u32) -> u32 {
        self.ran.fetch_add(1, Ordering::SeqCst);
        _ = ctx.call("double", json!({"n": 2 * n})).await;
        _ = ctx.call("double", json!({"n": 2 * n + 1})).await;
        n
    }

    /// The same call again and again, deeper and deeper.
    #[tool]
    async fn stubborn(&self, ctx: &RunContext) -> Value {
        self.ran.fetch_add(1, Ordering::SeqCst);
        let response = ctx.call("stubborn", json!({})).await;
        json!(response.error().map(|error| error.kind))
    }

    /// Go through the session itself instead of the context.
    #[tool(timeout = "100ms")]
    async fn around(&self, n: u32) -> Value {
        self.ran.fetch_add(1, Ordering::SeqCst);
        let response = Box::pin(self.session().call(call("inner", "leaf", json!({"n": n})))).await;
        json!(response.error().map(|error| error.kind))
    }

    /// Answer.
    #[tool(timeout = "30ms")]
    async fn leaf(&self, n: u32) -> u32 {
        n
    }

    /// End the session from inside.
    #[tool(timeout = "5s")]
    async fn end_it(&self) -> u32 {
        Box::pin(self.session().end()).await;
        1
    }

    /// End the turn from inside.
    #[tool]
    async fn turn_it(&self) -> u64 {
        Box::pin(self.session().next_turn()).await.number
    }

    /// Hold on, and end the session from inside.
    #[tool(timeout = "100ms")]
    async fn cling(&self, ctx: &RunContext) -> u32 {
        ctx.disallow_interruptions();
        Box::pin(self.session().end()).await;
        1
    }
}

/// Returns the response and the number of calls that ran. Fails if a call waits for itself.
async fn started(policy: Policy, tool: &str, arguments: Value) -> (ToolResponse, usize) {
    let ring = Ring::default();
    let session = session(tools(ring.clone()), policy).await;
    ring.session.set(session.clone()).ok();
    let made = session.call(call("c", tool, arguments));
    let answer = tokio::time::timeout(Duration::from_secs(20), made)
        .await
        .expect("no deadlock");
    (answer, ring.ran.load(Ordering::SeqCst))
}

// R-B4, T5
#[test]
fn cycles_of_two_and_three_tools_end_at_the_depth_cap() {
    block_on(async {
        for depth in [0, 1, 2, 8, 20] {
            for tool in ["ping", "one"] {
                let (answer, ran) =
                    started(open_policy().max_depth(depth), tool, json!({"n": 0})).await;
                assert_eq!(answer.data_json(), Some(r#""BUDGET_EXCEEDED""#), "{answer}");
                assert_eq!(ran, depth as usize + 1, "{tool}");
            }
        }
    });
}

// R-B4, T5
#[test]
fn tool_calling_itself_twice_ends_within_the_budget() {
    block_on(async {
        let (_, ran) = started(open_policy().max_calls(Some(20)), "double", json!({"n": 1})).await;
        assert_eq!(ran, 20);
        let (_, ran) = started(open_policy().max_depth(5), "double", json!({"n": 1})).await;
        assert_eq!(ran, 63, "without a budget the depth is the limit");
        let (_, ran) = started(Policy::voice(), "double", json!({"n": 1})).await;
        assert_eq!(ran, 3);
    });
}

// R-L1 through nesting
#[test]
fn tool_calling_itself_with_equal_arguments_is_a_loop() {
    block_on(async {
        let (answer, ran) = started(open_policy(), "stubborn", json!({})).await;
        assert_eq!((answer.is_ok(), ran), (true, 2));
    });
}

// T5
#[test]
fn nested_call_needs_no_second_concurrency_permit() {
    block_on(async {
        for tool in ["ping", "one"] {
            let (answer, ran) =
                started(open_policy().concurrent_calls(1), tool, json!({"n": 0})).await;
            assert_eq!((answer.data_json(), ran), (Some(r#""BUDGET_EXCEEDED""#), 9));
        }
    });
}

// T5
#[test]
fn tool_calling_its_own_session_ends_at_its_deadline() {
    block_on(async {
        let (answer, _) = started(open_policy(), "around", json!({"n": 1})).await;
        assert_eq!(
            answer.data_json(),
            Some("null"),
            "with a second place it runs"
        );
        let (answer, _) =
            started(open_policy().concurrent_calls(1), "around", json!({"n": 1})).await;
        assert_eq!(answer.data_json(), Some(r#""TIMEOUT""#), "{answer}");
    });
}

// R-I3
#[test]
fn tool_that_ends_its_session_is_cancelled() {
    block_on(async {
        let (answer, _) = started(open_policy(), "end_it", json!({})).await;
        assert_eq!(kind(&answer), ErrorKind::Cancelled);
    });
}

// R-I3
#[test]
fn uninterruptible_tool_that_ends_its_session_is_dropped() {
    block_on(async {
        let (answer, _) = started(open_policy(), "cling", json!({})).await;
        assert!(
            matches!(kind(&answer), ErrorKind::Timeout | ErrorKind::Cancelled),
            "{answer}"
        );
    });
}

// R-B2: the charge of an earlier turn is not taken from the next
#[test]
fn tool_that_ends_its_turn_goes_on() {
    block_on(async {
        let (answer, _) = started(open_policy(), "turn_it", json!({})).await;
        assert_eq!(answer.data_json(), Some("1"));
    });
}
