//! The list of a principal's calls that wait for approval: its index, and rows from before there was a list.

use crate::database::SqliteFile;
use sqlx::{Executor, Row};
use tool_core::Mode;
use tool_core::testing::store::StoreUnderTest;
use tool_core::testing::store::driver::{HOUR, approvals_of, open, opening, waiting};

const LIST: &str = include_str!("../../src/sql/principal_approvals.sql");

#[tokio::test]
async fn list_of_a_principal_reads_its_own_calls_only() {
    let file = SqliteFile::new();
    drop(file.handle().await);
    let plan = file
        .connection()
        .await
        .fetch_all(sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {LIST}")))
        .await
        .expect("a plan");
    let steps = plan.iter().map(|row| row.get::<String, _>("detail"));
    let steps = steps.collect::<Vec<_>>();
    let by_principal = "SEARCH waiting USING INDEX tool_session_approvals_by_principal";
    assert!(
        steps.iter().any(|step| step.starts_with(by_principal)),
        "{steps:?}"
    );
    let reads_all = |step: &String| {
        step.starts_with("SCAN waiting")
            || step.starts_with("SCAN session")
            || step.contains("TEMP B-TREE")
    };
    assert!(!steps.iter().any(reads_all), "{steps:?}");
}

#[tokio::test]
async fn calls_that_waited_before_the_list_existed_are_in_it() {
    let file = SqliteFile::new();
    let store = file.handle().await;
    let session = open(&store, &opening("session", Mode::Text))
        .await
        .expect("the session opens");
    session.mint(&waiting(1), HOUR).await;
    drop((session, store));
    for undone in [
        "DROP INDEX tool_session_approvals_by_principal",
        "ALTER TABLE tool_session_approvals DROP COLUMN principal",
        "DROP TRIGGER tool_sessions_deleted_with_grants",
        "DROP TABLE tool_session_grants",
        "DELETE FROM _tool_sessions_migrations WHERE version = 2",
    ] {
        file.by_hand(undone).await;
    }
    let store = file.handle().await;
    assert_eq!(approvals_of(&store, "someone", 10).await, [waiting(1)]);
}
