//! The audit log.

use crate::support::{Client, Folder};
use serde_json::{Value, json};

fn records(folder: &Folder) -> Vec<Value> {
    let lines = folder.read("audit.jsonl");
    lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[tokio::test]
async fn every_call_leaves_a_redacted_record() {
    let folder = Folder::new(
        "[limits]\naction = 1\n[audit]\nfile = 'audit.jsonl'\n[[tools]]\nmatch = '*_write'\nconfirm = true",
    );
    let gateway = folder.open().await;
    let mut client = Client::connect(&gateway).await;
    client.call("one_echo", json!({"text": "a"})).await;
    client.call("one_write", json!({"text": "b", "password": "hunter2-hunter2"})).await;
    client.call("one_write", json!({"text": "c"})).await;
    client.call("one_echo", json!({"text": 7})).await;
    gateway.close().await;

    let records = records(&folder);
    let outcomes = records.iter().map(|record| (record["tool"].as_str(), record["outcome"].as_str()));
    let outcomes = outcomes.map(|(tool, outcome)| format!("{} {}", tool.unwrap_or("?"), outcome.unwrap_or("?")));
    let expected = [
        "one_echo OK",
        "one_write CONFIRMATION_REQUIRED",
        "one_write OK",
        "one_write BUDGET_EXCEEDED",
        "one_echo VALIDATION",
    ];
    assert_eq!(outcomes.collect::<Vec<_>>(), expected);
    assert!(records.iter().all(|record| record["server"] == "one" && record["session"] != ""));
    assert_eq!(records[0]["arguments"], r#"{"text":"a"}"#);
    assert!(!folder.read("audit.jsonl").contains("hunter2"));
    assert!(records[1]["arguments"].as_str().expect("a text").contains("password"));
}

#[tokio::test]
async fn the_file_belongs_to_its_user_and_is_continued() {
    use std::os::unix::fs::PermissionsExt;

    let folder = Folder::new("[audit]\nfile = 'audit.jsonl'");
    for text in ["a", "b"] {
        let gateway = folder.open().await;
        let mut client = Client::connect(&gateway).await;
        client.call("one_echo", json!({"text": text})).await;
        gateway.close().await;
    }
    assert_eq!(records(&folder).len(), 2);
    let mode = std::fs::metadata(folder.path("audit.jsonl")).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn no_call_runs_without_a_required_record() {
    let folder = Folder::new("[audit]\nfile = '/dev/full'\nrequired = true");
    let gateway = folder.open().await;
    let mut client = Client::connect(&gateway).await;
    // The first call is answered before its record cannot be written.
    client.call("one_write", json!({"text": "first"})).await;
    crate::support::until(async || {
        let (text, is_error) = client.call("one_write", json!({"text": "next"})).await;
        is_error && text.contains("audit log")
    })
    .await;
    let before = folder.notes("one").len();
    assert!(client.call("one_write", json!({"text": "last"})).await.1);
    assert_eq!(folder.notes("one").len(), before);
}
