//! The cache of loaded agents.

use crate::agents::error::AgentError;
use crate::agents::loaded::LoadedAgent;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The outcome of loading an agent.
pub(crate) type LoadOutcome = Result<Arc<LoadedAgent>, AgentError>;

/// The agents that were used last.
pub(crate) struct AgentCache(Cache<String, Arc<CacheEntry>>);

/// An agent in the cache.
#[derive(Default)]
pub(crate) struct CacheEntry {
    /// Held while the agent is being loaded.
    pub(crate) loading: Arc<tokio::sync::Mutex<()>>,
    state: Mutex<EntryState>,
}

#[derive(Default)]
struct EntryState {
    loaded: Option<Arc<LoadedAgent>>,
    /// When the store was last asked for the version.
    checked_at: Option<Instant>,
    /// Number of times that the agent was said to have changed.
    rechecks: u64,
    /// Number of loads that have begun.
    loads: u64,
    /// The error of the last load, if it failed.
    failed: Option<AgentError>,
    /// The entry was evicted: a load that ends later must not put toolsets into it.
    is_evicted: bool,
}

impl EntryState {
    fn mark_checked(&mut self, rechecks: u64) {
        if self.rechecks == rechecks {
            self.checked_at = Some(Instant::now());
        }
    }
}

impl AgentCache {
    pub(crate) fn new(max_agents: u64) -> Self {
        let cache = Cache::builder()
            .max_capacity(max_agents)
            // The default policy may reject new agents at once, so that each call would load them
            // again.
            .eviction_policy(EvictionPolicy::lru())
            // The listener runs at once. The entry itself may be dropped much later, and its
            // toolsets wait to be closed.
            .eviction_listener(|_, entry: Arc<CacheEntry>, _| entry.evict());
        Self(cache.build())
    }

    pub(crate) fn get(&self, agent: &str) -> Option<Arc<CacheEntry>> {
        self.0.get(agent)
    }

    pub(crate) fn get_or_insert(&self, agent: &str) -> Arc<CacheEntry> {
        // Unlike moka's `or_default`, this creates one entry for tasks that ask at once.
        #[allow(clippy::unwrap_or_default)]
        let entry = self.0.entry_by_ref(agent).or_insert_with(Arc::default);
        if entry.is_fresh() {
            // Evicts now. By itself the cache evicts at some later operation.
            self.0.run_pending_tasks();
        }
        entry.into_value()
    }

    /// Lets the next load of an agent ask the store, however short ago that was.
    pub(crate) fn recheck(&self, agent: &str) {
        if let Some(entry) = self.0.get(agent) {
            entry.recheck();
        }
    }

    /// Lets the next load of each agent ask the store.
    pub(crate) fn recheck_all(&self) {
        self.0.iter().for_each(|(_, entry)| entry.recheck());
    }

    pub(crate) fn clear(&self) {
        self.0.iter().for_each(|(_, entry)| entry.evict());
        self.0.invalidate_all();
        self.0.run_pending_tasks();
    }
}

impl CacheEntry {
    pub(crate) fn loaded(&self) -> Option<Arc<LoadedAgent>> {
        self.state.lock().loaded.clone()
    }

    /// Returns the loaded agent if the store was asked for its version no longer ago than `age`.
    pub(crate) fn checked_within(&self, age: Duration) -> Option<Arc<LoadedAgent>> {
        let state = self.state.lock();
        let is_recent = state.checked_at.is_some_and(|at| at.elapsed() < age);
        state.loaded.clone().filter(|_| is_recent)
    }

    /// Notes that the store has the version that is loaded, unless the agent has changed since it
    /// was asked: since [`rechecks`](Self::rechecks) was the number that is given.
    pub(crate) fn mark_checked(&self, rechecks: u64) {
        self.state.lock().mark_checked(rechecks);
    }

    /// Returns the number of times that the agent was said to have changed.
    pub(crate) fn rechecks(&self) -> u64 {
        self.state.lock().rechecks
    }

    fn recheck(&self) {
        let mut state = self.state.lock();
        state.rechecks += 1;
        state.checked_at = None;
    }

    /// Returns the number of loads that have begun.
    pub(crate) fn loads(&self) -> u64 {
        self.state.lock().loads
    }

    /// Returns the outcome of the last load if it began after the first `loads` ones.
    pub(crate) fn outcome_since(&self, loads: u64) -> Option<LoadOutcome> {
        let state = self.state.lock();
        if state.loads == loads {
            return None;
        }
        state
            .failed
            .clone()
            .map(Err)
            .or_else(|| state.loaded.clone().map(Ok))
    }

    pub(crate) fn begin_load(&self) {
        self.state.lock().loads += 1;
    }

    /// Keeps the outcome of a load that has begun after so many rechecks.
    pub(crate) fn end_load(&self, outcome: &LoadOutcome, rechecks: u64) {
        let mut state = self.state.lock();
        state.failed = outcome.as_ref().err().cloned();
        let Ok(loaded) = outcome else { return };
        state.mark_checked(rechecks);
        let before = if state.is_evicted {
            None
        } else {
            state.loaded.replace(Arc::clone(loaded))
        };
        // Dropping the old toolsets closes them, which must not happen under the lock.
        drop(state);
        drop(before);
    }

    fn evict(&self) {
        let mut state = self.state.lock();
        state.is_evicted = true;
        let before = state.loaded.take();
        drop(state);
        drop(before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::ToolContext;

    const HOUR: Duration = Duration::from_secs(3_600);

    fn loaded() -> Arc<LoadedAgent> {
        let base = ToolContext::builder().build().expect("no tools");
        Arc::new(LoadedAgent::assemble(
            &base,
            HOUR,
            &Arc::from("alice"),
            1,
            Vec::new(),
            None,
        ))
    }

    #[test]
    fn a_change_during_a_load_lets_the_next_load_ask() {
        let cache = AgentCache::new(10);
        let entry = cache.get_or_insert("alice");
        entry.begin_load();
        let before = entry.rechecks();
        cache.recheck("alice");
        entry.end_load(&Ok(loaded()), before);
        assert!(entry.checked_within(HOUR).is_none());

        entry.mark_checked(before);
        assert!(entry.checked_within(HOUR).is_none(), "asked before");
        entry.mark_checked(entry.rechecks());
        assert!(entry.checked_within(HOUR).is_some());
    }
}
