//! Errors of logins.

use crate::auth::fetch::FetchError;
use crate::auth::metadata::IssuerError;
use tool_adapters_agents::oauth2::{OAuth2Error, shown};

/// A login at a server was not possible. No text of it contains a token, a code or a secret.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LoginError {
    /// The login has invalid settings.
    #[error("invalid login: {0}")]
    Settings(String),
    /// The metadata of the server, or of its authorization server, is missing or unsound.
    #[error("failed to find the server's authorization server: {0}")]
    Discovery(String),
    /// The client is registered at another authorization server than the one that the server names.
    #[error(
        "expected the issuer `{expected}`, at which the client is registered, got `{got}`; the server may have moved, or \
         asks for credentials that are not its own"
    )]
    OtherIssuer {
        /// The issuer of the settings.
        expected: String,
        /// The issuer that the server names.
        got: String,
    },
    /// The authorization server does not register this client.
    #[error("the authorization server does not register the client: {0}")]
    Registration(String),
    /// A person has to sign in by another program. The text is the hint of [`OAuthLogin::stored`](super::OAuthLogin::stored).
    #[error("{0}")]
    Required(String),
    /// The function of the program that asks the person failed.
    #[error("failed to ask for the login: {0}")]
    Ask(String),
    /// The person denied the request, or the authorization server did.
    #[error("the login was denied: {0}")]
    Denied(String),
    /// The browser came back with an invalid request.
    #[error("invalid callback of the login: {0}")]
    Callback(String),
    /// The person did not answer within [`OAuthLogin::timeout`](super::OAuthLogin::timeout).
    #[error("the login was not completed in time; begin again")]
    Timeout,
    /// The server asks for a login again and again.
    #[error(
        "the server asked for a login {0} times in a few minutes; it may not accept its own tokens"
    )]
    TooMany(usize),
    /// The authorization server issues no token.
    #[error("the authorization server issued no token: {0}")]
    Refused(String),
    /// The grant of the login, or its code, is no longer valid.
    #[error("the authorization server has ended the login: {0}")]
    Revoked(String),
    /// The authorization server cannot be reached.
    #[error("the authorization server is not available: {0}")]
    Unavailable(String),
    /// The store of logins failed.
    #[error("the store of logins failed: {0}")]
    Store(String),
}

impl From<FetchError> for LoginError {
    fn from(error: FetchError) -> Self {
        match error {
            FetchError::Unreachable { .. } | FetchError::Status(..) => {
                Self::Unavailable(shown(&error.to_string()))
            }
            error => Self::Discovery(shown(&error.to_string())),
        }
    }
}

impl From<IssuerError> for LoginError {
    fn from(error: IssuerError) -> Self {
        match error {
            IssuerError::Fetch(error) => error.into(),
            IssuerError::Missing { tried, .. } if tried.is_unavailable() => {
                Self::Unavailable(tried.to_string())
            }
            error @ IssuerError::Missing { .. } => Self::Discovery(error.to_string()),
        }
    }
}

impl From<OAuth2Error> for LoginError {
    fn from(error: OAuth2Error) -> Self {
        match error {
            OAuth2Error::Denied { error, description } => Self::Denied(
                description.map_or_else(|| error.clone(), |text| format!("{error} ({text})")),
            ),
            OAuth2Error::Callback(problem) => Self::Callback(problem),
            OAuth2Error::Transient(reason) | OAuth2Error::Busy { reason, .. } => {
                Self::Unavailable(reason)
            }
            OAuth2Error::Refused(reason) => Self::Refused(reason),
            OAuth2Error::Revoked(reason) => Self::Revoked(reason),
            error => Self::Settings(error.to_string()),
        }
    }
}
