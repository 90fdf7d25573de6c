//! Sessions in an SQL database. Each operation locks the session's row, decides, writes the row and commits, so that a
//! process which dies leaves nothing half done. Times are those of the database's clock.

use crate::sql::session_record::SqlSession;
use crate::sql::{Param, SqlDatabase, SqlError, SqlRow, SqlStore, SqlTransaction, number};
use serde::de::DeserializeOwned;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;
use tool_core::SessionId;
use tool_core::session::{
    OpenError, OpenRequest, SessionCall, SessionStore, StoreError, StoredSession,
};
use tool_core::time::whole_milliseconds;

/// The statements that only one kind of database understands.
pub(crate) trait SessionDatabase: SqlDatabase {
    /// Reads a session as [`SESSION`] does, and locks its row.
    const LOCK_SESSION: &'static str;
    /// Lets one transaction at a time open sessions, if transactions can run side by side.
    const LOCK_OPENINGS: Option<&'static str>;
}

/// Reads a session. Parameter: its id. Columns: see [`SessionRow::read`].
pub(crate) const SESSION: &str = include_str!("session.sql");

const WRITE: &str = include_str!("write_session.sql");

const INSERT: &str = include_str!("insert_session.sql");

const DELETE: &str = "DELETE FROM tool_sessions WHERE id = $1";

const OPEN_SESSIONS: &str =
    "SELECT count(*) FROM tool_sessions WHERE expires_at > (SELECT now FROM tool_session_clock)";

/// What is over, and was kept long enough. The sessions go first, because other transactions lock them first.
const FORGET: [&str; 3] = [
    "DELETE FROM tool_sessions WHERE calls_until <= $1 - 60000",
    "DELETE FROM tool_principal_spending WHERE ends_at <= $1",
    "DELETE FROM tool_added_amounts WHERE known_until <= $1",
];

const CALLS: &str = "SELECT call FROM tool_session_calls \
    WHERE session = $1 AND EXISTS ( \
        SELECT 1 FROM tool_sessions \
        WHERE id = $1 AND incarnation = coalesce($2, incarnation) \
            AND calls_until > (SELECT now FROM tool_session_clock) \
    ) ORDER BY number";

/// An id as the database has it: PostgreSQL cannot store zero bytes.
pub(crate) fn stored_id(id: &str) -> Cow<'_, str> {
    if id.contains(['%', '\0']) {
        Cow::Owned(id.replace('%', "%25").replace('\0', "%00"))
    } else {
        Cow::Borrowed(id)
    }
}

/// A text as a parameter.
pub(crate) fn text(text: &str) -> Param<'_> {
    Param::Text(Some(text))
}

/// Returns a time in milliseconds: at least one, and at most a hundred years.
pub(crate) fn lifetime(time: Duration) -> u64 {
    const CENTURY: u64 = 100 * 365 * 24 * 60 * 60 * 1000;
    whole_milliseconds(time).clamp(1, CENTURY)
}

/// Parses a value that the database holds. The error shows nothing of the text.
pub(crate) fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|_| StoreError::new("the database holds an invalid value"))
}

pub(crate) fn to_json(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value)
        .map_err(|error| StoreError::with_source("failed to write a value as JSON", error))
}

/// Reads a number that is not negative.
pub(crate) fn unsigned(row: &impl SqlRow, column: usize) -> Result<u64, StoreError> {
    let number = row.number(column).map_err(SqlError::from)?;
    u64::try_from(number).map_err(|_| StoreError::new("the database holds a negative number"))
}

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

#[allow(private_bounds)] // only this crate implements the trait
impl<D: SessionDatabase> SqlStore<D> {
    /// Joins the session that is open under an id. Returns `None` if none is.
    async fn join(
        &self,
        transaction: &mut D::Transaction,
        request: &OpenRequest,
        id: &str,
    ) -> Result<Option<SessionRow>, OpenError> {
        let found = lock_session::<D>(transaction, id).await?;
        let Some(mut row) = found.filter(SessionRow::is_live) else {
            return Ok(None);
        };
        row.session.check_owner(request)?;
        row.touch();
        row.write(transaction, id).await?;
        Ok(Some(row))
    }

    /// Opens a new session, if there is room for one.
    async fn open_new(
        &self,
        transaction: &mut D::Transaction,
        request: &OpenRequest,
        id: &str,
    ) -> Result<SessionRow, OpenError> {
        let rows = transaction
            .run(OPEN_SESSIONS, &[])
            .await
            .map_err(StoreError::from)?;
        let open = rows.first().map_or(Ok(0), |row| unsigned(row, 0))?;
        if open >= request.max_sessions {
            return Err(OpenError::Full {
                limit: request.max_sessions,
            });
        }
        insert::<D>(transaction, request, id)
            .await
            .map_err(OpenError::from)
    }

    /// Wraps a session that the database has, as this process knows it.
    async fn record(
        &self,
        request: &OpenRequest,
        row: &SessionRow,
    ) -> Result<Arc<SqlSession<D>>, OpenError> {
        let record = SqlSession::new(self.0.clone(), request, row.session.incarnation());
        record.take_over(row).await?;
        Ok(Arc::new(record))
    }
}

/// Replaces what is left of an earlier session of the id by a new session.
async fn insert<D: SessionDatabase>(
    transaction: &mut D::Transaction,
    request: &OpenRequest,
    id: &str,
) -> Result<SessionRow, StoreError> {
    let now = transaction
        .run("SELECT now FROM tool_session_clock", &[])
        .await?;
    let now = now.first().map_or(Ok(0), |row| unsigned(row, 0))?;
    for statement in FORGET {
        transaction.run(statement, &[number(now)]).await?;
    }
    transaction.run(DELETE, &[text(id)]).await?;

    let incarnation = new_incarnation()?;
    let mut row = SessionRow {
        incarnation: incarnation_text(incarnation),
        session: StoredSession::new(request, incarnation),
        entries: 0,
        calls: 0,
        call_bytes: 0,
        idle_time: lifetime(request.idle_timeout),
        keep_time: whole_milliseconds(request.keep_calls_for).min(lifetime(request.keep_calls_for)),
        expires_at: 0,
        calls_until: 0,
        now,
    };
    row.touch();

    let session = to_json(&row.session)?;
    let principal = stored_id(&request.principal);
    let params = [
        text(id),
        text(&row.incarnation),
        text(&principal),
        text(&session),
        number(row.idle_time),
        number(row.keep_time),
        number(row.expires_at),
        number(row.calls_until),
    ];
    transaction.run(INSERT, &params).await?;
    Ok(row)
}

impl<D: SessionDatabase> SessionStore for SqlStore<D> {
    type Record = SqlSession<D>;

    async fn open(&self, request: &OpenRequest) -> Result<Arc<SqlSession<D>>, OpenError> {
        let id = stored_id(request.id.as_str());
        let mut transaction = self.0.begin().await.map_err(StoreError::from)?;
        if let Some(row) = self.join(&mut transaction, request, &id).await? {
            transaction.commit().await.map_err(StoreError::from)?;
            return self.record(request, &row).await;
        }
        // Without a lock of its row: who opens a session locks all openings first.
        if let Some(lock) = D::LOCK_OPENINGS {
            drop(transaction);
            transaction = self.0.begin().await.map_err(StoreError::from)?;
            transaction.run(lock, &[]).await.map_err(StoreError::from)?;
        }
        let row = match self.join(&mut transaction, request, &id).await? {
            Some(row) => row,
            None => self.open_new(&mut transaction, request, &id).await?,
        };
        transaction.commit().await.map_err(StoreError::from)?;
        self.record(request, &row).await
    }

    async fn sessions(&self) -> Result<u64, StoreError> {
        let rows = self.0.select(OPEN_SESSIONS, &[]).await?;
        rows.first().map_or(Ok(0), |row| unsigned(row, 0))
    }

    async fn calls(&self, id: &SessionId) -> Result<Vec<SessionCall>, StoreError> {
        kept_calls(&self.0, &stored_id(id.as_str()), None).await
    }
}

/// Draws a number that distinguishes a session from earlier ones of the same id.
fn new_incarnation() -> Result<u128, StoreError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|_| StoreError::new("the operating system gave no random bytes"))?;
    Ok(u128::from_ne_bytes(bytes))
}
