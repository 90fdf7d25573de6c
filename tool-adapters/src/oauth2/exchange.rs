//! The requests of a grant, through the `oauth2` crate.

use crate::oauth2::client::OAuth2Client;
use crate::oauth2::error::{OAuth2Error, shown};
use crate::oauth2::{Authorization, error};
use oauth2::basic::{BasicClient, BasicErrorResponse, BasicErrorResponseType, BasicTokenResponse};
use oauth2::http::{Response, StatusCode};
use oauth2::{
    AuthType, AuthUrl, AuthorizationCode, ClientId, ClientSecret, CsrfToken, EndpointNotSet, EndpointSet, HttpRequest,
    HttpResponse, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, RefreshToken, RequestTokenError, Scope,
    TokenResponse, TokenUrl,
};
use std::fmt;
use std::sync::OnceLock;
use std::time::Duration;
use tool_core::agents::Tokens;
use tool_core::tool::OAuth2;
use tool_core::{Secret, Timestamp, jiff};

type Client = BasicClient<EndpointSet, EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointSet>;

/// The crate's client for a grant, or what is set up wrongly.
fn client(client: &OAuth2Client, grant: &OAuth2) -> Result<Client, OAuth2Error> {
    client.check()?;
    error::check("authorisation URL", &grant.auth_url, false)?;
    error::check("token URL", &grant.token_url, false)?;
    let wrong = |what: &str| OAuth2Error::Client(format!("the {what} URL is no URL"));
    let auth = AuthUrl::new(grant.auth_url.clone()).map_err(|_| wrong("authorisation"))?;
    let token = TokenUrl::new(grant.token_url.clone()).map_err(|_| wrong("token"))?;
    let redirect = RedirectUrl::new(client.redirect_url.clone()).map_err(|_| wrong("redirect"))?;
    let made = BasicClient::new(ClientId::new(client.id.clone())).set_auth_uri(auth).set_token_uri(token);
    let made = made.set_redirect_uri(redirect);
    let made = match &client.secret {
        Some(secret) => made.set_client_secret(ClientSecret::new(secret.expose().to_owned())),
        None => made,
    };
    Ok(made.set_auth_type(if client.secret_in_body { AuthType::RequestBody } else { AuthType::BasicAuth }))
}

/// The page where a person agrees, with a state that is made of the PKCE verifier.
pub(crate) fn authorization(
    registered: &OAuth2Client,
    grant: &OAuth2,
    state: impl FnOnce(&str) -> Result<(Secret, Timestamp), OAuth2Error>,
) -> Result<Authorization, OAuth2Error> {
    let client = client(registered, grant)?;
    let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
    let (state, expires_at) = state(verifier.secret())?;
    let request = client.authorize_url(|| CsrfToken::new(state.expose().to_owned()));
    let request = request.set_pkce_challenge(challenge).add_scopes(grant.scopes.iter().cloned().map(Scope::new));
    let params = registered.params.iter();
    let request = params.fold(request, |request, (name, value)| request.add_extra_param(name, value));
    Ok(Authorization { url: request.url().0.into(), state, expires_at })
}

/// The tokens for a code.
pub(crate) async fn code(
    registered: &OAuth2Client,
    grant: &OAuth2,
    http: &Http,
    code: Secret,
    verifier: Secret,
) -> Result<Tokens, OAuth2Error> {
    let client = client(registered, grant)?;
    let asked = jiff::Timestamp::now();
    let request = client.exchange_code(AuthorizationCode::new(code.expose().to_owned()));
    let request = request.set_pkce_verifier(PkceCodeVerifier::new(verifier.expose().to_owned()));
    let http = http.client().map_err(transient)?;
    let answer = request.request_async(&|request| send(http.clone(), request)).await;
    tokens(answer, asked, &[Some(&code), Some(&verifier), registered.secret.as_ref()])
}

/// The tokens for a refresh token.
pub(crate) async fn refresh(
    registered: &OAuth2Client,
    grant: &OAuth2,
    http: &Http,
    refresh: &Secret,
) -> Result<Tokens, OAuth2Error> {
    let client = client(registered, grant)?;
    let asked = jiff::Timestamp::now();
    let token = RefreshToken::new(refresh.expose().to_owned());
    let (http, request) = (http.client().map_err(transient)?, client.exchange_refresh_token(&token));
    let answer = request.request_async(&|request| send(http.clone(), request)).await;
    tokens(answer, asked, &[Some(refresh), registered.secret.as_ref()])
}

#[allow(clippy::needless_pass_by_value)] // for `map_err`
fn transient(failure: Failure) -> OAuth2Error {
    OAuth2Error::Transient(failure.to_string())
}

type Answer = Result<BasicTokenResponse, RequestTokenError<Failure, BasicErrorResponse>>;

fn tokens(answer: Answer, asked: jiff::Timestamp, secrets: &[Option<&Secret>]) -> Result<Tokens, OAuth2Error> {
    let answer = answer.map_err(|error| failed(error, secrets))?;
    if answer.access_token().secret().is_empty() {
        return Err(OAuth2Error::Refused("its access token is empty".into()));
    }
    let mut tokens = Tokens::new(answer.access_token().secret().as_str());
    tokens.refresh = answer.refresh_token().map(|token| Secret::from(token.secret().as_str()));
    tokens.expires_at = answer.expires_in().and_then(|lasts| end(asked, lasts)).map(Timestamp);
    let scopes = answer.scopes().map(|scopes| scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>());
    tokens.scope = scopes.map(|scopes| scopes.join(" "));
    Ok(tokens)
}

/// From when it was asked for, as nobody knows how long the answer took. Nothing for an end that no clock reaches.
fn end(asked: jiff::Timestamp, lasts: Duration) -> Option<jiff::Timestamp> {
    asked.checked_add(lasts).ok()
}

fn failed(error: RequestTokenError<Failure, BasicErrorResponse>, secrets: &[Option<&Secret>]) -> OAuth2Error {
    match error {
        RequestTokenError::ServerResponse(told) => told_error(&told, secrets),
        RequestTokenError::Request(failure @ (Failure::Unreachable(_) | Failure::Busy(_))) => transient(failure),
        RequestTokenError::Request(failure) => OAuth2Error::Refused(failure.to_string()),
        // Neither what stands there, nor what a parser says of it: there may be tokens in it.
        RequestTokenError::Parse(..) => OAuth2Error::Refused("its answer is not what the standard says".into()),
        RequestTokenError::Other(_) => OAuth2Error::Refused("its answer is empty".into()),
    }
}

/// What an error that the provider tells means.
fn told_error(told: &BasicErrorResponse, secrets: &[Option<&Secret>]) -> OAuth2Error {
    let mut words = told.error().to_string();
    if let Some(description) = told.error_description() {
        words = format!("{words} ({description})");
    }
    for secret in secrets.iter().flatten().filter(|secret| !secret.is_empty()) {
        words = words.replace(secret.expose(), "[secret]");
    }
    let words = shown(&words);
    match told.error() {
        BasicErrorResponseType::InvalidGrant => OAuth2Error::Revoked(words),
        BasicErrorResponseType::Extension(error) => match error.as_str() {
            // GitHub's words for it.
            "bad_refresh_token" | "bad_verification_code" => OAuth2Error::Revoked(words),
            "server_error" | "temporarily_unavailable" | "slow_down" => OAuth2Error::Transient(words),
            _ => OAuth2Error::Refused(words),
        },
        _ => OAuth2Error::Refused(words),
    }
}

// ---- The way to a token endpoint.

/// For the whole exchange: less than a refresh may take.
const TIMEOUT: Duration = Duration::from_secs(15);
const CONNECT: Duration = Duration::from_secs(5);
/// A longer answer is none of tokens.
const MOST: usize = 256 * 1024;

/// A client made at its first use, which follows no redirect: codes, tokens and secrets would go along.
#[derive(Default)]
pub(crate) struct Http(OnceLock<reqwest::Client>);

/// Why there is no answer.
#[derive(Debug, PartialEq)]
pub(crate) enum Failure {
    /// Nobody answers, or not in time.
    Unreachable(String),
    /// The server failed, or wants to be left alone for now.
    Busy(StatusCode),
    /// The server sends elsewhere.
    Redirected,
    TooLong,
}

impl Http {
    /// The client.
    pub(crate) fn client(&self) -> Result<reqwest::Client, Failure> {
        if let Some(client) = self.0.get() {
            return Ok(client.clone());
        }
        let builder = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
        let client = builder.timeout(TIMEOUT).connect_timeout(CONNECT).build();
        let client = client.map_err(|error| Failure::Unreachable(words(&error)))?;
        Ok(self.0.get_or_init(|| client).clone())
    }
}

/// Sends a request of the crate's.
pub(crate) async fn send(client: reqwest::Client, request: HttpRequest) -> Result<HttpResponse, Failure> {
    let (parts, body) = request.into_parts();
    let sent = client.request(parts.method, parts.uri.to_string()).headers(parts.headers).body(body).send().await;
    let mut response = sent.map_err(unreachable)?;
    let status = response.status();
    if status.is_redirection() {
        return Err(Failure::Redirected);
    }
    if status.is_server_error() || matches!(status.as_u16(), 408 | 425 | 429) {
        return Err(Failure::Busy(status));
    }
    let mut body = zeroize::Zeroizing::new(Vec::with_capacity(4096));
    while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
        if body.len() + chunk.len() > MOST {
            return Err(Failure::TooLong);
        }
        body.extend_from_slice(&chunk);
    }
    let (status, body) = error::answer(status, &body);
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    Ok(answer)
}

#[allow(clippy::needless_pass_by_value)] // for `map_err`
fn unreachable(error: reqwest::Error) -> Failure {
    Failure::Unreachable(words(&error))
}

/// What went wrong, without the URL, whose query may hold anything.
fn words(error: &reqwest::Error) -> String {
    let what = match error {
        error if error.is_timeout() => "it did not answer in time",
        error if error.is_connect() => "no connection to it",
        error if error.is_builder() => "the request could not be made",
        _ => "the connection broke",
    };
    what.to_owned()
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(why) => f.write_str(why),
            Self::Busy(status) => write!(f, "it answered with status {}", status.as_u16()),
            Self::Redirected => {
                f.write_str("it redirects, which is not followed; put its own URL into the toolset's grant")
            }
            Self::TooLong => write!(f, "its answer is longer than {MOST} bytes"),
        }
    }
}

impl std::error::Error for Failure {}
