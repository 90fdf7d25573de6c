//! Versions tell what was changed, and never come back.

use crate::agents::AgentRecords;
use crate::agents::RecordWrite;
use crate::testing::agents::AgentStoreUnderTest;
use crate::testing::agents::driver::{Driver, conflict, expecting};
use serde_json::json;
use std::collections::BTreeSet;

/// And is not known.
pub async fn an_agent_that_never_had_a_record_has_version_zero<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    assert_eq!((driver.version("alice").await, driver.agents(None, 9).await.len()), (0, 0));
}

/// The record has the version that the agent got by it. One that changes nothing is a write too.
pub async fn each_write_and_each_removal_is_one_version_more<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    assert_eq!(driver.add("alice", "email").await, 1);
    assert_eq!(driver.add("alice", "calendar").await, 2);
    assert_eq!(driver.set("alice", "email", json!({"port": 1})).await, 3);
    assert_eq!(driver.set("alice", "email", json!({"port": 1})).await, 4);
    driver.remove("alice", "calendar").await;
    assert_eq!((driver.version("alice").await, driver.get("alice", "email").await.version), (5, 4));
    assert_eq!(driver.add("alice", "calendar").await, 6);
}

/// Neither the agent's nor the record's.
pub async fn what_was_refused_costs_no_version<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    driver.add("alice", "email").await;
    let write = RecordWrite::new("alice", "email", json!({"port": 1}));
    for _ in 0..3 {
        assert_eq!(driver.0.write(&write).await, conflict(1));
        assert_eq!(driver.0.write(&expecting(write.clone(), 7)).await, conflict(1));
        assert_eq!(driver.0.remove("alice", "email", 7).await, conflict(1));
        assert_eq!(driver.0.remove("alice", "calendar", 1).await, conflict(None));
    }
    assert_eq!((driver.version("alice").await, driver.get("alice", "email").await.version), (1, 1));
    assert_eq!(driver.0.write(&expecting(RecordWrite::new("bob", "email", json!({})), 1)).await, conflict(None));
    assert_eq!(driver.version("bob").await, 0);
}

/// Also where the last record was removed, and where one comes again.
pub async fn versions_never_come_back<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    let mut seen = BTreeSet::new();
    for round in 0..5 {
        assert!(seen.insert(driver.add("alice", "email").await));
        assert!(seen.insert(driver.set("alice", "email", json!({ "round": round })).await));
        driver.remove("alice", "email").await;
        let empty = driver.load("alice").await;
        assert!(seen.insert(empty.version));
        assert_eq!(empty, AgentRecords::new(driver.version("alice").await, vec![], vec![]));
    }
    assert_eq!(seen, (1..=15).collect());
}

/// Sorted by name, and the newest of them is the agent's, where it was written last.
pub async fn a_load_has_the_versions_of_all_its_records<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    for tool in ["c", "a", "b"] {
        driver.add("alice", tool).await;
    }
    driver.set("alice", "a", json!({})).await;
    let loaded = driver.load("alice").await;
    let versions: Vec<_> = loaded.tools.iter().map(|record| (&*record.tool, record.version)).collect();
    assert_eq!((loaded.version, &*versions), (4, &[("a", 4), ("b", 3), ("c", 1)][..]));
    driver.remove("alice", "a").await;
    assert_eq!(driver.load("alice").await.version, 5);
}
