//! Connections to the database, and who has them.

use super::file::{File, Identity};
use sqlx::pool::PoolConnection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqlitePool};
use sqlx::{ConnectOptions, Error, Sqlite};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

/// How long it takes until it is an error that no connection is free, or that another process has locked the file.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// Where connections come from.
pub(super) enum Lane {
    Own(Own),
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
pub(super) struct Open {
    connection: SqliteConnection,
    file: Option<Identity>,
}

/// A connection for as long as it is used.
pub(super) enum Held<'a> {
    Own { lane: &'a Own, open: Option<Open>, _place: SemaphorePermit<'a> },
    Pool(PoolConnection<Sqlite>),
}

impl Lane {
    pub(super) fn new(options: SqliteConnectOptions, file: Option<File>, connections: usize) -> Self {
        Self::Own(Own { options, file, places: Semaphore::new(connections), idle: Mutex::default() })
    }

    /// Waits for a connection, and opens one where there are not enough yet.
    pub(super) async fn take(&self) -> Result<Held<'_>, Error> {
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
    pub(super) fn connection(&mut self) -> Result<&mut SqliteConnection, Error> {
        match self {
            Self::Own { open, .. } => open.as_mut().map(|open| &mut open.connection).ok_or(Error::WorkerCrashed),
            Self::Pool(connection) => Ok(connection),
        }
    }

    /// Lets go of all connections where this error may be theirs, so that the store works again as soon as the file is
    /// in order. A database in memory is nowhere else.
    pub(super) fn after(&mut self, error: &Error) {
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

fn is_theirs(error: &Error) -> bool {
    // Read only, I/O, corrupt, cannot open, not a database. The upper bits say more about each.
    const BROKEN: [u32; 5] = [8, 10, 11, 14, 26];
    match error {
        Error::Database(error) => {
            error.code().and_then(|code| code.parse::<u32>().ok()).is_some_and(|code| BROKEN.contains(&(code & 0xff)))
        }
        Error::ColumnDecode { .. } | Error::ColumnNotFound(_) => false,
        _ => true,
    }
}
