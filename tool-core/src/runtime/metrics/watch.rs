//! Warns when results of a tool become too large, once per crossing. R-M2
//!
//! Only a large result can make the 95th percentile too large, so only those come here. Looking at a whole window costs
//! as much as several calls, so it is told in advance how long it is not worth it.

use super::slot::Sample;
use super::window::{WINDOW, percentile};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

pub(super) struct Watch {
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
    pub(super) fn new(most: u32) -> Self {
        Self { most, state: Mutex::default(), until: AtomicU64::new(0) }
    }

    #[inline]
    pub(super) fn is_large(&self, chars: u32) -> bool {
        chars > self.most
    }

    /// A large result has come: the percentile, where this made it too large. `last`: the window, and one before it.
    pub(super) fn look(&self, calls: impl Fn() -> u64, last: impl FnOnce() -> Vec<Sample>) -> Option<u32> {
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
mod tests {
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
