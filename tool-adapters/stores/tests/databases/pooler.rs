//! `PgBouncer` in transaction mode before the server that `POSTGRES_URL` names, and a database behind it for each test.

use crate::server;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, UNIX_EPOCH};
use tool_adapters::stores::PostgresStore;

/// A pooler that ends with this process, which closes its input.
struct Pooler {
    url: String,
    _process: Child,
}

static POOLER: LazyLock<Result<Pooler, String>> = LazyLock::new(Pooler::start);

impl Pooler {
    fn start() -> Result<Self, String> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.ci/pgbouncer");
        let server = server::url().unwrap_or_default();
        let mut process = Command::new(script)
            .arg(server)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        let mut url = String::new();
        let output = process.stdout.take().expect("its output");
        BufReader::new(output)
            .read_line(&mut url)
            .map_err(|error| error.to_string())?;
        if url.is_empty() {
            let mut reason = String::new();
            let errors = process.stderr.take().expect("its errors");
            _ = BufReader::new(errors).read_to_string(&mut reason);
            return Err(format!("no pooler: {}", reason.trim()));
        }
        Ok(Self {
            url: url.trim().to_owned(),
            _process: process,
        })
    }
}

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
