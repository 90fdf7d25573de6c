//! Layers that delay calls, panic, or block control tools.

use crate::support::{Counter, asked, kind, open, tools};
use crate::support_b::{Log, answer, begin, ms};
use futures_util::future::BoxFuture;
use serde_json::json;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::timeout;
use tool_core::session::RuntimeBuilder;
use tool_core::{ErrorKind, Mode, Policy, RunContext, Runtime, ToolCall, ToolResponse, toolset};
use tower::BoxError;
use tower::layer::layer_fn;
use tower::limit::{ConcurrencyLimitLayer, RateLimitLayer};
use tower::util::{MapFutureLayer, MapRequestLayer};

#[derive(Clone, Default)]
struct Desk {
    log: Log,
}

#[toolset(discover = false)]
impl Desk {
    /// Say whose session it is.
    #[tool]
    fn who(&self, ctx: &RunContext) -> String {
        let whom = ctx.user_data::<String>().cloned().unwrap_or_default();
        self.log.add(&whom);
        whom
    }

    /// Work for an hour.
    #[tool(cancellable)]
    async fn work(&self) {
        ms(3_600_000).await;
    }

    /// Send something.
    #[tool(category = "action", confirm)]
    async fn send(&self, ctx: &RunContext) -> &'static str {
        self.log.add("sent");
        ctx.update("it is on its way");
        tokio::task::yield_now().await;
        "there"
    }
}

fn desk() -> (RuntimeBuilder, Log) {
    let desk = Desk::default();
    let log = desk.log.clone();
    (Runtime::builder(tools![desk]).policy(Policy::text()), log)
}

// R-I3, R-C2
#[tokio::test(start_paused = true)]
async fn call_held_by_a_layer_stays_in_its_session() {
    let (builder, log) = desk();
    let late = MapFutureLayer::new(
        |call: BoxFuture<'static, Result<ToolResponse, BoxError>>| async move {
            ms(100).await;
            call.await
        },
    );
    let runtime = builder.layer(late).build().expect("a runtime");
    let open = |whom: &'static str| {
        let opening = runtime
            .session("s", Mode::Text)
            .principal(whom)
            .user_data(whom.to_owned());
        async move { opening.await.expect("a session") }
    };
    let ada = open("ada").await;
    let held = begin(&ada, "c", "who", "{}").await;
    ada.end().await;
    let bob = open("bob").await;
    assert_eq!(kind(&answer(held).await), Some(ErrorKind::SessionInactive));
    assert!(log.all().is_empty(), "{:?}", log.all());
    assert_eq!(
        bob.call(asked("who", json!({}))).await.data_json(),
        Some(r#""bob""#)
    );
}

// R-E2
#[tokio::test]
async fn failed_layer_lets_no_call_run() {
    let (builder, log) = desk();
    let tries = Counter::default();
    let layer = layer_fn(move |inner| {
        assert!(tries.add() > 1, "on purpose");
        inner
    });
    let session = open(
        &builder.layer(layer).build().expect("a runtime"),
        "s",
        Mode::Text,
    )
    .await;
    for _ in 0..3 {
        assert_eq!(
            kind(&session.call(asked("who", json!({}))).await),
            Some(ErrorKind::Internal)
        );
    }
    assert!(log.all().is_empty());
}

// R-E2
#[tokio::test]
async fn layer_panic_affects_one_call() {
    let (builder, log) = desk();
    let layer = MapRequestLayer::new(|call: ToolCall| {
        assert!(call.id() != "bad", "on purpose");
        call
    });
    let session = open(
        &builder.layer(layer).build().expect("a runtime"),
        "s",
        Mode::Text,
    )
    .await;
    let call = |id: &str| ToolCall::new(id, "who", "{}");
    let kinds = session.call_all([call("a"), call("bad"), call("b")]).await;
    let kinds = kinds.iter().map(kind).collect::<Vec<_>>();
    assert_eq!(kinds, [None, Some(ErrorKind::Internal), None]);
    assert_eq!(log.all().len(), 2);
}

// R-C1
#[tokio::test]
async fn approved_call_goes_through_the_layers() {
    let (builder, log) = desk();
    let seen = Counter::default();
    let counted = seen.clone();
    let layer = MapRequestLayer::new(move |call: ToolCall| {
        counted.add();
        call
    });
    let session = open(
        &builder.layer(layer).build().expect("a runtime"),
        "s",
        Mode::Text,
    )
    .await;
    let waits = session.call(asked("send", json!({}))).await;
    assert_eq!(seen.get(), 1);
    let token = &waits
        .meta()
        .confirmation()
        .expect("a person is asked")
        .token;
    assert!(session.approve(token).await.is_ok());
    assert_eq!((seen.get(), log.all()), (2, vec!["sent".to_owned()]));
}

// R-C1, L24
#[tokio::test]
async fn approved_call_reports_progress_to_the_listener() {
    let (builder, _) = desk();
    let runtime = builder
        .layer(ConcurrencyLimitLayer::new(9))
        .build()
        .expect("a runtime");
    let shown = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&shown);
    let session = runtime.session("s", Mode::Text).on_update(move |said| {
        let id = said.meta().call_id().map(str::to_owned);
        told.lock()
            .expect("shown")
            .push((id, said.data_json().map(str::to_owned)));
    });
    let session = session.await.expect("a session");
    let waits = session.call(ToolCall::new("c", "send", "{}")).await;
    let token = &waits
        .meta()
        .confirmation()
        .expect("a person is asked")
        .token;
    assert_eq!(session.approve(token).await.data_json(), Some(r#""there""#));
    let expected = vec![(
        Some("c_update_1".to_owned()),
        Some(r#""it is on its way""#.to_owned()),
    )];
    assert_eq!(*shown.lock().expect("shown"), expected);
}

// L16
#[tokio::test(start_paused = true)]
async fn call_can_be_cancelled_while_a_layer_is_full() {
    let (builder, _) = desk();
    let runtime = builder
        .layer(ConcurrencyLimitLayer::new(1))
        .build()
        .expect("a runtime");
    let session = open(&runtime, "s", Mode::Text).await;
    let working = begin(&session, "c", "work", "{}").await;
    let listed = session.call(asked("list_running_calls", json!({}))).await;
    assert!(
        listed
            .data_json()
            .is_some_and(|calls| calls.contains(r#""call_id":"c""#)),
        "{listed}"
    );
    assert!(
        session
            .call(asked("cancel_call", json!({"call_id": "c"})))
            .await
            .is_ok()
    );
    assert_eq!(kind(&answer(working).await), Some(ErrorKind::Cancelled));
}

// L22
#[tokio::test(start_paused = true)]
async fn every_rate_limited_call_is_answered() {
    let (builder, log) = desk();
    let builder = builder.layer(RateLimitLayer::new(1, Duration::from_secs(1)));
    let policy = Policy::text().repeated_calls(None).max_empty_results(None);
    let runtime = builder.policy(policy).build().expect("a runtime");
    let session = open(&runtime, "s", Mode::Text).await;
    let gone = begin(&session, "gone", "who", "{}").await;
    let waits = begin(&session, "waits", "who", "{}").await;
    waits.abort();
    let calls = (0..5).map(|n| ToolCall::new(format!("c{n}"), "who", "{}"));
    let responses = timeout(Duration::from_secs(10), session.call_all(calls))
        .await
        .expect("answers");
    assert!(responses.iter().all(ToolResponse::is_ok));
    assert!(answer(gone).await.is_ok());
    assert_eq!(log.all().len(), 6);
}
