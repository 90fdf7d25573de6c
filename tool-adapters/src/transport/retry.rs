//! How often something is tried again, and how long is waited before.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::Duration;

/// How often a provider is asked again that could not be reached or was busy, and how long is waited before.
///
/// Before the second attempt it is a random time up to `first`, before the third up to twice that, and so on up to
/// `longest`: so that those who were turned away together do not come back together.
///
/// ```
/// use std::time::Duration;
/// use tool_adapters::agent::RetryPolicy;
///
/// let patient = RetryPolicy { attempts: 8, ..Retry::default() };
/// assert_eq!((patient.first, patient.longest), (Duration::from_millis(500), Duration::from_secs(8)));
/// assert_eq!(RetryPolicy::never().attempts, 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The attempts in all, the first among them.
    pub attempts: u32,
    /// The most that is waited before the second attempt.
    pub first: Duration,
    /// The most that is waited before any attempt, where the provider does not say how long to wait.
    pub longest: Duration,
    /// The most that is waited where the provider says how long. One that asks for more is not asked again.
    pub asked: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 4,
            first: Duration::from_millis(500),
            longest: Duration::from_secs(8),
            asked: Duration::from_mins(1),
        }
    }
}

impl RetryPolicy {
    /// One attempt and no more.
    #[must_use]
    pub fn never() -> Self {
        Self { attempts: 1, ..Self::default() }
    }

    /// What to wait after so many attempts that failed; `None` where there is none left.
    pub(crate) fn wait(&self, failed: u32) -> Option<Duration> {
        (failed < self.attempts).then(|| self.ceiling(failed).mul_f64(chance()))
    }

    fn ceiling(&self, failed: u32) -> Duration {
        let doubled = 2_u32.saturating_pow(failed.saturating_sub(1));
        self.first.saturating_mul(doubled).min(self.longest)
    }
}

/// A number from 0 to 1. No secret hangs on it: the seed of a hash map will do.
fn chance() -> f64 {
    f64::from((RandomState::new().hash_one(0) >> 32) as u32) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_that_is_waited_doubles_up_to_the_longest() {
        let retry = RetryPolicy { attempts: 9, ..RetryPolicy::default() };
        let ceilings = (1..=6).map(|failed| retry.ceiling(failed).as_millis()).collect::<Vec<_>>();
        assert_eq!(ceilings, [500, 1_000, 2_000, 4_000, 8_000, 8_000]);
        assert_eq!(retry.ceiling(u32::MAX), retry.longest);
    }

    #[test]
    fn what_is_waited_is_spread_over_the_whole_of_it() {
        let retry = RetryPolicy::default();
        let waits = (0..200).filter_map(|_| retry.wait(1)).collect::<Vec<_>>();
        assert!(waits.iter().all(|wait| *wait <= retry.first), "{waits:?}");
        assert!(waits.iter().any(|wait| *wait < retry.first / 4) && waits.iter().any(|wait| *wait > retry.first / 2));
    }

    #[test]
    fn there_is_no_wait_after_the_last_attempt() {
        assert!(RetryPolicy::default().wait(3).is_some());
        assert_eq!((RetryPolicy::default().wait(4), RetryPolicy::never().wait(1)), (None, None));
    }
}
