//! Tests that records are written, read and removed, and no writer overwrites another's change.

use crate::agents::AgentRecords;
use crate::agents::{RecordWrite, SecretsWrite};
use crate::testing::agents::driver::{AgentStoreUnderTest, Driver, conflict, expecting, sealed};
use serde_json::json;

fn write() -> RecordWrite {
    let mut write = RecordWrite::new(
        "alice",
        "email",
        json!({"server": "mail.example", "port": 587, "to": [null]}),
    );
    write.enabled = false;
    write.disabled_actions = ["send_email".to_owned(), "draft".to_owned()].into();
    write.secrets = SecretsWrite::Set(sealed(1));
    write
}

/// A record comes back by itself and among the agent's records, when it is new and after a change.
pub async fn record_comes_back_as_it_was_written<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    let mut write = write();
    for (enabled, config) in [(false, write.config.clone()), (true, json!({"port": 25}))] {
        (write.enabled, write.config) = (enabled, config);
        let version = driver.write(&write).await;
        let record = driver.get("alice", "email").await;
        assert_eq!(
            (&*record.agent, &*record.tool, record.version),
            ("alice", "email", version)
        );
        assert_eq!((record.enabled, &record.config), (enabled, &write.config));
        assert_eq!(record.disabled_actions, write.disabled_actions);
        assert_eq!(record.secrets, Some(sealed(1)));
        assert_eq!(
            driver.load("alice").await,
            AgentRecords::new(version, vec![record], vec![])
        );
        write = expecting(write, version);
        write.disabled_actions.clear();
    }
}

/// An agent without records has none.
pub async fn missing_record_is_none<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    assert_eq!(driver.find("alice", "email").await, None);
    assert_eq!(driver.load("alice").await, AgentRecords::default());
    driver.add("alice", "calendar").await;
    assert_eq!(driver.find("alice", "email").await, None);
}

/// The writer learns the record's version, and the record stays unchanged.
pub async fn existing_record_is_not_written_as_a_new_one<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    let version = driver.write(&write()).await;
    let before = driver.load("alice").await;
    let second = RecordWrite::new("alice", "email", json!({"port": 1}));
    assert_eq!(driver.0.write(&second).await, conflict(version));
    assert_eq!(driver.load("alice").await, before);
}

/// A write that expects an older version, or one that never existed, is refused.
pub async fn record_is_written_only_in_its_current_version<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    let first = driver.write(&write()).await;
    let second = driver.set("alice", "email", json!({"port": 2})).await;
    let before = driver.load("alice").await;
    for version in [first, second + 1, 0, u64::MAX] {
        assert_eq!(
            driver.0.write(&expecting(write(), version)).await,
            conflict(second)
        );
    }
    assert_eq!(driver.load("alice").await, before);
}

/// A change of a record that was removed, or never existed, is refused.
pub async fn removed_record_is_not_written_as_a_change<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    assert_eq!(driver.0.write(&expecting(write(), 1)).await, conflict(None));
    let version = driver.write(&write()).await;
    driver.remove("alice", "email").await;
    assert_eq!(
        driver.0.write(&expecting(write(), version)).await,
        conflict(None)
    );
    assert_eq!(driver.find("alice", "email").await, None);
}

/// A record is removed in its current version, and once.
pub async fn record_is_removed_only_in_its_current_version<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    assert_eq!(driver.0.remove("alice", "email", 1).await, conflict(None));
    let first = driver.write(&write()).await;
    let second = driver.set("alice", "email", json!({"port": 2})).await;
    assert_eq!(
        driver.0.remove("alice", "email", first).await,
        conflict(second)
    );
    assert_eq!(driver.get("alice", "email").await.version, second);
    assert_eq!(driver.0.remove("alice", "email", second).await, Ok(()));
    assert_eq!(
        driver.0.remove("alice", "email", second).await,
        conflict(None)
    );
}

/// Other records stay. A new record of the same name has nothing of the removed one.
pub async fn removed_record_is_gone<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    driver.write(&write()).await;
    driver.add("alice", "calendar").await;
    driver.remove("alice", "email").await;
    let left = driver.load("alice").await;
    assert_eq!(left.tools, [driver.get("alice", "calendar").await]);
    driver.add("alice", "email").await;
    let anew = driver.get("alice", "email").await;
    assert_eq!(
        (anew.enabled, anew.config, anew.secrets),
        (true, json!({}), None)
    );
}

/// A write is visible over other handles at once.
pub async fn handles_see_each_others_writes<T: AgentStoreUnderTest>(store: &T) {
    let one = Driver::of(store).await;
    let other = Driver::of(store).await;
    for turn in 0..10 {
        let (writes, reads) = if turn % 2 == 0 {
            (&one, &other)
        } else {
            (&other, &one)
        };
        let version = writes.add("alice", &format!("tool-{turn}")).await;
        assert_eq!(reads.version("alice").await, version);
        assert_eq!(reads.load("alice").await.tools.len(), turn + 1);
        assert_eq!(
            reads.set("alice", "tool-0", json!({"turn": turn})).await,
            version + 1
        );
    }
}

/// Agents share neither records nor versions.
pub async fn agents_are_isolated<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    driver.write(&write()).await;
    let alice = driver.load("alice").await;
    assert_eq!(driver.add("bob", "email").await, 1);
    driver.set("bob", "email", json!({"port": 9})).await;
    driver.remove("bob", "email").await;
    assert_eq!(driver.load("alice").await, alice);
    assert_eq!(driver.load("Alice").await, AgentRecords::default());
}
