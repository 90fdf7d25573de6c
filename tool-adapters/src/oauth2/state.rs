//! The `state` of an authorisation: all that completing it takes, sealed, so that nothing is stored.

use super::OAuth2Error;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tool_core::__shared::{open_text, seal_text};
use tool_core::agents::{AgentError, AgentErrorKind};
use tool_core::agents::{Agents, KeyError, SealedSecrets};
use tool_core::jiff;
use tool_core::{Secret, Timestamp};
use zeroize::Zeroizing;

/// How long a person may take.
const LASTS: Duration = Duration::from_mins(10);
/// What it is sealed for, so that it opens as nothing else.
const PURPOSE: &[&str] = &["tool-adapters", "oauth2", "state"];
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
pub(super) struct Opened {
    pub(super) tool: String,
    pub(super) verifier: Secret,
}

/// States that this process has taken.
#[derive(Default)]
pub(super) struct Used(Mutex<HashMap<Vec<u8>, i64>>);

/// A state, and until when it is taken.
pub(super) fn sealed(
    agents: &Agents,
    agent: &str,
    tool: &str,
    verifier: &str,
) -> Result<(Secret, Timestamp), OAuth2Error> {
    let failed = |why: KeyError| OAuth2Error::Agent(agent_error(agent, tool, why.into()));
    let expires_at = jiff::Timestamp::now().saturating_add(LASTS).unwrap_or(jiff::Timestamp::MAX);
    let state = Sealed {
        agent: agent.into(),
        tool: tool.into(),
        verifier: verifier.into(),
        expires_at: expires_at.as_second(),
    };
    let text = serde_json::to_string(&state).map(Zeroizing::new);
    let text = text.map_err(|_| OAuth2Error::Client("the names of agent and toolset are no texts".into()))?;
    let sealed = seal_text(agents, PURPOSE, &text).map_err(failed)?;
    let state = format!("{}.{}", BASE64.encode(sealed.key()), BASE64.encode(sealed.bytes()));
    Ok((state.into(), expires_at.into()))
}

/// What a state says, if it was made here for this agent, has not expired and was not used before.
pub(super) fn opened(agents: &Agents, agent: &str, state: &str, used: &Used) -> Result<Opened, OAuth2Error> {
    let sealed = decoded(state).ok_or(OAuth2Error::ForgedState)?;
    let text = match open_text(agents, PURPOSE, &sealed) {
        Ok(text) => Zeroizing::new(text),
        Err(KeyError::Missing) => {
            return Err(OAuth2Error::Agent(agent_error(agent, "", AgentErrorKind::MissingKey)));
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

fn agent_error(agent: &str, tool: &str, kind: AgentErrorKind) -> AgentError {
    tool_core::__shared::agent_error(agent, tool, kind)
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
