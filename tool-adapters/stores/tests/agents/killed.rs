//! A writer that is killed (SIGKILL) again and again: acknowledged writes are there, and the file is intact.

use crate::process::WorkerProcess;
use crate::server::Schema;
use crate::soak::lasts;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Row};
use std::path::Path;
use std::time::Instant;
use tool_adapters::stores::SqliteStore;
use tool_core::agents::DynAgentToolStore;

/// Checks the file with SQLite itself.
async fn is_sound(file: &Path) -> bool {
    let mut connection: SqliteConnection = SqliteConnectOptions::new()
        .filename(file)
        .connect()
        .await
        .expect("it opens");
    let rows = sqlx::query("PRAGMA integrity_check")
        .fetch_all(&mut connection)
        .await
        .expect("it is checked");
    rows.iter()
        .all(|row| row.try_get::<&str, _>(0).is_ok_and(|line| line == "ok"))
        && rows.len() == 1
}

/// Returns the record's count, which is the last acknowledged one or the next.
async fn counts(store: &dyn DynAgentToolStore, acknowledged: u64) -> u64 {
    // In one read, because a server may still finish a write of the killed process.
    let records = store.load("alice").await.expect("the store reads");
    let [record] = &*records.tools else {
        panic!("the record: {records:?}")
    };
    let count = record.config["count"].as_u64().expect("a count");
    assert!(
        (acknowledged..=acknowledged + 1).contains(&count),
        "{acknowledged} was acknowledged, and the record has {count}"
    );
    assert_eq!(
        record.config["text"],
        count.to_string().repeat(5000),
        "torn"
    );
    assert_eq!(records.version, record.version);
    assert_eq!(record.version, count, "each write is a version");
    count
}

/// Kills a writer after varying numbers of writes, until the time is over.
async fn kills(place: &str, store: &dyn DynAgentToolStore, check: impl AsyncFn()) {
    let (began, mut kills, mut count) = (Instant::now(), 0_usize, 0);
    while began.elapsed() < lasts() || kills < 4 {
        let mut other = WorkerProcess::start("die", place, 0);
        let mut acknowledged = count;
        for _ in 0..=(kills * 7) % 23 {
            acknowledged = other
                .next_line()
                .and_then(|acknowledged| acknowledged.parse().ok())
                .expect("it counts");
        }
        acknowledged = other
            .kill()
            .and_then(|last| last.parse().ok())
            .unwrap_or(acknowledged);
        check().await;
        count = counts(store, acknowledged).await;
        kills += 1;
    }
    println!("{kills} kills, {count} writes, nothing lost");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_writer_loses_no_acknowledged_write_in_sqlite() {
    let place = tempfile::tempdir().expect("a folder");
    let file = place.path().join("agents.db");
    let store = SqliteStore::open(&file).await.expect("it opens");
    kills(file.to_str().expect("a path"), &store, async || {
        assert!(is_sound(&file).await);
    })
    .await;
    drop(store);
    // Also if the killed process was the only one with the file open.
    let mut other = WorkerProcess::start("die", file.to_str().expect("a path"), 0);
    let heard = other.next_line().expect("it counts");
    let acknowledged = other.kill().unwrap_or(heard).parse().expect("a count");
    counts(
        &SqliteStore::open(&file).await.expect("it opens"),
        acknowledged,
    )
    .await;
    assert!(is_sound(&file).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_writer_loses_no_acknowledged_write_in_postgres() {
    let Some(schema) = Schema::on_server().await else {
        return;
    };
    kills(&schema.url(), &schema.store().await, async || {}).await;
}
