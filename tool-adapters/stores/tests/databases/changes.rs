//! Changes that a store tells while another store, or a person, makes them.

use crate::pooler::PooledDatabase;
use crate::server::{Schema, url};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tool_adapters::stores::PostgresStore;
use tool_core::Mode;
use tool_core::session::{ApprovalState, GrantRequest, GrantVerdict, StoreChange, StoreChanges};
use tool_core::testing::store::driver::{HOUR, TestSession, given, open, opening, waiting};

/// Longer than a change takes on a busy machine.
const SOON: Duration = Duration::from_secs(20);

async fn next(changes: &mut StoreChanges) -> StoreChange {
    let change = timeout(SOON, changes.next()).await;
    change
        .expect("a change in time")
        .expect("the store is open")
}

/// Returns changes that the store is told from now on.
async fn told(store: &PostgresStore) -> StoreChanges {
    let mut changes = store.changes();
    assert_eq!(next(&mut changes).await, StoreChange::Unknown, "at first");
    assert_eq!(next(&mut changes).await, StoreChange::Unknown, "it listens");
    changes
}

fn approval(number: u32, state: ApprovalState) -> StoreChange {
    StoreChange::Approval {
        principal: "someone".into(),
        session: "s%\0".into(),
        id: waiting(number).id,
        state,
    }
}

fn grant(number: u32, is_given: bool) -> StoreChange {
    StoreChange::Grant {
        principal: "someone".into(),
        session: "s%\0".into(),
        id: given(number).id,
        is_given,
    }
}

async fn session(store: &PostgresStore) -> TestSession {
    let opened = open(store, &opening("s%\0", Mode::Text)).await;
    opened.expect("the session opens")
}

#[tokio::test]
async fn approvals_and_grants_of_another_process_are_told() {
    let Some(schema) = Schema::on_server().await else {
        return;
    };
    let reader = schema.store().await;
    let mut changes = told(&reader).await;
    let writer = session(&schema.store().await).await;

    writer.mint(&waiting(1), HOUR).await;
    assert_eq!(next(&mut changes).await, approval(1, ApprovalState::Waits));
    assert!(writer.consume(&waiting(1).id).await);
    assert_eq!(next(&mut changes).await, approval(1, ApprovalState::Over));

    writer.mint(&waiting(2), HOUR).await;
    assert_eq!(next(&mut changes).await, approval(2, ApprovalState::Waits));
    let call = waiting(2).id;
    let granted = given(7);
    let request = GrantRequest::new(&call, &granted, HOUR, 8);
    assert_eq!(writer.grant(&request).await, GrantVerdict::Granted);
    assert_eq!(next(&mut changes).await, approval(2, ApprovalState::Over));
    assert_eq!(next(&mut changes).await, grant(7, true));
    assert!(writer.revoke(&granted.id).await);
    assert_eq!(next(&mut changes).await, grant(7, false));

    writer.mint(&waiting(3), HOUR).await;
    assert_eq!(next(&mut changes).await, approval(3, ApprovalState::Waits));
    writer.end().await;
    assert_eq!(next(&mut changes).await, approval(3, ApprovalState::Over));
}

#[tokio::test]
async fn a_call_that_nobody_decides_on_is_told_to_expire() {
    let Some(schema) = Schema::on_server().await else {
        return;
    };
    let reader = schema.store().await;
    let writer = session(&schema.store().await).await;
    // One waits when the reader begins, and the other comes later and ends earlier.
    writer.mint(&waiting(1), Duration::from_secs(2)).await;
    let mut changes = told(&reader).await;
    writer.mint(&waiting(2), Duration::from_millis(500)).await;
    assert_eq!(next(&mut changes).await, approval(2, ApprovalState::Waits));
    assert_eq!(
        next(&mut changes).await,
        approval(2, ApprovalState::Expired)
    );
    assert_eq!(
        next(&mut changes).await,
        approval(1, ApprovalState::Expired)
    );
}

#[tokio::test]
async fn rows_that_are_changed_by_hand_are_told() {
    let Some(schema) = Schema::on_server().await else {
        return;
    };
    let reader = schema.store().await;
    let writer = session(&reader).await;
    writer.mint(&waiting(1), HOUR).await;
    let mut changes = told(&reader).await;
    // The person's search path does not have the schema.
    let delete = format!(
        "SET search_path = public; DELETE FROM {}.tool_session_approvals",
        schema.name()
    );
    schema.by_hand(&delete).await.expect("deleted");
    assert_eq!(next(&mut changes).await, approval(1, ApprovalState::Over));
    schema
        .by_hand("TRUNCATE tool_session_approvals")
        .await
        .expect("truncated");
    assert_eq!(next(&mut changes).await, StoreChange::Unknown);
}

#[tokio::test]
async fn names_that_are_too_long_to_tell_are_an_unknown_change() {
    let Some(schema) = Schema::on_server().await else {
        return;
    };
    let reader = schema.store().await;
    let mut changes = told(&reader).await;
    let mut request = opening("s", Mode::Text);
    request.principal = "p".repeat(9_000).into();
    let opened = open(&schema.store().await, &request).await;
    let writer = opened.expect("the session opens");
    writer.mint(&waiting(1), HOUR).await;
    assert_eq!(next(&mut changes).await, StoreChange::Unknown);
}

#[tokio::test]
async fn changes_of_other_schemas_are_not_told() {
    let Some(schema) = Schema::on_server().await else {
        return;
    };
    let Some(other) = Schema::on_server().await else {
        return;
    };
    let reader = schema.store().await;
    let mut changes = told(&reader).await;
    let elsewhere = session(&other.store().await).await;
    elsewhere.mint(&waiting(1), HOUR).await;
    session(&reader).await.mint(&waiting(2), HOUR).await;
    assert_eq!(next(&mut changes).await, approval(2, ApprovalState::Waits));
}

#[tokio::test]
async fn a_lost_connection_is_told_and_opened_again() {
    let Some(schema) = Schema::on_server().await else {
        return;
    };
    let reader = schema.store().await;
    let writer = session(&schema.store().await).await;
    let mut changes = told(&reader).await;
    let end = "SELECT 1 / count(pg_terminate_backend(pid)) FROM pg_stat_activity
        WHERE query = 'LISTEN \"tool_changes\"' AND application_name = current_schema()";
    schema.by_hand(end).await.expect("it ends one");
    assert_eq!(next(&mut changes).await, StoreChange::Unknown);
    writer.mint(&waiting(1), HOUR).await;
    assert_eq!(next(&mut changes).await, approval(1, ApprovalState::Waits));
}

#[tokio::test]
async fn a_connection_that_listens_ends_with_its_last_reader() {
    let Some(schema) = Schema::on_server().await else {
        return;
    };
    let reader = schema.store().await;
    let first = told(&reader).await;
    let second = reader.clone().changes();
    let listening = format!(
        "SELECT 1 / count(*) FROM pg_stat_activity WHERE application_name = '{}' AND query LIKE '%LISTEN%' \
         AND pid <> pg_backend_pid()",
        schema.name()
    );
    drop(first);
    schema.by_hand(&listening).await.expect("one listens");
    drop(second);
    let ended = async {
        while schema.by_hand(&listening).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(SOON, ended).await.expect("none listens");
    // A new reader starts again.
    told(&reader).await;
}

#[tokio::test]
async fn a_store_behind_a_pooler_tells_its_readers_to_poll() {
    let Some(database) = PooledDatabase::on_server().await else {
        return;
    };
    let store = database.store().await;
    let mut changes = store.changes();
    assert_eq!(next(&mut changes).await, StoreChange::Unknown, "at first");
    assert_eq!(next(&mut changes).await, StoreChange::Unknown, "a poll");
}

/// A server before the real one, which takes LISTEN and passes no notification on.
async fn without_notifications() -> Option<u16> {
    let server = url()?;
    let (_, address) = server.rsplit_once('@')?;
    let (address, _) = address.split_once('/')?;
    let address = address.to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").await.ok()?;
    let port = listener.local_addr().ok()?.port();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = TcpStream::connect(&address).await.expect("the server");
            let (from_client, to_client) = client.into_split();
            let (from_server, to_server) = server.into_split();
            tokio::spawn(pass_all(from_client, to_server));
            tokio::spawn(pass_answers(from_server, to_client));
        }
    });
    Some(port)
}

async fn pass_all(mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
    _ = copy(&mut from, &mut to).await;
}

/// Passes messages of the server on: a byte for the kind, and a length that counts itself.
async fn pass_answers(mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
    let mut header = [0; 5];
    while from.read_exact(&mut header).await.is_ok() {
        let [kind, length @ ..] = header;
        let mut contents = vec![0; u32::from_be_bytes(length) as usize - 4];
        if from.read_exact(&mut contents).await.is_err() {
            return;
        }
        if kind == b'A' {
            continue;
        }
        let message = [header.as_slice(), &contents].concat();
        if to.write_all(&message).await.is_err() {
            return;
        }
    }
}

#[tokio::test]
async fn a_store_that_is_told_nothing_finds_out_and_polls() {
    let Some(schema) = Schema::on_server().await else {
        return;
    };
    let Some(port) = without_notifications().await else {
        return;
    };
    let url = schema.url();
    let (_, parameters) = url.split_once('?').expect("a search path");
    let url = format!("postgres://tools@127.0.0.1:{port}/postgres?sslmode=disable&{parameters}");
    let store = PostgresStore::connect(&url).await.expect("it answers");
    let mut changes = store.changes();
    assert_eq!(next(&mut changes).await, StoreChange::Unknown, "at first");
    assert_eq!(next(&mut changes).await, StoreChange::Unknown, "a poll");
}
