//! Tests that all stores refuse the same records.

use crate::agents::AgentRecords;
use crate::agents::SealedSecrets;
use crate::agents::{AgentStoreError, RecordWrite, SecretsWrite};
use crate::testing::agents::driver::{AgentStoreUnderTest, Driver, conflict, sealed};
use serde_json::{Value, json};
use std::time::Duration;

fn ids() -> [String; 5] {
    [
        String::new(),
        "a\0b".into(),
        "a\nb".into(),
        "\u{7f}".into(),
        "x".repeat(513),
    ]
}

/// Invalid ids of agents, toolsets and keys are refused, and nothing is written.
pub async fn invalid_ids_are_refused<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    driver.add("alice", "email").await;
    for id in ids() {
        let mut sealed_so = RecordWrite::new("alice", "calendar", json!({}));
        sealed_so.secrets = SecretsWrite::Set(SealedSecrets::new(&*id, "sealed"));
        for write in [
            RecordWrite::new(&*id, "email", json!({})),
            RecordWrite::new("alice", &*id, json!({})),
            sealed_so,
        ] {
            assert_eq!(
                driver.0.write(&write).await,
                Err(AgentStoreError::InvalidId),
                "{id:?}"
            );
        }
    }
    assert_eq!(
        (driver.version("alice").await, driver.agents(None, 9).await),
        (1, vec!["alice".to_owned()])
    );
}

/// Reading under an invalid id is not an error.
pub async fn invalid_ids_find_nothing<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    driver.add_sealed("alice", "email", &sealed(1)).await;
    for id in ids() {
        let id = &*id;
        assert_eq!(
            (driver.version(id).await, driver.load(id).await),
            (0, AgentRecords::default())
        );
        for (agent, tool) in [(id, "email"), ("alice", id)] {
            assert_eq!(driver.find(agent, tool).await, None);
            assert_eq!(driver.0.remove(agent, tool, 1).await, conflict(None));
            assert!(!driver.replaces(agent, tool, &sealed(1), &sealed(2)).await);
            assert_eq!(
                driver
                    .0
                    .lease(agent, tool, "holder", Duration::from_secs(9))
                    .await,
                Ok(false)
            );
            assert_eq!(driver.0.release(agent, tool, "holder").await, Ok(()));
        }
    }
    assert_eq!(driver.agents(Some("a\0"), 9).await, ["alice"]);
    assert_eq!(
        driver
            .sealed("other", Some(("alice", "a\0")), 9)
            .await
            .len(),
        1
    );
    assert_eq!(driver.sealed("other", Some(("a\0", "z")), 9).await.len(), 1);
}

/// Settings that are not an object, or are nested too deeply, are refused.
pub async fn settings_that_are_no_object_or_too_deep_are_refused<T: AgentStoreUnderTest>(
    store: &T,
) {
    let driver = Driver::of(store).await;
    let deep = (0..101).fold(json!(1), |value, _| json!({ "in": value }));
    for config in [
        Value::Null,
        json!("secret"),
        json!(["secret"]),
        json!(1),
        deep,
    ] {
        let refused = driver
            .0
            .write(&RecordWrite::new("alice", "email", config))
            .await;
        assert!(
            matches!(&refused, Err(AgentStoreError::Unreadable(why)) if !why.contains("secret")),
            "{refused:?}"
        );
    }
    assert_eq!(driver.version("alice").await, 0);
}
