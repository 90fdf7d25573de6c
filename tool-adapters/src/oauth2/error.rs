//! What can be wrong with a grant.

use std::fmt;
use tool_core::agents::AgentError;
use tool_core::agents::RefreshError;
use tool_core::text::truncate;
use tool_core::trace::Redaction;

/// How much of a provider's own words is shown.
const WORDS: usize = 200;

/// Why a grant was not begun or completed. No text of it shows a token, a code, a state or a secret.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum OAuth2Error {
    /// The record: there is none, the store is down, there is no key.
    Agent(AgentError),
    /// The toolset is not known, or needs no grant.
    NoGrant {
        /// Its name.
        tool: String,
    },
    /// No client is registered here for the provider.
    NoClient {
        /// Its name.
        provider: String,
    },
    /// The client, or a URL of the toolset's grant, is set up wrongly.
    Client(String),
    /// The provider said no: the person did not agree (`access_denied`), or something is wrong with the request.
    Denied {
        /// The provider's word for it.
        error: String,
        /// And more of its words.
        description: Option<String>,
    },
    /// What the browser came back with is no answer.
    Callback(String),
    /// The state is missing, was changed, or was made by somebody else.
    ForgedState,
    /// It took the person longer than 10 minutes. Begin again.
    ExpiredState,
    /// It was begun for another agent.
    ForeignState,
    /// The answer was used before. Begin again.
    UsedState,
    /// The provider gives no tokens for it, however often it is asked.
    Refused(String),
    /// The grant, or the code, is no longer good.
    Revoked(String),
    /// The provider cannot be reached, or failed. Begin again.
    Transient(String),
}

impl OAuth2Error {
    pub(super) fn denied(error: &str, description: Option<&str>) -> Self {
        Self::Denied { error: shown(error), description: description.map(shown) }
    }

    pub(super) fn of_refresh(self) -> RefreshError {
        match self {
            Self::Revoked(why) => RefreshError::Revoked(why),
            Self::Transient(why) => RefreshError::Transient(why),
            Self::Refused(why) => RefreshError::Refused(why),
            other => RefreshError::Refused(other.to_string()),
        }
    }
}

/// Somebody else's words, short and without what looks like a secret.
pub(super) fn shown(text: &str) -> String {
    truncate(&Redaction::new().text(text), WORDS)
}

impl From<AgentError> for OAuth2Error {
    fn from(error: AgentError) -> Self {
        Self::Agent(error)
    }
}

impl fmt::Display for OAuth2Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent(error) => error.fmt(f),
            Self::NoGrant { tool } => {
                write!(f, "`{}` is no toolset that takes an OAuth 2 grant", tool.escape_debug())
            }
            Self::NoClient { provider } => write!(
                f,
                "no OAuth 2 client is registered for `{}`; add one with `OAuth2Clients::client`",
                provider.escape_debug()
            ),
            Self::Client(why) => write!(f, "the OAuth 2 client is set up wrongly: {why}"),
            Self::Denied { error, description: None } => write!(f, "the provider said no: {error}"),
            Self::Denied { error, description: Some(more) } => write!(f, "the provider said no: {error} ({more})"),
            Self::Callback(why) => write!(f, "this is no answer of a provider: {why}"),
            Self::ForgedState => f.write_str("the state of the answer is not one that was made here; begin again"),
            Self::ExpiredState => f.write_str("the answer came too late; begin again"),
            Self::ForeignState => f.write_str("the answer is to what was begun for another agent"),
            Self::UsedState => f.write_str("the answer was used before; begin again"),
            Self::Refused(why) => write!(f, "the provider gives no tokens: {why}"),
            Self::Revoked(why) => write!(f, "the grant is no longer good: {why}"),
            Self::Transient(why) => write!(f, "the provider could not be asked now: {why}"),
        }
    }
}

impl std::error::Error for OAuth2Error {}
