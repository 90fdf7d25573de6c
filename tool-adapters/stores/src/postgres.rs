//! Stores in PostgreSQL.

mod changes;

use crate::postgres::changes::ChangeFeed;
#[cfg(feature = "agent-records")]
use crate::sql::agents::AgentDatabase;
use crate::sql::forgetting::FORGET_UNLOCKED;
use crate::sql::histories::HistoryDatabase;
use crate::sql::journal::JournalDatabase;
use crate::sql::session_row::{ForgetLock, SessionDatabase};
use crate::sql::{
    Param, Rows, SqlDatabase, SqlError, SqlMigration, SqlStore, SqlTransaction, Tables, arguments,
    is_migrated,
};
use sqlx::error::DatabaseError;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgArguments, PgConnectOptions, PgPool, PgPoolOptions, PgRow};
use sqlx::{
    ConnectOptions, Connection, Error, Executor, Postgres, SqlSafeStr, Transaction, query_as,
    query_with,
};
use std::str::FromStr;
use std::time::Duration;
use tokio::time::timeout;
use tool_core::session::StoreChanges;
use tracing::subscriber::{NoSubscriber, with_default};

const CONNECTIONS: u32 = 8;
/// Longest wait for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Longest wait for an answer. The server gives up first, so that it does not apply a change after
/// the store has failed.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(15);
const SERVER_TIMEOUTS: &str = "SET lock_timeout = '5s'; SET statement_timeout = '10s'";
/// Connections that were idle for longer are tested before use. Testing each would cost each
/// statement a round trip.
const TEST_AFTER: Duration = Duration::from_secs(1);
/// Number of attempts to make a change that the server rolls back because of a conflict.
const ATTEMPTS: u32 = 5;

/// Sessions, conversations, and with the feature `agent-records` the records of agents, on a
/// PostgreSQL server, version 12 or later, with a database in UTF-8. Cheap to clone.
///
/// ```no_run
/// use tool_adapters::stores::PostgresStore;
/// use tool_core::{Runtime, ToolContext};
///
/// # async fn open() -> Result<(), Box<dyn std::error::Error>> {
/// let store = PostgresStore::connect("postgres://assistant@db.example/assistant?sslmode=verify-full").await?;
/// let runtime = Runtime::builder(ToolContext::builder().build()?).store(store).build()?;
/// # Ok(())
/// # }
/// ```
pub type PostgresStore = SqlStore<PostgresDatabase>;

/// The connections of a [`PostgresStore`].
#[derive(Clone, Debug)]
pub struct PostgresDatabase(PostgresPool);

/// A pool of connections to a server, or to a pooler before it.
#[derive(Clone, Debug)]
pub struct PostgresPool {
    /// The connections.
    pub pool: PgPool,
    /// True if a pooler may give each transaction another connection to the server, such as
    /// `PgBouncer` in transaction mode. Then no statement is prepared by name, and each runs in a
    /// transaction with its parsing.
    is_pooled: bool,
    /// The changes, for all readers.
    changes: ChangeFeed,
    forget_lock: ForgetLock,
}

/// The parameter of an address that turns prepared statements with a name off, if it is 0.
const STATEMENT_CACHE: &str = "statement-cache-capacity";

/// Begins a transaction over a connection that keeps no settings.
const BEGIN_POOLED: &str =
    "BEGIN; SET LOCAL lock_timeout = '5s'; SET LOCAL statement_timeout = '10s'";

/// Begins a transaction that creates tables, and waits for others that do the same.
const BEGIN_MIGRATION: &str =
    "BEGIN; SET LOCAL lock_timeout = '60s'; SET LOCAL statement_timeout = '10min'";

/// Locks the tables of a schema against others that create them, until the transaction ends.
const LOCK_MIGRATIONS: &str =
    "SELECT pg_advisory_xact_lock(hashtextextended('tool_migrations ' || current_schema(), 0))";

impl SqlStore<PostgresDatabase> {
    /// Opens the store at an address, such as `postgres://user:password@host:5432/database`. The
    /// tables are created in the first schema of the search path; `?options=-csearch_path%3Dagents`
    /// sets it. `?sslmode=verify-full` requires TLS.
    ///
    /// Add `?statement-cache-capacity=0` for a pooler that may give each transaction another
    /// connection, such as `PgBouncer` in transaction mode. Then no statement is prepared by name,
    /// and each costs two round trips more.
    pub async fn connect(url: &str) -> Result<Self, SqlError> {
        Self::with(connect(url).await?).await
    }

    /// Opens the store in the database of a pool. The pool's options determine how long statements
    /// wait for a connection, and whether connections are tested before use.
    pub async fn from_pool(pool: PgPool) -> Result<Self, SqlError> {
        Self::with(PostgresPool {
            pool,
            is_pooled: false,
            changes: ChangeFeed::default(),
            forget_lock: ForgetLock::default(),
        })
        .await
    }

    /// Returns the changes of agents, approvals and grants from now on, in whichever process or by
    /// whichever statement they are made. Call it in a tokio runtime.
    ///
    /// All readers of a store, and of its clones, share one more connection, which listens. If it is
    /// lost, it is opened again after a pause, and then the readers get [`StoreChange::Unknown`].
    /// Behind a pooler in transaction mode no connection can listen: the store finds out, and its
    /// readers get `Unknown` every five seconds.
    ///
    /// A change has ids only: anyone who may connect to the database can listen.
    ///
    /// [`StoreChange::Unknown`]: tool_core::session::StoreChange::Unknown
    ///
    /// ```no_run
    /// use tool_adapters::stores::PostgresStore;
    /// use tool_core::{Runtime, ToolContext};
    ///
    /// # async fn show() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = PostgresStore::connect("postgres://assistant@db.example/assistant?sslmode=verify-full").await?;
    /// let mut changes = store.changes();
    /// let tools = ToolContext::builder().build()?;
    /// # let key = [7; 32];
    /// let runtime = Runtime::builder(tools).store(store).signing_key(key).build()?;
    ///
    /// // The page of a user. The first change comes at once.
    /// while let Some(change) = changes.next().await {
    ///     if change.concerns("user:7") {
    ///         let page = runtime.pending_approvals("user:7", None, 20).await?;
    ///         println!("{} calls wait for you", page.calls.len());
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn changes(&self) -> StoreChanges {
        let PostgresDatabase(database) = &self.0;
        database
            .changes
            .subscribe(&self.0, &database.pool, database.is_pooled)
    }

    async fn with(pool: PostgresPool) -> Result<Self, SqlError> {
        for tables in TABLES {
            pool.migrate(tables).await?;
        }
        Ok(Self(PostgresDatabase(pool)))
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
                sql: include_str!("migrations/postgres/0001_agents.sql"),
            },
            SqlMigration {
                number: 2,
                name: "actions",
                sql: include_str!("migrations/postgres/0002_actions.sql"),
            },
            SqlMigration {
                number: 3,
                name: "changes of agents",
                sql: include_str!("migrations/postgres/0003_changes_of_agents.sql"),
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
                sql: include_str!("migrations/postgres/0001_sessions.sql"),
            },
            SqlMigration {
                number: 2,
                name: "grants",
                sql: include_str!("migrations/postgres/0002_grants.sql"),
            },
            SqlMigration {
                number: 3,
                name: "changes of sessions",
                sql: include_str!("migrations/postgres/0003_changes_of_sessions.sql"),
            },
        ],
    },
    Tables {
        noted_in: "_tool_histories_migrations",
        applied: "SELECT version, checksum FROM _tool_histories_migrations ORDER BY version",
        migrations: &[SqlMigration {
            number: 1,
            name: "histories",
            sql: include_str!("migrations/postgres/0001_histories.sql"),
        }],
    },
    Tables {
        noted_in: "_tool_journal_migrations",
        applied: "SELECT version, checksum FROM _tool_journal_migrations ORDER BY version",
        migrations: &[SqlMigration {
            number: 1,
            name: "journal",
            sql: include_str!("migrations/postgres/0001_journal.sql"),
        }],
    },
    Tables {
        noted_in: "_tool_limits_migrations",
        applied: "SELECT version, checksum FROM _tool_limits_migrations ORDER BY version",
        migrations: &[SqlMigration {
            number: 1,
            name: "limits",
            sql: include_str!("migrations/postgres/0001_limits.sql"),
        }],
    },
];

/// Returns true if an address is that of a pooler which keeps no prepared statements.
fn is_pooled(url: &str) -> bool {
    let parameters = url.split_once('?').map_or("", |(_, query)| query);
    let mut pairs = parameters
        .split('&')
        .filter_map(|pair| pair.split_once('='));
    pairs.any(|(name, value)| name == STATEMENT_CACHE && value == "0")
}

/// Connects to a database.
pub async fn connect(url: &str) -> Result<PostgresPool, Error> {
    // The parser logs the values of parameters that it does not know, and they may be secret.
    let parse = || PgConnectOptions::from_str(url);
    let options = with_default(NoSubscriber::default(), parse)?.disable_statement_logging();
    let is_pooled = is_pooled(url);
    // A pooler refuses this parameter of a connection.
    let options = if is_pooled {
        options.extra_float_digits(None)
    } else {
        options
    };
    let pool = PgPoolOptions::new()
        .max_connections(CONNECTIONS)
        .acquire_timeout(CONNECT_TIMEOUT);
    let pool = pool
        .test_before_acquire(false)
        .before_acquire(|connection, state| {
            Box::pin(async move {
                if state.idle_for >= TEST_AFTER {
                    connection.ping().await?;
                }
                Ok(true)
            })
        });
    let pool = pool.after_connect(move |connection, _| {
        Box::pin(async move {
            if !is_pooled {
                connection.execute(SERVER_TIMEOUTS).await?;
            }
            Ok(())
        })
    });
    Ok(PostgresPool {
        pool: pool.connect_with(options).await?,
        is_pooled,
        changes: ChangeFeed::default(),
        forget_lock: ForgetLock::default(),
    })
}

impl PostgresPool {
    /// Creates the tables of an area, or updates them. Any number of processes may do so at once:
    /// one does it, and the others wait.
    ///
    /// # Errors
    ///
    /// The tables are of another program or of a newer version, or the user may not create them.
    /// Then nothing has changed.
    pub async fn migrate(&self, tables: &Tables) -> Result<(), SqlError> {
        Ok(self.try_migrate(tables).await?)
    }

    async fn try_migrate(&self, tables: &Tables) -> Result<(), Error> {
        let mut migrator = tables.migrator();
        // The migrator's own lock belongs to the connection, and would outlive a failure.
        migrator.set_locking(false);

        let mut transaction = self.pool.begin().await?;
        let applied = query_as(tables.applied)
            .persistent(!self.is_pooled)
            .fetch_all(&mut *transaction)
            .await;
        transaction.rollback().await?;
        if is_migrated(&migrator, applied) {
            return Ok(());
        }

        let mut transaction = self.pool.begin_with(BEGIN_MIGRATION).await?;
        transaction.execute(LOCK_MIGRATIONS).await?;
        // The migrator prepares statements by name, and another connection of a pooler may have
        // done so before over the same one to the server.
        if self.is_pooled {
            transaction.execute("DEALLOCATE ALL").await?;
        }
        migrator.run_direct(None, &mut *transaction, false).await?;
        if self.is_pooled {
            transaction.execute("DEALLOCATE ALL").await?;
        }
        transaction.commit().await
    }

    /// Runs a statement over one of the connections.
    pub async fn fetch_all(
        &self,
        connection: &mut PoolConnection<Postgres>,
        sql: &'static str,
        arguments: PgArguments,
    ) -> Result<Vec<PgRow>, Error> {
        if !self.is_pooled {
            return query_with(sql, arguments)
                .fetch_all(&mut **connection)
                .await;
        }
        let mut transaction = connection.begin_with(BEGIN_POOLED).await?;
        let rows = query_with(sql, arguments)
            .persistent(false)
            .fetch_all(&mut *transaction)
            .await?;
        transaction.commit().await?;
        Ok(rows)
    }
}

impl SqlDatabase for PostgresDatabase {
    type Row = PgRow;
    type Transaction = PostgresTransaction;

    /// Repeats the statement over another connection if the first one is lost.
    async fn select(&self, sql: &'static str, params: &[Param<'_>]) -> Rows<PgRow> {
        let rows = match run(&self.0, self.0.pool.acquire().await, sql, params).await {
            Err(error) if is_lost(&error) => {
                run(&self.0, self.working_connection().await, sql, params).await
            }
            outcome => outcome,
        };
        Ok(rows?)
    }

    /// Begins over another connection if the first one is lost.
    async fn begin(&self) -> Result<PostgresTransaction, SqlError> {
        let transaction = match self.try_begin(self.0.pool.acquire().await).await {
            Err(error) if is_lost(&error) => self.try_begin(self.working_connection().await).await,
            outcome => outcome,
        };
        Ok(PostgresTransaction {
            transaction: transaction?,
            is_pooled: self.0.is_pooled,
        })
    }

    /// Does not repeat the statement after a lost connection, because it may have taken effect.
    async fn change(&self, sql: &'static str, params: &[Param<'_>]) -> Rows<PgRow> {
        let mut attempts = ATTEMPTS;
        loop {
            attempts -= 1;
            match run(&self.0, self.0.pool.acquire().await, sql, params).await {
                Err(error) if is_rolled_back(&error) && attempts > 0 => {}
                // Another writer has inserted the record at the same moment.
                Err(Error::Database(error)) if error.is_unique_violation() => return Ok(Vec::new()),
                outcome => return Ok(outcome?),
            }
        }
    }
}

/// A transaction of a [`PostgresDatabase`].
pub(crate) struct PostgresTransaction {
    transaction: Transaction<'static, Postgres>,
    is_pooled: bool,
}

impl SqlTransaction for PostgresTransaction {
    type Row = PgRow;

    async fn run(&mut self, sql: &'static str, params: &[Param<'_>]) -> Rows<PgRow> {
        let rows = query_with(sql, arguments::<PgArguments>(params)?)
            .persistent(!self.is_pooled)
            .fetch_all(&mut *self.transaction);
        in_time(rows).await
    }

    async fn commit(self) -> Result<(), SqlError> {
        in_time(self.transaction.commit()).await
    }
}

/// Waits for an answer, for at most [`ANSWER_TIMEOUT`].
async fn in_time<T>(answer: impl Future<Output = Result<T, Error>>) -> Result<T, SqlError> {
    match timeout(ANSWER_TIMEOUT, answer).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(Error::Io(std::io::ErrorKind::TimedOut.into()).into()),
    }
}

#[cfg(feature = "agent-records")]
impl AgentDatabase for PostgresDatabase {
    /// Looks for the record first, because the trigger runs before the index finds a duplicate.
    const INSERT: &'static str = include_str!("sql/postgres/insert.sql");

    const UPDATE: &'static str = include_str!("sql/postgres/update.sql");

    const LEASE: &'static str = include_str!("sql/postgres/lease.sql");

    const KEEP_ACTION: &'static str = "SELECT 1 WHERE tool_keep_action($1, $2, $3, $4, $5, $6, $7)";
}

impl SessionDatabase for PostgresDatabase {
    const LOCK_SESSION: &'static str = include_str!("sql/postgres/lock_session.sql");

    const LOCK_OPENINGS: Option<&'static str> =
        Some(include_str!("sql/postgres/lock_openings.sql"));

    const FORGET: [&'static str; 5] = FORGET_UNLOCKED;

    fn forget_lock(&self) -> &ForgetLock {
        &self.0.forget_lock
    }
}

impl JournalDatabase for PostgresDatabase {
    const LOCK_CALL: &'static str = include_str!("sql/postgres/lock_journal_call.sql");
}

impl HistoryDatabase for PostgresDatabase {
    const LOCK_CONVERSATION: &'static str = include_str!("sql/postgres/lock_conversation.sql");

    const ADD_MESSAGES: &'static str = include_str!("sql/postgres/add_messages.sql");
}

impl PostgresDatabase {
    async fn try_begin(
        &self,
        connection: Result<PoolConnection<Postgres>, Error>,
    ) -> Result<Transaction<'static, Postgres>, Error> {
        let begin = if self.0.is_pooled {
            BEGIN_POOLED
        } else {
            "BEGIN"
        };
        Transaction::begin(connection?, Some(begin.into_sql_str())).await
    }

    /// Returns a tested connection. A restart of the server breaks all connections of the pool.
    async fn working_connection(&self) -> Result<PoolConnection<Postgres>, Error> {
        for _ in 0..=self.0.pool.options().get_max_connections() {
            let mut connection = self.0.pool.acquire().await?;
            if timeout(CONNECT_TIMEOUT, connection.ping())
                .await
                .is_ok_and(|answer| answer.is_ok())
            {
                return Ok(connection);
            }
            drop(connection.detach());
        }
        Err(Error::PoolTimedOut)
    }
}

/// Runs a statement. Closes the connection if there is no answer in time.
async fn run(
    pool: &PostgresPool,
    connection: Result<PoolConnection<Postgres>, Error>,
    sql: &'static str,
    params: &[Param<'_>],
) -> Result<Vec<PgRow>, Error> {
    let mut connection = connection?;
    let answer = pool.fetch_all(&mut connection, sql, arguments::<PgArguments>(params)?);
    if let Ok(rows) = timeout(ANSWER_TIMEOUT, answer).await {
        return rows;
    }
    drop(connection.detach());
    Err(Error::Io(std::io::ErrorKind::TimedOut.into()))
}

/// Returns true if the connection is lost and another one may work.
fn is_lost(error: &Error) -> bool {
    match error {
        Error::Io(_) | Error::Protocol(_) | Error::WorkerCrashed => true,
        // Shut down, crashed, starting, connection failed.
        Error::Database(error) => error.code().is_some_and(|code| {
            matches!(&*code, "57P01" | "57P02" | "57P03") || code.starts_with("08")
        }),
        _ => false,
    }
}

/// Returns true if the server has rolled the change back: a serialization failure or a deadlock.
fn is_rolled_back(error: &Error) -> bool {
    let code = error.as_database_error().and_then(DatabaseError::code);
    code.is_some_and(|code| matches!(&*code, "40001" | "40P01"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_says_that_a_pooler_is_before_the_server() {
        for (url, expected) in [
            ("postgres://a@h/d?statement-cache-capacity=0", true),
            (
                "postgres://a@h/d?sslmode=require&statement-cache-capacity=0",
                true,
            ),
            ("postgres://a@h/d?statement-cache-capacity=100", false),
            ("postgres://a:statement-cache-capacity=0@h/d", false),
            ("postgres://a@h/d", false),
        ] {
            assert_eq!(is_pooled(url), expected, "{url}");
        }
    }
}
