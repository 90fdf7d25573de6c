//! A client that is registered at a provider, and its requests to the provider's token endpoint.

use crate::oauth2::error::{OAuth2Error, shown};
use oauth2::basic::{BasicClient, BasicErrorResponse, BasicErrorResponseType, BasicTokenResponse};
use oauth2::http::{Response, StatusCode};
use oauth2::url::{Host, Url, form_urlencoded};
use oauth2::{
    AuthType, AuthUrl, AuthorizationCode, ClientId, ClientSecret, CsrfToken, EndpointNotSet,
    EndpointSet, HttpRequest, HttpResponse, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl,
    RefreshToken, RequestTokenError, Scope, TokenResponse, TokenUrl,
};
use serde_json::{Value, json};
use std::sync::OnceLock;
use std::time::Duration;
use tool_adapters_http::retry_after::requested_delay;
use tool_core::agents::Tokens;
use tool_core::tool::{OAuth2, SecretDocument};
use tool_core::{Secret, Timestamp, jiff};
use zeroize::Zeroizing;

/// Longest exchange with a token endpoint. Shorter than the time that a refresh may take.
const TIMEOUT: Duration = Duration::from_secs(15);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest answer of a token endpoint, in bytes.
const MAX_ANSWER: usize = 256 * 1024;

/// Parameters of the authorisation URL that [`OAuth2Client::param`] cannot set.
const RESERVED_PARAMS: [&str; 8] = [
    "client_id",
    "code_challenge",
    "code_challenge_method",
    "redirect_uri",
    "response_type",
    "scope",
    "state",
    "client_secret",
];

/// A client as it is registered at a provider: its id, its secret if it has one, and its redirect
/// URL.
///
/// ```
/// use tool_adapters::oauth2::OAuth2Client;
///
/// let google = OAuth2Client::new("1234.apps.googleusercontent.com", "https://app.example/oauth2/callback")
///     .secret("hunter2")
///     // Google issues no refresh token without these.
///     .param("access_type", "offline")
///     .param("prompt", "consent");
/// assert!(!format!("{google:?}").contains("hunter2"));
/// ```
#[derive(Clone, Debug)]
pub struct OAuth2Client {
    id: String,
    secret: Option<Secret>,
    secret_in_body: bool,
    redirect_url: String,
    params: Vec<(String, String)>,
    issuer: Option<String>,
    /// The service that tokens are asked for (RFC 8707).
    resource: Option<String>,
}

/// The client of the `oauth2` crate, for one grant.
type GrantClient =
    BasicClient<EndpointSet, EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointSet>;

impl OAuth2Client {
    /// Creates a client without a secret.
    pub fn new(id: impl Into<String>, redirect_url: impl Into<String>) -> Self {
        let id = id.into();
        let redirect_url = redirect_url.into();
        Self {
            id,
            secret: None,
            secret_in_body: false,
            redirect_url,
            params: Vec::new(),
            issuer: None,
            resource: None,
        }
    }

    /// Reads a client from environment variables. For the prefix `GOOGLE` these are
    /// `GOOGLE_CLIENT_ID` and `GOOGLE_REDIRECT_URL`, and optionally `GOOGLE_CLIENT_SECRET` and
    /// `GOOGLE_PARAMS` (`access_type=offline&prompt=consent`). The error names every variable that
    /// is missing.
    pub fn from_env(prefix: &str) -> Result<Self, OAuth2Error> {
        Self::from_variables(prefix, |name| std::env::var(name).ok())
    }

    fn from_variables(
        prefix: &str,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, OAuth2Error> {
        let name = |suffix: &str| format!("{prefix}_{suffix}");
        let read = |suffix: &str| variable(&name(suffix)).filter(|value| !value.trim().is_empty());
        let (Some(id), Some(redirect_url)) = (read("CLIENT_ID"), read("REDIRECT_URL")) else {
            let missing = ["CLIENT_ID", "REDIRECT_URL"]
                .into_iter()
                .filter(|suffix| read(suffix).is_none());
            let names = missing
                .map(|suffix| format!("`{}`", name(suffix)))
                .collect::<Vec<_>>()
                .join(" and ");
            return Err(OAuth2Error::Client(format!(
                "set the environment variables {names}"
            )));
        };
        let mut client = Self::new(id, redirect_url);
        client.secret = read("CLIENT_SECRET").map(Secret::from);
        for (name, value) in form_urlencoded::parse(read("PARAMS").unwrap_or_default().as_bytes()) {
            client = client.param(name, value);
        }
        Ok(client)
    }

    /// Sets the client's secret.
    #[must_use]
    pub fn secret(self, secret: impl Into<Secret>) -> Self {
        Self {
            secret: Some(secret.into()),
            ..self
        }
    }

    /// Sends id and secret in the body, for providers that do not accept them in the
    /// `Authorization` header.
    #[must_use]
    pub fn secret_in_body(self) -> Self {
        Self {
            secret_in_body: true,
            ..self
        }
    }

    /// Adds a parameter to the authorisation URL.
    #[must_use]
    pub fn param(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.params.push((name.into(), value.into()));
        self
    }

    /// Sets the provider's issuer identifier, such as `https://accounts.google.com`. Callbacks with
    /// another `iss`, or without one, are refused, so that the answers of two providers cannot be
    /// mixed up (RFC 9207).
    #[must_use]
    pub fn issuer(self, issuer: impl Into<String>) -> Self {
        Self {
            issuer: Some(issuer.into()),
            ..self
        }
    }

    /// Asks for tokens that are good for one service only.
    #[must_use]
    pub fn resource(self, resource: impl Into<String>) -> Self {
        Self {
            resource: Some(resource.into()),
            ..self
        }
    }

    /// Returns the parameter that names the service.
    fn resource_param(&self) -> impl Iterator<Item = (&str, &str)> {
        self.resource
            .as_deref()
            .map(|resource| ("resource", resource))
            .into_iter()
    }

    pub(crate) fn check_issuer(&self, issuer: Option<&str>) -> Result<(), OAuth2Error> {
        match &self.issuer {
            Some(expected) if issuer != Some(expected) => Err(OAuth2Error::Callback(format!(
                "expected the issuer `{}`",
                expected.escape_debug()
            ))),
            _ => Ok(()),
        }
    }

    /// Checks the client and the URLs of a grant, and returns a client of the `oauth2` crate.
    fn for_grant(&self, grant: &OAuth2) -> Result<GrantClient, OAuth2Error> {
        if self.id.is_empty() {
            return Err(OAuth2Error::Client("its id is empty".into()));
        }
        check_url("redirect URL", &self.redirect_url, true)?;
        if let Some((name, _)) = self
            .params
            .iter()
            .find(|(name, _)| RESERVED_PARAMS.contains(&name.as_str()))
        {
            return Err(OAuth2Error::Client(format!(
                "the parameter `{name}` is reserved"
            )));
        }
        let auth = AuthUrl::from_url(check_url("authorisation URL", &grant.auth_url, false)?);
        let token = TokenUrl::from_url(check_url("token URL", &grant.token_url, false)?);
        // Not normalised, because providers compare it as text.
        let redirect = RedirectUrl::new(self.redirect_url.clone());
        let redirect =
            redirect.map_err(|_| OAuth2Error::Client("the redirect URL is not a URL".into()))?;
        let client = BasicClient::new(ClientId::new(self.id.clone()))
            .set_auth_uri(auth)
            .set_token_uri(token);
        let mut client = client.set_redirect_uri(redirect);
        if let Some(secret) = &self.secret {
            client = client.set_client_secret(ClientSecret::new(secret.expose().to_owned()));
        }
        Ok(client.set_auth_type(if self.secret_in_body {
            AuthType::RequestBody
        } else {
            AuthType::BasicAuth
        }))
    }

    /// Returns the URL of the provider's page where a person agrees.
    pub fn authorization_url(
        &self,
        grant: &OAuth2,
        challenge: PkceCodeChallenge,
        state: &Secret,
    ) -> Result<String, OAuth2Error> {
        let client = self.for_grant(grant)?;
        let request = client.authorize_url(|| CsrfToken::new(state.expose().to_owned()));
        let request = request
            .set_pkce_challenge(challenge)
            .add_scopes(grant.scopes.iter().cloned().map(Scope::new));
        let params = self
            .params
            .iter()
            .map(|(name, value)| (&**name, &**value))
            .chain(self.resource_param());
        let request = params.fold(request, |request, (name, value)| {
            request.add_extra_param(name, value)
        });
        Ok(request.url().0.into())
    }

    /// Exchanges a code for tokens.
    pub async fn exchange_code(
        &self,
        grant: &OAuth2,
        http: &HttpClient,
        code: &Secret,
        verifier: &Secret,
    ) -> Result<Tokens, OAuth2Error> {
        let client = self.for_grant(grant)?;
        let http = http.get()?;
        let sent_at = jiff::Timestamp::now();
        let request = client.exchange_code(AuthorizationCode::new(code.expose().to_owned()));
        let request =
            request.set_pkce_verifier(PkceCodeVerifier::new(verifier.expose().to_owned()));
        let request = self
            .resource_param()
            .fold(request, |request, (name, value)| {
                request.add_extra_param(name, value)
            });
        let answer = request
            .request_async(&|request| send(http.clone(), request))
            .await;
        tokens(
            answer,
            sent_at,
            &[Some(code), Some(verifier), self.secret.as_ref()],
        )
    }

    /// Exchanges a refresh token for new tokens.
    pub async fn refresh(
        &self,
        grant: &OAuth2,
        http: &HttpClient,
        refresh: &Secret,
    ) -> Result<Tokens, OAuth2Error> {
        let client = self.for_grant(grant)?;
        let http = http.get()?;
        let sent_at = jiff::Timestamp::now();
        let token = RefreshToken::new(refresh.expose().to_owned());
        let request = client.exchange_refresh_token(&token);
        let request = self
            .resource_param()
            .fold(request, |request, (name, value)| {
                request.add_extra_param(name, value)
            });
        let answer = request
            .request_async(&|request| send(http.clone(), request))
            .await;
        tokens(answer, sent_at, &[Some(refresh), self.secret.as_ref()])
    }

    /// Gets a token for the client itself.
    pub async fn client_credentials(
        &self,
        grant: &OAuth2,
        http: &HttpClient,
    ) -> Result<Tokens, OAuth2Error> {
        let client = self.for_grant(grant)?;
        let http = http.get()?;
        let sent_at = jiff::Timestamp::now();
        let request = client
            .exchange_client_credentials()
            .add_scopes(grant.scopes.iter().cloned().map(Scope::new));
        let request = self
            .resource_param()
            .fold(request, |request, (name, value)| {
                request.add_extra_param(name, value)
            });
        let answer = request
            .request_async(&|request| send(http.clone(), request))
            .await;
        tokens(answer, sent_at, &[self.secret.as_ref()])
    }
}

/// Parses a URL that codes or tokens are sent to. It must be encrypted, unless it is on this
/// machine. With `allow_own_scheme` it may have an app's own scheme.
fn check_url(name: &str, url: &str, allow_own_scheme: bool) -> Result<Url, OAuth2Error> {
    let invalid = |problem: &str| {
        Err(OAuth2Error::Client(format!(
            "the {name} `{}` {problem}",
            url.escape_debug()
        )))
    };
    let Ok(parsed) = Url::parse(url) else {
        return invalid("is not a URL");
    };
    if !parsed.username().is_empty() || parsed.password().is_some() {
        // The URL is not shown, because it may contain a password.
        return Err(OAuth2Error::Client(format!(
            "the {name} contains a user name or a password"
        )));
    }
    if parsed.fragment().is_some() {
        return invalid("has a fragment, which browsers do not send");
    }
    match parsed.scheme() {
        "https" => Ok(parsed),
        "http" if is_loopback(&parsed) => Ok(parsed),
        "http" => invalid("is not encrypted; use https"),
        _ if allow_own_scheme => Ok(parsed),
        _ => invalid("is not https"),
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

/// An HTTP client that is created at its first use. It follows no redirects, because they would
/// carry codes, tokens and secrets to another server.
#[derive(Default)]
pub struct HttpClient(OnceLock<reqwest::Client>);

impl From<reqwest::Client> for HttpClient {
    /// Uses a client that follows no redirects.
    fn from(client: reqwest::Client) -> Self {
        Self(OnceLock::from(client))
    }
}

impl HttpClient {
    fn get(&self) -> Result<reqwest::Client, OAuth2Error> {
        if let Some(client) = self.0.get() {
            return Ok(client.clone());
        }
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(TIMEOUT);
        let client = client.connect_timeout(CONNECT_TIMEOUT).no_gzip().build();
        let client =
            client.map_err(|_| OAuth2Error::Transient("failed to create an HTTP client".into()))?;
        Ok(self.0.get_or_init(|| client).clone())
    }
}

/// Describes a failed request. The text shows no URL, because its query may contain secrets.
fn unreachable(error: &reqwest::Error) -> OAuth2Error {
    let message = match error {
        error if error.is_timeout() => "the token endpoint did not answer in time",
        error if error.is_connect() => "failed to connect to the token endpoint",
        error if error.is_builder() => "failed to build the request to the token endpoint",
        _ => "the connection to the token endpoint broke",
    };
    OAuth2Error::Transient(message.into())
}

/// Sends a request of the `oauth2` crate.
async fn send(client: reqwest::Client, request: HttpRequest) -> Result<HttpResponse, OAuth2Error> {
    let (parts, body) = request.into_parts();
    let request = client
        .request(parts.method, parts.uri.to_string())
        .headers(parts.headers)
        .body(body);
    let mut response = request.send().await.map_err(|error| unreachable(&error))?;
    let status = response.status();
    if status.is_redirection() {
        let message = "the token endpoint redirects, which is not followed; set its own URL in the toolset's grant";
        return Err(OAuth2Error::Refused(message.into()));
    }
    if status.is_server_error() || matches!(status.as_u16(), 408 | 425 | 429) {
        let reason = format!(
            "the token endpoint answered with status {}",
            status.as_u16()
        );
        return Err(match requested_delay(response.headers()) {
            Some(retry_after) => OAuth2Error::Busy {
                reason,
                retry_after,
            },
            None => OAuth2Error::Transient(reason),
        });
    }
    let mut body = Zeroizing::new(Vec::with_capacity(4096));
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|error| unreachable(&error))?
    {
        if body.len() + chunk.len() > MAX_ANSWER {
            let message = format!(
                "expected an answer of at most {MAX_ANSWER} bytes from the token endpoint, got a longer one"
            );
            return Err(OAuth2Error::Refused(message));
        }
        body.extend_from_slice(&chunk);
    }
    let (status, body) = normalise_answer(status, &body);
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    Ok(answer)
}

/// Returns a token endpoint's answer in the form of RFC 6749. Some providers report errors with
/// status 200 (GitHub) or success with 201, leave out the token type, or write the lifetime as text
/// (Microsoft's older endpoint) or as a fraction. A body that is not a JSON object stays as it is.
fn normalise_answer(status: StatusCode, body: &[u8]) -> (StatusCode, Vec<u8>) {
    let Ok(Value::Object(mut members)) = serde_json::from_slice::<Value>(body) else {
        return (status, body.to_vec());
    };
    // Some providers write `null` for what they leave out, and the `oauth2` crate accepts none.
    members.retain(|_, value| !value.is_null());
    let has_token = members.contains_key("access_token");
    let status = match status {
        success if success.is_success() && has_token => StatusCode::OK,
        success if success.is_success() && members.contains_key("error") => StatusCode::BAD_REQUEST,
        other => other,
    };
    if has_token {
        if let Some(lifetime) = members.remove("expires_in")
            && let Some(seconds) = whole_seconds(&lifetime)
        {
            members.insert("expires_in".to_owned(), seconds.into());
        }
        members
            .entry("token_type")
            .or_insert_with(|| json!("bearer"));
    }
    // `from_value` wipes the members.
    (
        status,
        SecretDocument::from_value(Value::Object(members))
            .expose()
            .into(),
    )
}

fn whole_seconds(lifetime: &Value) -> Option<u64> {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    // rounded down, and limited to the range of `u64`
    let whole = |number: f64| (number.is_finite() && number >= 0.0).then_some(number as u64);
    lifetime
        .as_u64()
        .or_else(|| lifetime.as_f64().and_then(whole))
        .or_else(|| lifetime.as_str()?.trim().parse().ok())
}

type TokenError = RequestTokenError<OAuth2Error, BasicErrorResponse>;

/// Reads the tokens in an answer. The tokens expire by the time at which the request was sent,
/// because the answer's age is unknown. `secrets` were sent, and are removed from errors.
fn tokens(
    answer: Result<BasicTokenResponse, TokenError>,
    sent_at: jiff::Timestamp,
    secrets: &[Option<&Secret>],
) -> Result<Tokens, OAuth2Error> {
    let answer = answer.map_err(|error| token_error(error, secrets))?;
    if answer.access_token().secret().is_empty() {
        return Err(OAuth2Error::Refused("the access token is empty".into()));
    }
    let mut tokens = Tokens::new(answer.access_token().secret().as_str());
    tokens.refresh = answer
        .refresh_token()
        .map(|token| Secret::from(token.secret().as_str()));
    // An end that no clock reaches is left out.
    tokens.expires_at = answer
        .expires_in()
        .and_then(|lifetime| sent_at.checked_add(lifetime).ok())
        .map(Timestamp);
    let scopes = answer.scopes().map(|scopes| {
        scopes
            .iter()
            .map(|scope| scope.as_str())
            .collect::<Vec<_>>()
    });
    tokens.scope = scopes.map(|scopes| scopes.join(" "));
    Ok(tokens)
}

fn token_error(error: TokenError, secrets: &[Option<&Secret>]) -> OAuth2Error {
    match error {
        RequestTokenError::ServerResponse(response) => provider_error(&response, secrets),
        RequestTokenError::Request(error) => error,
        // The parser's error may quote tokens.
        RequestTokenError::Parse(..) => {
            OAuth2Error::Refused("the answer is not in the form of RFC 6749".into())
        }
        RequestTokenError::Other(_) => OAuth2Error::Refused("the answer is empty".into()),
    }
}

/// Turns an error that the provider reports into an [`OAuth2Error`].
fn provider_error(response: &BasicErrorResponse, secrets: &[Option<&Secret>]) -> OAuth2Error {
    let mut text = response.error().to_string();
    if let Some(description) = response.error_description() {
        text = format!("{text} ({description})");
    }
    for secret in secrets.iter().flatten().filter(|secret| !secret.is_empty()) {
        text = text.replace(secret.expose(), "[secret]");
    }
    let text = shown(&text);
    let code = match response.error() {
        BasicErrorResponseType::InvalidGrant => return OAuth2Error::Revoked(text),
        BasicErrorResponseType::Extension(code) => code.as_str(),
        _ => return OAuth2Error::Refused(text),
    };
    match code {
        // GitHub's codes for `invalid_grant`.
        "bad_refresh_token" | "bad_verification_code" => OAuth2Error::Revoked(text),
        "server_error" | "temporarily_unavailable" | "slow_down" => OAuth2Error::Transient(text),
        _ => OAuth2Error::Refused(text),
    }
}

#[cfg(test)]
mod tests {
    use super::{OAuth2Client, normalise_answer};
    use oauth2::http::StatusCode;
    use tool_core::Secret;

    fn read(variables: &[(&str, &str)]) -> Result<OAuth2Client, String> {
        let variable = |name: &str| {
            variables
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| (*value).to_owned())
        };
        OAuth2Client::from_variables("GOOGLE", variable).map_err(|error| error.to_string())
    }

    #[test]
    fn client_is_read_from_environment_variables() {
        let client = read(&[
            ("GOOGLE_CLIENT_ID", "id"),
            ("GOOGLE_CLIENT_SECRET", "hunter2"),
            ("GOOGLE_REDIRECT_URL", "https://app.example/cb"),
            (
                "GOOGLE_PARAMS",
                "access_type=offline&prompt=consent%20login",
            ),
        ]);
        let client = client.expect("a client");
        assert_eq!(
            (client.id.as_str(), client.redirect_url.as_str()),
            ("id", "https://app.example/cb")
        );
        assert_eq!(client.secret.as_ref().map(Secret::expose), Some("hunter2"));
        let params = [("access_type", "offline"), ("prompt", "consent login")]
            .map(|(n, v)| (n.to_owned(), v.to_owned()));
        assert_eq!(client.params, params);
        assert!(!format!("{client:?}").contains("hunter2"));
        let public = read(&[
            ("GOOGLE_CLIENT_ID", "id"),
            ("GOOGLE_REDIRECT_URL", "app:/cb"),
            ("GOOGLE_CLIENT_SECRET", ""),
        ]);
        assert!(public.expect("a client").secret.is_none());
    }

    #[test]
    fn every_missing_variable_is_named() {
        let error = |missing: &str| {
            format!("invalid OAuth 2 client: set the environment variables {missing}")
        };
        assert_eq!(
            read(&[]).expect_err("nothing"),
            error("`GOOGLE_CLIENT_ID` and `GOOGLE_REDIRECT_URL`")
        );
        assert_eq!(
            read(&[("GOOGLE_CLIENT_ID", "id")]).expect_err("no URL"),
            error("`GOOGLE_REDIRECT_URL`")
        );
        assert_eq!(
            read(&[("GOOGLE_REDIRECT_URL", "x"), ("GOOGLE_CLIENT_ID", " ")]).expect_err("no id"),
            error("`GOOGLE_CLIENT_ID`")
        );
    }

    #[test]
    fn answers_are_normalised_to_the_standard_form() {
        for (status, body, expected, form) in [
            (
                200,
                r#"{"access_token":"a","token_type":"x"}"#,
                200,
                r#"{"access_token":"a","token_type":"x"}"#,
            ),
            (
                201,
                r#"{"access_token":"a"}"#,
                200,
                r#"{"access_token":"a","token_type":"bearer"}"#,
            ),
            (
                200,
                r#"{"access_token":"a","expires_in":"60"}"#,
                200,
                r#"{"access_token":"a","expires_in":60,"token_type":"bearer"}"#,
            ),
            (
                200,
                r#"{"access_token":"a","expires_in":-1}"#,
                200,
                r#"{"access_token":"a","token_type":"bearer"}"#,
            ),
            (200, r#"{"error":"bad"}"#, 400, r#"{"error":"bad"}"#),
            (400, r#"{"error":"bad"}"#, 400, r#"{"error":"bad"}"#),
            (
                400,
                r#"{"access_token":"a"}"#,
                400,
                r#"{"access_token":"a","token_type":"bearer"}"#,
            ),
            (200, "[1]", 200, "[1]"),
            (200, "no JSON", 200, "no JSON"),
        ] {
            let status = StatusCode::from_u16(status).expect("a status");
            let (status, answer) = normalise_answer(status, body.as_bytes());
            assert_eq!(
                (status.as_u16(), String::from_utf8_lossy(&answer).as_ref()),
                (expected, form),
                "{body}"
            );
        }
    }

    #[test]
    fn null_in_an_answer_counts_as_absent() {
        let body = br#"{"access_token":"a","token_type":null,"scope":null,"expires_in":null}"#;
        let (_, answer) = normalise_answer(StatusCode::OK, body);
        let answer = String::from_utf8_lossy(&answer);
        assert_eq!(answer, r#"{"access_token":"a","token_type":"bearer"}"#);
    }
}
