//! What a browser comes back with.

use crate::oauth2::error::OAuth2Error;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use oauth2::url::form_urlencoded;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tool_core::agents::{AgentError, Agents, KeyError, SealedSecrets};
use tool_core::{Secret, Timestamp, jiff};
use zeroize::Zeroizing;

/// Longer ones are not looked at.
const MOST: usize = 16 * 1024;

/// What a browser comes back with: a query, or a code and a state.
#[derive(Clone)]
pub struct Callback(Kind);

#[derive(Clone)]
enum Kind {
    Query(Zeroizing<String>),
    Parts(Parsed),
}

/// What stands in it.
#[derive(Clone, Default)]
pub(crate) struct Parsed {
    code: Option<Secret>,
    pub(crate) state: Secret,
    pub(crate) issuer: Option<String>,
    error: Option<String>,
    description: Option<String>,
}

/// An answer that is no refusal.
pub(crate) struct Answered {
    pub(crate) code: Secret,
}

impl Callback {
    /// A code and the state that came with it.
    pub fn new(code: impl Into<Secret>, state: impl Into<Secret>) -> Self {
        Self(Kind::Parts(Parsed { code: Some(code.into()), state: state.into(), ..Parsed::default() }))
    }

    pub(crate) fn parsed(self) -> Result<Parsed, OAuth2Error> {
        match self.0 {
            Kind::Parts(parts) => Ok(parts),
            Kind::Query(query) if query.len() > MOST => Err(OAuth2Error::Callback("it is too long".into())),
            Kind::Query(query) => parse(&query),
        }
    }
}

/// A query with or without its `?`, or the whole URL.
impl From<&str> for Callback {
    fn from(query: &str) -> Self {
        Self(Kind::Query(Zeroizing::new(query.to_owned())))
    }
}

/// The same.
impl From<String> for Callback {
    fn from(query: String) -> Self {
        Self(Kind::Query(Zeroizing::new(query)))
    }
}

impl fmt::Debug for Callback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

fn parse(query: &str) -> Result<Parsed, OAuth2Error> {
    let query = query.split_once('?').map_or(query, |(_, query)| query);
    let query = query.split('#').next().unwrap_or_default();
    let mut parsed = Parsed::default();
    let mut state = None;
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let twice = match &*name {
            "code" => parsed.code.replace(Secret::from(&*value)).is_some(),
            "state" => state.replace(Secret::from(&*value)).is_some(),
            "iss" => parsed.issuer.replace(value.into_owned()).is_some(),
            "error" => parsed.error.replace(value.into_owned()).is_some(),
            "error_description" => parsed.description.replace(value.into_owned()).is_some(),
            // What providers add, such as `scope` and `session_state`.
            _ => false,
        };
        if twice {
            return Err(OAuth2Error::Callback(format!("`{name}` stands in it twice")));
        }
    }
    parsed.state = state.unwrap_or_default();
    Ok(parsed)
}

impl Parsed {
    /// The code, unless somebody said no.
    pub(crate) fn answered(self) -> Result<Answered, OAuth2Error> {
        if let Some(error) = self.error {
            return Err(OAuth2Error::denied(&error, self.description.as_deref()));
        }
        match self.code.filter(|code| !code.is_empty()) {
            Some(code) => Ok(Answered { code }),
            None => Err(OAuth2Error::Callback("there is no `code` in it".into())),
        }
    }
}

// ---- The `state` of an authorisation: all that completing it takes, sealed, so that nothing is stored.

/// How long a person may take.
const LASTS: Duration = Duration::from_mins(10);
/// What it is sealed for, so that it opens as nothing else.
const PURPOSE: [&str; 3] = ["tool-adapters", "oauth2", "state"];
/// How many used ones are remembered: their codes are good once anyway.
const REMEMBERED: usize = 100_000;

#[derive(Serialize, Deserialize)]
struct Sealed<'a> {
    #[serde(borrow)]
    agent: Cow<'a, str>,
    #[serde(borrow)]
    tool: Cow<'a, str>,
    #[serde(borrow)]
    verifier: Cow<'a, str>,
    expires_at: i64,
}

/// What an opened one says.
pub(crate) struct Opened {
    pub(crate) tool: String,
    pub(crate) verifier: Secret,
}

/// States that this process has taken.
#[derive(Default)]
pub(crate) struct Used(Mutex<HashMap<Vec<u8>, i64>>);

/// A state, and until when it is taken.
pub(crate) fn sealed(
    agents: &Agents,
    agent: &str,
    tool: &str,
    verifier: &str,
) -> Result<(Secret, Timestamp), OAuth2Error> {
    let failed = |why: KeyError| OAuth2Error::Agent(AgentError::new(agent, tool, why));
    let expires_at = jiff::Timestamp::now().saturating_add(LASTS).unwrap_or(jiff::Timestamp::MAX);
    let state = Sealed {
        agent: agent.into(),
        tool: tool.into(),
        verifier: verifier.into(),
        expires_at: expires_at.as_second(),
    };
    let text = serde_json::to_string(&state).map(Zeroizing::new);
    let text = text.map_err(|_| OAuth2Error::Client("the names of agent and toolset are no texts".into()))?;
    let sealed = agents.seal_text(PURPOSE, &text).map_err(failed)?;
    let state = format!("{}.{}", BASE64.encode(sealed.key()), BASE64.encode(sealed.bytes()));
    Ok((state.into(), expires_at.into()))
}

/// What a state says, if it was made here for this agent, has not expired and was not used before.
pub(crate) fn opened(agents: &Agents, agent: &str, state: &str, used: &Used) -> Result<Opened, OAuth2Error> {
    let sealed = decoded(state).ok_or(OAuth2Error::ForgedState)?;
    let text = match agents.open_text(PURPOSE, &sealed) {
        Ok(text) => Zeroizing::new(text),
        Err(KeyError::Missing) => {
            return Err(OAuth2Error::Agent(AgentError::new(agent, "", KeyError::Missing)));
        }
        Err(_) => return Err(OAuth2Error::ForgedState),
    };
    let state: Sealed<'_> = serde_json::from_str(&text).map_err(|_| OAuth2Error::ForgedState)?;
    if state.agent != agent {
        return Err(OAuth2Error::ForeignState);
    }
    let now = jiff::Timestamp::now().as_second();
    if state.expires_at <= now {
        return Err(OAuth2Error::ExpiredState);
    }
    used.take(sealed.bytes(), state.expires_at, now)?;
    Ok(Opened { tool: state.tool.into_owned(), verifier: (&*state.verifier).into() })
}

fn decoded(state: &str) -> Option<SealedSecrets> {
    let (key, bytes) = state.split_once('.')?;
    let key = String::from_utf8(BASE64.decode(key).ok()?).ok()?;
    Some(SealedSecrets::new(key, BASE64.decode(bytes).ok()?))
}

impl Used {
    fn take(&self, state: &[u8], expires_at: i64, now: i64) -> Result<(), OAuth2Error> {
        let mut used = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if used.len() >= REMEMBERED {
            used.retain(|_, expires_at| *expires_at > now);
        }
        if used.len() >= REMEMBERED {
            return Err(OAuth2Error::Transient("too many people come back at once".into()));
        }
        match used.insert(state.to_vec(), expires_at) {
            None => Ok(()),
            Some(_) => Err(OAuth2Error::UsedState),
        }
    }
}
