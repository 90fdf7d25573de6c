//! Eight writers and eight readers at once: no update is lost, and no read is torn. `just soak-agents` runs them for a minute
//! on each store.

use crate::process::WorkerProcess;
use crate::server::Schema;
use crate::workload::{Tally, adds_up, report, run};
use std::sync::Arc;
use std::time::Duration;
use tool_adapters::stores::{PostgresStore, SqliteStore};
use tool_core::agents::{DynAgentToolStore, MemoryAgentToolStore};

/// Number of writers, and of readers.
const OF_EACH: usize = 8;

pub(crate) fn lasts() -> Duration {
    let seconds = std::env::var("SOAK_SECONDS")
        .ok()
        .and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(seconds.unwrap_or(2))
}

async fn soak(name: &str, store: Arc<dyn DynAgentToolStore>) {
    let all = || vec![Arc::clone(&store); OF_EACH];
    let tally = run(all(), all(), lasts(), 1).await;
    assert!(tally.writes() > 0 && tally.loads > 0);
    adds_up(&*store, &tally).await;
    report(name, lasts(), tally);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn in_memory_no_update_is_lost_and_no_read_is_torn() {
    soak("memory", Arc::new(MemoryAgentToolStore::new())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn in_sqlite_no_update_is_lost_and_no_read_is_torn() {
    let place = tempfile::tempdir().expect("a folder");
    soak(
        "sqlite",
        Arc::new(
            SqliteStore::open(place.path().join("agents.db"))
                .await
                .expect("it opens"),
        ),
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn in_postgres_no_update_is_lost_and_no_read_is_torn() {
    let Some(schema) = Schema::on_server().await else {
        return;
    };
    soak("postgres", Arc::new(schema.store().await)).await;
}

/// Eight processes with a writer and a reader each.
async fn processes(name: &str, place: &str, store: Arc<dyn DynAgentToolStore>) {
    let others: Vec<_> = (0..OF_EACH)
        .map(|number| WorkerProcess::start("work", place, number))
        .collect();
    let mut tally = Tally::default();
    for mut other in others {
        tally.add(Tally::from_json(&other.next_line().expect("what it did")));
        assert!(other.ends_well());
    }
    assert!(tally.writes() > 0 && tally.loads > 0);
    adds_up(&*store, &tally).await;
    report(&format!("{name}, {OF_EACH} processes"), lasts(), tally);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_processes_lose_no_update_and_tear_no_read() {
    let place = tempfile::tempdir().expect("a folder");
    let path = place.path().join("agents.db");
    // All of them open a file that does not exist yet.
    let path = path.to_str().expect("a path");
    let others = SqliteStore::open(path);
    processes("sqlite", path, Arc::new(others.await.expect("it opens"))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_processes_lose_no_update_and_tear_no_read() {
    let Some(schema) = Schema::on_server().await else {
        return;
    };
    let url = schema.url();
    let store = PostgresStore::connect(&url)
        .await
        .expect("the server answers");
    processes("postgres", &url, Arc::new(store)).await;
}
