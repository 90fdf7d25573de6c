//! The slot into which every call is counted.

use crate::response::ToolResponse;
use std::sync::atomic::{AtomicU64, Ordering};

/// What has become of the calls of one tool.
#[derive(Default)]
pub(crate) struct Tally {
    calls: AtomicU64,
    errors: AtomicU64,
    micros: AtomicU64,
}

/// How often a tool was called since the runtime began, and how it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolTally {
    /// All calls that were answered, refused ones too.
    pub calls: u64,
    /// Those that were answered with an error.
    pub errors: u64,
    /// The time from call to answer, of all calls together, in microseconds.
    pub micros: u64,
}

impl Tally {
    #[inline]
    pub(crate) fn count(&self, response: &ToolResponse) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        if !response.is_ok() {
            self.errors.fetch_add(1, Ordering::Relaxed);
        }
        let micros = u64::try_from(response.meta().duration().as_micros()).unwrap_or(u64::MAX);
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> ToolTally {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        ToolTally { calls: read(&self.calls), errors: read(&self.errors), micros: read(&self.micros) }
    }
}
