//! The entries of a journal, and their JSON.

use crate::session::journal::{Journal, JournalEntry, JournalError};
use crate::session::tests::memory_journal::MemoryJournal;
use serde_json::json;

fn entry(session: &str, call_id: &str) -> JournalEntry {
    JournalEntry {
        session: session.to_owned(),
        call_id: call_id.to_owned(),
        tool: "create_event".to_owned(),
        arguments: r#"{"title":"Review"}"#.to_owned(),
        turn: 3,
        idempotency_key: "k-1".to_owned(),
        started_at: "2026-11-20T09:30:00Z".parse().unwrap(),
        harmless: false,
        time_limit_ms: 30_000,
        replaces: None,
        approval: None,
        seal: None,
    }
}

#[test]
fn entry_serialises_with_all_fields() {
    let text = serde_json::to_value(entry("s", "c")).unwrap();
    let expected = json!({
        "session": "s", "callId": "c", "tool": "create_event", "arguments": "{\"title\":\"Review\"}", "turn": 3,
        "idempotencyKey": "k-1", "startedAt": "2026-11-20T09:30:00Z", "harmless": false, "timeLimitMs": 30000,
    });
    assert_eq!(text, expected);
    assert_eq!(
        serde_json::from_value::<JournalEntry>(text).unwrap(),
        entry("s", "c")
    );
}

#[test]
fn error_text_names_the_journal() {
    assert_eq!(
        JournalError::new("no space").to_string(),
        "journal failed: no space"
    );
}

#[tokio::test]
async fn next_process_recovers_calls_with_their_responses() {
    let killed = MemoryJournal::default();
    killed.started(&entry("s", "done")).await.unwrap();
    killed.started(&entry("s", "running")).await.unwrap();
    killed.started(&entry("other", "running")).await.unwrap();
    killed.finished("s", "done", "{}").await.unwrap();
    assert_eq!(killed.recover("s").await.unwrap(), []);

    let next = killed.next_process();
    next.started(&entry("s", "mine")).await.unwrap();
    next.finished("s", "running", "{}").await.unwrap();
    let found = next.recover("s").await.unwrap();
    let found: Vec<_> = found
        .iter()
        .map(|call| (call.entry.call_id.as_str(), call.response.as_deref()))
        .collect();
    assert_eq!(found, [("done", Some("{}")), ("running", None)]);
}

#[tokio::test]
async fn forgets_sessions_and_reports_failures() {
    let journal = MemoryJournal::default();
    journal.started(&entry("s", "c")).await.unwrap();
    assert!(journal.broken().recover("s").await.is_err());
    journal.forget("s").await.unwrap();
    journal.finished("s", "c", "{}").await.unwrap();
    assert_eq!(journal.next_process().recover("s").await.unwrap(), []);
}
