//! What was loaded, for as long as there is room: an agent a slot.

use super::AgentError;
use super::loaded::LoadedAgent;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// The agents that were loaded and used last.
pub(super) struct Slots(Cache<String, Arc<Slot>>);

/// What is known of one agent.
#[derive(Default)]
pub(super) struct Slot {
    /// Held by the one who loads it.
    pub(super) loading: Arc<tokio::sync::Mutex<()>>,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    loaded: Option<Arc<LoadedAgent>>,
    /// When the store was last asked for the version.
    checked: Option<Instant>,
    /// Loads that have begun.
    begun: u64,
    /// Why the last one failed, where it did.
    failed: Option<AgentError>,
    /// Whether there was no more room for it, so that nothing may be put into it.
    gone: bool,
}

impl Slots {
    /// For so many agents.
    pub(super) fn new(agents: u64) -> Self {
        let cache = Cache::builder()
            .max_capacity(agents)
            // Otherwise an agent that is asked for the first time may be thrown out at once, and is loaded at each call.
            .eviction_policy(EvictionPolicy::lru())
            // Now, and not when the cache gets round to dropping it: toolsets wait for it to be closed.
            .eviction_listener(|_, slot: Arc<Slot>, _| slot.let_go());
        Self(cache.build())
    }

    pub(super) fn find(&self, agent: &str) -> Option<Arc<Slot>> {
        self.0.get(agent)
    }

    /// The slot of an agent, which is made where there is none.
    pub(super) fn slot(&self, agent: &str) -> Arc<Slot> {
        let entry = self.0.entry_by_ref(agent).or_default();
        if entry.is_fresh() {
            // Otherwise those for whom there is no room stay until somebody comes by who has the time.
            self.0.run_pending_tasks();
        }
        entry.into_value()
    }

    /// Lets go of all of them.
    pub(super) fn clear(&self) {
        self.0.iter().for_each(|(_, slot)| slot.let_go());
        self.0.invalidate_all();
        self.0.run_pending_tasks();
    }
}

impl Slot {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn loaded(&self) -> Option<Arc<LoadedAgent>> {
        self.held().loaded.clone()
    }

    /// What is there, if the store was asked no longer ago than this.
    pub(super) fn checked_within(&self, time: Duration) -> Option<Arc<LoadedAgent>> {
        let held = self.held();
        let recent = held.checked.is_some_and(|at| at.elapsed() < time);
        held.loaded.clone().filter(|_| recent)
    }

    /// The store still has the version that is there.
    pub(super) fn checked(&self) {
        self.held().checked = Some(Instant::now());
    }

    /// How many loads have begun: what a later one brings was asked for after this.
    pub(super) fn begun(&self) -> u64 {
        self.held().begun
    }

    /// What a load brought that has begun since.
    pub(super) fn since(&self, begun: u64) -> Option<Result<Arc<LoadedAgent>, AgentError>> {
        let held = self.held();
        if held.begun == begun {
            return None;
        }
        held.failed.clone().map(Err).or_else(|| held.loaded.clone().map(Ok))
    }

    /// A load begins.
    pub(super) fn begin(&self) {
        self.held().begun += 1;
    }

    /// A load has ended.
    pub(super) fn end(&self, outcome: &Result<Arc<LoadedAgent>, AgentError>) {
        let mut held = self.held();
        let before = match outcome {
            Ok(loaded) => {
                (held.failed, held.checked) = (None, Some(Instant::now()));
                if held.gone { None } else { held.loaded.replace(Arc::clone(loaded)) }
            }
            Err(error) => {
                held.failed = Some(error.clone());
                None
            }
        };
        // What goes with it is closed, and nobody should wait for that.
        drop(held);
        drop(before);
    }

    fn let_go(&self) {
        let mut held = self.held();
        held.gone = true;
        let before = held.loaded.take();
        drop(held);
        drop(before);
    }
}
