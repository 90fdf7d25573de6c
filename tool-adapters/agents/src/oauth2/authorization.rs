//! Authorisations: sending a person to a provider, and completing the grant when the browser comes
//! back.

use crate::oauth2::client::{HttpClient, OAuth2Client};
use crate::oauth2::error::{OAuth2Error, shown};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use oauth2::PkceCodeChallenge;
use oauth2::url::form_urlencoded;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tool_adapters_http::debug_only;
use tool_core::agents::{
    AgentError, AgentErrorKind, AgentTools, Agents, GrantDestination, KeyError, RefreshError,
    SealedSecrets, TokenRefresher, Tokens,
};
use tool_core::tool::OAuth2;
use tool_core::{Auth, Secret, Timestamp, jiff};
use zeroize::Zeroizing;

/// Longest callback, in bytes.
const MAX_CALLBACK: usize = 16 * 1024;
/// Time that a person has to agree.
const STATE_LIFETIME: Duration = Duration::from_secs(10 * 60);
/// The purpose that states are sealed for, so that they open as nothing else.
const STATE_PURPOSE: [&str; 3] = ["tool-adapters", "oauth2", "state"];
/// Maximum number of used states that are remembered. Providers accept each code once anyway.
const MAX_USED_STATES: usize = 100_000;

/// The OAuth 2 clients of a program, by provider. Begins and completes grants, and refreshes their
/// tokens. Cheap to clone: pass one clone to [`Agents::builder`], and another to the handler of the
/// redirect URL.
///
/// ```standalone_crate
/// use tool_adapters::oauth2::{OAuth2Client, OAuth2Clients, OAuth2Error};
/// use tool_core::agents::{Agents, Keyring, MemoryAgentToolStore};
///
/// # use tool_core::tool::AccessToken;
/// # use tool_core::{Auth, Configure, ToolError, tool_type, toolset};
/// # #[tool_type(input)]
/// # struct Grant {
/// #     #[serde(flatten)]
/// #     token: AccessToken,
/// # }
/// # struct Mail(Grant);
/// # impl Configure for Mail {
/// #     type Config = ();
/// #     type Secrets = Grant;
/// #     async fn configure((): (), grant: Grant) -> Result<Self, ToolError> { Ok(Self(grant)) }
/// # }
/// # /// Sends mail.
/// # #[toolset(name = "mail", auth = Auth::oauth2("mail.example", ["send"], "https://mail.example/auth", "https://mail.example/token"))]
/// # impl Mail {
/// #     /// Count the mails.
/// #     #[tool(category = "retrieval")]
/// #     async fn count(&self) -> Result<usize, ToolError> { Ok(self.0.token.get().await?.expose().len()) }
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mail = OAuth2Client::new("our-client-id", "https://app.example/oauth2/callback").secret("our-secret");
/// let clients = OAuth2Clients::new().client("mail.example", mail);
/// let agents = Agents::builder(MemoryAgentToolStore::new())
///     .keys(Keyring::parse(&Keyring::generate("2026-11")?)?)
///     .oauth2(clients.clone()) // refreshes the tokens
///     .build()?;
/// agents.add("alice", "mail").save().await?;
///
/// let begun = clients.begin(&agents, "alice", "mail").await?; // send the browser to `begun.url`
/// assert!(begun.url.starts_with("https://mail.example/auth?"));
///
/// // The browser comes back. This callback was begun for Alice, and the browser is signed in for Bob.
/// let query = format!("code=4%2Fabc&state={}", begun.state.expose());
/// let refused = clients.complete(&agents, "bob", query).await;
/// assert!(matches!(refused, Err(OAuth2Error::ForeignState)));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct OAuth2Clients(Arc<ClientsInner>);

#[derive(Default)]
struct ClientsInner {
    /// By the provider's name, or its token URL.
    clients: HashMap<String, OAuth2Client>,
    http: HttpClient,
    used: UsedStates,
}

/// An authorisation that has begun: send the person's browser to its URL.
///
/// ```
/// use tool_adapters::oauth2::{Authorization, OAuth2Clients, OAuth2Error};
/// use tool_core::agents::Agents;
///
/// /// Returns the page with the "Connect" button, which leads to the provider.
/// async fn connect_page(clients: &OAuth2Clients, agents: &Agents, agent: &str) -> Result<String, OAuth2Error> {
///     let Authorization { url, changed_destination, .. } = clients.begin(agents, agent, "mail").await?;
///     let warning = match &changed_destination[..] {
///         [] => String::new(),
///         changed => format!("These settings have changed since you last connected: {}", changed.join(", ")),
///     };
///     Ok(format!(r#"<p>{warning}</p><a href="{}">Connect</a>"#, url.replace('&', "&amp;")))
/// }
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Authorization {
    /// The URL of the provider's page.
    pub url: String,
    /// The `state` in the URL, which comes back with the code.
    pub state: Secret,
    /// The time until which the callback is accepted.
    pub expires_at: Timestamp,
    /// JSON pointers of the settings that decide where the tokens go. Show their values to the
    /// person before the browser goes to the URL.
    pub destination: Vec<String>,
    /// JSON pointers of those that have changed since the present tokens were stored. An attacker
    /// who writes to the database can hide a change from this list.
    pub changed_destination: Vec<String>,
}

impl OAuth2Clients {
    /// Creates an empty list of clients.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the client that is registered at a provider, by the provider's name in the toolsets, or
    /// by its token URL. A token URL has precedence over a name.
    #[must_use]
    pub fn client(self, provider: impl Into<String>, client: OAuth2Client) -> Self {
        let mut clients = self.0.clients.clone();
        clients.insert(provider.into(), client);
        Self(Arc::new(ClientsInner {
            clients,
            ..ClientsInner::default()
        }))
    }

    /// Begins a grant for a toolset that an agent has a record of.
    ///
    /// The tokens will be sealed for the present settings. If a setting that decides where they go
    /// changes before the person has agreed, [`complete`](Self::complete) fails with `GrantMoved`.
    ///
    /// Nothing is stored: the `state` in the URL holds all that [`complete`](Self::complete) needs,
    /// sealed under the agents' active key. Any process that has the key can complete the grant
    /// within 10 minutes.
    pub async fn begin(
        &self,
        agents: &Agents,
        agent: &str,
        tool: &str,
    ) -> Result<Authorization, OAuth2Error> {
        let grant = grant_of(agents, tool)?;
        let client = self.client_for(&grant)?;
        // Checked first, so that no person agrees in vain.
        let GrantDestination {
            digest,
            settings,
            changed,
            ..
        } = agents.grant_destination(agent, tool).await?;
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let (state, expires_at) = seal_state(agents, agent, tool, verifier.secret(), &digest)?;
        let url = client.authorization_url(&grant, challenge, &state)?;
        Ok(Authorization {
            url,
            state,
            expires_at,
            destination: settings,
            changed_destination: changed,
        })
    }

    /// Completes the grant of a callback, and puts its tokens among the record's secrets.
    ///
    /// `agent` is the agent that the browser is signed in for, by the program's own session. A
    /// callback that was begun for another agent is refused, so that no one can connect an account
    /// to another person's agent. `callback` is the URL that the browser requests, or its query.
    /// This process accepts each callback once, and so does the provider.
    pub async fn complete(
        &self,
        agents: &Agents,
        agent: &str,
        callback: impl Into<Callback>,
    ) -> Result<AgentTools, OAuth2Error> {
        let mut params = callback.into().0?;
        // Opened first: anyone can send a browser here with any other parameters.
        let state = params.state.take().unwrap_or_default();
        let OpenedState {
            tool,
            verifier,
            bound,
        } = open_state(agents, agent, state.expose(), &self.0.used)?;
        let grant = grant_of(agents, &tool)?;
        let client = self.client_for(&grant)?;
        client.check_issuer(params.issuer.as_deref())?;
        let code = params.into_code()?;
        // Checked before the code is exchanged, and again when the tokens are written.
        if agents.grant_destination(agent, &tool).await?.digest != bound {
            return Err(AgentError::new(agent, tool, AgentErrorKind::GrantMoved).into());
        }
        let tokens = client
            .exchange_code(&grant, &self.0.http, &code, &verifier)
            .await?;
        Ok(agents.connect_for(agent, &tool, tokens, &bound).await?)
    }

    fn client_for(&self, grant: &OAuth2) -> Result<&OAuth2Client, OAuth2Error> {
        let clients = &self.0.clients;
        let client = clients
            .get(&grant.token_url)
            .or_else(|| clients.get(&grant.provider));
        client.ok_or_else(|| OAuth2Error::NoClient {
            provider: grant.provider.clone(),
        })
    }
}

fn grant_of(agents: &Agents, tool: &str) -> Result<OAuth2, OAuth2Error> {
    match agents.form(tool).map(|form| &form.auth) {
        Some(Auth::OAuth2(grant)) => Ok(grant.clone()),
        _ => Err(OAuth2Error::NoGrant {
            tool: tool.to_owned(),
        }),
    }
}

impl TokenRefresher for OAuth2Clients {
    fn refresh<'a>(
        &'a self,
        grant: &'a OAuth2,
        refresh: &'a Secret,
    ) -> Pin<Box<dyn Future<Output = Result<Tokens, RefreshError>> + Send + 'a>> {
        Box::pin(async move {
            Ok(self
                .client_for(grant)?
                .refresh(grant, &self.0.http, refresh)
                .await?)
        })
    }
}

impl fmt::Debug for OAuth2Clients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(&self.0.clients).finish()
    }
}

// The URL is left out, as it contains the state.
debug_only!(Authorization, |this| expires_at: this.expires_at);

/// The request that a provider's redirect makes the browser send: a query, or a code and a state.
///
/// ```
/// use tool_adapters::oauth2::{Callback, OAuth2Clients, OAuth2Error};
/// use tool_core::agents::Agents;
///
/// /// Handles `GET /oauth2/callback?code=..&state=..`. The agent comes from the program's own login.
/// async fn callback(clients: &OAuth2Clients, agents: &Agents, agent: &str, query: &str) -> Result<(), OAuth2Error> {
///     clients.complete(agents, agent, query).await.map(|_record| ())
/// }
///
/// // Where a web framework has parsed the query.
/// let parsed = Callback::new("code-1", "state-1");
/// assert!(!format!("{parsed:?}").contains("code-1"));
/// ```
#[derive(Clone, Debug)]
pub struct Callback(Result<CallbackParams, OAuth2Error>);

/// The parameters of a provider's redirect.
#[derive(Clone, Debug, Default)]
pub struct CallbackParams {
    code: Option<Secret>,
    /// The state that the login was started with.
    pub state: Option<Secret>,
    /// The issuer that the redirect names, byte for byte (RFC 9207).
    pub issuer: Option<String>,
    error: Option<String>,
    description: Option<String>,
}

impl Callback {
    /// Creates a callback from a code and the state that came with it.
    pub fn new(code: impl Into<Secret>, state: impl Into<Secret>) -> Self {
        Self(Ok(CallbackParams {
            code: Some(code.into()),
            state: Some(state.into()),
            ..CallbackParams::default()
        }))
    }
}

/// Parses a query with or without its `?`, or a whole URL.
impl From<&str> for Callback {
    fn from(query: &str) -> Self {
        Self(CallbackParams::parse(query))
    }
}

/// Parses a query with or without its `?`, or a whole URL, and wipes it.
impl From<String> for Callback {
    fn from(query: String) -> Self {
        Self::from(Zeroizing::new(query).as_str())
    }
}

impl CallbackParams {
    /// Parses the query of a redirect. A parameter that is given twice is an error.
    pub fn parse(query: &str) -> Result<Self, OAuth2Error> {
        if query.len() > MAX_CALLBACK {
            return Err(OAuth2Error::Callback(format!(
                "expected at most {MAX_CALLBACK} bytes"
            )));
        }
        let query = query_of(query);
        let query = query.split('#').next().unwrap_or_default();
        let mut params = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let is_repeated = match &*name {
                "code" => params.code.replace(Secret::from(&*value)).is_some(),
                "state" => params.state.replace(Secret::from(&*value)).is_some(),
                "iss" => params.issuer.replace(value.into_owned()).is_some(),
                "error" => params.error.replace(value.into_owned()).is_some(),
                "error_description" => params.description.replace(value.into_owned()).is_some(),
                // Providers add others, such as `scope` and `session_state`.
                _ => false,
            };
            if is_repeated {
                return Err(OAuth2Error::Callback(format!(
                    "expected one `{name}`, got several"
                )));
            }
        }
        Ok(params)
    }

    /// Returns the code, or the provider's error.
    pub fn into_code(self) -> Result<Secret, OAuth2Error> {
        if let Some(error) = self.error {
            return Err(OAuth2Error::Denied {
                error: shown(&error),
                description: self.description.as_deref().map(shown),
            });
        }
        let code = self.code.filter(|code| !code.is_empty());
        code.ok_or_else(|| OAuth2Error::Callback("expected a `code`".into()))
    }
}

/// Returns the query of a redirect, which is a whole URL or a query alone. A `?` in a value belongs to
/// the value.
fn query_of(redirect: &str) -> &str {
    let Some((before, query)) = redirect.split_once('?') else {
        return redirect;
    };
    let name = before.split(['=', '&']).next().unwrap_or_default();
    let is_in_value = name.len() < before.len() && !name.contains('/');
    if is_in_value { redirect } else { query }
}

/// The contents of a state: all that completing the grant needs.
#[derive(Serialize, Deserialize)]
struct StateContents<'a> {
    #[serde(borrow)]
    agent: Cow<'a, str>,
    #[serde(borrow)]
    tool: Cow<'a, str>,
    #[serde(borrow)]
    verifier: Cow<'a, str>,
    /// The digest of the settings that the person agrees to.
    #[serde(borrow)]
    bound: Cow<'a, str>,
    expires_at: i64,
}

struct OpenedState {
    tool: String,
    /// The PKCE verifier.
    verifier: Secret,
    bound: String,
}

/// Seals a state. Returns it with the time at which it expires.
fn seal_state(
    agents: &Agents,
    agent: &str,
    tool: &str,
    verifier: &str,
    bound: &str,
) -> Result<(Secret, Timestamp), OAuth2Error> {
    let expires_at = jiff::Timestamp::now()
        .saturating_add(STATE_LIFETIME)
        .unwrap_or(jiff::Timestamp::MAX);
    let contents = StateContents {
        agent: agent.into(),
        tool: tool.into(),
        verifier: verifier.into(),
        bound: bound.into(),
        expires_at: expires_at.as_second(),
    };
    let text = serde_json::to_string(&contents).map(Zeroizing::new);
    let text =
        text.map_err(|error| OAuth2Error::Client(format!("failed to write the state: {error}")))?;
    let sealed = agents
        .seal_text(STATE_PURPOSE, &text)
        .map_err(|error| AgentError::new(agent, tool, error))?;
    let state = format!(
        "{}.{}",
        BASE64.encode(sealed.key()),
        BASE64.encode(sealed.bytes())
    );
    Ok((state.into(), expires_at.into()))
}

/// Opens a state. Fails if it was not sealed here for this agent, has
/// expired, or was used before.
fn open_state(
    agents: &Agents,
    agent: &str,
    state: &str,
    used: &UsedStates,
) -> Result<OpenedState, OAuth2Error> {
    let sealed = decode_state(state).ok_or(OAuth2Error::ForgedState)?;
    let text = match agents.open_text(STATE_PURPOSE, &sealed) {
        Ok(text) => Zeroizing::new(text),
        Err(error @ KeyError::Missing) => return Err(AgentError::new(agent, "", error).into()),
        Err(_) => return Err(OAuth2Error::ForgedState),
    };
    let state: StateContents<'_> =
        serde_json::from_str(&text).map_err(|_| OAuth2Error::ForgedState)?;
    if state.agent != agent {
        return Err(OAuth2Error::ForeignState);
    }
    let now = jiff::Timestamp::now().as_second();
    if state.expires_at <= now {
        return Err(OAuth2Error::ExpiredState);
    }
    used.add(sealed.bytes(), state.expires_at, now)?;
    let StateContents {
        tool,
        verifier,
        bound,
        ..
    } = state;
    Ok(OpenedState {
        tool: tool.into_owned(),
        verifier: (&*verifier).into(),
        bound: bound.into_owned(),
    })
}

fn decode_state(state: &str) -> Option<SealedSecrets> {
    let (key, bytes) = state.split_once('.')?;
    let key = String::from_utf8(BASE64.decode(key).ok()?).ok()?;
    Some(SealedSecrets::new(key, BASE64.decode(bytes).ok()?))
}

/// The states that this process has accepted, with the times at which they expire.
#[derive(Default)]
struct UsedStates(Mutex<HashMap<Vec<u8>, i64>>);

impl UsedStates {
    fn add(&self, state: &[u8], expires_at: i64, now: i64) -> Result<(), OAuth2Error> {
        let mut used = self.0.lock();
        if used.len() >= MAX_USED_STATES {
            used.retain(|_, expires_at| *expires_at > now);
        }
        if used.len() >= MAX_USED_STATES {
            return Err(OAuth2Error::Transient(
                "too many callbacks at the same time".into(),
            ));
        }
        match used.insert(state.to_vec(), expires_at) {
            None => Ok(()),
            Some(_) => Err(OAuth2Error::UsedState),
        }
    }
}
