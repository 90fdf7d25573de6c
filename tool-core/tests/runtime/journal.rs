//! The journal: calls are recorded before they run, and the next process reads them.

use crate::shared_journal::SharedJournal;
use crate::support::{Counter, call, kind, open, renew, tools};
use crate::support_b::{answer, begin, ms};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use tool_core::call::{Answer, Question, ResultForm};
use tool_core::session::{
    CallOutcome, Decision, HookedCall, Journal, JournalEntry, JournalError, JournalStart,
    MemoryStore, Message, PendingCall, PlainSteps, RecoveredCall, StateChange, decision_begun_note,
};
use tool_core::{
    Content, ErrorKind, Intent, Mode, Policy, RunContext, Runtime, Session, ToolCall, ToolError,
    ToolOutput, ToolResponse, toolset,
};

/// A journal in memory that counts its operations. A clone represents the next process.
#[derive(Clone, Default)]
pub(crate) struct Paper {
    calls: Arc<Mutex<Vec<RecoveredCall>>>,
    asked: Arc<Mutex<Vec<String>>>,
    torn: Arc<AtomicBool>,
}

impl Paper {
    fn write(
        &self,
        what: String,
    ) -> Result<std::sync::MutexGuard<'_, Vec<RecoveredCall>>, JournalError> {
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
        self.calls
            .lock()
            .expect("calls")
            .iter()
            .map(|call| call.entry.clone())
            .collect()
    }
}

impl Journal for Paper {
    async fn started(&self, call: &JournalEntry) -> Result<JournalStart, JournalError> {
        let mut calls = self.write(format!("started {}", call.call_id))?;
        calls.push(RecoveredCall::new(call.clone()));
        Ok(JournalStart::Recorded)
    }

    async fn finished(&self, _: &str, id: &str, said: &str) -> Result<(), JournalError> {
        let mut calls = self.write(format!("finished {id}"))?;
        if let Some(call) = calls.iter_mut().rev().find(|call| call.entry.call_id == id) {
            call.response = Some(said.to_owned());
        }
        Ok(())
    }

    async fn recover(&self, session: &str) -> Result<Vec<RecoveredCall>, JournalError> {
        Ok(self.write(format!("recover {session}"))?.clone())
    }

    async fn forget(&self, session: &str) -> Result<(), JournalError> {
        self.write(format!("forget {session}"))?.clear();
        Ok(())
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

    /// Show the receipt as an image, with its number as data.
    #[tool(category = "action")]
    fn receipt(&self) -> ToolOutput {
        self.ran.add();
        ToolOutput::new(7)
            .with_content([Content::text("No. 7"), Content::image("aGk=", "image/png")])
    }

    /// List all that was ever paid.
    #[tool(category = "action", max_output = 200_000)]
    fn list_payments(&self) -> String {
        self.ran.add();
        "x".repeat(100_000)
    }

    /// Pay, if the user agrees.
    #[tool(category = "action", timeout = "30s")]
    async fn pay_if_agreed(&self, ctx: &RunContext) -> Result<u32, ToolError> {
        ctx.ask::<bool>("Pay?").await?;
        Ok(self.ran.add())
    }

    /// Pay, and speak of it in the next turn.
    #[tool(category = "action")]
    fn pay_and_tell(&self, ctx: &RunContext) -> &'static str {
        ctx.emit(Intent::SetPendingMessage("It is paid.".to_owned()));
        "card 4111"
    }

    /// Pay twice.
    #[tool(category = "action")]
    async fn pay_twice(&self, ctx: &RunContext) -> Value {
        let first = ctx.call("pay", json!({"amount": 1})).await;
        let second = ctx.call("pay", json!({"amount": 2})).await;
        json!([
            first.meta().call_id(),
            second.meta().call_id(),
            ctx.idempotency_key()
        ])
    }
}

/// A process with its own runtime and the journal of the process before.
async fn process(bank: &Bank) -> Session {
    let runtime = Runtime::builder(tools![bank.clone()])
        .policy(Policy::text())
        .journal(bank.paper.clone());
    runtime
        .build()
        .expect("a runtime")
        .session("s-1", Mode::Text)
        .await
        .expect("a session")
}

/// Starts a call in a process that is then killed.
async fn killed_while(bank: &Bank, tool: &str) {
    let session = process(bank).await;
    let running = begin(&session, "c1", tool, "{}").await;
    running.abort();
    ms(1).await;
}

async fn pay(session: &Session, id: &str, amount: u32) -> ToolResponse {
    session
        .call(ToolCall::new(id, "pay", json!({"amount": amount})))
        .await
}

#[tokio::test(start_paused = true)]
async fn journal_records_start_and_end_of_a_call() {
    let bank = Bank::default();
    let session = process(&bank).await;
    let seen: Vec<String> = pay(&session, "c1", 5).await.data().expect("paid");
    assert_eq!(seen, ["recover s-1", "started c1"]);
    assert_eq!(
        bank.paper.asked(),
        ["recover s-1", "started c1", "finished c1"]
    );
}

#[tokio::test(start_paused = true)]
async fn recovered_result_has_its_content_parts() {
    let bank = Bank::default();
    for _ in 0..2 {
        let response = process(&bank)
            .await
            .call(ToolCall::new("c1", "receipt", "{}"))
            .await;
        let parts = response.for_model(ResultForm::Plain).content();
        assert_eq!(
            (response.data_json(), parts.map(|parts| parts.len())),
            (Some("7"), Some(2)),
            "{response}"
        );
    }
    assert_eq!(bank.ran.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn journal_records_that_a_result_was_too_large_to_keep() {
    let bank = Bank::default();
    let mut responses = Vec::new();
    for _ in 0..2 {
        let call = ToolCall::new("c1", "list_payments", "{}");
        responses.push(process(&bank).await.call(call).await);
    }
    let kept = &responses[1];
    assert!(kept.is_ok() && responses[0].is_ok());
    assert_eq!((kept.data_json(), bank.ran.get()), (Some("null"), 1));
    let warnings = kept.meta().warnings();
    assert!(warnings[0].contains("too large"), "{warnings:?}");
}

#[tokio::test(start_paused = true)]
async fn journal_records_the_whole_call() {
    let bank = Bank::default();
    let session = process(&bank).await;
    session.next_turn().await;
    session
        .call(ToolCall::new("c1", "pay", r#"{ "amount": 5.0 }"#))
        .await;
    call(&session, "balance", json!({})).await;
    let [paid, looked] = &bank.paper.entries()[..] else {
        panic!("two calls")
    };
    assert_eq!(
        (&*paid.session, &*paid.call_id, &*paid.tool, paid.turn),
        ("s-1", "c1", "pay", 1)
    );
    assert_eq!(
        (&*paid.arguments, paid.idempotency_key.len()),
        (r#"{"amount":5}"#, 32)
    );
    assert!(!paid.harmless && looked.harmless);
}

#[tokio::test(start_paused = true)]
async fn journal_skips_refused_calls() {
    let bank = Bank::default();
    let session = process(&bank).await;
    session.call(ToolCall::new("c1", "pay", "{}")).await;
    session.call(ToolCall::new("c2", "nowhere", "{}")).await;
    assert!(bank.paper.entries().is_empty());
}

// R-E3
#[tokio::test(start_paused = true)]
async fn action_of_a_killed_process_is_unknown() {
    let bank = Bank::default();
    killed_while(&bank, "pay_slowly").await;
    let session = process(&bank).await;
    let response = session.call(ToolCall::new("c1", "pay_slowly", "{}")).await;
    let error = response.error().expect("unknown");
    assert_eq!(
        (error.kind, error.partial_side_effects, error.retryable),
        (ErrorKind::Unknown, true, false)
    );
    assert_eq!((bank.ran.get(), response.meta().call_id()), (1, Some("c1")));
}

async fn outcomes(session: &Session) -> Vec<CallOutcome> {
    let audit = session.audit().await.expect("kept");
    audit.iter().map(|entry| entry.outcome).collect()
}

// R-I1
#[tokio::test(start_paused = true)]
async fn unknown_call_is_not_audited_as_a_refusal() {
    let bank = Bank::default();
    killed_while(&bank, "pay_slowly").await;
    let session = process(&bank).await;
    session.call(ToolCall::new("c1", "pay_slowly", "{}")).await;
    let expected = [CallOutcome::Failed(ErrorKind::Unknown)];
    assert_eq!(outcomes(&session).await, expected);
}

// R-I1
#[tokio::test(start_paused = true)]
async fn lost_call_is_not_audited_as_a_refusal() {
    let session = process(&Bank::default()).await;
    let lost = ToolCall::new("c1", "pay", json!({"amount": 5}));
    session.answer_lost(&lost).await.expect("it has ended");
    let expected = [CallOutcome::Failed(ErrorKind::Unknown)];
    assert_eq!(outcomes(&session).await, expected);
}

// R-B2
#[tokio::test(start_paused = true)]
async fn unknown_call_costs_no_budget() {
    let bank = Bank::default();
    killed_while(&bank, "pay_slowly").await;
    let policy = Policy::text().max_calls(Some(1));
    let runtime = Runtime::builder(tools![bank.clone()])
        .policy(policy)
        .journal(bank.paper.clone())
        .build();
    let session = runtime
        .expect("a runtime")
        .session("s-1", Mode::Text)
        .await
        .expect("a session");
    let unknown = session.call(ToolCall::new("c1", "pay_slowly", "{}")).await;
    assert_eq!(kind(&unknown), Some(ErrorKind::Unknown));
    assert!(pay(&session, "c2", 5).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn journal_separates_equal_calls_by_id() {
    let bank = Bank::default();
    killed_while(&bank, "pay_slowly").await;
    let session = process(&bank).await;
    let again = begin(&session, "c2", "pay_slowly", "{}").await;
    assert_eq!(bank.ran.get(), 2);
    session.cancel("c2");
    assert_eq!(kind(&answer(again).await), Some(ErrorKind::Cancelled));
}

#[tokio::test(start_paused = true)]
async fn idempotent_call_of_a_killed_process_runs_again() {
    let bank = Bank::default();
    killed_while(&bank, "balance").await;
    let session = process(&bank).await;
    assert_eq!(
        session
            .call(ToolCall::new("c1", "balance", "{}"))
            .await
            .data_json(),
        Some("2")
    );
}

#[tokio::test(start_paused = true)]
async fn finished_call_is_answered_from_the_journal() {
    let bank = Bank::default();
    let first = pay(&process(&bank).await, "c1", 5).await;
    let second = pay(&process(&bank).await, "c1", 5).await;
    assert_eq!(
        (second.data_json(), second.meta().call_id()),
        (first.data_json(), Some("c1"))
    );
    assert_eq!(bank.ran.get(), 1);
}

// R-E3
#[tokio::test(start_paused = true)]
async fn action_with_an_unreadable_answer_is_unknown() {
    let bank = Bank::default();
    pay(&process(&bank).await, "c1", 5).await;
    bank.paper.calls.lock().expect("calls")[0].response = Some("scribble".to_owned());
    assert_eq!(
        kind(&pay(&process(&bank).await, "c1", 5).await),
        Some(ErrorKind::Unknown)
    );
    assert_eq!(bank.ran.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn journal_separates_calls_by_arguments() {
    let bank = Bank::default();
    pay(&process(&bank).await, "c1", 5).await;
    assert!(pay(&process(&bank).await, "c1", 6).await.is_ok());
    assert_eq!(bank.ran.get(), 2);
}

#[tokio::test(start_paused = true)]
async fn id_of_the_same_process_runs_again() {
    let bank = Bank::default();
    let session = process(&bank).await;
    assert!(pay(&session, "c1", 5).await.is_ok() && pay(&session, "c1", 5).await.is_ok());
    assert_eq!(bank.ran.get(), 2);
}

// R-B2
#[tokio::test(start_paused = true)]
async fn failing_journal_stops_actions_and_refunds_them() {
    let bank = Bank::default();
    let policy = Policy::text().max_calls(Some(1));
    let runtime = Runtime::builder(tools![bank.clone()])
        .policy(policy)
        .journal(bank.paper.clone())
        .build();
    let session = runtime
        .expect("a runtime")
        .session("s-1", Mode::Text)
        .await
        .expect("a session");
    bank.paper.tear();
    let stopped = pay(&session, "c1", 5).await;
    let error = stopped.error().expect("stopped");
    assert_eq!(
        (error.kind, error.retryable, error.partial_side_effects),
        (ErrorKind::Transient, true, false)
    );
    assert_eq!(bank.ran.get(), 0);
    assert!(call(&session, "balance", json!({})).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn failing_journal_lets_reads_run() {
    let bank = Bank::default();
    let session = process(&bank).await;
    bank.paper.tear();
    assert_eq!(
        call(&session, "balance", json!({})).await.data_json(),
        Some("1")
    );
}

#[tokio::test(start_paused = true)]
async fn unreadable_journal_refuses_the_session() {
    let bank = Bank::default();
    bank.paper.tear();
    let runtime = Runtime::builder(tools![bank.clone()])
        .journal(bank.paper.clone())
        .build()
        .expect("a runtime");
    assert!(runtime.session("s-1", Mode::Text).await.is_err());
}

// R-I3
#[tokio::test(start_paused = true)]
async fn journal_forgets_an_ended_session() {
    let bank = Bank::default();
    let session = process(&bank).await;
    pay(&session, "c1", 5).await;
    session.end().await;
    assert_eq!(
        bank.paper.asked().last().map(String::as_str),
        Some("forget s-1")
    );
    assert!(bank.paper.entries().is_empty());
}

/// Opens the session in a process of its own, over a store that the processes share.
async fn process_over(store: &Arc<MemoryStore>, bank: &Bank) -> Session {
    process_in(Mode::Text, store, bank).await
}

async fn process_in(mode: Mode, store: &Arc<MemoryStore>, bank: &Bank) -> Session {
    let policy = Policy::text().idle_timeout(Duration::from_secs(60));
    let runtime = Runtime::builder(tools![bank.clone()])
        .policy(policy)
        .store(Arc::clone(store))
        .journal(bank.paper.clone());
    let session = runtime.build().expect("a runtime");
    let session = session.session("s-1", mode).await;
    session.expect("a session")
}

/// Returns a session that was idle for too long, after another process has paid in a new one under
/// its id.
async fn replaced_session(store: &Arc<MemoryStore>, bank: &Bank) -> Session {
    let stale = process_over(store, bank).await;
    ms(61_000).await;
    let later = process_over(store, bank).await;
    assert!(pay(&later, "c1", 5).await.is_ok());
    stale
}

// R-I3
#[tokio::test(start_paused = true)]
async fn journal_outlives_the_next_turn_of_a_stale_session() {
    let store = Arc::<MemoryStore>::default();
    let bank = Bank::default();
    let stale = replaced_session(&store, &bank).await;
    assert!(stale.next_turn().await.ended);
    assert_eq!(bank.paper.entries().len(), 1);
}

// R-I3
#[tokio::test(start_paused = true)]
async fn journal_outlives_the_end_of_a_stale_session() {
    let store = Arc::<MemoryStore>::default();
    let bank = Bank::default();
    let stale = replaced_session(&store, &bank).await;
    stale.end().await;
    assert_eq!(bank.paper.entries().len(), 1);
}

// R-I3
#[tokio::test(start_paused = true)]
async fn journal_outlives_a_turn_after_the_end_elsewhere() {
    let store = Arc::<MemoryStore>::default();
    let bank = Bank::default();
    let stale = process_in(Mode::Voice, &store, &bank).await;
    let one = process_in(Mode::Voice, &store, &bank).await;
    let ending = stale.change(&[StateChange::Ending(true)]).await;
    ending.expect("changes");
    assert!(one.next_turn().await.ended);

    let later = process_in(Mode::Voice, &store, &bank).await;
    assert!(pay(&later, "c1", 5).await.is_ok());
    assert!(stale.state().ending, "as this process knows it");
    assert!(stale.next_turn().await.ended);
    assert_eq!(bank.paper.entries().len(), 1);
}

// R-I3
#[tokio::test(start_paused = true)]
async fn journal_forgets_a_session_that_ends_with_its_turn() {
    let bank = Bank::default();
    let session = process(&bank).await;
    pay(&session, "c1", 5).await;
    let ending = session.change(&[StateChange::Ending(true)]).await;
    ending.expect("changes");
    assert!(session.next_turn().await.ended);
    assert!(bank.paper.entries().is_empty());
}

// R-Q3
#[tokio::test(start_paused = true)]
async fn call_that_waits_for_its_user_is_still_running() {
    let bank = Bank::default();
    let journal = SharedJournal::default();
    let asks = |journal: SharedJournal| {
        let runtime = Runtime::builder(tools![bank.clone()]).journal(journal);
        let runtime = runtime.on_question(async |_: Question| {
            ms(200_000).await;
            Ok(Answer::Accepted(json!({"answer": true})))
        });
        runtime.build().expect("a runtime")
    };
    let one = asks(journal.same_process());
    let one = one.session("s-1", Mode::Text).await.expect("a session");
    let other = asks(journal.another_process());
    let other = other.session("s-1", Mode::Text).await.expect("a session");

    let running = begin(&one, "c1", "pay_if_agreed", "{}").await;
    ms(100_000).await;
    let second = other.call(ToolCall::new("c1", "pay_if_agreed", "{}")).await;
    assert_eq!(kind(&second), Some(ErrorKind::Conflict), "{second}");
    assert!(answer(running).await.is_ok());
}

// R-Q3
#[tokio::test(start_paused = true)]
async fn step_counts_the_time_for_questions_once() {
    let bank = Bank::default();
    let runtime = Runtime::builder(tools![bank.clone()])
        .journal(bank.paper.clone())
        .on_question(async |_: Question| Ok(Answer::Accepted(json!({"answer": true}))));
    let runtime = runtime.build().expect("a runtime");
    let session = runtime.session("s-1", Mode::Text).await;
    let session = session.expect("a session");
    let call = ToolCall::new("c1", "pay_if_agreed", "{}");
    let response = session.call_in_step(&PlainSteps::new(), call).await;
    assert!(response.is_ok(), "{response}");

    let limits = bank.paper.entries();
    let limits: Vec<_> = limits.iter().map(|entry| entry.time_limit_ms).collect();
    let [step, call] = limits[..] else {
        panic!("two entries: {limits:?}")
    };
    // The limit of the tool once more, and a minute.
    assert_eq!(step - call, 90_000);
}

// R-B4
#[tokio::test(start_paused = true)]
async fn journal_records_nested_calls_under_their_ids() {
    let bank = Bank::default();
    let session = process(&bank).await;
    let made: Value = session
        .call(ToolCall::new("c1", "pay_twice", "{}"))
        .await
        .data()
        .expect("paid");
    assert_eq!(json!([made[0], made[1]]), json!(["c1.1", "c1.2"]));
    let entries = bank.paper.entries();
    let ids = entries
        .iter()
        .map(|entry| &*entry.call_id)
        .collect::<Vec<_>>();
    assert_eq!(ids, ["c1", "c1.1", "c1.2"]);
    assert_eq!(made[2], json!(entries[0].idempotency_key));
}

/// A journal that looks at the session when a call has ended.
#[derive(Clone, Default)]
struct Witness {
    paper: Paper,
    session: Arc<OnceLock<Session>>,
    seen: Arc<Mutex<Vec<Option<String>>>>,
}

impl Journal for Witness {
    async fn started(&self, call: &JournalEntry) -> Result<JournalStart, JournalError> {
        self.paper.started(call).await
    }

    async fn finished(&self, session: &str, id: &str, said: &str) -> Result<(), JournalError> {
        let open = self.session.get().expect("a session");
        let message = open.state().pending_message.clone();
        self.seen.lock().expect("seen").push(message);
        self.paper.finished(session, id, said).await
    }

    async fn recover(&self, session: &str) -> Result<Vec<RecoveredCall>, JournalError> {
        self.paper.recover(session).await
    }

    async fn forget(&self, session: &str) -> Result<(), JournalError> {
        self.paper.forget(session).await
    }
}

/// Makes the call that emits an intent, and returns what its journal has seen and has of it.
async fn paid_before(witness: &Witness) -> Option<String> {
    let bank = Bank::default();
    let runtime = Runtime::builder(tools![bank])
        .journal(witness.clone())
        .after(async |_: HookedCall<'_>, response: &mut ToolResponse| {
            let text = response.to_string().replace("4111", "****");
            *response = serde_json::from_str(&text).expect("an envelope");
        })
        .build()
        .expect("a runtime");
    let session = runtime.session("s-1", Mode::Text).await;
    let session = session.expect("a session");
    let _ = witness.session.set(session.clone());
    session
        .call(ToolCall::new("c1", "pay_and_tell", "{}"))
        .await;
    let calls = witness.paper.calls.lock().expect("calls");
    calls[0].response.clone()
}

// T14: a process that finds a result carries its intents out no more.
#[tokio::test(start_paused = true)]
async fn result_is_recorded_after_its_intents_are_carried_out() {
    let witness = Witness::default();
    paid_before(&witness).await;
    let seen = witness.seen.lock().expect("seen").clone();
    assert_eq!(seen, [Some("It is paid.".to_owned())]);
}

// T14
#[tokio::test(start_paused = true)]
async fn result_is_recorded_as_the_hooks_have_left_it() {
    let recorded = paid_before(&Witness::default()).await.expect("recorded");
    assert!(recorded.contains("card ****"), "{recorded}");
}

/// Returns a history that ends with a decision on `c1`, which is about to be carried out.
fn decided(decide: impl Fn(String) -> Decision) -> Vec<Message> {
    let call = PendingCall {
        id: "0".repeat(32),
        principal: String::new(),
        agent: String::new(),
        session: "s-1".to_owned(),
        mode: Mode::Text,
        turn: 0,
        version: String::new(),
        settings: String::new(),
        call_id: "c1".to_owned(),
        tool: "pay".to_owned(),
        arguments: r#"{"amount":5}"#.to_owned(),
        expires_at: 0,
        reasons: Vec::new(),
        seal: String::new(),
    };
    let decision = decide("token".to_owned());
    let note = decision_begun_note(&call, &decision, "[decision 0123456789abcdef]");
    vec![Message::user("Pay."), Message::user(note)]
}

/// Returns the only note about a decision whose process was killed.
async fn lost_decision(session: &Session, messages: &[Message]) -> String {
    let notes = session
        .lost_decisions(messages)
        .await
        .expect("no call runs");
    let [note] = &notes[..] else {
        panic!("one note: {notes:?}")
    };
    assert!(note.starts_with("[decision 0123456789abcdef] "), "{note}");
    note.clone()
}

// M34
#[tokio::test(start_paused = true)]
async fn lost_approval_is_answered_from_the_journal() {
    let bank = Bank::default();
    pay(&process(&bank).await, "c1", 5).await;
    let note = lost_decision(&process(&bank).await, &decided(Decision::approve)).await;
    assert!(note.contains("it has run. Its result"), "{note}");
    assert!(note.contains("started c1"), "{note}");
}

// M34
#[tokio::test(start_paused = true)]
async fn lost_approval_of_other_arguments_is_known_to_be_one() {
    let approve = |token| Decision::approve(token).with_arguments(r#"{"amount":7}"#);
    let note = lost_decision(&process(&Bank::default()).await, &decided(approve)).await;
    assert!(note.contains("its outcome is unknown"), "{note}");
}

// M34
#[tokio::test(start_paused = true)]
async fn lost_approval_without_a_journal_entry_is_unknown() {
    let note = lost_decision(
        &process(&Bank::default()).await,
        &decided(Decision::approve),
    )
    .await;
    assert!(note.contains("its outcome is unknown"), "{note}");
}

// M34
#[tokio::test(start_paused = true)]
async fn lost_denial_is_a_denial() {
    let note = lost_decision(&process(&Bank::default()).await, &decided(Decision::deny)).await;
    let expected = "A person has refused it, and it was not run.";
    assert!(note.ends_with(expected), "{note}");
}

// M34
#[tokio::test(start_paused = true)]
async fn decision_with_its_outcome_is_not_lost() {
    let session = process(&Bank::default()).await;
    let mut messages = decided(Decision::approve);
    let outcome = lost_decision(&session, &messages).await;
    messages.push(Message::user(outcome));
    assert_eq!(session.lost_decisions(&messages).await, Ok(Vec::new()));
    // It may be approved again.
    messages.extend(decided(Decision::approve));
    lost_decision(&session, &messages).await;
}

/// Opens the session in a process of a shared journal.
async fn process_of(journal: SharedJournal, bank: &Bank) -> Session {
    let runtime = Runtime::builder(tools![bank.clone()]).journal(journal);
    let runtime = runtime.build().expect("a runtime");
    let session = runtime.session("s-1", Mode::Text).await;
    session.expect("a session")
}

// R-E3
#[tokio::test(start_paused = true)]
async fn lost_call_that_another_process_runs_is_not_answered() {
    let bank = Bank::default();
    let journal = SharedJournal::default();
    let one = process_of(journal.same_process(), &bank).await;
    let other = process_of(journal.another_process(), &bank).await;
    let running = begin(&one, "c1", "pay_slowly", "{}").await;
    let call = ToolCall::new("c1", "pay_slowly", "{}");
    let refused = other.answer_lost(&call).await.expect_err("it runs");
    assert_eq!(refused.kind(), ErrorKind::Conflict);
    running.abort();
}

// R-E3
#[tokio::test(start_paused = true)]
async fn dropped_call_has_ended_for_other_processes() {
    let bank = Bank::default();
    let journal = SharedJournal::default();
    let one = process_of(journal.same_process(), &bank).await;
    let other = process_of(journal.another_process(), &bank).await;
    let running = begin(&one, "c1", "pay_slowly", "{}").await;
    running.abort();
    ms(1).await;
    let call = ToolCall::new("c1", "pay_slowly", "{}");
    let unknown = other.answer_lost(&call).await.expect("it has ended");
    assert_eq!(kind(&unknown), Some(ErrorKind::Unknown), "{unknown}");
    assert!(!one.cancel("c1"));
}

// R-E3
#[tokio::test(start_paused = true)]
async fn dropped_call_is_not_the_end_of_a_later_one() {
    let bank = Bank::default();
    let session = process(&bank).await;
    let running = session.call(ToolCall::new("c1", "pay_slowly", "{}"));
    let dropped = tokio::time::timeout(Duration::from_millis(1), running).await;
    assert!(dropped.is_err());
    let again = pay(&session, "c1", 5).await;
    assert_eq!(kind(&again), Some(ErrorKind::Conflict), "{again}");
    ms(1).await;
    assert!(pay(&session, "c1", 5).await.is_ok());
    assert!(pay(&process(&bank).await, "c1", 5).await.is_ok());
    assert_eq!(bank.ran.get(), 2);
}

// R-E3
#[tokio::test(start_paused = true)]
async fn harmless_call_that_was_dropped_has_no_end() {
    let bank = Bank::default();
    let session = process(&bank).await;
    let running = begin(&session, "c1", "balance", "{}").await;
    running.abort();
    ms(1).await;
    let asked = bank.paper.asked();
    assert_eq!(asked, ["recover s-1", "started c1"]);
}

// R-E3
#[tokio::test(start_paused = true)]
async fn lost_call_that_has_ended_since_has_its_result() {
    let bank = Bank::default();
    let journal = SharedJournal::default();
    let one = process_of(journal.same_process(), &bank).await;
    let other = process_of(journal.another_process(), &bank).await;
    assert!(pay(&one, "c1", 5).await.is_ok());
    let call = ToolCall::new("c1", "pay", json!({"amount": 5}));
    let answer = other.answer_lost(&call).await.expect("it has ended");
    assert!(answer.is_ok(), "{answer}");
}

// R-E3
#[tokio::test(start_paused = true)]
async fn lost_call_is_answered_once() {
    let bank = Bank::default();
    let journal = SharedJournal::default();
    let killed = process_of(journal.same_process(), &bank).await;
    let running = begin(&killed, "c1", "pay_slowly", "{}").await;
    running.abort();
    journal.die();
    let next = process_of(journal.another_process(), &bank).await;
    let call = ToolCall::new("c1", "pay_slowly", "{}");
    let unknown = next.answer_lost(&call).await.expect("it has ended");
    assert_eq!(kind(&unknown), Some(ErrorKind::Unknown));
    let running = begin(&next, "c1", "pay_slowly", "{}").await;
    assert_eq!(bank.ran.get(), 2);
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn lost_calls_are_answered_from_one_list() {
    let bank = Bank::default();
    pay(&process(&bank).await, "c1", 5).await;
    let session = process(&bank).await;
    let answers = async |id: &str| {
        let call = ToolCall::new(id, "pay", json!({"amount": 5}));
        let answer = session.answer_lost(&call).await;
        answer.expect("it has ended").is_ok()
    };
    assert!(!answers("c0").await && answers("c1").await && !answers("c2").await);
    let asked = bank.paper.asked();
    let lists = asked.iter().filter(|asked| *asked == "recover s-1").count();
    assert_eq!(lists, 2, "one for each process: {asked:?}");
    assert!(answers("c1").await, "once more");
}

#[tokio::test(start_paused = true)]
async fn lost_call_of_an_unreadable_journal_says_so() {
    let bank = Bank::default();
    pay(&process(&bank).await, "c1", 5).await;
    let session = process(&bank).await;
    session.forget_lost();
    bank.paper.tear();
    let call = ToolCall::new("c1", "pay", json!({"amount": 5}));
    let error = session.answer_lost(&call).await.expect_err("unreadable");
    assert_eq!(error.kind(), ErrorKind::Conflict);
    let message = error.message();
    assert!(message.contains("the journal cannot be read"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn id_of_a_forgotten_call_runs_again() {
    let bank = Bank::default();
    pay(&process(&bank).await, "c1", 5).await;
    let session = process(&bank).await;
    session.forget_lost();
    assert!(pay(&session, "c1", 5).await.is_ok());
    assert_eq!(bank.ran.get(), 2);
}

/// A process over a journal of one process.
fn runtime_of(bank: &Bank) -> Runtime {
    let runtime = Runtime::builder(tools![bank.clone()]).journal(bank.paper.clone());
    runtime.build().expect("a runtime")
}

// R-I4
#[tokio::test(start_paused = true)]
async fn renewed_session_knows_the_calls_of_a_killed_process() {
    let bank = Bank::default();
    killed_while(&bank, "pay_slowly").await;
    let runtime = runtime_of(&bank);
    let _earlier = open(&runtime, "s-1", Mode::Text).await;
    let renewed = renew(&runtime, "s-1", Mode::Text).await;
    let again = renewed.call(ToolCall::new("c1", "pay_slowly", "{}")).await;
    assert_eq!(kind(&again), Some(ErrorKind::Unknown), "{again}");
    assert_eq!(bank.ran.get(), 1);
}

// R-I4
#[tokio::test(start_paused = true)]
async fn renewed_session_answers_a_lost_call_from_the_journal() {
    let bank = Bank::default();
    pay(&process(&bank).await, "c1", 5).await;
    let runtime = runtime_of(&bank);
    let _earlier = open(&runtime, "s-1", Mode::Text).await;
    let renewed = renew(&runtime, "s-1", Mode::Text).await;
    let call = ToolCall::new("c1", "pay", json!({"amount": 5}));
    let answer = renewed.answer_lost(&call).await.expect("it has ended");
    assert!(answer.is_ok(), "{answer}");
}

// R-I4
#[tokio::test(start_paused = true)]
async fn renewed_session_knows_the_ids_of_running_calls() {
    let bank = Bank::default();
    let runtime = runtime_of(&bank);
    let earlier = open(&runtime, "s-1", Mode::Text).await;
    let running = begin(&earlier, "c1", "pay_slowly", "{}").await;
    let renewed = renew(&runtime, "s-1", Mode::Text).await;
    let second = pay(&renewed, "c1", 5).await;
    assert_eq!(kind(&second), Some(ErrorKind::Conflict), "{second}");
    running.abort();
}

// R-I3, R-I4
#[tokio::test(start_paused = true)]
async fn journal_forgets_a_session_ended_by_an_earlier_handle() {
    let bank = Bank::default();
    let runtime = runtime_of(&bank);
    let earlier = open(&runtime, "s-1", Mode::Text).await;
    let renewed = renew(&runtime, "s-1", Mode::Text).await;
    assert!(pay(&renewed, "c1", 5).await.is_ok());
    earlier.end().await;
    assert!(bank.paper.entries().is_empty());
}
