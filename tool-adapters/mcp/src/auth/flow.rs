//! The way to a token: the server's metadata, the metadata of its authorization server, the
//! registration of the client, and the consent of a person.

use crate::auth::challenge::Challenge;
use crate::auth::error::LoginError;
use crate::auth::fetch::Fetcher;
use crate::auth::login::{Consent, LoginRequest, OAuthLogin};
use crate::auth::loopback::Loopback;
use crate::auth::metadata::{
    Attempts, IssuerError, IssuerMetadata, ResourceMetadata, at_path, is_same_issuer,
    resource_metadata_path,
};
use indexmap::IndexSet;
use oauth2::{CsrfToken, PkceCodeChallenge};
use reqwest::Url;
use reqwest::header::CONTENT_TYPE;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use subtle::ConstantTimeEq;
use tokio::time::timeout;
use tool_adapters_agents::oauth2::{CallbackParams, OAuth2Client, shown};
use tool_core::agents::Tokens;
use tool_core::tool::OAuth2;
use tool_core::{Secret, jiff, trace};

/// The scope that some authorization servers issue refresh tokens for.
const OFFLINE: &str = "offline_access";
/// Maximum number of scopes that a server can ask for.
const MAX_SCOPES: usize = 64;

/// The authorization server of a server.
#[derive(Clone, Debug)]
pub(crate) struct Discovered {
    /// The server, as tokens are issued for it.
    pub(crate) resource: String,
    pub(crate) scopes: Vec<String>,
    pub(crate) issuer: IssuerMetadata,
}

/// A client as an authorization server knows it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Registration {
    pub(crate) issuer: String,
    pub(crate) client_id: String,
    #[serde(default)]
    pub(crate) redirect_url: String,
    #[serde(default)]
    pub(crate) secret_in_body: bool,
    /// The end of the secret, in seconds since 1970. Without one, or with 0, it has none.
    #[serde(default)]
    pub(crate) secret_expires_at: Option<i64>,
    /// True if the authorization server may have forgotten the client, so that the next login
    /// registers anew.
    #[serde(default)]
    pub(crate) is_doubtful: bool,
    /// Kept apart, as secrets do not serialise.
    #[serde(skip)]
    pub(crate) secret: Option<Secret>,
}

impl Registration {
    /// Returns true if a login may use it.
    fn is_usable(&self) -> bool {
        let end = self.secret_expires_at.filter(|end| *end > 0);
        let has_ended = end.is_some_and(|end| end <= jiff::Timestamp::now().as_second());
        !self.is_doubtful && !has_ended
    }
}

/// Finds the authorization server of a server.
/// `client_issuer` is the one at which the client is registered.
pub(crate) async fn discover(
    fetcher: &Fetcher,
    server: &Url,
    challenge: &Challenge,
    client_issuer: Option<&str>,
) -> Result<Discovered, LoginError> {
    let mut tried = Attempts::default();
    let Some(metadata) = resource_metadata(fetcher, server, challenge, &mut tried).await? else {
        return own_issuer(fetcher, server, tried).await;
    };
    // Of several servers, a registered client is known at one.
    let is_registered =
        |named: &&String| client_issuer.is_some_and(|own| is_same_issuer(own, named));
    let named = &metadata.authorization_servers;
    let Some(issuer) = named.iter().find(is_registered).or_else(|| named.first()) else {
        return own_issuer(fetcher, server, tried).await;
    };
    let issuer = IssuerMetadata::fetch(fetcher, issuer).await?;
    Ok(Discovered {
        resource: metadata.resource,
        scopes: metadata.scopes_supported,
        issuer,
    })
}

/// Returns the server itself as its authorization server, as those of revision 2025-03-26 are.
async fn own_issuer(
    fetcher: &Fetcher,
    server: &Url,
    mut earlier: Attempts,
) -> Result<Discovered, LoginError> {
    let origin = server.origin().ascii_serialization();
    let issuer = match IssuerMetadata::fetch(fetcher, &origin).await {
        Ok(issuer) => issuer,
        Err(IssuerError::Missing { host, tried }) => {
            let is_absent = tried.is_absent();
            earlier.extend(tried);
            if !is_absent {
                return Err(IssuerError::Missing {
                    host,
                    tried: earlier,
                }
                .into());
            }
            tracing::warn!(
                server = host,
                tried = %earlier,
                "a server publishes no metadata of its authorization server; its default addresses are used"
            );
            IssuerMetadata::of_defaults(server)
        }
        Err(error) => return Err(error.into()),
    };
    Ok(Discovered {
        resource: server.to_string(),
        scopes: Vec::new(),
        issuer,
    })
}

/// Returns the metadata of a server, which it publishes on its own origin. Returns `None` if there
/// is none.
async fn resource_metadata(
    fetcher: &Fetcher,
    server: &Url,
    challenge: &Challenge,
    tried: &mut Attempts,
) -> Result<Option<ResourceMetadata>, LoginError> {
    let unsound = |problem: String| LoginError::Discovery(shown(&problem));
    let mut addresses = Vec::new();
    if let Some(named) = &challenge.resource_metadata {
        let url = fetcher.parse("the server's metadata", named)?;
        if url.origin() != server.origin() {
            return Err(unsound(format!(
                "it names metadata at another host, `{}`",
                url.host_str().unwrap_or_default()
            )));
        }
        addresses.push(url);
    }
    addresses.push(at_path(server, &resource_metadata_path(server)));
    addresses.push(at_path(server, "/.well-known/oauth-protected-resource"));
    addresses.dedup();
    for url in addresses {
        fetcher.parse("the server's metadata", url.as_str())?;
        match fetcher.document(&url).await {
            Ok(Some(document)) => {
                let metadata = ResourceMetadata::of(document, server);
                return metadata
                    .map(Some)
                    .map_err(|problem| unsound(format!("{problem}, at {url}")));
            }
            Ok(None) => tried.absent(&url),
            Err(error) => tried.failed(&url, &error),
        }
    }
    // A server that does not answer may have metadata.
    if tried.is_unavailable() {
        Err(LoginError::Unavailable(tried.to_string()))
    } else {
        Ok(None)
    }
}

/// A login at the authorization server of a server.
pub(crate) struct Flow<'a> {
    pub(crate) login: &'a OAuthLogin,
    pub(crate) fetcher: &'a Fetcher,
    pub(crate) server: &'a Url,
    pub(crate) found: &'a Discovered,
}

impl Flow<'_> {
    /// Returns the scopes to ask for: those of the program, or those that the server needs now and
    /// that were granted before.
    fn scopes(&self, needed: &[String], granted: &[String]) -> Vec<String> {
        let base = match () {
            () if !self.login.scopes.is_empty() => &self.login.scopes,
            () if !needed.is_empty() || !granted.is_empty() => &Vec::new(),
            () => &self.found.scopes,
        };
        let all = base.iter().chain(granted).chain(needed).take(MAX_SCOPES);
        let mut scopes = all.cloned().collect::<IndexSet<_>>();
        let offers_refresh = self
            .found
            .issuer
            .scopes_supported
            .iter()
            .any(|scope| scope == OFFLINE);
        if !scopes.is_empty() && offers_refresh && !matches!(self.login.consent, Consent::Machine) {
            scopes.insert(OFFLINE.to_owned());
        }
        scopes.into_iter().collect()
    }

    fn grant(&self, scopes: Vec<String>) -> Result<OAuth2, LoginError> {
        let issuer = &self.found.issuer;
        let missing =
            |what: &str| LoginError::Discovery(format!("the authorization server has no {what}"));
        let token_url = issuer
            .token_endpoint
            .as_deref()
            .ok_or_else(|| missing("token endpoint"))?;
        // Checked here too, as the page is opened in a browser: another scheme would start a
        // program.
        let token_url = self.fetcher.parse("the token endpoint", token_url)?;
        let auth_url = match (&issuer.authorization_endpoint, &self.login.consent) {
            (Some(url), _) => self.fetcher.parse("the authorization endpoint", url)?,
            (None, Consent::Machine) => token_url.clone(),
            (None, _) => return Err(missing("authorization endpoint")),
        };
        let (provider, auth_url, token_url) =
            (issuer.issuer.clone(), auth_url.into(), token_url.into());
        Ok(OAuth2 {
            provider,
            scopes,
            auth_url,
            token_url,
        })
    }

    fn client(&self, registration: &Registration) -> OAuth2Client {
        // The library needs a redirect URL, which is not sent without a code.
        let redirect_url = Some(&*registration.redirect_url).filter(|url| !url.is_empty());
        let client = OAuth2Client::new(
            &registration.client_id,
            redirect_url.unwrap_or("http://127.0.0.1/callback"),
        );
        let client = match &registration.secret {
            Some(secret) => client.secret(secret.clone()),
            None => client,
        };
        let client = if registration.secret_in_body {
            client.secret_in_body()
        } else {
            client
        };
        client.resource(&self.found.resource)
    }

    /// Refreshes tokens at the issuer that has issued them.
    pub(crate) async fn refresh(
        &self,
        registration: &Registration,
        refresh: &Secret,
    ) -> Result<Tokens, LoginError> {
        let grant = self.grant(Vec::new())?;
        let http = self.fetcher.token_client(&grant.token_url).await?;
        let mut tokens = self
            .client(registration)
            .refresh(&grant, &http, refresh)
            .await?;
        drop_empty_refresh(&mut tokens);
        tokens.refresh.get_or_insert_with(|| refresh.clone());
        Ok(tokens)
    }

    /// Gets new tokens, with the scopes that the server needs beside those that were granted
    /// before. Returns them with the registration and the scopes that were asked for.
    pub(crate) async fn begin(
        &self,
        known: Option<&Registration>,
        needed: &[String],
        granted: &[String],
    ) -> Result<(Tokens, Registration, Vec<String>), LoginError> {
        let scopes = self.scopes(needed, granted);
        let grant = self.grant(scopes.clone())?;
        let (mut tokens, registration) = match &self.login.consent {
            Consent::Machine => {
                let registration = self.register("", &scopes).await?;
                let http = self.fetcher.token_client(&grant.token_url).await?;
                (
                    self.client(&registration)
                        .client_credentials(&grant, &http)
                        .await?,
                    registration,
                )
            }
            consent => {
                // Some servers support it and do not say so. A person who registers a client there
                // knows the server.
                let methods = &self.found.issuer.code_challenge_methods_supported;
                let may_support = methods.is_empty() && self.login.client.is_some();
                if !may_support && !methods.iter().any(|method| method == "S256") {
                    let problem = "the authorization server does not say that it supports PKCE (S256), so that a code could be \
                         stolen; if it does, register a client there, and set its `issuer` and `client_id`";
                    return Err(LoginError::Discovery(problem.to_owned()));
                }
                self.ask(consent, &grant, known).await?
            }
        };
        drop_empty_refresh(&mut tokens);
        Ok((tokens, registration, scopes))
    }

    /// Asks a person, and exchanges the code.
    async fn ask(
        &self,
        consent: &Consent,
        grant: &OAuth2,
        known: Option<&Registration>,
    ) -> Result<(Tokens, Registration), LoginError> {
        let (loopback, redirect_url) = match consent {
            Consent::Browser { port, .. } => {
                let loopback = self.listen(*port, known).await?;
                let redirect_url = loopback.redirect_url.clone();
                (Some(loopback), redirect_url)
            }
            Consent::Redirect { url, .. } => (None, url.clone()),
            Consent::Machine | Consent::Stored(_) => (None, String::new()),
        };
        let known = known.filter(|known| {
            known.redirect_url == redirect_url
                && is_same_issuer(&known.issuer, &grant.provider)
                && known.is_usable()
        });
        let registration = match known {
            Some(known) if self.login.client.is_none() => known.clone(),
            _ => self.register(&redirect_url, &grant.scopes).await?,
        };
        let client = self.client(&registration);
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let state = Secret::from(CsrfToken::new_random().into_secret());
        let url = client.authorization_url(grant, challenge, &state)?;
        let server = self.server.to_string();
        let issuer = grant.provider.clone();
        let scopes = grant.scopes.clone();
        let request = LoginRequest {
            url,
            server,
            issuer,
            scopes,
        };
        let asked = timeout(
            self.login.timeout,
            callback(consent, loopback, request, &state),
        );
        let query = asked.await.map_err(|_| LoginError::Timeout)??;
        let code = self.code(query.expose(), &state)?;
        let verifier = Secret::from(verifier.into_secret());
        let http = self.fetcher.token_client(&grant.token_url).await?;
        let tokens = client.exchange_code(grant, &http, &code, &verifier).await?;
        Ok((tokens, registration))
    }

    /// Listens on the port of the known registration, as many authorization servers compare it.
    async fn listen(
        &self,
        port: u16,
        known: Option<&Registration>,
    ) -> Result<Loopback, LoginError> {
        let known = known.and_then(|known| Url::parse(&known.redirect_url).ok()?.port());
        match known.filter(|_| port == 0) {
            Some(known) => match Loopback::bind(known).await {
                Ok(loopback) => Ok(loopback),
                Err(_) => Loopback::bind(0).await,
            },
            None => Loopback::bind(port).await,
        }
    }

    /// Returns the code of a callback that has this state and comes from the right authorization
    /// server.
    fn code(&self, query: &str, state: &Secret) -> Result<Secret, LoginError> {
        let mut params = CallbackParams::parse(query)?;
        let sent = params.state.take().unwrap_or_default();
        if !bool::from(sent.expose().as_bytes().ct_eq(state.expose().as_bytes())) {
            return Err(LoginError::Callback(
                "expected the `state` of this login, got another one".to_owned(),
            ));
        }
        let issuer = &self.found.issuer;
        let is_own = match &params.issuer {
            // RFC 9207 compares the texts as they are: a server knows how its own metadata spells
            // it.
            Some(named) => *named == issuer.issuer,
            None => !issuer.authorization_response_iss_parameter_supported,
        };
        if !is_own {
            let problem = format!(
                "expected the issuer `{}` (RFC 9207), got another one or none",
                issuer.issuer.escape_debug()
            );
            return Err(LoginError::Callback(problem));
        }
        Ok(params.into_code()?)
    }

    /// Returns the client as the authorization server knows it: the one that the program is
    /// registered as, its document, or a new registration.
    async fn register(
        &self,
        redirect_url: &str,
        scopes: &[String],
    ) -> Result<Registration, LoginError> {
        let issuer = &self.found.issuer;
        let registered = |client_id: &str, secret: Option<Secret>| Registration {
            issuer: issuer.issuer.clone(),
            client_id: client_id.to_owned(),
            redirect_url: redirect_url.to_owned(),
            secret_in_body: secret.is_some() && takes_body_only(issuer),
            secret_expires_at: None,
            is_doubtful: false,
            secret,
        };
        if let Some(client) = &self.login.client {
            if !is_same_issuer(&client.issuer, &issuer.issuer) {
                let shorten = |text: &str| text.escape_debug().take(200).collect();
                return Err(LoginError::OtherIssuer {
                    expected: shorten(&client.issuer),
                    got: shorten(&issuer.issuer),
                });
            }
            return Ok(registered(&client.id, client.secret.clone()));
        }
        match (&self.login.client_metadata, &issuer.registration_endpoint) {
            (Some(document), _) if issuer.client_id_metadata_document_supported => Ok(registered(document, None)),
            (_, Some(endpoint)) => self.register_dynamically(endpoint, redirect_url, scopes).await,
            (_, None) => Err(LoginError::Registration(
                "it has no dynamic registration; register a client there, and set its `issuer` and `client_id`"
                    .to_owned(),
            )),
        }
    }

    async fn register_dynamically(
        &self,
        endpoint: &str,
        redirect_url: &str,
        scopes: &[String],
    ) -> Result<Registration, LoginError> {
        let issuer = &self.found.issuer;
        let url = self.fetcher.parse("the registration endpoint", endpoint)?;
        let methods = &issuer.token_endpoint_auth_methods_supported;
        let supports = |method: &str| methods.iter().any(|known| known == method);
        let method = ["none", "client_secret_basic", "client_secret_post"]
            .into_iter()
            .find(|method| supports(method));
        let is_native = matches!(self.login.consent, Consent::Browser { .. });
        let mut request = json!({
            "client_name": self.login.client_name,
            "redirect_uris": [redirect_url],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": method.unwrap_or("none"),
            "application_type": if is_native { "native" } else { "web" },
        });
        // All scopes of the server, as a registered client can never ask for more.
        let all = scopes
            .iter()
            .chain(&self.found.scopes)
            .map(String::as_str)
            .collect::<IndexSet<_>>();
        if !all.is_empty() {
            request["scope"] = json!(
                all.into_iter()
                    .take(MAX_SCOPES)
                    .collect::<Vec<_>>()
                    .join(" ")
            );
        }
        let body = request.to_string();
        let request = self
            .fetcher
            .post(&url)
            .header(CONTENT_TYPE, "application/json")
            .body(body);
        let (status, answer) = self.fetcher.exchange(request, &url).await?;
        let text = |name: &str| {
            answer
                .get(name)
                .and_then(Value::as_str)
                .filter(|text| !text.is_empty())
        };
        let Some(client_id) = text("client_id").filter(|_| status.is_success()) else {
            let error = text("error").unwrap_or("no `client_id`");
            let description = text("error_description")
                .map(|text| format!(" ({text})"))
                .unwrap_or_default();
            return Err(LoginError::Registration(shown(&format!(
                "{error}{description}, status {status}"
            ))));
        };
        let method = text("token_endpoint_auth_method")
            .or(method)
            .unwrap_or("none");
        let secret = text("client_secret")
            .filter(|_| method != "none")
            .map(Secret::from);
        Ok(Registration {
            issuer: issuer.issuer.clone(),
            client_id: client_id.to_owned(),
            redirect_url: redirect_url.to_owned(),
            secret_in_body: method == "client_secret_post",
            secret_expires_at: answer
                .get("client_secret_expires_at")
                .and_then(Value::as_i64),
            is_doubtful: false,
            secret,
        })
    }
}

/// Removes a refresh token without a text, as some authorization servers write one in place of none.
fn drop_empty_refresh(tokens: &mut Tokens) {
    if tokens.refresh.as_ref().is_some_and(Secret::is_empty) {
        tokens.refresh = None;
    }
}

/// Returns true if an authorization server takes the secret of a client in the body of a request
/// only.
fn takes_body_only(issuer: &IssuerMetadata) -> bool {
    let supports = |method: &str| {
        issuer
            .token_endpoint_auth_methods_supported
            .iter()
            .any(|known| known == method)
    };
    supports("client_secret_post") && !supports("client_secret_basic")
}

/// Shows the page of a login, and returns the query of the callback.
async fn callback(
    consent: &Consent,
    loopback: Option<Loopback>,
    request: LoginRequest,
    state: &Secret,
) -> Result<Secret, LoginError> {
    let failed = |error: Box<dyn std::error::Error + Send + Sync>| {
        LoginError::Ask(shown(&error.to_string()))
    };
    match (consent, loopback) {
        (Consent::Browser { open, .. }, Some(loopback)) => {
            let opened = trace::in_current_span(open(request));
            let callback = loopback.callback(state);
            let opened = async { opened.await.map_err(failed) };
            // A program may wait until its browser is closed, which may be after the callback.
            tokio::pin!(callback, opened);
            tokio::select! {
                biased;
                query = &mut callback => query,
                opened = &mut opened => match opened {
                    Ok(()) => callback.await,
                    Err(error) => Err(error),
                },
            }
        }
        (Consent::Redirect { ask, .. }, _) => ask(request).await.map_err(failed),
        _ => Err(LoginError::Settings(
            "a login without a person needs no callback".to_owned(),
        )),
    }
}
