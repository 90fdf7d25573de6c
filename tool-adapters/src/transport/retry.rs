//! The policy for retries.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::Duration;

/// A policy for retries of requests that a provider did not receive or was too busy to answer.
///
/// The delay before the second attempt is a random time up to `initial`. The upper limit doubles with each further attempt,
/// up to `max`. The randomness spreads clients that failed at the same time.
///
/// ```
/// use std::time::Duration;
/// use tool_adapters::agent::RetryPolicy;
///
/// let patient = RetryPolicy { attempts: 8, ..RetryPolicy::default() };
/// assert_eq!((patient.initial, patient.max), (Duration::from_millis(500), Duration::from_secs(8)));
/// assert_eq!(RetryPolicy::never().attempts, 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Maximum number of attempts, including the first. Defaults to 4.
    pub attempts: u32,
    /// Maximum delay before the second attempt. Defaults to 500 ms.
    pub initial: Duration,
    /// Maximum delay before any attempt. Defaults to 8 s.
    pub max: Duration,
    /// Maximum delay that a provider may request. If it requests a longer one, there is no further attempt. Defaults to a
    /// minute.
    pub max_retry_after: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 4,
            initial: Duration::from_millis(500),
            max: Duration::from_secs(8),
            max_retry_after: Duration::from_mins(1),
        }
    }
}

impl RetryPolicy {
    /// Creates a policy with a single attempt.
    #[must_use]
    pub fn never() -> Self {
        Self { attempts: 1, ..Self::default() }
    }

    /// Returns a random delay after a number of failed attempts. Returns `None` if no attempt is left.
    pub(crate) fn delay(&self, failed: u32) -> Option<Duration> {
        (failed < self.attempts).then(|| self.max_delay(failed).mul_f64(random_fraction()))
    }

    fn max_delay(&self, failed: u32) -> Duration {
        let factor = 2_u32.saturating_pow(failed.saturating_sub(1));
        self.initial.saturating_mul(factor).min(self.max)
    }
}

/// Returns a number from 0 to 1 from the seed of a hash map, which is random enough for a delay.
fn random_fraction() -> f64 {
    f64::from((RandomState::new().hash_one(0) >> 32) as u32) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_delay_doubles_up_to_the_limit() {
        let retry = RetryPolicy { attempts: 9, ..RetryPolicy::default() };
        let delays = (1..=6).map(|failed| retry.max_delay(failed).as_millis()).collect::<Vec<_>>();
        assert_eq!(delays, [500, 1_000, 2_000, 4_000, 8_000, 8_000]);
        assert_eq!(retry.max_delay(u32::MAX), retry.max);
    }

    #[test]
    fn delays_spread_over_the_whole_range() {
        let retry = RetryPolicy::default();
        let delays = (0..200).filter_map(|_| retry.delay(1)).collect::<Vec<_>>();
        assert!(delays.iter().all(|delay| *delay <= retry.initial), "{delays:?}");
        let (short, long) = (retry.initial / 4, retry.initial / 2);
        assert!(delays.iter().any(|delay| *delay < short) && delays.iter().any(|delay| *delay > long));
    }

    #[test]
    fn there_is_no_delay_after_the_last_attempt() {
        assert!(RetryPolicy::default().delay(3).is_some());
        assert_eq!((RetryPolicy::default().delay(4), RetryPolicy::never().delay(1)), (None, None));
    }
}
