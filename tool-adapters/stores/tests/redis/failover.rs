//! Primaries that die under load. The figures are printed: `cargo test --test redis failover --
//! --nocapture`.

use crate::server;
use std::fmt;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tool_adapters::stores::RedisStore;
use tool_core::Mode;
use tool_core::session::Verdict;
use tool_core::testing::store::driver::{TestCall, TestSession, open, opening};

/// The calls that each session may make.
const LIMIT: u32 = 1_000;
/// The replicas of each primary. When one has taken over, the other confirms changes.
const REPLICAS: u8 = 2;
const SESSIONS: usize = 4;
const RACERS_EACH: usize = 8;
/// The time in which a store works again, however busy the machine is: an election that comes too late is held again. The time
/// that it takes is printed, and measured on an idle machine.
const BACK_IN: Duration = Duration::from_secs(60);

/// What a failover did.
struct Failover {
    /// The calls a second before the primary died.
    calls_a_second: f64,
    /// From the death of the primary to the next call that was admitted.
    back_after: Duration,
    /// The calls that were admitted before the end, and those of them that the limits do not allow:
    /// the store has forgotten so many.
    admitted: u32,
    too_many: u32,
    /// The calls that got an error.
    failed: u32,
}

impl fmt::Display for Failover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.0} calls a second before, back after {:.2} s, {} admitted, {} more than allowed, {} failed",
            self.calls_a_second,
            self.back_after.as_secs_f64(),
            self.admitted,
            self.too_many,
            self.failed
        )
    }
}

/// A primary of a cluster, and the replicas that it has.
struct Primary {
    url: String,
    replicas: Vec<String>,
    slots: std::ops::RangeInclusive<u16>,
}

/// Returns the primaries that have all their replicas, as a node names them.
async fn primaries(cluster: &str) -> Vec<Primary> {
    let mut query = redis::cmd("CLUSTER");
    query.arg("NODES");
    for node in server::nodes(cluster) {
        // A node may be dead.
        if let Ok(text) = server::try_run::<String>(&node, &query).await {
            return read_nodes(&text);
        }
    }
    panic!("no node answers")
}

/// Reads the answer to `CLUSTER NODES`.
fn read_nodes(text: &str) -> Vec<Primary> {
    let lines: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split_whitespace().collect())
        .filter(|fields: &Vec<&str>| !fields[2].contains("fail"))
        .collect();
    let url = |fields: &[&str]| {
        let (address, _) = fields[1].split_once('@').expect("an address");
        format!("redis://{address}")
    };
    let mut primaries = Vec::new();
    for fields in lines.iter().filter(|fields| fields.len() > 8) {
        let replicas = lines.iter().filter(|other| other[3] == fields[0]);
        let replicas: Vec<String> = replicas.map(|other| url(other)).collect();
        let (first, last) = fields[8].split_once('-').expect("slots");
        if replicas.len() == usize::from(REPLICAS) {
            primaries.push(Primary {
                url: url(fields),
                replicas,
                slots: first.parse().expect("a slot")..=last.parse().expect("a slot"),
            });
        }
    }
    primaries
}

/// Returns the process of a server.
async fn process_of(url: &str) -> String {
    let mut query = redis::cmd("INFO");
    query.arg("server");
    let info: String = server::run(url, &query).await;
    let id = info
        .lines()
        .find_map(|line| line.strip_prefix("process_id:"));
    id.expect("its process").to_owned()
}

/// Kills a process, stops it, or lets it go on.
fn signal(process: &str, signal: &str) {
    let sent = Command::new("kill").args([signal, process]).status();
    assert!(sent.expect("kill runs").success());
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

/// Stops the replicas of a primary and breaks their connections, so that changes are at the primary
/// only. Kills the primary after a while, and lets its replicas go on. Returns the time of its
/// death.
async fn kill_with_changes(primary: &Primary) -> Instant {
    let process = process_of(&primary.url).await;
    let mut replicas = Vec::new();
    for replica in &primary.replicas {
        replicas.push(process_of(replica).await);
    }
    for replica in &replicas {
        signal(replica, "-STOP");
    }
    let mut cut = redis::cmd("CLIENT");
    cut.arg("KILL").arg("TYPE").arg("REPLICA");
    let _: u64 = server::run(&primary.url, &cut).await;
    sleep(Duration::from_millis(100)).await;
    signal(&process, "-KILL");
    let died = Instant::now();
    for replica in &replicas {
        signal(replica, "-CONT");
    }
    died
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
        let each = admitted.iter().map(|one| one.load(Ordering::SeqCst));
        each.sum::<u32>()
    };
    let allowed = LIMIT * u32::try_from(SESSIONS).expect("few");
    let begin = Instant::now();
    while total() < allowed / 3 {
        sleep(Duration::from_millis(1)).await;
    }
    let calls_a_second = f64::from(total()) / begin.elapsed().as_secs_f64();
    let died = kill_with_changes(primary).await;
    is_killed.store(true, Ordering::SeqCst);
    racers.join_all().await;

    let back = back.lock().expect("calls are admitted again");
    let too_many = admitted
        .iter()
        .map(|one| one.load(Ordering::SeqCst).saturating_sub(LIMIT));
    Failover {
        calls_a_second,
        back_after: back - died,
        admitted: total(),
        too_many: too_many.sum(),
        failed: failed.load(Ordering::SeqCst),
    }
}

/// One after the other, each at a primary that has its replicas still.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_primary_is_back_and_forgets_nothing_confirmed() {
    let Some(cluster) = server::or_skip(server::own_cluster(REPLICAS)) else {
        return;
    };
    for replicas in [0, 1] {
        let prefix = server::prefix();
        let store = RedisStore::builder(&cluster.url)
            .prefix(&prefix)
            .replicas(replicas, Duration::from_millis(20))
            .connect()
            .await
            .expect("the cluster answers");
        let primaries = primaries(&cluster.url).await;
        let primary = primaries.first().expect("a primary with its replicas");
        let failover = fail_over(store, &prefix, primary).await;
        println!("a primary was killed, and {replicas} replicas confirm changes: {failover}");
        assert!(failover.back_after < BACK_IN, "{failover}");
        if replicas > 0 {
            assert_eq!(failover.too_many, 0, "{failover}");
        }
    }

    let prefix = server::prefix();
    let store = RedisStore::connect(&cluster.url).await;
    let store = store.expect("the cluster answers").prefix(&prefix);
    let primaries = primaries(&cluster.url).await;
    hung_primary_is_replaced(store, &prefix, primaries.first().expect("a primary")).await;
}

/// A primary that hangs ends no connection. Callers give up after a second, as a runtime does.
async fn hung_primary_is_replaced(store: RedisStore, prefix: &str, primary: &Primary) {
    let session = sessions_at(&store, prefix, primary).await.remove(0);
    let process = process_of(&primary.url).await;
    signal(&process, "-STOP");
    let hung = Instant::now();
    let mut is_back = false;
    while !is_back && hung.elapsed() < BACK_IN {
        let call = TestCall::default();
        let answer = timeout(Duration::from_secs(1), session.try_admit(&call)).await;
        is_back = matches!(answer, Ok(Ok(Verdict::Admitted { .. })));
    }
    let back_after = hung.elapsed();
    signal(&process, "-CONT");
    println!("a primary hung: back after {back_after:?}");
    assert!(is_back, "{back_after:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sentinels_name_another_primary_when_one_dies() {
    let Some(servers) = server::or_skip(server::own_sentinels()) else {
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
    let process = process_of(&format!("redis://{}", primary.join(":"))).await;
    signal(&process, "-KILL");
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
    // The store that was connected before finds it too, once it has seen that the old one is gone.
    _ = session.try_refresh().await;
    let error = session.try_admit(&call).await.expect_err("no replica");
    assert!(error.to_string().contains("0 of 1 replicas"), "{error}");
}
