//! One response of a window, written and read without a lock.

use crate::runtime::sync::{AtomicU64, Ordering};

/// What is kept of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    /// When it was there, in nanoseconds since the window began; never 0.
    pub(crate) at: u64,
    /// From the call's arrival to it.
    pub(crate) micros: u32,
    /// Its size.
    pub(crate) chars: u32,
}

#[derive(Default)]
pub(crate) struct Slot {
    /// 0 where there is nothing, or nothing yet.
    at: AtomicU64,
    figures: AtomicU64,
}

impl Slot {
    #[inline]
    pub(crate) fn put(&self, sample: Sample) {
        // Whoever sees the new figures sees that they do not belong to the old time.
        self.at.store(0, Ordering::Relaxed);
        self.figures.store(u64::from(sample.micros) << 32 | u64::from(sample.chars), Ordering::Release);
        self.at.store(sample.at, Ordering::Release);
    }

    /// `None` where there is nothing, and where it is being written.
    pub(crate) fn get(&self) -> Option<Sample> {
        let at = self.at.load(Ordering::Acquire);
        let figures = self.figures.load(Ordering::Acquire);
        if at == 0 || self.at.load(Ordering::Relaxed) != at {
            return None;
        }
        let half = |figures: u64| u32::try_from(figures & u64::from(u32::MAX)).unwrap_or(u32::MAX);
        Some(Sample { at, micros: half(figures >> 32), chars: half(figures) })
    }
}
