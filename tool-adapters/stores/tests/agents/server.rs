//! The server that `POSTGRES_URL` names, and a schema on it for each test.

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection, Executor};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use std::{env, process, thread};
use tool_adapters::stores::PostgresStore;

/// Returns the server's URL. Skips the test without one.
pub(crate) fn url() -> Option<String> {
    let url = env::var("POSTGRES_URL").ok().filter(|url| !url.is_empty());
    if url.is_none() {
        tool_core::testing::skip("POSTGRES_URL names no server");
    }
    url
}

/// A schema for one test, which is dropped with this value.
pub(crate) struct Schema {
    server: String,
    name: String,
}

impl Schema {
    /// Creates a schema, if there is a server.
    pub(crate) async fn on_server() -> Option<Self> {
        let server = url()?;
        Some(Self::on(server).await)
    }

    pub(crate) async fn on(server: String) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let since = std::time::UNIX_EPOCH
            .elapsed()
            .unwrap_or(Duration::ZERO)
            .as_nanos();
        let name = format!(
            "test_{}_{since}_{}",
            process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        run(&server, format!("CREATE SCHEMA {name}"))
            .await
            .expect("the server makes a schema");
        Self { server, name }
    }

    /// Returns a URL of the schema, for this process and others.
    pub(crate) fn url(&self) -> String {
        let divider = if self.server.contains('?') { '&' } else { '?' };
        format!(
            "{}{divider}options=-csearch_path%3D{1}&application_name={1}",
            self.server, self.name
        )
    }

    pub(crate) async fn store(&self) -> PostgresStore {
        PostgresStore::connect(&self.url())
            .await
            .expect("the server answers")
    }

    /// Runs a statement over a separate connection.
    pub(crate) async fn by_hand(&self, sql: &str) -> Result<(), sqlx::Error> {
        run(&self.url(), sql.to_owned()).await
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

pub(crate) async fn run(url: &str, sql: String) -> Result<(), sqlx::Error> {
    let mut connection = PgConnection::connect(url).await?;
    connection.execute(AssertSqlSafe(sql)).await?;
    connection.close().await
}

/// Runs a statement, and waits for it where no runtime can wait.
pub(crate) fn run_in_a_thread(url: String, sql: String) {
    // A runtime cannot wait within another one's thread.
    let done = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        _ = runtime
            .block_on(async { tokio::time::timeout(Duration::from_secs(5), run(&url, sql)).await });
    });
    _ = done.join();
}

impl Drop for Schema {
    fn drop(&mut self) {
        let sql = format!("DROP SCHEMA {} CASCADE", self.name);
        run_in_a_thread(self.server.clone(), sql);
    }
}
