//! The budget of a turn, and the refusals.

use crate::support::{Counter, asked, call, kind, message, open, runtime, text, tools, voice};
use futures_util::future::join_all;
use serde_json::{Value, json};
use std::time::Duration;
use tool_core::{
    Category, ErrorKind, FunctionTool, Mode, Policy, RawTool, RunContext, Session, ToolContext,
    ToolResponse, toolset,
};

struct Desk(Counter);

#[toolset(name = "desk_in_budgets", discover = false)]
impl Desk {
    /// Search.
    #[tool(name = "search", category = "retrieval")]
    async fn search(&self, n: u32) -> u32 {
        tokio::task::yield_now().await;
        self.0.add();
        n
    }

    /// Write.
    #[tool(name = "write", category = "action")]
    fn write(&self, n: u32) -> u32 {
        self.0.add();
        n
    }

    /// Compute.
    #[tool(name = "compute")]
    fn compute(&self, n: u32) -> u32 {
        self.0.add();
        n
    }

    /// Ring the bell.
    #[tool(name = "ring", max_calls = 2)]
    fn ring(&self, n: u32) -> u32 {
        self.0.add();
        n
    }

    /// Take a while.
    #[tool(name = "slow_search", category = "retrieval")]
    async fn slow_search(&self, ms: u64) -> u64 {
        tokio::time::sleep(Duration::from_millis(ms)).await;
        ms
    }

    /// Take a while to write.
    #[tool(name = "slow_write", category = "action")]
    async fn slow_write(&self, ms: u64) -> u64 {
        tokio::time::sleep(Duration::from_millis(ms)).await;
        ms
    }
}

fn desk() -> (ToolContext, Counter) {
    let runs = Counter::default();
    (tools![Desk(runs.clone())], runs)
}

/// Calls a tool with different arguments, and returns the number of calls that ran.
async fn ran(session: &Session, tool: &str, calls: u32) -> usize {
    let mut ran = 0;
    for n in 0..calls {
        ran += usize::from(call(session, tool, json!({"n": n})).await.is_ok());
    }
    ran
}

// R-B1
#[tokio::test]
async fn voice_turn_allows_two_retrievals_and_three_calls() {
    let session = voice(desk().0, Policy::voice()).await;
    assert_eq!(
        [
            ran(&session, "search", 4).await,
            ran(&session, "compute", 4).await
        ],
        [2, 1]
    );
    session.next_turn().await;
    assert_eq!(
        [
            ran(&session, "write", 9).await,
            ran(&session, "search", 1).await
        ],
        [3, 0]
    );
}

// R-B1
#[tokio::test]
async fn text_turn_allows_five_retrievals_and_any_calls() {
    let session = text(desk().0, Policy::text()).await;
    assert_eq!(
        [
            ran(&session, "search", 9).await,
            ran(&session, "compute", 90).await
        ],
        [5, 90]
    );
}

// R-B1
#[tokio::test]
async fn default_policy_is_the_preset_of_the_mode() {
    let runtime = tool_core::Runtime::builder(desk().0)
        .build()
        .expect("a runtime");
    assert_eq!(
        open(&runtime, "v", Mode::Voice).await.policy(),
        &Policy::voice()
    );
    assert_eq!(
        open(&runtime, "t", Mode::Text).await.policy(),
        &Policy::text()
    );
}

async fn warnings(session: &Session, tool: &str, ms: u64) -> Vec<String> {
    let response = call(session, tool, json!({"ms": ms})).await;
    assert!(response.is_ok(), "a soft limit refuses nothing");
    session.next_turn().await;
    response.meta().warnings().to_vec()
}

// R-B1
#[tokio::test(start_paused = true)]
async fn slow_voice_call_is_warned_of_with_figures() {
    let session = voice(desk().0, Policy::voice()).await;
    let retrieval = "`slow_search` took 801 ms; in voice a retrieval should take at most 800 ms";
    assert_eq!(warnings(&session, "slow_search", 801).await, [retrieval]);
    assert_eq!(warnings(&session, "slow_search", 800).await, [""; 0]);
    let any = "`slow_write` took 1001 ms; in voice a call should take at most 1000 ms";
    assert_eq!(warnings(&session, "slow_write", 1001).await, [any]);
    assert_eq!(warnings(&session, "slow_write", 1000).await, [""; 0]);
}

// R-B1
#[tokio::test(start_paused = true)]
async fn text_mode_warns_of_slow_retrievals_only() {
    let session = text(desk().0, Policy::text()).await;
    let retrieval = "`slow_search` took 2001 ms; in text a retrieval should take at most 2000 ms";
    assert_eq!(warnings(&session, "slow_search", 2001).await, [retrieval]);
    assert_eq!(warnings(&session, "slow_search", 2000).await, [""; 0]);
    assert_eq!(warnings(&session, "slow_write", 20_000).await, [""; 0]);
}

// R-B2
#[tokio::test]
async fn budget_refusal_names_limit_usage_and_reset() {
    let policy = Policy::voice()
        .category_budget(Category::Action, Some(1))
        .max_calls(Some(5));
    let session = voice(desk().0, policy).await;
    let expected = |of| {
        let reset = "of this voice turn are used; the count resets at the next turn. Answer with what you have.";
        format!("budget exceeded: {of} {reset}")
    };
    let refused = async |tool: &str| {
        let response = call(&session, tool, json!({"n": 99})).await;
        assert_eq!(kind(&response), Some(ErrorKind::BudgetExceeded));
        message(&response).to_owned()
    };
    assert_eq!(ran(&session, "write", 1).await, 1);
    assert_eq!(refused("write").await, expected("1 of 1 action calls"));
    assert_eq!(ran(&session, "ring", 2).await, 2);
    assert_eq!(refused("ring").await, expected("2 of 2 calls of `ring`"));
    assert_eq!(ran(&session, "search", 2).await, 2);
    assert_eq!(refused("search").await, expected("2 of 2 retrieval calls"));
    assert_eq!(refused("compute").await, expected("5 of 5 calls"));
}

// R-B2
#[tokio::test]
async fn refused_call_does_not_run_and_costs_nothing() {
    let (tools, runs) = desk();
    let session = voice(tools, Policy::voice()).await;
    assert_eq!((ran(&session, "search", 50).await, runs.get()), (2, 2));
    assert_eq!((ran(&session, "write", 50).await, runs.get()), (1, 3));
}

// R-B2
#[tokio::test]
async fn invalid_call_costs_nothing() {
    let session = voice(desk().0, Policy::voice()).await;
    for wrong in [json!({}), json!({"n": "x"}), json!({"n": -1}), json!([])] {
        assert_eq!(
            kind(&call(&session, "write", wrong).await),
            Some(ErrorKind::Validation)
        );
    }
    assert_eq!(ran(&session, "write", 9).await, 3);
}

// R-B2
#[tokio::test]
async fn each_turn_has_a_full_budget() {
    let session = voice(desk().0, Policy::voice()).await;
    for number in 1..5 {
        assert_eq!(ran(&session, "search", 4).await, 2);
        assert_eq!(session.next_turn().await.number, number);
    }
}

// R-B2
#[tokio::test]
async fn sessions_have_separate_budgets() {
    let runtime = runtime(desk().0, Policy::voice());
    let (one, other) = (
        open(&runtime, "1", Mode::Voice).await,
        open(&runtime, "2", Mode::Voice).await,
    );
    assert_eq!(
        [ran(&one, "write", 9).await, ran(&other, "write", 9).await],
        [3, 3]
    );
}

async fn race(session: &Session, tool: &'static str) -> Vec<ToolResponse> {
    let tasks = (0..100).map(|n| {
        let session = session.clone();
        tokio::spawn(async move { session.call(asked(tool, json!({"n": n}))).await })
    });
    join_all(tasks)
        .await
        .into_iter()
        .map(|joined| joined.expect("a response"))
        .collect()
}

// R-B2
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn exactly_7_of_100_racing_calls_run() {
    let (tools, runs) = desk();
    let session = text(
        tools,
        Policy::text().category_budget(Category::Retrieval, Some(7)),
    )
    .await;
    for turn in 1..=20 {
        let responses = race(&session, "search").await;
        let refused = responses
            .iter()
            .filter(|response| kind(response) == Some(ErrorKind::BudgetExceeded))
            .count();
        assert_eq!((refused, runs.get()), (93, 7 * turn));
        session.next_turn().await;
    }
}

// R-B2
#[tokio::test]
async fn calls_of_one_step_share_the_budget() {
    let (tools, runs) = desk();
    let session = voice(tools, Policy::voice()).await;
    let responses = session
        .call_all((0..20).map(|n| asked("write", json!({"n": n}))))
        .await;
    assert_eq!(
        (
            responses.iter().filter(|response| response.is_ok()).count(),
            runs.get()
        ),
        (3, 3)
    );
}

#[test]
fn limits_of_a_tool_that_let_no_call_run_do_not_build() {
    let declared = RawTool {
        name: "pay".into(),
        description: "Pay.".into(),
        parameters: json!({"type": "object"}),
    };
    let pay = FunctionTool::raw(declared, async |_: Value, _: &RunContext| Ok(json!(1)));
    let built = ToolContext::builder().with(pay.timeout(Duration::ZERO).max_calls(0));
    let errors = built.build().expect_err("no call could run");
    let messages: Vec<_> = errors.iter().map(|error| error.message.as_str()).collect();
    let expected = ["timeout", "max_calls"].map(|option| {
        format!(
            "tool `pay`: a `{option}` of 0 would refuse every call; set a larger one, or remove it for no limit of its own"
        )
    });
    assert_eq!(messages, expected);
}
