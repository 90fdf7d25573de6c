//! Processes that are killed. This test program runs itself as the process that is to die.
#![cfg(unix)]

use crate::support::{Place, calls, entry, harmless, recovered};
use std::env;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tool_adapters::stores::FileJournal;
use tool_core::session::Journal;

const ROLE: &str = "JOURNAL_TEST_ROLE";
const FILE: &str = "JOURNAL_TEST_FILE";
const CHILD: &str = "crash::the_process_that_dies";

/// The prefix of a child's lines. The test harness writes to the same stream.
const SAYS: &str = "child: ";

fn child(role: &str, file: &Path) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args([
        "--ignored",
        "--exact",
        CHILD,
        "--nocapture",
        "--test-threads=1",
    ]);
    command
        .env(ROLE, role)
        .env(FILE, file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    command
}

/// Kills the child (SIGKILL) as soon as it has said so many lines, and gives all that it said.
fn kill_after(mut child: Child, lines: usize) -> Vec<String> {
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut said: Vec<String> = Vec::new();
    let words = |line: String| line.split_once(SAYS).map(|(_, words)| words.to_owned());
    while said.len() < lines {
        said.extend(words(output.next().expect("the child says more").unwrap()));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // Its output before the signal.
    said.extend(output.map_while(Result::ok).filter_map(words));
    said
}

fn say(words: &str) {
    println!("\n{SAYS}{words}");
}

/// Until the parent kills it.
fn wait() {
    _ = std::io::stdin().read(&mut [0]);
}

#[tokio::test]
#[ignore = "the other tests run it in their own processes"]
async fn the_process_that_dies() {
    let (role, file) = (env::var(ROLE).unwrap(), env::var(FILE).unwrap());
    let journal = FileJournal::open(file).unwrap();
    match role.as_str() {
        "mid-call" => {
            journal.started(&entry("s", "done")).await.unwrap();
            journal
                .finished("s", "done", r#"{"ok":true}"#)
                .await
                .unwrap();
            journal.started(&harmless("s", "reading")).await.unwrap();
            journal.started(&entry("gone", "done")).await.unwrap();
            journal.forget("gone").await.unwrap();
            journal.started(&entry("s", "running")).await.unwrap();
            say("ready");
            wait();
        }
        "busy" => {
            for call in 0.. {
                let id = call.to_string();
                journal.started(&entry("s", &id)).await.unwrap();
                say(&id);
                journal.finished("s", &id, &id).await.unwrap();
            }
        }
        "full" => fill(&journal).await,
        _ => unreachable!("no such role"),
    }
}

#[tokio::test]
async fn only_calls_that_ran_at_the_kill_are_unknown() {
    let place = Place::new();
    kill_after(child("mid-call", &place.path()).spawn().unwrap(), 1);

    let journal = place.open();
    let expected = calls(&[
        ("done", Some(r#"{"ok":true}"#)),
        ("reading", None),
        ("running", None),
    ]);
    assert_eq!(recovered(&journal, "s").await, expected);
    assert_eq!(recovered(&journal, "gone").await, []);
}

#[tokio::test]
async fn no_kill_loses_an_action_that_may_have_run() {
    for lines in [1, 2, 7, 20, 61] {
        let place = Place::new();
        let said = kill_after(child("busy", &place.path()).spawn().unwrap(), lines);

        let found = recovered(&place.open(), "s").await;
        assert!(
            found.len() >= said.len(),
            "{} calls of {}",
            found.len(),
            said.len()
        );
        for ((id, response), said) in found.iter().zip(&said) {
            assert_eq!(id, said);
            assert!(response.as_ref().is_none_or(|response| response == id));
        }
        // Each start brings the ends before it to the disk.
        assert!(
            found[..found.len() - 1]
                .iter()
                .all(|(_, response)| response.is_some())
        );
    }
}

#[tokio::test]
async fn a_process_that_was_killed_does_not_keep_the_file() {
    let place = Place::new();
    for process in 1..4 {
        kill_after(child("mid-call", &place.path()).spawn().unwrap(), 1);
        let mut found = recovered(&place.open(), "s").await;
        found.retain(|(id, _)| id == "running");
        assert_eq!(found.len(), process);
    }
}

#[tokio::test]
async fn what_need_not_be_on_the_disk_at_once_is_soon() {
    let place = Place::new();
    let journal = place.open();
    journal.started(&harmless("s", "c")).await.unwrap();
    journal.finished("s", "c", "{}").await.unwrap();
    // A copy of the file is what a kill at this moment would leave.
    let copy = place.file("copy");
    let began = Instant::now();
    loop {
        std::fs::copy(place.path(), &copy).unwrap();
        let found = match FileJournal::open(&copy) {
            Ok(journal) => recovered(&journal, "s").await,
            // Copied in the middle of a write.
            Err(_) => Vec::new(),
        };
        if found == calls(&[("c", Some("{}"))]) {
            break;
        }
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "it never came to the disk: {found:?}"
        );
    }
}

/// Starts calls until there is no room, and goes on when there is some.
async fn fill(journal: &FileJournal) {
    journal.started(&entry("s", "before")).await.unwrap();
    let mut large = entry("large", "");
    large.arguments = "x".repeat(10_000);
    let error = loop {
        large.call_id.push('x');
        if let Err(error) = journal.started(&large).await {
            break error;
        }
    };
    say(&error.to_string());
    wait();
    journal.started(&entry("s", "after")).await.unwrap();
    journal.finished("s", "after", "{}").await.unwrap();
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn full_disk_is_an_error_until_there_is_room() {
    use std::io::Write;
    let place = Place::new();
    // A limit on the size of files acts as a small disk: the shell sets it, and `prlimit` lifts it.
    let direct = child("full", &place.path());
    let mut limited = Command::new("sh");
    limited
        .args(["-c", r#"trap "" XFSZ; ulimit -S -f 6000; exec "$0" "$@""#])
        .arg(direct.get_program());
    limited.args(direct.get_args()).envs(
        direct
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    let mut child = limited
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok);
    let error = output.find(|line| line.contains(SAYS)).unwrap();
    assert!(
        error.contains("calls.journal") && error.contains("File too large"),
        "{error}"
    );

    let pid = child.id().to_string();
    assert!(
        Command::new("prlimit")
            .args(["--fsize=unlimited", "--pid", &pid])
            .status()
            .unwrap()
            .success()
    );
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    let rest: Vec<_> = output.collect();
    assert!(child.wait().unwrap().success(), "{rest:#?}");
    assert_eq!(
        recovered(&place.open(), "s").await,
        calls(&[("before", None), ("after", Some("{}"))])
    );
}
