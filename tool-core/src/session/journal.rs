//! A journal of calls, so that a process that was killed leaves word of what it had begun.

use crate::schema::timestamp::Timestamp;
use crate::session::store::Operation;
use crate::trace::redaction::Redaction;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Where calls are written down before they run and when they have ended.
///
/// A runtime without one forgets, when it is killed, which calls were running. With one, a call that an earlier process
/// started and did not finish is answered UNKNOWN when the same call id comes again, and an action is never run again by
/// itself.
///
/// What may be lost is never what keeps an action from running twice: a call whose start is lost was not run yet, and one
/// whose end is lost is UNKNOWN. So only [`started`](Self::started) has to outlive the process when it is done, and only
/// for calls that are not [`harmless`](JournalEntry::harmless).
///
/// A journal is one process's: what others write down at the same time, it need not see.
pub trait Journal: Send + Sync + 'static {
    /// Writes down that a call is about to run. Done when it would survive the process, except for a harmless call.
    ///
    /// The same call id again in one process takes the place of the earlier call, and of how that ended. An error means
    /// that the call must not run, if it is not harmless.
    fn started<'a>(&'a self, call: &'a JournalEntry) -> Operation<'a, Result<(), JournalError>>;

    /// Writes down how it ended: the envelope's JSON. A call that is not written down, because its session has been
    /// forgotten, is left so.
    ///
    /// An error changes nothing about the call: it has run, and its response is the model's to have.
    fn finished<'a>(
        &'a self,
        session: &'a str,
        call_id: &'a str,
        response: &'a str,
    ) -> Operation<'a, Result<(), JournalError>>;

    /// The calls of a session that earlier processes wrote down, in the order in which they started; those of this
    /// process are not among them. Two processes may have used the same call id: the later one comes later.
    ///
    /// An error means that nobody knows what was begun.
    fn recover<'a>(&'a self, session: &'a str) -> Operation<'a, Result<Vec<Recovered>, JournalError>>;

    /// Forgets a session that has ended: what this process wrote down of it, and what earlier ones did.
    fn forget<'a>(&'a self, session: &'a str) -> Operation<'a, Result<(), JournalError>>;
}

/// A call that is about to run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JournalEntry {
    /// The session's id.
    pub session: String,
    /// The id that the model gave the call.
    pub call_id: String,
    /// The tool's name.
    pub tool: String,
    /// The arguments in canonical form.
    pub arguments: String,
    /// The number of the turn.
    pub turn: u64,
    /// The key that every attempt at the same call shares.
    pub idempotency_key: String,
    /// When.
    pub started_at: Timestamp,
    /// Whether running it again does no harm: it reads, or is idempotent.
    pub harmless: bool,
}

/// A call that an earlier process wrote down.
#[derive(Clone, Debug, PartialEq)]
pub struct Recovered {
    /// The call.
    pub entry: JournalEntry,
    /// The envelope's JSON; `None` where nobody knows what came of it.
    pub response: Option<String>,
}

/// A journal that cannot be written or read. The text goes to the log, never to the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalError(String);

impl JournalError {
    /// An error with what happened, and no secrets.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the journal failed: {}", Redaction::new().text(&self.0))
    }
}

impl std::error::Error for JournalError {}
