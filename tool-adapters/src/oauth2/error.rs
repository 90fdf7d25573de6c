//! What can be wrong with a grant.

use oauth2::http::StatusCode;
use oauth2::url::{Host, Url};
use serde_json::{Value, json};
use std::fmt;
use tool_core::agents::{AgentError, RefreshError};
use tool_core::text::truncate;
use tool_core::tool::SecretDocument;
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
    pub(crate) fn denied(error: &str, description: Option<&str>) -> Self {
        Self::Denied { error: shown(error), description: description.map(shown) }
    }

    pub(crate) fn of_refresh(self) -> RefreshError {
        match self {
            Self::Revoked(why) => RefreshError::Revoked(why),
            Self::Transient(why) => RefreshError::Transient(why),
            Self::Refused(why) => RefreshError::Refused(why),
            other => RefreshError::Refused(other.to_string()),
        }
    }
}

/// Somebody else's words, short and without what looks like a secret.
pub(crate) fn shown(text: &str) -> String {
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

// ---- Answers of token endpoints in the standard's form, as providers have their own ways.

/// An answer as RFC 6749 wants it. Some providers tell errors with status 200 (GitHub), success with 201, leave the
/// type of the token out, or write its lifetime as a text (Microsoft's older endpoint) or a fraction. What is no JSON
/// object stays as it is.
pub(crate) fn answer(status: StatusCode, body: &[u8]) -> (StatusCode, Vec<u8>) {
    let Ok(Value::Object(mut members)) = serde_json::from_slice::<Value>(body) else {
        return (status, body.to_vec());
    };
    let has_token = members.get("access_token").is_some_and(|token| !token.is_null());
    let status = match status {
        success if success.is_success() && has_token => StatusCode::OK,
        success if success.is_success() && members.contains_key("error") => StatusCode::BAD_REQUEST,
        other => other,
    };
    if has_token {
        members.entry("token_type").or_insert_with(|| json!("bearer"));
        if let Some(lifetime) = members.get_mut("expires_in") {
            *lifetime = seconds(lifetime).map_or(Value::Null, Value::from);
        }
        // Without it, `null` for a refresh token that there is none of would be no text.
        members.retain(|_, value| !value.is_null());
    }
    // Wipes what it is made of.
    (status, SecretDocument::from_value(Value::Object(members)).expose().into())
}

fn seconds(lifetime: &Value) -> Option<u64> {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // floored; what is out of range is cut to it
    let whole = |number: f64| (number.is_finite() && number >= 0.0).then_some(number as u64);
    lifetime.as_u64().or_else(|| lifetime.as_f64().and_then(whole)).or_else(|| lifetime.as_str()?.trim().parse().ok())
}

// ---- URLs that tokens and codes may go to.

/// Encrypted, unless it is this machine. A redirect URL may be an app's own scheme too.
pub(crate) fn check(what: &str, url: &str, own_scheme: bool) -> Result<(), OAuth2Error> {
    let shown = url.escape_debug();
    let wrong = |why: &str| Err(OAuth2Error::Client(format!("the {what} `{shown}` {why}")));
    let Ok(parsed) = Url::parse(url) else { return wrong("is no URL") };
    if !parsed.username().is_empty() || parsed.password().is_some() {
        // Not shown: there is a password in it.
        return Err(OAuth2Error::Client(format!("the {what} holds a name or a password")));
    }
    if parsed.fragment().is_some() {
        return wrong("has a fragment, which no server would see");
    }
    match parsed.scheme() {
        "https" => Ok(()),
        "http" if is_loopback(&parsed) => Ok(()),
        "http" => wrong("is not encrypted; use https"),
        _ if own_scheme => Ok(()),
        _ => wrong("is not https"),
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}
