//! One at a time may refresh a token.

use crate::testing::agents::AgentStoreUnderTest;
use crate::testing::agents::driver::{Driver, sealed};
use serde_json::json;
use std::time::Duration;

const HOUR: Duration = Duration::from_hours(1);

async fn takes(driver: &Driver, holder: &str, lasts: Duration) -> bool {
    driver.0.lease("alice", "email", holder, lasts).await.expect("the store leases")
}

async fn gives_back(driver: &Driver, holder: &str) {
    driver.0.release("alice", "email", holder).await.expect("the store takes it back");
}

/// Over any handle, until it is given back. Records have leases of their own.
pub async fn one_holder_at_a_time_has_it<T: AgentStoreUnderTest>(store: &T) {
    let (driver, other) = (Driver::of(store).await, Driver::of(store).await);
    driver.add("alice", "email").await;
    driver.add("alice", "calendar").await;
    assert!(takes(&driver, "one", HOUR).await);
    assert!(!takes(&other, "two", HOUR).await);
    assert_eq!(driver.0.lease("alice", "calendar", "two", HOUR).await, Ok(true));
    gives_back(&driver, "one").await;
    assert!(takes(&other, "two", HOUR).await);
    assert!(!takes(&driver, "one", HOUR).await);
}

/// Over any handle: it is the holder's name that counts.
pub async fn the_holder_may_take_it_again<T: AgentStoreUnderTest>(store: &T) {
    let (driver, other) = (Driver::of(store).await, Driver::of(store).await);
    driver.add("alice", "email").await;
    for driver in [&driver, &other, &driver] {
        assert!(takes(driver, "one", HOUR).await);
    }
    assert!(!takes(&driver, "One", HOUR).await);
}

/// Nor is it there for a record that comes later.
pub async fn nobody_has_it_where_there_is_no_record<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    assert!(!takes(&driver, "one", HOUR).await);
    gives_back(&driver, "one").await;
    driver.add("alice", "email").await;
    assert!(takes(&driver, "two", HOUR).await);
}

/// Also not twice.
pub async fn whoever_does_not_have_it_gives_nothing_back<T: AgentStoreUnderTest>(store: &T) {
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

/// Nothing is loaded again because of it.
pub async fn no_version_tells_of_it<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    driver.add("alice", "email").await;
    let before = driver.load("alice").await;
    assert!(takes(&driver, "one", HOUR).await);
    gives_back(&driver, "one").await;
    assert_eq!(driver.load("alice").await, before);
}

/// Whatever is written meanwhile.
pub async fn it_outlives_writes_and_goes_with_the_record<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    driver.add_sealed("alice", "email", &sealed(1)).await;
    assert!(takes(&driver, "one", HOUR).await);
    driver.set("alice", "email", json!({"port": 1})).await;
    assert!(driver.replaces("alice", "email", &sealed(1), &sealed(2)).await);
    assert!(!takes(&driver, "two", HOUR).await);
    driver.remove("alice", "email").await;
    driver.add("alice", "email").await;
    assert!(takes(&driver, "two", HOUR).await);
}

/// As long as a program may say, that is; and no time at all.
pub async fn it_may_last_for_ever<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    driver.add("alice", "email").await;
    assert!(takes(&driver, "one", Duration::MAX).await);
    assert!(!takes(&driver, "two", Duration::MAX).await);
    assert!(takes(&driver, "one", Duration::ZERO).await);
    assert!(takes(&driver, "two", HOUR).await);
}

/// A holder that died keeps nobody waiting.
pub async fn it_ends_by_itself<T: AgentStoreUnderTest>(store: &T) {
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

/// From then on.
pub async fn taking_it_again_makes_it_last<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    driver.add("alice", "email").await;
    assert!(takes(&driver, "one", T::TICK * 2).await);
    assert!(takes(&driver, "one", T::TICK * 40).await);
    store.pass(T::TICK * 4).await;
    assert!(!takes(&driver, "two", HOUR).await);
}
