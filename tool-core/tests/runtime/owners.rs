//! A session belongs to one principal and one agent until it ends, also in its journal.

use crate::support::{Counter, asked, kind, tools};
use serde_json::json;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tool_core::session::{
    Journal, JournalEntry, JournalError, JournalStart, MemoryStore, OpenError, RecoveredCall,
};
use tool_core::{ErrorKind, Intent, Mode, Policy, Runtime, Session, ToolCall, ToolOutput, toolset};

#[derive(Clone, Default)]
struct Bank(Counter);

#[toolset(discover = false)]
impl Bank {
    /// Pay, and tell the number of the payment.
    #[tool(category = "action")]
    fn pay(&self, amount: u32) -> u32 {
        let _ = amount;
        self.0.add()
    }

    /// Leave a message for the next turn.
    #[tool]
    fn remind(&self, of: String) -> ToolOutput {
        ToolOutput::new(()).intent(Intent::SetPendingMessage(of))
    }

    /// Delete everything.
    #[tool(category = "action", confirm)]
    fn delete(&self) -> u32 {
        self.0.add()
    }
}

/// A journal in memory, by session and call id. A clone represents the next process.
#[derive(Clone, Default)]
struct Book(Arc<Mutex<HashMap<String, Vec<RecoveredCall>>>>);

impl Book {
    fn calls(&self, session: &str) -> usize {
        self.0
            .lock()
            .expect("sound")
            .get(session)
            .map_or(0, Vec::len)
    }
}

impl Journal for Book {
    async fn started(&self, call: &JournalEntry) -> Result<JournalStart, JournalError> {
        let recovered = RecoveredCall::new(call.clone());
        self.0
            .lock()
            .expect("sound")
            .entry(call.session.clone())
            .or_default()
            .push(recovered);
        Ok(JournalStart::Recorded)
    }

    async fn finished(&self, session: &str, id: &str, response: &str) -> Result<(), JournalError> {
        let mut book = self.0.lock().expect("sound");
        let call = book
            .get_mut(session)
            .and_then(|calls| calls.iter_mut().rfind(|call| call.entry.call_id == id));
        call.expect("a call that started").response = Some(response.to_owned());
        Ok(())
    }

    async fn recover(&self, session: &str) -> Result<Vec<RecoveredCall>, JournalError> {
        Ok(self
            .0
            .lock()
            .expect("sound")
            .get(session)
            .cloned()
            .unwrap_or_default())
    }

    async fn forget(&self, session: &str) -> Result<(), JournalError> {
        self.0.lock().expect("sound").remove(session);
        Ok(())
    }
}

fn process(bank: &Bank, store: &Arc<MemoryStore>, book: &Book) -> Runtime {
    let runtime = Runtime::builder(tools![bank.clone()])
        .policy(Policy::voice())
        .store(Arc::clone(store));
    runtime
        .journal(book.clone())
        .signing_key([7; 32])
        .build()
        .expect("a runtime")
}

async fn open(runtime: &Runtime, principal: &str) -> Result<Session, OpenError> {
    runtime.session("s", Mode::Voice).principal(principal).await
}

fn pay(id: &str) -> ToolCall {
    ToolCall::new(id, "pay", json!({"amount": 5}))
}

/// Returns 1,000 principals that resemble `ada@example.com`, among them none.
fn strangers() -> impl Iterator<Item = String> {
    (0..1_000_usize).map(|number| match number {
        0 => String::new(),
        1 => "ADA@example.com".to_owned(),
        2 => "ada@example.com ".to_owned(),
        3 => "ada@example.co".to_owned(),
        4 => r#"["s","ada@example.com",""]"#.to_owned(),
        number => format!(
            "ada@example.com{}",
            char::from_u32(u32::try_from(number).expect("small")).unwrap_or('x')
        ),
    })
}

// R-I3, R-C2: a host that opens the session for each request, in one process and in two
#[tokio::test]
async fn no_stranger_opens_a_session_whose_handle_is_gone() {
    let (bank, store, book) = (Bank::default(), Arc::default(), Book::default());
    let (here, there) = (process(&bank, &store, &book), process(&bank, &store, &book));
    let ada = open(&here, "ada@example.com").await.expect("a session");
    ada.call(asked("remind", json!({"of": "ada's secret"})))
        .await;
    let token = ada
        .call(asked("delete", json!({})))
        .await
        .meta()
        .confirmation()
        .expect("a token")
        .token
        .clone();
    drop(ada);
    for stranger in strangers() {
        for runtime in [&here, &there] {
            let refused = open(runtime, &stranger).await.expect_err("ada's session");
            assert_eq!(
                refused,
                OpenError::OtherPrincipal { id: "s".into() },
                "{stranger:?}"
            );
        }
    }
    let ada = open(&there, "ada@example.com").await.expect("her session");
    assert_eq!(ada.state().pending_message.as_deref(), Some("ada's secret"));
    assert!(ada.approve(&token).await.is_ok());
    assert_eq!(bank.0.get(), 1);
}

// R-I3: what a principal left in the journal is not another's, though the id and the call are the same
#[tokio::test]
async fn no_stranger_recovers_or_removes_journaled_calls() {
    let (bank, book) = (Bank::default(), Book::default());
    let dead = process(&bank, &Arc::default(), &book);
    let ada = open(&dead, "ada@example.com").await.expect("a session");
    assert_eq!(ada.call(pay("c-1")).await.data_json(), Some("1"));
    for (number, stranger) in strangers().enumerate() {
        let next = process(&bank, &Arc::default(), &book);
        let session = open(&next, &stranger)
            .await
            .expect("the id is free in the next process");
        let paid = session.call(pay("c-1")).await;
        assert_eq!(
            paid.data_json(),
            Some((number + 2).to_string().as_str()),
            "{stranger:?} pays"
        );
        session.end().await;
    }
    let next = process(&bank, &Arc::default(), &book);
    let again = open(&next, "ada@example.com")
        .await
        .expect("a session")
        .call(pay("c-1"))
        .await;
    assert_eq!(
        (again.data_json(), bank.0.get()),
        (Some("1"), 1_001),
        "her call is answered from the journal"
    );
}

// R-I3
#[tokio::test(start_paused = true)]
async fn late_end_keeps_the_journal_of_the_next_session() {
    let (bank, store, book) = (Bank::default(), Arc::default(), Book::default());
    let runtime = process(&bank, &store, &book);
    let late = open(&runtime, "").await.expect("a session");
    tokio::time::advance(std::time::Duration::from_secs(3_600)).await;
    let next = open(&runtime, "").await.expect("it has expired");
    assert!(next.call(pay("c-1")).await.is_ok());
    late.end().await;
    assert_eq!(
        kind(&late.call(pay("c-2")).await),
        Some(ErrorKind::SessionInactive)
    );
    assert_eq!(book.calls("s"), 1);
    next.end().await;
    assert_eq!(book.calls("s"), 0);
}
