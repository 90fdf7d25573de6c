//! The drain of a runtime: what runs finishes, nothing begins, and sessions stay. R-I7

use crate::support::{Counter, OnDrop, call, kind, message, open, renew, tools};
use crate::support_b::{answer, begin, ms};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tool_core::call::StateKey;
use tool_core::session::{
    DrainReport, History, MemoryStore, Model, ModelRequest, ModelStep, ReplyFinish, StateChange,
};
use tool_core::testing::ScriptedModel;
use tool_core::{
    ErrorKind, Mode, Policy, RunContext, Runtime, Session, ToolCall, ToolError, ToolResponse,
    toolset,
};

const OWNER: StateKey<String> = StateKey::new("mill.owner");

#[derive(Clone, Default)]
struct Mill {
    runs: Counter,
    dropped: Counter,
    closed: Counter,
}

#[toolset(discover = false)]
impl Mill {
    #[close]
    fn shut(&self) {
        self.closed.add();
    }

    /// Grind for some milliseconds.
    #[tool(category = "action")]
    async fn grind(&self, millis: u64) -> &'static str {
        let _dropped = OnDrop(self.dropped.clone());
        ms(millis).await;
        self.runs.add();
        "flour"
    }

    /// Grind, and then grind once more.
    #[tool(category = "action")]
    async fn grind_twice(&self, ctx: &RunContext) -> bool {
        ms(100).await;
        ctx.call("grind", json!({"millis": 100})).await.is_ok()
    }

    /// Sell the mill.
    #[tool(category = "action", confirm)]
    fn sell(&self) -> &'static str {
        self.runs.add();
        "sold"
    }
}

/// Returns a runtime of a process. Those with one store share their sessions.
fn process(store: &Arc<MemoryStore>) -> (Runtime, Mill) {
    let mill = Mill::default();
    let runtime = Runtime::builder(tools![mill.clone()])
        .policy(Policy::text())
        .store(Arc::clone(store))
        .signing_key([7; 32])
        .build()
        .expect("a runtime");
    (runtime, mill)
}

async fn one_process() -> (Runtime, Mill, Session) {
    let (runtime, mill) = process(&Arc::default());
    let session = open(&runtime, "s", Mode::Text).await;
    (runtime, mill, session)
}

/// Begins a drain in the background.
async fn begin_drain(runtime: &Runtime, limit: u64) -> JoinHandle<DrainReport> {
    let runtime = runtime.clone();
    let task = tokio::spawn(async move { runtime.drain(Duration::from_millis(limit)).await });
    ms(1).await;
    task
}

fn is_put_off(response: &ToolResponse) -> bool {
    let error = response.error().expect("an error");
    error.kind == ErrorKind::Transient
        && error.retryable
        && error.message.contains("this process is about to end")
}

// R-I7
#[tokio::test(start_paused = true)]
async fn a_running_call_finishes_during_a_drain() {
    let (runtime, _, session) = one_process().await;
    let running = begin(&session, "c", "grind", r#"{"millis": 500}"#).await;
    let began = Instant::now();
    let report = runtime.drain(Duration::from_secs(30)).await;
    assert!(report.is_empty(), "{report:?}");
    assert_eq!(answer(running).await.data_json(), Some(r#""flour""#));
    // It waits no longer than it has to.
    assert!(began.elapsed() < Duration::from_millis(600));
}

// R-I7
#[tokio::test(start_paused = true)]
async fn no_call_begins_during_a_drain() {
    let (runtime, mill, session) = one_process().await;
    let running = begin(&session, "c", "grind", r#"{"millis": 500}"#).await;
    assert!(!runtime.is_draining());
    let drain = begin_drain(&runtime, 30_000).await;
    assert!(runtime.is_draining());

    let late = call(&session, "grind", json!({"millis": 0})).await;
    assert!(is_put_off(&late), "{}", message(&late));
    let other = open(&runtime, "other", Mode::Text).await;
    assert!(is_put_off(
        &call(&other, "grind", json!({"millis": 0})).await
    ));

    assert!(drain.await.expect("a report").is_empty());
    assert!(answer(running).await.is_ok());
    assert_eq!(mill.runs.get(), 1);
}

// R-I7
#[tokio::test(start_paused = true)]
async fn a_call_over_the_limit_is_cancelled_and_named() {
    let (runtime, mill, session) = one_process().await;
    let running = begin(&session, "c-9", "grind", r#"{"millis": 20000}"#).await;
    let report = runtime.drain(Duration::from_millis(300)).await;
    let [unfinished] = &report.calls[..] else {
        panic!("{report:?}");
    };
    assert_eq!(unfinished.call_id, "c-9");
    assert_eq!(unfinished.tool, "grind");
    assert_eq!(unfinished.session.as_str(), "s");
    assert_eq!(kind(&answer(running).await), Some(ErrorKind::Cancelled));
    assert_eq!((mill.dropped.get(), mill.runs.get()), (1, 0));
}

// R-I7
#[tokio::test(start_paused = true)]
async fn a_drained_session_goes_on_in_another_process() {
    let store = Arc::default();
    let (first, _) = process(&store);
    let (second, _) = process(&store);
    let session = open(&first, "s", Mode::Text).await;
    session.next_turn().await;
    let owner = StateChange::set(OWNER, &"Ada".to_owned()).expect("a text");
    session.change(&[owner]).await.expect("changed");
    assert!(first.drain(Duration::from_secs(1)).await.is_empty());
    drop((session, first));

    let session = open(&second, "s", Mode::Text).await;
    assert_eq!(session.turn(), 1);
    assert_eq!(session.state().get(OWNER), Ok(Some("Ada".to_owned())));
    assert!(call(&session, "grind", json!({"millis": 0})).await.is_ok());
}

// R-I7
#[tokio::test(start_paused = true)]
async fn a_waiting_call_is_approved_in_another_process() {
    let store = Arc::default();
    let (first, sold_first) = process(&store);
    let (second, sold_second) = process(&store);
    let session = open(&first, "s", Mode::Text).await;
    let asked = call(&session, "sell", json!({})).await;
    let token = &asked.meta().confirmation().expect("it waits").token;
    // A call that waits for a person does not hold up the end.
    assert!(first.drain(Duration::ZERO).await.is_empty());
    assert!(is_put_off(&session.approve(token).await));

    let session = open(&second, "s", Mode::Text).await;
    let approved = session.approve(token).await;
    assert_eq!(approved.data_json(), Some(r#""sold""#));
    assert_eq!((sold_first.runs.get(), sold_second.runs.get()), (0, 1));
}

// R-I7
#[tokio::test(start_paused = true)]
async fn calls_that_a_running_tool_makes_finish_too() {
    let (runtime, mill, session) = one_process().await;
    let running = begin(&session, "c", "grind_twice", "{}").await;
    assert!(runtime.drain(Duration::from_secs(30)).await.is_empty());
    assert_eq!(answer(running).await.data_json(), Some("true"));
    assert_eq!(mill.runs.get(), 1);
}

/// Calls a tool after a while, and then answers.
struct SlowModel;

impl Model for SlowModel {
    async fn step(&mut self, request: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
        ms(100).await;
        let grind = ToolCall::new("c", "grind", r#"{"millis": 100}"#);
        let is_first = request.history.len() == 1;
        Ok(if is_first {
            ModelStep::calls([grind])
        } else {
            ModelStep::says("Here is your flour.")
        })
    }
}

// R-I7
#[tokio::test(start_paused = true)]
async fn a_reply_that_has_begun_goes_on_with_its_calls() {
    let (runtime, mill, session) = one_process().await;
    let replying = tokio::spawn(async move {
        let mut history = History::new();
        session.reply(&mut SlowModel, &mut history, "Flour").await
    });
    ms(1).await;
    assert!(runtime.drain(Duration::from_secs(30)).await.is_empty());
    let reply = replying.await.expect("a reply");
    assert_eq!(reply.finish, ReplyFinish::Complete);
    assert_eq!(reply.text.as_deref(), Some("Here is your flour."));
    assert_eq!(mill.runs.get(), 1);
}

// R-I7
#[tokio::test(start_paused = true)]
async fn a_reply_over_the_limit_is_interrupted_and_named() {
    let (runtime, _, session) = one_process().await;
    let replying = tokio::spawn(async move {
        let mut history = History::new();
        let reply = session.reply(&mut SlowModel, &mut history, "Flour").await;
        (reply, history)
    });
    ms(150).await;
    let report = runtime.drain(Duration::from_millis(10)).await;
    assert_eq!(report.replies.len(), 1, "{report:?}");
    let (reply, history) = replying.await.expect("a reply");
    assert_eq!(reply.finish, ReplyFinish::Interrupted);
    // The message, the call and its result: another process can go on.
    assert_eq!(history.messages().len(), 3);
}

// R-I7
#[tokio::test]
async fn no_reply_begins_during_a_drain() {
    let (runtime, _, session) = one_process().await;
    runtime.drain(Duration::ZERO).await;
    let mut history = History::new();
    let mut model = ScriptedModel::new().says("Too late.");
    let reply = session.reply(&mut model, &mut history, "Hello?").await;
    let error = reply.error.expect("it failed");
    assert_eq!(error.kind, ErrorKind::Transient);
    assert!(error.retryable);
    // The message is said again in another process.
    assert!(history.messages().is_empty());
}

// R-I7
#[tokio::test]
async fn a_drain_closes_the_toolsets() {
    let (runtime, mill, session) = one_process().await;
    assert!(call(&session, "grind", json!({"millis": 0})).await.is_ok());
    assert_eq!(mill.closed.get(), 0);
    runtime.drain(Duration::ZERO).await;
    assert_eq!(mill.closed.get(), 1);
}

// R-I7
#[tokio::test]
async fn a_shutdown_after_a_drain_ends_the_sessions() {
    let (runtime, _, session) = one_process().await;
    runtime.drain(Duration::ZERO).await;
    assert_eq!(runtime.sessions().await, Ok(1));
    runtime.shutdown().await;
    assert_eq!(runtime.sessions().await, Ok(0));
    assert!(session.state().ended);
}

// R-I7
#[tokio::test(start_paused = true)]
async fn what_has_no_end_of_its_own_learns_of_a_drain() {
    let (runtime, _, _session) = one_process().await;
    let mut begun = std::pin::pin!(runtime.drain_begun());
    let early = tokio::time::timeout(Duration::from_secs(60), &mut begun).await;
    assert!(early.is_err());
    runtime.drain(Duration::ZERO).await;
    begun.await;
}

// R-I4, R-I7
#[tokio::test(start_paused = true)]
async fn drain_waits_for_calls_of_every_earlier_handle() {
    let (runtime, _, first) = one_process().await;
    let running = begin(&first, "c", "grind", r#"{"millis": 500}"#).await;
    let second = renew(&runtime, "s", Mode::Text).await;
    let _third = renew(&runtime, "s", Mode::Text).await;
    drop(second);
    let report = runtime.drain(Duration::from_millis(300)).await;
    assert_eq!(report.calls.len(), 1);
    assert_eq!(kind(&answer(running).await), Some(ErrorKind::Cancelled));
}
