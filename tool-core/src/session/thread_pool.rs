//! The threads of `blocking` tools.

use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

/// A number of threads for `blocking` tools: those of a runtime, or a session's share of them.
pub(crate) struct ThreadPool {
    size: usize,
    pub(crate) permits: Arc<Semaphore>,
    /// The calls that were abandoned and still run.
    pub(crate) detached: TaskTracker,
}

impl ThreadPool {
    pub(crate) fn new(size: usize) -> Self {
        let size = size.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            size,
            permits: Arc::new(Semaphore::new(size)),
            detached: TaskTracker::new(),
        }
    }

    /// Describes the pool for a call that has waited in vain.
    pub(crate) fn describe(&self, owner: &str) -> String {
        let size = self.size;
        let detached = self.detached.len();
        format!(
            "waiting for a thread: {owner} may run {size} blocking calls at once, and {detached} of those that run were \
             given up and have not ended"
        )
    }
}
