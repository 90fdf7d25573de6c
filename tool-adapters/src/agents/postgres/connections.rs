//! Connections to the server.

use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions};
use sqlx::{ConnectOptions, Connection, Error, Executor, Postgres};
use std::str::FromStr;
use std::time::Duration;
use tokio::time::timeout;

const CONNECTIONS: u32 = 8;
/// How long it takes until it is an error that no connection is to be had.
const CONNECTING: Duration = Duration::from_secs(3);
/// How long until it is one that there is no answer. The server gives up first, so that it does not do it later.
const ANSWER: Duration = Duration::from_secs(15);
const LIMITS: &str = "SET lock_timeout = '5s'; SET statement_timeout = '10s'";
/// Unused for so long, a connection is asked whether it is alive. Each time would cost each operation a round trip.
const RESTED: Duration = Duration::from_secs(1);

pub(super) async fn connect(url: &str) -> Result<PgPool, Error> {
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
pub(super) async fn ask<T>(
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
pub(super) async fn alive(pool: &PgPool) -> Result<PoolConnection<Postgres>, Error> {
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
pub(super) fn is_lost(error: &Error) -> bool {
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
pub(super) fn is_undone(error: &Error) -> bool {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    code.is_some_and(|code| matches!(&*code, "40001" | "40P01"))
}
