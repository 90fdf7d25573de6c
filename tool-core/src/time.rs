//! Times that do not overflow, and a cheap clock for calls.

use std::sync::LazyLock;
use std::time::Duration;
use tokio::time::Instant;

/// The longest time that is added to an instant: a hundred years.
pub const CENTURY: Duration = Duration::from_secs(24 * 365 * 100 * 3_600);

/// Returns the instant after a time of any length. More than [`CENTURY`] counts as a century,
/// because adding a longer time to an instant may panic.
///
/// ```
/// use std::time::Duration;
/// use tokio::time::Instant;
///
/// let now = Instant::now();
/// assert_eq!(tool_core::time::after(now, Duration::from_secs(5)), now + Duration::from_secs(5));
/// assert!(tool_core::time::after(now, Duration::MAX) > now + Duration::from_secs(24 * 365 * 3_600));
/// ```
#[must_use]
#[inline]
pub fn after(start: Instant, time: Duration) -> Instant {
    start + time.min(CENTURY)
}

/// Returns the whole milliseconds of a time, and at most `u64::MAX`.
///
/// ```
/// use std::time::Duration;
///
/// assert_eq!(tool_core::time::whole_milliseconds(Duration::from_micros(1_500)), 1);
/// assert_eq!(tool_core::time::whole_milliseconds(Duration::MAX), u64::MAX);
/// ```
#[must_use]
pub fn whole_milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Returns the milliseconds of a time as a text says them: `800`, or `0.5`.
pub(crate) fn milliseconds(time: Duration) -> String {
    let whole = time.as_millis();
    let micros = time.subsec_micros() % 1_000;
    if micros == 0 {
        whole.to_string()
    } else {
        format!("{whole}.{micros:03}")
            .trim_end_matches('0')
            .to_owned()
    }
}

/// A reading of the processor's counter, which takes a third of the time of the system's clock.
/// On a processor without a steady counter, this is the system's clock.
///
/// Only the time between two readings is meaningful, as the counter drifts from the system's clock
/// in hours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CallInstant(u64);

impl CallInstant {
    /// Prepares the clock, so that no call has to: the counter is compared with the system's clock
    /// for a millisecond.
    pub(crate) fn calibrate() {
        LazyLock::force(&CLOCK);
    }

    #[inline]
    pub(crate) fn now() -> Self {
        Self(CLOCK.raw())
    }

    /// Returns the time since an earlier reading; zero if it is later.
    #[inline]
    pub(crate) fn since(self, earlier: Self) -> Duration {
        CLOCK.delta(earlier.0, self.0)
    }

    #[inline]
    pub(crate) fn elapsed(self) -> Duration {
        Self::now().since(self)
    }

    /// Converts to an instant of the system's clock.
    pub(crate) fn to_instant(self) -> Instant {
        let now = Instant::now();
        now.checked_sub(self.elapsed()).unwrap_or(now)
    }
}

#[cfg(not(any(test, feature = "testing")))]
static CLOCK: LazyLock<quanta::Clock> = LazyLock::new(quanta::Clock::new);

// Tests of deadlines and expiries pause tokio's clock.
#[cfg(any(test, feature = "testing"))]
static CLOCK: LazyLock<TokioClock> = LazyLock::new(|| TokioClock(Instant::now()));

/// Tokio's clock, in nanoseconds.
#[cfg(any(test, feature = "testing"))]
struct TokioClock(Instant);

#[cfg(any(test, feature = "testing"))]
impl TokioClock {
    fn raw(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    #[allow(clippy::unused_self, reason = "the signature of the other clock")]
    fn delta(&self, start: u64, end: u64) -> Duration {
        Duration::from_nanos(end.saturating_sub(start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_are_exact() {
        let texts = [0, 500, 1_000, 1_250, 800_000, 30_000_000]
            .map(|micros| milliseconds(Duration::from_micros(micros)));
        assert_eq!(texts, ["0", "0.5", "1", "1.25", "800", "30000"]);
    }
}
