//! A server as a protected resource: its metadata, and the admission of requests by their tokens.

use crate::auth::fetch::Fetcher;
use crate::auth::keys::IssuerCache;
use crate::auth::metadata::{at_path, resource_metadata_path};
use crate::auth::token::{AccessClaims, TokenProblem, TrustedIssuer, check, unix_time};
use axum::Router;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use reqwest::Url;
use serde_json::json;
use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tool_adapters_http::debug_only;
use tool_adapters_providers::Provider;
use tool_core::Secret;

/// A server as a resource that access tokens protect (OAuth 2.1), for [`Server::oauth`](crate::Server::oauth).
///
/// Each request over HTTP needs a bearer token of one of the issuers, issued for this resource.
/// JWTs are checked with the keys of the issuer, by their signature (RSA, ECDSA or Ed25519), `iss`,
/// `aud`, `exp` and `nbf`. The issuer and the `sub` are the principal of the session. The server
/// publishes the metadata (RFC 9728) from which clients learn where to get a token.
///
/// ```
/// use tool_adapters::mcp::{OAuthResource, Server};
/// use tool_core::ToolContext;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let tools = ToolContext::builder().build()?;
/// let resource = OAuthResource::new("https://mcp.example/mcp")
///     .issuer("https://login.example")
///     .scopes(["calendar.read"])
///     .tool_scopes("delete_event", ["calendar.write"]);
/// let server = Server::from_tools(tools)?.oauth(resource).allow_hosts(["mcp.example"]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "a resource protects nothing before `Server::oauth`"]
pub struct OAuthResource {
    url: String,
    name: Option<String>,
    issuers: Vec<(String, Option<(String, Secret)>)>,
    audiences: Vec<String>,
    scopes: BTreeSet<String>,
    tool_scopes: HashMap<String, BTreeSet<String>>,
    leeway: Duration,
}

impl OAuthResource {
    /// Creates a resource by the URL under which clients reach the server, with its path. It is the
    /// audience of the tokens.
    pub fn new(url: impl Into<String>) -> Self {
        let (scopes, tool_scopes, leeway) =
            (BTreeSet::new(), HashMap::new(), Duration::from_secs(30));
        Self {
            url: url.into(),
            name: None,
            issuers: Vec::new(),
            audiences: Vec::new(),
            scopes,
            tool_scopes,
            leeway,
        }
    }

    /// Adds an issuer of tokens, such as `https://login.example/tenant`, exactly as its tokens name
    /// it. Its keys are found in its metadata (RFC 8414 or OpenID Connect Discovery). It needs
    /// `https`, except on this machine.
    pub fn issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuers.push((issuer.into(), None));
        self
    }

    /// Adds an issuer of tokens that may be no JWTs. The server asks the issuer about each of those
    /// (RFC 7662), as this client. You can add one such issuer, because such a token does not name
    /// its issuer. The issuer needs no keys (`jwks_uri`) unless some of its tokens are JWTs.
    pub fn introspected_issuer(
        mut self,
        issuer: impl Into<String>,
        client_id: impl Into<String>,
        client_secret: impl Into<Secret>,
    ) -> Self {
        self.issuers.push((
            issuer.into(),
            Some((client_id.into(), client_secret.into())),
        ));
        self
    }

    /// Adds an audience that is accepted in place of the URL, for issuers that know the server by
    /// another name, such as `api://calendar`. A token that another service accepts too can be used
    /// against both, so the name has to be this server's alone.
    pub fn audience(mut self, audience: impl Into<String>) -> Self {
        self.audiences.push(audience.into());
        self
    }

    /// Adds scopes that each request needs.
    pub fn scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.scopes.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// Adds scopes that calls of a tool need beside those of each request. A client whose token
    /// lacks one is answered 403 with the scopes, and can ask its user for more. Note that clients
    /// call a tool such as `files/delete` by another name, `files_delete`, so a tool that has that
    /// name itself needs the scopes, too.
    pub fn tool_scopes(
        mut self,
        tool: impl Into<String>,
        scopes: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        self.tool_scopes
            .entry(tool.into())
            .or_default()
            .extend(scopes.into_iter().map(Into::into));
        self
    }

    /// Sets the name of the server that clients may show to their users.
    pub fn name(self, name: impl Into<String>) -> Self {
        Self {
            name: Some(name.into()),
            ..self
        }
    }

    /// Sets the time by which the clocks of the issuer and of this machine may differ. Defaults to
    /// 30 s.
    pub fn leeway(self, leeway: Duration) -> Self {
        Self { leeway, ..self }
    }

    /// Checks the settings. All problems are kept, so that [`Server::bind`](crate::Server::bind)
    /// can report them.
    pub(crate) fn gate(self) -> ResourceGate {
        let mut problems = Vec::new();
        let url = self.checked_url(&mut problems);
        if self.issuers.is_empty() {
            problems.push("expected an `OAuthResource::issuer`, got none".to_owned());
        }
        let introspected = self.issuers.iter().filter(|(_, client)| client.is_some());
        let count = introspected.count();
        if count > 1 {
            problems.push(format!(
                "expected one `OAuthResource::introspected_issuer`, got {count}; a token that is no JWT does not name its issuer"
            ));
        }
        for scope in self
            .scopes
            .iter()
            .chain(self.tool_scopes.values().flatten())
            .filter(|scope| !is_scope(scope))
        {
            problems.push(format!(
                "expected a scope of visible ASCII characters, got `{}`",
                scope.escape_debug()
            ));
        }
        let mut issuers = Vec::new();
        match Fetcher::trusted() {
            Ok(fetcher) => {
                for (issuer, introspection) in &self.issuers {
                    match fetcher.parse("the issuer", issuer) {
                        Ok(_) => issuers.push(TrustedIssuer::new(
                            IssuerCache::new(
                                issuer.clone(),
                                fetcher.clone(),
                                introspection.is_some(),
                            ),
                            introspection.clone(),
                        )),
                        Err(error) => problems.push(error.to_string()),
                    }
                }
            }
            Err(error) => problems.push(error.to_string()),
        }
        let metadata_path = url.as_ref().map(resource_metadata_path).unwrap_or_default();
        let metadata_url = url
            .map(|url| at_path(&url, &metadata_path).to_string())
            .unwrap_or_default();
        let audiences = if self.audiences.is_empty() {
            vec![self.url.clone()]
        } else {
            self.audiences.clone()
        };
        ResourceGate {
            resource: self,
            metadata_path,
            metadata_url,
            audiences,
            issuers,
            problems,
        }
    }

    fn checked_url(&self, problems: &mut Vec<String>) -> Option<Url> {
        let parsed =
            Fetcher::trusted().and_then(|fetcher| fetcher.parse("the resource", &self.url));
        let example = "set the server's public URL, such as https://mcp.example/mcp";
        parsed
            .map_err(|error| problems.push(format!("{error}; {example}")))
            .ok()
    }
}

debug_only!(
    OAuthResource, |this| url: this.url, scopes: this.scopes,
    issuers: this.issuers.iter().map(|(issuer, _)| issuer).collect::<Vec<_>>()
);

/// Returns true if a text is a scope (RFC 6749, 3.3), which has no quotes and no blanks.
fn is_scope(scope: &str) -> bool {
    !scope.is_empty()
        && scope
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\'))
}

/// The check of the requests of a resource.
pub(crate) struct ResourceGate {
    resource: OAuthResource,
    metadata_path: String,
    metadata_url: String,
    audiences: Vec<String>,
    issuers: Vec<TrustedIssuer>,
    problems: Vec<String>,
}

/// The reason why a request is refused.
#[derive(Debug, PartialEq)]
pub(crate) enum Refusal {
    /// The request has no token.
    Missing,
    /// The request has a malformed `Authorization` header, or several.
    Malformed,
    Token(TokenProblem),
    /// The token lacks some of these scopes.
    Scopes(Vec<String>),
}

impl ResourceGate {
    /// Returns all problems of the settings. With one, no token is accepted.
    pub(crate) fn problems(&self) -> &[String] {
        &self.problems
    }

    /// Returns the route of the metadata, which needs no token.
    pub(crate) fn metadata_route(&self) -> Router {
        if !self.problems.is_empty() {
            return Router::new();
        }
        let resource = &self.resource;
        let scopes = resource
            .scopes
            .iter()
            .chain(resource.tool_scopes.values().flatten())
            .collect::<BTreeSet<_>>();
        let mut metadata = json!({
            "resource": resource.url,
            "authorization_servers": resource.issuers.iter().map(|(issuer, _)| issuer).collect::<Vec<_>>(),
            "bearer_methods_supported": ["header"],
        });
        if !scopes.is_empty() {
            metadata["scopes_supported"] = json!(scopes);
        }
        if let Some(name) = &resource.name {
            metadata["resource_name"] = json!(name);
        }
        let body: Arc<str> = metadata.to_string().into();
        let answer = move || {
            let body = String::from(&*body);
            async move {
                (
                    [
                        (header::CONTENT_TYPE, "application/json"),
                        (header::CACHE_CONTROL, "max-age=3600"),
                    ],
                    body,
                )
            }
        };
        Router::new().route(&self.metadata_path, get(answer))
    }

    /// Checks the token of a request, which comes from a peer. Returns its claims.
    pub(crate) async fn admit(
        &self,
        headers: &HeaderMap,
        peer: Option<IpAddr>,
    ) -> Result<AccessClaims, Refusal> {
        let mut sent = headers.get_all(header::AUTHORIZATION).iter();
        let value = sent.next().ok_or(Refusal::Missing)?;
        let text = value
            .to_str()
            .ok()
            .filter(|_| sent.next().is_none())
            .ok_or(Refusal::Malformed)?;
        let (scheme, token) = text
            .split_at_checked("Bearer ".len())
            .ok_or(Refusal::Malformed)?;
        if !scheme.eq_ignore_ascii_case("Bearer ") || !self.problems.is_empty() {
            return Err(Refusal::Malformed);
        }
        let checked = check(
            (token.trim(), peer),
            &self.issuers,
            &self.audiences,
            self.resource.leeway,
        )
        .await;
        let claims = checked.map_err(Refusal::Token)?;
        self.require(&claims, self.resource.scopes.iter())?;
        Ok(claims)
    }

    /// Returns the time for which a token that was checked is still accepted, if it has an end.
    pub(crate) fn time_left(&self, claims: &AccessClaims) -> Option<Duration> {
        let end = claims.claim("exp")?.as_f64()?;
        let left = end + self.resource.leeway.as_secs_f64() - unix_time();
        Duration::try_from_secs_f64(left.max(0.0)).ok()
    }

    /// Checks that a token has the scopes for calls of tools by these names. The tools of a session
    /// are its own, so a name counts for each tool that may have it there.
    pub(crate) fn permit<'a>(
        &self,
        claims: Option<&AccessClaims>,
        called: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), Refusal> {
        let rule = Provider::Mcp.spec().tool_names;
        let scopes_of = |name| {
            let scopes = self.resource.tool_scopes.iter();
            scopes.filter(move |(tool, _)| rule.may_name(tool, name))
        };
        let needed = called
            .into_iter()
            .flat_map(scopes_of)
            .flat_map(|(_, scopes)| scopes);
        match claims {
            Some(claims) => self.require(claims, needed),
            None => needed.count().eq(&0).then_some(()).ok_or(Refusal::Missing),
        }
    }

    /// Returns true if some tools need scopes.
    pub(crate) fn has_tool_scopes(&self) -> bool {
        !self.resource.tool_scopes.is_empty()
    }

    fn require<'a>(
        &self,
        claims: &AccessClaims,
        needed: impl Iterator<Item = &'a String>,
    ) -> Result<(), Refusal> {
        let needed = needed.collect::<BTreeSet<_>>();
        if needed.iter().all(|scope| claims.scopes().contains(scope)) {
            return Ok(());
        }
        // The scopes of each request too, as a client asks for exactly those that the answer names.
        let all = self
            .resource
            .scopes
            .iter()
            .chain(needed)
            .collect::<BTreeSet<_>>();
        Err(Refusal::Scopes(all.into_iter().cloned().collect()))
    }

    /// Returns the answer to a refused request.
    pub(crate) fn refuse(&self, refusal: &Refusal) -> Response {
        let needed = || self.resource.scopes.iter().cloned().collect();
        let (status, error, scopes): (_, _, Vec<String>) = match refusal {
            Refusal::Token(TokenProblem::Unavailable) => {
                tracing::warn!("refused a request, as its token cannot be checked at the moment");
                let retry = [(header::RETRY_AFTER, "5")];
                let text = "Service Unavailable: the token cannot be checked";
                return (StatusCode::SERVICE_UNAVAILABLE, retry, text).into_response();
            }
            Refusal::Missing => (StatusCode::UNAUTHORIZED, None, needed()),
            Refusal::Malformed => {
                let text = "expected one Authorization header with a bearer token".to_owned();
                (
                    StatusCode::UNAUTHORIZED,
                    Some(("invalid_token", text)),
                    needed(),
                )
            }
            Refusal::Token(problem) => (
                StatusCode::UNAUTHORIZED,
                Some(("invalid_token", problem.to_string())),
                needed(),
            ),
            Refusal::Scopes(scopes) => {
                let text = "the token lacks a scope".to_owned();
                (
                    StatusCode::FORBIDDEN,
                    Some(("insufficient_scope", text)),
                    scopes.clone(),
                )
            }
        };
        let mut challenge = vec![format!(
            "Bearer resource_metadata=\"{}\"",
            self.metadata_url
        )];
        if let Some((code, text)) = &error {
            tracing::warn!(reason = text, "refused a request");
            challenge.push(format!("error=\"{code}\", error_description=\"{text}\""));
        }
        if !scopes.is_empty() {
            challenge.push(format!("scope=\"{}\"", scopes.join(" ")));
        }
        let message = match &error {
            Some((_, text)) => format!("{}: {text}", status.canonical_reason().unwrap_or_default()),
            None => "Unauthorized: send an access token; WWW-Authenticate says where to get one"
                .to_owned(),
        };
        (
            status,
            [(header::WWW_AUTHENTICATE, challenge.join(", "))],
            message,
        )
            .into_response()
    }
}
