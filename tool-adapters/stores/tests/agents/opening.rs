//! Stores that many open at once, beside a program's own tables, and over its own connections.

use crate::manual_changes::Database;
use crate::server::Schema;
use serde_json::json;
use sqlx::SqlSafeStr;
use sqlx::migrate::{Migration, MigrationType, Migrator};
use std::sync::Arc;
use tokio::task::JoinSet;
use tool_adapters::stores::{PostgresStore, SqliteStore};
use tool_core::agents::AgentToolStore;
use tool_core::testing::agents::driver::Driver;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn stores_opened_at_once_share_a_new_database() {
    for database in Database::all().await {
        let (database, mut racers) = (Arc::new(database), JoinSet::new());
        for number in 0..8 {
            let database = Arc::clone(&database);
            racers.spawn(async move {
                database
                    .driver()
                    .await
                    .add("alice", &format!("tool-{number}"))
                    .await
            });
        }
        let mut versions = racers.join_all().await;
        versions.sort_unstable();
        assert_eq!(versions, (1..=8).collect::<Vec<_>>());
    }
}

/// A program's own migrations, with the number of the store's migration and similar table names.
fn migrator() -> Migrator {
    let sql =
        "CREATE TABLE agents (name text); CREATE TABLE agent_tools (name text)".into_sql_str();
    Migrator::with_migrations(vec![Migration::new(
        1,
        "agents".into(),
        MigrationType::Simple,
        sql,
        false,
    )])
}

#[tokio::test]
async fn stores_share_a_database_with_a_programs_own_tables() {
    const PUT: &str = "INSERT INTO agents VALUES ('ada'); INSERT INTO agent_tools VALUES ('drill')";
    const COUNT: &str = "SELECT count(*) FROM agents, agent_tools";
    let place = tempfile::tempdir().expect("a folder");
    let url = format!(
        "sqlite:{}?mode=rwc",
        place.path().join("program.db").display()
    );
    let pool = sqlx::SqlitePool::connect(&url).await.expect("it opens");
    for rows in [1, 4] {
        migrator().run(&pool).await.expect("its tables are made");
        check(
            SqliteStore::from_pool(pool.clone())
                .await
                .expect("it opens"),
        )
        .await;
        sqlx::raw_sql(PUT)
            .execute(&pool)
            .await
            .expect("its tables are its own");
        assert_eq!(
            sqlx::query_scalar::<_, i64>(COUNT)
                .fetch_one(&pool)
                .await
                .expect("they are"),
            rows
        );
    }
    let Some(schema) = Schema::on_server().await else {
        return;
    };
    let pool = sqlx::PgPool::connect(&schema.url())
        .await
        .expect("the server answers");
    for rows in [1, 4] {
        migrator().run(&pool).await.expect("its tables are made");
        check(
            PostgresStore::from_pool(pool.clone())
                .await
                .expect("it opens"),
        )
        .await;
        sqlx::raw_sql(PUT)
            .execute(&pool)
            .await
            .expect("its tables are its own");
        assert_eq!(
            sqlx::query_scalar::<_, i64>(COUNT)
                .fetch_one(&pool)
                .await
                .expect("they are"),
            rows
        );
    }
}

async fn check(store: impl AgentToolStore) {
    let driver = Driver(Arc::new(store));
    let version = driver.add("alice", "email").await;
    assert_eq!(
        driver.set("alice", "email", json!({"port": 1})).await,
        version + 1
    );
    assert_eq!(
        driver.load("alice").await.tools,
        [driver.get("alice", "email").await]
    );
    driver.remove("alice", "email").await;
    assert_eq!(driver.version("alice").await, version + 2);
}

#[tokio::test]
async fn stores_in_memory_are_separate() {
    let (one, other) = (
        SqliteStore::open_in_memory().await.expect("it opens"),
        SqliteStore::open_in_memory().await.expect("it opens"),
    );
    check(one.clone()).await;
    assert_eq!(
        (one.version("alice").await, other.version("alice").await),
        (Ok(3), Ok(0))
    );
}
