//! What conversations cost in SQLite: `just bench-histories`.

use std::time::{Duration, Instant};
use tool_adapters_stores::SqliteStore;
use tool_core::session::{ConversationKey, HistoryStore, Message};

/// The messages of the conversation.
const MESSAGES: u64 = 1_000;
const ROUNDS: u32 = 51;

/// Returns a message of 300 characters.
fn message(number: u64) -> Message {
    let text = format!("message {number} ");
    Message::user(text.repeat(300 / text.len()))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn print(what: &str, times: Vec<Duration>) {
    println!("{what:<50} {:>10.3?}", median(times));
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = SqliteStore::open(folder.path().join("assistant.db"))
        .await
        .expect("the file opens");
    let messages = (0..MESSAGES).map(message).collect::<Vec<_>>();

    let mut stored = Vec::new();
    let mut loaded = Vec::new();
    for round in 0..ROUNDS {
        let key = ConversationKey::new(format!("c-{round}"), "ada");
        let began = Instant::now();
        store.append(&key, 0, &messages).await.expect("it appends");
        stored.push(began.elapsed());

        let began = Instant::now();
        let conversation = store.load(&key, 0).await.expect("it loads");
        loaded.push(began.elapsed());
        assert_eq!(
            conversation.expect("it is there").messages.len(),
            messages.len()
        );
    }
    print("store 1,000 messages", stored);
    print("load 1,000 messages", loaded);

    for known in [10, 1_000, 10_000, 100_000] {
        let key = ConversationKey::new(format!("long-{known}"), "ada");
        let all = (0..known).map(message).collect::<Vec<_>>();
        let mut known = store.append(&key, 0, &all).await.expect("it appends");
        let what = format!("append one message to {known}");
        let mut appended = Vec::new();
        for _ in 0..ROUNDS {
            let next = [message(known)];
            let began = Instant::now();
            known = store.append(&key, known, &next).await.expect("it appends");
            appended.push(began.elapsed());
        }
        print(&what, appended);
    }
}
