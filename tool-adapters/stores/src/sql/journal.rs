//! The journal in an SQL database, which processes share. A statement or a transaction decides which
//! of two processes runs a call. Times are those of the database's clock.

use crate::journal_keys::{JournalOptions, digest, journal_error};
use crate::sign_of_life::SignOfLife;
use crate::sql::values::{readable, text, to_json, unsigned};
use crate::sql::{
    Param, SqlDatabase, SqlError, SqlRow, SqlStore, SqlTransaction, milliseconds, number,
};
use std::fmt;
use std::time::Duration;
use tool_core::serde_json;
use tool_core::session::{
    Journal, JournalEntry, JournalError, JournalStart, RecoveredCall, StoreError,
};

/// The statement that only one kind of database understands.
pub(crate) trait JournalDatabase: SqlDatabase {
    /// Reads a call as [`CALL`] does, and locks its row.
    const LOCK_CALL: &'static str;
}

/// Reads a call. Parameters: the digests of session and call. Columns: see [`CallRow::read`].
pub(crate) const CALL: &str = include_str!("journal_call.sql");

const INSERT: &str = include_str!("insert_journal_call.sql");

const CALLS: &str = include_str!("journal_calls.sql");

const FINISH: &str =
    "UPDATE tool_journal_calls SET response = $4 WHERE session = $1 AND call = $2 AND process = $3";

const REMOVE: &str = "DELETE FROM tool_journal_calls WHERE number = $1";

const FORGET: &str = "DELETE FROM tool_journal_calls WHERE session = $1";

const PRUNE: &str = include_str!("prune_journal.sql");

const BEAT: &str = "INSERT INTO tool_journal_processes (id, alive_until) \
    SELECT $1, now + $2 FROM tool_journal_clock WHERE true \
    ON CONFLICT (id) DO UPDATE SET alive_until = excluded.alive_until";

const BURY: &str = "DELETE FROM tool_journal_processes WHERE alive_until < (SELECT now FROM tool_journal_clock) - $1";

/// The [`Journal`] in the database of an [`SqlStore`], which all processes with the database share:
/// [`SqlStore::journal`] creates it.
///
/// A call that another process has started is not started again. While that process lives, the call
/// is a `CONFLICT`; once it has ended, the call gets the response that was recorded, or is `UNKNOWN`
/// if its tool may have changed something.
///
/// The journal keeps arguments and responses as they are, for 7 days by default. Give the runtime a
/// [signing key](tool_core::session::RuntimeBuilder::signing_key), so that no response is read from a
/// row that someone has changed.
pub struct SqlJournal<D> {
    database: D,
    options: JournalOptions,
    sign_of_life: SignOfLife,
}

#[allow(private_bounds)] // only this crate implements the trait
impl<D: JournalDatabase> SqlStore<D> {
    /// Creates the journal of this process in the store's database.
    ///
    /// ```
    /// use tool_adapters::stores::SqliteStore;
    /// use tool_core::{Runtime, ToolContext};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = SqliteStore::open_in_memory().await?;
    /// let journal = store.journal();
    /// let runtime = Runtime::builder(ToolContext::builder().build()?)
    ///     .store(store)
    ///     .journal(journal)
    ///     .signing_key([7; 32]) // 32 random bytes that you keep with your secrets
    ///     .build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn journal(&self) -> SqlJournal<D> {
        SqlJournal {
            database: self.0.clone(),
            options: JournalOptions::default(),
            sign_of_life: SignOfLife::default(),
        }
    }
}

#[allow(private_bounds)] // only this crate implements the trait
impl<D: JournalDatabase> SqlJournal<D> {
    /// Sets the time after which other processes count this one as killed, if it gives no sign of
    /// life. It gives one three times as often. Defaults to 10 s, and is at least 100 ms.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.options.set_lease(lease);
        self
    }

    /// Sets the age at which calls are removed. Defaults to 7 days.
    #[must_use]
    pub fn keep(mut self, keep: Duration) -> Self {
        self.options.keep = keep;
        self
    }

    /// Tells other processes that this one lives, now and until the journal is dropped.
    async fn show_life(&self) -> Result<(), JournalError> {
        let database = self.database.clone();
        let options = self.options.clone();
        let beat = move || beat(database.clone(), options.clone());
        self.sign_of_life.give(self.options.lease, beat).await
    }

    /// Records a call whose id the journal may have already.
    async fn start_again(
        &self,
        call: &JournalEntry,
        insert: &[Param<'_>],
    ) -> Result<JournalStart, StoreError> {
        let mut transaction = self.database.begin().await?;
        let id = [text_of(insert, 0), text_of(insert, 1)];
        let rows = transaction.run(D::LOCK_CALL, &id).await?;
        if let Some(row) = rows.first() {
            let row = CallRow::read(row)?;
            let is_own = row.process == self.options.process;
            if !is_own && call.replaces != Some(row.number) {
                return row.into_start();
            }
            transaction.run(REMOVE, &[number(row.number)]).await?;
        }
        let inserted = transaction.run(INSERT, insert).await?;
        transaction.commit().await?;

        // Another process has inserted the call, which no lock of a missing row prevents.
        if inserted.is_empty() {
            return Ok(JournalStart::Running);
        }
        Ok(JournalStart::Recorded)
    }

    async fn start(&self, call: &JournalEntry) -> Result<JournalStart, StoreError> {
        let session = digest(&call.session);
        let id = digest(&call.call_id);
        let entry = to_json(call)?;
        let insert = [
            text(&session),
            text(&id),
            text(&self.options.process),
            milliseconds(Duration::from_millis(call.time_limit_ms)),
            text(&entry),
        ];
        let inserted = self.database.change(INSERT, &insert).await?;
        if !inserted.is_empty() {
            return Ok(JournalStart::Recorded);
        }
        self.start_again(call, &insert).await
    }

    async fn find_call(&self, session: &str, id: &str) -> Result<Option<JournalStart>, StoreError> {
        let session = digest(session);
        let id = digest(id);
        let rows = self
            .database
            .select(CALL, &[text(&session), text(&id)])
            .await?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let row = CallRow::read(row)?;
        if row.process == self.options.process {
            return Ok(None);
        }
        row.into_start().map(Some)
    }

    async fn calls_of_others(&self, session: &str) -> Result<Vec<RecoveredCall>, StoreError> {
        let session = digest(session);
        let params = [text(&session), text(&self.options.process)];
        let rows = self.database.select(CALLS, &params).await?;
        let mut calls = Vec::with_capacity(rows.len());
        for row in &rows {
            // The call of a row that is left out does not run: its start finds the row again.
            let Some(entry) = readable(&row.text(1)?, "an entry of the journal") else {
                continue;
            };
            calls.push(RecoveredCall {
                entry,
                response: row.optional_text(2).map_err(SqlError::from)?,
                number: unsigned(row, 0)?,
            });
        }
        Ok(calls)
    }
}

/// Returns a parameter of a list, which is long enough.
fn text_of<'a>(params: &[Param<'a>], index: usize) -> Param<'a> {
    params.get(index).copied().unwrap_or(Param::Text(None))
}

/// Tells other processes that this one lives, and removes what is old.
async fn beat<D: SqlDatabase>(database: D, options: JournalOptions) -> Result<(), JournalError> {
    let process = [text(&options.process), milliseconds(options.lease)];
    let beaten = database.change(BEAT, &process).await;
    beaten.map_err(|error| journal_error(error.into()))?;

    let keep = [milliseconds(options.keep)];
    for removal in [PRUNE, BURY] {
        if let Err(error) = database.change(removal, &keep).await {
            tracing::warn!(%error, "failed to remove old rows of the journal");
        }
    }
    Ok(())
}

/// A call as the table has it.
struct CallRow {
    process: String,
    number: u64,
    entry: String,
    response: Option<String>,
    is_running: bool,
}

impl CallRow {
    fn read(row: &impl SqlRow) -> Result<Self, StoreError> {
        Ok(Self {
            process: row.text(0)?,
            number: unsigned(row, 1)?,
            entry: row.text(2)?,
            response: row.optional_text(3).map_err(SqlError::from)?,
            is_running: unsigned(row, 4)? == 1,
        })
    }

    /// Returns what another process's call is to one with its id.
    fn into_start(self) -> Result<JournalStart, StoreError> {
        if self.is_running {
            return Ok(JournalStart::Running);
        }
        let entry = serde_json::from_str(&self.entry)
            .map_err(|_| StoreError::new("the database holds an invalid entry of the journal"))?;
        Ok(JournalStart::Known(Box::new(RecoveredCall {
            entry,
            response: self.response,
            number: self.number,
        })))
    }
}

impl<D: JournalDatabase> Journal for SqlJournal<D> {
    async fn started(&self, call: &JournalEntry) -> Result<JournalStart, JournalError> {
        self.show_life().await?;
        self.start(call).await.map_err(journal_error)
    }

    async fn find(
        &self,
        session: &str,
        call_id: &str,
    ) -> Result<Option<JournalStart>, JournalError> {
        let found = self.find_call(session, call_id).await;
        found.map_err(journal_error)
    }

    async fn finished(
        &self,
        session: &str,
        call_id: &str,
        response: &str,
    ) -> Result<(), JournalError> {
        let session = digest(session);
        let call = digest(call_id);
        let params = [
            text(&session),
            text(&call),
            text(&self.options.process),
            text(response),
        ];
        let finished = self.database.change(FINISH, &params).await;
        finished
            .map(drop)
            .map_err(|error| journal_error(error.into()))
    }

    async fn recover(&self, session: &str) -> Result<Vec<RecoveredCall>, JournalError> {
        self.calls_of_others(session).await.map_err(journal_error)
    }

    async fn forget(&self, session: &str) -> Result<(), JournalError> {
        let session = digest(session);
        let forgotten = self.database.change(FORGET, &[text(&session)]).await;
        forgotten
            .map(drop)
            .map_err(|error| journal_error(error.into()))
    }
}

impl<D> fmt::Debug for SqlJournal<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqlJournal")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
