//! Writers and readers that check one another: what they write belongs together, and adds up.

use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tool_core::agents::{
    AgentRecords, AgentStoreError, AgentTools, DynAgentToolStore, RecordWrite, SealedSecrets, SecretsWrite,
};

pub(crate) const AGENTS: [&str; 3] = ["alice", "bob", "carol"];
pub(crate) const TOOLS: [&str; 4] = ["calendar", "drive", "email", "search"];

/// What was done, by one writer or reader or by all.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// For each agent: writes, removals, and what the removed records had counted.
    pub(crate) agents: [[u64; 3]; 3],
    pub(crate) conflicts: u64,
    pub(crate) resealed: u64,
    pub(crate) loads: u64,
    /// In microseconds.
    pub(crate) writing: Vec<u64>,
    pub(crate) loading: Vec<u64>,
}

impl Tally {
    pub(crate) fn add(&mut self, other: Self) {
        for (mine, its) in self.agents.iter_mut().flatten().zip(other.agents.into_iter().flatten()) {
            *mine += its;
        }
        self.conflicts += other.conflicts;
        self.resealed += other.resealed;
        self.loads += other.loads;
        self.writing.extend(other.writing);
        self.loading.extend(other.loading);
    }

    /// For another process.
    pub(crate) fn to_json(&self) -> Value {
        json!([self.agents, self.conflicts, self.resealed, self.loads, self.writing, self.loading])
    }

    pub(crate) fn from_json(text: &str) -> Self {
        let (agents, conflicts, resealed, loads, writing, loading) = serde_json::from_str(text).expect("a tally");
        Self { agents, conflicts, resealed, loads, writing, loading }
    }

    pub(crate) fn writes(&self) -> u64 {
        self.agents.iter().map(|[writes, removals, _]| writes + removals).sum()
    }
}

/// Numbers that look like chance, and are the same each time.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn pick<const N: usize>(&mut self, all: [&'static str; N]) -> (usize, &'static str) {
        let number = usize::try_from(self.throw(N as u64)).unwrap_or_default();
        (number, all[number])
    }
}

/// A record that says the same number in each of its columns.
fn saying(mut write: RecordWrite, count: u64) -> RecordWrite {
    write.config =
        json!({ "count": count, "again": count, "text": "x".repeat(usize::try_from(count % 700).unwrap_or(0)) });
    write.disabled_actions = [format!("action-{count}")].into();
    write.enabled = count.is_multiple_of(2);
    write.secrets = SecretsWrite::Set(SealedSecrets::new("key", format!("{count}:0")));
    write
}

/// The number that each column of a record says.
pub(crate) fn said(record: &AgentTools) -> u64 {
    let count = record.config["count"].as_u64().expect("a count");
    assert_eq!(record.config["again"], count, "torn: {record:?}");
    assert_eq!(record.config["text"].as_str().map(str::len), usize::try_from(count % 700).ok(), "torn: {record:?}");
    assert_eq!(record.disabled_actions, [format!("action-{count}")].into(), "torn: {record:?}");
    assert_eq!(record.enabled, count.is_multiple_of(2), "torn: {record:?}");
    let sealed = record.secrets.as_ref().expect("secrets");
    let said = std::str::from_utf8(sealed.bytes()).expect("text").split(':').next().expect("a count");
    assert_eq!(said, count.to_string(), "torn: {record:?}");
    count
}

/// Counts records up, removes some, seals some anew, until told to stop.
pub(crate) async fn writer(store: Arc<dyn DynAgentToolStore>, seed: u64, stop: Arc<AtomicBool>) -> Tally {
    let (mut tally, mut dice) = (Tally::default(), Dice(seed));
    while !stop.load(Ordering::Relaxed) {
        // A store in memory is always ready, and nobody else would come to run.
        tokio::task::yield_now().await;
        let ((number, agent), (_, tool)) = (dice.pick(AGENTS), dice.pick(TOOLS));
        let [writes, removals, removed] = &mut tally.agents[number];
        let record = store.get(agent, tool).await.expect("the store reads");
        let began = Instant::now();
        let done = match &record {
            None => store.write(&saying(RecordWrite::new(agent, tool, json!({})), 1)).await,
            Some(record) if dice.throw(12) == 0 => store.remove(agent, tool, record.version).await.map(|()| 0),
            Some(record) if dice.throw(6) == 0 => {
                let from = record.secrets.as_ref().expect("secrets");
                let to = SealedSecrets::new("key", format!("{}:{}", said(record), dice.throw(u64::MAX)));
                tally.resealed += u64::from(store.replace_secrets(agent, tool, from, &to).await.expect("it replaces"));
                continue;
            }
            Some(record) => store.write(&saying(RecordWrite::of(record), said(record) + 1)).await,
        };
        tally.writing.push(micros(began));
        match done {
            Ok(0) => {
                *removals += 1;
                *removed += record.as_ref().map_or(0, said);
            }
            Ok(version) => {
                *writes += 1;
                let now = store.version(agent).await.expect("the store reads");
                assert!(now >= version, "version {version} was written, and then there was {now}");
            }
            Err(AgentStoreError::Conflict { .. }) => tally.conflicts += 1,
            Err(error) => panic!("{error}"),
        }
    }
    tally
}

fn micros(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX)
}

/// What one version of an agent holds, whoever sealed it last.
fn told(records: &AgentRecords) -> Vec<(String, u64, u64)> {
    records.tools.iter().map(|record| (record.tool.clone(), record.version, said(record))).collect()
}

/// Loads, and checks that what it sees was there, until told to stop.
pub(crate) async fn reader(store: Arc<dyn DynAgentToolStore>, seed: u64, stop: Arc<AtomicBool>) -> Tally {
    let (mut tally, mut dice) = (Tally::default(), Dice(seed));
    let (mut last, mut states) = ([0; 3], HashMap::new());
    while !stop.load(Ordering::Relaxed) {
        // Many that do nothing but read leave no processor to whoever has the file locked.
        tokio::time::sleep(Duration::from_millis(1)).await;
        let (number, agent) = dice.pick(AGENTS);
        let began = Instant::now();
        let loaded = store.load(agent).await.expect("the store loads");
        tally.loading.push(micros(began));
        tally.loads += 1;
        assert_eq!(loaded.unreadable, []);
        assert!(loaded.version >= last[number], "{agent} went back from {} to {}", last[number], loaded.version);
        last[number] = loaded.version;
        let mut versions: Vec<_> = loaded.tools.iter().map(|record| record.version).collect();
        versions.sort_unstable();
        versions.dedup();
        assert!(versions.len() == loaded.tools.len() && versions.last() <= Some(&loaded.version), "{loaded:?}");
        // One version is one state: the same records in the same versions, saying the same.
        let now = told(&loaded);
        let before = states.entry((number, loaded.version)).or_insert_with(|| now.clone());
        assert_eq!(*before, now, "two states of {agent} in version {}", loaded.version);
        if states.len() > 10_000 {
            states.clear();
        }
    }
    tally
}

/// Runs as many writers and readers as there are handles, for a while, in this process.
pub(crate) async fn run(
    writers: Vec<Arc<dyn DynAgentToolStore>>,
    readers: Vec<Arc<dyn DynAgentToolStore>>,
    lasts: Duration,
    seed: u64,
) -> Tally {
    let (stop, mut workers) = (Arc::new(AtomicBool::new(false)), JoinSet::new());
    for (seed, store) in (seed..).zip(writers) {
        workers.spawn(writer(store, seed, Arc::clone(&stop)));
    }
    for (seed, store) in (seed + 1000..).zip(readers) {
        workers.spawn(reader(store, seed, Arc::clone(&stop)));
    }
    tokio::time::sleep(lasts).await;
    stop.store(true, Ordering::Relaxed);
    let mut tally = Tally::default();
    workers.join_all().await.into_iter().for_each(|other| tally.add(other));
    tally
}

/// No update was lost: the agents' versions are the writes and removals, and what the records count is what was counted.
pub(crate) async fn adds_up(store: &dyn DynAgentToolStore, tally: &Tally) {
    for (agent, [writes, removals, removed]) in AGENTS.into_iter().zip(tally.agents) {
        let loaded = store.load(agent).await.expect("the store loads");
        assert_eq!(loaded.version, writes + removals, "{agent}: {writes} writes and {removals} removals");
        let counted: u64 = loaded.tools.iter().map(said).sum();
        assert_eq!(counted + removed, writes, "{agent} counted {counted} and {removed}");
    }
}

/// A line for people.
pub(crate) fn report(name: &str, lasts: Duration, mut tally: Tally) {
    let part = |times: &mut Vec<u64>, of: usize| {
        times.sort_unstable();
        times.get(times.len() * of / 100).copied().unwrap_or(0)
    };
    println!(
        "{name}: {} s; {} writes and removals, {} conflicts, {} sealed anew, {} loads; write p50 {} us, p99 {} us, longest {} us; load p50 {} us, p99 {} us",
        lasts.as_secs(),
        tally.writes(),
        tally.conflicts,
        tally.resealed,
        tally.loads,
        part(&mut tally.writing, 50),
        part(&mut tally.writing, 99),
        tally.writing.last().copied().unwrap_or(0),
        part(&mut tally.loading, 50),
        part(&mut tally.loading, 99),
    );
}
