//! The tokens of OAuth 2 grants, as they stand in a toolset's secrets, and who refreshes them.

use crate::Timestamp;
use crate::configure::{OAuth2, Secret};
use std::fmt;
use std::pin::Pin;

/// What a grant gave.
///
/// In the secrets of a toolset these are the members `access_token`, `refresh_token`, `expires_at` (RFC 3339) and
/// `scope`, beside whatever else the toolset's secrets have.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Tokens {
    /// Opens the service.
    pub access: Secret,
    /// Gets the next one. Without it a person has to agree anew when the access token has expired.
    pub refresh: Option<Secret>,
    /// When the access token expires. Without it, it is taken to be good until the service says otherwise.
    pub expires_at: Option<Timestamp>,
    /// What was granted, where that was told.
    pub scope: Option<String>,
}

impl Tokens {
    /// Tokens of which only the first is known.
    pub fn new(access: impl Into<Secret>) -> Self {
        Self { access: access.into(), refresh: None, expires_at: None, scope: None }
    }
}

/// Gets new tokens for old ones: `tool-adapters` has one (feature `oauth2`).
pub trait TokenRefresher: Send + Sync + 'static {
    /// New tokens of a grant. Nobody else refreshes the same grant at the same time.
    fn refresh<'a>(
        &'a self,
        grant: &'a OAuth2,
        refresh: &'a Secret,
    ) -> Pin<Box<dyn Future<Output = Result<Tokens, RefreshError>> + Send + 'a>>;
}

/// Why there are no new tokens. The texts hold no secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefreshError {
    /// The grant was taken back, or is used up: a person has to agree anew.
    Revoked(String),
    /// It may work the next time.
    Transient(String),
    /// It will not work until somebody changes something: no client is registered for the provider, say.
    Refused(String),
}

impl fmt::Display for RefreshError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Revoked(why) => write!(f, "the grant is no longer good, a person has to agree anew: {why}"),
            Self::Transient(why) => write!(f, "the token could not be refreshed now: {why}"),
            Self::Refused(why) => write!(f, "the token cannot be refreshed: {why}"),
        }
    }
}

impl std::error::Error for RefreshError {}
