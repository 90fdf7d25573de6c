//! Primaries that die under load. The figures are printed: `cargo test --test redis failover -- --nocapture`.

use crate::server::{self, OwnServers};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio::time::sleep;
use tool_adapters::stores::RedisStore;
use tool_core::Mode;
use tool_core::session::Verdict;
use tool_core::testing::store::driver::{TestCall, TestSession, open, opening};

/// The calls that each session may make.
const LIMIT: u32 = 1_500;
const SESSIONS: usize = 4;
const RACERS_EACH: usize = 8;
/// The time in which a store works again.
const BACK_IN: Duration = Duration::from_secs(5);

/// What a failover did.
#[derive(Debug)]
struct Failover {
    /// From the death of the primary to the next call that was admitted.
    back_after: Duration,
    /// The calls that were admitted, of those that the limits allow.
    admitted: u32,
    allowed: u32,
    /// The calls that the store has forgotten: so many more were admitted than the limits allow.
    too_many: u32,
    /// The calls that got an error.
    failed: u32,
}

/// A primary of a cluster.
struct Primary {
    url: String,
    slots: std::ops::RangeInclusive<u16>,
}

/// Returns the primaries that have a replica, as a node names them.
async fn primaries(cluster: &str) -> Vec<Primary> {
    let mut query = redis::cmd("CLUSTER");
    query.arg("NODES");
    for node in server::nodes(cluster) {
        let Ok(text) = server::try_run::<String>(&node, &query).await else {
            continue;
        };
        let lines: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        let mut found = Vec::new();
        for line in &lines {
            let is_healthy = !line[2].contains("fail");
            let has_replica = lines
                .iter()
                .any(|other| other[3] == line[0] && !other[2].contains("fail"));
            if line[2].contains("master") && is_healthy && has_replica {
                let (address, _) = line[1].split_once('@').expect("an address");
                let (first, last) = line[8].split_once('-').expect("slots");
                found.push(Primary {
                    url: format!("redis://{address}"),
                    slots: first.parse().expect("a slot")..=last.parse().expect("a slot"),
                });
            }
        }
        return found;
    }
    panic!("no node answers")
}

/// Kills a server as the system does when its memory ends.
async fn kill(url: &str) {
    let mut query = redis::cmd("INFO");
    query.arg("server");
    let info: String = server::run(url, &query).await;
    let id = info
        .lines()
        .find_map(|line| line.strip_prefix("process_id:"))
        .expect("its process");
    let killed = Command::new("kill").args(["-KILL", id]).status();
    assert!(killed.expect("kill runs").success());
}

/// Opens sessions whose keys are at this primary.
async fn sessions_at(store: &RedisStore, prefix: &str, primary: &Primary) -> Vec<TestSession> {
    let mut sessions = Vec::new();
    for number in 0.. {
        let id = format!("session-{number}");
        let mut query = redis::cmd("CLUSTER");
        query.arg("KEYSLOT");
        query.arg(format!("{prefix}{{session:{id}}}:session"));
        let slot: u16 = server::run(&primary.url, &query).await;
        if primary.slots.contains(&slot) {
            let opened = open(store, &opening(&id, Mode::Text)).await;
            sessions.push(opened.expect("the session opens"));
        }
        if sessions.len() == SESSIONS {
            break;
        }
    }
    sessions
}

/// Breaks the connections between a primary and its replicas until the end, so that changes are at the
/// primary only.
async fn cut_replicas_off(url: String, is_over: Arc<AtomicBool>) {
    let client = redis::Client::open(url.as_str()).expect("a URL");
    let connection = client.get_multiplexed_async_connection().await;
    let mut connection = connection.expect("the server answers");
    let mut cut = redis::cmd("CLIENT");
    cut.arg("KILL").arg("TYPE").arg("REPLICA");
    while !is_over.load(Ordering::SeqCst) && cut.exec_async(&mut connection).await.is_ok() {
        sleep(Duration::from_millis(5)).await;
    }
}

/// Lets calls race in sessions at a primary, which dies, until each session has used its limit.
async fn fail_over(store: RedisStore, prefix: &str, primary: &Primary) -> Failover {
    let sessions = sessions_at(&store, prefix, primary).await;
    let call = TestCall::within(|limits| limits.max_calls = Some(LIMIT));
    let admitted: Vec<Arc<AtomicU32>> = sessions.iter().map(|_| Arc::default()).collect();
    let failed = Arc::new(AtomicU32::new(0));
    let is_killed = Arc::new(AtomicBool::new(false));
    let back = Arc::new(parking_lot::Mutex::new(None));
    let mut racers = JoinSet::new();
    for (session, admitted) in sessions.iter().zip(&admitted) {
        for _ in 0..RACERS_EACH {
            let session = session.clone();
            let call = call.clone();
            let admitted = Arc::clone(admitted);
            let failed = Arc::clone(&failed);
            let is_killed = Arc::clone(&is_killed);
            let back = Arc::clone(&back);
            racers.spawn(async move {
                loop {
                    let begins_late = is_killed.load(Ordering::SeqCst);
                    match session.try_admit(&call).await {
                        Ok(Verdict::Admitted { .. }) => {
                            admitted.fetch_add(1, Ordering::SeqCst);
                            if begins_late {
                                back.lock().get_or_insert_with(Instant::now);
                            }
                        }
                        Ok(_) => break,
                        Err(_) => {
                            failed.fetch_add(1, Ordering::SeqCst);
                            sleep(Duration::from_millis(10)).await;
                        }
                    }
                }
            });
        }
    }

    let total = || {
        admitted
            .iter()
            .map(|one| one.load(Ordering::SeqCst))
            .sum::<u32>()
    };
    let allowed = LIMIT * u32::try_from(SESSIONS).expect("few");
    while total() < allowed / 3 {
        sleep(Duration::from_millis(1)).await;
    }
    let cutter = tokio::spawn(cut_replicas_off(
        primary.url.clone(),
        Arc::clone(&is_killed),
    ));
    sleep(Duration::from_millis(100)).await;
    kill(&primary.url).await;
    is_killed.store(true, Ordering::SeqCst);
    let died = Instant::now();
    racers.join_all().await;
    cutter.await.expect("it ends");

    let back = back.lock().expect("calls are admitted again");
    let too_many = admitted
        .iter()
        .map(|one| one.load(Ordering::SeqCst).saturating_sub(LIMIT));
    Failover {
        back_after: back - died,
        admitted: total(),
        allowed,
        too_many: too_many.sum(),
        failed: failed.load(Ordering::SeqCst),
    }
}

/// One after the other, so that each primary has its replica still.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_primary_is_back_and_forgets_nothing_confirmed() {
    let Some(cluster) = server::or_skip(OwnServers::cluster()) else {
        return;
    };
    for replicas in [0, 1] {
        let prefix = server::prefix();
        let store = RedisStore::builder(&cluster.url)
            .prefix(&prefix)
            .replicas(replicas, Duration::from_millis(100))
            .connect()
            .await
            .expect("the cluster answers");
        let primaries = primaries(&cluster.url).await;
        let primary = primaries.first().expect("a primary with a replica");
        let failover = fail_over(store, &prefix, primary).await;
        println!("a primary was killed, and {replicas} replicas confirm changes: {failover:#?}");
        assert!(failover.back_after < BACK_IN, "{failover:#?}");
        if replicas > 0 {
            assert_eq!(failover.too_many, 0, "{failover:#?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sentinels_name_another_primary_when_one_dies() {
    let Some(servers) = server::or_skip(OwnServers::sentinels()) else {
        return;
    };
    let store = RedisStore::builder(&servers.url)
        .replicas(1, Duration::from_secs(1))
        .connect()
        .await
        .expect("the primary answers");
    let opened = open(&store, &opening("session", Mode::Text)).await;
    let session = opened.expect("the session opens");
    let call = TestCall::within(|limits| limits.max_calls = Some(20));
    assert_eq!(session.pass(10, &call).await, 10);

    let mut query = redis::cmd("SENTINEL");
    query.arg("GET-MASTER-ADDR-BY-NAME").arg("main");
    let sentinel = server::nodes(&servers.url).remove(0);
    let primary: [String; 2] = server::run(&sentinel, &query).await;
    kill(&format!("redis://{}", primary.join(":"))).await;
    let died = Instant::now();

    // The replica that takes over has no replica itself, so that nothing would confirm changes.
    let store = RedisStore::connect(&servers.url);
    let mut found = store.await;
    while found.is_err() {
        assert!(died.elapsed() < Duration::from_secs(30), "{found:?}");
        sleep(Duration::from_millis(20)).await;
        found = RedisStore::connect(&servers.url).await;
    }
    let back_after = died.elapsed();
    println!("a primary was killed, and the sentinels named another: {back_after:?}");
    let store = found.expect("it connects");
    let opened = open(&store, &opening("session", Mode::Text)).await;
    let again = opened.expect("the session is there");
    assert_eq!(again.pass(20, &call).await, 10, "what was counted is known");
    assert!(back_after < BACK_IN, "{back_after:?}");
    // The store that was connected before has found the new primary too.
    let error = session.try_admit(&call).await.expect_err("no replica");
    assert!(error.to_string().contains("0 of 1 replicas"), "{error}");
}
