//! Stores in SQLite.

#[cfg(feature = "agent-records")]
use crate::sql::agents::AgentDatabase;
use crate::sql::forgetting::FORGET_ALONE;
use crate::sql::histories::{CONVERSATION, HistoryDatabase};
use crate::sql::journal::{CALL, JournalDatabase};
use crate::sql::session_row::{ForgetLock, SESSION, SessionDatabase};
use crate::sql::{
    Param, Rows, SqlDatabase, SqlError, SqlMigration, SqlStore, SqlTransaction, Tables, arguments,
    is_migrated,
};
use parking_lot::Mutex;
use sqlx::sqlite::{
    SqliteArguments, SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions,
    SqliteRow, SqliteSynchronous,
};
use sqlx::{ConnectOptions, Connection, Error, Sqlite, Transaction, query_as, query_with};
use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Number of connections that read. SQLite allows one writer at a time, so there is one connection
/// that writes.
const READERS: u32 = 4;
/// Longest wait for a free connection, and for a file that another process has locked.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest wait inside SQLite. SQLite polls less and less often, so that others overtake a
/// connection that waits long. Statements are repeated until `PATIENCE` is over instead.
const BUSY_TIMEOUT: Duration = Duration::from_millis(40);

/// Sessions, conversations, and with the feature `agent-records` the records of agents, in a file,
/// with SQLite built in. Several processes may use the file at the same time.
///
/// A write is on the disk when it returns. New files, those that SQLite adds (`-wal`, `-shm`) among
/// them, are accessible for their owner only; an existing file keeps its permissions. Cheap to
/// clone.
///
/// ```
/// use tool_adapters::stores::SqliteStore;
/// use tool_core::{Mode, Runtime, ToolContext};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # std::env::set_current_dir(&folder)?;
/// let store = SqliteStore::open("assistant.db").await?;
/// let runtime = Runtime::builder(ToolContext::builder().build()?).store(store).build()?;
/// let session = runtime.session("chat-42", Mode::Text).principal("user:7").await?;
/// # Ok(())
/// # }
/// ```
pub type SqliteStore = SqlStore<SqliteDatabase>;

/// The connections of a [`SqliteStore`].
#[derive(Clone, Debug)]
pub struct SqliteDatabase {
    writer: SqlitePool,
    reader: SqlitePool,
    /// `None` in memory, and for the program's own pool.
    file: Option<Arc<DatabaseFile>>,
    forget_lock: ForgetLock,
}

impl SqlStore<SqliteDatabase> {
    /// Opens the store in a file, and creates the file if it does not exist. Its folder has to
    /// exist.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, SqlError> {
        let path = path.as_ref();
        let file = DatabaseFile::create(path).map_err(|error| {
            SqlError::caused(
                format!("failed to create the file {}: {error}", path.display()),
                error,
            )
        })?;
        let file = Arc::new(file);
        let options = connect_options()
            .filename(&file.path)
            .journal_mode(SqliteJournalMode::Wal);
        let writer = pool_options(1, Some(&file))
            .connect_lazy_with(options.clone().synchronous(SqliteSynchronous::Full));
        let reader = pool_options(READERS, Some(&file))
            .connect_lazy_with(options.pragma("query_only", "ON"));
        Self::with(SqliteDatabase {
            writer,
            reader,
            file: Some(file),
            forget_lock: ForgetLock::default(),
        })
        .await
    }

    /// Opens an empty store in memory, which ends with the last of its clones.
    pub async fn open_in_memory() -> Result<Self, SqlError> {
        let pool = pool_options(1, None)
            .connect_lazy_with(connect_options().in_memory(true).filename(":memory:"));
        Self::from_pool(pool).await
    }

    /// Opens the store in the database of a pool. The pool's options determine how long statements
    /// wait for locks, and when writes are on the disk.
    pub async fn from_pool(pool: SqlitePool) -> Result<Self, SqlError> {
        Self::with(SqliteDatabase {
            writer: pool.clone(),
            reader: pool,
            file: None,
            forget_lock: ForgetLock::default(),
        })
        .await
    }

    async fn with(database: SqliteDatabase) -> Result<Self, SqlError> {
        for tables in TABLES {
            until_unlocked(|| database.migrate(tables)).await?;
        }
        Ok(Self(database))
    }
}

/// The tables of each area.
const TABLES: &[Tables] = &[
    #[cfg(feature = "agent-records")]
    Tables {
        noted_in: "_tool_agents_migrations",
        applied: "SELECT version, checksum FROM _tool_agents_migrations ORDER BY version",
        migrations: &[
            SqlMigration {
                number: 1,
                name: "agents",
                sql: include_str!("migrations/sqlite/0001_agents.sql"),
            },
            SqlMigration {
                number: 2,
                name: "actions",
                sql: include_str!("migrations/sqlite/0002_actions.sql"),
            },
        ],
    },
    Tables {
        noted_in: "_tool_sessions_migrations",
        applied: "SELECT version, checksum FROM _tool_sessions_migrations ORDER BY version",
        migrations: &[
            SqlMigration {
                number: 1,
                name: "sessions",
                sql: include_str!("migrations/sqlite/0001_sessions.sql"),
            },
            SqlMigration {
                number: 2,
                name: "grants",
                sql: include_str!("migrations/sqlite/0002_grants.sql"),
            },
        ],
    },
    Tables {
        noted_in: "_tool_histories_migrations",
        applied: "SELECT version, checksum FROM _tool_histories_migrations ORDER BY version",
        migrations: &[SqlMigration {
            number: 1,
            name: "histories",
            sql: include_str!("migrations/sqlite/0001_histories.sql"),
        }],
    },
    Tables {
        noted_in: "_tool_journal_migrations",
        applied: "SELECT version, checksum FROM _tool_journal_migrations ORDER BY version",
        migrations: &[SqlMigration {
            number: 1,
            name: "journal",
            sql: include_str!("migrations/sqlite/0001_journal.sql"),
        }],
    },
    Tables {
        noted_in: "_tool_limits_migrations",
        applied: "SELECT version, checksum FROM _tool_limits_migrations ORDER BY version",
        migrations: &[SqlMigration {
            number: 1,
            name: "limits",
            sql: include_str!("migrations/sqlite/0001_limits.sql"),
        }],
    },
];

fn connect_options() -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .busy_timeout(BUSY_TIMEOUT)
        .disable_statement_logging()
}

fn pool_options(connections: u32, file: Option<&Arc<DatabaseFile>>) -> SqlitePoolOptions {
    // Connections to a file do not break by themselves, so they are neither tested nor replaced by
    // age.
    let options = SqlitePoolOptions::new()
        .test_before_acquire(false)
        .idle_timeout(None)
        .max_lifetime(None);
    let options = options
        .max_connections(connections)
        .acquire_timeout(PATIENCE);
    let Some(file) = file.map(Arc::clone) else {
        return options;
    };
    options.before_acquire(move |_, connection| {
        let is_usable = file.is_usable(connection.age);
        Box::pin(async move { Ok(is_usable) })
    })
}

impl SqliteDatabase {
    /// Creates the tables of an area, or updates them. The migrator does not lock the file, so that
    /// two processes would create the tables at the same time.
    async fn migrate(&self, tables: &Tables) -> Result<(), Error> {
        let migrator = tables.migrator();
        let mut connection = self.writer.acquire().await?;
        let applied = query_as(tables.applied).fetch_all(&mut *connection).await;
        if is_migrated(&migrator, applied) {
            return Ok(());
        }
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
        migrator.run_direct(None, &mut *transaction, false).await?;
        transaction.commit().await
    }

    /// Runs a statement, again while another process has locked the file. Reads all rows, because a
    /// write takes effect with the last row.
    async fn run(
        &self,
        pool: &SqlitePool,
        sql: &'static str,
        params: &[Param<'_>],
    ) -> Rows<SqliteRow> {
        let rows = until_unlocked(|| async {
            let mut connection = pool.acquire().await?;
            let rows = query_with(sql, arguments::<SqliteArguments>(params)?)
                .fetch_all(&mut *connection)
                .await;
            checked(rows, self.file.as_deref())
        });
        Ok(rows.await?)
    }
}

/// Makes the open connections unusable after an error that another connection may not have.
fn checked<T>(outcome: Result<T, Error>, file: Option<&DatabaseFile>) -> Result<T, Error> {
    if let (Some(file), Err(error)) = (file, &outcome)
        && may_be_stale(error)
    {
        file.discard_connections();
    }
    outcome
}

/// Repeats an attempt while another process has locked the file.
async fn until_unlocked<T, F: Future<Output = Result<T, Error>>>(
    attempt: impl Fn() -> F,
) -> Result<T, Error> {
    let began = Instant::now();
    loop {
        match attempt().await {
            // Busy, or locked by a connection that shares the cache.
            Err(error) if matches!(code(&error), Some(5 | 6)) && began.elapsed() < PATIENCE => {}
            outcome => return outcome,
        }
    }
}

/// Returns SQLite's primary code of an error, without the upper bits of the extended code.
fn code(error: &Error) -> Option<u32> {
    error
        .as_database_error()?
        .code()?
        .parse::<u32>()
        .ok()
        .map(|code| code & 0xff)
}

/// Returns true if another connection to the same file may work.
fn may_be_stale(error: &Error) -> bool {
    match error {
        // Read-only, I/O error, corrupt, cannot open, not a database.
        Error::Database(_) => matches!(code(error), Some(8 | 10 | 11 | 14 | 26)),
        Error::ColumnDecode { .. } | Error::ColumnNotFound(_) => false,
        _ => true,
    }
}

impl SqlDatabase for SqliteDatabase {
    type Row = SqliteRow;
    type Transaction = SqliteTransaction;

    async fn select(&self, sql: &'static str, params: &[Param<'_>]) -> Rows<SqliteRow> {
        self.run(&self.reader, sql, params).await
    }

    async fn change(&self, sql: &'static str, params: &[Param<'_>]) -> Rows<SqliteRow> {
        self.run(&self.writer, sql, params).await
    }

    /// Locks the file for writing, so that no later statement finds it locked.
    async fn begin(&self) -> Result<SqliteTransaction, SqlError> {
        let begin = || async {
            let begun = self.writer.begin_with("BEGIN IMMEDIATE").await;
            checked(begun, self.file.as_deref())
        };
        Ok(SqliteTransaction {
            transaction: until_unlocked(begin).await?,
            file: self.file.clone(),
        })
    }
}

/// A transaction of a [`SqliteDatabase`].
pub(crate) struct SqliteTransaction {
    transaction: Transaction<'static, Sqlite>,
    file: Option<Arc<DatabaseFile>>,
}

impl SqlTransaction for SqliteTransaction {
    type Row = SqliteRow;

    async fn run(&mut self, sql: &'static str, params: &[Param<'_>]) -> Rows<SqliteRow> {
        let rows = query_with(sql, arguments::<SqliteArguments>(params)?)
            .fetch_all(&mut *self.transaction)
            .await;
        Ok(checked(rows, self.file.as_deref())?)
    }

    async fn commit(self) -> Result<(), SqlError> {
        let committed = self.transaction.commit().await;
        Ok(checked(committed, self.file.as_deref())?)
    }
}

#[cfg(feature = "agent-records")]
impl AgentDatabase for SqliteDatabase {
    /// Computes the version that the trigger is about to set, because `RETURNING` does not see
    /// changes of triggers.
    const INSERT: &'static str = include_str!("sql/sqlite/insert.sql");

    const UPDATE: &'static str = include_str!("sql/sqlite/update.sql");

    /// The clock in milliseconds since 1970, in a form that all versions of SQLite have.
    const LEASE: &'static str = include_str!("sql/sqlite/lease.sql");

    const KEEP_ACTION: &'static str = include_str!("sql/sqlite/keep_action.sql");
}

impl SessionDatabase for SqliteDatabase {
    const LOCK_SESSION: &'static str = SESSION;

    /// A transaction is the only one that writes.
    const LOCK_OPENINGS: Option<&'static str> = None;
    const FORGET: [&'static str; 5] = FORGET_ALONE;

    fn forget_lock(&self) -> &ForgetLock {
        &self.forget_lock
    }
}

impl JournalDatabase for SqliteDatabase {
    /// A transaction is the only one that writes.
    const LOCK_CALL: &'static str = CALL;
}

impl HistoryDatabase for SqliteDatabase {
    const LOCK_CONVERSATION: &'static str = CONVERSATION;

    const ADD_MESSAGES: &'static str = include_str!("sql/sqlite/add_messages.sql");
}

/// The file of a database, which may be replaced while it is open. Writes to a file that was
/// deleted would be lost.
#[derive(Debug)]
struct DatabaseFile {
    /// Absolute, so that it stays the same when the program changes its working directory.
    path: PathBuf,
    /// The file that connections are open to, and the time since which they are usable.
    usable_since: Mutex<(Option<FileId>, Instant)>,
}

/// The device and the inode of a file.
type FileId = (u64, u64);

impl DatabaseFile {
    /// Creates the file if it does not exist, accessible for its owner only.
    fn create(path: &Path) -> io::Result<Self> {
        let path = std::path::absolute(path)?;
        let mut options = OpenOptions::new();
        // Opening and closing an existing file would release the locks that SQLite holds on it in
        // this process.
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let usable_since = Mutex::new((file_id(&path), Instant::now()));
        Ok(Self { path, usable_since })
    }

    /// Returns true if a connection of this age is open to the file that is there now.
    fn is_usable(&self, age: Duration) -> bool {
        let opened_at = Instant::now().checked_sub(age);
        let id = file_id(&self.path);
        let mut usable_since = self.usable_since.lock();
        if usable_since.0 != id {
            *usable_since = (id, Instant::now());
        }
        opened_at.is_some_and(|opened_at| opened_at >= usable_since.1)
    }

    /// Makes all open connections unusable.
    fn discard_connections(&self) {
        self.usable_since.lock().1 = Instant::now();
    }
}

/// Returns `None` if the file does not exist.
#[cfg(unix)]
fn file_id(path: &Path) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path)
        .ok()
        .map(|file| (file.dev(), file.ino()))
}

/// Elsewhere an open file cannot be replaced.
#[cfg(not(unix))]
fn file_id(_: &Path) -> Option<FileId> {
    None
}
