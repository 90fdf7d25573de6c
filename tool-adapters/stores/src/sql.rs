//! Stores in an SQL database: the parts that SQLite and PostgreSQL share.
#![cfg_attr(
    not(feature = "agent-records"),
    allow(dead_code, reason = "agents have columns of more types")
)]

#[cfg(feature = "agent-records")]
pub(crate) mod agents;
pub(crate) mod forgetting;
pub(crate) mod histories;
pub(crate) mod journal;
pub(crate) mod permits;
pub(crate) mod session_copy;
pub(crate) mod session_record;
pub(crate) mod session_row;
pub(crate) mod sessions;
pub(crate) mod values;

use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::{Arguments, ColumnIndex, Decode, Encode, Error, Row, SqlSafeStr, Type, ValueRef};
use std::error::Error as StdError;
use std::fmt;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Duration;
use tool_core::session::StoreError;
use tool_core::time::whole_milliseconds;

/// A store in an SQL database: [`SqliteStore`](super::SqliteStore) or [`PostgresStore`](super::PostgresStore). It keeps
/// sessions and conversations, and with the feature `agent-records` the records of agents. Cheap to clone.
#[derive(Clone, Debug)]
pub struct SqlStore<D>(pub(crate) D);

/// A database with the tables of the stores.
pub(crate) trait SqlDatabase: Clone + Send + Sync + 'static {
    /// A row of a result.
    type Row: SqlRow;
    /// Several statements that take effect together.
    type Transaction: SqlTransaction<Row = Self::Row>;

    /// Runs a statement that changes nothing.
    fn select(
        &self,
        sql: &'static str,
        params: &[Param<'_>],
    ) -> impl Future<Output = Rows<Self::Row>> + Send;

    /// Runs a statement that changes rows.
    fn change(
        &self,
        sql: &'static str,
        params: &[Param<'_>],
    ) -> impl Future<Output = Rows<Self::Row>> + Send;

    /// Begins a transaction that changes rows. Without [`SqlTransaction::commit`] nothing takes
    /// effect.
    fn begin(&self) -> impl Future<Output = Result<Self::Transaction, SqlError>> + Send;
}

/// Several statements that take effect together.
pub(crate) trait SqlTransaction: Send {
    /// A row of a result.
    type Row: SqlRow;

    /// Runs a statement.
    fn run(
        &mut self,
        sql: &'static str,
        params: &[Param<'_>],
    ) -> impl Future<Output = Rows<Self::Row>> + Send;

    /// Makes the changes take effect.
    fn commit(self) -> impl Future<Output = Result<(), SqlError>> + Send;
}

/// The rows that a statement returns.
pub(crate) type Rows<R> = Result<Vec<R>, SqlError>;

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

/// A version, a count or a time. No version is negative, so that no record has one that is too
/// large.
pub(crate) fn number(number: u64) -> Param<'static> {
    Param::Number(i64::try_from(number).unwrap_or(-1))
}

/// A time in milliseconds. Databases cannot add an arbitrarily long time to their clock.
pub(crate) fn milliseconds(time: Duration) -> Param<'static> {
    const LONGEST: Duration = Duration::from_secs(10 * 366 * 24 * 3_600);
    number(whole_milliseconds(time.min(LONGEST)))
}

/// An id to find. PostgreSQL cannot store NUL, and refuses it; no store has such an id, or an empty
/// one.
pub(crate) fn id(text: &str) -> Param<'_> {
    Param::Text(Some(if text.contains('\0') { "" } else { text }))
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
    fn text(&self, column: usize) -> Result<String, SqlError> {
        Ok(self.optional_text(column)?.unwrap_or_default())
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

/// A database that failed. The text shows neither a password nor a value.
///
/// ```
/// use tool_adapters::stores::SqliteStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let missing = SqliteStore::open("no-such-folder/assistant.db").await;
/// let error = missing.expect_err("the folder does not exist");
/// assert!(error.to_string().contains("no-such-folder/assistant.db"));
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct SqlError {
    message: String,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

impl SqlError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            source: None,
        }
    }

    pub(crate) fn caused(
        message: impl Into<String>,
        source: impl StdError + Send + Sync + 'static,
    ) -> Self {
        Self {
            message: message.into(),
            source: Some(Arc::new(source)),
        }
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for SqlError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        let source = self.source.as_deref()?;
        Some(source)
    }
}

impl From<SqlError> for StoreError {
    fn from(error: SqlError) -> Self {
        match error.source {
            Some(source) => Self::with_source(error.message, source),
            None => Self::new(error.message),
        }
    }
}

impl From<Error> for SqlError {
    /// Names the failure of a database. Keeps the error as the source if its text cannot contain a
    /// password or a value.
    fn from(error: Error) -> Self {
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
            Self::caused(message, error)
        } else {
            Self::new(message)
        }
    }
}

/// Returns what to do if a pooler is between this program and the server: a statement that was
/// prepared over one connection is sent over another, or a parameter of the connection is refused.
fn pooler_hint(error: &Error) -> Option<&'static str> {
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

/// Returns what to do if the user may not create or change tables.
fn rights_hint(error: &Error) -> Option<&'static str> {
    let code = error.as_database_error()?.code()?;
    (code == "42501").then_some(
        "; the first start, and the first one of a new version, need a user that owns the tables and may create others",
    )
}

/// Returns true if the two sides did not agree on TLS.
fn is_of_tls(error: &io::Error) -> bool {
    let text = error.to_string();
    text.contains("peer certificate") || text.contains("fatal alert")
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
        Error::Io(error) if is_of_tls(error) => format!(
            "the TLS connection failed: {error}; check the server's certificate, its CA (`sslrootcert`) and the host of the \
             address, and `sslcert` and `sslkey` if the server asks for a certificate"
        ),
        Error::Io(error) if error.kind() == ErrorKind::NotFound => format!(
            "the connection failed: {error}; check the files that the address names: the socket of `host`, `sslrootcert`, \
             `sslcert`, `sslkey`"
        ),
        Error::Io(error) => format!("the connection failed: {error}"),
        Error::Tls(error) if error.to_string().contains("does not support TLS") => {
            format!(
                "the TLS connection failed: {error}; turn TLS on at the server, or set another `sslmode`"
            )
        }
        Error::Tls(error) => {
            format!(
                "the TLS connection failed: {error}; check `sslrootcert`, `sslcert` and `sslkey` of the address"
            )
        }
        Error::PoolTimedOut => {
            "no connection was available in time; the database is unreachable or overloaded".into()
        }
        Error::PoolClosed => "the connection pool is closed".into(),
        Error::WorkerCrashed => "the connection broke".into(),
        Error::Migrate(error) => match &**error {
            MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => {
                let hint = rights_hint(error).unwrap_or_default();
                format!("failed to create the tables: {}{hint}", describe(error))
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
        Error::Configuration(error) => match &*error.to_string() {
            "user auth key and certs must be given together" => {
                "the database's address needs both `sslcert` and `sslkey`, or none of them".into()
            }
            "no keys found pem file" => {
                "the file of `sslkey` in the database's address has no private key in PEM".into()
            }
            _ => "the database's address is invalid".into(),
        },
        Error::Protocol(_) => "the database sent an unexpected answer".into(),
        Error::ColumnDecode { index, .. } => format!("column {index} has an unexpected type"),
        Error::ColumnNotFound(name) => format!("the tables have no column {name}"),
        _ => "unexpected failure".into(),
    }
}

/// Returns true if the message quotes no value. SQLite's messages name tables and columns.
/// PostgreSQL's may quote values, except those of some classes of SQLSTATE, which have five
/// characters.
fn shows_no_value(error: &dyn sqlx::error::DatabaseError) -> bool {
    // Connections, authorization, missing databases and schemas, rollbacks, syntax, resources,
    // operator intervention.
    const CLASSES: [&str; 9] = ["08", "28", "3D", "3F", "40", "42", "53", "55", "57"];
    let code = error.code().unwrap_or_default();
    code.len() != 5 || CLASSES.iter().any(|class| code.starts_with(class))
}

/// The tables of one area, which are created and updated on their own.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    /// The table that notes the migrations. The program may use sqlx's table for its own.
    pub noted_in: &'static str,
    /// Reads which migrations the database has.
    pub applied: &'static str,
    /// The migrations, which are applied in the order of their numbers.
    pub migrations: &'static [SqlMigration],
}

/// Statements that create or change tables. Once released, they never change: a database notes
/// their checksum.
#[derive(Clone, Copy, Debug)]
pub struct SqlMigration {
    /// The number, which is noted.
    pub number: i64,
    /// A name for people, which is noted.
    pub name: &'static str,
    /// The statements.
    pub sql: &'static str,
}

impl Tables {
    pub(crate) fn migrator(&self) -> Migrator {
        let migrations = self.migrations.iter().map(|migration| {
            Migration::new(
                migration.number,
                migration.name.into(),
                MigrationType::Simple,
                migration.sql.into_sql_str(),
                false,
            )
        });
        let mut migrator = Migrator::with_migrations(migrations.collect());
        migrator.dangerous_set_table_name(self.noted_in);
        migrator
    }
}

/// Returns true if a database has all migrations. Then no lock is needed, and no right to create
/// tables. If the table of migrations cannot be read, the migrator finds out why.
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
