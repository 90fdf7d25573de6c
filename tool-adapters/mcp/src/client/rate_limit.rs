//! The rate of what a server sends without being asked.

use std::time::Duration;
use tokio::time::Instant;

const WINDOW: Duration = Duration::from_secs(10);

/// Maximum number of messages in a [`WINDOW`].
const MAX_MESSAGES: u32 = 100;

/// A limit of messages in 10 s.
#[derive(Debug)]
pub(crate) struct RateLimit {
    what: &'static str,
    max: u32,
    window: Instant,
    passed: u32,
}

impl RateLimit {
    /// Creates a limit of 100 messages.
    pub(crate) fn new(what: &'static str) -> Self {
        Self::of(what, MAX_MESSAGES)
    }

    /// Creates a limit of this many messages.
    pub(crate) fn of(what: &'static str, max: u32) -> Self {
        Self {
            what,
            max,
            window: Instant::now(),
            passed: 0,
        }
    }

    /// Counts a message. Returns false if it is beyond the limit.
    pub(crate) fn admits(&mut self) -> bool {
        if self.window.elapsed() >= WINDOW {
            self.window = Instant::now();
            self.passed = 0;
        }
        self.passed = self.passed.saturating_add(1);
        if self.passed == self.max + 1 {
            tracing::warn!("a server sends too many {}", self.what);
        }
        self.passed <= self.max
    }
}
