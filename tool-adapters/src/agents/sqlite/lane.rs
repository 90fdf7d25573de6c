//! Connections to the database, and who has them.

use super::file::{File, Identity};
use crate::agents::migrations;
use sqlx::migrate::Migrator;
use sqlx::pool::PoolConnection;
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteConnectOptions, SqliteConnection, SqlitePool, SqliteRow};
use sqlx::{ConnectOptions, Connection, Error, Sqlite, query_as};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

/// How long it takes until it is an error that no connection is free, or that another process has locked the file.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long SQLite waits by itself. It looks ever more rarely whether the file is free, so that who has waited long is
/// overtaken for ever by others; who asks anew is not.
pub(super) const SLICE: Duration = Duration::from_millis(40);

/// What is asked.
pub(super) type Asked<'q> = Query<'q, Sqlite, SqliteArguments>;

/// Where connections come from.
pub(super) enum Lane {
    Own(Box<Own>),
    /// The program's pool.
    Pool(SqlitePool),
}

/// A few connections that are used in turn, by whoever came first.
///
/// sqlx's pool asks each connection whether it is alive, which is a message to its thread and back; these are dropped
/// when something went wrong with one, or when the file was replaced.
pub(super) struct Own {
    options: SqliteConnectOptions,
    /// None in memory.
    file: Option<File>,
    places: Semaphore,
    idle: Mutex<Vec<Open>>,
}

/// A connection, and the file that it is to.
struct Open {
    connection: SqliteConnection,
    file: Option<Identity>,
}

/// A connection for as long as it is used.
#[allow(clippy::large_enum_variant)] // it lies on the stack of one question
enum Held<'a> {
    Own { lane: &'a Own, open: Option<Open>, _place: SemaphorePermit<'a> },
    Pool(PoolConnection<Sqlite>),
}

impl Lane {
    pub(super) fn new(options: SqliteConnectOptions, file: Option<File>, connections: usize) -> Self {
        Self::Own(Box::new(Own { options, file, places: Semaphore::new(connections), idle: Mutex::default() }))
    }

    /// Asks, and again for as long as another process has locked the file. All that comes back is taken: what is written
    /// is written when the last row was asked for.
    pub(super) async fn ask<'q>(&self, asks: impl Fn() -> Asked<'q>) -> Result<Vec<SqliteRow>, Error> {
        let began = Instant::now();
        loop {
            match self.once(asks()).await {
                Err(error) if is_busy(&error) && began.elapsed() < PATIENCE => {}
                rows => return rows,
            }
        }
    }

    async fn once(&self, query: Asked<'_>) -> Result<Vec<SqliteRow>, Error> {
        let mut held = self.take().await?;
        let rows = query.fetch_all(held.connection()?).await;
        rows.inspect_err(|error| held.after(error))
    }

    /// Brings the tables up to date.
    pub(super) async fn migrate(&self, migrator: &Migrator) -> Result<(), Error> {
        let began = Instant::now();
        loop {
            match self.migrate_once(migrator).await {
                Err(error) if is_busy(&error) && began.elapsed() < PATIENCE => {}
                done => return done,
            }
        }
    }

    /// The migrator locks nothing, so that two processes would make the tables at once. Where there is nothing to do,
    /// nobody is kept waiting.
    async fn migrate_once(&self, migrator: &Migrator) -> Result<(), Error> {
        let mut held = self.take().await?;
        let connection = held.connection()?;
        if migrations::are_done(migrator, query_as(migrations::DONE).fetch_all(&mut *connection).await) {
            return Ok(());
        }
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
        migrator.run_direct(None, &mut *transaction, false).await?;
        transaction.commit().await
    }

    /// Waits for a connection, and opens one where there are not enough yet.
    async fn take(&self) -> Result<Held<'_>, Error> {
        match self {
            Self::Own(own) => own.take().await,
            Self::Pool(pool) => Ok(Held::Pool(pool.acquire().await?)),
        }
    }
}

impl Own {
    async fn take(&self) -> Result<Held<'_>, Error> {
        let place = timeout(PATIENCE, self.places.acquire()).await.map_err(|_| Error::PoolTimedOut)?;
        let place = place.map_err(|_| Error::PoolClosed)?;
        let file = self.file.as_ref().and_then(File::identity);
        let idle = self.idle(file);
        let open = match idle {
            Some(open) => open,
            None => Open { connection: self.options.connect().await?, file },
        };
        Ok(Held::Own { lane: self, open: Some(open), _place: place })
    }

    /// A connection to this file. What is written over one to a file that was deleted is gone, so these are let go.
    fn idle(&self, file: Option<Identity>) -> Option<Open> {
        let mut idle = self.lock();
        while let Some(open) = idle.pop() {
            if open.file == file {
                return Some(open);
            }
        }
        None
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Open>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held<'_> {
    fn connection(&mut self) -> Result<&mut SqliteConnection, Error> {
        match self {
            Self::Own { open, .. } => open.as_mut().map(|open| &mut open.connection).ok_or(Error::WorkerCrashed),
            Self::Pool(connection) => Ok(connection),
        }
    }

    /// Lets go of all connections where this error may be theirs, so that the store works again as soon as the file is
    /// in order. A database in memory is nowhere else.
    fn after(&mut self, error: &Error) {
        if let Self::Own { lane: lane @ Own { file: Some(_), .. }, open, .. } = self
            && is_theirs(error)
        {
            *open = None;
            lane.lock().clear();
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if let Self::Own { lane, open, .. } = self {
            lane.lock().extend(open.take());
        }
    }
}

/// The primary code of SQLite's; the upper bits say more about each.
fn code(error: &Error) -> Option<u32> {
    error.as_database_error()?.code()?.parse::<u32>().ok().map(|code| code & 0xff)
}

/// Locked by another connection, or, where they share a cache, one of its tables.
fn is_busy(error: &Error) -> bool {
    matches!(code(error), Some(5 | 6))
}

fn is_theirs(error: &Error) -> bool {
    match error {
        // Read only, I/O, corrupt, cannot open, not a database.
        Error::Database(_) => matches!(code(error), Some(8 | 10 | 11 | 14 | 26)),
        Error::ColumnDecode { .. } | Error::ColumnNotFound(_) => false,
        _ => true,
    }
}
