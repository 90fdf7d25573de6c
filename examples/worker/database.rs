//! The database of the worker, and the mark that its first agents were made.

use super::worker::Failure;
use sqlx::postgres::PgPoolOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Postgres, Transaction};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) enum Database {
    /// A file of SQLite, for one worker.
    File(PathBuf),
    /// The URL of a PostgreSQL database, for any number of workers.
    Postgres(String),
}

impl Database {
    /// Reads what the command line or the environment names.
    pub(crate) fn named(name: &str) -> Self {
        let is_url = name.starts_with("postgres://") || name.starts_with("postgresql://");
        if is_url {
            Self::Postgres(name.to_owned())
        } else {
            Self::File(PathBuf::from(name))
        }
    }
}

impl fmt::Display for Database {
    /// Does not show a URL, which may contain a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "the database {}", path.display()),
            Self::Postgres(_) => f.write_str("the database in PostgreSQL"),
        }
    }
}

/// The lock under which the agents of the first run are made in PostgreSQL.
const LOCK: i64 = 0x746f_6f6c_776f_726b;

const CREATE: &str = "CREATE TABLE IF NOT EXISTS worker_seeded (done INTEGER PRIMARY KEY)";
const FIND: &str = "SELECT done FROM worker_seeded";
const SET: &str = "INSERT INTO worker_seeded VALUES (1) ON CONFLICT (done) DO NOTHING";

/// The mark that the agents of the first run were made.
pub(crate) enum Mark {
    File(SqliteConnection),
    /// With the lock, until its end.
    Postgres(Transaction<'static, Postgres>),
}

impl Mark {
    /// Opens the mark. In PostgreSQL, it waits for a worker that makes the agents at this moment.
    pub(crate) async fn open(db: &Database) -> Result<Self, Failure> {
        match db {
            Database::File(path) => {
                let options = SqliteConnectOptions::new().filename(path);
                let options = options.busy_timeout(Duration::from_secs(10));
                let mut file = options.connect().await?;
                sqlx::query(CREATE).execute(&mut file).await?;
                Ok(Self::File(file))
            }
            Database::Postgres(url) => {
                let pool = PgPoolOptions::new().max_connections(1).connect(url).await?;
                let mut transaction = pool.begin().await?;
                let lock = sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(LOCK);
                lock.execute(&mut *transaction).await?;
                sqlx::query(CREATE).execute(&mut *transaction).await?;
                Ok(Self::Postgres(transaction))
            }
        }
    }

    pub(crate) async fn is_set(&mut self) -> sqlx::Result<bool> {
        match self {
            Self::File(file) => {
                let found = sqlx::query(FIND).fetch_optional(file).await?;
                Ok(found.is_some())
            }
            Self::Postgres(transaction) => {
                let found = sqlx::query(FIND).fetch_optional(&mut **transaction).await?;
                Ok(found.is_some())
            }
        }
    }

    pub(crate) async fn set(self) -> sqlx::Result<()> {
        match self {
            Self::File(mut file) => {
                sqlx::query(SET).execute(&mut file).await?;
            }
            Self::Postgres(mut transaction) => {
                sqlx::query(SET).execute(&mut *transaction).await?;
                transaction.commit().await?;
            }
        }
        Ok(())
    }
}
