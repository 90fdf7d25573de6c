//! `PgBouncer` in transaction mode before the server that `POSTGRES_URL` names, and a database behind it for each test.

use crate::own_server::OwnServer;
use crate::server;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, UNIX_EPOCH};
use tool_adapters::stores::PostgresStore;

static POOLER: LazyLock<Result<OwnServer, String>> = LazyLock::new(|| {
    let server = server::url().unwrap_or_default();
    OwnServer::start("pgbouncer", &[&server])
});

/// A database of one test behind the pooler, which is dropped with this value. The pooler passes no search path on, so
/// that a schema is not enough.
pub(crate) struct PooledDatabase {
    server: String,
    pooler: String,
    name: String,
}

impl PooledDatabase {
    /// Creates a database, if there are a server and a pooler. Skips the test otherwise.
    pub(crate) async fn on_server() -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let server = server::url()?;
        let pooler = match &*POOLER {
            Ok(pooler) => pooler.url.clone(),
            Err(reason) => {
                tool_core::testing::skip(reason);
                return None;
            }
        };
        let since = UNIX_EPOCH.elapsed().unwrap_or(Duration::ZERO).as_nanos();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("test_{}_{since}_{number}", std::process::id());
        server::run(&server, format!("CREATE DATABASE {name}"))
            .await
            .expect("the server makes a database");
        Some(Self {
            server,
            pooler,
            name,
        })
    }

    /// Returns a URL through the pooler.
    pub(crate) fn url(&self) -> String {
        format!("{}{}?statement-cache-capacity=0", self.pooler, self.name)
    }

    pub(crate) async fn store(&self) -> PostgresStore {
        PostgresStore::connect(&self.url())
            .await
            .expect("the pooler answers")
    }

    /// Returns a URL of the server itself.
    pub(crate) fn direct_url(&self) -> String {
        let (address, parameters) = self.server.split_once('?').unwrap_or((&self.server, ""));
        let server = address
            .rsplit_once('/')
            .map_or(address, |(server, _)| server);
        format!("{server}/{}?{parameters}", self.name)
    }

    /// Runs a statement over a separate connection to the server itself.
    pub(crate) async fn by_hand(&self, sql: &str) -> Result<(), sqlx::Error> {
        server::run(&self.direct_url(), sql.to_owned()).await
    }
}

impl Drop for PooledDatabase {
    fn drop(&mut self) {
        let sql = format!("DROP DATABASE {} WITH (FORCE)", self.name);
        server::run_in_a_thread(self.server.clone(), sql);
    }
}
