//! What conversations cost in SQLite: `just bench-histories`. Fails if a bar is missed.
//!
//! Times are medians of a file on the disk. The instructions of the whole process, with those of SQLite's thread, are counted
//! where valgrind is installed: this program runs itself in it with one number of rounds and with another.

use std::env::{args, current_exe};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tool_adapters_stores::SqliteStore;
use tool_core::ToolCall;
use tool_core::call::ModelResult;
use tool_core::session::{ConversationKey, HistoryStore, Message};

/// The messages of the conversation.
const MESSAGES: u64 = 1_000;
const ROUNDS: u32 = 51;
/// The most that storing and loading a conversation may take together.
const BAR: Duration = Duration::from_millis(10);
/// The growth of an append from 100 messages to 10,000 that is still constant: the pages of an index get one level more.
const GROWTH: f64 = 1.1;

/// Returns a message of a conversation whose turns are a question, a call, its result and an answer.
fn message(number: u64) -> Message {
    let text = format!("message {number} ");
    let text = text.repeat(300 / text.len());
    let call_id = format!("call_{}", number / 4);
    let tool = "find_tables";
    match number % 4 {
        0 => Message::user(text),
        1 => {
            let arguments = format!(r#"{{"when":"{text}"}}"#);
            Message::Assistant {
                text: None,
                calls: vec![ToolCall::new(call_id, tool, arguments)],
                native: None,
            }
        }
        2 => Message::Result {
            call_id,
            tool: tool.to_owned(),
            result: ModelResult {
                text,
                is_error: false,
                reply: true,
                parts: false,
                is_text: true,
            },
        },
        _ => Message::Assistant {
            text: Some(text),
            calls: Vec::new(),
            native: None,
        },
    }
}

fn messages(count: u64) -> Vec<Message> {
    (0..count).map(message).collect()
}

fn key(id: impl Into<String>) -> ConversationKey {
    ConversationKey::new(id, "ada")
}

async fn open(folder: &Path) -> SqliteStore {
    SqliteStore::open(folder.join("assistant.db"))
        .await
        .expect("the file opens")
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Prints the median, and returns it.
fn print(what: &str, times: Vec<Duration>) -> Duration {
    let median = median(times);
    println!("{what:<50} {median:>10.3?}");
    median
}

/// Returns what storing and loading a conversation take together.
async fn store_and_load(store: &SqliteStore, all: &[Message]) -> Duration {
    let mut stored = Vec::new();
    let mut loaded = Vec::new();
    for round in 0..ROUNDS {
        let key = key(format!("c-{round}"));
        let began = Instant::now();
        store.append(&key, 0, all).await.expect("it appends");
        stored.push(began.elapsed());

        let began = Instant::now();
        let conversation = store.load(&key, 0).await.expect("it loads");
        loaded.push(began.elapsed());
        let conversation = conversation.expect("it is there");
        assert_eq!(conversation.messages.len(), all.len());
    }
    print("store 1,000 messages at once", stored) + print("load 1,000 messages", loaded)
}

/// Stores a conversation as it happens, one message after the other.
async fn store_one_by_one(store: &SqliteStore, all: &[Message]) {
    let mut rounds = Vec::new();
    for round in 0..5 {
        let key = key(format!("turns-{round}"));
        let mut known = 0;
        let began = Instant::now();
        for next in all.chunks(1) {
            known = store.append(&key, known, next).await.expect("it appends");
        }
        rounds.push(began.elapsed());
    }
    print("store 1,000 messages one by one", rounds);
}

async fn append(store: &SqliteStore, known: u64) {
    let key = key(format!("long-{known}"));
    let what = format!("append one message to {known}");
    let mut known = store
        .append(&key, 0, &messages(known))
        .await
        .expect("it appends");
    let mut appended = Vec::new();
    for _ in 0..ROUNDS {
        let next = [message(known)];
        let began = Instant::now();
        known = store.append(&key, known, &next).await.expect("it appends");
        appended.push(began.elapsed());
    }
    print(&what, appended);
}

/// Does a work some times, for valgrind: `store`, `load`, or an append to a conversation of as many messages.
async fn repeat(work: &str, times: u64) {
    let folder = folder();
    let store = open(folder.path()).await;
    let known = work.parse().unwrap_or(MESSAGES);
    let all = messages(known);
    let first = key("c-0");
    let mut known = store.append(&first, 0, &all).await.expect("it appends");
    for round in 1..=times {
        match work {
            "store" => {
                let key = key(format!("c-{round}"));
                store.append(&key, 0, &all).await.expect("it appends");
            }
            "load" => {
                let conversation = store.load(&first, 0).await.expect("it loads");
                assert!(conversation.is_some());
            }
            _ => {
                let next = [message(known)];
                known = store
                    .append(&first, known, &next)
                    .await
                    .expect("it appends");
            }
        }
    }
}

/// Returns the instructions of this program with a work. `None` without valgrind.
fn instructions(work: &str, times: u64) -> Option<f64> {
    let program = current_exe().expect("this program has a path");
    let ran = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(["repeat", work, &times.to_string()])
        .output()
        .ok()?;
    let printed = String::from_utf8_lossy(&ran.stderr);
    let collected = printed.split("Collected :").nth(1)?;
    collected.split_whitespace().next()?.parse().ok()
}

/// Prints the instructions of one work, and returns them.
fn count(what: &str, work: &str, times: u64) -> Option<f64> {
    let once = instructions(work, times)?;
    let twice = instructions(work, 2 * times)?;
    let count = (twice - once) / times as f64;
    println!("{what:<50} {:>9.0}k instructions", count / 1_000.0);
    Some(count)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments = args().collect::<Vec<_>>();
    if let [_, command, work, times] = arguments.as_slice()
        && command == "repeat"
    {
        repeat(work, times.parse().expect("a number")).await;
        return ExitCode::SUCCESS;
    }

    let folder = folder();
    let store = open(folder.path()).await;
    let all = messages(MESSAGES);
    let together = store_and_load(&store, &all).await;
    let is_late = together > BAR;
    let verdict = if is_late { "MISSED" } else { "met" };
    println!("together, bar {BAR:?}: {verdict:<28} {together:>10.3?}");
    store_one_by_one(&store, &all).await;
    for known in [100, 1_000, 10_000, 100_000] {
        append(&store, known).await;
    }

    count("store 1,000 messages at once", "store", 5);
    count("load 1,000 messages", "load", 5);
    let short = count("append one message to 100", "100", 50);
    count("append one message to 1,000", "1000", 50);
    let long = count("append one message to 10,000", "10000", 50);
    let (Some(short), Some(long)) = (short, long) else {
        println!("instructions are not counted without valgrind");
        return ExitCode::from(u8::from(is_late));
    };
    let grows = long > short * GROWTH;
    if grows {
        println!(
            "appending to 10,000 messages takes more than {GROWTH} times as much as to 100: MISSED"
        );
    }
    ExitCode::from(u8::from(is_late || grows))
}
