//! Rates and calls at once, over all sessions that share a store.

use crate::hostile_store::Odd;
use crate::support::{Counter, call, kind, message, open, runtime, text, tools};
use crate::support_b::{answer, begin, ms};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tool_core::session::{LimitScope, MemoryStore, SessionStore};
use tool_core::{
    ErrorKind, Mode, Policy, RunContext, Runtime, Session, ToolContext, ToolError, toolset,
};

#[derive(Clone, Default)]
struct Work {
    runs: Counter,
}

#[toolset(name = "work_in_shared_limits")]
impl Work {
    /// Work for a second.
    #[tool(name = "work")]
    async fn work(&self, what: u32) -> u32 {
        self.runs.add();
        ms(1_000).await;
        what
    }

    /// Be quick.
    #[tool(name = "quick")]
    fn quick(&self, what: u32) -> u32 {
        self.runs.add();
        what
    }

    /// Work for two minutes.
    #[tool(name = "long", timeout = "10m")]
    async fn long(&self, what: u32) -> u32 {
        ms(120_000).await;
        what
    }

    /// Call another tool.
    #[tool(name = "outer")]
    async fn outer(&self, ctx: &RunContext) -> bool {
        ctx.call("quick", json!({"what": 1})).await.is_ok()
    }

    /// Fail at first.
    #[tool(name = "flaky", category = "retrieval", retries = 5)]
    async fn flaky(&self) -> Result<u32, ToolError> {
        match self.runs.add() {
            9.. => Ok(9),
            _ => Err(ToolError::transient("it is down")),
        }
    }
}

const MINUTE: Duration = Duration::from_secs(60);

fn open_runtime(work: &Work, policy: Policy, store: impl SessionStore) -> Runtime {
    let tools: ToolContext = tools![work.clone()];
    let builder = Runtime::builder(tools).policy(policy).store(store);
    builder.build().expect("a runtime")
}

async fn session_of(runtime: &Runtime, id: &str, principal: &str) -> Session {
    let session = runtime.session(id, Mode::Text).principal(principal);
    session.await.expect("a session")
}

// R-B7
#[tokio::test(start_paused = true)]
async fn rate_of_a_tool_holds_over_sessions_and_runtimes() {
    let work = Work::default();
    let store = Arc::new(MemoryStore::new());
    let policy = Policy::text().rate_limit(LimitScope::tool("quick"), 3, MINUTE);
    let mut passed = 0;
    let mut last = None;
    for number in 0..5 {
        let runtime = open_runtime(&work, policy.clone(), Arc::clone(&store));
        let session = session_of(&runtime, &format!("s-{number}"), "ada").await;
        let response = call(&session, "quick", json!({"what": number})).await;
        passed += u32::from(response.is_ok());
        last = Some(response);
    }
    assert_eq!((passed, work.runs.get()), (3, 3));
    let last = last.expect("a response");
    let error = last.error().expect("it is refused");
    assert_eq!(
        (error.kind, error.retryable, error.partial_side_effects),
        (ErrorKind::RateLimit, true, false)
    );
    assert_eq!(
        error.message,
        "rate limit reached: at most 3 calls of `quick` in 60s may run. Nothing was done; try again in 20 s, or answer with \
         what you have."
    );
    assert_eq!(last.meta().retry_after(), Some(Duration::from_secs(20)));
}

// R-B7
#[tokio::test(start_paused = true)]
async fn refused_call_runs_after_its_wait() {
    let policy = Policy::text().rate_limit(LimitScope::tool("*"), 1, MINUTE);
    let session = text(tools![Work::default()], policy).await;
    assert!(call(&session, "quick", json!({"what": 1})).await.is_ok());
    let refused = call(&session, "quick", json!({"what": 2})).await;
    let wait = refused.meta().retry_after().expect("a time");
    tokio::time::advance(wait).await;
    assert!(call(&session, "quick", json!({"what": 2})).await.is_ok());
}

// R-B7
#[tokio::test(start_paused = true)]
async fn principals_have_limits_of_their_own() {
    let work = Work::default();
    let policy = Policy::text().rate_limit(LimitScope::Principal, 1, MINUTE);
    let runtime = runtime(tools![work.clone()], policy);
    for (id, principal, passes) in [
        ("a-1", "ada", true),
        ("a-2", "ada", false),
        ("b-1", "bob", true),
    ] {
        let session = session_of(&runtime, id, principal).await;
        let response = call(&session, "quick", json!({"what": 1})).await;
        assert_eq!(response.is_ok(), passes, "{id}");
        assert!(!message(&response).contains(principal));
    }
}

// R-B7
#[tokio::test(start_paused = true)]
async fn calls_at_once_are_limited_over_sessions() {
    let work = Work::default();
    let policy = Policy::text().max_concurrent(LimitScope::tool("work"), 2);
    let runtime = runtime(tools![work.clone()], policy);
    let mut running = Vec::new();
    for id in ["a", "b"] {
        let session = session_of(&runtime, id, id).await;
        running.push(begin(&session, "c", "work", r#"{"what": 1}"#).await);
    }
    let session = session_of(&runtime, "c", "c").await;
    let refused = call(&session, "work", json!({"what": 2})).await;
    assert_eq!(
        message(&refused),
        "too many calls at once: at most 2 calls of `work` may run at the same time. Nothing was done; try again in 1 s, or \
         answer with what you have."
    );
    for task in running {
        assert!(answer(task).await.is_ok());
    }
    assert!(call(&session, "work", json!({"what": 3})).await.is_ok());
}

// R-B7
#[tokio::test(start_paused = true)]
async fn place_of_a_cancelled_call_is_free() {
    let policy = Policy::text().max_concurrent(LimitScope::tool("*"), 1);
    let session = text(tools![Work::default()], policy).await;
    let task = begin(&session, "c", "work", r#"{"what": 1}"#).await;
    assert!(session.cancel("c"));
    answer(task).await;
    assert!(call(&session, "work", json!({"what": 2})).await.is_ok());

    // The caller of this one is gone.
    let task = begin(&session, "d", "work", r#"{"what": 3}"#).await;
    task.abort();
    ms(1).await;
    assert!(call(&session, "work", json!({"what": 4})).await.is_ok());
}

// R-B7
#[tokio::test(start_paused = true)]
async fn long_call_keeps_its_place() {
    let policy = Policy::text().max_concurrent(LimitScope::tool("long"), 1);
    let session = text(tools![Work::default()], policy).await;
    let task = begin(&session, "c", "long", r#"{"what": 1}"#).await;
    ms(100_000).await;
    let refused = call(&session, "long", json!({"what": 2})).await;
    assert_eq!(kind(&refused), Some(ErrorKind::RateLimit));
    assert!(answer(task).await.is_ok());
}

// R-B7
#[tokio::test(start_paused = true)]
async fn nested_call_runs_in_the_place_of_its_caller() {
    let policy = Policy::text().max_concurrent(LimitScope::Principal, 1);
    let session = text(tools![Work::default()], policy).await;
    let response = call(&session, "outer", json!({})).await;
    assert_eq!(response.data_json(), Some("true"));
}

// R-B7
#[tokio::test(start_paused = true)]
async fn retries_count_under_the_rate() {
    let work = Work::default();
    let policy = Policy::text().rate_limit(LimitScope::tool("flaky"), 3, MINUTE * 60);
    let session = text(tools![work.clone()], policy).await;
    let response = call(&session, "flaky", json!({})).await;
    assert_eq!(message(&response), "it is down");
    assert_eq!((work.runs.get(), response.meta().attempts()), (3, 3));
}

// R-B7
#[tokio::test(start_paused = true)]
async fn refused_call_gives_its_budget_back() {
    let work = Work::default();
    let policy = Policy::text()
        .rate_limit(LimitScope::tool("quick"), 1, MINUTE)
        .max_calls(Some(2));
    let session = text(tools![work.clone()], policy).await;
    for what in 1..=6 {
        call(&session, "quick", json!({"what": what})).await;
    }
    assert!(call(&session, "work", json!({"what": 7})).await.is_ok());
}

// R-B7
#[tokio::test(start_paused = true)]
async fn nothing_runs_while_the_store_of_the_limits_is_down() {
    let work = Work::default();
    let policy = Policy::text().rate_limit(LimitScope::tool("*"), 10, MINUTE);
    let store = Odd::default();
    let runtime = open_runtime(&work, policy, store.clone());
    let session = open(&runtime, "s-1", Mode::Text).await;
    assert!(call(&session, "quick", json!({"what": 1})).await.is_ok());
    store.manners.loses_permits(true);
    let response = call(&session, "quick", json!({"what": 2})).await;
    assert_eq!(kind(&response), Some(ErrorKind::Transient));
    assert_eq!(work.runs.get(), 1);
}

// R-B7
#[test]
fn limits_that_admit_nothing_do_not_build() {
    let policy = Policy::text()
        .rate_limit(LimitScope::Principal, 0, MINUTE)
        .max_concurrent(LimitScope::tool("a"), 0);
    let built = Runtime::builder(tools![Work::default()])
        .policy(policy)
        .build();
    let errors = built.expect_err("it admits nothing");
    assert_eq!(errors.len(), 2, "{errors}");
}
