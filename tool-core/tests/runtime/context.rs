//! The run context of a tool in a session. L23

#![allow(
    clippy::unused_self,
    clippy::needless_pass_by_value,
    reason = "tools as their authors write them"
)]

use crate::support::{Counter, call, open, renew, runtime, text, tools};
use crate::support_b::{Log, answer, begin, ms};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tool_core::session::{MemoryStore, StateChange};
use tool_core::{
    CancellationToken, Intent, Mode, Policy, RunContext, Runtime, ToolCall, ToolOutput, toolset,
};

/// The user of the session.
struct User(&'static str);

#[derive(Clone, Default)]
struct Probe {
    log: Log,
    cancelled: Counter,
}

#[toolset(discover = false)]
impl Probe {
    /// Tell all there is to tell.
    #[tool]
    fn look(&self, ctx: &RunContext) -> Value {
        json!({
            "session": ctx.session(), "tool": ctx.tool(), "call": ctx.call_id(), "turn": ctx.turn(),
            "config": ctx.config(), "mode": ctx.mode(), "state": ctx.state(), "user": ctx.user_data::<User>().map(|user| user.0),
        })
    }

    /// Tell how the call was made.
    #[tool]
    fn made(&self, ctx: &RunContext, #[arg(default = 1)] count: u32) -> Value {
        let call = ctx
            .function_call()
            .map(|call| (call.id(), call.name(), call.arguments()));
        json!({"call": call, "count": count})
    }

    /// Tell the key.
    #[tool]
    fn key(&self, ctx: &RunContext, #[arg(default = 1)] count: u32) -> String {
        format!(
            "{}{}",
            ctx.idempotency_key().unwrap_or("none"),
            if count == 0 { "!" } else { "" }
        )
    }

    /// Tell how much time is left, in milliseconds.
    #[tool(timeout = "2s")]
    async fn left(&self, ctx: &RunContext) -> Option<u64> {
        let left = ctx
            .deadline()?
            .saturating_duration_since(tokio::time::Instant::now().into_std());
        u64::try_from(left.as_millis()).ok()
    }

    /// Say something, and wait until it was heard.
    #[tool]
    async fn say(&self, ctx: &RunContext) {
        self.log.add("waits");
        ctx.wait_for_playout().await;
        self.log.add("heard");
    }

    /// Leave work behind that watches the call.
    #[tool]
    async fn watch(&self, ctx: &RunContext, millis: u64) {
        let (token, cancelled): (CancellationToken, _) =
            (ctx.cancellation().clone(), self.cancelled.clone());
        ctx.spawn(async move {
            token.cancelled().await;
            cancelled.add();
        });
        ms(millis).await;
    }

    /// Leave something in the state, and look whether it is there already.
    #[tool]
    fn ask(&self, ctx: &RunContext) -> ToolOutput {
        ToolOutput::new(ctx.state()["pendingMessage"].clone())
            .intent(Intent::SetPendingMessage("later".into()))
    }

    /// Count the calls of the session.
    #[tool]
    fn count(&self, ctx: &RunContext) -> Option<u32> {
        ctx.session_memo::<Counter>().map(|calls| calls.add())
    }
}

async fn probe() -> (tool_core::Session, Probe) {
    let probe = Probe::default();
    (text(tools![probe.clone()], Policy::text()).await, probe)
}

async fn key(session: &tool_core::Session, id: &str, arguments: &str) -> String {
    session
        .call(ToolCall::new(id, "key", arguments))
        .await
        .data()
        .expect("a key")
}

// L23
#[tokio::test]
async fn context_has_session_call_turn_and_mode() {
    let session = open(
        &runtime(tools![Probe::default()], Policy::text()),
        "s-7",
        Mode::Voice,
    )
    .await;
    session.next_turn().await;
    let seen: Value = session
        .call(ToolCall::new("c1", "look", "{}"))
        .await
        .data()
        .expect("a view");
    for (what, is) in [
        ("session", json!("s-7")),
        ("tool", json!("look")),
        ("call", json!("c1")),
        ("turn", json!(1)),
    ] {
        assert_eq!(seen[what], is, "{what}");
    }
    assert_eq!(seen["mode"], json!("voice"));
}

// L23
#[tokio::test]
async fn context_has_the_user_data_of_the_session() {
    let runtime = runtime(tools![Probe::default()], Policy::text());
    let session = runtime
        .session("s-1", Mode::Text)
        .user_data(User("Ada"))
        .await
        .expect("a session");
    let seen: Value = call(&session, "look", json!({}))
        .await
        .data()
        .expect("a view");
    assert_eq!(seen["user"], json!("Ada"));
}

#[tokio::test]
async fn each_session_has_a_memo_of_its_own() {
    let runtime = runtime(tools![Probe::default()], Policy::text());
    let first = open(&runtime, "s-1", Mode::Text).await;
    let second = open(&runtime, "s-2", Mode::Text).await;
    for (session, count) in [(&first, 1), (&first, 2), (&second, 1)] {
        let counted = call(session, "count", json!({})).await;
        assert_eq!(counted.data_json(), Some(count.to_string().as_str()));
    }
}

// L23
#[tokio::test]
async fn user_data_of_the_first_opening_is_kept() {
    let runtime = runtime(tools![Probe::default()], Policy::text());
    let first = runtime
        .session("s-1", Mode::Text)
        .config(json!({"language": "de"}))
        .await
        .expect("a session");
    let second = runtime
        .session("s-1", Mode::Text)
        .config(json!({"language": "fr"}))
        .await
        .expect("the same session");
    for session in [&first, &second] {
        let seen: Value = call(session, "look", json!({}))
            .await
            .data()
            .expect("a view");
        assert_eq!(seen["config"], json!({"language": "de"}));
    }
    let other = open(&runtime, "s-2", Mode::Text).await;
    let seen: Value = call(&other, "look", json!({}))
        .await
        .data()
        .expect("a view");
    assert_eq!(seen["config"], json!(null));
}

// L23
#[tokio::test]
async fn context_has_the_call_of_the_model() {
    let (session, _probe) = probe().await;
    let response = session
        .call(ToolCall::new("c1", "made", r#"{ "count": "2" }"#))
        .await;
    let seen: Value = response.data().expect("a call");
    assert_eq!(
        seen,
        json!({"call": ["c1", "made", r#"{ "count": "2" }"#], "count": 2})
    );
}

// L23
#[tokio::test]
async fn idempotency_key_is_stable_across_attempts() {
    let (session, _probe) = probe().await;
    let first = key(&session, "c1", "{}").await;
    assert_eq!(first.len(), 32, "{first}");
    assert_eq!(key(&session, "c2", r#"{"count":1.0}"#).await, first);
}

// L23
#[tokio::test]
async fn idempotency_key_depends_on_arguments_turn_session() {
    let runtime = runtime(tools![Probe::default()], Policy::text());
    let (one, two) = (
        open(&runtime, "one", Mode::Text).await,
        open(&runtime, "two", Mode::Text).await,
    );
    let first = key(&one, "c1", "{}").await;
    assert_ne!(key(&one, "c1", r#"{"count":2}"#).await, first);
    assert_ne!(key(&two, "c1", "{}").await, first);
    one.next_turn().await;
    assert_ne!(key(&one, "c1", "{}").await, first);
}

// L23
#[tokio::test]
async fn idempotency_key_is_stable_across_processes() {
    let store = Arc::new(MemoryStore::new());
    let process = async || {
        let runtime = Runtime::builder(tools![Probe::default()])
            .store(Arc::clone(&store))
            .build()
            .expect("a runtime");
        open(&runtime, "s", Mode::Text).await
    };
    let (one, two) = (process().await, process().await);
    assert_eq!(key(&one, "c1", "{}").await, key(&two, "c1", "{}").await);
}

// L23
#[tokio::test]
async fn idempotency_key_is_new_in_each_session_and_process() {
    let mut keys = HashSet::new();
    for number in 0..500 {
        let runtime = runtime(tools![Probe::default()], Policy::text());
        let principals = ["ada", "ada", "bob", ""];
        for principal in principals {
            let session = runtime
                .session("s", Mode::Text)
                .principal(principal)
                .await
                .expect("a session");
            let first = key(&session, "c1", "{}").await;
            assert_eq!(key(&session, "c1", "{}").await, first, "a second attempt");
            assert!(keys.insert(first), "process {number}, {principal}");
            session.end().await;
        }
    }
    assert_eq!(keys.len(), 2_000);
}

// L23, R-B5
#[tokio::test(start_paused = true)]
async fn context_has_the_deadline() {
    let (session, _probe) = probe().await;
    assert_eq!(
        call(&session, "left", json!({})).await.data_json(),
        Some("2000")
    );
}

// L23
#[tokio::test(start_paused = true)]
async fn wait_for_playout_waits_for_the_transport() {
    let (session, probe) = probe().await;
    session.playout_started();
    let saying = begin(&session, "c1", "say", "{}").await;
    ms(1_000).await;
    assert_eq!(probe.log.all(), ["waits"]);
    session.playout_finished();
    assert!(answer(saying).await.is_ok());
    assert_eq!(probe.log.all(), ["waits", "heard"]);
}

// L23
#[tokio::test(start_paused = true)]
async fn wait_for_playout_returns_without_a_transport() {
    let (session, _probe) = probe().await;
    let began = tokio::time::Instant::now();
    assert!(call(&session, "say", json!({})).await.is_ok());
    session.playout_started();
    session.playout_finished();
    assert!(call(&session, "say", json!({})).await.is_ok());
    assert_eq!(began.elapsed(), Duration::ZERO);
}

// L23
#[tokio::test(start_paused = true)]
async fn cancellation_token_follows_the_call() {
    let (session, probe) = probe().await;
    let watching = begin(&session, "c1", "watch", r#"{"millis":1000}"#).await;
    assert_eq!(probe.cancelled.get(), 0);
    session.cancel("c1");
    answer(watching).await;
    ms(1).await;
    assert_eq!(probe.cancelled.get(), 1);
}

// L23
#[tokio::test(start_paused = true)]
async fn cancellation_token_follows_a_dropped_caller() {
    let (session, probe) = probe().await;
    let watching = begin(&session, "c1", "watch", r#"{"millis":1000}"#).await;
    watching.abort();
    ms(1).await;
    assert_eq!(probe.cancelled.get(), 1);
}

// L23, R-B5
#[tokio::test(start_paused = true)]
async fn cancellation_token_follows_the_deadline() {
    let (session, probe) = probe().await;
    call(&session, "watch", json!({"millis": 40_000})).await;
    ms(1).await;
    assert_eq!(probe.cancelled.get(), 1);
}

// L23
#[tokio::test(start_paused = true)]
async fn cancellation_token_is_kept_by_a_finished_call() {
    let (session, probe) = probe().await;
    assert!(call(&session, "watch", json!({"millis": 10})).await.is_ok());
    ms(1).await;
    assert_eq!(probe.cancelled.get(), 0);
}

// R-I2
#[tokio::test]
async fn tools_read_state_set_by_host_and_intents() {
    let (session, _probe) = probe().await;
    assert_eq!(
        call(&session, "ask", json!({})).await.data_json(),
        Some("null")
    );
    assert_eq!(
        call(&session, "ask", json!({})).await.data_json(),
        Some(r#""later""#)
    );
    session
        .change(&[StateChange::Value("place".into(), json!("Rome"))])
        .await
        .expect("a change");
    let seen: Value = call(&session, "look", json!({}))
        .await
        .data()
        .expect("a view");
    assert_eq!(seen["state"]["values"]["place"], json!("Rome"));
}

// L23
#[tokio::test]
async fn detached_context_has_no_key_call_or_wait() {
    let tools = tools![Probe::default()];
    let ctx = RunContext::detached();
    assert_eq!(
        tools.call("key", "{}", &ctx).await.data_json(),
        Some(r#""none""#)
    );
    assert_eq!(
        tools.call("made", "{}", &ctx).await.data_json(),
        Some(r#"{"call":null,"count":1}"#)
    );
    assert!(tools.call("say", "{}", &ctx).await.is_ok());
}

// L23
#[tokio::test]
async fn clone_of_a_session_is_the_same_session() {
    let runtime: Runtime = runtime(tools![Probe::default()], Policy::text());
    let session = open(&runtime, "s-1", Mode::Text).await;
    session.clone().next_turn().await;
    assert_eq!((session.turn(), session.id().as_str()), (1, "s-1"));
}

// R-I4
#[tokio::test]
async fn renewed_session_has_the_memos_of_the_earlier_one() {
    let runtime = runtime(tools![Probe::default()], Policy::text());
    let earlier = open(&runtime, "s-1", Mode::Text).await;
    call(&earlier, "count", json!({})).await;
    let renewed = renew(&runtime, "s-1", Mode::Text).await;
    let counted = call(&renewed, "count", json!({})).await;
    assert_eq!(counted.data_json(), Some("2"));
}

// L23, R-I4
#[tokio::test]
async fn renewed_session_knows_that_audio_is_playing() {
    let runtime = runtime(tools![Probe::default()], Policy::text());
    let earlier = open(&runtime, "s-1", Mode::Text).await;
    earlier.playout_started();
    let renewed = renew(&runtime, "s-1", Mode::Text).await;
    assert!(renewed.is_playing());
    earlier.playout_finished();
    assert!(!renewed.is_playing());
}
