//! Processes that start at once on a database without tables: one creates them, and the others wait.
//!
//! Environment variables make this binary one of the other processes.

use crate::database::SqliteFile;
use crate::pooler::PooledDatabase;
use crate::server::Schema;
use std::process::{Child, Command, Stdio};
use tokio::task::JoinSet;
use tool_adapters::stores::{PostgresStore, SqliteStore};
use tool_core::Mode;
use tool_core::agents::{AgentToolStore, RecordWrite};
use tool_core::serde_json::json;
use tool_core::session::{ConversationKey, HistoryStore, Message, SessionStore};
use tool_core::testing::store::driver::{open, opening};

const PLACE: &str = "STARTS_TEST_PLACE";
const PROCESSES: u32 = 4;
const HANDLES: u32 = 4;

/// Writes a row of each area of tables.
async fn write_everywhere(store: &(impl SessionStore + HistoryStore + AgentToolStore), name: &str) {
    open(store, &opening(name, Mode::Text))
        .await
        .expect("the session opens");
    let key = ConversationKey::new(name, "ada");
    HistoryStore::append(store, &key, 0, &[Message::user("Good morning")])
        .await
        .expect("the message is kept");
    let write = RecordWrite::new(name, "email", json!({}));
    AgentToolStore::write(store, &write)
        .await
        .expect("the record is written");
}

async fn start(place: &str, name: &str) {
    if place.starts_with("postgres") {
        let store = PostgresStore::connect(place).await;
        write_everywhere(&store.expect("the tables are there"), name).await;
    } else {
        let store = SqliteStore::open(place).await;
        write_everywhere(&store.expect("the tables are there"), name).await;
    }
}

/// One of the other processes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the other tests run it in its own process"]
async fn starts_with_the_others() {
    let place = std::env::var(PLACE).expect("the place");
    let mut handles = JoinSet::new();
    for number in 0..HANDLES {
        let place = place.clone();
        let name = format!("{}-{number}", std::process::id());
        handles.spawn(async move { start(&place, &name).await });
    }
    handles.join_all().await;
}

fn process(place: &str) -> Child {
    Command::new(std::env::current_exe().expect("this binary"))
        .args(["--exact", "starts::starts_with_the_others"])
        .args(["--ignored", "--nocapture"])
        .env(PLACE, place)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts")
}

async fn all_start_at_once(place: &str) {
    let processes = (0..PROCESSES).map(|_| process(place));
    for process in processes.collect::<Vec<_>>() {
        let ended = tokio::task::spawn_blocking(|| process.wait_with_output()).await;
        let ended = ended.expect("it is waited for").expect("it has ended");
        let errors = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{errors}");
    }
}

/// Asserts that every process has left its rows.
async fn assert_all_wrote(store: &(impl SessionStore + HistoryStore + AgentToolStore)) {
    let all = PROCESSES * HANDLES;
    assert_eq!(store.sessions().await, Ok(u64::from(all)));
    let conversations = HistoryStore::list(store, "ada", None, all).await;
    assert_eq!(conversations.expect("the list").len(), all as usize);
    let agents = AgentToolStore::agents(store, None, all).await;
    assert_eq!(agents.expect("the list").len(), all as usize);
}

#[tokio::test]
async fn processes_that_start_at_once_share_a_new_file() {
    let file = SqliteFile::new();
    let path = file.path();
    all_start_at_once(path.to_str().expect("a path")).await;
    let store = SqliteStore::open(path).await.expect("it opens");
    assert_all_wrote(&store).await;
}

#[tokio::test]
async fn processes_that_start_at_once_share_a_new_schema() {
    let Some(schema) = Schema::on_server().await else {
        return;
    };
    all_start_at_once(&schema.url()).await;
    assert_all_wrote(&schema.store().await).await;
}

#[tokio::test]
async fn processes_behind_a_pooler_start_at_once() {
    let Some(database) = PooledDatabase::on_server().await else {
        return;
    };
    all_start_at_once(&database.url()).await;
    assert_all_wrote(&database.store().await).await;
}

#[tokio::test]
async fn rights_that_the_book_names_are_enough() {
    let Some(schema) = Schema::on_server().await else {
        return;
    };
    // The owner starts once.
    drop(schema.store().await);
    let user = format!("{}_user", schema.name());
    let name = schema.name();
    for statement in [
        format!("CREATE ROLE {user}"),
        format!("GRANT USAGE ON SCHEMA {name} TO {user}"),
        format!("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {name} TO {user}"),
    ] {
        schema.by_hand(&statement).await.expect("it runs");
    }
    let url = schema
        .url()
        .replace("options=", &format!("options=-crole%3D{user}%20"));
    start(&url, "alice").await;
    for statement in [format!("DROP OWNED BY {user}"), format!("DROP ROLE {user}")] {
        schema.by_hand(&statement).await.expect("it runs");
    }
}
