//! Calls that are written down before they run, and what the next process makes of them.

use crate::support::{Counter, call, kind, tools};
use crate::support_b::{answer, begin, ms};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use tool_core::session::{Journal, JournalEntry, JournalError, Operation, Recovered};
use tool_core::{ErrorKind, Mode, Policy, RunContext, Runtime, Session, ToolCall, ToolResponse, toolset};

/// Keeps calls in memory, and what was asked of it. A clone is the same paper in the hands of the next process.
#[derive(Clone, Default)]
struct Paper {
    calls: Arc<Mutex<Vec<Recovered>>>,
    asked: Arc<Mutex<Vec<String>>>,
    torn: Arc<AtomicBool>,
}

impl Paper {
    fn write(&self, what: String) -> Result<std::sync::MutexGuard<'_, Vec<Recovered>>, JournalError> {
        self.asked.lock().expect("asked").push(what);
        if self.torn.load(Ordering::SeqCst) {
            return Err(JournalError::new("no more paper"));
        }
        Ok(self.calls.lock().expect("calls"))
    }

    fn tear(&self) {
        self.torn.store(true, Ordering::SeqCst);
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("asked").clone()
    }

    fn entries(&self) -> Vec<JournalEntry> {
        self.calls.lock().expect("calls").iter().map(|call| call.entry.clone()).collect()
    }
}

impl Journal for Paper {
    fn started<'a>(&'a self, call: &'a JournalEntry) -> Operation<'a, Result<(), JournalError>> {
        let written = self.write(format!("started {}", call.call_id));
        Operation::Ready(written.map(|mut calls| calls.push(Recovered { entry: call.clone(), response: None })))
    }

    fn finished<'a>(&'a self, _: &'a str, id: &'a str, said: &'a str) -> Operation<'a, Result<(), JournalError>> {
        Operation::Ready(self.write(format!("finished {id}")).map(|mut calls| {
            if let Some(call) = calls.iter_mut().rev().find(|call| call.entry.call_id == id) {
                call.response = Some(said.to_owned());
            }
        }))
    }

    fn recover<'a>(&'a self, session: &'a str) -> Operation<'a, Result<Vec<Recovered>, JournalError>> {
        let written = self.write(format!("recover {session}"));
        Operation::Ready(written.map(|calls| calls.clone()))
    }

    fn forget<'a>(&'a self, session: &'a str) -> Operation<'a, Result<(), JournalError>> {
        Operation::Ready(self.write(format!("forget {session}")).map(|mut calls| calls.clear()))
    }
}

#[derive(Clone, Default)]
struct Bank {
    paper: Paper,
    ran: Counter,
}

#[toolset(discover = false)]
impl Bank {
    /// Pay, and tell what was written down by then.
    #[tool(category = "action")]
    fn pay(&self, amount: u32) -> Vec<String> {
        self.ran.add();
        let _ = amount;
        self.paper.asked()
    }

    /// Take for ever to pay.
    #[tool(category = "action")]
    async fn pay_slowly(&self) {
        self.ran.add();
        ms(3_600_000).await;
    }

    /// Look at the balance.
    #[tool(category = "retrieval")]
    async fn balance(&self) -> u32 {
        let ran = self.ran.add();
        ms(10).await;
        ran
    }

    /// Pay twice.
    #[tool(category = "action")]
    async fn pay_twice(&self, ctx: &RunContext) -> Value {
        let first = ctx.call("pay", json!({"amount": 1})).await;
        let second = ctx.call("pay", json!({"amount": 2})).await;
        json!([first.meta().call_id(), second.meta().call_id(), ctx.idempotency_key()])
    }
}

/// A process: it has a runtime of its own, and the paper that was left to it.
async fn process(bank: &Bank) -> Session {
    let runtime = Runtime::builder(tools![bank.clone()]).policy(Policy::text()).journal(bank.paper.clone());
    runtime.build().expect("a runtime").session("s-1", Mode::Text).await.expect("a session")
}

/// Starts a call in a process that is then killed.
async fn killed_while(bank: &Bank, tool: &str) {
    let session = process(bank).await;
    let running = begin(&session, "c1", tool, "{}").await;
    running.abort();
    ms(1).await;
}

async fn pay(session: &Session, id: &str, amount: u32) -> ToolResponse {
    session.call(ToolCall::new(id, "pay", json!({"amount": amount}))).await
}

#[tokio::test(start_paused = true)]
async fn a_call_is_written_down_before_it_runs_and_after_it_has_ended() {
    let bank = Bank::default();
    let session = process(&bank).await;
    let seen: Vec<String> = pay(&session, "c1", 5).await.data().expect("paid");
    assert_eq!(seen, ["recover s-1", "started c1"]);
    assert_eq!(bank.paper.asked(), ["recover s-1", "started c1", "finished c1"]);
}

#[tokio::test(start_paused = true)]
async fn what_is_written_down_tells_the_whole_call() {
    let bank = Bank::default();
    let session = process(&bank).await;
    session.next_turn().await;
    session.call(ToolCall::new("c1", "pay", r#"{ "amount": 5.0 }"#)).await;
    call(&session, "balance", json!({})).await;
    let [paid, looked] = &bank.paper.entries()[..] else { panic!("two calls") };
    assert_eq!((&*paid.session, &*paid.call_id, &*paid.tool, paid.turn), ("s-1", "c1", "pay", 1));
    assert_eq!((&*paid.arguments, paid.idempotency_key.len()), (r#"{"amount":5}"#, 32));
    assert!(!paid.harmless && looked.harmless);
}

#[tokio::test(start_paused = true)]
async fn refused_calls_are_not_written_down() {
    let bank = Bank::default();
    let session = process(&bank).await;
    session.call(ToolCall::new("c1", "pay", "{}")).await;
    session.call(ToolCall::new("c2", "nowhere", "{}")).await;
    assert!(bank.paper.entries().is_empty());
}

// R-E3
#[tokio::test(start_paused = true)]
async fn an_action_that_a_killed_process_started_is_unknown_and_not_run_again() {
    let bank = Bank::default();
    killed_while(&bank, "pay_slowly").await;
    let session = process(&bank).await;
    let response = session.call(ToolCall::new("c1", "pay_slowly", "{}")).await;
    let error = response.error().expect("unknown");
    assert_eq!((error.kind, error.partial_side_effects, error.retryable), (ErrorKind::Unknown, true, false));
    assert_eq!((bank.ran.get(), response.meta().call_id()), (1, Some("c1")));
}

// R-B2
#[tokio::test(start_paused = true)]
async fn what_is_unknown_costs_no_budget() {
    let bank = Bank::default();
    killed_while(&bank, "pay_slowly").await;
    let policy = Policy::text().max_calls(Some(1));
    let runtime = Runtime::builder(tools![bank.clone()]).policy(policy).journal(bank.paper.clone()).build();
    let session = runtime.expect("a runtime").session("s-1", Mode::Text).await.expect("a session");
    let unknown = session.call(ToolCall::new("c1", "pay_slowly", "{}")).await;
    assert_eq!(kind(&unknown), Some(ErrorKind::Unknown));
    assert!(pay(&session, "c2", 5).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn the_same_action_under_another_id_is_another_call() {
    let bank = Bank::default();
    killed_while(&bank, "pay_slowly").await;
    let session = process(&bank).await;
    let again = begin(&session, "c2", "pay_slowly", "{}").await;
    assert_eq!(bank.ran.get(), 2);
    session.cancel("c2");
    assert_eq!(kind(&answer(again).await), Some(ErrorKind::Cancelled));
}

#[tokio::test(start_paused = true)]
async fn a_harmless_call_that_a_killed_process_started_runs_again() {
    let bank = Bank::default();
    killed_while(&bank, "balance").await;
    let session = process(&bank).await;
    assert_eq!(session.call(ToolCall::new("c1", "balance", "{}")).await.data_json(), Some("2"));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_an_earlier_process_finished_is_answered_as_it_was() {
    let bank = Bank::default();
    let first = pay(&process(&bank).await, "c1", 5).await;
    let second = pay(&process(&bank).await, "c1", 5).await;
    assert_eq!((second.data_json(), second.meta().call_id()), (first.data_json(), Some("c1")));
    assert_eq!(bank.ran.get(), 1);
}

// R-E3
#[tokio::test(start_paused = true)]
async fn an_action_whose_answer_cannot_be_read_any_more_is_unknown() {
    let bank = Bank::default();
    pay(&process(&bank).await, "c1", 5).await;
    bank.paper.calls.lock().expect("calls")[0].response = Some("scribble".to_owned());
    assert_eq!(kind(&pay(&process(&bank).await, "c1", 5).await), Some(ErrorKind::Unknown));
    assert_eq!(bank.ran.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_id_of_an_earlier_process_with_other_arguments_is_another_call() {
    let bank = Bank::default();
    pay(&process(&bank).await, "c1", 5).await;
    assert!(pay(&process(&bank).await, "c1", 6).await.is_ok());
    assert_eq!(bank.ran.get(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_id_of_the_same_process_runs_again() {
    let bank = Bank::default();
    let session = process(&bank).await;
    assert!(pay(&session, "c1", 5).await.is_ok() && pay(&session, "c1", 5).await.is_ok());
    assert_eq!(bank.ran.get(), 2);
}

// R-B2
#[tokio::test(start_paused = true)]
async fn a_journal_that_fails_stops_actions_and_gives_their_budget_back() {
    let bank = Bank::default();
    let policy = Policy::text().max_calls(Some(1));
    let runtime = Runtime::builder(tools![bank.clone()]).policy(policy).journal(bank.paper.clone()).build();
    let session = runtime.expect("a runtime").session("s-1", Mode::Text).await.expect("a session");
    bank.paper.tear();
    let stopped = pay(&session, "c1", 5).await;
    let error = stopped.error().expect("stopped");
    assert_eq!((error.kind, error.retryable, error.partial_side_effects), (ErrorKind::Transient, true, false));
    assert_eq!(bank.ran.get(), 0);
    assert!(call(&session, "balance", json!({})).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_journal_that_fails_does_not_stop_what_only_reads() {
    let bank = Bank::default();
    let session = process(&bank).await;
    bank.paper.tear();
    assert_eq!(call(&session, "balance", json!({})).await.data_json(), Some("1"));
}

#[tokio::test(start_paused = true)]
async fn a_session_does_not_open_over_a_journal_that_cannot_be_read() {
    let bank = Bank::default();
    bank.paper.tear();
    let runtime = Runtime::builder(tools![bank.clone()]).journal(bank.paper.clone()).build().expect("a runtime");
    assert!(runtime.session("s-1", Mode::Text).await.is_err());
}

// R-I3
#[tokio::test(start_paused = true)]
async fn a_session_that_has_ended_is_forgotten() {
    let bank = Bank::default();
    let session = process(&bank).await;
    pay(&session, "c1", 5).await;
    session.end().await;
    assert_eq!(bank.paper.asked().last().map(String::as_str), Some("forget s-1"));
    assert!(bank.paper.entries().is_empty());
}

// R-B4
#[tokio::test(start_paused = true)]
async fn calls_that_tools_make_are_written_down_under_ids_of_their_own() {
    let bank = Bank::default();
    let session = process(&bank).await;
    let made: Value = session.call(ToolCall::new("c1", "pay_twice", "{}")).await.data().expect("paid");
    assert_eq!(json!([made[0], made[1]]), json!(["c1.1", "c1.2"]));
    let entries = bank.paper.entries();
    let ids = entries.iter().map(|entry| &*entry.call_id).collect::<Vec<_>>();
    assert_eq!(ids, ["c1", "c1.1", "c1.2"]);
    assert_eq!(made[2], json!(entries[0].idempotency_key));
}
