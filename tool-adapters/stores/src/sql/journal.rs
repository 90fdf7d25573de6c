//! The journal in an SQL database. A statement or a transaction decides which of two processes runs a
//! call. Times are those of the database's clock.

use crate::sql::values::{text, unsigned};
use crate::sql::{
    Param, SqlDatabase, SqlError, SqlRow, SqlStore, SqlTransaction, milliseconds, number,
};
use crate::store_journal::{
    JournalOptions, JournaledCalls, KnownCall, StartedCall, StoreJournal, digest,
};
use std::time::Duration;
use tool_core::session::{JournalEntry, StoreError};

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

/// The journal in the database of an [`SqlStore`]: [`SqlStore::journal`] creates it.
pub type SqlJournal<D> = StoreJournal<SqlCalls<D>>;

/// The calls of an [`SqlJournal`].
#[derive(Clone, Debug)]
pub struct SqlCalls<D>(D);

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
        StoreJournal::new(SqlCalls(self.0.clone()))
    }
}

#[allow(private_bounds)] // only this crate implements the trait
impl<D: JournalDatabase> SqlCalls<D> {
    /// Records a call whose id the journal may have already.
    async fn start_again(
        &self,
        process: &str,
        call: &JournalEntry,
        insert: &[Param<'_>; 5],
    ) -> Result<StartedCall, StoreError> {
        let mut transaction = self.0.begin().await?;
        let [session, id, ..] = *insert;
        let rows = transaction.run(D::LOCK_CALL, &[session, id]).await?;
        if let Some(row) = rows.first() {
            let row = CallRow::read(row)?;
            if row.call.has_approval_of(call)? {
                return Ok(row.into_start_in(process));
            }
            if row.process != process && call.replaces != Some(row.call.number) {
                return Ok(row.into_start());
            }
            transaction.run(REMOVE, &[number(row.call.number)]).await?;
        }
        let inserted = transaction.run(INSERT, insert).await?;
        transaction.commit().await?;

        // Another process has inserted the call, which no lock of a missing row prevents.
        if inserted.is_empty() {
            return Ok(StartedCall::Running);
        }
        Ok(StartedCall::Recorded)
    }

    async fn change(&self, sql: &'static str, params: &[Param<'_>]) -> Result<(), StoreError> {
        self.0.change(sql, params).await?;
        Ok(())
    }
}

/// A call as the table has it.
struct CallRow {
    process: String,
    call: KnownCall,
    is_running: bool,
}

impl CallRow {
    fn read(row: &impl SqlRow) -> Result<Self, StoreError> {
        Ok(Self {
            process: row.text(0)?,
            call: KnownCall {
                number: unsigned(row, 1)?,
                entry: row.text(2)?,
                response: row.optional_text(3).map_err(SqlError::from)?,
            },
            is_running: unsigned(row, 4)? == 1,
        })
    }

    /// Returns what a call is to one of a process under the same approval. The process itself does
    /// not run it any more, or it would not start another.
    fn into_start_in(self, process: &str) -> StartedCall {
        if self.process == process {
            return StartedCall::Known(self.call);
        }
        self.into_start()
    }

    /// Returns what another process's call is to one with its id.
    fn into_start(self) -> StartedCall {
        if self.is_running {
            return StartedCall::Running;
        }
        StartedCall::Known(self.call)
    }
}

impl<D: JournalDatabase> JournaledCalls for SqlCalls<D> {
    async fn start(
        &self,
        options: &JournalOptions,
        call: &JournalEntry,
        entry: &str,
    ) -> Result<StartedCall, StoreError> {
        let session = digest(&call.session);
        let id = digest(&call.call_id);
        let insert = [
            text(&session),
            text(&id),
            text(&options.process),
            milliseconds(Duration::from_millis(call.time_limit_ms)),
            text(entry),
        ];
        let inserted = self.0.change(INSERT, &insert).await?;
        if !inserted.is_empty() {
            return Ok(StartedCall::Recorded);
        }
        self.start_again(&options.process, call, &insert).await
    }

    async fn find(
        &self,
        process: &str,
        session: &str,
        call_id: &str,
    ) -> Result<Option<StartedCall>, StoreError> {
        let session = digest(session);
        let id = digest(call_id);
        let rows = self.0.select(CALL, &[text(&session), text(&id)]).await?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let row = CallRow::read(row)?;
        let is_own = row.process == process;
        Ok((!is_own).then(|| row.into_start()))
    }

    async fn finish(
        &self,
        process: &str,
        session: &str,
        call_id: &str,
        response: &str,
    ) -> Result<(), StoreError> {
        let session = digest(session);
        let id = digest(call_id);
        let params = [text(&session), text(&id), text(process), text(response)];
        self.change(FINISH, &params).await
    }

    async fn of_others(&self, process: &str, session: &str) -> Result<Vec<KnownCall>, StoreError> {
        let session = digest(session);
        let rows = self
            .0
            .select(CALLS, &[text(&session), text(process)])
            .await?;
        let mut calls = Vec::with_capacity(rows.len());
        for row in &rows {
            calls.push(KnownCall {
                number: unsigned(row, 0)?,
                entry: row.text(1)?,
                response: row.optional_text(2).map_err(SqlError::from)?,
            });
        }
        Ok(calls)
    }

    async fn forget(&self, session: &str) -> Result<(), StoreError> {
        let session = digest(session);
        self.change(FORGET, &[text(&session)]).await
    }

    async fn beat(&self, options: &JournalOptions) -> Result<(), StoreError> {
        let process = [text(&options.process), milliseconds(options.lease)];
        self.change(BEAT, &process).await?;

        let keep = [milliseconds(options.keep)];
        for removal in [PRUNE, BURY] {
            if let Err(error) = self.change(removal, &keep).await {
                tracing::warn!(%error, "failed to remove old rows of the journal");
            }
        }
        Ok(())
    }
}
