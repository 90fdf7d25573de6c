//! Processes that share a store in a file. An environment variable makes this binary one of the others.

use crate::expiry::COUNTING;
use crate::provider::{agents, clients, connect, counted, issuer};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;
use tool_adapters::stores::SqliteStore;

const FILE: &str = "TOOL_ADAPTERS_CALLS_WITH_A_GRANT";
/// The prefix of the other process's lines. The test harness writes to the same stream.
const SAYS: &str = "@ ";

/// Runs in the other process: calls on request and reports the outcome.
#[tokio::test]
#[ignore = "the other tests run it in their own processes"]
async fn calls_when_it_is_told_to() {
    let path = std::env::var(FILE).expect("the file");
    let store = SqliteStore::open(Path::new(&path)).await.expect("opens");
    let agents = agents(store, &clients("agents-short"));
    println!("\n{SAYS}ready");
    std::io::stdin()
        .read_exact(&mut [0])
        .expect("the word to begin");
    let response = agents
        .executor("alice")
        .run_tool_action("calendar", "events", "{}")
        .await
        .expect("runs");
    println!("\n{SAYS}{}", response.is_ok());
}

struct Other {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Other {
    fn start(path: &Path) -> Self {
        let mut process = Command::new(std::env::current_exe().expect("this binary"))
            .args([
                "--ignored",
                "--exact",
                "processes::calls_when_it_is_told_to",
                "--nocapture",
            ])
            .env(FILE, path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the other process starts");
        let (input, output) = (
            process.stdin.take().expect("its input"),
            process.stdout.take().expect("its output"),
        );
        Self {
            process,
            input,
            output: BufReader::new(output),
        }
    }

    fn hear(&mut self) -> Option<String> {
        let mut lines = self.output.by_ref().lines().map_while(Result::ok);
        lines.find_map(|line| line.strip_prefix(SAYS).map(str::to_owned))
    }
}

#[tokio::test]
async fn processes_have_an_expired_token_refreshed_once() {
    if issuer().is_none() {
        return;
    }
    let _turn = COUNTING.lock().await;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("agents.db");
    let clients = clients("agents-short");
    let here = agents(SqliteStore::open(&path).await.expect("opens"), &clients);
    connect(&clients, &here, "alice", "calendar").await;

    let mut others = [(); 3].map(|()| Other::start(&path));
    for other in &mut others {
        assert_eq!(other.hear().as_deref(), Some("ready"));
    }
    // Longer than the token lives.
    tokio::time::sleep(Duration::from_millis(6200)).await;
    let before = counted("refresh_token").await;
    for other in &mut others {
        other.input.write_all(b"!").expect("it listens");
    }
    for mut other in others {
        assert_eq!(other.hear().as_deref(), Some("true"));
        assert!(other.process.wait().expect("it ends").success());
    }
    assert_eq!(counted("refresh_token").await - before, 1);
}
