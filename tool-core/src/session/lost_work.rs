//! The messages about work whose process has ended, or whose record cannot be trusted.

use std::fmt;

/// Returns the message about work that may have changed something, and whose process has ended. The
/// caller adds what to do about it.
#[doc(hidden)]
pub fn lost_work(name: &str, started_at: impl fmt::Display) -> String {
    format!(
        "`{name}` was started at {started_at} by a process that then ended; it is unknown whether it took effect, and it was \
         not run again."
    )
}

/// Returns the message about work whose record was changed by someone else.
#[doc(hidden)]
pub fn untrusted_work(name: &str) -> String {
    format!(
        "the record of an earlier call of `{name}` with this id cannot be trusted; it is unknown whether it took effect, and \
         it was not run again."
    )
}
