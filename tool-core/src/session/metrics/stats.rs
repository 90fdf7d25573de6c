//! Where every answer to a call is counted. R-M1

use crate::call::error::ErrorKind;
use crate::session::metrics::history::Answered;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
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

    pub(crate) fn calls(&self) -> u64 {
        self.sum(|part| &part.calls)
    }

    pub(crate) fn micros(&self) -> u64 {
        self.sum(|part| &part.micros)
    }

    pub(crate) fn chars(&self) -> u64 {
        self.sum(|part| &part.chars)
    }

    /// How often each kind of error was the answer, of those that were.
    pub(crate) fn errors(&self) -> impl Iterator<Item = (ErrorKind, u64)> {
        let counted = self.errors.get().into_iter().flat_map(|errors| errors.iter());
        let counted = counted.map(|count| count.load(Ordering::Relaxed));
        ErrorKind::ALL.into_iter().zip(counted).filter(|(_, count)| *count > 0)
    }

    /// The last answers of all parts, so many at most, in the order in which they were there.
    pub(crate) fn last(&self, most: usize) -> Vec<Sample> {
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

// ---- The tallies of tools that sessions have of their own, by name.

/// One tally a name, whichever session's tool it is.
///
/// Names stay known, so that what was counted does not go backwards; but of very many, as tools imported at run time may
/// have, only those that somebody uses.
#[derive(Default)]
pub(crate) struct Tallies(Mutex<HashMap<Box<str>, Arc<Tally>>>);

/// As many names are known without anybody using them.
const NAMES: usize = 1_024;

impl Tallies {
    /// The tally of a name: the one that it has, or else what `make` gives.
    pub(crate) fn get(&self, name: &str, make: impl FnOnce() -> Arc<Tally>) -> Arc<Tally> {
        let mut known = self.lock();
        if let Some(tally) = known.get(name) {
            return Arc::clone(tally);
        }
        if known.len() >= NAMES && known.len().is_power_of_two() {
            known.retain(|_, tally| Arc::strong_count(tally) > 1);
        }
        Arc::clone(known.entry(name.into()).or_insert_with(make))
    }

    pub(crate) fn find(&self, name: &str) -> Option<Arc<Tally>> {
        self.lock().get(name).cloned()
    }

    /// All of them.
    pub(crate) fn all(&self) -> Vec<(Box<str>, Arc<Tally>)> {
        self.lock().iter().map(|(name, tally)| (name.clone(), Arc::clone(tally))).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, Arc<Tally>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tallies_tests {
    use super::*;

    // R-M3
    #[test]
    fn of_a_million_names_those_stay_that_are_used() {
        let tallies = Tallies::default();
        let make = || Arc::new(Tally::new(1));
        let used = tallies.get("used", make);
        for number in 0..20_000 {
            let _ = tallies.get(&number.to_string(), make);
        }
        assert!(tallies.lock().len() <= NAMES + 1, "{}", tallies.lock().len());
        assert!(Arc::ptr_eq(&used, &tallies.get("used", make)));
    }
}

// ---- One response of a window, written and read without a lock.

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

// ---- The last responses of a tool.

/// The responses of which there are percentiles. R-M1
pub(crate) const WINDOW: usize = 1_000;

/// What a ring holds: no less, and a power of two, so that no place costs a division.
const PLACES: u64 = 1_024;
const CHUNK: u64 = 64;
const SLOTS: usize = 64;
const CHUNKS: usize = 16;

/// The last responses that one part of a tally has counted. It grows as they come, so that a tool that is seldom called
/// takes little.
#[derive(Default)]
pub(crate) struct Ring([OnceLock<Box<Chunk>>; CHUNKS]);

struct Chunk([Slot; SLOTS]);

impl Default for Chunk {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Slot::default()))
    }
}

/// A number that is known to be small.
#[inline]
fn index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl Ring {
    /// Puts the response in its place: `number` are counted before it.
    #[inline]
    pub(crate) fn put(&self, number: u64, sample: Sample) {
        if let Some(chunk) = self.0.get(index(number / CHUNK % CHUNKS as u64))
            && let Some(slot) = chunk.get_or_init(Box::default).0.get(index(number % CHUNK))
        {
            slot.put(sample);
        }
    }

    /// What it holds once `counted` are counted, the oldest first.
    pub(crate) fn samples(&self, counted: u64) -> impl Iterator<Item = Sample> {
        let slot = |number: u64| self.0.get(index(number / CHUNK % CHUNKS as u64))?.get()?.0.get(index(number % CHUNK));
        (counted.saturating_sub(PLACES)..counted).filter_map(move |number| slot(number)?.get())
    }
}

/// The value at a percentile, by nearest rank: the smallest of which at least so many in a hundred are no larger. 0 of
/// none.
pub(crate) fn percentile<T: Copy + Default>(sorted: &[T], percent: usize) -> T {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

/// About what so many characters cost a model to read.
pub(crate) fn tokens(chars: u32) -> u32 {
    chars.div_ceil(4)
}

#[cfg(test)]
mod window_tests {
    use super::*;

    // R-M1
    #[test]
    fn percentiles_are_those_of_the_nearest_rank() {
        let to = |last: u32| (1..=last).collect::<Vec<_>>();
        assert_eq!([50, 95, 99].map(|percent| percentile(&to(1_000), percent)), [500, 950, 990]);
        assert_eq!([50, 95, 99].map(|percent| percentile(&to(100), percent)), [50, 95, 99]);
        assert_eq!([50, 95, 99].map(|percent| percentile(&to(20), percent)), [10, 19, 20]);
        assert_eq!([50, 95, 99].map(|percent| percentile(&to(2), percent)), [1, 2, 2]);
        assert_eq!([50, 95, 99].map(|percent| percentile(&to(1), percent)), [1, 1, 1]);
        assert_eq!(percentile::<u32>(&[], 95), 0);
    }

    // R-M1
    #[test]
    fn tokens_are_a_quarter_of_the_characters_rounded_up() {
        assert_eq!([0, 1, 4, 5, 8, 9].map(tokens), [0, 1, 1, 2, 2, 3]);
    }

    #[test]
    fn a_ring_keeps_the_last_and_takes_room_only_for_what_came() {
        let ring = Ring::default();
        for number in 0..5_000 {
            ring.put(number, Sample { at: number + 1, micros: 0, chars: index(number).try_into().unwrap_or(0) });
            let counted = number + 1;
            let chunks = ring.0.iter().filter(|chunk| chunk.get().is_some()).count();
            assert_eq!(chunks, index(counted.div_ceil(CHUNK)).min(CHUNKS));
        }
        let kept = ring.samples(5_000).map(|sample| u64::from(sample.chars)).collect::<Vec<_>>();
        assert_eq!(kept, (5_000 - PLACES..5_000).collect::<Vec<_>>());
    }
}

// ---- Warns when results of a tool become too large, once per crossing. R-M2
//
// Only a large result can make the 95th percentile too large, so only those come here. Looking at a whole window costs
// as much as several calls, so it is told in advance how long it is not worth it.

pub(crate) struct Watch {
    /// The characters that are not yet too many.
    most: u32,
    state: Mutex<State>,
    /// While the percentile is too large: up to so many calls it stays so.
    until: AtomicU64,
}

#[derive(Default)]
struct State {
    over: bool,
    /// While it is not: so many more large results do not make it so.
    spare: usize,
}

impl Watch {
    pub(crate) fn new(most: u32) -> Self {
        Self { most, state: Mutex::default(), until: AtomicU64::new(0) }
    }

    #[inline]
    pub(crate) fn is_large(&self, chars: u32) -> bool {
        chars > self.most
    }

    /// A large result has come: the percentile, where this made it too large. `last`: the window, and one before it.
    pub(crate) fn look(&self, calls: impl Fn() -> u64, last: impl FnOnce() -> Vec<Sample>) -> Option<u32> {
        if calls() <= self.until.load(Ordering::Relaxed) {
            return None;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.over && state.spare > 0 {
            state.spare -= 1;
            return None;
        }
        let calls = calls();
        let last = last();
        let window = newest(&last);
        let before = newest(last.split_last()?.1);
        let was = state.over && self.excess(before) > 0;
        let excess = self.excess(window);
        state.over = excess > 0;
        state.spare = usize::try_from(-excess).unwrap_or(0);
        // With each call it can come one nearer, by what leaves the window or by what makes it longer.
        let until = if state.over { calls.saturating_add_signed(excess) } else { 0 };
        self.until.store(until, Ordering::Relaxed);
        drop(state);
        (excess > 0 && !was).then(|| {
            let mut sizes = window.iter().map(|sample| sample.chars).collect::<Vec<_>>();
            sizes.sort_unstable();
            percentile(&sizes, 95)
        })
    }

    /// How many large results there are past those that a window may have while its 95th percentile is none of them.
    fn excess(&self, samples: &[Sample]) -> i64 {
        let large = samples.iter().filter(|sample| self.is_large(sample.chars)).count();
        let allowed = samples.len() / 20;
        i64::try_from(large).unwrap_or(i64::MAX) - i64::try_from(allowed).unwrap_or(0)
    }
}

/// The window: the last of what there is.
fn newest(samples: &[Sample]) -> &[Sample] {
    samples.get(samples.len().saturating_sub(WINDOW)..).unwrap_or_default()
}

#[cfg(test)]
mod watch_tests {
    use super::*;
    use proptest::prelude::*;

    /// How often a percentile that is looked at after every response goes over.
    fn crossings(sizes: &[u32]) -> Vec<usize> {
        let over = |end: usize| {
            let mut window = sizes[end.saturating_sub(WINDOW)..end].to_vec();
            window.sort_unstable();
            percentile(&window, 95) > 1_500
        };
        (1..=sizes.len()).filter(|end| over(*end) && !over(*end - 1)).collect()
    }

    fn warnings(sizes: &[u32]) -> Vec<usize> {
        let watch = Watch::new(1_500);
        let sample = |(at, chars): (usize, &u32)| Sample { at: at as u64 + 1, micros: 0, chars: *chars };
        let look = |end: usize| {
            let last = || sizes[..end].iter().enumerate().map(sample).skip(end.saturating_sub(WINDOW + 1)).collect();
            watch.is_large(sizes[end - 1]) && watch.look(|| end as u64, last).is_some()
        };
        (1..=sizes.len()).filter(|end| look(*end)).collect()
    }

    // R-M2
    #[test]
    fn the_limit_itself_is_no_reason_to_warn() {
        assert_eq!(warnings(&[1_500; 50]), Vec::<usize>::new());
        assert_eq!(warnings(&[1_501; 50]), [1]);
    }

    // R-M2
    #[test]
    fn there_is_a_warning_once_per_crossing() {
        let mut sizes = [vec![10; 19], vec![2_000], vec![2_000]].concat();
        assert_eq!(warnings(&sizes), [21]);
        sizes.extend([vec![10; 1_000], vec![2_000; 60]].concat());
        assert_eq!(warnings(&sizes), [21, 19 + 2 + 1_000 + 51]);
    }

    proptest! {
        // Each looks at some thousand windows.
        #![proptest_config(ProptestConfig::with_cases(16))]

        // R-M2
        #[test]
        fn it_warns_when_a_look_at_every_response_would(runs in prop::collection::vec((any::<bool>(), 0..400_usize, 1..30_usize), 1..12)) {
            let run = |(mostly_large, length, every): &(bool, usize, usize)| {
                let large = |at: usize| (at.is_multiple_of(*every)) == *mostly_large;
                (0..*length).map(|at| if large(at) { 1_501 } else { 1_500 }).collect::<Vec<_>>()
            };
            let sizes = runs.iter().flat_map(run).collect::<Vec<_>>();
            prop_assert_eq!(warnings(&sizes), crossings(&sizes));
        }
    }
}
