//! The conformance tests of SQLite and PostgreSQL.

use crate::pooler::PooledDatabase;
use crate::server::Schema;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tool_adapters::stores::SqliteStore;
use tool_core::agents::DynAgentToolStore;
use tool_core::testing::agents::AgentStoreUnderTest;

/// A file, which each handle opens as another process would.
struct Sqlite(TempDir);

impl Sqlite {
    fn in_file() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }
}

impl AgentStoreUnderTest for Sqlite {
    const TICK: Duration = Duration::from_millis(150);

    async fn handle(&self) -> Arc<dyn DynAgentToolStore> {
        Arc::new(
            SqliteStore::open(self.0.path().join("agents.db"))
                .await
                .expect("the file opens"),
        )
    }

    /// Waits, because the database's clock cannot be moved.
    async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}

struct InMemory(SqliteStore);

impl AgentStoreUnderTest for InMemory {
    const TICK: Duration = Duration::from_millis(150);

    async fn handle(&self) -> Arc<dyn DynAgentToolStore> {
        Arc::new(self.0.clone())
    }

    async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}

impl AgentStoreUnderTest for Schema {
    const TICK: Duration = Duration::from_millis(150);

    /// Returns a handle with its own connections.
    async fn handle(&self) -> Arc<dyn DynAgentToolStore> {
        Arc::new(self.store().await)
    }

    async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}

mod sqlite {
    use super::Sqlite;
    tool_core::agent_store_conformance!(Some(Sqlite::in_file()));
}

mod sqlite_in_memory {
    use super::{InMemory, SqliteStore};
    tool_core::agent_store_conformance!(Some(InMemory(
        SqliteStore::open_in_memory().await.expect("it opens")
    )));
}

mod postgres {
    use super::Schema;
    tool_core::agent_store_conformance!(Schema::on_server().await);
}

impl AgentStoreUnderTest for PooledDatabase {
    const TICK: Duration = Duration::from_millis(150);

    async fn handle(&self) -> Arc<dyn DynAgentToolStore> {
        Arc::new(self.store().await)
    }

    async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}

mod postgres_behind_a_pooler {
    use super::PooledDatabase;
    tool_core::agent_store_conformance!(PooledDatabase::on_server().await);
}
