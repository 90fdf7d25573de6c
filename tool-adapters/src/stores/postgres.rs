//! The records of agents on a server.

use crate::stores::sql;
use crate::stores::sql::{Columns, Texts, down, milliseconds, number, records, sealed, text};
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgArguments, PgConnectOptions, PgConnection, PgPool, PgPoolOptions, PgRow};
use sqlx::query::Query;
use sqlx::{ConnectOptions, Connection, Error, Executor, Postgres, Row, ValueRef, query, query_as};
use std::str::FromStr;
use std::time::Duration;
use tokio::time::timeout;
use tool_core::agents::{
    AgentRecords, AgentStoreError, AgentSummary, AgentToolStore, AgentTools, Precondition, RecordWrite, SealedRow,
    SealedSecrets, UnreadableRow,
};
use tool_core::session::Operation;

// ---- The store over PostgreSQL.

/// How often a change is tried that the server undid.
const TRIES: u32 = 5;

/// The records of agents on a PostgreSQL server, 12 or newer, in UTF-8. Cheap to clone.
///
/// Settings hold every character; ids hold no NUL, as everywhere.
#[derive(Clone, Debug)]
pub struct PostgresStore {
    pool: PgPool,
}

type Asked<'q> = Query<'q, Postgres, PgArguments>;

impl PostgresStore {
    /// The store at an address, `postgres://user:password@host:5432/database`. The tables are made in the first schema of
    /// its search path: `?options=-csearch_path%3Dagents` names one. `?sslmode=verify-full` asks for TLS.
    pub async fn connect(url: &str) -> Result<Self, AgentStoreError> {
        let pool = connect(url).await.map_err(|error| down(&error))?;
        Self::from_pool(pool).await
    }

    /// The store in the database of a pool, whose options say how long it waits, and whether connections are asked first
    /// if they are alive.
    pub async fn from_pool(pool: PgPool) -> Result<Self, AgentStoreError> {
        let migrator = sql::migrator(sql::POSTGRES);
        if !sql::are_done(&migrator, query_as(sql::DONE).fetch_all(&pool).await) {
            migrator.run(&pool).await.map_err(|error| down(&error.into()))?;
        }
        Ok(Self { pool })
    }

    /// Asks again, over another connection, where the first one is gone: what only reads may be asked twice.
    pub(crate) async fn read<'q>(&self, asks: impl Fn() -> Asked<'q>) -> Result<Vec<PgRow>, AgentStoreError> {
        let rows = match self.once(asks()).await {
            Err(error) if is_lost(&error) => match alive(&self.pool).await {
                Ok(connection) => ask(connection, async |connection| asks().fetch_all(connection).await).await,
                Err(error) => Err(error),
            },
            rows => rows,
        };
        rows.map_err(|error| down(&error))
    }

    async fn once(&self, query: Asked<'_>) -> Result<Vec<PgRow>, Error> {
        ask(self.pool.acquire().await?, async |connection| query.fetch_all(connection).await).await
    }

    /// How many rows a change changed.
    pub(crate) async fn affects<'q>(&self, change: impl Fn() -> Asked<'q>) -> Result<bool, AgentStoreError> {
        let mut tries = TRIES;
        loop {
            tries -= 1;
            let connection = self.pool.acquire().await.map_err(|error| down(&error))?;
            match ask(connection, async |connection| change().execute(connection).await).await {
                Err(error) if is_undone(&error) && tries > 0 => {}
                done => return done.map(|done| done.rows_affected() > 0).map_err(|error| down(&error)),
            }
        }
    }

    pub(crate) async fn found(&self, agent: &str, tool: &str) -> Result<Option<u64>, AgentStoreError> {
        let rows = self.read(|| query(FOUND).bind(agent).bind(tool)).await?;
        rows.first().map(|row| sql::number(row, 0)).transpose()
    }

    /// The new version; `None` where the record is not what the writer expects.
    pub(crate) async fn write_once(&self, write: &RecordWrite, texts: &Texts) -> Result<Option<u64>, AgentStoreError> {
        let mut tries = TRIES;
        loop {
            tries -= 1;
            match self.once(change(write, texts)).await {
                Err(error) if is_undone(&error) && tries > 0 => {}
                // Another writer was first by a moment.
                Err(Error::Database(error)) if error.is_unique_violation() => return Ok(None),
                Err(error) => return Err(down(&error)),
                Ok(rows) => return rows.first().map(|row| sql::number(row, 0)).transpose(),
            }
        }
    }
}

fn change<'q>(write: &'q RecordWrite, texts: &'q Texts) -> Asked<'q> {
    let sql = if write.expected == Precondition::Absent { INSERT } else { UPDATE };
    sql::bound(query(sql), write, texts)
}

pub(crate) fn record(row: &PgRow) -> Result<Columns, UnreadableRow> {
    let tool: String = row.try_get(1).unwrap_or_default();
    sql::read(row, tool)
}

// ---- What is asked of the store.

impl AgentToolStore for PostgresStore {
    fn version<'a>(&'a self, agent: &'a str) -> Operation<'a, Result<u64, AgentStoreError>> {
        Operation::later(async move {
            let rows = self.read(|| query(VERSION).bind(id(agent))).await?;
            rows.first().map_or(Ok(0), |row| number(row, 0))
        })
    }

    fn load<'a>(&'a self, agent: &'a str) -> Operation<'a, Result<AgentRecords, AgentStoreError>> {
        Operation::later(async move {
            let rows = self.read(|| query(LOAD).bind(id(agent))).await?;
            let Some(first) = rows.first() else { return Ok(AgentRecords::default()) };
            // An agent whose records were all removed has a version still, and no toolset beside it.
            let there = rows.iter().filter(|row| row.try_get_raw(1).is_ok_and(|tool| !tool.is_null()));
            Ok(records(agent, number(first, 0)?, there.map(record)))
        })
    }

    fn get<'a>(&'a self, agent: &'a str, tool: &'a str) -> Operation<'a, Result<Option<AgentTools>, AgentStoreError>> {
        Operation::later(async move {
            let rows = self.read(|| query(GET).bind(id(agent)).bind(id(tool))).await?;
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
            if self.affects(|| query(REMOVE).bind(id(agent)).bind(id(tool)).bind(version)).await? {
                return Ok(());
            }
            Err(AgentStoreError::Conflict { found: self.found(id(agent), id(tool)).await? })
        })
    }

    fn agents<'a>(
        &'a self,
        after: Option<&'a str>,
        limit: u32,
    ) -> Operation<'a, Result<Vec<AgentSummary>, AgentStoreError>> {
        Operation::later(async move {
            let rows = self.read(|| query(AGENTS).bind(after.map(before_nul)).bind(i64::from(limit))).await?;
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
            // Of an agent that comes first among those after a NUL, no toolset is left.
            let (agent, tool) =
                after.map(|(agent, tool)| (before_nul(agent), (!agent.contains('\0')).then_some(tool))).unzip();
            let tool = tool.flatten().map(before_nul);
            let rows = self.read(|| query(SEALED).bind(id(key)).bind(agent).bind(tool).bind(i64::from(limit))).await?;
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
            let query =
                || query(REPLACE_SECRETS).bind(id(agent)).bind(id(tool)).bind(id(from.key())).bind(from.bytes());
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
            self.affects(|| query(LEASE).bind(id(agent)).bind(id(tool)).bind(holder).bind(milliseconds(lasts))).await
        })
    }

    fn release<'a>(
        &'a self,
        agent: &'a str,
        tool: &'a str,
        holder: &'a str,
    ) -> Operation<'a, Result<(), AgentStoreError>> {
        Operation::later(async move {
            self.affects(|| query(RELEASE).bind(id(agent)).bind(id(tool)).bind(holder)).await.map(drop)
        })
    }
}

/// Text in PostgreSQL has no NUL, and one is an error. What has one is found nowhere, like the empty id.
fn id(text: &str) -> &str {
    if text.contains('\0') { "" } else { text }
}

/// What sorts after a text with a NUL sorts after what is before it, where nothing has one.
fn before_nul(text: &str) -> &str {
    text.split('\0').next().unwrap_or_default()
}

// ---- Connections to the server.

const CONNECTIONS: u32 = 8;
/// How long it takes until it is an error that no connection is to be had.
const CONNECTING: Duration = Duration::from_secs(3);
/// How long until it is one that there is no answer. The server gives up first, so that it does not do it later.
const ANSWER: Duration = Duration::from_secs(15);
const LIMITS: &str = "SET lock_timeout = '5s'; SET statement_timeout = '10s'";
/// Unused for so long, a connection is asked whether it is alive. Each time would cost each operation a round trip.
const RESTED: Duration = Duration::from_secs(1);

pub(crate) async fn connect(url: &str) -> Result<PgPool, Error> {
    let options = PgConnectOptions::from_str(url)?.disable_statement_logging();
    let pool = PgPoolOptions::new().max_connections(CONNECTIONS).acquire_timeout(CONNECTING);
    let pool = pool.test_before_acquire(false).before_acquire(|connection, known| {
        Box::pin(async move {
            if known.idle_for >= RESTED {
                connection.ping().await?;
            }
            Ok(true)
        })
    });
    let pool = pool.after_connect(|connection, _| Box::pin(async move { connection.execute(LIMITS).await.map(drop) }));
    pool.connect_with(options).await
}

/// Asks once. A connection that does not answer is closed.
pub(crate) async fn ask<T>(
    mut connection: PoolConnection<Postgres>,
    asks: impl AsyncFnOnce(&mut PgConnection) -> Result<T, Error>,
) -> Result<T, Error> {
    if let Ok(answer) = timeout(ANSWER, asks(&mut connection)).await {
        return answer;
    }
    drop(connection.detach());
    Err(Error::Io(std::io::ErrorKind::TimedOut.into()))
}

/// A connection that has just answered, for when one has not: there may be more that a restart of the server broke.
pub(crate) async fn alive(pool: &PgPool) -> Result<PoolConnection<Postgres>, Error> {
    for _ in 0..=pool.options().get_max_connections() {
        let mut connection = pool.acquire().await?;
        if timeout(CONNECTING, connection.ping()).await.is_ok_and(|answer| answer.is_ok()) {
            return Ok(connection);
        }
        drop(connection.detach());
    }
    Err(Error::PoolTimedOut)
}

/// Whether the connection is gone, and another one may do.
pub(crate) fn is_lost(error: &Error) -> bool {
    match error {
        Error::Io(_) | Error::Protocol(_) | Error::WorkerCrashed => true,
        // Shut down, crashed, starting, connection failed.
        Error::Database(error) => {
            error.code().is_some_and(|code| matches!(&*code, "57P01" | "57P02" | "57P03") || code.starts_with("08"))
        }
        _ => false,
    }
}

/// Whether the server undid it, so that others could go on: two that wait for each other.
pub(crate) fn is_undone(error: &Error) -> bool {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    code.is_some_and(|code| matches!(&*code, "40001" | "40P01"))
}

// ---- What is asked of PostgreSQL. Each is one statement, so that it is done in whole or not at all, in one round trip.
// Changes of an agent wait for one another: the trigger locks the row of the agent.

pub(crate) const VERSION: &str = "SELECT version FROM tool_agents WHERE agent_id = $1";

pub(crate) const LOAD: &str = "
SELECT tool_agents.version, tool, enabled, disabled_actions::text, config::text, secrets_key, secrets,
    tool_agent_records.version
FROM tool_agents LEFT JOIN tool_agent_records USING (agent_id) WHERE agent_id = $1 ORDER BY tool";

pub(crate) const GET: &str = "
SELECT 0::bigint, tool, enabled, disabled_actions::text, config::text, secrets_key, secrets, version
FROM tool_agent_records WHERE agent_id = $1 AND tool = $2";

/// One that is there already is looked for first, as the trigger runs before the index says so.
pub(crate) const INSERT: &str = "
INSERT INTO tool_agent_records (agent_id, tool, enabled, disabled_actions, config, secrets_key, secrets)
SELECT $1, $2, $3, $4::json, $5::json, $6, $7
WHERE NOT EXISTS (SELECT 1 FROM tool_agent_records WHERE agent_id = $1 AND tool = $2)
RETURNING version";

pub(crate) const UPDATE: &str = "
UPDATE tool_agent_records SET enabled = $3, disabled_actions = $4::json, config = $5::json,
    secrets_key = CASE WHEN $9 THEN secrets_key ELSE $6 END, secrets = CASE WHEN $9 THEN secrets ELSE $7 END
WHERE agent_id = $1 AND tool = $2 AND version = $8
RETURNING version";

pub(crate) const FOUND: &str = "SELECT version FROM tool_agent_records WHERE agent_id = $1 AND tool = $2";

pub(crate) const REMOVE: &str = "DELETE FROM tool_agent_records WHERE agent_id = $1 AND tool = $2 AND version = $3";

pub(crate) const AGENTS: &str = "
SELECT agent_id, tool_agents.version, count(*) FROM tool_agents JOIN tool_agent_records USING (agent_id)
WHERE $1::text IS NULL OR agent_id > $1 GROUP BY agent_id ORDER BY agent_id LIMIT $2";

pub(crate) const SEALED: &str = "
SELECT agent_id, tool, secrets_key, secrets FROM tool_agent_records
WHERE secrets_key <> $1 AND ($2::text IS NULL OR (agent_id, tool) > ($2, $3)) ORDER BY agent_id, tool LIMIT $4";

pub(crate) const REPLACE_SECRETS: &str = "
UPDATE tool_agent_records SET secrets_key = $5, secrets = $6, quiet = quiet + 1
WHERE agent_id = $1 AND tool = $2 AND secrets_key = $3 AND secrets = $4";

pub(crate) const LEASE: &str = "
UPDATE tool_agent_records SET lease_holder = $3, lease_until = clock_timestamp() + $4 * interval '1 millisecond'
WHERE agent_id = $1 AND tool = $2
    AND (lease_holder IS NULL OR lease_holder = $3 OR lease_until <= clock_timestamp())";

pub(crate) const RELEASE: &str = "
UPDATE tool_agent_records SET lease_holder = NULL, lease_until = NULL WHERE agent_id = $1 AND tool = $2 AND lease_holder = $3";
