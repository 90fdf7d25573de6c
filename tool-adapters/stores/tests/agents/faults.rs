//! Missing and damaged databases: the errors are clear and show no secret, and nothing is lost.

use crate::manual_changes::Database;
use crate::server::{Schema, url};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use tool_adapters::stores::{PostgresStore, SqlError, SqliteStore};
use tool_core::agents::{AgentStoreError, AgentToolStore, RecordWrite};
use tool_core::testing::agents::driver::Driver;

/// Asserts that an operation failed with a text.
fn down<T>(done: Result<T, impl Into<AgentStoreError>>, says: &str) {
    match done.map_err(Into::into) {
        Err(AgentStoreError::Down { message, .. }) => assert!(message.contains(says), "{message}"),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it was done"),
    }
}

async fn opens(path: &Path) -> Result<SqliteStore, SqlError> {
    SqliteStore::open(path).await
}

#[tokio::test]
async fn file_of_another_kind_is_an_error() {
    let place = tempfile::tempdir().expect("a folder");
    down(
        opens(&place.path().join("missing/agents.db")).await,
        "missing/agents.db: No such file",
    );
    down(opens(place.path()).await, "unable to open");
    let text = place.path().join("text");
    fs::write(&text, "hunter2 ".repeat(1000)).expect("written");
    down(opens(&text).await, "not a database");
    assert_eq!(
        fs::read_to_string(&text).expect("read").len(),
        8000,
        "it is left as it is"
    );
}

#[tokio::test]
async fn foreign_and_newer_tables_are_errors() {
    for database in Database::all().await {
        if let Database::Postgres(schema) = &database {
            schema
                .by_hand("CREATE TABLE tool_agents (name text)")
                .await
                .expect("made");
            down(
                PostgresStore::connect(&schema.url()).await,
                "already exists",
            );
            schema
                .by_hand("DROP TABLE tool_agents")
                .await
                .expect("dropped");
        }
        database.driver().await.add("alice", "email").await;
        let newer = "INSERT INTO _tool_agents_migrations (version, description, success, checksum, execution_time)
            SELECT 99, description, success, checksum, 0 FROM _tool_agents_migrations WHERE version = 1";
        database.by_hand(newer).await.expect("noted");
        match &database {
            Database::Sqlite(place) => down(
                opens(&place.path().join("agents.db")).await,
                "newer version",
            ),
            Database::Postgres(schema) => {
                down(PostgresStore::connect(&schema.url()).await, "newer version");
            }
        }
    }
}

#[cfg(unix)]
#[tokio::test]
async fn new_file_is_accessible_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let place = tempfile::tempdir().expect("a folder");
    let driver = Driver(Arc::new(
        opens(&place.path().join("agents.db"))
            .await
            .expect("it opens"),
    ));
    driver.add("alice", "email").await;
    let files: Vec<_> = fs::read_dir(place.path())
        .expect("read")
        .map(|file| file.expect("a file"))
        .collect();
    assert_eq!(files.len(), 3);
    for file in files {
        assert_eq!(
            file.metadata().expect("known").permissions().mode() & 0o777,
            0o600,
            "{file:?}"
        );
    }
}

#[tokio::test]
async fn locked_file_fails_writes_until_it_is_free() {
    let place = tempfile::tempdir().expect("a folder");
    let path = place.path().join("agents.db");
    let driver = Driver(Arc::new(opens(&path).await.expect("it opens")));
    driver.add("alice", "email").await;
    let pool = sqlx::SqlitePool::connect(path.to_str().expect("a path"))
        .await
        .expect("it opens");
    let mut other = pool.acquire().await.expect("a connection");
    sqlx::query("BEGIN IMMEDIATE")
        .execute(&mut *other)
        .await
        .expect("it is locked");
    let write = RecordWrite::new("alice", "drive", json!({}));
    down(driver.0.write(&write).await, "locked");
    assert_eq!(driver.load("alice").await.tools.len(), 1);
    sqlx::query("ROLLBACK")
        .execute(&mut *other)
        .await
        .expect("it is free");
    assert_eq!(driver.write(&write).await, 2);
}

/// Writes 200 records, and moves them from the log into the file itself.
async fn written(path: &Path) -> Driver {
    let store = opens(path).await.expect("it opens");
    let driver = Driver(Arc::new(store));
    for number in 0..200 {
        driver
            .write(&RecordWrite::new(
                "alice",
                format!("tool-{number:03}"),
                json!({ "text": "x".repeat(2000) }),
            ))
            .await;
    }
    let pool = sqlx::SqlitePool::connect(path.to_str().expect("a path"))
        .await
        .expect("it opens");
    sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)")
        .execute(&pool)
        .await
        .expect("it is moved");
    pool.close().await;
    driver
}

#[tokio::test]
async fn overwritten_bytes_are_an_error_until_restored() {
    let place = tempfile::tempdir().expect("a folder");
    let path = place.path().join("agents.db");
    let driver = written(&path).await;
    let sound = fs::read(&path).expect("read");
    for (from, says) in [(0, "not a database"), (4096, "malformed")] {
        let mut broken = sound.clone();
        let end = if from == 0 { 100 } else { broken.len() };
        broken[from..end].fill(0xa5);
        overwrite(&path, &broken);
        match opens(&path).await {
            Err(error) => down(Err::<(), _>(error), says),
            Ok(store) => down(store.load("alice").await, says),
        }
        // An open store may have the right pages in its cache, and never returns wrong ones.
        if let Ok(loaded) = driver.0.load("alice").await {
            assert_eq!(loaded.tools.len(), 200);
        }
        overwrite(&path, &sound);
        assert_eq!(
            (
                driver.load("alice").await.tools.len(),
                driver.version("alice").await
            ),
            (200, 200)
        );
    }
    assert_eq!(driver.add("alice", "more").await, 201);
}

/// Overwrites a file in place, so that it stays the same file.
fn overwrite(path: &Path, bytes: &[u8]) {
    use std::io::Write;
    let mut file = fs::OpenOptions::new()
        .write(true)
        .open(path)
        .expect("opened");
    file.write_all(bytes).expect("written");
}

#[cfg(unix)]
#[tokio::test]
async fn removed_file_is_an_error_and_its_successor_is_used() {
    let place = tempfile::tempdir().expect("a folder");
    let path = place.path().join("agents.db");
    let driver = written(&path).await;
    let copy = place.path().join("backup");
    fs::copy(&path, &copy).expect("copied");
    for file in ["agents.db", "agents.db-wal", "agents.db-shm"] {
        _ = fs::remove_file(place.path().join(file));
    }
    let write = RecordWrite::new("alice", "more", json!({}));
    down(driver.0.write(&write).await, "unable to open");
    down(driver.0.load("alice").await, "unable to open");
    fs::rename(&copy, &path).expect("put back");
    assert_eq!(
        (
            driver.load("alice").await.tools.len(),
            driver.write(&write).await
        ),
        (200, 201)
    );
    assert_eq!(
        Driver(Arc::new(opens(&path).await.expect("it opens")))
            .version("alice")
            .await,
        201
    );
}

#[tokio::test]
async fn no_error_shows_the_password_of_an_address() {
    let wrong = [
        "postgres://tools:hunter2@127.0.0.1:1/x",
        "postgres://tools:hunter2@[",
        "hunter2",
        "postgres://t:hunter2@h/d?sslmode=hunter2",
    ];
    for url in wrong {
        let error = PostgresStore::connect(url)
            .await
            .expect_err("there is no server");
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
    }
}

#[tokio::test]
async fn connections_that_the_server_ends_are_opened_again() {
    let Some(schema) = Schema::on_server().await else {
        return;
    };
    let driver = Driver(Arc::new(schema.store().await));
    driver.add("alice", "email").await;
    for _ in 0..3 {
        let end = "SELECT 1 / count(pg_terminate_backend(pid)) FROM pg_stat_activity
            WHERE pid <> pg_backend_pid() AND application_name = current_schema()";
        schema.by_hand(end).await.expect("ended");
        assert_eq!(driver.version("alice").await, 1);
        assert_eq!(driver.load("alice").await.tools.len(), 1);
    }
}

/// A server that the test starts with the gate's script.
struct Server(PathBuf);

impl Server {
    fn run(&self, what: &[&str]) -> String {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.ci/postgres");
        let done = Command::new(script)
            .arg(what[0])
            .arg(&self.0)
            .args(&what[1..])
            .output()
            .expect("it runs");
        assert!(
            done.status.success(),
            "{}",
            String::from_utf8_lossy(&done.stderr)
        );
        String::from_utf8(done.stdout)
            .expect("text")
            .trim()
            .to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.ci/postgres");
        _ = Command::new(script).arg("drop").arg(&self.0).output();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stopped_server_is_an_error_and_loses_nothing() {
    if url().is_none() {
        return;
    }
    // A folder that the server's user can read, which is another user if the test runs as root.
    let server = Server(std::env::temp_dir().join(format!("agents-server-{}", std::process::id())));
    let address = server.run(&["start"]);
    let driver = Driver(Arc::new(
        PostgresStore::connect(&address).await.expect("it answers"),
    ));
    let mut version = driver.add("alice", "email").await;
    for how in ["fast", "immediate"] {
        server.run(&["stop", how]);
        down(driver.0.version("alice").await, "");
        down(
            driver
                .0
                .write(&RecordWrite::new("alice", how, json!({})))
                .await,
            "",
        );
        server.run(&["start"]);
        assert_eq!(driver.version("alice").await, version);
        // The store tests a connection before its use once it was idle for a second. The others in the pool are broken.
        tokio::time::sleep(Duration::from_millis(1100)).await;
        version = driver.add("alice", how).await;
    }
    assert_eq!(driver.load("alice").await.tools.len(), 3);
}
