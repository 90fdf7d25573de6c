//! The slot into which every call is counted.

use crate::response::ToolResponse;
use std::sync::atomic::{AtomicU64, Ordering};

/// What has become of the calls of one tool. In parts that stand apart, so that threads which count at once seldom wait
/// for each other's caches.
#[derive(Default)]
pub(crate) struct Tally([Part; PARTS]);

const PARTS: usize = 4;

#[derive(Default)]
#[repr(align(64))]
struct Part {
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
    /// `by`: a number of the session's own.
    #[inline]
    pub(crate) fn count(&self, response: &ToolResponse, by: usize) {
        let Some(part) = self.0.get(by % PARTS) else { return };
        part.calls.fetch_add(1, Ordering::Relaxed);
        if !response.is_ok() {
            part.errors.fetch_add(1, Ordering::Relaxed);
        }
        let micros = u64::try_from(response.meta().duration().as_micros()).unwrap_or(u64::MAX);
        part.micros.fetch_add(micros, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> ToolTally {
        let sum = |of: fn(&Part) -> &AtomicU64| self.0.iter().map(|part| of(part).load(Ordering::Relaxed)).sum();
        ToolTally { calls: sum(|part| &part.calls), errors: sum(|part| &part.errors), micros: sum(|part| &part.micros) }
    }
}
