//! Tests that sealed secrets are kept, and replaced without a new version.

use crate::agents::SealedSecrets;
use crate::agents::{RecordWrite, SecretsWrite};
use crate::testing::agents::driver::{AgentStoreUnderTest, Driver, sealed};
use serde_json::json;

/// Writes set, keep and clear secrets, whatever else they change.
pub async fn secrets_are_set_kept_and_cleared<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    driver.add("alice", "email").await;
    let set = SecretsWrite::Set(sealed(1));
    let others = SecretsWrite::Set(sealed(2));
    let keep = SecretsWrite::Keep;
    let clear = SecretsWrite::Clear;
    let steps = [
        (&keep, None),
        (&clear, None),
        (&set, Some(1)),
        (&keep, Some(1)),
        (&others, Some(2)),
        (&clear, None),
        (&keep, None),
    ];
    for (number, (secrets, expected)) in steps.into_iter().enumerate() {
        let mut write = RecordWrite::of(&driver.get("alice", "email").await);
        (write.secrets, write.config) = (secrets.clone(), json!({ "step": number }));
        driver.write(&write).await;
        assert_eq!(
            driver.get("alice", "email").await.secrets,
            expected.map(sealed),
            "step {number}"
        );
        assert_eq!(
            driver.load("alice").await.tools,
            [driver.get("alice", "email").await]
        );
    }
}

/// Secrets hold any bytes, none and many.
pub async fn secrets_hold_any_bytes<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    let any: Vec<u8> = (0..=u8::MAX).collect();
    for (number, bytes) in [any.clone(), vec![], vec![0], any.repeat(1000)]
        .into_iter()
        .enumerate()
    {
        let tool = format!("tool-{number}");
        let secrets = SealedSecrets::new("2026-11_a.b", bytes);
        driver.add_sealed("alice", &tool, &secrets).await;
        assert_eq!(
            driver.get("alice", &tool).await.secrets,
            Some(secrets.clone())
        );
        let rows = driver
            .0
            .sealed_under_others("-", None, 9)
            .await
            .expect("the store lists");
        assert!(
            rows.iter()
                .any(|row| row.tool == tool && row.secrets == secrets)
        );
        assert!(driver.replaces("alice", &tool, &secrets, &sealed(1)).await);
    }
}

/// Replaced secrets are the same secrets, so that no agent is loaded again.
pub async fn replaced_secrets_change_no_version<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    driver.add_sealed("alice", "email", &sealed(1)).await;
    let mut before = driver.load("alice").await;
    let anew = SealedSecrets::new("key-2", "sealed anew");
    assert!(driver.replaces("alice", "email", &sealed(1), &anew).await);
    before.tools[0].secrets = Some(anew);
    assert_eq!(driver.load("alice").await, before);
    assert_eq!(driver.version("alice").await, before.version);
}

/// Other bytes, another key, no secrets or another record: nothing is replaced.
pub async fn secrets_are_replaced_only_if_unchanged<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    driver.add_sealed("alice", "email", &sealed(1)).await;
    driver.add("alice", "calendar").await;
    let before = driver.load("alice").await;
    let other_key = SealedSecrets::new("key-2", sealed(1).bytes());
    let longer = SealedSecrets::new("key-1", [sealed(1).bytes(), b"."].concat());
    for from in [
        sealed(2),
        other_key,
        longer,
        SealedSecrets::new("key-1", ""),
    ] {
        assert!(!driver.replaces("alice", "email", &from, &sealed(3)).await);
    }
    assert!(
        !driver
            .replaces("alice", "calendar", &sealed(1), &sealed(3))
            .await
    );
    assert!(
        !driver
            .replaces("alice", "drive", &sealed(1), &sealed(3))
            .await
    );
    assert!(
        !driver
            .replaces("bob", "email", &sealed(1), &sealed(3))
            .await
    );
    assert_eq!(driver.load("alice").await, before);
    assert!(
        driver
            .replaces("alice", "email", &sealed(1), &sealed(1))
            .await
    );
}

/// A form that was open while a token was refreshed does not restore the old token.
pub async fn kept_secrets_are_the_current_ones<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    driver.add_sealed("alice", "email", &sealed(1)).await;
    let read = driver.get("alice", "email").await;
    assert!(
        driver
            .replaces("alice", "email", &sealed(1), &sealed(2))
            .await
    );
    driver.write(&RecordWrite::of(&read)).await;
    assert_eq!(driver.get("alice", "email").await.secrets, Some(sealed(2)));
}

/// The next record of that name has no secrets.
pub async fn secrets_are_removed_with_their_record<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    driver.add_sealed("alice", "email", &sealed(1)).await;
    driver.remove("alice", "email").await;
    assert_eq!(driver.sealed("-", None, 9).await, []);
    assert!(
        !driver
            .replaces("alice", "email", &sealed(1), &sealed(2))
            .await
    );
    driver.add("alice", "email").await;
    assert_eq!(driver.get("alice", "email").await.secrets, None);
}
