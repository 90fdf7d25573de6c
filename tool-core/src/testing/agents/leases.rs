//! Tests that one process at a time may refresh a token.

use crate::testing::agents::driver::{AgentStoreUnderTest, Driver, sealed};
use serde_json::json;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3_600);

async fn takes(driver: &Driver, holder: &str, lasts: Duration) -> bool {
    driver
        .0
        .lease("alice", "email", holder, lasts)
        .await
        .expect("the store leases")
}

async fn gives_back(driver: &Driver, holder: &str) {
    driver
        .0
        .release("alice", "email", holder)
        .await
        .expect("the store takes it back");
}

/// A lease has one holder, over all handles, until it is released. Each record has its own lease.
pub async fn lease_has_one_holder_at_a_time<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    let other = Driver::of(store).await;
    driver.add("alice", "email").await;
    driver.add("alice", "calendar").await;
    assert!(takes(&driver, "one", HOUR).await);
    assert!(!takes(&other, "two", HOUR).await);
    assert_eq!(
        driver.0.lease("alice", "calendar", "two", HOUR).await,
        Ok(true)
    );
    gives_back(&driver, "one").await;
    assert!(takes(&other, "two", HOUR).await);
    assert!(!takes(&driver, "one", HOUR).await);
}

/// The holder may acquire its lease again over any handle, because only its name is compared.
pub async fn holder_may_acquire_its_lease_again<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    let other = Driver::of(store).await;
    driver.add("alice", "email").await;
    for driver in [&driver, &other, &driver] {
        assert!(takes(driver, "one", HOUR).await);
    }
    assert!(!takes(&driver, "One", HOUR).await);
}

/// A record that does not exist has no lease, and a later record of that name is free.
pub async fn record_that_does_not_exist_has_no_lease<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    assert!(!takes(&driver, "one", HOUR).await);
    gives_back(&driver, "one").await;
    driver.add("alice", "email").await;
    assert!(takes(&driver, "two", HOUR).await);
}

/// Releasing another holder's lease, or releasing twice, does nothing.
pub async fn lease_is_released_by_its_holder_only<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    driver.add("alice", "email").await;
    gives_back(&driver, "one").await;
    assert!(takes(&driver, "one", HOUR).await);
    gives_back(&driver, "two").await;
    assert!(!takes(&driver, "two", HOUR).await);
    gives_back(&driver, "one").await;
    assert!(takes(&driver, "two", HOUR).await);
    gives_back(&driver, "one").await;
    assert!(!takes(&driver, "one", HOUR).await);
}

/// A lease changes no version, so that no agent is loaded again.
pub async fn lease_changes_no_version<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    driver.add("alice", "email").await;
    let before = driver.load("alice").await;
    assert!(takes(&driver, "one", HOUR).await);
    gives_back(&driver, "one").await;
    assert_eq!(driver.load("alice").await, before);
}

/// A lease outlives writes of its record, and ends when the record is removed.
pub async fn lease_outlives_writes_and_ends_with_the_record<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    driver.add_sealed("alice", "email", &sealed(1)).await;
    assert!(takes(&driver, "one", HOUR).await);
    driver.set("alice", "email", json!({"port": 1})).await;
    assert!(
        driver
            .replaces("alice", "email", &sealed(1), &sealed(2))
            .await
    );
    assert!(!takes(&driver, "two", HOUR).await);
    driver.remove("alice", "email").await;
    driver.add("alice", "email").await;
    assert!(takes(&driver, "two", HOUR).await);
}

/// A lease may have any duration, also the longest one and none.
pub async fn lease_has_any_duration<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    driver.add("alice", "email").await;
    assert!(takes(&driver, "one", Duration::MAX).await);
    assert!(!takes(&driver, "two", Duration::MAX).await);
    assert!(takes(&driver, "one", Duration::ZERO).await);
    assert!(takes(&driver, "two", HOUR).await);
}

/// A lease expires, so that a holder that died blocks no other.
pub async fn lease_expires<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    driver.add("alice", "email").await;
    assert!(takes(&driver, "one", T::TICK * 4).await);
    store.pass(T::TICK).await;
    assert!(!takes(&driver, "two", T::TICK * 4).await);
    store.pass(T::TICK * 4).await;
    assert!(takes(&driver, "two", T::TICK * 100).await);
    gives_back(&driver, "one").await;
    assert!(!takes(&driver, "one", HOUR).await, "it came too late");
}

/// Acquiring a lease again extends it from that moment.
pub async fn acquiring_a_lease_again_extends_it<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    driver.add("alice", "email").await;
    assert!(takes(&driver, "one", T::TICK * 2).await);
    assert!(takes(&driver, "one", T::TICK * 40).await);
    store.pass(T::TICK * 4).await;
    assert!(!takes(&driver, "two", HOUR).await);
}
