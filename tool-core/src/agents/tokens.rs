//! The tokens of OAuth 2 grants.

use crate::call::error::ToolError;
use crate::schema::timestamp::Timestamp;
use crate::tool::{OAuth2, Secret, SecretDocument};
use serde_json::{Map, Value};
use std::pin::Pin;
use std::time::{Duration, Instant};
use thiserror::Error;

const ACCESS: &str = "access_token";
const REFRESH: &str = "refresh_token";
const EXPIRES: &str = "expires_at";
const SCOPE: &str = "scope";
/// The state of the refreshes of the tokens: a [`RefreshState`](crate::agents::rests::RefreshState).
pub(crate) const STATE: &str = "refresh_state";

/// A token is refreshed this long before it expires.
const REFRESH_BEFORE: Duration = Duration::from_secs(60);

/// The tokens of a grant.
///
/// A toolset's secrets hold them as `access_token`, `refresh_token`, `expires_at` (RFC 3339) and
/// `scope`, beside the toolset's other secrets.
///
/// ```
/// use tool_core::agents::Tokens;
/// use tool_core::serde_json::json;
/// use tool_core::tool::SecretDocument;
///
/// let stored = SecretDocument::from_value(json!({"access_token": "a-1", "refresh_token": "r-1", "pin": "1234"}));
/// let before = Tokens::of(&stored).expect("tokens");
/// assert_eq!(before.refresh.expect("a refresh token").expose(), "r-1");
///
/// let mut after = Tokens::new("a-2");
/// after.expires_at = Some("2026-11-25T12:00:00Z".parse()?);
/// let stored = after.put_into(&stored).expect("an object"); // the pin stays
/// assert!(stored.expose().contains("1234") && !stored.expose().contains("r-1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Tokens {
    /// The access token, which a service accepts.
    pub access: Secret,
    /// The refresh token. Without it a person must grant access again when the access token has
    /// expired.
    pub refresh: Option<Secret>,
    /// The time at which the access token expires. Without it the token is used until the service
    /// refuses it.
    pub expires_at: Option<Timestamp>,
    /// The scopes that were granted, if the provider named them.
    pub scope: Option<String>,
}

impl Tokens {
    /// Creates tokens of which only the access token is known.
    pub fn new(access: impl Into<Secret>) -> Self {
        Self {
            access: access.into(),
            refresh: None,
            expires_at: None,
            scope: None,
        }
    }

    /// Reads the tokens among a toolset's secrets. Returns `None` if there is neither an access nor
    /// a refresh token. `expires_at` may also be a number of seconds since 1970, as some programs
    /// write it. Where it is neither, the token counts as expired if there is a refresh token.
    pub fn of(secrets: &SecretDocument) -> Option<Self> {
        secrets.with_value(|value| {
            let text = |name: &str| value.get(name)?.as_str().filter(|text| !text.is_empty());
            let access = text(ACCESS);
            let refresh = text(REFRESH).map(Secret::from);
            let read = |at: &Value| match at {
                Value::String(text) => text.parse().ok(),
                other => jiff::Timestamp::from_second(other.as_i64()?)
                    .ok()
                    .map(Timestamp),
            };
            // Without the time, the token would be used for ever after it has expired.
            let unreadable = || {
                refresh
                    .as_ref()
                    .map(|_| Timestamp(jiff::Timestamp::UNIX_EPOCH))
            };
            let expires_at = value.get(EXPIRES).filter(|at| !at.is_null());
            let expires_at = expires_at.and_then(|at| read(at).or_else(unreadable));
            (access.is_some() || refresh.is_some()).then(|| Self {
                access: access.unwrap_or_default().into(),
                refresh,
                expires_at,
                scope: text(SCOPE).map(str::to_owned),
            })
        })?
    }

    /// Returns true if a toolset's secrets hold nothing but tokens.
    pub(crate) fn are_all_of(secrets: &SecretDocument) -> bool {
        let is_token =
            |name: &String| [ACCESS, REFRESH, EXPIRES, SCOPE, STATE].contains(&name.as_str());
        secrets.with_value(|value| {
            value
                .as_object()
                .is_some_and(|all| all.keys().all(is_token))
        }) == Some(true)
    }

    /// Returns the secrets with these tokens instead of theirs, and all else unchanged. Returns
    /// `None` if the secrets are not a JSON object.
    pub fn put_into(&self, secrets: &SecretDocument) -> Option<SecretDocument> {
        secrets.with_members(|members| {
            set(members, ACCESS, Some(self.access.expose().to_owned()));
            set(
                members,
                REFRESH,
                self.refresh
                    .as_ref()
                    .map(|refresh| refresh.expose().to_owned()),
            );
            set(members, EXPIRES, self.expires_at.map(|at| at.to_string()));
            set(members, SCOPE, self.scope.clone());
            set(members, STATE, None);
        })
    }

    /// Returns the secrets without the members that are not secret, and whose texts may appear
    /// elsewhere.
    pub(crate) fn without_plain(secrets: &SecretDocument) -> SecretDocument {
        let removed = secrets.with_members(|members| {
            for name in [EXPIRES, SCOPE, STATE] {
                set(members, name, None);
            }
        });
        removed.unwrap_or_else(|| secrets.clone())
    }

    /// Returns true if both tokens are the same.
    pub(crate) fn are_those_of(&self, other: &Self) -> bool {
        fn texts(tokens: &Tokens) -> (&str, Option<&str>) {
            (
                tokens.access.expose(),
                tokens.refresh.as_ref().map(Secret::expose),
            )
        }
        texts(self) == texts(other)
    }

    /// Fills in what the provider's answer to a refresh left out.
    pub(crate) fn or(mut self, before: &Self) -> Self {
        self.refresh = self
            .refresh
            .filter(|token| !token.is_empty())
            .or_else(|| before.refresh.clone());
        self.scope = self.scope.or_else(|| before.scope.clone());
        self
    }
}

fn set(members: &mut Map<String, Value>, name: &str, text: Option<String>) {
    let before = match text {
        Some(text) => members.insert(name.to_owned(), Value::String(text)),
        None => members.shift_remove(name),
    };
    // `from_value` wipes it.
    drop(before.map(SecretDocument::from_value));
}

/// Exchanges refresh tokens for new tokens. `tool-adapters` has an implementation (feature
/// `oauth2`).
pub trait TokenRefresher: Send + Sync + 'static {
    /// Asks the provider for new tokens. A grant is refreshed by one caller at a time, over all
    /// processes.
    fn refresh<'a>(
        &'a self,
        grant: &'a OAuth2,
        refresh: &'a Secret,
    ) -> Pin<Box<dyn Future<Output = Result<Tokens, RefreshError>> + Send + 'a>>;
}

/// A refresh failed. The texts must not contain secrets.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RefreshError {
    /// The grant was revoked, or its refresh token was used before. A person must grant access
    /// again.
    #[error("the grant is no longer valid, a person has to grant access again: {0}")]
    Revoked(String),
    /// The provider cannot be reached, or failed. A later try may succeed.
    #[error("refreshing the token failed: {0}")]
    Transient(String),
    /// The provider is too busy, and asks for a pause (`Retry-After`).
    #[error("refreshing the token failed: {reason}")]
    Busy {
        /// The provider's answer.
        reason: String,
        /// The pause that it asks for.
        retry_after: Duration,
    },
    /// The refresh will fail until the setup changes, for example because no client is registered
    /// for the provider.
    #[error("the token cannot be refreshed: {0}")]
    Refused(String),
}

/// A refresh failed, or there is nothing to refresh with.
#[derive(Clone)]
pub(crate) struct TokenFailure {
    pub(crate) error: ToolError,
    /// The grant was revoked, so that the old access token is invalid too.
    pub(crate) revoked: bool,
}

impl From<ToolError> for TokenFailure {
    fn from(error: ToolError) -> Self {
        Self {
            error,
            revoked: false,
        }
    }
}

/// Tokens in memory, and the time to refresh them.
#[derive(Clone)]
pub(crate) struct HeldTokens {
    pub(crate) tokens: Tokens,
    /// The service has refused the access token.
    pub(crate) is_refused: bool,
    /// By the system clock, which may be set, and by the monotonic clock, which may stop while the
    /// machine sleeps.
    refresh_at: Option<(jiff::Timestamp, Instant)>,
}

impl HeldTokens {
    /// Tokens of unknown age.
    pub(crate) fn stored(tokens: Tokens) -> Self {
        Self::with(tokens, |_| REFRESH_BEFORE)
    }

    /// New tokens. Those that live for less than two minutes are refreshed after half their life.
    pub(crate) fn fresh(tokens: Tokens) -> Self {
        Self::with(tokens, |left| REFRESH_BEFORE.min(left / 2))
    }

    /// The same tokens, of which the service has refused the access token.
    pub(crate) fn refused(self) -> Self {
        Self {
            is_refused: true,
            ..self
        }
    }

    fn with(tokens: Tokens, before: impl FnOnce(Duration) -> Duration) -> Self {
        let now = jiff::Timestamp::now();
        let refresh_at = tokens.expires_at.map(|at| {
            let left = until(*at, now);
            let wait = left.saturating_sub(before(left));
            (
                now.saturating_add(wait).unwrap_or(*at),
                Instant::now() + wait,
            )
        });
        Self {
            tokens,
            is_refused: false,
            refresh_at,
        }
    }

    /// Returns true if it is time to refresh the tokens.
    pub(crate) fn is_due(&self) -> bool {
        let is_due =
            |(wall, monotonic)| jiff::Timestamp::now() >= wall || Instant::now() >= monotonic;
        self.tokens.access.is_empty() || self.refresh_at.is_some_and(is_due)
    }

    /// Returns how long the access token is still valid, or `None` if it is not.
    pub(crate) fn valid_for(&self) -> Option<Duration> {
        if self.tokens.access.is_empty() || self.is_refused {
            return None;
        }
        let left = self
            .tokens
            .expires_at
            .map_or(Duration::MAX, |at| until(*at, jiff::Timestamp::now()));
        Some(left).filter(|left| !left.is_zero())
    }
}

fn until(at: jiff::Timestamp, now: jiff::Timestamp) -> Duration {
    Duration::try_from(at.duration_since(now)).unwrap_or_default()
}
