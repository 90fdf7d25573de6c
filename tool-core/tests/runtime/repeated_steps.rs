//! Calls as steps of an engine, which makes them again after a crash.

use crate::shared_journal::SharedJournal;
use crate::support::{Counter, asked, call, kind, runtime, text, tools};
use futures_util::future::BoxFuture;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use tool_core::session::{DurableSteps, MemoryStore, PlainSteps};
use tool_core::{
    ErrorKind, Mode, Policy, Runtime, Session, ToolCall, ToolContext, ToolError, ToolResponse,
    toolset,
};

#[derive(Clone, Default)]
struct Office {
    sent: Counter,
}

#[toolset(name = "office_in_steps")]
impl Office {
    /// Find a file.
    #[tool(name = "find", category = "retrieval")]
    fn find(&self, name: String) -> usize {
        name.len()
    }

    /// Send a letter.
    #[tool(name = "send", category = "action", confirm)]
    fn send(&self, to: String) -> u32 {
        let _ = to;
        self.sent.add()
    }

    /// Stamp a letter.
    #[tool(name = "stamp", category = "action")]
    fn stamp(&self) -> u32 {
        self.sent.add()
    }

    /// Carry a letter away, and never come back.
    #[tool(name = "carry", category = "action")]
    async fn carry(&self) {
        self.sent.add();
        std::future::pending::<()>().await;
    }
}

fn office() -> ToolContext {
    tools![Office::default()]
}

fn finding(name: &str) -> ToolCall {
    ToolCall::new("c1", "find", json!({ "name": name }))
}

fn sending() -> ToolCall {
    ToolCall::new("c2", "send", json!({"to": "Ada"}))
}

/// Runs a step whose result is not recorded, as if the process was killed after it.
async fn unrecorded(session: &Session, call: ToolCall) -> ToolResponse {
    session.call_in_step(&PlainSteps::new(), call).await
}

fn token(response: &ToolResponse) -> String {
    let confirmation = response.meta().confirmation().expect("it waits");
    confirmation.token.clone()
}

/// A process of several that have the key and the store in common.
fn process(store: &Arc<MemoryStore>) -> Runtime {
    Runtime::builder(office())
        .signing_key([7; 32])
        .store(Arc::clone(store))
        .build()
        .expect("a runtime")
}

async fn opened(runtime: &Runtime) -> Session {
    let opening = runtime.session("s-1", Mode::Text).principal("user:7");
    opening.await.expect("a session")
}

// M35
#[tokio::test]
async fn a_step_that_runs_again_is_charged_once() {
    let session = text(office(), Policy::text().max_calls(Some(2))).await;
    for _ in 0..4 {
        let response = unrecorded(&session, finding("a")).await;
        assert_eq!(response.data_json(), Some("1"));
    }
    let second = call(&session, "find", json!({"name": "b"})).await;
    assert_eq!(kind(&second), None);
    let third = call(&session, "find", json!({"name": "c"})).await;
    assert_eq!(kind(&third), Some(ErrorKind::BudgetExceeded));
}

// M35
#[tokio::test]
async fn a_step_that_runs_again_is_no_loop() {
    let session = text(office(), Policy::text()).await;
    for _ in 0..6 {
        let response = unrecorded(&session, finding("a")).await;
        assert_eq!(kind(&response), None);
    }
}

// M35
#[tokio::test]
async fn another_call_with_the_id_of_a_step_is_charged() {
    let session = text(office(), Policy::text().max_calls(Some(1))).await;
    let first = unrecorded(&session, finding("a")).await;
    assert_eq!(kind(&first), None);
    let other = unrecorded(&session, finding("b")).await;
    assert_eq!(kind(&other), Some(ErrorKind::BudgetExceeded));
}

// M35
#[tokio::test]
async fn a_call_without_an_engine_is_charged_each_time() {
    let session = text(office(), Policy::text().max_calls(Some(1))).await;
    assert_eq!(kind(&session.call(finding("a")).await), None);
    let again = session.call(finding("a")).await;
    assert_eq!(kind(&again), Some(ErrorKind::BudgetExceeded));
}

// M35
#[tokio::test]
async fn a_step_that_runs_again_asks_a_person_once() {
    let store = Arc::new(MemoryStore::new());
    let first = opened(&process(&store)).await;
    let asked = token(&unrecorded(&first, sending()).await);

    let runtime = process(&store);
    let second = opened(&runtime).await;
    assert_eq!(token(&unrecorded(&second, sending()).await), asked);
    let waiting = runtime.pending_approvals("user:7", None, 10).await;
    assert_eq!(waiting.expect("a page").calls.len(), 1);
    assert_eq!(second.approve(&asked).await.data_json(), Some("1"));
}

// M35
#[tokio::test]
async fn a_step_of_a_later_turn_asks_a_person_anew() {
    let session = opened(&process(&Arc::new(MemoryStore::new()))).await;
    let asked = token(&unrecorded(&session, sending()).await);
    let _turn = session.next_turn().await;
    assert_ne!(token(&unrecorded(&session, sending()).await), asked);
}

// M35
#[tokio::test]
async fn an_approval_that_is_sent_twice_is_charged_once() {
    let runtime = runtime(office(), Policy::text().max_calls(Some(2)));
    let session = opened(&runtime).await;
    let token = token(&session.call(asked("send", json!({"to": "Ada"}))).await);
    assert_eq!(session.approve(&token).await.data_json(), Some("1"));
    let again = session.approve(&token).await;
    assert_eq!(kind(&again), Some(ErrorKind::NotFound));

    let second = call(&session, "find", json!({"name": "b"})).await;
    assert_eq!(kind(&second), None);
    let third = call(&session, "find", json!({"name": "c"})).await;
    assert_eq!(kind(&third), Some(ErrorKind::BudgetExceeded));
}

// M35
#[tokio::test]
async fn a_step_that_runs_again_is_listed_once() {
    let runtime = process(&Arc::new(MemoryStore::new()));
    let session = opened(&runtime).await;
    unrecorded(&session, sending()).await;
    unrecorded(&session, sending()).await;
    let waiting = runtime.waiting_calls().await.expect("in memory");
    assert_eq!(waiting.len(), 1);
}

/// The steps of an engine that can record nothing, and runs the function again.
struct RecordsNothing;

impl DurableSteps for RecordsNothing {
    fn step<'a>(
        &'a self,
        _name: &'a str,
        work: BoxFuture<'a, Result<String, ToolError>>,
    ) -> BoxFuture<'a, Result<String, ToolError>> {
        Box::pin(async {
            work.await?;
            Err(ToolError::transient("the database is read-only"))
        })
    }

    fn signal<'a>(
        &'a self,
        _name: &'a str,
        _time: Duration,
    ) -> BoxFuture<'a, Result<Option<String>, ToolError>> {
        Box::pin(async { Ok(None) })
    }

    fn sleep(&self, _time: Duration) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async { Ok(()) })
    }
}

/// A process with a journal, in which the functions of an engine run.
fn journaling(office: &Office) -> Runtime {
    Runtime::builder(tools![office.clone()])
        .policy(Policy::text())
        .journal(SharedJournal::default())
        .build()
        .expect("a runtime")
}

fn stamping() -> ToolCall {
    ToolCall::new("c3", "stamp", "{}")
}

// M35
#[tokio::test]
async fn an_unrecorded_action_is_answered_and_not_run_again() {
    let office = Office::default();
    let runtime = journaling(&office);
    for _ in 0..3 {
        let session = opened(&runtime).await;
        let lost = session.call_in_step(&RecordsNothing, stamping()).await;
        assert_eq!(kind(&lost), Some(ErrorKind::Transient));
    }
    let again = unrecorded(&opened(&runtime).await, stamping()).await;
    assert_eq!(again.data_json(), Some("1"), "{again}");
    assert_eq!(office.sent.get(), 1);
}

// M35
#[tokio::test(start_paused = true)]
async fn a_dropped_action_is_unknown_when_its_step_runs_again() {
    let office = Office::default();
    let runtime = journaling(&office);
    let carrying = || ToolCall::new("c4", "carry", "{}");
    let session = opened(&runtime).await;
    let dropped = timeout(Duration::from_millis(10), unrecorded(&session, carrying())).await;
    assert!(dropped.is_err(), "it runs on");

    let again = unrecorded(&opened(&runtime).await, carrying()).await;
    assert_eq!(kind(&again), Some(ErrorKind::Unknown), "{again}");
    assert_eq!(office.sent.get(), 1);
}

// M35
#[tokio::test]
async fn the_id_of_a_recorded_action_may_be_used_again() {
    let office = Office::default();
    let session = opened(&journaling(&office)).await;
    for number in ["1", "2"] {
        let recorded = unrecorded(&session, stamping()).await;
        assert_eq!(recorded.data_json(), Some(number), "{recorded}");
    }
}
