//! Journals that hang or panic, and answers from journals.

use crate::support::{Counter, asked, kind, tools};
use crate::support_b::{answer, begin, ms};
use serde_json::json;
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{Instant, timeout};
use tool_core::session::{
    Journal, JournalEntry, JournalError, JournalStart, RecoveredCall, StateChange,
};
use tool_core::{
    ErrorKind, Intent, Mode, Policy, Runtime, Session, ToolCall, ToolOutput, ToolResponse, toolset,
};

const STORE: Duration = Duration::from_millis(500);

/// The faults of a journal.
#[derive(Clone, Copy, Default, PartialEq)]
enum Does {
    #[default]
    Nothing,
    HangsAtEnds,
    HangsAtRecovery,
    HangsAtForgetting,
    TakesTimeToForget,
    PanicsOver(&'static str),
    PanicsLaterOver(&'static str),
}

/// A journal in memory. A clone represents the next process.
#[derive(Clone, Default)]
struct Book {
    calls: Arc<Mutex<Vec<RecoveredCall>>>,
    does: Does,
}

impl Journal for Book {
    fn started(
        &self,
        call: &JournalEntry,
    ) -> impl Future<Output = Result<JournalStart, JournalError>> + Send {
        assert!(
            self.does != Does::PanicsOver("c2") || call.call_id != "c2",
            "on purpose"
        );
        async move {
            assert!(
                self.does != Does::PanicsLaterOver("c2") || call.call_id != "c2",
                "on purpose"
            );
            self.calls
                .lock()
                .expect("calls")
                .push(RecoveredCall::new(call.clone()));
            Ok(JournalStart::Recorded)
        }
    }

    async fn finished(&self, _: &str, id: &str, response: &str) -> Result<(), JournalError> {
        if self.does == Does::HangsAtEnds {
            pending::<()>().await;
        }
        let mut calls = self.calls.lock().expect("calls");
        if let Some(call) = calls.iter_mut().rev().find(|call| call.entry.call_id == id) {
            call.response = Some(response.to_owned());
        }
        Ok(())
    }

    async fn recover(&self, _: &str) -> Result<Vec<RecoveredCall>, JournalError> {
        if self.does == Does::HangsAtRecovery {
            pending::<()>().await;
        }
        Ok(self.calls.lock().expect("calls").clone())
    }

    async fn forget(&self, _: &str) -> Result<(), JournalError> {
        if self.does == Does::HangsAtForgetting {
            pending::<()>().await;
        }
        if self.does == Does::TakesTimeToForget {
            ms(100).await;
            self.calls.lock().expect("calls").clear();
        }
        Ok(())
    }
}

#[derive(Clone, Default)]
struct Bank(Counter);

#[toolset(discover = false)]
impl Bank {
    /// Pay, in silence.
    #[tool(category = "action")]
    fn pay(&self, amount: u32) -> ToolOutput {
        self.0.add();
        ToolOutput::new(amount).intent(Intent::SuppressAudio)
    }

    /// Read the balance, in silence.
    #[tool(category = "retrieval")]
    fn balance(&self) -> ToolOutput {
        ToolOutput::new(self.0.add()).intent(Intent::SuppressAudio)
    }

    /// Pay, but not at once.
    #[tool(category = "action")]
    async fn pay_later(&self, amount: u32) -> u32 {
        self.0.add();
        ms(100).await;
        amount
    }
}

fn runtime(book: &Book, runs: &Counter) -> Runtime {
    let policy = Policy::text()
        .store_deadline(STORE)
        .deadline(Duration::from_secs(2));
    let runtime = Runtime::builder(tools![Bank(runs.clone())])
        .policy(policy)
        .journal(book.clone());
    runtime.build().expect("a runtime")
}

async fn process(book: &Book, runs: &Counter) -> Session {
    runtime(book, runs)
        .session("s", Mode::Voice)
        .await
        .expect("a session")
}

fn pay(id: &str) -> ToolCall {
    ToolCall::new(id, "pay", json!({"amount": 5}))
}

// L22
#[tokio::test(start_paused = true)]
async fn second_call_under_a_running_id_is_a_conflict() {
    let (book, runs) = <(Book, Counter)>::default();
    let session = process(&book, &runs).await;
    let first = begin(&session, "c", "pay_later", r#"{"amount":1}"#).await;
    let second = session
        .call(ToolCall::new("c", "pay_later", r#"{"amount":2}"#))
        .await;
    assert_eq!((kind(&second), runs.get()), (Some(ErrorKind::Conflict), 1));
    assert_eq!(answer(first).await.data_json(), Some("1"));
    let third = session
        .call(ToolCall::new("c", "pay_later", r#"{"amount":2}"#))
        .await;
    assert_eq!(
        third.data_json(),
        Some("2"),
        "nothing runs under the id any more"
    );
}

#[tokio::test]
async fn answer_of_an_earlier_process_is_returned_once() {
    let (book, runs) = <(Book, Counter)>::default();
    process(&book, &runs).await.call(pay("c")).await;
    let session = process(&book, &runs).await;
    assert_eq!(
        (session.call(pay("c")).await.data_json(), runs.get()),
        (Some("5"), 1)
    );
    assert_eq!(
        (session.call(pay("c")).await.data_json(), runs.get()),
        (Some("5"), 2)
    );
}

// R-I1
#[tokio::test]
async fn intents_of_a_journalled_answer_are_not_repeated() {
    let (book, runs) = <(Book, Counter)>::default();
    let earlier = process(&book, &runs).await;
    earlier.call(pay("c")).await;
    assert!(earlier.state().audio_suppressed);
    let session = process(&book, &runs).await;
    let response = session.call(pay("c")).await;
    assert_eq!((response.is_ok(), runs.get()), (true, 1));
    assert!(
        response.intents().is_empty()
            && session.intents().await.expect("the log").is_empty()
            && !session.state().audio_suppressed
    );
}

// R-I1
#[tokio::test]
async fn intents_of_a_reused_result_are_not_repeated() {
    let policy = Policy::text().result_cache_ttl(Some(Duration::from_secs(100)));
    let runtime = Runtime::builder(tools![Bank::default()])
        .policy(policy)
        .build()
        .expect("a runtime");
    let session = runtime.session("s", Mode::Voice).await.expect("a session");
    session.call(asked("balance", json!({}))).await;
    session
        .change(&[StateChange::AudioSuppressed(false)])
        .await
        .expect("a change");
    let reused = session.call(asked("balance", json!({}))).await;
    assert_eq!(reused.data_json(), Some("1"));
    assert_eq!(
        (
            session.state().audio_suppressed,
            session.intents().await.expect("the log").len()
        ),
        (false, 1)
    );
}

// L22
#[tokio::test]
async fn journal_panic_affects_one_call_of_a_step() {
    for does in [Does::PanicsOver("c2"), Does::PanicsLaterOver("c2")] {
        let (book, runs) = (
            Book {
                does,
                ..Book::default()
            },
            Counter::default(),
        );
        let session = process(&book, &runs).await;
        let calls = (1..4_u32).map(|n| ToolCall::new(format!("c{n}"), "pay", json!({"amount": n})));
        let kinds = session
            .call_all(calls)
            .await
            .iter()
            .map(kind)
            .collect::<Vec<_>>();
        assert_eq!(
            (kinds, runs.get()),
            (vec![None, Some(ErrorKind::Internal), None], 2)
        );
    }
}

// R-B5
#[tokio::test(start_paused = true)]
async fn call_is_answered_if_the_journal_hangs() {
    let (book, runs) = (
        Book {
            does: Does::HangsAtEnds,
            ..Book::default()
        },
        Counter::default(),
    );
    let session = process(&book, &runs).await;
    let response = timeout(Duration::from_secs(3), session.call(pay("c"))).await;
    assert_eq!(
        response.as_ref().ok().and_then(ToolResponse::data_json),
        Some("5")
    );
}

#[tokio::test(start_paused = true)]
async fn session_opening_times_out_on_a_hanging_journal() {
    let (book, runs) = (
        Book {
            does: Does::HangsAtRecovery,
            ..Book::default()
        },
        Counter::default(),
    );
    let runtime = runtime(&book, &runs);
    let began = Instant::now();
    assert!(runtime.session("s", Mode::Text).await.is_err());
    assert!(began.elapsed() <= 2 * STORE, "{:?}", began.elapsed());
}

// R-I3
#[tokio::test(start_paused = true)]
async fn session_ends_if_the_journal_keeps_it() {
    let (book, runs) = (
        Book {
            does: Does::HangsAtForgetting,
            ..Book::default()
        },
        Counter::default(),
    );
    let session = process(&book, &runs).await;
    timeout(2 * STORE, session.end())
        .await
        .expect("the session ends");
    assert!(session.state().ended);
}

/// Opens a session with a call in a journal that takes 100 ms to forget it.
async fn slowly_forgotten() -> (Book, Session) {
    let book = Book {
        does: Does::TakesTimeToForget,
        ..Book::default()
    };
    let session = process(&book, &Counter::default()).await;
    assert!(session.call(pay("c")).await.is_ok());
    (book, session)
}

// R-I3
#[tokio::test(start_paused = true)]
async fn end_is_carried_out_without_its_caller() {
    let (book, session) = slowly_forgotten().await;
    let ended = timeout(Duration::from_millis(1), session.end()).await;
    assert!(ended.is_err());
    ms(200).await;
    assert!(book.calls.lock().expect("calls").is_empty());
}

// R-I3
#[tokio::test(start_paused = true)]
async fn end_with_the_turn_is_carried_out_without_its_caller() {
    let (book, session) = slowly_forgotten().await;
    let ending = session.change(&[StateChange::Ending(true)]).await;
    ending.expect("changes");
    let ended = timeout(Duration::from_millis(1), session.next_turn()).await;
    assert!(ended.is_err());
    ms(200).await;
    assert!(book.calls.lock().expect("calls").is_empty());
}
