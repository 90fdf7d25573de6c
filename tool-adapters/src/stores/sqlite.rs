//! The records of agents in a file.

use crate::stores::sql;
use crate::stores::sql::{Columns, Texts, down, milliseconds, number, records, sealed, text};
use sqlx::migrate::Migrator;
use sqlx::pool::PoolConnection;
use sqlx::query::Query;
use sqlx::sqlite::{
    SqliteArguments, SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool, SqliteRow,
    SqliteSynchronous,
};
use sqlx::{ConnectOptions, Connection, Error, Row, Sqlite, ValueRef, query, query_as};
use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;
use tool_core::agents::{
    AgentRecords, AgentStoreError, AgentSummary, AgentToolStore, AgentTools, Precondition, RecordWrite, SealedRow,
    SealedSecrets, UnreadableRow,
};
use tool_core::session::Operation;

// ---- The store over SQLite.

/// Connections that read. SQLite has one that writes at a time, so there is one.
const READERS: usize = 4;

/// The records of agents in a file, with SQLite built in. Other processes may use the same file.
///
/// A write is on the disk when it is done. The file and those beside it (`-wal`, `-shm`) are readable by their owner
/// only; a file that is already there keeps its rights. Cheap to clone.
///
/// ```
/// use tool_adapters::stores::SqliteStore;
/// use tool_core::agents::{Agents, Keyring};
///
/// # async fn agents() -> Result<Agents, Box<dyn std::error::Error>> {
/// let store = SqliteStore::open("agents.db").await?;
/// let agents = Agents::builder(store).keys(Keyring::from_env("TOOL_SECRETS_KEYS")?).build()?;
/// # Ok(agents)
/// # }
/// ```
#[derive(Clone)]
pub struct SqliteStore(Arc<Lanes>);

struct Lanes {
    writer: Lane,
    /// None where the writer reads as well.
    reader: Option<Lane>,
}

impl SqliteStore {
    /// The store in this file, which is made if there is none. Its folder has to be there.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, AgentStoreError> {
        let path = path.as_ref();
        let at = |why: String| AgentStoreError::down(format!("the file {}: {why}", path.display()));
        let file = File::create(path).map_err(|error| at(error.to_string()))?;
        let options = options().filename(file.path()).journal_mode(SqliteJournalMode::Wal);
        let writer = Lane::new(options.clone().synchronous(SqliteSynchronous::Full), Some(file.clone()), 1);
        let reader = Some(Lane::new(options.pragma("query_only", "ON"), Some(file), READERS));
        Self::with(Lanes { writer, reader }).await
    }

    /// A store in memory, which ends with the last of its handles.
    pub async fn open_in_memory() -> Result<Self, AgentStoreError> {
        let options = options().in_memory(true).filename(":memory:");
        Self::with(Lanes { writer: Lane::new(options, None, 1), reader: None }).await
    }

    /// The store in the database of a pool. How long it waits for others, and when what is written is on the disk, is as
    /// the pool's options say.
    pub async fn from_pool(pool: SqlitePool) -> Result<Self, AgentStoreError> {
        Self::with(Lanes { writer: Lane::Pool(pool), reader: None }).await
    }

    async fn with(lanes: Lanes) -> Result<Self, AgentStoreError> {
        lanes.writer.migrate(&sql::migrator(sql::SQLITE)).await.map_err(|error| down(&error))?;
        Ok(Self(Arc::new(lanes)))
    }

    pub(crate) async fn read<'q>(&self, asks: impl Fn() -> Asked<'q>) -> Result<Vec<SqliteRow>, AgentStoreError> {
        let reader = self.0.reader.as_ref().unwrap_or(&self.0.writer);
        reader.ask(asks).await.map_err(|error| down(&error))
    }

    pub(crate) async fn change<'q>(&self, asks: impl Fn() -> Asked<'q>) -> Result<Vec<SqliteRow>, AgentStoreError> {
        self.0.writer.ask(asks).await.map_err(|error| down(&error))
    }

    /// Whether a change changed anything.
    pub(crate) async fn affects<'q>(&self, asks: impl Fn() -> Asked<'q>) -> Result<bool, AgentStoreError> {
        Ok(!self.change(asks).await?.is_empty())
    }

    pub(crate) async fn found(&self, agent: &str, tool: &str) -> Result<Option<u64>, AgentStoreError> {
        let rows = self.read(|| query(FOUND).bind(agent).bind(tool)).await?;
        rows.first().map(|row| sql::number(row, 0)).transpose()
    }

    /// The new version; `None` where the record is not what the writer expects.
    pub(crate) async fn write_once(&self, write: &RecordWrite, texts: &Texts) -> Result<Option<u64>, AgentStoreError> {
        let rows = self.change(|| change(write, texts)).await?;
        rows.first().map(|row| sql::number(row, 0)).transpose()
    }
}

fn change<'q>(write: &'q RecordWrite, texts: &'q Texts) -> Asked<'q> {
    let sql = if write.expected == Precondition::Absent { INSERT } else { UPDATE };
    sql::bound(query(sql), write, texts)
}

fn options() -> SqliteConnectOptions {
    SqliteConnectOptions::new().busy_timeout(SLICE).disable_statement_logging()
}

pub(crate) fn record(row: &SqliteRow) -> Result<Columns, UnreadableRow> {
    // Text that is none can be put there by hand.
    let tool = row.try_get::<&[u8], _>(1).map(|tool| String::from_utf8_lossy(tool).into_owned()).unwrap_or_default();
    sql::read(row, tool)
}

// ---- What is asked of the store.

impl AgentToolStore for SqliteStore {
    fn version<'a>(&'a self, agent: &'a str) -> Operation<'a, Result<u64, AgentStoreError>> {
        Operation::later(async move {
            let rows = self.read(|| query(VERSION).bind(agent)).await?;
            rows.first().map_or(Ok(0), |row| number(row, 0))
        })
    }

    fn load<'a>(&'a self, agent: &'a str) -> Operation<'a, Result<AgentRecords, AgentStoreError>> {
        Operation::later(async move {
            let rows = self.read(|| query(LOAD).bind(agent)).await?;
            let Some(first) = rows.first() else { return Ok(AgentRecords::default()) };
            // An agent whose records were all removed has a version still, and no toolset beside it.
            let there = rows.iter().filter(|row| row.try_get_raw(1).is_ok_and(|tool| !tool.is_null()));
            Ok(records(agent, number(first, 0)?, there.map(record)))
        })
    }

    fn get<'a>(&'a self, agent: &'a str, tool: &'a str) -> Operation<'a, Result<Option<AgentTools>, AgentStoreError>> {
        Operation::later(async move {
            let rows = self.read(|| query(GET).bind(agent).bind(tool)).await?;
            let record = rows.first().map(|row| record(row).and_then(|columns| columns.into_record(agent)));
            record.transpose().map_err(|row| AgentStoreError::Unreadable(row.why))
        })
    }

    fn write<'a>(&'a self, write: &'a RecordWrite) -> Operation<'a, Result<u64, AgentStoreError>> {
        Operation::later(async move {
            write.check()?;
            let texts = Texts::of(write)?;
            loop {
                if let Some(version) = self.write_once(write, &texts).await? {
                    return Ok(version);
                }
                let found = self.found(&write.agent, &write.tool).await?;
                // What was in the way has just gone.
                if found.is_none() && write.expected == Precondition::Absent {
                    continue;
                }
                return Err(AgentStoreError::Conflict { found });
            }
        })
    }

    fn remove<'a>(&'a self, agent: &'a str, tool: &'a str, version: u64) -> Operation<'a, Result<(), AgentStoreError>> {
        Operation::later(async move {
            let version = i64::try_from(version).unwrap_or(-1);
            if self.affects(|| query(REMOVE).bind(agent).bind(tool).bind(version)).await? {
                return Ok(());
            }
            Err(AgentStoreError::Conflict { found: self.found(agent, tool).await? })
        })
    }

    fn agents<'a>(
        &'a self,
        after: Option<&'a str>,
        limit: u32,
    ) -> Operation<'a, Result<Vec<AgentSummary>, AgentStoreError>> {
        Operation::later(async move {
            let rows = self.read(|| query(AGENTS).bind(after).bind(limit)).await?;
            let line = |row| Ok(AgentSummary::new(text(row, 0)?, number(row, 1)?, number(row, 2)?));
            rows.iter().map(line).collect()
        })
    }

    fn sealed_under_others<'a>(
        &'a self,
        key: &'a str,
        after: Option<(&'a str, &'a str)>,
        limit: u32,
    ) -> Operation<'a, Result<Vec<SealedRow>, AgentStoreError>> {
        Operation::later(async move {
            let (agent, tool) = after.unzip();
            let rows = self.read(|| query(SEALED).bind(key).bind(agent).bind(tool).bind(limit)).await?;
            rows.iter().map(sealed).collect()
        })
    }

    fn replace_secrets<'a>(
        &'a self,
        agent: &'a str,
        tool: &'a str,
        from: &'a SealedSecrets,
        to: &'a SealedSecrets,
    ) -> Operation<'a, Result<bool, AgentStoreError>> {
        Operation::later(async move {
            let query = || query(REPLACE_SECRETS).bind(agent).bind(tool).bind(from.key()).bind(from.bytes());
            self.affects(|| query().bind(to.key()).bind(to.bytes())).await
        })
    }

    fn lease<'a>(
        &'a self,
        agent: &'a str,
        tool: &'a str,
        holder: &'a str,
        lasts: Duration,
    ) -> Operation<'a, Result<bool, AgentStoreError>> {
        Operation::later(async move {
            self.affects(|| query(LEASE).bind(agent).bind(tool).bind(holder).bind(milliseconds(lasts))).await
        })
    }

    fn release<'a>(
        &'a self,
        agent: &'a str,
        tool: &'a str,
        holder: &'a str,
    ) -> Operation<'a, Result<(), AgentStoreError>> {
        Operation::later(
            async move { self.affects(|| query(RELEASE).bind(agent).bind(tool).bind(holder)).await.map(drop) },
        )
    }
}

// ---- The file that the records are in.

/// The file's path, from the root, so that it stays the same file when the program changes its folder.
#[derive(Clone, Debug)]
pub(crate) struct File(PathBuf);

/// Which file it is: another one may come to stand in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity(u64, u64);

impl File {
    /// The file, made where there is none: nobody but its owner may read it.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let path = std::path::absolute(path)?;
        let mut options = OpenOptions::new();
        // Opening one that is there, and closing it, would end the locks that SQLite has on it in this process.
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(Self(path)),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// `None` where there is no file.
    #[cfg(unix)]
    pub(crate) fn identity(&self) -> Option<Identity> {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata(&self.0).ok().map(|file| Identity(file.dev(), file.ino()))
    }

    /// A file that is open cannot be replaced there.
    #[cfg(not(unix))]
    pub(crate) fn identity(&self) -> Option<Identity> {
        Some(Identity(0, 0))
    }
}

// ---- Connections to the database, and who has them.

/// How long it takes until it is an error that no connection is free, or that another process has locked the file.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long SQLite waits by itself. It looks ever more rarely whether the file is free, so that who has waited long is
/// overtaken for ever by others; who asks anew is not.
pub(crate) const SLICE: Duration = Duration::from_millis(40);

/// What is asked.
pub(crate) type Asked<'q> = Query<'q, Sqlite, SqliteArguments>;

/// Where connections come from.
pub(crate) enum Lane {
    Own(Box<Own>),
    /// The program's pool.
    Pool(SqlitePool),
}

/// A few connections that are used in turn, by whoever came first.
///
/// sqlx's pool asks each connection whether it is alive, which is a message to its thread and back; these are dropped
/// when something went wrong with one, or when the file was replaced.
pub(crate) struct Own {
    options: SqliteConnectOptions,
    /// None in memory.
    file: Option<File>,
    places: Semaphore,
    idle: Mutex<Vec<Open>>,
}

/// A connection, and the file that it is to.
struct Open {
    connection: SqliteConnection,
    file: Option<Identity>,
}

/// A connection for as long as it is used.
#[allow(clippy::large_enum_variant)] // it lies on the stack of one question
enum Held<'a> {
    Own { lane: &'a Own, open: Option<Open>, _place: SemaphorePermit<'a> },
    Pool(PoolConnection<Sqlite>),
}

impl Lane {
    pub(crate) fn new(options: SqliteConnectOptions, file: Option<File>, connections: usize) -> Self {
        Self::Own(Box::new(Own { options, file, places: Semaphore::new(connections), idle: Mutex::default() }))
    }

    /// Asks, and again for as long as another process has locked the file. All that comes back is taken: what is written
    /// is written when the last row was asked for.
    pub(crate) async fn ask<'q>(&self, asks: impl Fn() -> Asked<'q>) -> Result<Vec<SqliteRow>, Error> {
        let began = Instant::now();
        loop {
            match self.once(asks()).await {
                Err(error) if is_busy(&error) && began.elapsed() < PATIENCE => {}
                rows => return rows,
            }
        }
    }

    async fn once(&self, query: Asked<'_>) -> Result<Vec<SqliteRow>, Error> {
        let mut held = self.take().await?;
        let rows = query.fetch_all(held.connection()?).await;
        rows.inspect_err(|error| held.after(error))
    }

    /// Brings the tables up to date.
    pub(crate) async fn migrate(&self, migrator: &Migrator) -> Result<(), Error> {
        let began = Instant::now();
        loop {
            match self.migrate_once(migrator).await {
                Err(error) if is_busy(&error) && began.elapsed() < PATIENCE => {}
                done => return done,
            }
        }
    }

    /// The migrator locks nothing, so that two processes would make the tables at once. Where there is nothing to do,
    /// nobody is kept waiting.
    async fn migrate_once(&self, migrator: &Migrator) -> Result<(), Error> {
        let mut held = self.take().await?;
        let connection = held.connection()?;
        if sql::are_done(migrator, query_as(sql::DONE).fetch_all(&mut *connection).await) {
            return Ok(());
        }
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
        migrator.run_direct(None, &mut *transaction, false).await?;
        transaction.commit().await
    }

    /// Waits for a connection, and opens one where there are not enough yet.
    async fn take(&self) -> Result<Held<'_>, Error> {
        match self {
            Self::Own(own) => own.take().await,
            Self::Pool(pool) => Ok(Held::Pool(pool.acquire().await?)),
        }
    }
}

impl Own {
    async fn take(&self) -> Result<Held<'_>, Error> {
        let place = timeout(PATIENCE, self.places.acquire()).await.map_err(|_| Error::PoolTimedOut)?;
        let place = place.map_err(|_| Error::PoolClosed)?;
        let file = self.file.as_ref().and_then(File::identity);
        let idle = self.idle(file);
        let open = match idle {
            Some(open) => open,
            None => Open { connection: self.options.connect().await?, file },
        };
        Ok(Held::Own { lane: self, open: Some(open), _place: place })
    }

    /// A connection to this file. What is written over one to a file that was deleted is gone, so these are let go.
    fn idle(&self, file: Option<Identity>) -> Option<Open> {
        let mut idle = self.lock();
        while let Some(open) = idle.pop() {
            if open.file == file {
                return Some(open);
            }
        }
        None
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Open>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held<'_> {
    fn connection(&mut self) -> Result<&mut SqliteConnection, Error> {
        match self {
            Self::Own { open, .. } => open.as_mut().map(|open| &mut open.connection).ok_or(Error::WorkerCrashed),
            Self::Pool(connection) => Ok(connection),
        }
    }

    /// Lets go of all connections where this error may be theirs, so that the store works again as soon as the file is
    /// in order. A database in memory is nowhere else.
    fn after(&mut self, error: &Error) {
        if let Self::Own { lane: lane @ Own { file: Some(_), .. }, open, .. } = self
            && is_theirs(error)
        {
            *open = None;
            lane.lock().clear();
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if let Self::Own { lane, open, .. } = self {
            lane.lock().extend(open.take());
        }
    }
}

/// The primary code of SQLite's; the upper bits say more about each.
fn code(error: &Error) -> Option<u32> {
    error.as_database_error()?.code()?.parse::<u32>().ok().map(|code| code & 0xff)
}

/// Locked by another connection, or, where they share a cache, one of its tables.
fn is_busy(error: &Error) -> bool {
    matches!(code(error), Some(5 | 6))
}

fn is_theirs(error: &Error) -> bool {
    match error {
        // Read only, I/O, corrupt, cannot open, not a database.
        Error::Database(_) => matches!(code(error), Some(8 | 10 | 11 | 14 | 26)),
        Error::ColumnDecode { .. } | Error::ColumnNotFound(_) => false,
        _ => true,
    }
}

// ---- What is asked of SQLite. Each is one statement, so that it is done in whole or not at all and needs no transaction:
// a statement that writes begins by locking the file, and one that reads sees one moment.

pub(crate) const VERSION: &str = "SELECT version FROM tool_agents WHERE agent_id = ?1";

pub(crate) const LOAD: &str = "
SELECT tool_agents.version, tool, enabled, disabled_actions, config, secrets_key, secrets,
    tool_agent_records.version
FROM tool_agents LEFT JOIN tool_agent_records USING (agent_id) WHERE agent_id = ?1 ORDER BY tool";

pub(crate) const GET: &str = "
SELECT 0, tool, enabled, disabled_actions, config, secrets_key, secrets, version
FROM tool_agent_records WHERE agent_id = ?1 AND tool = ?2";

/// The version that the trigger is about to give it comes back: `RETURNING` does not see what triggers change.
pub(crate) const INSERT: &str = "
INSERT INTO tool_agent_records (agent_id, tool, enabled, disabled_actions, config, secrets_key, secrets, version)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, 1 + coalesce((SELECT version FROM tool_agents WHERE agent_id = ?1), 0)
WHERE NOT EXISTS (SELECT 1 FROM tool_agent_records WHERE agent_id = ?1 AND tool = ?2)
RETURNING version";

pub(crate) const UPDATE: &str = "
UPDATE tool_agent_records SET enabled = ?3, disabled_actions = ?4, config = ?5,
    secrets_key = CASE WHEN ?9 THEN secrets_key ELSE ?6 END, secrets = CASE WHEN ?9 THEN secrets ELSE ?7 END,
    version = 1 + (SELECT version FROM tool_agents WHERE agent_id = ?1)
WHERE agent_id = ?1 AND tool = ?2 AND version = ?8
RETURNING version";

pub(crate) const FOUND: &str = "SELECT version FROM tool_agent_records WHERE agent_id = ?1 AND tool = ?2";

pub(crate) const REMOVE: &str =
    "DELETE FROM tool_agent_records WHERE agent_id = ?1 AND tool = ?2 AND version = ?3 RETURNING 1";

pub(crate) const AGENTS: &str = "
SELECT agent_id, tool_agents.version, count(*) FROM tool_agents JOIN tool_agent_records USING (agent_id)
WHERE ?1 IS NULL OR agent_id > ?1 GROUP BY agent_id ORDER BY agent_id LIMIT ?2";

pub(crate) const SEALED: &str = "
SELECT agent_id, tool, secrets_key, secrets FROM tool_agent_records
WHERE secrets_key <> ?1 AND (?2 IS NULL OR (agent_id, tool) > (?2, ?3)) ORDER BY agent_id, tool LIMIT ?4";

pub(crate) const REPLACE_SECRETS: &str = "
UPDATE tool_agent_records SET secrets_key = ?5, secrets = ?6, quiet = quiet + 1
WHERE agent_id = ?1 AND tool = ?2 AND secrets_key = ?3 AND secrets = ?4 RETURNING 1";

/// Milliseconds since 1970, by SQLite's clock, in every version of it.
macro_rules! now {
    () => {
        "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"
    };
}

pub(crate) const LEASE: &str = concat!(
    "UPDATE tool_agent_records SET lease_holder = ?3, lease_until = ?4 + ",
    now!(),
    " WHERE agent_id = ?1 AND tool = ?2 AND (lease_holder IS NULL OR lease_holder = ?3 OR lease_until <= ",
    now!(),
    ") RETURNING 1"
);

pub(crate) const RELEASE: &str = "
UPDATE tool_agent_records SET lease_holder = NULL, lease_until = NULL WHERE agent_id = ?1 AND tool = ?2 AND lease_holder = ?3
RETURNING 1";
