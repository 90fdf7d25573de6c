//! Records are written, read and removed, and nobody's work is lost.

use crate::agents::AgentRecords;
use crate::agents::{RecordWrite, SecretsWrite};
use crate::testing::agents::AgentStoreUnderTest;
use crate::testing::agents::driver::{Driver, conflict, expecting, sealed};
use serde_json::json;

fn write() -> RecordWrite {
    let mut write = RecordWrite::new("alice", "email", json!({"server": "mail.example", "port": 587, "to": [null]}));
    write.enabled = false;
    write.disabled_actions = ["send_email".to_owned(), "draft".to_owned()].into();
    write.secrets = SecretsWrite::Set(sealed(1));
    write
}

/// By itself and among the others, when it is new and when it was changed.
pub async fn a_record_comes_back_as_it_was_written<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    let mut write = write();
    for (enabled, config) in [(false, write.config.clone()), (true, json!({"port": 25}))] {
        (write.enabled, write.config) = (enabled, config);
        let version = driver.write(&write).await;
        let record = driver.get("alice", "email").await;
        assert_eq!((&*record.agent, &*record.tool, record.version), ("alice", "email", version));
        assert_eq!((record.enabled, &record.config), (enabled, &write.config));
        assert_eq!(record.disabled_actions, write.disabled_actions);
        assert_eq!(record.secrets, Some(sealed(1)));
        assert_eq!(driver.load("alice").await, AgentRecords::new(version, vec![record], vec![]));
        write = expecting(write, version);
        write.disabled_actions.clear();
    }
}

/// And an agent without records has none.
pub async fn a_record_that_is_not_there_is_none<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    assert_eq!(driver.find("alice", "email").await, None);
    assert_eq!(driver.load("alice").await, AgentRecords::default());
    driver.add("alice", "calendar").await;
    assert_eq!(driver.find("alice", "email").await, None);
}

/// It is told in which version it is there, and stays what it is.
pub async fn a_record_that_is_there_is_not_written_as_a_new_one<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    let version = driver.write(&write()).await;
    let before = driver.load("alice").await;
    let second = RecordWrite::new("alice", "email", json!({"port": 1}));
    assert_eq!(driver.0.write(&second).await, conflict(version));
    assert_eq!(driver.load("alice").await, before);
}

/// An older one, or one that never was.
pub async fn a_record_is_not_written_in_another_version_than_the_one_that_was_read<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    let first = driver.write(&write()).await;
    let second = driver.set("alice", "email", json!({"port": 2})).await;
    let before = driver.load("alice").await;
    for version in [first, second + 1, 0, u64::MAX] {
        assert_eq!(driver.0.write(&expecting(write(), version)).await, conflict(second));
    }
    assert_eq!(driver.load("alice").await, before);
}

/// Nor one that never was there.
pub async fn a_record_that_was_removed_is_not_written_again_unawares<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    assert_eq!(driver.0.write(&expecting(write(), 1)).await, conflict(None));
    let version = driver.write(&write()).await;
    driver.remove("alice", "email").await;
    assert_eq!(driver.0.write(&expecting(write(), version)).await, conflict(None));
    assert_eq!(driver.find("alice", "email").await, None);
}

/// Nor twice.
pub async fn a_record_is_not_removed_in_another_version<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    assert_eq!(driver.0.remove("alice", "email", 1).await, conflict(None));
    let first = driver.write(&write()).await;
    let second = driver.set("alice", "email", json!({"port": 2})).await;
    assert_eq!(driver.0.remove("alice", "email", first).await, conflict(second));
    assert_eq!(driver.get("alice", "email").await.version, second);
    assert_eq!(driver.0.remove("alice", "email", second).await, Ok(()));
    assert_eq!(driver.0.remove("alice", "email", second).await, conflict(None));
}

/// And the others stay; one of the same name may come after it, and has nothing of it.
pub async fn a_removed_record_is_gone<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    driver.write(&write()).await;
    driver.add("alice", "calendar").await;
    driver.remove("alice", "email").await;
    let left = driver.load("alice").await;
    assert_eq!(left.tools, [driver.get("alice", "calendar").await]);
    driver.add("alice", "email").await;
    let anew = driver.get("alice", "email").await;
    assert_eq!((anew.enabled, anew.config, anew.secrets), (true, json!({}), None));
}

/// At once.
pub async fn handles_see_one_another<T: AgentStoreUnderTest>(store: &T) {
    let (one, other) = (Driver::of(store).await, Driver::of(store).await);
    for turn in 0..10 {
        let (writes, reads) = if turn % 2 == 0 { (&one, &other) } else { (&other, &one) };
        let version = writes.add("alice", &format!("tool-{turn}")).await;
        assert_eq!(reads.version("alice").await, version);
        assert_eq!(reads.load("alice").await.tools.len(), turn + 1);
        assert_eq!(reads.set("alice", "tool-0", json!({"turn": turn})).await, version + 1);
    }
}

/// Not of their records, not of their versions.
pub async fn agents_know_nothing_of_one_another<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    driver.write(&write()).await;
    let alice = driver.load("alice").await;
    assert_eq!(driver.add("bob", "email").await, 1);
    driver.set("bob", "email", json!({"port": 9})).await;
    driver.remove("bob", "email").await;
    assert_eq!(driver.load("alice").await, alice);
    assert_eq!(driver.load("Alice").await, AgentRecords::default());
}
