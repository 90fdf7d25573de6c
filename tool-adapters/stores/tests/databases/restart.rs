//! Approvals across two runs of a program: a call waits, the program ends, and the next run makes the call.

use crate::database::SqliteFile;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tool_adapters::stores::SqliteStore;
use tool_core::session::{Decision, Runtime, Session};
use tool_core::{ErrorKind, Mode, ToolCall, ToolContext, UserData, tool};

#[derive(Default)]
struct Deleted(AtomicU32);

/// Delete a file.
#[tool(category = "action", confirm)]
#[allow(clippy::needless_pass_by_value)] // a tool as its author writes it
fn delete(#[context] deleted: UserData<Deleted>, name: String) -> String {
    deleted.0.0.fetch_add(1, Ordering::Relaxed);
    name
}

/// The runtime of a run of the program.
async fn runtime(file: &SqliteFile) -> Runtime {
    let tools = ToolContext::builder()
        .with(delete)
        .build()
        .expect("sound tools");
    let store = SqliteStore::open(file.path())
        .await
        .expect("the file opens");
    Runtime::builder(tools)
        .store(store)
        .signing_key([7; 32])
        .build()
        .expect("a runtime")
}

/// A run of the program.
async fn run(file: &SqliteFile, deleted: &Arc<Deleted>) -> Session {
    runtime(file)
        .await
        .session("chat-42", Mode::Text)
        .principal("user:7")
        .user_data_shared(Arc::clone(deleted))
        .await
        .expect("it opens")
}

#[tokio::test]
async fn the_next_run_makes_the_approved_call_once() {
    let file = SqliteFile::new();
    let deleted = Arc::new(Deleted::default());

    let first = run(&file, &deleted).await;
    let call = ToolCall::new("call_1", "delete", r#"{"name": "notes.txt"}"#);
    let asked = first.call(call).await;
    let confirmation = asked.meta().confirmation().expect("a person is asked");
    let token = confirmation.token.clone();
    drop(first);

    let second = run(&file, &deleted).await;
    let waits = second.pending_call(&token).await.expect("it waits");
    assert_eq!(waits.payload(), r#"delete({"name":"notes.txt"})"#);
    let done = second.approve(&token).await;
    assert_eq!(done.data_json(), Some("\"notes.txt\""));

    let again = run(&file, &deleted).await.approve(&token).await;
    assert_eq!(
        again.error().map(|error| error.kind),
        Some(ErrorKind::NotFound)
    );
    assert_eq!(deleted.0.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn next_run_lists_the_call_that_waits_for_the_user() {
    let file = SqliteFile::new();
    let deleted = Arc::new(Deleted::default());
    let first = run(&file, &deleted).await;
    let call = ToolCall::new("call_1", "delete", r#"{"name": "notes.txt"}"#);
    let asked = first.call(call).await;
    drop(first);

    let second = runtime(&file).await;
    let page = second.pending_approvals("user:7", None, 10).await;
    let waiting = page.expect("the list").calls.remove(0);
    let confirmation = asked.meta().confirmation().expect("a person is asked");
    assert_eq!(waiting.token, confirmation.token);
    assert_eq!(waiting.call.session, "chat-42");

    // Someone who may write to the database makes another call of it.
    file.by_hand(
        "UPDATE tool_session_approvals SET call = replace(call, 'notes.txt', 'money.txt')",
    )
    .await;
    let page = second.pending_approvals("user:7", None, 10).await;
    assert!(page.expect("the list").calls.is_empty());
}

#[tokio::test]
async fn next_run_needs_no_approval_for_what_was_granted() {
    let file = SqliteFile::new();
    let deleted = Arc::new(Deleted::default());
    let delete = |name: &str| ToolCall::new("c", "delete", format!(r#"{{"name": "{name}"}}"#));
    let first = run(&file, &deleted).await;
    let asked = first.call(delete("a")).await;
    let token = &asked
        .meta()
        .confirmation()
        .expect("a person is asked")
        .token;
    let decision = Decision::approve(token).always_for_these_arguments(Duration::from_secs(60));
    assert!(first.decide(&decision, None).await.is_ok());
    drop(first);

    let second = run(&file, &deleted).await;
    assert!(second.call(delete("a")).await.is_ok());
    assert!(!second.call(delete("b")).await.is_ok());

    // Someone who may write to the database widens the grant.
    file.by_hand(
        r#"UPDATE tool_session_grants SET granted = replace(granted, '"arguments"', '"tool"')"#,
    )
    .await;
    assert!(!second.call(delete("b")).await.is_ok());
    assert!(second.grants().await.expect("the grants").is_empty());
    assert_eq!(deleted.0.load(Ordering::Relaxed), 2);
}
