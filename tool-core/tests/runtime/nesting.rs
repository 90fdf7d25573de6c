//! Tools that call tools: they share the limits of the session, and every cycle ends.

use crate::support::{Counter, call, kind, text, tools, voice};
use serde_json::{Value, json};
use tool_core::{
    Category, ErrorKind, Policy, RunContext, Session, ToolCall, ToolResponse, toolset,
};

struct Agents(Counter);

#[toolset(name = "agents_in_nesting", discover = false)]
impl Agents {
    /// Search.
    #[tool(name = "search", category = "retrieval")]
    fn search(&self, n: u32) -> u32 {
        self.0.add();
        n
    }

    /// Ask another tool the given number of times.
    #[tool(name = "delegate")]
    async fn delegate(
        &self,
        ctx: &RunContext,
        to: &str,
        times: u32,
        #[arg(default)] same: bool,
    ) -> Vec<String> {
        let mut kinds = Vec::new();
        for n in 0..times {
            let response = ctx.call(to, json!({"n": if same { 0 } else { n }})).await;
            kinds.push(kind(&response).map_or_else(|| "OK".to_owned(), |kind| kind.to_string()));
        }
        kinds
    }

    /// The ids of the calls that it makes.
    #[tool(name = "ids")]
    async fn ids(&self, ctx: &RunContext) -> Vec<String> {
        let (one, two) = (
            ctx.call("search", json!({"n": 1})).await,
            ctx.call("search", json!({"n": 2})).await,
        );
        [one, two]
            .iter()
            .filter_map(|response| response.meta().call_id().map(str::to_owned))
            .collect()
    }

    /// Ask oneself.
    #[tool(name = "alone")]
    async fn alone(&self, ctx: &RunContext, n: u32) -> Value {
        self.0.add();
        envelope(&ctx.call("alone", json!({"n": n + 1})).await)
    }

    /// Ask `pong`.
    #[tool(name = "ping")]
    async fn ping(&self, ctx: &RunContext, n: u32) -> Value {
        self.0.add();
        envelope(&ctx.call("pong", json!({"n": n + 1})).await)
    }

    /// Ask `ping`.
    #[tool(name = "pong")]
    async fn pong(&self, ctx: &RunContext, n: u32) -> Value {
        self.0.add();
        envelope(&ctx.call("ping", json!({"n": n + 1})).await)
    }

    /// Ask `paper`.
    #[tool(name = "rock")]
    async fn rock(&self, ctx: &RunContext, n: u32) -> Value {
        self.0.add();
        envelope(&ctx.call("paper", json!({"n": n + 1})).await)
    }

    /// Ask `scissors`.
    #[tool(name = "paper")]
    async fn paper(&self, ctx: &RunContext, n: u32) -> Value {
        self.0.add();
        envelope(&ctx.call("scissors", json!({"n": n + 1})).await)
    }

    /// Ask `rock`.
    #[tool(name = "scissors")]
    async fn scissors(&self, ctx: &RunContext, n: u32) -> Value {
        self.0.add();
        envelope(&ctx.call("rock", json!({"n": n + 1})).await)
    }

    /// Ask oneself the very same.
    #[tool(name = "parrot")]
    async fn parrot(&self, ctx: &RunContext) -> Value {
        self.0.add();
        envelope(&ctx.call("parrot", "{}").await)
    }
}

fn envelope(response: &ToolResponse) -> Value {
    serde_json::from_str(&response.to_json()).expect("JSON")
}

/// Returns the innermost error of nested responses.
fn innermost(response: &ToolResponse) -> Value {
    let mut at = envelope(response);
    while at["ok"] == json!(true) {
        at = at["data"].take();
    }
    at["error"].take()
}

async fn session(policy: Policy) -> (Session, Counter) {
    let runs = Counter::default();
    (text(tools![Agents(runs.clone())], policy).await, runs)
}

fn kinds(response: &ToolResponse) -> Vec<String> {
    response.data().expect("kinds")
}

// R-B4
#[tokio::test]
async fn nested_calls_spend_the_session_budget() {
    let (session, runs) =
        session(Policy::text().category_budget(Category::Retrieval, Some(3))).await;
    let asked = call(&session, "delegate", json!({"to": "search", "times": 5})).await;
    assert_eq!(
        kinds(&asked),
        ["OK", "OK", "OK", "BUDGET_EXCEEDED", "BUDGET_EXCEEDED"]
    );
    let direct = call(&session, "search", json!({"n": 100})).await;
    assert_eq!(
        (kind(&direct), runs.get()),
        (Some(ErrorKind::BudgetExceeded), 3)
    );
}

// R-B4
#[tokio::test]
async fn calling_tool_spends_budget_too() {
    let session = voice(tools![Agents(Counter::default())], Policy::voice()).await;
    let asked = call(&session, "delegate", json!({"to": "search", "times": 1})).await;
    assert_eq!(kinds(&asked), ["OK"]);
    let again = call(&session, "delegate", json!({"to": "search", "times": 2})).await;
    assert_eq!(kinds(&again), ["BUDGET_EXCEEDED", "BUDGET_EXCEEDED"]);
}

// R-B4
#[tokio::test]
async fn nested_agent_shares_the_budget() {
    let (session, runs) = session(Policy::text().max_calls(Some(4))).await;
    let inner = json!({"to": "search", "times": 9});
    let mut asked = Vec::new();
    for _ in 0..3 {
        asked.push(call(&session, "delegate", inner.clone()).await);
    }
    assert_eq!(
        kinds(&asked[0]).iter().filter(|kind| *kind == "OK").count(),
        3
    );
    assert_eq!(
        [kind(&asked[1]), kind(&asked[2])],
        [
            Some(ErrorKind::BudgetExceeded),
            Some(ErrorKind::LoopDetected)
        ]
    );
    assert_eq!(runs.get(), 3);
}

// R-B4, R-L1
#[tokio::test]
async fn nested_calls_count_as_attempts() {
    let (session, runs) = session(Policy::text()).await;
    let asked = call(
        &session,
        "delegate",
        json!({"to": "search", "times": 3, "same": true}),
    )
    .await;
    assert_eq!(kinds(&asked), ["OK", "OK", "LOOP_DETECTED"]);
    let direct = call(&session, "search", json!({"n": 0})).await;
    assert_eq!(
        (kind(&direct), runs.get()),
        (Some(ErrorKind::LoopDetected), 2)
    );
}

// R-B4
#[tokio::test]
async fn nesting_depth_is_limited() {
    let (session, runs) = session(Policy::text().max_depth(5)).await;
    let error = innermost(&call(&session, "alone", json!({"n": 0})).await);
    assert_eq!(error["type"], json!("BUDGET_EXCEEDED"));
    assert_eq!(
        error["message"],
        json!("tools may call tools 5 deep; `alone` would be one too many")
    );
    assert_eq!(runs.get(), 6, "one call from outside, and five inside it");
}

// R-B4
#[tokio::test]
async fn default_nesting_depth_is_8() {
    let (session, runs) = session(Policy::text()).await;
    assert_eq!(
        innermost(&call(&session, "alone", json!({"n": 0})).await)["type"],
        json!("BUDGET_EXCEEDED")
    );
    assert_eq!(runs.get(), 9);
}

// R-B4
#[tokio::test]
async fn cycles_of_two_and_three_tools_end() {
    for first in ["ping", "rock"] {
        let (session, runs) = session(Policy::text().max_depth(4)).await;
        let error = innermost(&call(&session, first, json!({"n": 0})).await);
        assert_eq!(
            (&error["type"], runs.get()),
            (&json!("BUDGET_EXCEEDED"), 5),
            "{first}"
        );
    }
}

// R-B4
#[tokio::test]
async fn cycle_ends_with_the_budget() {
    let (session, runs) = session(Policy::text().max_calls(Some(3))).await;
    let error = innermost(&call(&session, "ping", json!({"n": 0})).await);
    assert_eq!((&error["type"], runs.get()), (&json!("BUDGET_EXCEEDED"), 3));
}

// R-B4, R-L1
#[tokio::test]
async fn cycle_with_equal_arguments_is_a_loop() {
    let (session, runs) = session(Policy::text()).await;
    let error = innermost(&call(&session, "parrot", json!({})).await);
    assert_eq!((&error["type"], runs.get()), (&json!("LOOP_DETECTED"), 2));
}

// R-B4
#[tokio::test]
async fn concurrent_cycles_end() {
    let (session, runs) = session(Policy::text().max_depth(3).concurrent_calls(2)).await;
    let responses = session
        .call_all((0..20).map(|n| ToolCall::new("", "ping", json!({"n": 100 * n}))))
        .await;
    assert!(
        responses
            .iter()
            .all(|response| innermost(response)["type"] == json!("BUDGET_EXCEEDED"))
    );
    assert_eq!(runs.get(), 80);
}

// R-B4
#[tokio::test]
async fn nested_call_ids_extend_the_parent_id() {
    let (session, _) = session(Policy::text()).await;
    let response = session.call(ToolCall::new("call_7", "ids", "{}")).await;
    assert_eq!(response.data_json(), Some(r#"["call_7.1","call_7.2"]"#));
}
