//! The audit log.

use crate::support::{Client, Folder, start, until};
use serde_json::{Value, json};
use tool_adapters::mcp::McpClient;

fn records(folder: &Folder) -> Vec<Value> {
    let lines = folder.read("audit.jsonl");
    lines
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

fn shown(record: &Value, names: &[&str]) -> String {
    let texts = names
        .iter()
        .map(|name| record[name].as_str().unwrap_or("?"));
    texts.collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn every_call_leaves_a_redacted_record() {
    let (folder, gateway, mut client) =
        start("[limits]\naction = 1\n[audit]\nfile = 'audit.jsonl'\n[[tools]]\nmatch = '*_write'\nconfirm = true")
            .await;
    client.call("one_echo", json!({"text": "a"})).await;
    client
        .call(
            "one_write",
            json!({"text": "b", "password": "hunter2-hunter2"}),
        )
        .await;
    client.call("one_write", json!({"text": "c"})).await;
    client.call("one_echo", json!({"text": 7})).await;
    gateway.close().await;

    let records = records(&folder);
    let outcomes = records
        .iter()
        .map(|record| shown(record, &["name", "outcome"]));
    let expected = [
        "one_echo OK",
        "one_write CONFIRMATION_REQUIRED",
        "one_write OK",
        "one_write BUDGET_EXCEEDED",
        "one_echo VALIDATION",
    ];
    assert_eq!(outcomes.collect::<Vec<_>>(), expected);
    assert!(
        records
            .iter()
            .all(|record| record["server"] == "one" && record["session"] != "")
    );
    assert!(
        records
            .iter()
            .all(|record| record["method"] == "tools/call" && record["call"].is_string())
    );
    assert_eq!(records[0]["arguments"], r#"{"text":"a"}"#);
    assert!(!folder.read("audit.jsonl").contains("hunter2"));
    assert!(
        records[1]["arguments"]
            .as_str()
            .expect("a text")
            .contains("password")
    );
}

#[tokio::test]
async fn a_call_that_its_user_declines_leaves_a_record() {
    let (folder, gateway, mut client) =
        start("[audit]\nfile = 'audit.jsonl'\n[[tools]]\nmatch = '*_write'\nconfirm = true").await;
    client.action = "decline";
    client
        .call(
            "one_write",
            json!({"text": "b", "password": "hunter2-hunter2"}),
        )
        .await;
    gateway.close().await;
    let records = records(&folder);
    let [asked, denied] = &*records else {
        panic!("{records:?}")
    };
    assert_eq!(
        shown(asked, &["name", "outcome"]),
        "one_write CONFIRMATION_REQUIRED"
    );
    assert_eq!(
        shown(denied, &["name", "server", "outcome"]),
        "one_write one DENIED"
    );
    assert_eq!(asked["call"], denied["call"]);
    let reasons = json!(["policy: the rule of `*_write` asks"]);
    assert_eq!(
        (&asked["reasons"], &denied["reasons"]),
        (&reasons, &reasons)
    );
    assert_eq!(asked["decided_by"], Value::Null);
    assert!(denied["decided_by"].is_string(), "{denied}");
    assert!(
        denied["arguments"]
            .as_str()
            .is_some_and(|text| text.contains(r#""text":"b""#) && !text.contains("hunter2"))
    );
}

#[tokio::test]
async fn reads_gets_and_denied_names_leave_records() {
    let folder = Folder::new(
        "deny = ['*_crash', 'two_greet', 'notes://never']\n[audit]\nfile = 'audit.jsonl'",
    );
    folder.servers(&json!({"one": folder.child("one", "v1"), "two": folder.child("two", "v2")}));
    let gateway = folder.open().await;
    let mut client = Client::connect(&gateway).await;
    let greeting = json!({"name": "Ada", "password": "hunter2-hunter2"});
    for (method, params, is_refused) in [
        ("resources/read", json!({"uri": "notes://all"}), false),
        ("resources/read", json!({"uri": "notes://never"}), true),
        (
            "prompts/get",
            json!({"name": "one_greet", "arguments": {"name": "Ada"}}),
            false,
        ),
        (
            "prompts/get",
            json!({"name": "two_greet", "arguments": greeting}),
            true,
        ),
        (
            "tools/call",
            json!({"name": "one_crash", "arguments": greeting}),
            true,
        ),
        ("tools/call", json!({"name": "prompt:one_greet"}), true),
    ] {
        let answer = client.request(method, params).await;
        assert_eq!(
            answer.get("error").is_some(),
            is_refused,
            "{method}: {answer}"
        );
    }
    gateway.close().await;
    let records = records(&folder);
    let found = records
        .iter()
        .map(|record| shown(record, &["method", "name", "server", "outcome"]));
    let expected = [
        "resources/read notes://all one OK",
        "resources/read notes://never  NOT_FOUND",
        "prompts/get one_greet one OK",
        "prompts/get two_greet  NOT_FOUND",
        "tools/call one_crash  NOT_FOUND",
        "tools/call prompt:one_greet  NOT_FOUND",
    ];
    assert_eq!(found.collect::<Vec<_>>(), expected);
    assert!(records.iter().all(|record| {
        record["session"]
            .as_str()
            .is_some_and(|session| session.starts_with("mcp-"))
    }));
    assert_eq!(records[2]["arguments"], r#"{"name":"Ada"}"#);
    assert!(
        records[3]["arguments"]
            .as_str()
            .is_some_and(|arguments| arguments.contains("password"))
    );
    assert!(!folder.read("audit.jsonl").contains("hunter2"));
}

// T32
#[tokio::test]
async fn subscriptions_leave_records() {
    let (folder, gateway, mut client) =
        start("deny = ['notes://never']\n[audit]\nfile = 'audit.jsonl'").await;
    for uri in ["notes://all", "notes://never"] {
        client
            .request("resources/subscribe", json!({"uri": uri}))
            .await;
    }
    gateway.close().await;
    let found = records(&folder)
        .iter()
        .map(|record| shown(record, &["method", "name", "server", "outcome"]))
        .collect::<Vec<_>>();
    let expected = [
        "resources/subscribe notes://all one OK",
        "resources/subscribe notes://never  NOT_FOUND",
    ];
    assert_eq!(found, expected);
}

// T32
#[tokio::test]
async fn streams_of_changes_leave_records() {
    let folder = Folder::new("[audit]\nfile = 'audit.jsonl'");
    let gateway = folder.open().await;
    let url = format!("{}/mcp", crate::health::serve(&gateway).await);
    let client = McpClient::url(url).probe().connect().await;
    let client = client.expect("an import");
    client.subscribe("notes://all").await.expect("subscribed");
    until(async || folder.read("audit.jsonl").contains("resources/subscribe")).await;
    assert_eq!(
        shown(&records(&folder)[0], &["name", "server", "outcome"]),
        "notes://all one OK"
    );
    gateway.close().await;
}

#[tokio::test]
async fn requests_leave_records_where_nothing_is_offered() {
    let (folder, gateway, mut client) = start("deny = ['*']\n[audit]\nfile = 'audit.jsonl'").await;
    client
        .request("resources/read", json!({"uri": "notes://all"}))
        .await;
    client
        .request("prompts/get", json!({"name": "one_greet"}))
        .await;
    client
        .request("tools/call", json!({"name": "one_echo"}))
        .await;
    gateway.close().await;
    let outcomes = records(&folder)
        .iter()
        .map(|record| record["outcome"].clone())
        .collect::<Vec<_>>();
    assert_eq!(outcomes, ["NOT_FOUND"; 3]);
}

#[tokio::test]
async fn names_of_clients_are_cut_and_escaped_in_records() {
    let (folder, gateway, mut client) = start("[audit]\nfile = 'audit.jsonl'").await;
    let name = format!("\u{202e}\n{}", "n".repeat(1 << 20));
    client.request("tools/call", json!({"name": name})).await;
    client.request("prompts/get", json!({"name": name})).await;
    client
        .request("resources/read", json!({"uri": format!("notes://{name}")}))
        .await;
    gateway.close().await;
    let text = folder.read("audit.jsonl");
    assert_eq!(text.lines().count(), 3);
    assert!(
        text.len() < 6_000 && !text.contains('\u{202e}'),
        "{}",
        text.len()
    );
    assert!(records(&folder).iter().all(|record| {
        record["name"]
            .as_str()
            .is_some_and(|name| name.contains(r"\u{202e}\n"))
    }));
}

#[tokio::test]
async fn a_read_that_is_given_up_leaves_a_record() {
    let (folder, gateway, mut client) = start("[audit]\nfile = 'audit.jsonl'").await;
    let id = client
        .send("resources/read", json!({"uri": "notes://never"}))
        .await;
    until(async || folder.notes("one").contains(&"never".to_owned())).await;
    let params = json!({"requestId": id});
    client
        .write(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}))
        .await;
    until(async || folder.read("audit.jsonl").contains('\n')).await;
    gateway.close().await;
    assert_eq!(
        shown(&records(&folder)[0], &["name", "server", "outcome"]),
        "notes://never one CANCELLED"
    );
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
    let mode = std::fs::metadata(folder.path("audit.jsonl"))
        .expect("a file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn no_call_runs_without_a_required_record() {
    let (folder, _gateway, mut client) =
        start("[audit]\nfile = '/dev/full'\nrequired = true").await;
    // The first call is answered before its record cannot be written.
    client.call("one_write", json!({"text": "first"})).await;
    until(async || {
        let (text, is_error) = client.call("one_write", json!({"text": "next"})).await;
        is_error && text.contains("audit log")
    })
    .await;
    let before = folder.notes("one").len();
    assert!(client.call("one_write", json!({"text": "last"})).await.1);
    let read = client
        .request("resources/read", json!({"uri": "notes://never"}))
        .await;
    assert!(
        read["error"]["message"]
            .as_str()
            .is_some_and(|message| message.contains("audit log")),
        "{read}"
    );
    assert_eq!(folder.notes("one").len(), before);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_rotation_ends_the_failure_of_the_earlier_file() {
    let folder = Folder::new("[audit]\nfile = 'audit.jsonl'\nrequired = true");
    let log = folder.path("audit.jsonl");
    std::os::unix::fs::symlink("/dev/full", &log).expect("a link");
    let gateway = folder.open().await;
    let mut client = Client::connect(&gateway).await;
    client.call("one_write", json!({"text": "first"})).await;
    until(async || client.call("one_write", json!({"text": "next"})).await.1).await;

    // As logrotate does: the path has a new file before the gateway is told.
    let new = folder.path("new.jsonl");
    std::fs::write(&new, "").expect("a file");
    std::fs::rename(&new, &log).expect("renamed");
    gateway.reopen_audit();
    until(async || !client.call("one_write", json!({"text": "again"})).await.1).await;
    gateway.close().await;
    let records = records(&folder);
    assert_eq!(
        records[0]["arguments"], r#"{"text":"first"}"#,
        "{records:?}"
    );
}
