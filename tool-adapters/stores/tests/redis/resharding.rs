//! Slots of a cluster that move from one node to another under load.

use crate::server;
use redis::{Cmd, FromRedisValue};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use tokio::task::JoinSet;
use tool_adapters::stores::RedisStore;
use tool_core::Mode;
use tool_core::testing::store::driver::{TestCall, open, opening};

fn cluster_command(words: &[&str]) -> Cmd {
    let mut command = redis::cmd("CLUSTER");
    command.arg(words);
    command
}

/// A node of a cluster.
struct Node {
    url: String,
    id: String,
}

impl Node {
    async fn all(cluster: &str) -> Vec<Self> {
        let mut nodes = Vec::new();
        for url in server::nodes(cluster) {
            let id = server::run(&url, &cluster_command(&["MYID"])).await;
            nodes.push(Self { url, id });
        }
        nodes
    }

    async fn cluster<T: FromRedisValue>(&self, words: &[&str]) -> T {
        server::run(&self.url, &cluster_command(words)).await
    }

    fn address(&self) -> &str {
        self.url.trim_start_matches("redis://")
    }
}

/// A slot that is on its way from a node to another one, with all its keys at the other one.
struct MovingSlot {
    slot: String,
    nodes: Vec<Node>,
    to: usize,
}

impl MovingSlot {
    async fn of_key(cluster: &str, key: &str) -> Self {
        let nodes = Node::all(cluster).await;
        let slot: u16 = nodes[0].cluster(&["KEYSLOT", key]).await;
        let slot = slot.to_string();

        let mut from = None;
        for (number, node) in nodes.iter().enumerate() {
            let keys: Vec<String> = node.cluster(&["GETKEYSINSLOT", &slot, "1000"]).await;
            if !keys.is_empty() {
                from = Some((number, keys));
            }
        }
        let (from, keys) = from.expect("a node has the keys");
        let to = (from + 1) % nodes.len();

        let importing = ["SETSLOT", &slot, "IMPORTING", &nodes[from].id];
        nodes[to].cluster::<()>(&importing).await;
        let migrating = ["SETSLOT", &slot, "MIGRATING", &nodes[to].id];
        nodes[from].cluster::<()>(&migrating).await;

        let (host, port) = nodes[to].address().split_once(':').expect("a port");
        let mut migrate = redis::cmd("MIGRATE");
        migrate.arg(host).arg(port).arg("").arg(0).arg(5_000);
        migrate.arg("KEYS").arg(keys);
        server::run::<()>(&nodes[from].url, &migrate).await;
        Self { slot, nodes, to }
    }

    async fn arrive(&self) {
        let owner = ["SETSLOT", &self.slot, "NODE", &self.nodes[self.to].id];
        for node in &self.nodes {
            node.cluster::<()>(&owner).await;
        }
    }
}

/// As after a move that was interrupted, until somebody ends it.
#[tokio::test]
async fn a_slot_that_stays_on_its_way_gives_an_error_and_counts_nothing() {
    let Some(cluster) = server::or_skip(server::own_cluster(0)) else {
        return;
    };
    let store = RedisStore::builder(&cluster.url).connect().await;
    let store = store.expect("it connects");
    let call = TestCall::within(|limits| limits.max_calls = Some(3));
    let session = open(&store, &opening("moved", Mode::Text)).await;
    let session = session.expect("the session opens");
    assert_eq!(session.pass(1, &call).await, 1);

    let moving = MovingSlot::of_key(&cluster.url, "tools{session:moved}:session").await;
    let error = session.try_admit(&call).await.expect_err("no node has it");
    assert!(error.to_string().contains("ASK"), "{error}");

    moving.arrive().await;
    assert_eq!(session.pass(3, &call).await, 2, "two calls were left");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_fails_while_slots_move() {
    let Some(cluster) = server::or_skip(server::own_cluster(0)) else {
        return;
    };
    let store = RedisStore::builder(&cluster.url).connect().await;
    let store = store.expect("it connects");
    let is_over = Arc::new(AtomicBool::new(false));
    let mut callers = JoinSet::new();
    for number in 0..30 {
        let session = open(&store, &opening(&format!("s{number}"), Mode::Text)).await;
        let session = session.expect("the session opens");
        let is_over = Arc::clone(&is_over);
        callers.spawn(async move {
            let call = TestCall::within(|limits| limits.max_calls = Some(u32::MAX));
            let mut calls = 0_u32;
            while !is_over.load(Ordering::SeqCst) {
                session.try_admit(&call).await.expect("the store admits");
                calls += 1;
            }
            calls
        });
    }

    let nodes = Node::all(&cluster.url).await;
    let began = Instant::now();
    for (from, to) in [(0, 1), (1, 2)] {
        let reshard = || {
            Command::new("redis-cli")
                .args(["--cluster", "reshard", nodes[0].address()])
                .args(["--cluster-from", &nodes[from].id])
                .args(["--cluster-to", &nodes[to].id])
                .args(["--cluster-slots", "2000", "--cluster-yes"])
                .output()
        };
        let reshard = tokio::task::block_in_place(reshard).expect("redis-cli runs");
        let errors = String::from_utf8_lossy(&reshard.stderr);
        assert!(reshard.status.success(), "{errors}");
    }
    is_over.store(true, Ordering::SeqCst);

    let calls = callers.join_all().await;
    let calls: u32 = calls.iter().sum();
    println!("4,000 slots moved in {:?}, {calls} calls", began.elapsed());
    assert!(calls > 100, "{calls}");
}
