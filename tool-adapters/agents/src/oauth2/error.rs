//! Errors of OAuth 2 grants.

use std::time::Duration;
use thiserror::Error;
use tool_core::agents::{AgentError, RefreshError};
use tool_core::text::truncate;
use tool_core::trace::Redaction;

/// Longest text of a provider that is shown, in characters.
const MAX_PROVIDER_TEXT: usize = 200;

/// A grant was not begun, completed or refreshed. No text of it contains a token, a code, a state
/// or a secret.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum OAuth2Error {
    /// The agent has no record of the toolset, the store is down, or there is no key.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The toolset is not registered, or does not use OAuth 2.
    #[error("there is no toolset `{}` that takes an OAuth 2 grant", tool.escape_debug())]
    NoGrant {
        /// The toolset's name.
        tool: String,
    },
    /// No client was added for the provider.
    #[error("no OAuth 2 client is registered for `{}`; add one with `OAuth2Clients::client`", provider.escape_debug())]
    NoClient {
        /// The provider's name.
        provider: String,
    },
    /// The client, or a URL of the toolset's grant, is invalid.
    #[error("invalid OAuth 2 client: {0}")]
    Client(String),
    /// The provider denied the request: the person did not agree (`access_denied`), or the request
    /// is invalid.
    #[error("the provider denied the request: {error}{}", description.as_ref().map_or_else(String::new, |text| format!(" ({text})")))]
    Denied {
        /// The provider's error code.
        error: String,
        /// The provider's description.
        description: Option<String>,
    },
    /// The browser's request is not a valid callback.
    #[error("invalid OAuth 2 callback: {0}")]
    Callback(String),
    /// The state is missing, was changed, or was made by another program.
    #[error("the callback's state was not created by this program; begin again")]
    ForgedState,
    /// The person took longer than 10 minutes. Begin again.
    #[error("the callback came too late; begin again")]
    ExpiredState,
    /// The authorisation was begun for another agent.
    #[error("the authorisation was begun for another agent")]
    ForeignState,
    /// The callback was used before. Begin again.
    #[error("the callback was used before; begin again")]
    UsedState,
    /// The provider issues no tokens for the request, and repeating it does not help.
    #[error("the provider refused to issue tokens: {0}")]
    Refused(String),
    /// The grant, or the code, is no longer valid.
    #[error("the grant is no longer valid: {0}")]
    Revoked(String),
    /// The provider cannot be reached, or failed. Begin again.
    #[error("the provider is not available: {0}")]
    Transient(String),
    /// The provider is too busy and asks for a pause (`Retry-After`). Begin again after it.
    #[error("the provider is not available: {reason}")]
    Busy {
        /// The provider's answer.
        reason: String,
        /// The pause that it asks for.
        retry_after: Duration,
    },
}

impl From<OAuth2Error> for RefreshError {
    fn from(error: OAuth2Error) -> Self {
        match error {
            OAuth2Error::Revoked(reason) => Self::Revoked(reason),
            OAuth2Error::Transient(reason) => Self::Transient(reason),
            OAuth2Error::Busy {
                reason,
                retry_after,
            } => Self::Busy {
                reason,
                retry_after,
            },
            OAuth2Error::Refused(reason) => Self::Refused(reason),
            other => Self::Refused(other.to_string()),
        }
    }
}

/// Returns a provider's text, shortened and redacted.
pub fn shown(text: &str) -> String {
    truncate(&Redaction::new().text(text), MAX_PROVIDER_TEXT)
}
