//! Arithmetic on times that does not overflow.

use std::time::Duration;
use tokio::time::Instant;

/// The longest time that is added to an instant: a hundred years.
pub const CENTURY: Duration = Duration::from_hours(24 * 365 * 100);

/// Returns the instant after a time of any length. More than [`CENTURY`] counts as a century, because adding a longer time
/// to an instant may panic.
///
/// ```
/// use std::time::Duration;
/// use tokio::time::Instant;
///
/// let now = Instant::now();
/// assert_eq!(tool_core::time::after(now, Duration::from_secs(5)), now + Duration::from_secs(5));
/// assert!(tool_core::time::after(now, Duration::MAX) > now + Duration::from_hours(24 * 365));
/// ```
#[must_use]
#[inline]
pub fn after(start: Instant, time: Duration) -> Instant {
    start + time.min(CENTURY)
}
