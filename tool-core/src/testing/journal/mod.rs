//! The conformance tests of a journal.
//!
//! To test a [`Journal`], implement [`JournalUnderTest`] and generate the tests with
//! [`journal_conformance!`](crate::journal_conformance), and with
//! [`shared_journal_conformance!`](crate::shared_journal_conformance) if processes share it:
//!
//! ```
//! use tool_core::session::{Journal, JournalEntry, JournalError, JournalStart, RecoveredCall};
//! use tool_core::testing::journal::{JournalUnderTest, LEASE};
//!
//! /// A client of your database.
//! #[derive(Clone)]
//! struct CallTable;
//! # impl Journal for CallTable {
//! #     async fn started(&self, _: &JournalEntry) -> Result<JournalStart, JournalError> { Ok(JournalStart::Recorded) }
//! #     async fn finished(&self, _: &str, _: &str, _: &str) -> Result<(), JournalError> { Ok(()) }
//! #     async fn recover(&self, _: &str) -> Result<Vec<RecoveredCall>, JournalError> { Ok(Vec::new()) }
//! #     async fn forget(&self, _: &str) -> Result<(), JournalError> { Ok(()) }
//! # }
//!
//! /// A database for one test.
//! struct Database;
//!
//! impl JournalUnderTest for Database {
//!     type Journal = CallTable;
//!
//!     async fn process(&self) -> CallTable {
//!         CallTable // with the lease `LEASE`
//!     }
//!
//!     async fn kill(&self, journal: CallTable) {
//!         drop(journal); // it gives no more signs of life
//!         tokio::time::sleep(2 * LEASE).await;
//!     }
//! }
//!
//! mod call_table {
//!     # use super::*;
//!     tool_core::journal_conformance!(Some(Database));
//!     tool_core::shared_journal_conformance!(Some(Database));
//! }
//! # fn main() {}
//! ```
#![allow(clippy::missing_panics_doc)]

mod conformance;
pub mod recovery;
pub mod sharing;

#[cfg(test)]
mod tests;

use crate::schema::timestamp::Timestamp;
use crate::session::journal::{Journal, JournalEntry, JournalStart};
use std::time::Duration;

/// The lease of a process under test, for journals that have leases.
pub const LEASE: Duration = Duration::from_millis(400);

/// A journal under test, which no other test uses. It begins without calls.
pub trait JournalUnderTest: Send + Sync {
    /// The journal.
    type Journal: Journal;

    /// Opens the journal as another process does. If it belongs to one process, the one before was
    /// killed.
    fn process(&self) -> impl Future<Output = Self::Journal> + Send;

    /// Ends a process as a kill does, and waits until others notice.
    fn kill(&self, journal: Self::Journal) -> impl Future<Output = ()> + Send;
}

/// Returns the entry of an action that starts now and may run for an hour.
pub fn action(session: &str, call_id: &str) -> JournalEntry {
    JournalEntry {
        session: session.to_owned(),
        call_id: call_id.to_owned(),
        tool: "create_event".to_owned(),
        arguments: r#"{"title":"Review \u0000 / ü","exact":123456789012345678901234567890}"#
            .to_owned(),
        turn: 3,
        idempotency_key: format!("{session}-{call_id}"),
        started_at: Timestamp(jiff::Timestamp::now()),
        harmless: false,
        time_limit_ms: 3_600_000,
        replaces: None,
        approval: None,
        seal: Some("5ea1".repeat(16)),
    }
}

/// A call as [`recovered`] returns it.
#[derive(Debug, PartialEq)]
pub struct FoundCall {
    /// The call's id.
    pub call_id: String,
    /// The response, if the end was recorded.
    pub response: Option<String>,
}

/// Returns a call as [`recovered`] does.
pub fn found(call_id: &str, response: Option<&str>) -> FoundCall {
    FoundCall {
        call_id: call_id.to_owned(),
        response: response.map(str::to_owned),
    }
}

/// Returns what a process recovers of a session.
pub async fn recovered(journal: &impl Journal, session: &str) -> Vec<FoundCall> {
    let calls = journal.recover(session).await.expect("the calls are read");
    let found = calls.into_iter().map(|call| FoundCall {
        call_id: call.entry.call_id,
        response: call.response,
    });
    found.collect()
}

/// Records the start of a call that no other process has recorded.
pub async fn start(journal: &impl Journal, call: &JournalEntry) {
    let started = journal.started(call).await.expect("the start is recorded");
    assert_eq!(started, JournalStart::Recorded, "{call:?}");
}

/// Records the end of a call.
pub async fn finish(journal: &impl Journal, call: &JournalEntry, response: &str) {
    let finished = journal.finished(&call.session, &call.call_id, response);
    finished.await.expect("the end is recorded");
}
