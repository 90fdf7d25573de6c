//! Stores that are opened at the same time, locked files, lost connections, and rows that are damaged or deleted by hand.

use crate::database::SqliteFile;
use crate::pooler::PooledDatabase;
use crate::server::Schema;
use sqlx::{Connection, Executor, PgConnection};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tool_adapters::stores::{PostgresStore, SqliteStore};
use tool_core::Mode;
use tool_core::session::SessionStore;
use tool_core::testing::store::StoreUnderTest;
use tool_core::testing::store::driver::{HOUR, TestCall, open, opening, waiting};

async fn open_at_once(store: Arc<impl StoreUnderTest + 'static>) {
    let mut racers = JoinSet::new();
    for number in 0..8 {
        let store = Arc::clone(&store);
        racers.spawn(async move {
            let handle = store.handle().await;
            let opened = open(&handle, &opening(&number.to_string(), Mode::Text)).await;
            opened.expect("the session opens");
        });
    }
    racers.join_all().await;
    assert_eq!(store.handle().await.sessions().await, Ok(8));
}

#[tokio::test]
async fn stores_opened_at_once_share_a_new_database() {
    open_at_once(Arc::new(SqliteFile::new())).await;
    if let Some(schema) = Schema::on_server().await {
        open_at_once(Arc::new(schema)).await;
    }
}

#[tokio::test]
async fn a_newer_version_of_the_tables_is_an_error() {
    let file = SqliteFile::new();
    drop(file.handle().await);
    file.by_hand(
        "INSERT INTO _tool_sessions_migrations (version, description, success, checksum, execution_time)
        SELECT 99, description, success, checksum, 0 FROM _tool_sessions_migrations WHERE version = 1",
    )
    .await;
    let error = SqliteStore::open(file.path())
        .await
        .expect_err("newer tables");
    assert!(error.to_string().contains("newer version"), "{error}");
}

#[tokio::test]
async fn a_damaged_row_is_an_error_of_its_session_only() {
    let file = SqliteFile::new();
    let store = file.handle().await;
    let damaged = open(&store, &opening("damaged", Mode::Text))
        .await
        .expect("opens");
    let sound = open(&store, &opening("sound", Mode::Text))
        .await
        .expect("opens");
    file.by_hand("UPDATE tool_sessions SET session = substr(session, 1, 40) WHERE id = 'damaged'")
        .await;
    let error = damaged.try_refresh().await.expect_err("a damaged row");
    assert_eq!(
        error.to_string(),
        "session store failed: the store holds an invalid value"
    );
    assert!(open(&store, &opening("damaged", Mode::Text)).await.is_err());
    assert!(sound.passes(&TestCall::default()).await);
}

#[tokio::test]
async fn a_row_deleted_by_hand_takes_all_of_its_session() {
    let file = SqliteFile::new();
    let store = file.handle().await;
    let session = open(&store, &opening("s", Mode::Text))
        .await
        .expect("opens");
    session.mint(&waiting(1), HOUR).await;
    file.by_hand("DELETE FROM tool_sessions").await;
    session.assert_over().await;
    let next = open(&store, &opening("s", Mode::Text))
        .await
        .expect("opens");
    assert_eq!(next.pending(&waiting(1).id).await, None);
}

#[tokio::test]
async fn a_file_that_another_process_has_locked_is_waited_for() {
    let file = SqliteFile::new();
    let store = file.handle().await;
    let session = open(&store, &opening("s", Mode::Text)).await;
    let session = session.expect("opens");
    let mut other = file.connection().await;
    sqlx::query("BEGIN IMMEDIATE")
        .execute(&mut other)
        .await
        .expect("it is locked");

    let waiting = tokio::spawn(async move { session.passes(&TestCall::default()).await });
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!waiting.is_finished());
    sqlx::query("COMMIT")
        .execute(&mut other)
        .await
        .expect("it is free");
    assert!(waiting.await.expect("it answers"));
}

#[tokio::test]
async fn a_connection_that_the_server_ends_is_replaced() {
    let Some(schema) = Schema::on_server().await else {
        return;
    };
    let store = schema.handle().await;
    let session = open(&store, &opening("s", Mode::Text)).await;
    let session = session.expect("opens");
    let call = TestCall::within(|limits| limits.max_calls = Some(2));
    assert!(session.passes(&call).await);
    let end = format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
         WHERE application_name = '{}' AND pid <> pg_backend_pid()",
        schema.name()
    );
    schema.by_hand(&end).await.expect("it ends them");
    assert_eq!(session.pass(3, &call).await, 1, "the first call counts");
}

/// Locks the tables at an address, asserts that opening a session fails meanwhile, and works afterwards.
async fn assert_a_lock_is_waited_for_briefly(store: &PostgresStore, server: &str) {
    let connection = PgConnection::connect(server).await;
    let mut other = connection.expect("the server answers");
    other
        .execute("BEGIN; LOCK TABLE tool_sessions")
        .await
        .expect("it is locked");
    let opened = open(store, &opening("s", Mode::Text)).await;
    let error = opened.err().expect("it is locked").to_string();
    assert!(error.contains("due to lock timeout"), "{error}");
    other.execute("COMMIT").await.expect("it is free");
    let opened = open(store, &opening("s", Mode::Text)).await;
    opened.expect("the session opens");
}

#[tokio::test]
async fn a_statement_that_a_lock_holds_up_ends_with_an_error() {
    let Some(schema) = Schema::on_server().await else {
        return;
    };
    assert_a_lock_is_waited_for_briefly(&schema.store().await, &schema.url()).await;
}

#[tokio::test]
async fn a_new_session_does_not_wait_for_limits_in_use() {
    let Some(schema) = Schema::on_server().await else {
        return;
    };
    let store = schema.store().await;
    let connection = PgConnection::connect(&schema.url()).await;
    let mut other = connection.expect("the server answers");
    let unused = "INSERT INTO tool_limits (key, idle_at, kept_until) VALUES ('k', 0, 0);
        INSERT INTO tool_limit_places (key, holder, ends_at) VALUES ('k', 'h', 0)";
    other.execute(unused).await.expect("it is there");
    // As a request for a permit does.
    let taking = "BEGIN; UPDATE tool_limits SET kept_until = 0";
    other.execute(taking).await.expect("it is locked");

    let opened = open(&store, &opening("s", Mode::Text)).await;
    opened.expect("the session opens");
    // The place goes soon after, beside the limit that is in use.
    loop {
        let places = other.execute("SELECT 1 FROM tool_limit_places").await;
        if places.expect("they are read").rows_affected() == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    other.execute("COMMIT").await.expect("it is free");
}

/// Rows of sessions that were over long ago, more than one statement forgets.
const OLD_SESSIONS: &str = "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 50)
    INSERT INTO tool_sessions (id, incarnation, principal, session, entries, calls, call_bytes, idle_time, keep_time,
        expires_at, calls_until)
    SELECT 'old-' || n, 'i', '', '{}', 0, 0, 0, 0, 0, 0, 0 FROM numbers";

const OLD_AMOUNTS: &str =
    "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 500)
    INSERT INTO tool_added_amounts (id, known_until) SELECT 'old-' || n, 0 FROM numbers";

/// A burst of sessions may leave more rows than one opening can delete in its time.
#[tokio::test]
async fn an_opening_succeeds_while_old_rows_cannot_go() {
    let file = SqliteFile::new();
    let store = file.handle().await;
    file.by_hand(OLD_SESSIONS).await;
    file.by_hand(
        "CREATE TRIGGER stuck BEFORE DELETE ON tool_sessions BEGIN SELECT RAISE(ABORT, 'stuck'); END",
    )
    .await;
    let opened = open(&store, &opening("s", Mode::Text)).await;
    opened.expect("the session opens");
}

async fn assert_old_rows_go(store: &impl SessionStore, left: impl AsyncFn() -> i64) {
    assert_eq!(left().await, 550);
    let opened = open(store, &opening("s", Mode::Text)).await;
    opened.expect("the session opens");
    while left().await > 1 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(store.sessions().await, Ok(1), "the new one stays");
}

const LEFT: &str =
    "SELECT (SELECT count(*) FROM tool_sessions) + (SELECT count(*) FROM tool_added_amounts)";

#[tokio::test]
async fn old_rows_go_after_an_opening() {
    let file = SqliteFile::new();
    let store = file.handle().await;
    file.by_hand(OLD_SESSIONS).await;
    file.by_hand(OLD_AMOUNTS).await;
    let left = async || {
        let mut connection = file.connection().await;
        let left = sqlx::query_scalar(LEFT).fetch_one(&mut connection).await;
        left.expect("SQLite counts")
    };
    assert_old_rows_go(&store, left).await;
}

#[tokio::test]
async fn old_rows_go_after_an_opening_on_a_server() {
    let Some(schema) = Schema::on_server().await else {
        return;
    };
    let store = schema.store().await;
    for rows in [OLD_SESSIONS, OLD_AMOUNTS] {
        schema.by_hand(rows).await.expect("they are there");
    }
    let left = async || {
        let connection = PgConnection::connect(&schema.url()).await;
        let mut connection = connection.expect("the server answers");
        let left = sqlx::query_scalar(LEFT).fetch_one(&mut connection).await;
        left.expect("the server counts")
    };
    assert_old_rows_go(&store, left).await;
}

#[tokio::test]
async fn a_statement_behind_a_pooler_waits_for_no_lock_for_long() {
    let Some(database) = PooledDatabase::on_server().await else {
        return;
    };
    assert_a_lock_is_waited_for_briefly(&database.store().await, &database.direct_url()).await;
}
