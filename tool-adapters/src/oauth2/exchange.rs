//! The requests of a grant, through the `oauth2` crate.

use super::error::shown;
use super::http::{self, Failure, Http};
use super::{Authorization, OAuth2Client, OAuth2Error, place};
use oauth2::basic::{BasicClient, BasicErrorResponse, BasicErrorResponseType, BasicTokenResponse};
use oauth2::{
    AuthType, AuthUrl, AuthorizationCode, ClientId, ClientSecret, CsrfToken, EndpointNotSet, EndpointSet,
    PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, RefreshToken, RequestTokenError, Scope, TokenResponse, TokenUrl,
};
use std::time::Duration;
use tool_core::agents::Tokens;
use tool_core::tool::OAuth2;
use tool_core::{Secret, Timestamp, jiff};

type Client = BasicClient<EndpointSet, EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointSet>;

/// The crate's client for a grant, or what is set up wrongly.
fn client(client: &OAuth2Client, grant: &OAuth2) -> Result<Client, OAuth2Error> {
    client.check()?;
    place::check("authorisation URL", &grant.auth_url, false)?;
    place::check("token URL", &grant.token_url, false)?;
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
pub(super) fn authorization(
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
pub(super) async fn code(
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
    let answer = request.request_async(&|request| http::send(http.clone(), request)).await;
    tokens(answer, asked, &[Some(&code), Some(&verifier), registered.secret.as_ref()])
}

/// The tokens for a refresh token.
pub(super) async fn refresh(
    registered: &OAuth2Client,
    grant: &OAuth2,
    http: &Http,
    refresh: &Secret,
) -> Result<Tokens, OAuth2Error> {
    let client = client(registered, grant)?;
    let asked = jiff::Timestamp::now();
    let token = RefreshToken::new(refresh.expose().to_owned());
    let (http, request) = (http.client().map_err(transient)?, client.exchange_refresh_token(&token));
    let answer = request.request_async(&|request| http::send(http.clone(), request)).await;
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
