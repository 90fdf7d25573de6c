//! The control tools `cancel_call` and `list_running_calls`. L16

use crate::support::{Counter, OnDrop, call, kind, message, text, tools};
use crate::support_b::{Log, answer, begin, ms};
use serde_json::{Value, json};
use std::time::Duration;
use tool_core::{
    CancellationToken, ErrorKind, Policy, RunContext, Runtime, ToolCall, tool, toolset,
};

#[derive(Clone, Default)]
struct Kitchen {
    log: Log,
    dropped: Counter,
}

#[toolset(discover = false)]
impl Kitchen {
    /// Bake something for ten seconds.
    #[tool(cancellable, category = "action")]
    async fn bake(&self, what: String) -> String {
        let _dropped = OnDrop(self.dropped.clone());
        self.log.work(&what, 10_000).await;
        format!("a {what}")
    }

    /// Boil water for ten seconds, come what may.
    #[tool]
    async fn boil(&self) -> &'static str {
        self.log.work("boil", 10_000).await;
        "hot"
    }

    /// Set it on fire, and do not stop in the middle.
    #[tool(cancellable)]
    async fn flambe(&self, ctx: &RunContext) -> &'static str {
        ctx.disallow_interruptions();
        self.log.work("flambe", 10_000).await;
        "burnt"
    }

    /// Clean up in the background.
    #[tool(cancellable, sequential)]
    async fn clean(&self) -> &'static str {
        self.log.work("clean", 10_000).await;
        "clean"
    }
}

/// Nothing about it can be cancelled.
#[tool]
fn plate() -> u32 {
    1
}

fn names(runtime: &Runtime) -> Vec<String> {
    runtime
        .tools()
        .definitions()
        .map(|tool| tool.name().to_owned())
        .collect()
}

async fn kitchen(policy: Policy) -> (tool_core::Session, Kitchen) {
    let kitchen = Kitchen::default();
    (text(tools![kitchen.clone(), plate], policy).await, kitchen)
}

async fn cancel(session: &tool_core::Session, id: &str) -> tool_core::ToolResponse {
    call(session, "cancel_call", json!({"call_id": id})).await
}

// L16
#[test]
fn control_tools_exist_if_a_tool_is_cancellable() {
    let runtime = crate::support::runtime(tools![Kitchen::default()], Policy::text());
    for companion in ["cancel_call", "list_running_calls"] {
        assert!(
            names(&runtime).contains(&companion.to_owned()),
            "{companion}"
        );
    }
}

// L16
#[test]
fn control_tools_are_absent_without_cancellable_tools() {
    assert_eq!(
        names(&crate::support::runtime(tools![plate], Policy::text())),
        ["plate"]
    );
}

// L16
#[test]
fn host_tool_named_like_a_control_tool_is_an_error() {
    /// The host's own.
    #[tool(name = "cancel_call")]
    fn mine() {}

    let error = Runtime::builder(tools![Kitchen::default(), mine])
        .build()
        .expect_err("two of a name");
    assert!(error.to_string().contains("cancel_call"), "{error}");
}

// L16
#[tokio::test(start_paused = true)]
async fn running_call_is_cancelled_and_answered() {
    let (session, kitchen) = kitchen(Policy::text()).await;
    let cake = begin(&session, "c1", "bake", r#"{"what":"cake"}"#).await;
    let response = cancel(&session, "c1").await;
    assert_eq!(response.data_json(), Some(r#"{"cancelled":"c1"}"#));
    assert_eq!(kind(&answer(cake).await), Some(ErrorKind::Cancelled));
    assert_eq!((kitchen.dropped.get(), kitchen.log.all().len()), (1, 1));
}

// R-E3
#[tokio::test(start_paused = true)]
async fn cancelled_action_may_have_side_effects() {
    let (session, _kitchen) = kitchen(Policy::text()).await;
    let cake = begin(&session, "c1", "bake", r#"{"what":"cake"}"#).await;
    cancel(&session, "c1").await;
    let error = answer(cake).await.error().cloned().expect("cancelled");
    assert!(error.partial_side_effects && !error.retryable, "{error:?}");
}

// L16
#[tokio::test(start_paused = true)]
async fn list_shows_running_calls_and_durations() {
    let (session, _kitchen) = kitchen(Policy::text()).await;
    let _cake = begin(&session, "c1", "bake", r#"{"what":"cake"}"#).await;
    ms(2_000).await;
    let _water = begin(&session, "c2", "boil", "{}").await;
    let listed: Value = call(&session, "list_running_calls", json!({}))
        .await
        .data()
        .expect("a list");
    let (cake, water) = (listed["calls"][0].clone(), listed["calls"][1].clone());
    assert_eq!(
        cake,
        json!({"call_id": "c1", "tool": "bake", "seconds": 2, "cancellable": true})
    );
    assert_eq!(
        water,
        json!({"call_id": "c2", "tool": "boil", "seconds": 0, "cancellable": false})
    );
}

// L16
#[tokio::test(start_paused = true)]
async fn list_is_empty_if_nothing_runs() {
    let (session, _kitchen) = kitchen(Policy::text()).await;
    let cake = begin(&session, "c1", "bake", r#"{"what":"cake"}"#).await;
    answer(cake).await;
    assert_eq!(
        call(&session, "list_running_calls", json!({}))
            .await
            .data_json(),
        Some(r#"{"calls":[]}"#)
    );
}

// L16
#[tokio::test(start_paused = true)]
async fn call_of_an_uncancellable_tool_goes_on() {
    let (session, _kitchen) = kitchen(Policy::text()).await;
    let water = begin(&session, "c1", "boil", "{}").await;
    let refused = cancel(&session, "c1").await;
    assert_eq!(kind(&refused), Some(ErrorKind::Permanent));
    assert!(message(&refused).contains("`c1`"), "{refused}");
    assert!(answer(water).await.is_ok());
}

// L16
#[tokio::test(start_paused = true)]
async fn call_that_disallows_interruptions_goes_on() {
    let (session, _kitchen) = kitchen(Policy::text()).await;
    let fire = begin(&session, "c1", "flambe", "{}").await;
    assert_eq!(
        kind(&cancel(&session, "c1").await),
        Some(ErrorKind::Permanent)
    );
    assert!(answer(fire).await.is_ok());
}

// L16
#[tokio::test(start_paused = true)]
async fn unknown_call_id_is_not_found() {
    let (session, _kitchen) = kitchen(Policy::text()).await;
    let refused = cancel(&session, "nobody").await;
    assert_eq!(kind(&refused), Some(ErrorKind::NotFound));
    assert!(
        message(&refused).contains("list_running_calls"),
        "{refused}"
    );
}

// L16
#[tokio::test(start_paused = true)]
async fn control_tools_work_at_the_concurrency_limit() {
    let (session, _kitchen) = kitchen(Policy::text().concurrent_calls(1)).await;
    let cake = begin(&session, "c1", "bake", r#"{"what":"cake"}"#).await;
    let began = tokio::time::Instant::now();
    assert!(
        call(&session, "list_running_calls", json!({}))
            .await
            .is_ok()
    );
    assert!(cancel(&session, "c1").await.is_ok());
    assert_eq!(kind(&answer(cake).await), Some(ErrorKind::Cancelled));
    assert_eq!(began.elapsed(), Duration::ZERO);
}

// L16
#[tokio::test(start_paused = true)]
async fn control_tools_work_beside_a_sequential_tool() {
    let (session, _kitchen) = kitchen(Policy::text()).await;
    let cleaning = begin(&session, "c1", "clean", "{}").await;
    assert!(
        call(&session, "list_running_calls", json!({}))
            .await
            .is_ok()
    );
    assert!(cancel(&session, "c1").await.is_ok());
    assert_eq!(kind(&answer(cleaning).await), Some(ErrorKind::Cancelled));
}

// L16
#[tokio::test(start_paused = true)]
async fn control_tools_cost_no_budget() {
    let (session, _kitchen) = kitchen(Policy::text().max_calls(Some(1))).await;
    for _ in 0..2 {
        assert!(
            call(&session, "list_running_calls", json!({}))
                .await
                .is_ok()
        );
    }
    assert!(
        call(&session, "plate", json!({})).await.is_ok(),
        "the one call that the turn may make"
    );
    assert_eq!(
        kind(&cancel(&session, "nobody").await),
        Some(ErrorKind::NotFound)
    );
}

// L16
#[tokio::test(start_paused = true)]
async fn host_can_cancel_any_call() {
    let (session, _kitchen) = kitchen(Policy::text()).await;
    let water = begin(&session, "c1", "boil", "{}").await;
    let fire = begin(&session, "c2", "flambe", "{}").await;
    assert!(session.cancel("c1") && session.cancel("c2") && !session.cancel("c3"));
    assert_eq!(kind(&answer(water).await), Some(ErrorKind::Cancelled));
    assert_eq!(kind(&answer(fire).await), Some(ErrorKind::Cancelled));
}

// L16
#[tokio::test]
async fn call_that_is_cancelled_before_it_begins_does_not_run() {
    let (session, kitchen) = kitchen(Policy::text()).await;
    let token = CancellationToken::new();
    let calls = ["bake", "plate"].map(|tool| ToolCall::new(tool, tool, r#"{"what":"cake"}"#));
    token.cancel();
    for call in calls {
        let response = session.call(call.with_cancellation(token.clone())).await;
        assert_eq!(kind(&response), Some(ErrorKind::Cancelled), "{response:?}");
    }
    assert!(kitchen.log.all().is_empty());
    assert_eq!(
        session.audit().await.expect("kept").len(),
        2,
        "both are recorded"
    );
}

// L16
#[tokio::test(start_paused = true)]
async fn waiting_call_of_a_cancelled_token_does_not_run() {
    let (session, kitchen) = kitchen(Policy::text().concurrent_calls(1)).await;
    let first = begin(&session, "c1", "boil", "{}").await;
    let token = CancellationToken::new();
    let call = ToolCall::new("c2", "bake", r#"{"what":"cake"}"#).with_cancellation(token.clone());
    let waiting = session.clone();
    let task = tokio::spawn(async move { waiting.call(call).await });
    ms(1).await;
    token.cancel();
    assert!(answer(first).await.is_ok());
    assert_eq!(kind(&answer(task).await), Some(ErrorKind::Cancelled));
    assert!(!kitchen.log.all().iter().any(|line| line.contains("cake")));
}

// L16
#[tokio::test(start_paused = true)]
async fn running_call_of_a_cancelled_token_ends() {
    let (session, kitchen) = kitchen(Policy::text()).await;
    let token = CancellationToken::new();
    let call = ToolCall::new("c1", "bake", r#"{"what":"cake"}"#).with_cancellation(token.clone());
    let running = session.clone();
    let task = tokio::spawn(async move { running.call(call).await });
    ms(1).await;
    token.cancel();
    assert_eq!(kind(&answer(task).await), Some(ErrorKind::Cancelled));
    assert_eq!(kitchen.dropped.get(), 1);
}

// L16
#[tokio::test(start_paused = true)]
async fn waiting_call_cannot_be_cancelled_by_id() {
    let (session, _kitchen) = kitchen(Policy::text().concurrent_calls(1)).await;
    let _first = begin(&session, "c1", "boil", "{}").await;
    let (waiting, id) = (
        session.clone(),
        ToolCall::new("c2", "bake", r#"{"what":"cake"}"#),
    );
    let task = tokio::spawn(async move { waiting.call(id).await });
    ms(1).await;
    assert_eq!(
        kind(&cancel(&session, "c2").await),
        Some(ErrorKind::NotFound)
    );
    assert!(answer(task).await.is_ok());
}
