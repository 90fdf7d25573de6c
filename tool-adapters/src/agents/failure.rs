//! What went wrong in a database, in words that hold no password and no value.

use sqlx::Error;
use sqlx::migrate::MigrateError;
use tool_core::agents::AgentStoreError;

/// The store did not do it.
pub(super) fn down(error: &Error) -> AgentStoreError {
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
