//! The tokens of OAuth 2 grants, as they stand in a toolset's secrets, and who refreshes them.

use crate::schema::timestamp::Timestamp;
use crate::tool::auth::OAuth2;
use crate::tool::configure::secret::{Secret, SecretDocument};
use serde_json::{Map, Value};
use std::fmt;
use std::pin::Pin;

const ACCESS: &str = "access_token";
const REFRESH: &str = "refresh_token";
const EXPIRES: &str = "expires_at";
const SCOPE: &str = "scope";

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

    /// The tokens among a toolset's secrets; nothing where there is neither of the two. `expires_at` may be a number of
    /// seconds since 1970 too, as other programs write it.
    pub fn of(secrets: &SecretDocument) -> Option<Self> {
        secrets.with_value(|value| {
            let text = |name: &str| value.get(name)?.as_str().filter(|text| !text.is_empty());
            let expires_at = value.get(EXPIRES).and_then(|at| match at {
                Value::String(text) => text.parse().ok(),
                other => jiff::Timestamp::from_second(other.as_i64()?).ok().map(Timestamp),
            });
            let (access, refresh) = (text(ACCESS), text(REFRESH).map(Secret::from));
            (access.is_some() || refresh.is_some()).then(|| Self {
                access: access.unwrap_or_default().into(),
                refresh,
                expires_at,
                scope: text(SCOPE).map(str::to_owned),
            })
        })?
    }

    /// The secrets with these tokens in the place of theirs, and all else as it was. Nothing where the secrets are no
    /// JSON object.
    pub fn put_into(&self, secrets: &SecretDocument) -> Option<SecretDocument> {
        // The copy is wiped by `from_value`, what it was made of by `with_value`.
        let Some(Value::Object(mut members)) = secrets.with_value(Clone::clone) else { return None };
        let mut put = |name: &str, text: Option<String>| set(&mut members, name, text);
        put(ACCESS, Some(self.access.expose().to_owned()));
        put(REFRESH, self.refresh.as_ref().map(|refresh| refresh.expose().to_owned()));
        put(EXPIRES, self.expires_at.map(|at| at.to_string()));
        put(SCOPE, self.scope.clone());
        Some(SecretDocument::from_value(Value::Object(members)))
    }

    /// The secrets without what is none: when a token expires and what it is for may be told, in words that stand in
    /// other sentences too.
    pub(crate) fn without_plain(secrets: &SecretDocument) -> SecretDocument {
        let Some(Value::Object(mut members)) = secrets.with_value(Clone::clone) else { return secrets.clone() };
        for name in [EXPIRES, SCOPE] {
            set(&mut members, name, None);
        }
        SecretDocument::from_value(Value::Object(members))
    }

    /// What a refresh leaves out stays what it was.
    pub(crate) fn after(mut self, before: &Self) -> Self {
        self.refresh = self.refresh.filter(|token| !token.is_empty()).or_else(|| before.refresh.clone());
        self.scope = self.scope.or_else(|| before.scope.clone());
        self
    }
}

/// Puts a text in the place of what is wiped.
fn set(members: &mut Map<String, Value>, name: &str, text: Option<String>) {
    let before = match text {
        Some(text) => members.insert(name.to_owned(), Value::String(text)),
        None => members.shift_remove(name),
    };
    // Wipes it.
    drop(before.map(SecretDocument::from_value));
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
