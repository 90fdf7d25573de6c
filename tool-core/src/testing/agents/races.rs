//! Tests that concurrent writers and readers lose nothing and see no half of a change.

use crate::agents::{AgentStoreError, RecordWrite};
use crate::testing::agents::driver::{AgentStoreUnderTest, Driver, sealed};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::task::JoinSet;

const RACERS: u64 = 8;

/// Runs racers at the same time, each with its own handle. Returns their outcomes.
async fn race<R: Send + 'static, F: Future<Output = R> + Send + 'static>(
    store: &impl AgentStoreUnderTest,
    runs: impl Fn(Driver, u64) -> F,
) -> Vec<R> {
    let mut racers = JoinSet::new();
    for racer in 0..RACERS {
        racers.spawn(runs(Driver::of(store).await, racer));
    }
    racers.join_all().await
}

/// Adds one to a counter a number of times.
async fn count(driver: Driver, tool: String, times: u64) {
    for _ in 0..times {
        loop {
            let mut write = RecordWrite::of(&driver.get("alice", &tool).await);
            write.config = json!({ "count": write.config["count"].as_u64().unwrap_or(0) + 1 });
            match driver.0.write(&write).await {
                Ok(_) => break,
                Err(AgentStoreError::Conflict { .. }) => tokio::task::yield_now().await,
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// The final count is the number of successful writes.
pub async fn of_racing_writers_one_wins_each_version<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    driver.add("alice", "email").await;
    race(store, |driver, _| count(driver, "email".into(), 10)).await;
    assert_eq!(
        driver.get("alice", "email").await.config["count"],
        RACERS * 10
    );
    assert_eq!(driver.version("alice").await, RACERS * 10 + 1);
}

/// Each write of another record gets its own version of the agent.
pub async fn racing_writers_of_different_records_all_succeed<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    race(store, |driver, racer| async move {
        let tool = format!("tool-{racer}");
        driver.add("alice", &tool).await;
        let mut record = driver.get("alice", &tool).await;
        for turn in 0..9 {
            record.config = json!({ "turn": turn });
            record.version = driver.write(&RecordWrite::of(&record)).await;
        }
    })
    .await;
    let loaded = driver.load("alice").await;
    assert_eq!(
        (loaded.version, loaded.tools.len() as u64),
        (RACERS * 10, RACERS)
    );
    assert!(loaded.tools.iter().all(|record| record.config["turn"] == 8));
}

/// The other writers get a conflict.
pub async fn of_racing_insertions_one_succeeds<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    for round in 1..=10_u64 {
        let tool = format!("tool-{round}");
        let done = race(store, |driver, racer| {
            let write = RecordWrite::new("alice", &*tool, json!({ "by": racer }));
            async move { driver.0.write(&write).await }
        })
        .await;
        let lost = Err(AgentStoreError::Conflict { found: Some(round) });
        assert_eq!(
            done.iter().filter(|done| **done == Ok(round)).count(),
            1,
            "{done:?}"
        );
        assert!(
            done.iter().all(|done| *done == Ok(round) || *done == lost),
            "{done:?}"
        );
        assert_eq!(driver.version("alice").await, round);
    }
}

/// The others find no record.
pub async fn of_racing_removals_one_succeeds<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    let version = driver.add("alice", "email").await;
    let done = race(store, move |driver, _| async move {
        driver.0.remove("alice", "email", version).await
    })
    .await;
    assert_eq!(
        done.iter().filter(|done| done.is_ok()).count(),
        1,
        "{done:?}"
    );
    assert_eq!(driver.version("alice").await, version + 1);
}

/// Of two processes that refreshed a token, one stores it.
pub async fn of_racing_replacements_of_secrets_one_succeeds<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    driver.add_sealed("alice", "email", &sealed(99)).await;
    let done = race(store, |driver, racer| async move {
        let to = sealed(u32::try_from(racer).unwrap_or_default());
        driver
            .replaces("alice", "email", &sealed(99), &to)
            .await
            .then_some(to)
    })
    .await;
    let won: Vec<_> = done.into_iter().flatten().collect();
    assert_eq!(won.len(), 1);
    assert_eq!(
        driver.get("alice", "email").await.secrets.as_ref(),
        won.first()
    );
}

/// One holder gets the lease while others write the record.
pub async fn of_racing_holders_one_gets_the_lease<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    driver.add("alice", "email").await;
    let done = race(store, |driver, racer| async move {
        let holder = format!("holder-{racer}");
        let taken = driver
            .0
            .lease("alice", "email", &holder, Duration::from_secs(3_600))
            .await
            .expect("the store leases");
        count(driver, "email".into(), 1).await;
        u64::from(taken)
    })
    .await;
    assert_eq!(done.iter().sum::<u64>(), 1);
}

/// A load beside writers returns a state that existed: two counters, and the versions that belong
/// to them.
pub async fn load_is_of_one_moment<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    for tool in ["one", "two"] {
        driver
            .write(&RecordWrite::new(
                "alice",
                tool,
                json!({ "count": 0, "again": 0 }),
            ))
            .await;
    }
    let done = Arc::new(AtomicBool::new(false));
    let mut readers = JoinSet::new();
    for _ in 0..2 {
        let driver = Driver::of(store).await;
        let done = Arc::clone(&done);
        readers.spawn(async move {
            while !done.load(Ordering::Relaxed) {
                let loaded = driver.load("alice").await;
                let counts: Vec<u64> = loaded
                    .tools
                    .iter()
                    .filter_map(|record| record.config["count"].as_u64())
                    .collect();
                assert!(
                    matches!(&*counts, [one, two] if one == two || *one == two + 1),
                    "{counts:?}"
                );
                assert_eq!(loaded.version, 2 + counts.iter().sum::<u64>());
                assert_eq!(
                    loaded.version,
                    loaded
                        .tools
                        .iter()
                        .map(|record| record.version)
                        .max()
                        .unwrap_or(0)
                );
                assert!(
                    loaded
                        .tools
                        .iter()
                        .all(|record| record.config["count"] == record.config["again"])
                );
                tokio::task::yield_now().await;
            }
        });
    }
    for count in 1..=100 {
        for tool in ["one", "two"] {
            driver
                .set("alice", tool, json!({ "count": count, "again": count }))
                .await;
        }
    }
    done.store(true, Ordering::Relaxed);
    readers.join_all().await;
}
