//! Writers and readers that check each other: the parts of a record belong together, and the counts add up.

use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tool_core::agents::{
    AgentRecords, AgentStoreError, AgentTools, DynAgentToolStore, RecordWrite, SealedSecrets,
    SecretsWrite,
};

pub(crate) const AGENTS: [&str; 3] = ["alice", "bob", "carol"];
pub(crate) const TOOLS: [&str; 4] = ["calendar", "drive", "email", "search"];

/// The work of one writer or reader, or of all.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// For each agent: writes, removals, and the sum of the removed records' counts.
    pub(crate) agents: [[u64; 3]; 3],
    pub(crate) conflicts: u64,
    pub(crate) resealed: u64,
    pub(crate) loads: u64,
    /// Times in microseconds.
    pub(crate) writing: Vec<u64>,
    pub(crate) loading: Vec<u64>,
}

impl Tally {
    pub(crate) fn add(&mut self, other: Self) {
        for (mine, its) in self
            .agents
            .iter_mut()
            .flatten()
            .zip(other.agents.into_iter().flatten())
        {
            *mine += its;
        }
        self.conflicts += other.conflicts;
        self.resealed += other.resealed;
        self.loads += other.loads;
        self.writing.extend(other.writing);
        self.loading.extend(other.loading);
    }

    /// Encodes the tally for another process.
    pub(crate) fn to_json(&self) -> Value {
        json!([
            self.agents,
            self.conflicts,
            self.resealed,
            self.loads,
            self.writing,
            self.loading
        ])
    }

    pub(crate) fn from_json(text: &str) -> Self {
        let (agents, conflicts, resealed, loads, writing, loading) =
            serde_json::from_str(text).expect("a tally");
        Self {
            agents,
            conflicts,
            resealed,
            loads,
            writing,
            loading,
        }
    }

    pub(crate) fn writes(&self) -> u64 {
        self.agents
            .iter()
            .map(|[writes, removals, _]| writes + removals)
            .sum()
    }
}

/// Pseudo-random numbers, which are the same in each run.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn pick<const N: usize>(&mut self, all: [&'static str; N]) -> (usize, &'static str) {
        let number = usize::try_from(self.throw(N as u64)).unwrap_or_default();
        (number, all[number])
    }
}

/// Puts the same number into each column of a record.
fn with_count(mut write: RecordWrite, count: u64) -> RecordWrite {
    write.config = json!({ "count": count, "again": count, "text": "x".repeat(usize::try_from(count % 700).unwrap_or(0)) });
    write.disabled_actions = [format!("action-{count}")].into();
    write.enabled = count.is_multiple_of(2);
    write.secrets = SecretsWrite::Set(SealedSecrets::new("key", format!("{count}:0")));
    write
}

/// Returns the number that each column of a record has.
pub(crate) fn count_of(record: &AgentTools) -> u64 {
    let count = record.config["count"].as_u64().expect("a count");
    assert_eq!(record.config["again"], count, "torn: {record:?}");
    assert_eq!(
        record.config["text"].as_str().map(str::len),
        usize::try_from(count % 700).ok(),
        "torn: {record:?}"
    );
    assert_eq!(
        record.disabled_actions,
        [format!("action-{count}")].into(),
        "torn: {record:?}"
    );
    assert_eq!(record.enabled, count.is_multiple_of(2), "torn: {record:?}");
    let sealed = record.secrets.as_ref().expect("secrets");
    let sealed_count = std::str::from_utf8(sealed.bytes())
        .expect("text")
        .split(':')
        .next()
        .expect("a count");
    assert_eq!(sealed_count, count.to_string(), "torn: {record:?}");
    count
}

/// Counts records up, removes some and reseals some, until `stop` is set.
pub(crate) async fn writer(
    store: Arc<dyn DynAgentToolStore>,
    seed: u64,
    stop: Arc<AtomicBool>,
) -> Tally {
    let (mut tally, mut dice) = (Tally::default(), Dice(seed));
    while !stop.load(Ordering::Relaxed) {
        // A store in memory is always ready, so that no other task would run.
        tokio::task::yield_now().await;
        let ((number, agent), (_, tool)) = (dice.pick(AGENTS), dice.pick(TOOLS));
        let [writes, removals, removed] = &mut tally.agents[number];
        let record = store.get(agent, tool).await.expect("the store reads");
        let began = Instant::now();
        let done = match &record {
            None => {
                store
                    .write(&with_count(RecordWrite::new(agent, tool, json!({})), 1))
                    .await
            }
            Some(record) if dice.throw(12) == 0 => {
                store.remove(agent, tool, record.version).await.map(|()| 0)
            }
            Some(record) if dice.throw(6) == 0 => {
                let from = record.secrets.as_ref().expect("secrets");
                let to = SealedSecrets::new(
                    "key",
                    format!("{}:{}", count_of(record), dice.throw(u64::MAX)),
                );
                tally.resealed += u64::from(
                    store
                        .replace_secrets(agent, tool, from, &to)
                        .await
                        .expect("it replaces"),
                );
                continue;
            }
            Some(record) => {
                store
                    .write(&with_count(RecordWrite::of(record), count_of(record) + 1))
                    .await
            }
        };
        tally.writing.push(micros(began));
        match done {
            Ok(0) => {
                *removals += 1;
                *removed += record.as_ref().map_or(0, count_of);
            }
            Ok(version) => {
                *writes += 1;
                let now = store.version(agent).await.expect("the store reads");
                assert!(
                    now >= version,
                    "version {version} was written, and then there was {now}"
                );
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

/// Returns the contents of one version of an agent, without the seals.
fn contents(records: &AgentRecords) -> Vec<(String, u64, u64)> {
    records
        .tools
        .iter()
        .map(|record| (record.tool.clone(), record.version, count_of(record)))
        .collect()
}

/// Loads agents, and checks that the states existed, until `stop` is set.
pub(crate) async fn reader(
    store: Arc<dyn DynAgentToolStore>,
    seed: u64,
    stop: Arc<AtomicBool>,
) -> Tally {
    let (mut tally, mut dice) = (Tally::default(), Dice(seed));
    let (mut last, mut states) = ([0; 3], HashMap::new());
    while !stop.load(Ordering::Relaxed) {
        // Readers without a pause leave no processor to the process that has the file locked.
        tokio::time::sleep(Duration::from_millis(1)).await;
        let (number, agent) = dice.pick(AGENTS);
        let began = Instant::now();
        let loaded = store.load(agent).await.expect("the store loads");
        tally.loading.push(micros(began));
        tally.loads += 1;
        assert_eq!(loaded.unreadable, []);
        assert!(
            loaded.version >= last[number],
            "{agent} went back from {} to {}",
            last[number],
            loaded.version
        );
        last[number] = loaded.version;
        let mut versions: Vec<_> = loaded.tools.iter().map(|record| record.version).collect();
        versions.sort_unstable();
        versions.dedup();
        assert!(
            versions.len() == loaded.tools.len() && versions.last() <= Some(&loaded.version),
            "{loaded:?}"
        );
        // One version is one state: the same records in the same versions with the same counts.
        let now = contents(&loaded);
        let before = states
            .entry((number, loaded.version))
            .or_insert_with(|| now.clone());
        assert_eq!(
            *before, now,
            "two states of {agent} in version {}",
            loaded.version
        );
        if states.len() > 10_000 {
            states.clear();
        }
    }
    tally
}

/// Runs a writer or reader for each handle, for a while, in this process.
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
    workers
        .join_all()
        .await
        .into_iter()
        .for_each(|other| tally.add(other));
    tally
}

/// Asserts that no update was lost: an agent's version is the number of its writes and removals, and its counts are those
/// of the writers.
pub(crate) async fn adds_up(store: &dyn DynAgentToolStore, tally: &Tally) {
    for (agent, [writes, removals, removed]) in AGENTS.into_iter().zip(tally.agents) {
        let loaded = store.load(agent).await.expect("the store loads");
        assert_eq!(
            loaded.version,
            writes + removals,
            "{agent}: {writes} writes and {removals} removals"
        );
        let counted: u64 = loaded.tools.iter().map(count_of).sum();
        assert_eq!(
            counted + removed,
            writes,
            "{agent} counted {counted} and {removed}"
        );
    }
}

/// Prints the tally in one line.
pub(crate) fn report(name: &str, lasts: Duration, mut tally: Tally) {
    let part = |times: &mut Vec<u64>, of: usize| {
        times.sort_unstable();
        times.get(times.len() * of / 100).copied().unwrap_or(0)
    };
    println!(
        "{name}: {} s; {} writes and removals, {} conflicts, {} resealed, {} loads; write p50 {} us, p99 {} us, longest {} us; load p50 {} us, p99 {} us",
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
