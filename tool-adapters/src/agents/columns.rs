//! The columns of a row, in either database: read, and bound to a question.

use super::failure::down;
use super::row::{Columns, Texts};
use sqlx::query::Query;
use sqlx::{ColumnIndex, Database, Decode, Encode, Error, Row, Type};
use tool_core::agents::{
    AgentStoreError, Precondition, RecordWrite, SealedRow, SealedSecrets, SecretsWrite, UnreadableRow,
};

/// A version, or how many there are.
pub(super) fn number<'r, R>(row: &'r R, column: usize) -> Result<u64, AgentStoreError>
where
    R: Row,
    usize: ColumnIndex<R>,
    i64: Decode<'r, R::Database> + Type<R::Database>,
{
    let number: i64 = row.try_get(column).map_err(|error| down(&error))?;
    u64::try_from(number).map_err(|_| AgentStoreError::Unreadable("a version of it is negative".into()))
}

/// An id.
pub(super) fn text<'r, R>(row: &'r R, column: usize) -> Result<String, AgentStoreError>
where
    R: Row,
    usize: ColumnIndex<R>,
    String: Decode<'r, R::Database> + Type<R::Database>,
{
    row.try_get(column).map_err(|error| down(&error))
}

/// What makes a record of a toolset.
pub(super) fn read<'r, R>(row: &'r R, tool: String) -> Result<Columns, UnreadableRow>
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
pub(super) fn sealed<'r, R>(row: &'r R) -> Result<SealedRow, AgentStoreError>
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
pub(super) fn bound<'q, DB>(
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
