//! Counts and recent samples of each tool's calls.

use crate::call::ErrorKind;
use crate::registry::ToolContext;
use crate::session::metrics::call_log::AnsweredCall;
use parking_lot::Mutex;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// The responses that percentiles and averages are computed over.
const WINDOW: usize = 1_000;

/// The measurements of one tool: totals since the runtime was built, and the last 1,000 responses.
#[derive(Default)]
pub(crate) struct ToolStats(Mutex<ToolTotals>);

#[derive(Clone, Default)]
struct ToolTotals {
    calls: u64,
    slow: u64,
    retries: u64,
    errors: [u64; ErrorKind::ALL.len()],
    refusals: [u64; ErrorKind::ALL.len()],
    micros: u64,
    characters: u64,
    window: VecDeque<Sample>,
    alert: SizeAlert,
}

/// One response in the window.
#[derive(Clone, Copy)]
struct Sample {
    /// The time, at most 71 minutes.
    micros: u32,
    /// The size of the result, or of the error's text.
    characters: u32,
}

/// The measurements of one tool. Percentiles and averages cover the last 1,000 responses; counts
/// and sums cover all of them since the runtime was built.
///
/// A refused call is not a response: its tool did not run. It is counted by [`refusals`](Self::refusals) alone.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolMetrics {
    /// All answered calls, including refused ones.
    pub calls: u64,
    /// The calls that failed and have run, or may have, by error type.
    pub errors: BTreeMap<&'static str, u64>,
    /// The calls that did not run, by error type: their arguments were invalid, a limit was
    /// reached, or a person must approve them first, for example.
    pub refusals: BTreeMap<&'static str, u64>,
    /// The calls that took longer than the policy's soft limit.
    pub slow_calls: u64,
    /// The automatic retries. The attempts of a call are one call.
    pub retries: u64,
    /// The sizes of responses in Unicode characters. That of an error is the size of its text.
    pub sizes: Percentiles<u32>,
    /// The time from call to response.
    pub latency: Percentiles<Duration>,
    /// Estimated tokens that the responses take in a model's context.
    pub tokens: TokenMetrics,
    /// The total size of all responses in characters.
    pub characters: u64,
    /// The total time of all responses.
    pub duration: Duration,
}

impl ToolMetrics {
    /// Returns the number of calls whose tool ran, or that were answered without an error.
    pub fn responses(&self) -> u64 {
        self.calls.saturating_sub(self.refusals.values().sum())
    }
}

/// Exact percentiles by nearest rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Percentiles<T> {
    /// The median.
    pub p50: T,
    /// The 95th percentile.
    pub p95: T,
    /// The 99th percentile.
    pub p99: T,
}

/// Estimated tokens per response: a quarter of its characters, rounded up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TokenMetrics {
    /// The mean.
    pub avg: f64,
    /// The 95th percentile.
    pub p95: u32,
}

impl ToolStats {
    /// Counts an answer. Returns the 95th percentile of response sizes when this answer raised it
    /// above the limit.
    #[inline]
    pub(crate) fn record(&self, call: &AnsweredCall<'_>, characters: u32) -> Option<u32> {
        let recorded = &mut *self.0.lock();
        recorded.calls += 1;
        recorded.slow += u64::from(call.slow);
        if call.refused {
            recorded.refuse(call.error);
            return None;
        }
        recorded.micros = recorded.micros.saturating_add(call.micros);
        recorded.characters += u64::from(characters);
        if let Some(kind) = call.error {
            recorded.errors[kind as usize] += 1;
        }
        let window = &mut recorded.window;
        let evicted = if window.len() == WINDOW {
            window.pop_front()
        } else {
            None
        };
        window.push_back(Sample {
            micros: u32::try_from(call.micros).unwrap_or(u32::MAX),
            characters,
        });
        let crossed = recorded.alert.update(
            characters,
            evicted.map(|sample| sample.characters),
            window.len(),
        );
        crossed.then(|| Percentiles::of(window.iter().map(|sample| sample.characters)).p95)
    }

    /// Counts automatic retries of a call.
    pub(crate) fn add_retries(&self, retries: u32) {
        self.0.lock().retries += u64::from(retries);
    }

    /// Computes the metrics, or returns `None` for a tool that was never called.
    pub(crate) fn metrics(&self) -> Option<ToolMetrics> {
        // Copied, so that sorting does not hold up calls.
        let ToolTotals {
            calls,
            slow,
            retries,
            errors,
            refusals,
            micros,
            characters,
            window,
            ..
        } = self.0.lock().clone();
        if calls == 0 {
            return None;
        }
        let tokens = || {
            window
                .iter()
                .map(|sample| estimated_tokens(sample.characters))
        };
        let sum = tokens().map(u64::from).sum::<u64>();
        #[allow(clippy::cast_precision_loss)] // at most 1,000 values of 30 bits
        let avg = sum as f64 / window.len().max(1) as f64;
        Some(ToolMetrics {
            calls,
            slow_calls: slow,
            retries,
            errors: by_kind(errors),
            refusals: by_kind(refusals),
            sizes: Percentiles::of(window.iter().map(|sample| sample.characters)),
            latency: Percentiles::of(
                window
                    .iter()
                    .map(|sample| Duration::from_micros(sample.micros.into())),
            ),
            tokens: TokenMetrics {
                avg,
                p95: Percentiles::of(tokens()).p95,
            },
            characters,
            duration: Duration::from_micros(micros),
        })
    }
}

impl ToolTotals {
    #[cold]
    fn refuse(&mut self, kind: Option<ErrorKind>) {
        if let Some(kind) = kind {
            self.refusals[kind as usize] += 1;
        }
    }
}

/// Returns the counts that are not zero, by the names of their kinds.
fn by_kind(counts: [u64; ErrorKind::ALL.len()]) -> BTreeMap<&'static str, u64> {
    let counted = ErrorKind::ALL
        .into_iter()
        .zip(counts)
        .filter(|(_, count)| *count > 0);
    counted
        .map(|(kind, count)| (kind.as_str(), count))
        .collect()
}

/// The characters of a result above which it is large.
const LARGE_RESULT: u32 = 1_500;

/// Detects when the 95th percentile of the response sizes in a window rises above the limit.
#[derive(Clone, Default)]
struct SizeAlert {
    /// The samples in the window that are larger than the limit.
    large: usize,
    above: bool,
}

impl SizeAlert {
    /// Accounts for a new size and the size that it evicted, in a window that now holds `len`
    /// sizes. Returns true when the percentile crosses the limit upwards.
    fn update(&mut self, added: u32, evicted: Option<u32>, len: usize) -> bool {
        self.large += usize::from(added > LARGE_RESULT);
        self.large -= usize::from(evicted.is_some_and(|size| size > LARGE_RESULT));
        // By nearest rank, the percentile is a large size when more than 5 in 100 sizes are large.
        let was_above = self.above;
        self.above = self.large > len / 20;
        self.above && !was_above
    }
}

impl<T: Copy + Default + Ord> Percentiles<T> {
    /// Computes the percentiles of the values; all zero for no values.
    pub(crate) fn of(values: impl Iterator<Item = T>) -> Self {
        let mut values = values.collect::<Vec<_>>();
        values.sort_unstable();
        let [p50, p95, p99] = [50, 95, 99].map(|percent| percentile(&values, percent));
        Self { p50, p95, p99 }
    }

    /// Converts each percentile.
    pub(crate) fn map<U>(self, convert: impl Fn(T) -> U) -> Percentiles<U> {
        Percentiles {
            p50: convert(self.p50),
            p95: convert(self.p95),
            p99: convert(self.p99),
        }
    }
}

/// Returns the smallest value that at least `percent` in 100 of the sorted values do not exceed.
fn percentile<T: Copy + Default>(sorted: &[T], percent: usize) -> T {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted
        .get(rank.saturating_sub(1))
        .copied()
        .unwrap_or_default()
}

/// Estimates the tokens of a text of so many characters.
pub(crate) fn estimated_tokens(characters: u32) -> u32 {
    characters.div_ceil(4)
}

/// The statistics of tools by name. Tools of one name share one entry.
///
/// A name stays known when no session uses it any more, so that its counts never go backwards. Past
/// 1,024 names, those that neither the runtime nor a session uses are dropped.
#[derive(Default)]
pub(crate) struct StatsByName(Mutex<HashMap<Box<str>, NamedStats>>);

struct NamedStats {
    stats: Arc<ToolStats>,
    /// True if a session has brought a tool of the name.
    is_own: bool,
}

/// The number of names from which unused ones are dropped.
const MAX_UNUSED_NAMES: usize = 1_024;

impl StatsByName {
    /// Returns the statistics of a tool of the runtime, or of a session's own tool. Those of a new
    /// name are empty.
    pub(crate) fn get_or_insert(&self, name: &str, is_own: bool) -> Arc<ToolStats> {
        let mut by_name = self.0.lock();
        let may_grow = by_name.len() >= MAX_UNUSED_NAMES && !by_name.contains_key(name);
        if may_grow && by_name.len().is_power_of_two() {
            by_name.retain(|_, known| Arc::strong_count(&known.stats) > 1);
        }
        let new = || NamedStats {
            stats: Arc::new(ToolStats::default()),
            is_own,
        };
        let known = by_name.entry(name.into()).or_insert_with(new);
        known.is_own |= is_own;
        Arc::clone(&known.stats)
    }

    /// Returns the statistics of sessions' own tools, and of the tools of the runtime.
    pub(crate) fn all(&self, runtime: &ToolContext) -> HashMap<String, Arc<ToolStats>> {
        let by_name = self.0.lock();
        let listed = by_name
            .iter()
            .filter(|(name, known)| known.is_own || runtime.position(name).is_some());
        listed
            .map(|(name, known)| (name.to_string(), Arc::clone(&known.stats)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let to = |last: u32| (1..=last).collect::<Vec<_>>();
        assert_eq!(
            [50, 95, 99].map(|percent| percentile(&to(1_000), percent)),
            [500, 950, 990]
        );
        assert_eq!(
            [50, 95, 99].map(|percent| percentile(&to(100), percent)),
            [50, 95, 99]
        );
        assert_eq!(
            [50, 95, 99].map(|percent| percentile(&to(20), percent)),
            [10, 19, 20]
        );
        assert_eq!(
            [50, 95, 99].map(|percent| percentile(&to(2), percent)),
            [1, 2, 2]
        );
        assert_eq!(
            [50, 95, 99].map(|percent| percentile(&to(1), percent)),
            [1, 1, 1]
        );
        assert_eq!(percentile::<u32>(&[], 95), 0);
    }

    #[test]
    fn estimates_a_quarter_of_the_characters_rounded_up() {
        assert_eq!([0, 1, 4, 5, 8, 9].map(estimated_tokens), [0, 1, 1, 2, 2, 3]);
    }

    fn answer(micros: u64) -> AnsweredCall<'static> {
        let error = None;
        AnsweredCall {
            tool: "",
            turn: 0,
            micros,
            error,
            arguments: "",
            truncated: false,
            slow: false,
            refused: false,
            audit: None,
        }
    }

    #[test]
    fn window_keeps_the_last_thousand_answers() {
        let stats = ToolStats::default();
        assert_eq!(stats.0.lock().window.capacity(), 0);
        for number in 0..5_000 {
            stats.record(&answer(number.into()), number);
            assert!(
                stats.0.lock().window.capacity() <= (2 * (number as usize + 1)).clamp(4, 1_024)
            );
        }
        let kept = stats
            .0
            .lock()
            .window
            .iter()
            .map(|sample| sample.characters)
            .collect::<Vec<_>>();
        assert_eq!(kept, (4_000..5_000).collect::<Vec<_>>());
        assert_eq!(stats.metrics().expect("called").calls, 5_000);
    }

    #[test]
    fn sums_calls_that_are_longer_than_the_window_keeps() {
        let stats = ToolStats::default();
        let two_hours = Duration::from_secs(2 * 3_600);
        for _ in 0..3 {
            stats.record(&answer(7_200_000_000), 0);
        }
        let duration = stats.metrics().expect("called").duration;
        assert_eq!(duration, two_hours * 3);
    }

    #[test]
    fn drops_unused_names_and_keeps_used_ones() {
        let by_name = StatsByName::default();
        let used = by_name.get_or_insert("used", true);
        for number in 0..20_000 {
            let _ = by_name.get_or_insert(&number.to_string(), true);
        }
        assert!(
            by_name.0.lock().len() <= MAX_UNUSED_NAMES + 1,
            "{}",
            by_name.0.lock().len()
        );
        assert!(Arc::ptr_eq(&used, &by_name.get_or_insert("used", true)));
    }

    /// The answers after which the percentile, computed from scratch after each of them, has
    /// crossed the limit.
    fn crossings(sizes: &[u32]) -> Vec<usize> {
        let above = |end: usize| {
            let mut window = sizes[end.saturating_sub(WINDOW)..end].to_vec();
            window.sort_unstable();
            percentile(&window, 95) > LARGE_RESULT
        };
        (1..=sizes.len())
            .filter(|end| above(*end) && !above(*end - 1))
            .collect()
    }

    fn alerts(sizes: &[u32]) -> Vec<usize> {
        let stats = ToolStats::default();
        (1..=sizes.len())
            .filter(|end| stats.record(&answer(0), sizes[end - 1]).is_some())
            .collect()
    }

    #[test]
    fn alerts_above_the_limit_and_not_at_it() {
        assert_eq!(alerts(&[1_500; 50]), Vec::<usize>::new());
        assert_eq!(alerts(&[1_501; 50]), [1]);
        assert_eq!(alerts(&[1_500, 1_500, 1_501]), [3]);
    }

    #[test]
    fn refusals_enter_no_window_and_raise_no_alert() {
        let stats = ToolStats::default();
        let refused = AnsweredCall {
            refused: true,
            error: Some(ErrorKind::Validation),
            ..answer(9)
        };
        assert!((0..50).all(|_| stats.record(&refused, 9_000).is_none()));
        let metrics = stats.metrics().expect("called");
        assert_eq!(
            (metrics.calls, metrics.responses(), metrics.characters),
            (50, 0, 0)
        );
        assert_eq!(metrics.refusals, BTreeMap::from([("VALIDATION", 50)]));
        assert!(metrics.errors.is_empty() && metrics.tokens == TokenMetrics::default());
    }

    #[test]
    fn alerts_once_per_crossing() {
        let mut sizes = [vec![10; 20], vec![2_000], vec![2_000]].concat();
        assert_eq!(alerts(&sizes), [22]);
        sizes.extend([vec![10; 1_000], vec![2_000; 60]].concat());
        assert_eq!(alerts(&sizes), [22, 20 + 2 + 1_000 + 51]);
    }

    proptest! {
        // Each case sorts some thousand windows.
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn alerts_exactly_when_the_percentile_crosses(runs in prop::collection::vec((any::<bool>(), 0..400_usize, 1..30_usize), 1..12)) {
            let run = |(mostly_large, length, every): &(bool, usize, usize)| {
                let large = |at: usize| (at.is_multiple_of(*every)) == *mostly_large;
                (0..*length).map(|at| if large(at) { 1_501 } else { 1_500 }).collect::<Vec<_>>()
            };
            let sizes = runs.iter().flat_map(run).collect::<Vec<_>>();
            prop_assert_eq!(alerts(&sizes), crossings(&sizes));
        }
    }
}
