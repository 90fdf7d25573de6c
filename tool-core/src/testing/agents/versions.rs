//! Tests that versions show each change, and are never used again.

use crate::agents::AgentRecords;
use crate::agents::RecordWrite;
use crate::testing::agents::driver::{AgentStoreUnderTest, Driver, conflict, expecting};
use serde_json::json;
use std::collections::BTreeSet;

/// An agent that never had a record has version 0, and is not listed.
pub async fn unknown_agent_has_version_zero<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    assert_eq!(
        (
            driver.version("alice").await,
            driver.agents(None, 9).await.len()
        ),
        (0, 0)
    );
}

/// A record has the version that its write gave the agent. A write that changes nothing counts too.
pub async fn each_write_and_each_removal_adds_one_version<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    assert_eq!(driver.add("alice", "email").await, 1);
    assert_eq!(driver.add("alice", "calendar").await, 2);
    assert_eq!(driver.set("alice", "email", json!({"port": 1})).await, 3);
    assert_eq!(driver.set("alice", "email", json!({"port": 1})).await, 4);
    driver.remove("alice", "calendar").await;
    assert_eq!(
        (
            driver.version("alice").await,
            driver.get("alice", "email").await.version
        ),
        (5, 4)
    );
    assert_eq!(driver.add("alice", "calendar").await, 6);
}

/// Refused writes change neither the agent's version nor the record's.
pub async fn refused_writes_add_no_version<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    driver.add("alice", "email").await;
    let write = RecordWrite::new("alice", "email", json!({"port": 1}));
    for _ in 0..3 {
        assert_eq!(driver.0.write(&write).await, conflict(1));
        assert_eq!(
            driver.0.write(&expecting(write.clone(), 7)).await,
            conflict(1)
        );
        assert_eq!(driver.0.remove("alice", "email", 7).await, conflict(1));
        assert_eq!(
            driver.0.remove("alice", "calendar", 1).await,
            conflict(None)
        );
    }
    assert_eq!(
        (
            driver.version("alice").await,
            driver.get("alice", "email").await.version
        ),
        (1, 1)
    );
    assert_eq!(
        driver
            .0
            .write(&expecting(RecordWrite::new("bob", "email", json!({})), 1))
            .await,
        conflict(None)
    );
    assert_eq!(driver.version("bob").await, 0);
}

/// Versions are not used again after the last record was removed and added again.
pub async fn versions_are_never_used_again<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    let mut seen = BTreeSet::new();
    for round in 0..5 {
        assert!(seen.insert(driver.add("alice", "email").await));
        assert!(
            seen.insert(
                driver
                    .set("alice", "email", json!({ "round": round }))
                    .await
            )
        );
        driver.remove("alice", "email").await;
        let empty = driver.load("alice").await;
        assert!(seen.insert(empty.version));
        assert_eq!(
            empty,
            AgentRecords::new(driver.version("alice").await, vec![], vec![])
        );
    }
    assert_eq!(seen, (1..=15).collect());
}

/// Records are sorted by name. The newest version is the agent's, unless a record was removed
/// since.
pub async fn load_has_the_versions_of_all_its_records<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    for tool in ["c", "a", "b"] {
        driver.add("alice", tool).await;
    }
    driver.set("alice", "a", json!({})).await;
    let loaded = driver.load("alice").await;
    let versions: Vec<_> = loaded
        .tools
        .iter()
        .map(|record| (&*record.tool, record.version))
        .collect();
    assert_eq!(
        (loaded.version, &*versions),
        (4, &[("a", 4), ("b", 3), ("c", 1)][..])
    );
    driver.remove("alice", "a").await;
    assert_eq!(driver.load("alice").await.version, 5);
}
