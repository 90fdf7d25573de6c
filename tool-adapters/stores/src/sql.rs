//! The records of agents in an SQL database: the parts that SQLite and PostgreSQL share.
//!
//! Each operation is one statement, so that it takes effect as a whole or not at all. Triggers in the tables raise the
//! versions, also after changes by hand.

use serde_json::Value;
use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::{Arguments, ColumnIndex, Decode, Encode, Error, Row, SqlSafeStr, Type, ValueRef};
use std::collections::BTreeSet;
use std::time::Duration;
use tool_core::agents::{
    AgentRecords, AgentStoreError, AgentSummary, AgentToolStore, AgentTools, Precondition,
    RecordWrite, SealedRow, SealedSecrets, SecretsWrite, UnreadableRow,
};
use tool_core::session::{ApprovalLimit, ApprovalLimits, ApprovalVerdict, PendingCall};
use tool_core::time::whole_milliseconds;

/// The records of agents in an SQL database: [`SqliteStore`](super::SqliteStore) or
/// [`PostgresStore`](super::PostgresStore). Cheap to clone.
#[derive(Clone, Debug)]
pub struct SqlStore<D>(pub(crate) D);

/// A database with the tables of agents, and the statements that only this database understands.
pub(crate) trait SqlDatabase: Send + Sync + 'static {
    /// A row of a result.
    type Row: SqlRow;
    /// Inserts a record unless it exists. Parameters: see [`write_params`]. Returns its version.
    const INSERT: &'static str;
    /// Updates a record of a version. Parameters: see [`write_params`]. Returns its new version.
    const UPDATE: &'static str;
    /// Acquires a lease. Parameters: agent, toolset, holder and milliseconds. Returns a row if it is acquired.
    const LEASE: &'static str;
    /// Keeps an action if there is room. Parameters: agent, id, action, bytes, milliseconds, and the most actions and bytes.
    /// Returns a row if it is kept.
    const KEEP_ACTION: &'static str;

    /// Runs a statement that changes nothing.
    fn select(
        &self,
        sql: &'static str,
        params: &[Param<'_>],
    ) -> impl Future<Output = Rows<Self::Row>> + Send;

    /// Runs a statement that changes records.
    fn change(
        &self,
        sql: &'static str,
        params: &[Param<'_>],
    ) -> impl Future<Output = Rows<Self::Row>> + Send;
}

/// The rows that a statement returns.
pub(crate) type Rows<R> = Result<Vec<R>, AgentStoreError>;

const VERSION: &str = "SELECT version FROM tool_agents WHERE agent_id = $1";

/// The columns of a record, then the agent's version. The columns of the record are null if the agent has none.
const LOAD: &str = include_str!("sql/load.sql");

const GET: &str = include_str!("sql/get.sql");

const RECORD_VERSION: &str =
    "SELECT version FROM tool_agent_records WHERE agent_id = $1 AND tool = $2";

const REMOVE: &str =
    "DELETE FROM tool_agent_records WHERE agent_id = $1 AND tool = $2 AND version = $3 RETURNING 1";

const AGENTS: &str = include_str!("sql/agents.sql");

const SEALED: &str = include_str!("sql/sealed.sql");

const REPLACE_SECRETS: &str = include_str!("sql/replace_secrets.sql");

const RELEASE: &str = include_str!("sql/release.sql");

const ACTION: &str = "SELECT action FROM tool_agent_actions, tool_clock WHERE agent_id = $1 AND id = $2 AND expires_at > now";

const TAKE_ACTION: &str = "DELETE FROM tool_agent_actions \
    WHERE agent_id = $1 AND id = $2 AND expires_at > (SELECT now FROM tool_clock) \
    RETURNING expires_at, (SELECT now FROM tool_clock)";

const ACTIONS: &str =
    "SELECT count(*) FROM tool_agent_actions, tool_clock WHERE agent_id = $1 AND expires_at > now";

const REMOVE_EXPIRED: &str =
    "DELETE FROM tool_agent_actions WHERE expires_at <= (SELECT now FROM tool_clock)";

#[allow(private_bounds)] // only this crate implements the trait
impl<D: SqlDatabase> SqlStore<D> {
    async fn record_version(
        &self,
        agent: &str,
        tool: &str,
    ) -> Result<Option<u64>, AgentStoreError> {
        let rows = self
            .0
            .select(RECORD_VERSION, &[id(agent), id(tool)])
            .await?;
        rows.first().map(|row| row.version(0)).transpose()
    }
}

impl<D: SqlDatabase> AgentToolStore for SqlStore<D> {
    async fn version(&self, agent: &str) -> Result<u64, AgentStoreError> {
        let rows = self.0.select(VERSION, &[id(agent)]).await?;
        rows.first().map_or(Ok(0), |row| row.version(0))
    }

    async fn load(&self, agent: &str) -> Result<AgentRecords, AgentStoreError> {
        let rows = self.0.select(LOAD, &[id(agent)]).await?;
        let Some(first) = rows.first() else {
            return Ok(AgentRecords::default());
        };
        let (mut tools, mut unreadable) = (Vec::new(), Vec::new());
        for row in rows.iter().filter(|row| !row.is_null(0)) {
            match record(row, agent) {
                Ok(record) => tools.push(record),
                Err(row) => unreadable.push(row),
            }
        }
        Ok(AgentRecords::new(first.version(7)?, tools, unreadable))
    }

    async fn get(&self, agent: &str, tool: &str) -> Result<Option<AgentTools>, AgentStoreError> {
        let rows = self.0.select(GET, &[id(agent), id(tool)]).await?;
        let record = rows.first().map(|row| record(row, agent)).transpose();
        record.map_err(|row| AgentStoreError::Unreadable(row.reason))
    }

    async fn write(&self, write: &RecordWrite) -> Result<u64, AgentStoreError> {
        write.check()?;
        let (actions, config) = (to_json(&write.disabled_actions)?, to_json(&write.config)?);
        let params = write_params(write, &actions, &config);
        let sql = if write.expected == Precondition::Absent {
            D::INSERT
        } else {
            D::UPDATE
        };
        loop {
            if let Some(row) = self.0.change(sql, &params).await?.first() {
                return row.version(0);
            }
            let found = self.record_version(&write.agent, &write.tool).await?;
            // A record that was in the way may have been removed by now.
            if found.is_some() || write.expected != Precondition::Absent {
                return Err(AgentStoreError::Conflict { found });
            }
        }
    }

    async fn remove(&self, agent: &str, tool: &str, version: u64) -> Result<(), AgentStoreError> {
        if self
            .0
            .change(REMOVE, &[id(agent), id(tool), number(version)])
            .await?
            .is_empty()
        {
            return Err(AgentStoreError::Conflict {
                found: self.record_version(agent, tool).await?,
            });
        }
        Ok(())
    }

    async fn agents(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<AgentSummary>, AgentStoreError> {
        let rows = self
            .0
            .select(
                AGENTS,
                &[Param::Text(after.map(before_nul)), number(limit.into())],
            )
            .await?;
        let summary = |row: &D::Row| {
            Ok(AgentSummary::new(
                row.text(0)?,
                row.version(1)?,
                row.version(2)?,
            ))
        };
        rows.iter().map(summary).collect()
    }

    async fn sealed_under_others(
        &self,
        key: &str,
        after: Option<(&str, &str)>,
        limit: u32,
    ) -> Result<Vec<SealedRow>, AgentStoreError> {
        let (agent, tool) = after.unzip();
        // No toolset of the agent that is cut at a NUL comes after the pair.
        let tool = tool.filter(|_| agent.is_some_and(|agent| !agent.contains('\0')));
        let (agent, tool) = (
            Param::Text(agent.map(before_nul)),
            Param::Text(tool.map(before_nul)),
        );
        let rows = self
            .0
            .select(SEALED, &[id(key), agent, tool, number(limit.into())])
            .await?;
        let sealed = |row: &D::Row| {
            let secrets = SealedSecrets::new(
                row.text(2)?,
                row.bytes(3).map_err(failed)?.unwrap_or_default(),
            );
            Ok(SealedRow::new(row.text(0)?, row.text(1)?, secrets))
        };
        rows.iter().map(sealed).collect()
    }

    async fn replace_secrets(
        &self,
        agent: &str,
        tool: &str,
        from: &SealedSecrets,
        to: &SealedSecrets,
    ) -> Result<bool, AgentStoreError> {
        let (from_bytes, to_bytes) = (
            Param::Bytes(Some(from.bytes())),
            Param::Bytes(Some(to.bytes())),
        );
        let params = [
            id(agent),
            id(tool),
            id(from.key()),
            from_bytes,
            Param::Text(Some(to.key())),
            to_bytes,
        ];
        Ok(!self.0.change(REPLACE_SECRETS, &params).await?.is_empty())
    }

    async fn lease(
        &self,
        agent: &str,
        tool: &str,
        holder: &str,
        duration: Duration,
    ) -> Result<bool, AgentStoreError> {
        let params = [
            id(agent),
            id(tool),
            Param::Text(Some(holder)),
            milliseconds(duration),
        ];
        Ok(!self.0.change(D::LEASE, &params).await?.is_empty())
    }

    async fn release(&self, agent: &str, tool: &str, holder: &str) -> Result<(), AgentStoreError> {
        self.0
            .change(RELEASE, &[id(agent), id(tool), Param::Text(Some(holder))])
            .await
            .map(drop)
    }

    async fn keep_action(
        &self,
        agent: &str,
        call: &PendingCall,
        lifetime: Duration,
        limits: ApprovalLimits,
    ) -> Result<ApprovalVerdict, AgentStoreError> {
        self.0.change(REMOVE_EXPIRED, &[]).await?;
        // PostgreSQL cannot store NUL, which JSON escapes.
        let json = to_json(call)?;
        let (bytes, most_bytes) = (call.size() as u64, number(limits.bytes as u64));
        let text = [id(agent), id(&call.id), Param::Text(Some(&json))];
        let numbers = [
            number(bytes),
            milliseconds(lifetime),
            number(limits.session.into()),
            most_bytes,
        ];
        let params = [text.as_slice(), &numbers].concat();
        if !self.0.change(D::KEEP_ACTION, &params).await?.is_empty() {
            return Ok(ApprovalVerdict::Waits);
        }
        let waiting = self.0.select(ACTIONS, &[id(agent)]).await?;
        let waiting = waiting.first().map_or(Ok(0), |row| row.version(0))?;
        let is_full = waiting >= limits.session.into();
        Ok(ApprovalVerdict::Full(if is_full {
            ApprovalLimit::Session
        } else {
            ApprovalLimit::Bytes
        }))
    }

    async fn action(
        &self,
        agent: &str,
        call: &str,
    ) -> Result<Option<PendingCall>, AgentStoreError> {
        let rows = self.0.select(ACTION, &[id(agent), id(call)]).await?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let action = serde_json::from_str(&row.text(0)?);
        let unreadable = |error| {
            AgentStoreError::Unreadable(format!("expected an action, see {}", position(&error)))
        };
        action.map(Some).map_err(unreadable)
    }

    async fn take_action(
        &self,
        agent: &str,
        call: &str,
    ) -> Result<Option<Duration>, AgentStoreError> {
        let rows = self.0.change(TAKE_ACTION, &[id(agent), id(call)]).await?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        Ok(Some(Duration::from_millis(
            row.version(0)?.saturating_sub(row.version(1)?),
        )))
    }
}

/// A parameter of a statement.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Param<'a> {
    /// A text, or null.
    Text(Option<&'a str>),
    /// Bytes, or null.
    Bytes(Option<&'a [u8]>),
    /// A boolean.
    Flag(bool),
    /// An integer.
    Number(i64),
}

/// A version or a count. No version is negative, so that no record has one that is too large.
fn number(number: u64) -> Param<'static> {
    Param::Number(i64::try_from(number).unwrap_or(-1))
}

/// A time in milliseconds. Databases cannot add an arbitrarily long time to their clock.
fn milliseconds(time: Duration) -> Param<'static> {
    const LONGEST: Duration = Duration::from_secs(10 * 366 * 24 * 3_600);
    number(whole_milliseconds(time.min(LONGEST)))
}

/// An id to find. PostgreSQL cannot store NUL, and refuses it; no store has such an id, or an empty one.
fn id(text: &str) -> Param<'_> {
    Param::Text(Some(if text.contains('\0') { "" } else { text }))
}

/// The text that ids are compared with. Ids contain no NUL, so that the same ids come after both texts.
fn before_nul(text: &str) -> &str {
    text.split('\0').next().unwrap_or_default()
}

/// The parameters of a write: agent, toolset, enabled, disabled actions, settings, key and secrets, and, for an update, the
/// expected version and whether the secrets stay.
fn write_params<'a>(write: &'a RecordWrite, actions: &'a str, config: &'a str) -> Vec<Param<'a>> {
    let secrets = match &write.secrets {
        SecretsWrite::Set(sealed) => Some((sealed.key(), sealed.bytes())),
        SecretsWrite::Keep | SecretsWrite::Clear => None,
    };
    let mut params = vec![
        id(&write.agent),
        id(&write.tool),
        Param::Flag(write.enabled),
        Param::Text(Some(actions)),
        Param::Text(Some(config)),
        Param::Text(secrets.map(|(key, _)| key)),
        Param::Bytes(secrets.map(|(_, bytes)| bytes)),
    ];
    if let Precondition::Version(version) = write.expected {
        params.extend([
            number(version),
            Param::Flag(write.secrets == SecretsWrite::Keep),
        ]);
    }
    params
}

/// Encodes parameters for a database.
pub(crate) fn arguments<A: Arguments>(params: &[Param<'_>]) -> Result<A, Error>
where
    for<'a> Option<&'a str>: Encode<'a, A::Database> + Type<A::Database>,
    for<'a> Option<&'a [u8]>: Encode<'a, A::Database> + Type<A::Database>,
    for<'a> bool: Encode<'a, A::Database> + Type<A::Database>,
    for<'a> i64: Encode<'a, A::Database> + Type<A::Database>,
{
    let mut arguments = A::default();
    for param in params {
        match *param {
            Param::Text(text) => arguments.add(text),
            Param::Bytes(bytes) => arguments.add(bytes),
            Param::Flag(flag) => arguments.add(flag),
            Param::Number(number) => arguments.add(number),
        }
        .map_err(Error::Encode)?;
    }
    Ok(arguments)
}

/// A row of a result.
pub(crate) trait SqlRow: Send + Sync {
    /// Returns true if a column is null.
    fn is_null(&self, column: usize) -> bool;
    /// Reads an optional text.
    fn optional_text(&self, column: usize) -> Result<Option<String>, Error>;
    /// Reads a text that may contain invalid UTF-8.
    fn lossy_text(&self, column: usize) -> String;
    /// Reads optional bytes.
    fn bytes(&self, column: usize) -> Result<Option<Vec<u8>>, Error>;
    /// Reads a boolean.
    fn flag(&self, column: usize) -> Result<bool, Error>;
    /// Reads an integer.
    fn number(&self, column: usize) -> Result<i64, Error>;

    /// Reads a text that the database requires.
    fn text(&self, column: usize) -> Result<String, AgentStoreError> {
        self.optional_text(column)
            .map(Option::unwrap_or_default)
            .map_err(failed)
    }

    /// Reads a version, or a count.
    fn version(&self, column: usize) -> Result<u64, AgentStoreError> {
        let number = self.number(column).map_err(failed)?;
        u64::try_from(number)
            .map_err(|_| AgentStoreError::Unreadable("its version is negative".into()))
    }
}

impl<R: Row> SqlRow for R
where
    usize: ColumnIndex<R>,
    for<'r> Option<String>: Decode<'r, R::Database> + Type<R::Database>,
    for<'r> Option<Vec<u8>>: Decode<'r, R::Database> + Type<R::Database>,
    for<'r> bool: Decode<'r, R::Database> + Type<R::Database>,
    for<'r> i64: Decode<'r, R::Database> + Type<R::Database>,
{
    fn is_null(&self, column: usize) -> bool {
        self.try_get_raw(column).is_ok_and(|value| value.is_null())
    }

    fn optional_text(&self, column: usize) -> Result<Option<String>, Error> {
        self.try_get(column)
    }

    fn lossy_text(&self, column: usize) -> String {
        let bytes: Option<Vec<u8>> = self.try_get_unchecked(column).unwrap_or_default();
        String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
    }

    fn bytes(&self, column: usize) -> Result<Option<Vec<u8>>, Error> {
        self.try_get(column)
    }

    fn flag(&self, column: usize) -> Result<bool, Error> {
        self.try_get(column)
    }

    fn number(&self, column: usize) -> Result<i64, Error> {
        self.try_get(column)
    }
}

/// Reads a record from the columns of [`LOAD`] or [`GET`]. Errors show nothing of the row's contents.
fn record(row: &impl SqlRow, agent: &str) -> Result<AgentTools, UnreadableRow> {
    const COLUMNS: [&str; 7] = [
        "tool",
        "enabled",
        "disabled_actions",
        "config",
        "secrets_key",
        "secrets",
        "version",
    ];
    let tool = row.lossy_text(0);
    let unreadable = |reason: String| UnreadableRow::new(&tool, reason);
    let column = |error: Error| {
        let name = match &error {
            Error::ColumnDecode { index, .. } => index
                .parse::<usize>()
                .ok()
                .and_then(|index| COLUMNS.get(index)),
            _ => None,
        };
        unreadable(format!(
            "`{}` has an unexpected type",
            name.unwrap_or(&"a column")
        ))
    };
    let version = u64::try_from(row.number(6).map_err(column)?);
    let mut record = AgentTools::new(
        agent,
        &tool,
        version.map_err(|_| unreadable("its version is negative".into()))?,
    );
    record.enabled = row.flag(1).map_err(column)?;
    let actions = row.optional_text(2).map_err(column)?.unwrap_or_default();
    record.disabled_actions =
        serde_json::from_str::<BTreeSet<String>>(&actions).map_err(|error| {
            unreadable(format!(
                "expected `disabled_actions` as a JSON array of names, see {}",
                position(&error)
            ))
        })?;
    let config = row.optional_text(3).map_err(column)?.unwrap_or_default();
    record.config = serde_json::from_str::<Value>(&config).map_err(|error| {
        unreadable(format!(
            "expected `config` as JSON, see {}",
            position(&error)
        ))
    })?;
    if !record.config.is_object() {
        return Err(unreadable("expected `config` as a JSON object".into()));
    }
    record.secrets = match (
        row.optional_text(4).map_err(column)?,
        row.bytes(5).map_err(column)?,
    ) {
        (Some(key), Some(bytes)) => Some(SealedSecrets::new(key, bytes)),
        (None, None) => None,
        _ => {
            return Err(unreadable(
                "expected `secrets` and `secrets_key`, got one of them".into(),
            ));
        }
    };
    Ok(record)
}

fn to_json(value: &impl serde::Serialize) -> Result<String, AgentStoreError> {
    serde_json::to_string(value).map_err(|error| AgentStoreError::Unreadable(error.to_string()))
}

/// The position of a syntax error, without the text there.
fn position(error: &serde_json::Error) -> String {
    format!("line {}, column {}", error.line(), error.column())
}

/// Names the failure of a database. Keeps the error as the source if its text cannot contain a password or a value.
pub(crate) fn failed(error: Error) -> AgentStoreError {
    let message = describe(&error);
    let is_safe = match &error {
        Error::Database(error) => shows_no_value(error.as_ref()),
        Error::Io(_)
        | Error::Tls(_)
        | Error::PoolTimedOut
        | Error::PoolClosed
        | Error::WorkerCrashed => true,
        _ => false,
    };
    if is_safe {
        AgentStoreError::caused(message, error)
    } else {
        AgentStoreError::down(message)
    }
}

/// Returns what to do if a pooler is between this program and the server: a statement that was prepared over one connection is sent over
/// another, or a parameter of the connection is refused.
pub fn pooler_hint(error: &Error) -> Option<&'static str> {
    let error = error.as_database_error()?;
    let is_lost_statement = error
        .code()
        .is_some_and(|code| matches!(&*code, "42P05" | "26000"));
    let is_refused = error
        .message()
        .contains("unsupported startup parameter: extra_float_digits");
    (is_lost_statement || is_refused).then_some(
        "a pooler such as PgBouncer in transaction mode keeps no prepared statements; add `?statement-cache-capacity=0` to \
         the database's address, or `&statement-cache-capacity=0` if it has parameters",
    )
}

fn describe(error: &Error) -> String {
    if let Some(hint) = pooler_hint(error) {
        return format!("the database does not know what this connection has set up: {hint}");
    }
    match error {
        Error::Database(error) if shows_no_value(error.as_ref()) => {
            format!(
                "{} (code {})",
                error.message(),
                error.code().unwrap_or_default()
            )
        }
        Error::Database(error) => format!(
            "the database returned SQLSTATE {}",
            error.code().unwrap_or_default()
        ),
        Error::Io(error) => format!("the connection failed: {error}"),
        Error::Tls(error) => format!("the TLS connection failed: {error}"),
        Error::PoolTimedOut => {
            "no connection was available in time; the database is unreachable or overloaded".into()
        }
        Error::PoolClosed => "the connection pool is closed".into(),
        Error::WorkerCrashed => "the connection broke".into(),
        Error::Migrate(error) => match &**error {
            MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => {
                format!("failed to create the tables: {}", describe(error))
            }
            MigrateError::VersionMissing(_) | MigrateError::VersionTooNew(..) => {
                "the tables are of a newer version of this program; use that version".into()
            }
            MigrateError::VersionMismatch(number) => {
                format!("migration {number} of the tables is not that of this program")
            }
            _ => "failed to create the tables".into(),
        },
        // Their texts may quote an address with its password, or a value.
        Error::Configuration(_) => "the database's address is invalid".into(),
        Error::Protocol(_) => "the database sent an unexpected answer".into(),
        Error::ColumnDecode { index, .. } => format!("column {index} has an unexpected type"),
        Error::ColumnNotFound(name) => format!("the tables have no column {name}"),
        _ => "unexpected failure".into(),
    }
}

/// Returns true if the message quotes no value. SQLite's messages name tables and columns. PostgreSQL's may quote values,
/// except those of some classes of SQLSTATE, which have five characters.
fn shows_no_value(error: &dyn sqlx::error::DatabaseError) -> bool {
    // Connections, authorization, missing databases and schemas, rollbacks, syntax, resources, operator intervention.
    const CLASSES: [&str; 9] = ["08", "28", "3D", "3F", "40", "42", "53", "55", "57"];
    let code = error.code().unwrap_or_default();
    code.len() != 5 || CLASSES.iter().any(|class| code.starts_with(class))
}

/// The migrations that a database has.
pub(crate) const APPLIED: &str =
    "SELECT version, checksum FROM _tool_agents_migrations ORDER BY version";

/// Returns a migrator for numbered statements. It notes them in its own table, because the program may use sqlx's table for
/// its own migrations.
pub(crate) fn migrator(agents: &'static str, actions: &'static str) -> Migrator {
    let migration = |(number, name, sql): (i64, &'static str, &'static str)| {
        Migration::new(
            number,
            name.into(),
            MigrationType::Simple,
            sql.into_sql_str(),
            false,
        )
    };
    let migrations = [(1, "agents", agents), (2, "actions", actions)];
    let mut migrator = Migrator::with_migrations(migrations.map(migration).to_vec());
    migrator.dangerous_set_table_name("_tool_agents_migrations");
    migrator
}

/// Returns true if a database has all migrations. Then no lock is needed, and no right to create tables. If the table of
/// migrations cannot be read, the migrator finds out why.
pub(crate) fn is_migrated(
    migrator: &Migrator,
    applied: Result<Vec<(i64, Vec<u8>)>, Error>,
) -> bool {
    let Ok(applied) = applied else { return false };
    let applied = applied
        .iter()
        .map(|(version, checksum)| (*version, &**checksum));
    applied.eq(migrator
        .iter()
        .map(|migration| (migration.version, &*migration.checksum)))
}
