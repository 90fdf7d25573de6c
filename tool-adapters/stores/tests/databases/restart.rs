//! An approval across two runs of a program: a call waits, the program ends, and the next run makes the call.

use crate::database::SqliteFile;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tool_adapters::stores::SqliteStore;
use tool_core::session::{Runtime, Session};
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

/// A run of the program.
async fn run(file: &SqliteFile, deleted: &Arc<Deleted>) -> Session {
    let tools = ToolContext::builder()
        .with(delete)
        .build()
        .expect("sound tools");
    let store = SqliteStore::open(file.path())
        .await
        .expect("the file opens");
    let runtime = Runtime::builder(tools)
        .store(store)
        .signing_key([7; 32])
        .build()
        .expect("a runtime");
    runtime
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
