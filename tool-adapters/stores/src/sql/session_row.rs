//! The row of a session, which an operation locks, changes and writes.

use crate::kept_values::{from_json, milliseconds, to_json};
use crate::sql::values::{stored_id, text, unsigned};
use crate::sql::{Param, SqlDatabase, SqlRow, SqlTransaction, number};
use std::sync::Arc;
use tokio::sync::Mutex;
use tool_core::session::{OpenRequest, SessionCall, StoreError, StoredSession};
use tool_core::time::whole_milliseconds;

/// Held while a task of this process forgets rows.
pub(crate) type ForgetLock = Arc<Mutex<()>>;

/// The statements that only one kind of database understands.
pub(crate) trait SessionDatabase: SqlDatabase {
    /// Reads a session as [`SESSION`] does, and locks its row.
    const LOCK_SESSION: &'static str;
    /// Lets one transaction at a time open sessions, if transactions can run side by side.
    const LOCK_OPENINGS: Option<&'static str>;
    /// Each forgets some rows that are over, and returns one row for each of them.
    const FORGET: [&'static str; 5];

    /// Returns the lock of the task that forgets rows.
    fn forget_lock(&self) -> &ForgetLock;
}

/// Reads a session. Parameter: its id. Columns: see [`SessionRow::read`].
pub(crate) const SESSION: &str = include_str!("session.sql");

const WRITE: &str = include_str!("write_session.sql");

const INSERT: &str = include_str!("insert_session.sql");

const CALLS: &str = "SELECT call FROM tool_session_calls \
    WHERE session = $1 AND EXISTS ( \
        SELECT 1 FROM tool_sessions \
        WHERE id = $1 AND incarnation = coalesce($2, incarnation) \
            AND calls_until > (SELECT now FROM tool_session_clock) \
    ) ORDER BY number";

/// A session and what the database keeps beside it.
pub(crate) struct SessionRow {
    pub(crate) incarnation: String,
    pub(crate) session: StoredSession,
    /// The entries that the audit log has had.
    pub(crate) entries: u64,
    /// The calls that were kept.
    pub(crate) calls: u64,
    /// The bytes of those that still are.
    pub(crate) call_bytes: u64,
    idle_time: u64,
    keep_time: u64,
    expires_at: u64,
    calls_until: u64,
    /// The time at which the row was read.
    pub(crate) now: u64,
}

impl SessionRow {
    pub(crate) fn read(row: &impl SqlRow) -> Result<Self, StoreError> {
        Ok(Self {
            incarnation: row.text(0)?,
            session: from_json(&row.text(1)?)?,
            entries: unsigned(row, 2)?,
            calls: unsigned(row, 3)?,
            call_bytes: unsigned(row, 4)?,
            idle_time: unsigned(row, 5)?,
            keep_time: unsigned(row, 6)?,
            expires_at: unsigned(row, 7)?,
            calls_until: unsigned(row, 8)?,
            now: unsigned(row, 9)?,
        })
    }

    /// Creates the row of a new session.
    pub(crate) fn new(request: &OpenRequest, incarnation: u128, now: u64) -> Self {
        let keep_time = whole_milliseconds(request.keep_calls_for);
        let mut row = Self {
            incarnation: incarnation_text(incarnation),
            session: StoredSession::new(request, incarnation),
            entries: 0,
            calls: 0,
            call_bytes: 0,
            idle_time: milliseconds(request.idle_timeout),
            keep_time: keep_time.min(milliseconds(request.keep_calls_for)),
            expires_at: 0,
            calls_until: 0,
            now,
        };
        row.touch();
        row
    }

    /// Adds the row to the table.
    pub(crate) async fn insert(
        &self,
        transaction: &mut impl SqlTransaction,
        id: &str,
    ) -> Result<(), StoreError> {
        let session = to_json(&self.session)?;
        let principal = stored_id(self.session.principal());
        let params = [
            text(id),
            text(&self.incarnation),
            text(&principal),
            text(&session),
            number(self.idle_time),
            number(self.keep_time),
            number(self.expires_at),
            number(self.calls_until),
        ];
        transaction.run(INSERT, &params).await?;
        Ok(())
    }

    /// Returns true if the session has neither ended nor expired.
    pub(crate) fn is_live(&self) -> bool {
        !self.session.is_over() && self.expires_at > self.now
    }

    /// Begins the idle time again.
    pub(crate) fn touch(&mut self) {
        self.expires_at = self.now.saturating_add(self.idle_time);
        self.calls_until = self.expires_at.saturating_add(self.keep_time);
    }

    /// Keeps the calls for the time after the session's end.
    pub(crate) fn finish(&mut self) {
        self.expires_at = 0;
        self.calls_until = self.now.saturating_add(self.keep_time);
    }

    /// Writes the row, which the transaction has locked.
    pub(crate) async fn write(
        &self,
        transaction: &mut impl SqlTransaction,
        id: &str,
    ) -> Result<(), StoreError> {
        let session = to_json(&self.session)?;
        let params = [
            text(id),
            text(&session),
            number(self.entries),
            number(self.calls),
            number(self.call_bytes),
            number(self.expires_at),
            number(self.calls_until),
        ];
        transaction.run(WRITE, &params).await?;
        Ok(())
    }
}

/// Reads a session and locks its row.
pub(crate) async fn lock_session<D: SessionDatabase>(
    transaction: &mut D::Transaction,
    id: &str,
) -> Result<Option<SessionRow>, StoreError> {
    let rows = transaction.run(D::LOCK_SESSION, &[text(id)]).await?;
    rows.first().map(SessionRow::read).transpose()
}

/// Reads the calls that are kept of the session of an id, or of one incarnation only.
pub(crate) async fn kept_calls<D: SessionDatabase>(
    database: &D,
    id: &str,
    incarnation: Option<&str>,
) -> Result<Vec<SessionCall>, StoreError> {
    let params = [text(id), Param::Text(incarnation)];
    let rows = database.select(CALLS, &params).await?;
    rows.iter().map(|row| from_json(&row.text(0)?)).collect()
}

/// Returns the incarnation as the database has it.
pub(crate) fn incarnation_text(incarnation: u128) -> String {
    format!("{incarnation:032x}")
}
