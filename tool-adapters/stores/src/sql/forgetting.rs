//! Forgetting what is over in an SQL database: a few rows at a time, beside the calls of the store.

use crate::sql::SqlError;
use crate::sql::session_row::SessionDatabase;
use std::sync::Arc;
use std::time::Duration;

/// The pause before more rows are forgotten, so that others can write.
const PAUSE: Duration = Duration::from_millis(20);

/// A statement that forgets some rows and returns one row for each. The last literal locks the rows that are found.
macro_rules! forget {
    ($table:literal, $key:literal, $is_over:literal, $most:literal, $lock:literal) => {
        concat!(
            "WITH found AS (SELECT ",
            $key,
            " FROM ",
            $table,
            " WHERE ",
            $is_over,
            " LIMIT ",
            $most,
            $lock,
            ") DELETE FROM ",
            $table,
            " WHERE (",
            $key,
            ") IN (SELECT ",
            $key,
            " FROM found) RETURNING 1"
        )
    };
}

/// The statements that forget all that is over and was kept long enough, and places of processes that were killed. A
/// session takes its log and its calls with it, so that few of them go at once.
macro_rules! forget_statements {
    ($lock:literal) => {
        [
            forget!(
                "tool_sessions",
                "id",
                "calls_until <= (SELECT now FROM tool_session_clock) - 60000",
                20,
                $lock
            ),
            forget!(
                "tool_principal_spending",
                "principal",
                "ends_at <= (SELECT now FROM tool_session_clock)",
                200,
                $lock
            ),
            forget!(
                "tool_added_amounts",
                "id",
                "known_until <= (SELECT now FROM tool_session_clock)",
                200,
                $lock
            ),
            forget!(
                "tool_limit_places",
                "key, holder",
                "ends_at <= (SELECT now FROM tool_session_clock)",
                200,
                $lock
            ),
            forget!(
                "tool_limits",
                "key",
                "kept_until <= (SELECT now FROM tool_session_clock)",
                200,
                $lock
            ),
        ]
    };
}

/// The statements of a database in which one transaction writes at a time.
pub(crate) const FORGET_ALONE: [&str; 5] = forget_statements!("");

/// The statements of a database in which transactions write side by side. They skip rows that another one has locked.
pub(crate) const FORGET_UNLOCKED: [&str; 5] = forget_statements!(" FOR UPDATE SKIP LOCKED");

/// Begins to forget what is over, unless this process does so already. No caller waits for it: if it fails, the next one
/// goes on.
pub(crate) fn begin_to_forget<D: SessionDatabase>(database: &D) {
    let Ok(alone) = Arc::clone(database.forget_lock()).try_lock_owned() else {
        return;
    };
    let database = database.clone();
    tokio::spawn(async move {
        for statement in D::FORGET {
            if let Err(error) = forget(&database, statement).await {
                tracing::warn!(%error, "failed to remove what is over from the session store");
            }
        }
        drop(alone);
    });
}

/// Runs a statement until it finds nothing more.
async fn forget<D: SessionDatabase>(database: &D, statement: &'static str) -> Result<(), SqlError> {
    while !database.change(statement, &[]).await?.is_empty() {
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}
