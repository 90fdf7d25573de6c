//! The conformance tests of conversations, and what an append costs.

use crate::database::SqliteFile;
use crate::pooler::PooledDatabase;
use crate::server::Schema;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use std::sync::Arc;
use std::time::Duration;
use tool_adapters::stores::SqliteStore;
use tool_core::session::{ConversationKey, DynHistoryStore, HistoryStore};
use tool_core::testing::history::HistoryStoreUnderTest;
use tool_core::testing::history::driver::{append, key, listed, load, said, said_each};

/// Returns the statement that replaces a message. The tests' ids need no quoting.
fn replacement(key: &ConversationKey, position: u64, text: &str) -> String {
    format!(
        "UPDATE tool_messages SET message = '{}' WHERE position = {position} AND conversation = \
         (SELECT number FROM tool_conversations WHERE principal = '{}' AND id = '{}')",
        text.replace('\'', "''"),
        key.principal(),
        key.id()
    )
}

impl HistoryStoreUnderTest for SqliteFile {
    const TICK: Duration = Duration::from_millis(20);

    async fn handle(&self) -> Arc<dyn DynHistoryStore> {
        Arc::new(
            SqliteStore::open(self.path())
                .await
                .expect("the file opens"),
        )
    }

    async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    async fn overwrite(&self, key: &ConversationKey, position: u64, text: &str) -> bool {
        self.by_hand(&replacement(key, position, text)).await;
        true
    }
}

impl HistoryStoreUnderTest for Schema {
    const TICK: Duration = Duration::from_millis(20);

    async fn handle(&self) -> Arc<dyn DynHistoryStore> {
        Arc::new(self.store().await)
    }

    async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    async fn overwrite(&self, key: &ConversationKey, position: u64, text: &str) -> bool {
        let statement = replacement(key, position, text);
        self.by_hand(&statement).await.expect("it runs");
        true
    }
}

impl HistoryStoreUnderTest for PooledDatabase {
    const TICK: Duration = Duration::from_millis(20);

    async fn handle(&self) -> Arc<dyn DynHistoryStore> {
        Arc::new(self.store().await)
    }

    async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    async fn overwrite(&self, key: &ConversationKey, position: u64, text: &str) -> bool {
        let statement = replacement(key, position, text);
        self.by_hand(&statement).await.expect("it runs");
        true
    }
}

mod sqlite {
    use crate::database::SqliteFile;
    tool_core::history_store_conformance!(Some(SqliteFile::new()));
}

mod postgres_behind_a_pooler {
    use crate::pooler::PooledDatabase;
    tool_core::history_store_conformance!(PooledDatabase::on_server().await);
}

mod postgres {
    use crate::server::Schema;
    tool_core::history_store_conformance!(Schema::on_server().await);
}

/// Two rows change with each append: the new message, and the conversation's.
#[tokio::test]
async fn an_append_writes_as_many_rows_to_a_long_conversation() {
    let options = SqliteConnectOptions::new().in_memory(true);
    let pool = SqlitePoolOptions::new()
        .max_connections(1)
        .connect_with(options)
        .await
        .expect("it opens");
    let store = SqliteStore::from_pool(pool.clone())
        .await
        .expect("it opens");
    let written = async || {
        sqlx::query_scalar::<_, i64>("SELECT total_changes()")
            .fetch_one(&pool)
            .await
            .expect("SQLite counts")
    };
    append(&store, &key("short"), 0, &[said(0)]).await;
    append(&store, &key("long"), 0, &said_each(0..5_000)).await;
    for (id, known) in [("short", 1), ("long", 5_000)] {
        let before = written().await;
        append(&store, &key(id), known, &[said(known)]).await;
        assert_eq!(written().await - before, 2, "{id}");
    }
}

/// A statement of the database has a time limit, however many conversations there are.
#[tokio::test]
async fn unused_conversations_are_deleted_in_batches() {
    let file = SqliteFile::new();
    let store = SqliteStore::open(file.path()).await.expect("it opens");
    append(&store, &key("kept"), 0, &[said(0)]).await;
    for number in 0..150 {
        append(&store, &key(&format!("c{number}")), 0, &[said(0)]).await;
    }
    file.by_hand(
        "UPDATE tool_conversations SET updated_at = 5 WHERE id <> 'kept';
        UPDATE tool_conversations SET updated_at = 7 WHERE id = 'kept';
        CREATE TRIGGER stuck BEFORE DELETE ON tool_conversations WHEN OLD.id = 'kept'
        BEGIN SELECT RAISE(ABORT, 'stuck'); END",
    )
    .await;
    let failed = HistoryStore::delete_unused(&store, 10).await;
    failed.expect_err("the last batch fails");
    assert_eq!(listed(&store, "ada").await.len(), 51);

    assert_eq!(HistoryStore::delete_unused(&store, 7).await, Ok(50));
    assert_eq!(listed(&store, "ada").await.len(), 1);
}

#[tokio::test]
async fn a_missing_message_is_named() {
    let file = SqliteFile::new();
    let store = SqliteStore::open(file.path()).await.expect("it opens");
    append(&store, &key("a"), 0, &said_each(0..5)).await;
    for (position, named) in [(4, 4), (1, 1)] {
        let statement = format!("DELETE FROM tool_messages WHERE position = {position}");
        file.by_hand(&statement).await;
        let error = HistoryStore::load(&store, &key("a"), 0).await;
        assert_eq!(
            error.expect_err("a message is missing").to_string(),
            format!("message {named} of conversation `a` is damaged: it is missing")
        );
    }
}

#[tokio::test]
async fn a_damaged_info_hides_no_conversation() {
    let file = SqliteFile::new();
    let store = SqliteStore::open(file.path()).await.expect("it opens");
    append(&store, &key("a"), 0, &[said(0)]).await;
    append(&store, &key("b"), 0, &[said(0)]).await;
    file.by_hand("UPDATE tool_conversations SET info = '{\"title\": 1' WHERE id = 'a'")
        .await;
    assert_eq!(listed(&store, "ada").await.len(), 2);
    let loaded = load(&store, &key("a")).await;
    assert!(loaded.summary.is_info_damaged);
    assert_eq!(loaded.messages, [said(0)]);
}
