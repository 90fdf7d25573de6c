//! Worker processes: this binary again, with a task in its environment variables.

use crate::soak::lasts;
use crate::workload::run;
use serde_json::json;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use tool_adapters::stores::{PostgresStore, SqliteStore};
use tool_core::agents::{AgentStoreError, DynAgentToolStore, Precondition, RecordWrite};

const TASK: &str = "AGENTS_TEST_TASK";
const PLACE: &str = "AGENTS_TEST_PLACE";
const NUMBER: &str = "AGENTS_TEST_NUMBER";
/// The prefix of a worker's lines, because the test harness writes to the same stream.
const PREFIX: &str = "@ ";

/// Runs the task of a worker.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the other tests run it in their own processes"]
async fn runs_its_task() {
    let [task, place, number] =
        [TASK, PLACE, NUMBER].map(|name| std::env::var(name).expect("the task"));
    let store: Arc<dyn DynAgentToolStore> = if place.starts_with("postgres") {
        Arc::new(
            PostgresStore::connect(&place)
                .await
                .expect("the server answers"),
        )
    } else {
        Arc::new(SqliteStore::open(&place).await.expect("the file opens"))
    };
    match task.as_str() {
        "work" => {
            let seed = number.parse().expect("a number");
            print_line(
                run(vec![store.clone()], vec![store], lasts(), seed)
                    .await
                    .to_json(),
            );
        }
        "die" => count_until_killed(&*store).await,
        task => panic!("unknown task {task}"),
    }
}

fn print_line(text: impl std::fmt::Display) {
    println!("\n{PREFIX}{text}");
}

/// Counts a record up and prints the count after each write, until it is killed.
async fn count_until_killed(store: &dyn DynAgentToolStore) {
    let mut write = read_count(store).await;
    // A server may finish a write of the process that was killed before this one.
    let mut is_first = true;
    loop {
        let count = write.config["count"].as_u64().expect("a count") + 1;
        // Large, so that a write changes many pages.
        write.config = json!({ "count": count, "text": count.to_string().repeat(5000) });
        match store.write(&write).await {
            Ok(version) => write.expected = Precondition::Version(version),
            Err(AgentStoreError::Conflict { .. }) if is_first => {
                write = read_count(store).await;
                is_first = false;
                continue;
            }
            Err(error) => panic!("the store writes: {error}"),
        }
        is_first = false;
        print_line(count);
    }
}

async fn read_count(store: &dyn DynAgentToolStore) -> RecordWrite {
    match store.get("alice", "email").await.expect("the store reads") {
        Some(record) => RecordWrite::of(&record),
        None => RecordWrite::new("alice", "email", json!({ "count": 0 })),
    }
}

pub(crate) struct WorkerProcess {
    process: Child,
    output: BufReader<ChildStdout>,
}

impl WorkerProcess {
    pub(crate) fn start(task: &str, place: &str, number: usize) -> Self {
        let mut process = Command::new(std::env::current_exe().expect("this binary"))
            .args([
                "--ignored",
                "--exact",
                "process::runs_its_task",
                "--nocapture",
            ])
            .env(TASK, task)
            .env(PLACE, place)
            .env(NUMBER, number.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the other process starts");
        let output = BufReader::new(process.stdout.take().expect("its output"));
        Self { process, output }
    }

    /// Returns the worker's next line, or `None` at its end.
    pub(crate) fn next_line(&mut self) -> Option<String> {
        let mut lines = self.output.by_ref().lines().map_while(Result::ok);
        lines.find_map(|line| line.strip_prefix(PREFIX).map(str::to_owned))
    }

    /// Waits for the worker's end. Returns true if it succeeded.
    pub(crate) fn ends_well(mut self) -> bool {
        while self.next_line().is_some() {}
        self.process.wait().expect("it ends").success()
    }

    /// Kills the worker. Returns its last line.
    pub(crate) fn kill(mut self) -> Option<String> {
        self.process.kill().expect("it is killed");
        let mut last = None;
        while let Some(line) = self.next_line() {
            last = Some(line);
        }
        assert!(!self.process.wait().expect("it is over").success());
        last
    }
}
