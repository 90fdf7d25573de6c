//! Tokens that people grant to toolsets: where a person agrees, how the code that comes back becomes tokens, and how those
//! are kept good. Through the [`oauth2`](https://docs.rs/oauth2) crate, with PKCE (S256) always.
//!
#![doc = include_str!("oauth2.md")]

pub(crate) mod callback;
pub(crate) mod client;
pub(crate) mod error;
pub(crate) mod exchange;

#[cfg(test)]
mod tests;

pub use crate::oauth2::callback::Callback;
pub use crate::oauth2::client::OAuth2Client;
pub use crate::oauth2::error::OAuth2Error;
use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use tool_core::agents::{AgentTools, Agents, RefreshError, TokenRefresher, Tokens};
use tool_core::tool::OAuth2;
use tool_core::{Auth, Secret, Timestamp};

/// The clients of a program, by provider: begins and completes grants, and refreshes their tokens. Cheap to clone: one
/// goes to [`Agents::builder`], another to whatever answers the browser.
#[derive(Clone, Default)]
pub struct OAuth2Clients(Arc<Shared>);

#[derive(Default)]
struct Shared {
    /// By the provider's name, or its token URL.
    clients: HashMap<String, OAuth2Client>,
    http: exchange::Http,
    used: callback::Used,
}

/// Where to send a person to agree.
#[derive(Clone)]
#[non_exhaustive]
pub struct Authorization {
    /// The page of the provider.
    pub url: String,
    /// The `state` in it, which comes back with the code.
    pub state: Secret,
    /// Until when the answer is taken.
    pub expires_at: Timestamp,
}

impl OAuth2Clients {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the client that is registered at a provider, by the name that toolsets call the provider, or by its token
    /// URL, which counts before the name.
    #[must_use]
    pub fn client(self, provider: impl Into<String>, client: OAuth2Client) -> Self {
        let mut clients = self.0.clients.clone();
        clients.insert(provider.into(), client);
        Self(Arc::new(Shared { clients, ..Shared::default() }))
    }

    /// Begins a grant for a toolset that an agent has a record of.
    ///
    /// Nothing is stored: the `state` in the URL holds what completing takes, sealed under the agents' active key, so
    /// that any process may complete it within 10 minutes.
    pub async fn begin(&self, agents: &Agents, agent: &str, tool: &str) -> Result<Authorization, OAuth2Error> {
        let grant = grant_of(agents, tool)?;
        let client = self.of(&grant)?;
        // A person who has agreed is not to be told then that there is no such record.
        agents.record(agent, tool).await?;
        exchange::authorization(client, &grant, |verifier| callback::sealed(agents, agent, tool, verifier))
    }

    /// Completes the grant that the browser comes back with, and puts its tokens among the record's secrets.
    ///
    /// `agent` is whom the browser is signed in as, by the host's own session: an answer that was begun for another
    /// agent is refused, so that nobody connects his account to another's agent. `callback` is the URL that the browser
    /// asks for, or its query. Each answer is taken once by this process, and by the provider.
    pub async fn complete(
        &self,
        agents: &Agents,
        agent: &str,
        callback: impl Into<Callback>,
    ) -> Result<AgentTools, OAuth2Error> {
        let callback = callback.into().parsed()?;
        // Whoever sends a browser here may write anything beside a state that is none: nobody is told of it.
        let state = callback::opened(agents, agent, callback.state.expose(), &self.0.used)?;
        let grant = grant_of(agents, &state.tool)?;
        let client = self.of(&grant)?;
        client.check_issuer(callback.issuer.as_deref())?;
        let callback = callback.answered()?;
        let tokens = exchange::code(client, &grant, &self.0.http, callback.code, state.verifier).await?;
        Ok(agents.connect(agent, &state.tool, tokens).await?)
    }

    /// The client for a grant.
    fn of(&self, grant: &OAuth2) -> Result<&OAuth2Client, OAuth2Error> {
        let clients = &self.0.clients;
        let client = clients.get(&grant.token_url).or_else(|| clients.get(&grant.provider));
        client.ok_or_else(|| OAuth2Error::NoClient { provider: grant.provider.clone() })
    }
}

fn grant_of(agents: &Agents, tool: &str) -> Result<OAuth2, OAuth2Error> {
    match agents.form(tool).map(|form| &form.auth) {
        Some(Auth::OAuth2(grant)) => Ok(grant.clone()),
        _ => Err(OAuth2Error::NoGrant { tool: tool.to_owned() }),
    }
}

impl TokenRefresher for OAuth2Clients {
    fn refresh<'a>(
        &'a self,
        grant: &'a OAuth2,
        refresh: &'a Secret,
    ) -> Pin<Box<dyn Future<Output = Result<Tokens, RefreshError>> + Send + 'a>> {
        Box::pin(async move {
            let client = self.of(grant).map_err(OAuth2Error::of_refresh)?;
            exchange::refresh(client, grant, &self.0.http, refresh).await.map_err(OAuth2Error::of_refresh)
        })
    }
}

impl fmt::Debug for OAuth2Clients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(&self.0.clients).finish()
    }
}

impl fmt::Debug for Authorization {
    /// Without the URL, which holds the state.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authorization").field("expires_at", &self.expires_at).finish_non_exhaustive()
    }
}
