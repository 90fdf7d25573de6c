//! Where every answer to a call is counted. R-M1

use super::calls::Answered;
use super::slot::Sample;
use super::watch::Watch;
use super::window::{Ring, WINDOW};
use crate::response::ErrorKind;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::time::Instant;

/// What has become of the calls of one tool. In parts that stand apart, so that threads which count at once seldom wait
/// for each other's caches. What came last is told by time when it is read: each part keeps as many as all have.
pub(crate) struct Tally {
    parts: [Part; PARTS],
    since: Instant,
    errors: OnceLock<Box<[AtomicU64; ErrorKind::ALL.len()]>>,
    watch: Watch,
}

const PARTS: usize = 4;

#[derive(Default)]
#[repr(align(64))]
struct Part {
    calls: AtomicU64,
    micros: AtomicU64,
    chars: AtomicU64,
    last: OnceLock<Box<Ring>>,
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
    /// `large`: the characters past which a result is one to be warned of.
    pub(crate) fn new(large: u32) -> Self {
        Self { parts: Default::default(), since: Instant::now(), errors: OnceLock::new(), watch: Watch::new(large) }
    }

    /// Counts an answer. `by`: a number of the session's own. Gives the size at the 95th percentile where that has just
    /// become too large. R-M2
    #[allow(clippy::inline_always)] // a sixth of what it costs, as measured
    #[inline(always)]
    pub(crate) fn count(&self, answer: &Answered<'_>, chars: u32, by: usize) -> Option<u32> {
        let part = self.parts.get(by % PARTS)?;
        let number = part.calls.fetch_add(1, Ordering::Relaxed);
        part.micros.fetch_add(answer.micros.into(), Ordering::Relaxed);
        part.chars.fetch_add(chars.into(), Ordering::Relaxed);
        let began = answer.began.saturating_duration_since(self.since);
        // In nanoseconds, as far as 64 bits go: 584 years.
        let began = began.as_secs().wrapping_mul(1_000_000_000).wrapping_add(began.subsec_nanos().into());
        let at = began.wrapping_add(u64::from(answer.micros).wrapping_mul(1_000)).max(1);
        part.last.get_or_init(Box::default).put(number, Sample { at, micros: answer.micros, chars });
        if let Some(kind) = answer.error {
            self.count_error(kind);
        }
        if self.watch.is_large(chars) { self.look() } else { None }
    }

    #[cold]
    fn count_error(&self, kind: ErrorKind) {
        let errors = self.errors.get_or_init(|| Box::new(std::array::from_fn(|_| AtomicU64::new(0))));
        if let Some(count) = errors.get(kind as usize) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[cold]
    fn look(&self) -> Option<u32> {
        self.watch.look(|| self.calls(), || self.last(WINDOW + 1))
    }

    fn sum(&self, of: fn(&Part) -> &AtomicU64) -> u64 {
        self.parts.iter().map(|part| of(part).load(Ordering::Relaxed)).sum()
    }

    pub(super) fn calls(&self) -> u64 {
        self.sum(|part| &part.calls)
    }

    pub(super) fn micros(&self) -> u64 {
        self.sum(|part| &part.micros)
    }

    pub(super) fn chars(&self) -> u64 {
        self.sum(|part| &part.chars)
    }

    /// How often each kind of error was the answer, of those that were.
    pub(super) fn errors(&self) -> impl Iterator<Item = (ErrorKind, u64)> {
        let counted = self.errors.get().into_iter().flat_map(|errors| errors.iter());
        let counted = counted.map(|count| count.load(Ordering::Relaxed));
        ErrorKind::ALL.into_iter().zip(counted).filter(|(_, count)| *count > 0)
    }

    /// The last answers of all parts, so many at most, in the order in which they were there.
    pub(super) fn last(&self, most: usize) -> Vec<Sample> {
        let of_part = |part: &Part| {
            let counted = part.calls.load(Ordering::Relaxed);
            part.last.get().map(|ring| ring.samples(counted).collect::<Vec<_>>()).unwrap_or_default()
        };
        let mut all = self.parts.iter().flat_map(of_part).collect::<Vec<_>>();
        // Stable: what a part counted at one moment stays in its order.
        all.sort_by_key(|sample| sample.at);
        all.split_off(all.len().saturating_sub(most))
    }

    pub(crate) fn read(&self) -> ToolTally {
        let errors = self.errors().map(|(_, count)| count).sum();
        ToolTally { calls: self.calls(), errors, micros: self.micros() }
    }
}
