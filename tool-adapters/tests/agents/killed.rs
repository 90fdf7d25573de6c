//! A writer that is killed (SIGKILL) again and again: what it was told to be written is there, and the file is sound.

use crate::part::Other;
use crate::server::Schema;
use crate::soak::lasts;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Row};
use std::path::Path;
use std::time::Instant;
use tool_adapters::stores::SqliteStore;
use tool_core::agents::DynAgentToolStore;

/// As an operator would, with SQLite itself.
async fn is_sound(file: &Path) -> bool {
    let mut connection: SqliteConnection =
        SqliteConnectOptions::new().filename(file).connect().await.expect("it opens");
    let rows = sqlx::query("PRAGMA integrity_check").fetch_all(&mut connection).await.expect("it is checked");
    rows.iter().all(|row| row.try_get::<&str, _>(0).is_ok_and(|line| line == "ok")) && rows.len() == 1
}

/// What the record counts, and what the last writer said.
async fn counts(store: &dyn DynAgentToolStore, said: u64) -> u64 {
    // In one read: a server may still end a write of whoever was killed.
    let records = store.load("alice").await.expect("the store reads");
    let [record] = &*records.tools else { panic!("the record: {records:?}") };
    let count = record.config["count"].as_u64().expect("a count");
    assert!((said..=said + 1).contains(&count), "{said} was said to be written, and {count} is");
    assert_eq!(record.config["text"], count.to_string().repeat(5000), "torn");
    assert_eq!(records.version, record.version);
    assert_eq!(record.version, count, "each write is a version");
    count
}

/// Kills a writer after ever another number of writes, until the time is over.
async fn kills(place: &str, store: &dyn DynAgentToolStore, check: impl AsyncFn()) {
    let (began, mut kills, mut count) = (Instant::now(), 0_usize, 0);
    while began.elapsed() < lasts() || kills < 4 {
        let mut other = Other::start("die", place, 0);
        let mut said = count;
        for _ in 0..=(kills * 7) % 23 {
            said = other.hear().and_then(|said| said.parse().ok()).expect("it counts");
        }
        said = other.kill().and_then(|last| last.parse().ok()).unwrap_or(said);
        check().await;
        count = counts(store, said).await;
        kills += 1;
    }
    println!("{kills} kills, {count} writes, nothing lost");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_writer_loses_no_acknowledged_write_in_sqlite() {
    let place = tempfile::tempdir().expect("a folder");
    let file = place.path().join("agents.db");
    let store = SqliteStore::open(&file).await.expect("it opens");
    kills(file.to_str().expect("a path"), &store, async || assert!(is_sound(&file).await)).await;
    drop(store);
    // Also for whoever opens it first.
    let mut other = Other::start("die", file.to_str().expect("a path"), 0);
    let heard = other.hear().expect("it counts");
    let said = other.kill().unwrap_or(heard).parse().expect("a count");
    counts(&SqliteStore::open(&file).await.expect("it opens"), said).await;
    assert!(is_sound(&file).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_writer_loses_no_acknowledged_write_in_postgres() {
    let Some(schema) = Schema::on_server().await else { return };
    kills(&schema.url(), &schema.store().await, async || {}).await;
}
