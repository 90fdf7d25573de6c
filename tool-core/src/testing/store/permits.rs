//! Tests of permits: the limits that all sessions of a store share.

use crate::session::shared_limits::{RateLimit, SharedLimit};
use crate::session::store::SessionStore;
use crate::session::store::permits::{PermitLimit, PermitRequest, PermitVerdict};
use crate::testing::store::driver::{HOUR, StoreUnderTest};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::task::JoinSet;

/// The calls of each test that race.
const RACERS: u64 = 64;

fn rate(key: &str, calls: u32, per: Duration) -> SharedLimit {
    SharedLimit {
        rate: Some(RateLimit { calls, per }),
        ..SharedLimit::new(key)
    }
}

fn places(key: &str, calls: u32) -> SharedLimit {
    SharedLimit {
        concurrent: Some(calls),
        ..SharedLimit::new(key)
    }
}

async fn ask(
    store: &impl SessionStore,
    limits: &[SharedLimit],
    holder: u64,
    lease: Duration,
) -> PermitVerdict {
    let request = PermitRequest::new(limits, holder.into(), lease);
    let verdict = store.acquire_permit(&request).await;
    verdict.expect("the store decides")
}

async fn passes(store: &impl SessionStore, limits: &[SharedLimit], holder: u64) -> bool {
    ask(store, limits, holder, HOUR).await == PermitVerdict::Granted
}

async fn release(store: &impl SessionStore, limits: &[SharedLimit], holder: u64) {
    let request = PermitRequest::new(limits, holder.into(), HOUR);
    let released = store.release_permit(&request).await;
    released.expect("the store releases");
}

/// Lets calls race over two handles, and returns the number that pass.
async fn race(store: &impl StoreUnderTest, limits: Vec<SharedLimit>) -> u64 {
    let handles = [
        Arc::new(store.handle().await),
        Arc::new(store.handle().await),
    ];
    let limits = Arc::new(limits);
    let passed = Arc::new(AtomicU64::new(0));
    let mut racers = JoinSet::new();
    for (holder, handle) in (0..RACERS).zip(handles.iter().cycle()) {
        let handle = Arc::clone(handle);
        let limits = Arc::clone(&limits);
        let passed = Arc::clone(&passed);
        racers.spawn(async move {
            if passes(&handle, &limits, holder).await {
                passed.fetch_add(1, Ordering::SeqCst);
            }
        });
    }
    racers.join_all().await;
    passed.load(Ordering::SeqCst)
}

/// Exactly as many racing calls pass as a rate allows.
pub async fn racing_calls_pass_up_to_the_rate(store: &impl StoreUnderTest) {
    let limit = rate("tool:search", 20, HOUR * 24);
    assert_eq!(race(store, vec![limit]).await, 20);
}

/// Exactly as many racing calls pass as may run at once.
pub async fn racing_calls_pass_up_to_the_places(store: &impl StoreUnderTest) {
    let limit = places("upstream:github", 7);
    assert_eq!(race(store, vec![limit]).await, 7);
}

/// Of several limits, the tightest decides, also under races.
pub async fn racing_calls_pass_up_to_the_tightest_limit(store: &impl StoreUnderTest) {
    let limits = vec![
        rate("tool:search", 30, HOUR * 24),
        places("upstream:github", 9),
        rate("principal:ada", 50, HOUR * 24),
    ];
    assert_eq!(race(store, limits).await, 9);
}

/// A call that has ended makes room for another one, over all handles.
pub async fn released_place_is_free_again(store: &impl StoreUnderTest) {
    let first = store.handle().await;
    let second = store.handle().await;
    let limits = [places("tool:search", 1)];
    assert!(passes(&first, &limits, 1).await);
    assert!(!passes(&second, &limits, 2).await);
    release(&second, &limits, 2).await;
    assert!(!passes(&second, &limits, 2).await, "it has none to free");
    release(&first, &limits, 1).await;
    assert!(passes(&second, &limits, 2).await);
}

/// A call that asks again has one place.
pub async fn call_that_asks_again_takes_one_place(store: &impl StoreUnderTest) {
    let store = store.handle().await;
    let limits = [places("tool:search", 2)];
    for _ in 0..3 {
        assert!(passes(&store, &limits, 1).await);
    }
    assert!(passes(&store, &limits, 2).await);
    assert!(!passes(&store, &limits, 3).await);
    release(&store, &limits, 1).await;
    assert!(passes(&store, &limits, 3).await);
}

/// A call that one limit refuses is counted by none.
pub async fn refused_call_is_counted_by_no_limit(store: &impl StoreUnderTest) {
    let store = store.handle().await;
    let rated = rate("tool:search", 2, HOUR * 24);
    let both = [rated.clone(), places("principal:ada", 1)];
    assert!(passes(&store, &both, 1).await);
    for holder in 2..20 {
        assert!(!passes(&store, &both, holder).await);
    }
    assert!(passes(&store, std::slice::from_ref(&rated), 20).await);
    assert!(!passes(&store, &[rated], 21).await);
}

/// Limits with other keys count apart, whatever characters the keys have.
pub async fn limits_with_other_keys_count_apart(store: &impl StoreUnderTest) {
    let store = store.handle().await;
    let keys = [
        "tool:a",
        "upstream:a",
        "principal:a",
        "principal:a:rate",
        "principal:",
        "tool:%00",
        "tool:\0",
        "tool:}{",
        "tool:\u{e9}",
    ];
    for (holder, key) in (0..).zip(keys) {
        let limits = [SharedLimit {
            concurrent: Some(1),
            ..rate(key, 1, HOUR)
        }];
        assert!(passes(&store, &limits, holder).await, "{key:?}");
        assert!(!passes(&store, &limits, 100 + holder).await, "{key:?}");
    }
}

/// A refusal names the limit of which the call has to wait longest, and the time.
pub async fn refusal_names_the_longest_wait(store: &impl StoreUnderTest) {
    let store = store.handle().await;
    let limits = [
        places("tool:search", 1),
        rate("upstream:github", 2, HOUR * 48),
        rate("principal:ada", 2, HOUR * 2),
    ];
    assert!(passes(&store, &limits, 1).await);
    let PermitVerdict::Refused(refusal) = ask(&store, &limits, 2, HOUR).await else {
        panic!("the place is taken")
    };
    assert_eq!((refusal.limit, refusal.by), (0, PermitLimit::Concurrent));
    release(&store, &limits, 1).await;
    assert!(passes(&store, &limits, 2).await);

    let PermitVerdict::Refused(refusal) = ask(&store, &limits, 3, HOUR).await else {
        panic!("the rates are used up")
    };
    assert_eq!((refusal.limit, refusal.by), (1, PermitLimit::Rate));
    let wait = HOUR * 24;
    assert!(
        refusal.retry_after <= wait && refusal.retry_after > HOUR * 23,
        "{:?}",
        refusal.retry_after
    );
}

/// The place of a call that was killed is free after its lease.
pub async fn place_is_free_after_its_lease<T: StoreUnderTest>(store: &T) {
    let handle = store.handle().await;
    let limits = [places("tool:search", 1)];
    let lease = T::TICK * 4;
    assert_eq!(
        ask(&handle, &limits, 1, lease).await,
        PermitVerdict::Granted
    );
    assert!(!passes(&handle, &limits, 2).await);
    store.pass(T::TICK * 6).await;
    assert!(passes(&handle, &limits, 2).await);
}

/// A call that keeps its place has it for another lease.
pub async fn kept_place_outlives_its_first_lease<T: StoreUnderTest>(store: &T) {
    let handle = store.handle().await;
    let limits = [places("tool:search", 1)];
    let lease = T::TICK * 8;
    assert_eq!(
        ask(&handle, &limits, 1, lease).await,
        PermitVerdict::Granted
    );
    for _ in 0..4 {
        store.pass(T::TICK * 3).await;
        let request = PermitRequest::new(&limits, 1, lease);
        let extended = handle.extend_permit(&request).await;
        extended.expect("the store extends");
        assert!(!passes(&handle, &limits, 2).await);
    }
    store.pass(T::TICK * 10).await;
    assert!(passes(&handle, &limits, 2).await);
}

/// A rate admits a call again after the time that the refusal has named.
pub async fn rate_admits_again_after_its_time<T: StoreUnderTest>(store: &T) {
    let handle = store.handle().await;
    let limits = [rate("tool:search", 2, T::TICK * 16)];
    for round in 0..3 {
        let first = if round == 0 { 2 } else { 1 };
        for _ in 0..first {
            assert!(passes(&handle, &limits, 1).await, "{round}");
        }
        let PermitVerdict::Refused(refusal) = ask(&handle, &limits, 1, HOUR).await else {
            panic!("the rate is used up")
        };
        assert!(refusal.retry_after <= T::TICK * 8, "{refusal:?}");
        store.pass(refusal.retry_after + T::TICK).await;
    }
}
