//! The columns of a row, in either database: read, and bound to a question.

use serde_json::Value;
use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::query::Query;
use sqlx::{ColumnIndex, Database, Decode, Encode, Error, Row, SqlSafeStr, Type};
use std::collections::BTreeSet;
use std::time::Duration;
use tool_core::agents::{
    AgentRecords, AgentStoreError, AgentTools, Precondition, RecordWrite, SealedRow, SealedSecrets, SecretsWrite,
    UnreadableRow,
};

/// A version, or how many there are.
pub(crate) fn number<'r, R>(row: &'r R, column: usize) -> Result<u64, AgentStoreError>
where
    R: Row,
    usize: ColumnIndex<R>,
    i64: Decode<'r, R::Database> + Type<R::Database>,
{
    let number: i64 = row.try_get(column).map_err(|error| down(&error))?;
    u64::try_from(number).map_err(|_| AgentStoreError::Unreadable("a version of it is negative".into()))
}

/// An id.
pub(crate) fn text<'r, R>(row: &'r R, column: usize) -> Result<String, AgentStoreError>
where
    R: Row,
    usize: ColumnIndex<R>,
    String: Decode<'r, R::Database> + Type<R::Database>,
{
    row.try_get(column).map_err(|error| down(&error))
}

/// What makes a record of a toolset.
pub(crate) fn read<'r, R>(row: &'r R, tool: String) -> Result<Columns, UnreadableRow>
where
    R: Row,
    usize: ColumnIndex<R>,
    bool: Decode<'r, R::Database> + Type<R::Database>,
    i64: Decode<'r, R::Database> + Type<R::Database>,
    String: Decode<'r, R::Database> + Type<R::Database>,
    Vec<u8>: Decode<'r, R::Database> + Type<R::Database>,
{
    let read = || -> Result<Columns, Error> {
        Ok(Columns {
            tool: tool.clone(),
            enabled: row.try_get(2)?,
            disabled_actions: row.try_get(3)?,
            config: row.try_get(4)?,
            secrets_key: row.try_get(5)?,
            secrets: row.try_get(6)?,
            version: row.try_get(7)?,
        })
    };
    read().map_err(|error| unreadable(&tool, &error))
}

/// Secrets, and whose they are.
pub(crate) fn sealed<'r, R>(row: &'r R) -> Result<SealedRow, AgentStoreError>
where
    R: Row,
    usize: ColumnIndex<R>,
    String: Decode<'r, R::Database> + Type<R::Database>,
    Vec<u8>: Decode<'r, R::Database> + Type<R::Database>,
{
    let bytes: Vec<u8> = row.try_get(3).map_err(|error| down(&error))?;
    Ok(SealedRow::new(text(row, 0)?, text(row, 1)?, SealedSecrets::new(text(row, 2)?, bytes)))
}

/// A row of which a column cannot be read at all.
fn unreadable(tool: &str, error: &Error) -> UnreadableRow {
    const NAMES: [&str; 8] =
        ["version", "tool", "enabled", "disabled_actions", "config", "secrets_key", "secrets", "version"];
    let name = match error {
        Error::ColumnDecode { index, .. } => index.parse::<usize>().ok().and_then(|index| NAMES.get(index)),
        _ => None,
    };
    UnreadableRow::new(tool, format!("`{}` holds something else than it should", name.unwrap_or(&"a column")))
}

/// What a write puts down, in the order of the statements: the expected version and whether secrets stay come last,
/// where there is a record already.
pub(crate) fn bound<'q, DB>(
    query: Query<'q, DB, DB::Arguments>,
    write: &'q RecordWrite,
    texts: &'q Texts,
) -> Query<'q, DB, DB::Arguments>
where
    DB: Database,
    bool: Encode<'q, DB> + Type<DB>,
    i64: Encode<'q, DB> + Type<DB>,
    &'q str: Encode<'q, DB> + Type<DB>,
    Option<&'q str>: Encode<'q, DB> + Type<DB>,
    Option<&'q [u8]>: Encode<'q, DB> + Type<DB>,
{
    let secrets = match &write.secrets {
        SecretsWrite::Set(sealed) => Some((sealed.key(), sealed.bytes())),
        SecretsWrite::Keep | SecretsWrite::Clear => None,
    };
    let query = query.bind(&*write.agent).bind(&*write.tool).bind(write.enabled);
    let query = query.bind(&*texts.disabled_actions).bind(&*texts.config);
    let query = query.bind(secrets.map(|(key, _)| key)).bind(secrets.map(|(_, bytes)| bytes));
    match write.expected {
        Precondition::Absent => query,
        Precondition::Version(version) => {
            query.bind(i64::try_from(version).unwrap_or(-1)).bind(write.secrets == SecretsWrite::Keep)
        }
    }
}

// ---- What went wrong in a database, in words that hold no password and no value.

/// The store did not do it.
pub(crate) fn down(error: &Error) -> AgentStoreError {
    AgentStoreError::down(words(error))
}

fn words(error: &Error) -> String {
    match error {
        Error::Database(error) => database(error.as_ref()),
        Error::Io(error) => format!("it cannot be reached: {error}"),
        Error::Tls(error) => format!("there is no secure connection: {error}"),
        Error::PoolTimedOut => "no connection was free in time: it cannot be reached, or has too much to do".into(),
        Error::PoolClosed => "its connections were closed".into(),
        Error::WorkerCrashed => "the connection broke".into(),
        Error::Migrate(error) => migrate(error),
        // Their texts may quote an address with its password, or a value.
        Error::Configuration(_) => "its address is none that can be used".into(),
        Error::Protocol(_) => "it answers in a way that is not understood".into(),
        Error::ColumnDecode { index, .. } => format!("column {index} holds something else than it should"),
        Error::ColumnNotFound(name) => format!("its tables are others: there is no column {name}"),
        _ => "it failed".into(),
    }
}

/// SQLite's messages name tables and columns; PostgreSQL's may quote what was given, so that some are told by their code
/// alone.
fn database(error: &dyn sqlx::error::DatabaseError) -> String {
    // Classes of SQLSTATE: who may connect, what is there, what there is enough of, and the operator's doings.
    const TOLD: [&str; 9] = ["08", "28", "3D", "3F", "40", "42", "53", "55", "57"];
    let code = error.code().unwrap_or_default();
    // SQLite's codes are shorter.
    let is_state = code.len() == 5;
    if is_state && !TOLD.iter().any(|class| code.starts_with(class)) {
        format!("it refused, with SQLSTATE {code}")
    } else {
        format!("{} (code {code})", error.message())
    }
}

fn migrate(error: &MigrateError) -> String {
    match error {
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => {
            format!("its tables cannot be made: {}", words(error))
        }
        MigrateError::VersionMissing(_) | MigrateError::VersionTooNew(..) => {
            "its tables are of a newer version of this program; use that one".into()
        }
        MigrateError::VersionMismatch(number) => {
            format!("its tables were made otherwise: step {number} is not the one of this program")
        }
        _ => "its tables cannot be made".into(),
    }
}

// ---- The tables, and bringing a database up to them.

/// Where it is noted what a database has. Not sqlx's own table, which the program's migrations have.
const NOTED_IN: &str = "_tool_agents_migrations";

pub(crate) const DONE: &str = "SELECT version, checksum FROM _tool_agents_migrations ORDER BY version";

#[cfg(feature = "postgres")]
pub(crate) const POSTGRES: &[(i64, &str, &str)] = &[(1, "agents", include_str!("migrations/postgres/0001_agents.sql"))];

#[cfg(feature = "sqlite")]
pub(crate) const SQLITE: &[(i64, &str, &str)] = &[(1, "agents", include_str!("migrations/sqlite/0001_agents.sql"))];

/// Runs what a database does not have yet: number, name and statements of each.
pub(crate) fn migrator(all: &'static [(i64, &'static str, &'static str)]) -> Migrator {
    let migrations = all.iter().map(|(number, name, sql)| {
        Migration::new(*number, (*name).into(), MigrationType::Simple, sql.into_sql_str(), false)
    });
    let mut migrator = Migrator::with_migrations(migrations.collect());
    migrator.dangerous_set_table_name(NOTED_IN);
    migrator
}

/// Whether a database has all of it. Then there is nothing to lock, and no right to make tables is needed. Where it is not
/// known, the migrator looks, and says what is wrong.
pub(crate) fn are_done(migrator: &Migrator, noted: Result<Vec<(i64, Vec<u8>)>, Error>) -> bool {
    let Ok(noted) = noted else { return false };
    let noted = noted.iter().map(|(version, checksum)| (*version, &**checksum));
    noted.eq(migrator.iter().map(|migration| (migration.version, &*migration.checksum)))
}

// ---- From the columns of a row to a record, and back. Whatever stands in a row that somebody wrote by hand: no error shows
// it.

/// The columns that make a record, as text where a person may have written them.
pub(crate) struct Columns {
    pub(crate) tool: String,
    pub(crate) enabled: bool,
    pub(crate) disabled_actions: String,
    pub(crate) config: String,
    pub(crate) secrets_key: Option<String>,
    pub(crate) secrets: Option<Vec<u8>>,
    pub(crate) version: i64,
}

impl Columns {
    /// The record, or what is wrong with the row.
    pub(crate) fn into_record(self, agent: &str) -> Result<AgentTools, UnreadableRow> {
        let Self { tool, enabled, disabled_actions, config, secrets_key, secrets, version } = self;
        let unreadable = |why: String| UnreadableRow::new(&tool, why);
        let version = u64::try_from(version).map_err(|_| unreadable("its version is negative".into()))?;
        let mut record = AgentTools::new(agent, &tool, version);
        record.enabled = enabled;
        record.disabled_actions = actions(&disabled_actions).map_err(unreadable)?;
        record.config = settings(&config).map_err(unreadable)?;
        record.secrets = match (secrets_key, secrets) {
            (Some(key), Some(bytes)) => Some(SealedSecrets::new(key, bytes)),
            (None, None) => None,
            _ => return Err(unreadable("its secrets have no key, or its key no secrets".into())),
        };
        Ok(record)
    }
}

fn actions(text: &str) -> Result<BTreeSet<String>, String> {
    let wrong = |why| format!("`disabled_actions` is no JSON array of names: {why}");
    serde_json::from_str(text).map_err(|error| wrong(place(&error)))
}

fn settings(text: &str) -> Result<Value, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("`config` is no JSON: {}", place(&error)))?;
    if value.is_object() { Ok(value) } else { Err("`config` is JSON, but no object".into()) }
}

/// Where it stopped, without what stands there.
fn place(error: &serde_json::Error) -> String {
    format!("see line {}, column {}", error.line(), error.column())
}

/// What is written of a record, as text.
pub(crate) struct Texts {
    pub(crate) disabled_actions: String,
    pub(crate) config: String,
}

impl Texts {
    pub(crate) fn of(write: &RecordWrite) -> Result<Self, AgentStoreError> {
        let failed =
            |error: serde_json::Error| AgentStoreError::Unreadable(format!("it is no JSON: {}", place(&error)));
        let disabled_actions = serde_json::to_string(&write.disabled_actions).map_err(failed)?;
        Ok(Self { disabled_actions, config: serde_json::to_string(&write.config).map_err(failed)? })
    }
}

/// All rows of an agent, with those that are no records apart.
pub(crate) fn records(
    agent: &str,
    version: u64,
    rows: impl Iterator<Item = Result<Columns, UnreadableRow>>,
) -> AgentRecords {
    let (mut tools, mut unreadable) = (Vec::new(), Vec::new());
    for row in rows {
        match row.and_then(|columns| columns.into_record(agent)) {
            Ok(record) => tools.push(record),
            Err(row) => unreadable.push(row),
        }
    }
    AgentRecords::new(version, tools, unreadable)
}

/// A time that a database can add to its clock: ten years stand for longer.
pub(crate) fn milliseconds(time: Duration) -> i64 {
    const LONGEST: i64 = 10 * 366 * 24 * 3600 * 1000;
    i64::try_from(time.as_millis()).map_or(LONGEST, |time| time.min(LONGEST))
}
