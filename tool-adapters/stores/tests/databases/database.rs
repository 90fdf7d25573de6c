//! The databases of the tests.

use crate::pooler::PooledDatabase;
use crate::server::Schema;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Executor};
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;
use tool_adapters::stores::{PostgresStore, SqliteStore};
use tool_core::testing::store::StoreUnderTest;

/// A file, which each handle opens as another process would.
pub(crate) struct SqliteFile(TempDir);

impl SqliteFile {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.path().join("assistant.db")
    }

    /// Connects as a program would that does not check foreign keys.
    pub(crate) async fn connection(&self) -> SqliteConnection {
        let options = SqliteConnectOptions::new().filename(self.path());
        let connection = options.foreign_keys(false).connect().await;
        connection.expect("it opens")
    }

    /// Runs a statement over a separate connection.
    pub(crate) async fn by_hand(&self, sql: &str) {
        self.connection()
            .await
            .execute(AssertSqlSafe(sql.to_owned()))
            .await
            .expect("it runs");
    }
}

impl StoreUnderTest for SqliteFile {
    const TICK: Duration = Duration::from_millis(250);

    type Store = SqliteStore;

    async fn handle(&self) -> SqliteStore {
        SqliteStore::open(self.path())
            .await
            .expect("the file opens")
    }

    /// Waits, because the database's clock cannot be moved.
    async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}

/// A store in memory, whose handles share one connection.
pub(crate) struct InMemory(pub(crate) SqliteStore);

impl StoreUnderTest for InMemory {
    const TICK: Duration = Duration::from_millis(250);

    type Store = SqliteStore;

    async fn handle(&self) -> SqliteStore {
        self.0.clone()
    }

    async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}

impl StoreUnderTest for Schema {
    const TICK: Duration = Duration::from_millis(250);

    type Store = PostgresStore;

    /// Returns a handle with its own connections.
    async fn handle(&self) -> PostgresStore {
        self.store().await
    }

    async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}

impl StoreUnderTest for PooledDatabase {
    const TICK: Duration = Duration::from_millis(250);

    type Store = PostgresStore;

    async fn handle(&self) -> PostgresStore {
        self.store().await
    }

    async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}
