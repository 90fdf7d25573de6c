//! Other processes: this binary again, told by environment variables to play a part.

use crate::soak::lasts;
use crate::work::run;
use serde_json::json;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use tool_adapters::stores::{PostgresStore, SqliteStore};
use tool_core::agents::{DynAgentToolStore, RecordWrite};

const PART: &str = "AGENTS_TEST_PART";
const PLACE: &str = "AGENTS_TEST_PLACE";
const NUMBER: &str = "AGENTS_TEST_NUMBER";
/// What the other process says to this one begins with it, as the test harness talks on the same stream.
const SAYS: &str = "@ ";

/// The other process, where it is one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plays_its_part() {
    let (Ok(part), Ok(place), Ok(number)) = (std::env::var(PART), std::env::var(PLACE), std::env::var(NUMBER)) else {
        return;
    };
    let store: Arc<dyn DynAgentToolStore> = if place.starts_with("postgres") {
        Arc::new(PostgresStore::connect(&place).await.expect("the server answers"))
    } else {
        Arc::new(SqliteStore::open(&place).await.expect("the file opens"))
    };
    match part.as_str() {
        "work" => {
            let seed = number.parse().expect("a number");
            say(run(vec![store.clone()], vec![store], lasts(), seed).await.to_json());
        }
        "die" => count_until_killed(&*store).await,
        part => panic!("there is no part {part}"),
    }
}

fn say(what: impl std::fmt::Display) {
    println!("\n{SAYS}{what}");
}

/// Counts a record up and says so after each write, until it is killed.
async fn count_until_killed(store: &dyn DynAgentToolStore) {
    let mut write = match store.get("alice", "email").await.expect("the store reads") {
        Some(record) => RecordWrite::of(&record),
        None => RecordWrite::new("alice", "email", json!({ "count": 0 })),
    };
    loop {
        let count = write.config["count"].as_u64().expect("a count") + 1;
        // Large, so that a write is many pages.
        write.config = json!({ "count": count, "text": count.to_string().repeat(5000) });
        let version = store.write(&write).await.expect("the store writes");
        write.expected = tool_core::agents::Precondition::Version(version);
        say(count);
    }
}

pub(crate) struct Other {
    process: Child,
    output: BufReader<ChildStdout>,
}

impl Other {
    pub(crate) fn start(part: &str, place: &str, number: usize) -> Self {
        let mut process = Command::new(std::env::current_exe().expect("this binary"))
            .args(["--exact", "part::plays_its_part", "--nocapture"])
            .env(PART, part)
            .env(PLACE, place)
            .env(NUMBER, number.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the other process starts");
        let output = BufReader::new(process.stdout.take().expect("its output"));
        Self { process, output }
    }

    /// What it says next; `None` at its end.
    pub(crate) fn hear(&mut self) -> Option<String> {
        let mut lines = self.output.by_ref().lines().map_while(Result::ok);
        lines.find_map(|line| line.strip_prefix(SAYS).map(str::to_owned))
    }

    pub(crate) fn ends_well(mut self) -> bool {
        while self.hear().is_some() {}
        self.process.wait().expect("it ends").success()
    }

    /// Kills it, and gives the last that it said.
    pub(crate) fn kill(mut self) -> Option<String> {
        self.process.kill().expect("it is killed");
        let mut last = None;
        while let Some(said) = self.hear() {
            last = Some(said);
        }
        assert!(!self.process.wait().expect("it is over").success());
        last
    }
}
