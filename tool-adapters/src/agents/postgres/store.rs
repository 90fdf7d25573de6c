//! The store over PostgreSQL.

use super::connections::{alive, ask, connect, is_lost, is_undone};
use super::sql;
use crate::agents::columns;
use crate::agents::failure::down;
use crate::agents::migrations;
use crate::agents::row::{Columns, Texts};
use sqlx::postgres::{PgArguments, PgPool, PgRow};
use sqlx::query::Query;
use sqlx::{Error, Postgres, Row, query, query_as};
use tool_core::agents::{AgentStoreError, Precondition, RecordWrite, UnreadableRow};

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
        let migrator = migrations::migrator(migrations::POSTGRES);
        if !migrations::are_done(&migrator, query_as(migrations::DONE).fetch_all(&pool).await) {
            migrator.run(&pool).await.map_err(|error| down(&error.into()))?;
        }
        Ok(Self { pool })
    }

    /// Asks again, over another connection, where the first one is gone: what only reads may be asked twice.
    pub(super) async fn read<'q>(&self, asks: impl Fn() -> Asked<'q>) -> Result<Vec<PgRow>, AgentStoreError> {
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
    pub(super) async fn affects<'q>(&self, change: impl Fn() -> Asked<'q>) -> Result<bool, AgentStoreError> {
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

    pub(super) async fn found(&self, agent: &str, tool: &str) -> Result<Option<u64>, AgentStoreError> {
        let rows = self.read(|| query(sql::FOUND).bind(agent).bind(tool)).await?;
        rows.first().map(|row| columns::number(row, 0)).transpose()
    }

    /// The new version; `None` where the record is not what the writer expects.
    pub(super) async fn write_once(&self, write: &RecordWrite, texts: &Texts) -> Result<Option<u64>, AgentStoreError> {
        let mut tries = TRIES;
        loop {
            tries -= 1;
            match self.once(change(write, texts)).await {
                Err(error) if is_undone(&error) && tries > 0 => {}
                // Another writer was first by a moment.
                Err(Error::Database(error)) if error.is_unique_violation() => return Ok(None),
                Err(error) => return Err(down(&error)),
                Ok(rows) => return rows.first().map(|row| columns::number(row, 0)).transpose(),
            }
        }
    }
}

fn change<'q>(write: &'q RecordWrite, texts: &'q Texts) -> Asked<'q> {
    let sql = if write.expected == Precondition::Absent { sql::INSERT } else { sql::UPDATE };
    columns::bound(query(sql), write, texts)
}

pub(super) fn record(row: &PgRow) -> Result<Columns, UnreadableRow> {
    let tool: String = row.try_get(1).unwrap_or_default();
    columns::read(row, tool)
}
