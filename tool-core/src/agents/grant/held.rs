//! Tokens and when they have to be refreshed.

use super::BEFORE;
use crate::agents::Tokens;
use std::time::{Duration, Instant};

/// Tokens that a process holds.
#[derive(Clone)]
pub(super) struct Held {
    pub(super) tokens: Tokens,
    /// When to refresh them, by both clocks: one may be set, the other stands still while the machine sleeps.
    due: Option<(jiff::Timestamp, Instant)>,
}

impl Held {
    /// Tokens that were found: nobody knows how long they are meant to live.
    pub(super) fn found(tokens: Tokens) -> Self {
        Self::with(tokens, |_| BEFORE)
    }

    /// Tokens that are new. Half their life is long enough before the end of those that live but a minute or two.
    pub(super) fn fresh(tokens: Tokens) -> Self {
        Self::with(tokens, |left| BEFORE.min(left / 2))
    }

    fn with(tokens: Tokens, before: impl FnOnce(Duration) -> Duration) -> Self {
        let now = jiff::Timestamp::now();
        let due = tokens.expires_at.map(|at| {
            let left = until(*at, now);
            let wait = left.saturating_sub(before(left));
            (now.saturating_add(wait).unwrap_or(*at), Instant::now() + wait)
        });
        Self { tokens, due }
    }

    /// Whether it is time to refresh them.
    pub(super) fn is_due(&self) -> bool {
        let due = |(wall, steady)| jiff::Timestamp::now() >= wall || Instant::now() >= steady;
        self.tokens.access.is_empty() || self.due.is_some_and(due)
    }

    /// How long the access token is still good; nothing where it is not.
    pub(super) fn left(&self) -> Option<Duration> {
        if self.tokens.access.is_empty() {
            return None;
        }
        let left = self.tokens.expires_at.map_or(Duration::MAX, |at| until(*at, jiff::Timestamp::now()));
        Some(left).filter(|left| !left.is_zero())
    }

    /// These, if they are others than `known` and good.
    pub(super) fn newer(tokens: &Tokens, known: &Self) -> Option<Self> {
        let other = tokens.access.expose() != known.tokens.access.expose();
        let found = Self::fresh(tokens.clone());
        (other && found.left().is_some()).then_some(found)
    }
}

fn until(at: jiff::Timestamp, now: jiff::Timestamp) -> Duration {
    Duration::try_from(at.duration_since(now)).unwrap_or_default()
}
