//! Refreshes that failed, and the time until which the provider is not asked again.
//!
//! A process notes its own failures by a clock that nothing sets back. The other processes read
//! them in the record, with the time at which they end.

use crate::agents::tokens::{STATE, TokenFailure, Tokens};
use crate::schema::timestamp::Timestamp;
use crate::tool::SecretDocument;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::HashMap;
use std::time::Duration;
use tokio::time::Instant;

/// Shortest pause after a failed refresh. It doubles with each further failure.
const MIN_REST: Duration = Duration::from_secs(1);
/// Longest pause that doubling leads to.
const MAX_BACKOFF: Duration = Duration::from_secs(5 * 60);
/// Longest pause that a provider may ask for.
const MAX_REST: Duration = Duration::from_secs(3_600);

/// Number of rests after which those that are over are dropped from the list.
const MAX_RESTS: usize = 10_000;

/// The part of a record about the refreshes of its tokens, beside them. All processes read it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RefreshState {
    /// The access token has replaced one that the service refused. It is not replaced for this
    /// reason again.
    #[serde(default)]
    pub(crate) replaces_refused: bool,
    /// The last refresh, if it failed.
    #[serde(default)]
    pub(crate) failed: Option<FailedRefresh>,
}

/// A refresh that failed, and the time until which the provider is not asked again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FailedRefresh {
    /// The reason, without secrets.
    pub(crate) reason: String,
    /// Number of failures in a row.
    pub(crate) times: u32,
    /// `None` if the grant was revoked: the provider is not asked until a person grants access
    /// again.
    pub(crate) until: Option<Timestamp>,
}

impl RefreshState {
    /// Reads the state among a toolset's secrets.
    pub(crate) fn of(secrets: &SecretDocument) -> Self {
        let read = |value: &Value| Self::deserialize(value.get(STATE)?).ok();
        secrets.with_value(read).flatten().unwrap_or_default()
    }

    /// Returns the secrets with this state. Returns `None` if they are not a JSON object.
    pub(crate) fn put_into(&self, secrets: &SecretDocument) -> Option<SecretDocument> {
        let state = Some(self).filter(|state| **state != Self::default());
        let state = state.and_then(|state| serde_json::to_value(state).ok());
        secrets.with_members(|members| match state {
            Some(state) => _ = members.insert(STATE.to_owned(), state),
            None => _ = members.shift_remove(STATE),
        })
    }
}

impl FailedRefresh {
    /// Returns true if the provider is not to be asked yet. An end that lies too far ahead comes
    /// from a clock that was wrong.
    pub(crate) fn is_running(&self) -> bool {
        let Some(until) = self.until else { return true };
        let left = until.duration_since(jiff::Timestamp::now());
        Duration::try_from(left).is_ok_and(|left| !left.is_zero() && left <= MAX_REST)
    }
}

/// Returns how long the provider is left alone after so many failures in a row: the time that it
/// asked for, or a longer one that doubles with each failure.
pub(crate) fn pause_after(times: u32, asked: Option<Duration>) -> Duration {
    let backoff = MIN_REST
        .saturating_mul(2_u32.saturating_pow(times.saturating_sub(1)))
        .min(MAX_BACKOFF);
    asked.unwrap_or_default().max(backoff).min(MAX_REST)
}

/// The agent, the toolset and the digest of the bound settings of a grant.
pub(crate) type GrantKey = (String, String, String);

/// The last failed refresh of a grant in this process.
#[derive(Clone)]
pub(crate) struct Rest {
    /// The tokens of the record. Other tokens may be refreshed at once.
    pub(crate) tokens: Tokens,
    /// Number of failures in a row.
    pub(crate) times: u32,
    /// `None` if the grant was revoked.
    pub(crate) until: Option<Instant>,
    pub(crate) failure: TokenFailure,
}

impl Rest {
    /// Returns true if the provider is not to be asked yet.
    pub(crate) fn is_running(&self) -> bool {
        self.until.is_none_or(|until| Instant::now() < until)
    }
}

/// The failed refreshes of this process.
#[derive(Default)]
pub(crate) struct Rests(Mutex<HashMap<GrantKey, Rest>>);

impl Rests {
    /// Returns the last refresh of these tokens, if it failed.
    pub(crate) fn get(&self, key: &GrantKey, tokens: &Tokens) -> Option<Rest> {
        self.0
            .lock()
            .get(key)
            .filter(|rest| rest.tokens.are_those_of(tokens))
            .cloned()
    }

    pub(crate) fn insert(&self, key: GrantKey, rest: Rest) {
        let mut all = self.0.lock();
        all.insert(key, rest);
        if all.len() > MAX_RESTS {
            all.retain(|_, rest| rest.until.is_some() && rest.is_running());
        }
    }

    pub(crate) fn remove(&self, key: &GrantKey) {
        self.0.lock().remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn pauses_double_and_honour_the_provider() {
        let seconds =
            |times, asked: u64| pause_after(times, Some(Duration::from_secs(asked))).as_secs();
        assert_eq!(
            [1, 2, 3, 8, 9, 10, u32::MAX].map(|times| seconds(times, 0)),
            [1, 2, 4, 128, 256, 300, 300]
        );
        assert_eq!(
            [seconds(1, 77), seconds(10, 77), seconds(1, u64::MAX)],
            [77, 300, 3600]
        );
    }

    #[test]
    fn failure_that_ends_too_late_is_over() {
        let at = |seconds| {
            Some(Timestamp(
                jiff::Timestamp::now() + jiff::SignedDuration::from_secs(seconds),
            ))
        };
        let is_running = |until| {
            FailedRefresh {
                reason: String::new(),
                times: 1,
                until,
            }
            .is_running()
        };
        assert!(is_running(None) && is_running(at(60)) && is_running(at(3600)));
        assert!(!is_running(at(-1)) && !is_running(at(4000)));
    }

    #[test]
    fn unreadable_state_is_none() {
        for state in [
            json!(7),
            json!({"failed": {"until": "soon"}}),
            json!({"replaces_refused": "yes"}),
            json!(null),
        ] {
            let secrets =
                SecretDocument::from_value(json!({"access_token": "a", "refresh_state": state}));
            assert_eq!(RefreshState::of(&secrets), RefreshState::default());
        }
    }
}
