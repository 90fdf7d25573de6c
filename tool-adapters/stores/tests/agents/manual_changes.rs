//! Rows that are changed by hand: with `sqlite3`, with `psql`, or by another program.

use crate::server::Schema;
use serde_json::json;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Executor};
use std::sync::Arc;
use tempfile::TempDir;
use tool_adapters::stores::SqliteStore;
use tool_core::agents::{AgentStoreError, DynAgentToolStore, RecordWrite};
use tool_core::testing::agents::driver::{Driver, conflict, sealed};

/// A database that is changed beside the store.
pub(crate) enum Database {
    Sqlite(TempDir),
    Postgres(Schema),
}

impl Database {
    /// Returns a SQLite file, and a PostgreSQL schema if there is a server.
    pub(crate) async fn all() -> Vec<Self> {
        let server = Schema::on_server().await.map(Self::Postgres);
        [Self::sqlite()].into_iter().chain(server).collect()
    }

    pub(crate) fn sqlite() -> Self {
        Self::Sqlite(tempfile::tempdir().expect("a folder"))
    }

    pub(crate) async fn driver(&self) -> Driver {
        let store: Arc<dyn DynAgentToolStore> = match self {
            Self::Sqlite(place) => Arc::new(
                SqliteStore::open(place.path().join("agents.db"))
                    .await
                    .expect("it opens"),
            ),
            Self::Postgres(schema) => Arc::new(schema.store().await),
        };
        Driver(store)
    }

    /// Runs a statement over a separate connection.
    pub(crate) async fn by_hand(&self, sql: &str) -> Result<(), sqlx::Error> {
        match self {
            Self::Sqlite(place) => {
                let options = SqliteConnectOptions::new().filename(place.path().join("agents.db"));
                let mut connection: SqliteConnection =
                    options.foreign_keys(false).connect().await?;
                connection
                    .execute(AssertSqlSafe(sql.to_owned()))
                    .await
                    .map(drop)
            }
            Self::Postgres(schema) => schema.by_hand(sql).await,
        }
    }
}

/// Changes of a record, among them a change of `version`, which the trigger replaces.
const CHANGES: [&str; 6] = [
    "enabled = NOT enabled",
    "disabled_actions = '[\"send\"]'",
    "config = '{\"port\": 1}'",
    "secrets_key = 'key-2'",
    "enabled = NOT enabled, config = '{}', secrets_key = NULL, secrets = NULL",
    "version = 1",
];

#[tokio::test]
async fn change_by_hand_raises_the_versions() {
    for database in Database::all().await {
        let driver = database.driver().await;
        driver.add("alice", "calendar").await;
        let mut version = driver.add_sealed("alice", "email", &sealed(1)).await;
        for change in CHANGES {
            let read = driver.get("alice", "email").await;
            let sql = format!(
                "UPDATE tool_agent_records SET {change} WHERE agent_id = 'alice' AND tool = 'email'"
            );
            database.by_hand(&sql).await.expect("it is changed");
            version += 1;
            let loaded = driver.load("alice").await;
            let versions: Vec<_> = loaded.tools.iter().map(|record| record.version).collect();
            assert_eq!(
                (loaded.version, versions),
                (version, vec![1, version]),
                "{change}"
            );
            // A writer that read the record before gets a conflict.
            assert_eq!(
                driver.0.write(&RecordWrite::of(&read)).await,
                conflict(version),
                "{change}"
            );
        }
    }
}

#[tokio::test]
async fn versions_show_rows_made_moved_or_deleted_by_hand() {
    for database in Database::all().await {
        let driver = database.driver().await;
        let insert = "INSERT INTO tool_agent_records (agent_id, tool, config) VALUES ('alice', 'email', '{\"port\": 25}')";
        database.by_hand(insert).await.expect("it is made");
        let made = driver.get("alice", "email").await;
        assert_eq!(
            (made.version, made.enabled, made.config),
            (1, true, json!({"port": 25}))
        );

        database
            .by_hand("UPDATE tool_agent_records SET agent_id = 'bob'")
            .await
            .expect("it is moved");
        assert_eq!(
            (
                driver.version("alice").await,
                driver.load("alice").await.tools.len()
            ),
            (2, 0)
        );
        assert_eq!(
            (
                driver.version("bob").await,
                driver.get("bob", "email").await.version
            ),
            (1, 1)
        );

        driver.add("bob", "drive").await;
        database
            .by_hand("UPDATE tool_agent_records SET enabled = NOT enabled")
            .await
            .expect("all are changed");
        let mut versions: Vec<_> = driver
            .load("bob")
            .await
            .tools
            .iter()
            .map(|record| record.version)
            .collect();
        versions.sort_unstable();
        assert_eq!((driver.version("bob").await, versions), (4, vec![3, 4]));

        database
            .by_hand("DELETE FROM tool_agent_records")
            .await
            .expect("all are deleted");
        assert_eq!(
            (
                driver.version("bob").await,
                driver.load("bob").await.tools.len()
            ),
            (6, 0)
        );
        assert_eq!(driver.add("bob", "email").await, 7);
    }
}

#[tokio::test]
async fn replaced_row_has_a_new_version() {
    for database in Database::all().await {
        let driver = database.driver().await;
        driver.add("alice", "email").await;
        let put = "INSERT INTO tool_agent_records (agent_id, tool, config) VALUES ('alice', 'email', '{\"port\": 1}')
            ON CONFLICT (agent_id, tool) DO UPDATE SET config = excluded.config";
        database.by_hand(put).await.expect("it is put");
        let first = driver.get("alice", "email").await;
        assert_eq!(
            (first.version, &first.config),
            (driver.version("alice").await, &json!({"port": 1}))
        );
        assert!(first.version > 1);
        let Database::Sqlite(_) = &database else {
            continue;
        };
        for recursive in ["OFF", "ON"] {
            let before = driver.version("alice").await;
            let replace = "INSERT OR REPLACE INTO tool_agent_records (agent_id, tool) VALUES ('alice', 'email')";
            let sql = format!("PRAGMA recursive_triggers = {recursive}; {replace}");
            database.by_hand(&sql).await.expect("it is replaced");
            let record = driver.get("alice", "email").await;
            assert!(record.version > before && record.version == driver.version("alice").await);
        }
    }
}

#[tokio::test]
async fn versions_cannot_be_lowered_by_hand() {
    for database in Database::all().await {
        let driver = database.driver().await;
        driver.add("alice", "email").await;
        driver.set("alice", "email", json!({})).await;
        database
            .by_hand("UPDATE tool_agents SET version = 1")
            .await
            .expect_err("it goes up only");
        database
            .by_hand("DELETE FROM tool_agents")
            .await
            .expect_err("there are records");
        assert_eq!(
            (
                driver.version("alice").await,
                driver.get("alice", "email").await.version
            ),
            (2, 2)
        );
        // The version stays when an agent has no records.
        driver.remove("alice", "email").await;
        let version = driver.version("alice").await;
        database
            .by_hand("DELETE FROM tool_agents")
            .await
            .expect_err("it would begin at 1 again");
        database
            .by_hand("UPDATE tool_agents SET agent_id = 'bob'")
            .await
            .expect_err("alice would begin at 1 again");
        let other = match database {
            Database::Sqlite(_) => {
                "INSERT OR REPLACE INTO tool_agents (agent_id, version) VALUES ('alice', 1)"
            }
            Database::Postgres(_) => "TRUNCATE tool_agents CASCADE",
        };
        database
            .by_hand(other)
            .await
            .expect_err("it would begin at 1 again");
        assert_eq!(driver.add("alice", "email").await, version + 1);
    }
}

#[tokio::test]
async fn invalid_row_is_reported_and_others_load() {
    let both = [
        "config = '[\"hunter2\"]'",
        "config = '\"hunter2\"'",
        "disabled_actions = '{\"hunter2\": 1}'",
    ];
    // PostgreSQL refuses text that is not JSON.
    let sqlite = [
        "config = '{\"hunter2\": '",
        "config = ''",
        "disabled_actions = 'hunter2'",
        "config = CAST(x'ff' AS TEXT)",
    ];
    for database in Database::all().await {
        let driver = database.driver().await;
        driver.add("alice", "calendar").await;
        driver.add("alice", "email").await;
        let more = if matches!(database, Database::Sqlite(_)) {
            &sqlite[..]
        } else {
            &[]
        };
        for change in both.iter().chain(more) {
            let sql = format!("UPDATE tool_agent_records SET {change} WHERE tool = 'email'");
            database.by_hand(&sql).await.expect("it is changed");
            let loaded = driver.0.load("alice").await.expect("the store loads");
            assert_eq!(
                loaded.tools,
                [driver.get("alice", "calendar").await],
                "{change}"
            );
            let [row] = &*loaded.unreadable else {
                panic!("{change}: {:?}", loaded.unreadable)
            };
            assert!(
                row.tool == "email"
                    && row
                        .reason
                        .contains(change.split(' ').next().expect("a column")),
                "{row:?}"
            );
            let error = driver
                .0
                .get("alice", "email")
                .await
                .expect_err("it is no record");
            assert_eq!(error, AgentStoreError::Unreadable(row.reason.clone()));
            assert!(
                !format!("{row:?} {error} {error:?}").contains("hunter2"),
                "{row:?} {error}"
            );
            database
                .by_hand("UPDATE tool_agent_records SET config = '{}', disabled_actions = '[]'")
                .await
                .expect("it is mended");
            assert_eq!(driver.load("alice").await.tools.len(), 2);
        }
    }
}

// T9
#[tokio::test]
async fn settings_that_nest_100_000_deep_are_no_record() {
    let database = Database::sqlite();
    let driver = database.driver().await;
    driver.add("alice", "email").await;
    let deep = format!("{{\"a\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    database
        .by_hand(&format!("UPDATE tool_agent_records SET config = '{deep}'"))
        .await
        .expect("it is changed");
    let loaded = driver.0.load("alice").await.expect("the store loads");
    assert!(
        loaded.tools.is_empty() && loaded.unreadable[0].reason.contains("`config`"),
        "{:?}",
        loaded.unreadable
    );
}

#[tokio::test]
async fn postgres_versions_show_other_paths_and_truncation() {
    let Some(schema) = Schema::on_server().await else {
        return;
    };
    let driver = Driver(Arc::new(schema.store().await));
    driver.add("alice", "email").await;
    let name = schema.name();
    schema
        .by_hand(&format!(
            "SET search_path TO pg_catalog; UPDATE {name}.tool_agent_records SET enabled = false"
        ))
        .await
        .expect("changed");
    assert_eq!(
        (
            driver.version("alice").await,
            driver.get("alice", "email").await.version
        ),
        (2, 2)
    );
    schema
        .by_hand("TRUNCATE tool_agent_records")
        .await
        .expect("emptied");
    assert_eq!(
        (
            driver.version("alice").await,
            driver.load("alice").await.tools.len()
        ),
        (3, 0)
    );
}
