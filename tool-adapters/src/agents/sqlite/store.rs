//! The store over SQLite.

use super::file::File;
use super::lane::{Asked, Lane, SLICE};
use super::sql;
use crate::agents::columns;
use crate::agents::failure::down;
use crate::agents::migrations;
use crate::agents::row::{Columns, Texts};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqliteRow, SqliteSynchronous};
use sqlx::{ConnectOptions, Row, query};
use std::path::Path;
use std::sync::Arc;
use tool_core::agents::{AgentStoreError, Precondition, RecordWrite, UnreadableRow};

/// Connections that read. SQLite has one that writes at a time, so there is one.
const READERS: usize = 4;

/// The records of agents in a file, with SQLite built in. Other processes may use the same file.
///
/// A write is on the disk when it is done. The file and those beside it (`-wal`, `-shm`) are readable by their owner
/// only; a file that is already there keeps its rights. Cheap to clone.
///
/// ```
/// use tool_adapters::agents::SqliteStore;
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
        lanes.writer.migrate(&migrations::migrator(migrations::SQLITE)).await.map_err(|error| down(&error))?;
        Ok(Self(Arc::new(lanes)))
    }

    pub(super) async fn read<'q>(&self, asks: impl Fn() -> Asked<'q>) -> Result<Vec<SqliteRow>, AgentStoreError> {
        let reader = self.0.reader.as_ref().unwrap_or(&self.0.writer);
        reader.ask(asks).await.map_err(|error| down(&error))
    }

    pub(super) async fn change<'q>(&self, asks: impl Fn() -> Asked<'q>) -> Result<Vec<SqliteRow>, AgentStoreError> {
        self.0.writer.ask(asks).await.map_err(|error| down(&error))
    }

    /// Whether a change changed anything.
    pub(super) async fn affects<'q>(&self, asks: impl Fn() -> Asked<'q>) -> Result<bool, AgentStoreError> {
        Ok(!self.change(asks).await?.is_empty())
    }

    pub(super) async fn found(&self, agent: &str, tool: &str) -> Result<Option<u64>, AgentStoreError> {
        let rows = self.read(|| query(sql::FOUND).bind(agent).bind(tool)).await?;
        rows.first().map(|row| columns::number(row, 0)).transpose()
    }

    /// The new version; `None` where the record is not what the writer expects.
    pub(super) async fn write_once(&self, write: &RecordWrite, texts: &Texts) -> Result<Option<u64>, AgentStoreError> {
        let rows = self.change(|| change(write, texts)).await?;
        rows.first().map(|row| columns::number(row, 0)).transpose()
    }
}

fn change<'q>(write: &'q RecordWrite, texts: &'q Texts) -> Asked<'q> {
    let sql = if write.expected == Precondition::Absent { sql::INSERT } else { sql::UPDATE };
    columns::bound(query(sql), write, texts)
}

fn options() -> SqliteConnectOptions {
    SqliteConnectOptions::new().busy_timeout(SLICE).disable_statement_logging()
}

pub(super) fn record(row: &SqliteRow) -> Result<Columns, UnreadableRow> {
    // Text that is none can be put there by hand.
    let tool = row.try_get::<&[u8], _>(1).map(|tool| String::from_utf8_lossy(tool).into_owned()).unwrap_or_default();
    columns::read(row, tool)
}
