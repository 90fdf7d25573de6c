//! Sessions and runtimes as `tower::Service`s, with layers around the calls of all sessions.

#![allow(
    clippy::unused_self,
    clippy::needless_pass_by_value,
    reason = "tools as their authors write them"
)]

use crate::support::{asked, call, kind, open, renew, tools};
use crate::support_b::{Log, answer, begin};
use serde_json::json;
use std::time::Duration;
use tokio::time::Instant;
use tool_core::{ErrorKind, Mode, Policy, RunContext, Runtime, Session, ToolCall, toolset};
use tower::limit::{ConcurrencyLimitLayer, RateLimitLayer};
use tower::load_shed::LoadShedLayer;
use tower::timeout::TimeoutLayer;
use tower::util::MapRequestLayer;
use tower::{Service, ServiceExt};

#[derive(Clone, Default)]
struct Mill {
    log: Log,
}

#[toolset(discover = false)]
impl Mill {
    /// Grind for so long.
    #[tool(category = "action")]
    async fn grind(&self, millis: u64) -> u64 {
        self.log.work(&millis.to_string(), millis).await;
        millis
    }

    /// Grind for so long, without leaving anything behind.
    #[tool(category = "retrieval")]
    async fn watch(&self, millis: u64) -> u64 {
        self.log.work(&millis.to_string(), millis).await;
        millis
    }

    /// Have another tool grind.
    #[tool]
    async fn delegate(&self, ctx: &RunContext) -> bool {
        ctx.call("grind", json!({"millis": 1})).await.is_ok()
    }

    /// Break down.
    #[tool]
    fn break_down(&self) {
        panic!("on purpose");
    }
}

fn plain() -> (Runtime, Mill) {
    let mill = Mill::default();
    (
        crate::support::runtime(tools![mill.clone()], Policy::text()),
        mill,
    )
}

fn grind(id: &str, millis: u64) -> ToolCall {
    ToolCall::new(id, "grind", json!({"millis": millis}))
}

#[tokio::test(start_paused = true)]
async fn a_session_is_a_service() {
    let mut session: Session = open(&plain().0, "s-1", Mode::Text).await;
    let Ok(response) = session
        .ready()
        .await
        .expect("always")
        .call(grind("c1", 5))
        .await;
    assert_eq!(
        (response.meta().call_id(), response.data_json()),
        (Some("c1"), Some("5"))
    );
}

#[tokio::test(start_paused = true)]
async fn session_works_under_tower_layers() {
    let session = open(&plain().0, "s-1", Mode::Text).await;
    let twice = MapRequestLayer::new(|call: ToolCall| call.with_id("mapped"));
    let response = tower::Layer::layer(&twice, session)
        .oneshot(grind("c1", 5))
        .await
        .expect("infallible");
    assert_eq!(response.meta().call_id(), Some("mapped"));
}

#[tokio::test(start_paused = true)]
async fn runtime_service_routes_calls_to_sessions() {
    let (runtime, _mill) = plain();
    let (_one, two) = (
        open(&runtime, "one", Mode::Text).await,
        open(&runtime, "two", Mode::Text).await,
    );
    let response = runtime
        .clone()
        .oneshot(grind("c1", 5).in_session("one"))
        .await
        .expect("infallible");
    assert_eq!(response.data_json(), Some("5"));
    two.end().await;
    let response = runtime
        .oneshot(grind("c1", 5).in_session("two"))
        .await
        .expect("infallible");
    assert_eq!(kind(&response), Some(ErrorKind::SessionInactive));
}

#[tokio::test(start_paused = true)]
async fn runtime_service_answers_calls_of_unknown_sessions() {
    let (runtime, mill) = plain();
    for call in [grind("c1", 5), grind("c1", 5).in_session("nobody's")] {
        let response = runtime.clone().oneshot(call).await.expect("infallible");
        assert_eq!(
            (kind(&response), response.meta().call_id()),
            (Some(ErrorKind::SessionInactive), Some("c1"))
        );
    }
    assert!(mill.log.all().is_empty());
}

#[tokio::test(start_paused = true)]
async fn rate_limit_applies_to_all_sessions() {
    let builder = Runtime::builder(tools![Mill::default()])
        .layer(RateLimitLayer::new(2, Duration::from_secs(1)));
    let runtime = builder.build().expect("a runtime");
    let (one, two) = (
        open(&runtime, "one", Mode::Text).await,
        open(&runtime, "two", Mode::Text).await,
    );
    let began = Instant::now();
    for session in [&one, &two, &one] {
        assert!(
            session
                .call(asked("grind", json!({"millis": 0})))
                .await
                .is_ok()
        );
    }
    assert!(
        began.elapsed() >= Duration::from_secs(1),
        "{:?}",
        began.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn concurrency_limit_applies_to_all_sessions() {
    let mill = Mill::default();
    let runtime = Runtime::builder(tools![mill.clone()])
        .layer(ConcurrencyLimitLayer::new(1))
        .build();
    let runtime = runtime.expect("a runtime");
    let (one, two) = (
        open(&runtime, "one", Mode::Text).await,
        open(&runtime, "two", Mode::Text).await,
    );
    let first = begin(&one, "c1", "grind", r#"{"millis":100}"#).await;
    assert!(call(&two, "grind", json!({"millis": 1})).await.is_ok());
    assert!(answer(first).await.is_ok());
    assert_eq!(
        mill.log.all(),
        ["100 begins", "100 ends", "1 begins", "1 ends"]
    );
}

#[tokio::test(start_paused = true)]
async fn shed_call_is_answered_and_does_not_run() {
    let mill = Mill::default();
    let builder = Runtime::builder(tools![mill.clone()]).layer(LoadShedLayer::new());
    let runtime = builder
        .layer(ConcurrencyLimitLayer::new(1))
        .build()
        .expect("a runtime");
    let session = open(&runtime, "s-1", Mode::Text).await;
    let first = begin(&session, "c1", "grind", r#"{"millis":100}"#).await;
    let shed = session.call(grind("c2", 1)).await;
    assert_eq!(
        (kind(&shed), shed.meta().call_id()),
        (Some(ErrorKind::RateLimit), Some("c2"))
    );
    let error = shed.error().expect("an error");
    assert!(error.retryable && !error.partial_side_effects);
    assert!(answer(first).await.is_ok());
    assert_eq!(mill.log.all(), ["100 begins", "100 ends"]);
}

// R-E3
#[tokio::test(start_paused = true)]
async fn timeout_layer_answers_with_timeout() {
    let mill = Mill::default();
    let builder =
        Runtime::builder(tools![mill.clone()]).layer(TimeoutLayer::new(Duration::from_millis(50)));
    let session = open(&builder.build().expect("a runtime"), "s-1", Mode::Text).await;
    let response = session.call(grind("c1", 100)).await;
    assert_eq!(
        (kind(&response), response.meta().call_id()),
        (Some(ErrorKind::Timeout), Some("c1"))
    );
    assert!(response.error().expect("an error").partial_side_effects);
    assert_eq!(mill.log.all(), ["100 begins"]);
}

// R-E3
#[tokio::test(start_paused = true)]
async fn retrieval_ended_by_a_layer_has_no_side_effects() {
    let builder = Runtime::builder(tools![Mill::default()])
        .layer(TimeoutLayer::new(Duration::from_millis(50)));
    let session = open(&builder.build().expect("a runtime"), "s-1", Mode::Text).await;
    let response = call(&session, "watch", json!({"millis": 100})).await;
    let error = response.error().expect("an error");
    assert_eq!(
        (error.kind, error.retryable, error.partial_side_effects),
        (ErrorKind::Timeout, true, false)
    );
}

#[tokio::test(start_paused = true)]
async fn the_first_layer_is_the_outermost() {
    let named = |name: &'static str| {
        MapRequestLayer::new(move |call: ToolCall| {
            let id = format!("{}{name}", call.id());
            call.with_id(id)
        })
    };
    let builder = Runtime::builder(tools![Mill::default()])
        .layer(named(".outer"))
        .layer(named(".inner"));
    let session = open(&builder.build().expect("a runtime"), "s-1", Mode::Text).await;
    assert_eq!(
        session.call(grind("c1", 1)).await.meta().call_id(),
        Some("c1.outer.inner")
    );
}

#[tokio::test(start_paused = true)]
async fn nested_calls_skip_the_layers() {
    let builder = Runtime::builder(tools![Mill::default()]).layer(ConcurrencyLimitLayer::new(1));
    let session = open(&builder.build().expect("a runtime"), "s-1", Mode::Text).await;
    assert_eq!(
        call(&session, "delegate", json!({})).await.data_json(),
        Some("true")
    );
}

#[tokio::test(start_paused = true)]
async fn abandoned_wait_for_a_layer_blocks_no_call() {
    let runtime = Runtime::builder(tools![Mill::default()])
        .layer(ConcurrencyLimitLayer::new(1))
        .build();
    let session = open(&runtime.expect("a runtime"), "s-1", Mode::Text).await;
    let first = begin(&session, "c1", "grind", r#"{"millis":100}"#).await;
    let gone = begin(&session, "c2", "grind", r#"{"millis":100}"#).await;
    gone.abort();
    assert!(call(&session, "grind", json!({"millis": 1})).await.is_ok());
    assert!(answer(first).await.is_ok());
}

// R-M1
#[tokio::test(start_paused = true)]
async fn every_answered_call_is_counted_by_tool() {
    let (runtime, _mill) = plain();
    let session = open(&runtime, "s-1", Mode::Text).await;
    call(&session, "watch", json!({"millis": 3})).await;
    call(&session, "watch", json!({})).await;
    call(&session, "break_down", json!({})).await;
    let tools = runtime.metrics().tools;
    let (watch, break_down) = (&tools["watch"], &tools["break_down"]);
    assert_eq!(
        (watch.calls, watch.responses(), watch.duration.as_millis()),
        (2, 1, 3)
    );
    assert_eq!(
        (break_down.calls, &break_down.errors),
        (1, &[("INTERNAL", 1)].into())
    );
    assert!(!tools.contains_key("nowhere"));
}

// R-I3
#[tokio::test(start_paused = true)]
async fn shutdown_ends_sessions_and_answers_calls() {
    let (runtime, mill) = plain();
    let (one, two) = (
        open(&runtime, "one", Mode::Text).await,
        open(&runtime, "two", Mode::Text).await,
    );
    let running = begin(&one, "c1", "grind", r#"{"millis":100}"#).await;
    runtime.shutdown().await;
    assert_eq!(kind(&answer(running).await), Some(ErrorKind::Cancelled));
    assert_eq!(
        kind(&two.call(grind("c2", 1)).await),
        Some(ErrorKind::SessionInactive)
    );
    assert_eq!(runtime.sessions().await, Ok(0));
    assert_eq!(mill.log.all(), ["100 begins"]);
}

// R-I4
#[tokio::test(start_paused = true)]
async fn call_over_an_earlier_handle_passes_the_layers() {
    let builder = Runtime::builder(tools![Mill::default()]).layer(ConcurrencyLimitLayer::new(1));
    let runtime = builder.build().expect("a runtime");
    let earlier = open(&runtime, "s-1", Mode::Text).await;
    let _renewed = renew(&runtime, "s-1", Mode::Text).await;
    let response = earlier.call(grind("c1", 1)).await;
    assert_eq!(response.data_json(), Some("1"), "{response}");
}

// R-I4
#[tokio::test(start_paused = true)]
async fn call_in_a_layer_runs_after_a_renewal() {
    let builder = Runtime::builder(tools![Mill::default()]).layer(ConcurrencyLimitLayer::new(1));
    let runtime = builder.build().expect("a runtime");
    let earlier = open(&runtime, "s-1", Mode::Text).await;
    let running = begin(&earlier, "c1", "grind", r#"{"millis":100}"#).await;
    let waiting = begin(&earlier, "c2", "grind", r#"{"millis":1}"#).await;
    let _renewed = renew(&runtime, "s-1", Mode::Text).await;
    assert!(answer(running).await.is_ok());
    assert_eq!(answer(waiting).await.data_json(), Some("1"));
}
