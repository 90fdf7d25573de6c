//! A process that is killed (SIGKILL) while it makes calls: what it was admitted counts, and the file is intact.
//!
//! Environment variables make this binary the other process.

use crate::database::SqliteFile;
use crate::server::Schema;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use tool_adapters::stores::{PostgresStore, SqliteStore};
use tool_core::Mode;
use tool_core::session::{SessionStore, Verdict};
use tool_core::testing::store::driver::{TestCall, TestSession, open, opening};

const PLACE: &str = "SESSIONS_TEST_PLACE";
/// The prefix of the other process's lines. The test harness writes to the same stream.
const SAYS: &str = "@ ";
/// The calls that the killed processes and the test may make together.
const LIMIT: u32 = 400;
/// The processes that are killed.
const KILLS: u32 = 4;

async fn session(store: &impl SessionStore) -> TestSession {
    open(store, &opening("shared", Mode::Text))
        .await
        .expect("it opens")
}

async fn session_at(place: &str) -> TestSession {
    if place.starts_with("postgres") {
        session(
            &PostgresStore::connect(place)
                .await
                .expect("the server answers"),
        )
        .await
    } else {
        session(&SqliteStore::open(place).await.expect("the file opens")).await
    }
}

fn call() -> TestCall {
    TestCall::within(|limits| limits.max_calls = Some(LIMIT))
}

/// The other process, where it is one: makes calls until it is killed.
#[tokio::test]
#[ignore = "the other tests run it in its own process"]
async fn makes_calls_until_it_is_killed() {
    let place = std::env::var(PLACE).expect("the place");
    let session = session_at(&place).await;
    let mut passed = 0;
    loop {
        assert!(
            session.passes(&call()).await,
            "the test ends before the limit"
        );
        passed += 1;
        println!("\n{SAYS}{passed}");
    }
}

/// Starts the other process, kills it after some calls, and returns how many it has reported.
fn run_and_kill(place: &str, after: u32) -> u32 {
    let this = std::env::current_exe().expect("this binary");
    let mut other = Command::new(this)
        .args(["--exact", "killed::makes_calls_until_it_is_killed"])
        .args(["--ignored", "--nocapture"])
        .env(PLACE, place)
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let output = BufReader::new(other.stdout.take().expect("its output"));
    let mut reported: u32 = 0;
    for line in output.lines().map_while(Result::ok) {
        if let Some(passed) = line.strip_prefix(SAYS) {
            reported = passed.parse().expect("a number");
            if reported == after {
                other.kill().expect("it is killed");
            }
        }
    }
    other.wait().expect("it ended");
    reported
}

/// Each admission that a process has reported counts, and at most one more for each process.
async fn admitted_calls_outlive_their_process(place: &str) {
    let mut reported = 0;
    for kill in 0..KILLS {
        let place = place.to_owned();
        let other = tokio::task::spawn_blocking(move || run_and_kill(&place, 5 + 7 * kill));
        reported += other.await.expect("it was killed");
    }

    let session = session_at(place).await;
    let call = call();
    let mut rest = 0;
    while let Verdict::Admitted { .. } = session.admit(&call).await {
        rest += 1;
    }
    let counted = LIMIT - rest;
    assert!(
        (reported..=reported + KILLS).contains(&counted),
        "{reported} were reported, and {counted} count"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_killed_processes_count_in_sqlite() {
    let file = SqliteFile::new();
    let path = file.path();
    admitted_calls_outlive_their_process(path.to_str().expect("a path")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_killed_processes_count_in_postgres() {
    if let Some(schema) = Schema::on_server().await {
        admitted_calls_outlive_their_process(&schema.url()).await;
    }
}
