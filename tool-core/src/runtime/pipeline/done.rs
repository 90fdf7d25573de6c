//! Work that may be given up: whether its end or the end of the waiting for it came first.

use crate::runtime::sync::{Arc, AtomicUsize, Ordering};

/// Whoever waits for work. Dropped before the work is done, it counts the work as detached.
pub(crate) struct Left {
    pub(crate) detached: Arc<AtomicUsize>,
    pub(crate) done: Arc<Done>,
}

/// Who came first.
#[derive(Default)]
pub(crate) struct Done(AtomicUsize);

const RUNNING: usize = 0;
const FINISHED: usize = 1;
const DETACHED: usize = 2;

impl Done {
    /// The work has ended.
    pub(crate) fn finish(&self, detached: &AtomicUsize) {
        if self.0.swap(FINISHED, Ordering::AcqRel) == DETACHED {
            detached.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Somebody has its answer.
    pub(crate) fn answered(&self) {
        self.0.store(FINISHED, Ordering::Release);
    }
}

impl Drop for Left {
    fn drop(&mut self) {
        // Counted first, so that the work's end never finds less than one to take away.
        self.detached.fetch_add(1, Ordering::Relaxed);
        let was = self.done.0.compare_exchange(RUNNING, DETACHED, Ordering::AcqRel, Ordering::Acquire);
        if was.is_err() {
            self.detached.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
