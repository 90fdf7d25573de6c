//! Headers and tokens of a client over HTTP, which appear in no error, log or name.

use crate::mcp::client::error::ImportError;
use crate::mcp::client::names;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use reqwest::{Client, StatusCode, Url, redirect};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::streamable_http_client::{StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse};
use sse_stream::{Error as SseError, Sse};
use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use tool_core::trace::Redaction;

type TokenError = Box<dyn std::error::Error + Send + Sync>;

/// Returns a token. It receives the token that the server refused, if there is one.
pub(crate) type TokenProvider = dyn Fn(Option<String>) -> BoxFuture<'static, Result<String, TokenError>> + Send + Sync;

/// The headers and the tokens that are sent with each request.
#[derive(Default)]
pub(crate) struct Credentials {
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) tokens: Option<Box<TokenProvider>>,
    /// The texts that are masked: the values of headers, the keys in the URL, and the last token.
    secrets: Mutex<Vec<String>>,
}

/// The characters below which a text is not masked, as it would be found in every sentence.
const MIN_SECRET: usize = 4;

impl Credentials {
    /// Returns a text with the known secrets masked.
    pub(crate) fn redact(&self, text: &str) -> String {
        let secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret, "[key]"))
    }

    /// Returns the error of a connection, with the secrets that the server repeats masked.
    pub(crate) fn protocol_error(&self, error: &dyn std::error::Error) -> ImportError {
        ImportError::Protocol(self.redact(&error.to_string()).into())
    }

    fn add_secret(&self, secret: &str) {
        let mut secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        if secret.len() >= MIN_SECRET && !secrets.iter().any(|known| known == secret) {
            // A long secret is masked before a part of it. Tokens change, so the oldest are forgotten.
            if secrets.len() == 64 {
                secrets.remove(0);
            }
            secrets.push(secret.to_owned());
        }
    }

    /// Returns the headers as the HTTP client's types, which do not show their values.
    pub(crate) fn header_map(&self) -> Result<HashMap<HeaderName, HeaderValue>, ImportError> {
        let mut headers = HashMap::new();
        for (name, value) in &self.headers {
            let parsed = HeaderName::try_from(name).ok().zip(HeaderValue::try_from(value).ok());
            let (parsed, mut value) = parsed.ok_or_else(|| ImportError::Header(name.escape_debug().to_string()))?;
            value.set_sensitive(true);
            headers.insert(parsed, value);
        }
        Ok(headers)
    }

    /// Notes the secrets of the headers and of the URL.
    fn note_secrets(&self, url: &Url, http: &Client) {
        let values = self.headers.iter().map(|(_, value)| value.clone());
        // The user of a URL is sent as a header.
        let user = http.get(url.clone()).build().ok();
        let user = user.and_then(|request| request.headers().get(AUTHORIZATION)?.to_str().ok().map(str::to_owned));
        for value in values.chain(user) {
            self.add_secret(&value);
            for word in value.split(' ').filter(|word| !matches!(*word, "Bearer" | "Basic")) {
                self.add_secret(word);
            }
        }
        for secret in names::secrets_of_url(url) {
            self.add_secret(&secret);
        }
    }

    async fn token(&self, refused: Option<String>) -> Result<Option<String>, StreamableHttpError<reqwest::Error>> {
        let Some(provide) = &self.tokens else { return Ok(None) };
        let token = provide(refused).await.map_err(|error| {
            let message = format!("failed to get a token: {}", Redaction::new().text(&error.to_string()));
            StreamableHttpError::Io(io::Error::other(message))
        })?;
        self.add_secret(&token);
        Ok(Some(token))
    }
}

/// Parses a URL. Without a scheme it is `https`, and `http` for this machine.
pub(crate) fn parse_url(text: &str) -> Result<Url, ImportError> {
    let invalid = || ImportError::Url("expected a URL such as https://mcp.example/mcp");
    // A URL parser takes `http:///path` for a host `path`.
    if text.split_once("://").map_or(text, |(_, rest)| rest).starts_with('/') {
        return Err(invalid());
    }
    let url = if text.contains("://") {
        Url::parse(text).map_err(|_| invalid())?
    } else {
        let url = Url::parse(&format!("https://{text}")).map_err(|_| invalid())?;
        let scheme = if is_loopback(&url) { "http" } else { "https" };
        Url::parse(&format!("{scheme}://{text}")).map_err(|_| invalid())?
    };
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        _ => Err(ImportError::Url("expected a URL that begins with https:// or http://")),
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// A client over HTTP that authorizes each request.
#[derive(Clone)]
pub(crate) struct AuthorizedClient {
    http: Client,
    credentials: Arc<Credentials>,
}

type HttpResult<T> = Result<T, StreamableHttpError<reqwest::Error>>;

impl AuthorizedClient {
    pub(crate) fn new(url: &Url, credentials: Arc<Credentials>) -> Result<Self, ImportError> {
        // reqwest removes `Authorization` when another host is reached, but no other header.
        let same_origin = redirect::Policy::custom(|attempt| {
            let first = attempt.previous().first().map(Url::origin);
            if first.is_some_and(|origin| origin == attempt.url().origin()) && attempt.previous().len() < 10 {
                attempt.follow()
            } else {
                attempt.error("the server redirects to another origin; use that URL if you trust it")
            }
        });
        let http = Client::builder().redirect(same_origin).build();
        let http = http.map_err(|error| ImportError::Protocol(error.into()))?;
        credentials.note_secrets(url, &http);
        Ok(Self { http, credentials })
    }

    /// Sends a request with a token. If the server refuses the token, sends it once more with a new one.
    async fn authorized<T, F>(&self, send: impl Fn(Option<String>) -> F + Send + Sync) -> HttpResult<T>
    where
        F: Future<Output = HttpResult<T>> + Send,
    {
        let token = self.credentials.token(None).await?;
        let outcome = match send(token.clone()).await {
            Err(error) if token.is_some() && is_unauthorized(&error) => {
                let renewed = self.credentials.token(token.clone()).await?;
                if renewed == token { Err(error) } else { send(renewed).await }
            }
            outcome => outcome,
        };
        outcome.map_err(|error| self.masked(error))
    }

    /// Returns an error without the URL and without what the server repeats of the request's secrets.
    fn masked(&self, error: StreamableHttpError<reqwest::Error>) -> StreamableHttpError<reqwest::Error> {
        match error {
            StreamableHttpError::Client(error) => StreamableHttpError::Client(error.without_url()),
            StreamableHttpError::UnexpectedServerResponse(text) => {
                StreamableHttpError::UnexpectedServerResponse(self.credentials.redact(&text).into())
            }
            StreamableHttpError::UnexpectedContentType(Some(text)) => {
                StreamableHttpError::UnexpectedContentType(Some(self.credentials.redact(&text)))
            }
            StreamableHttpError::AuthRequired(mut challenge) => {
                challenge.www_authenticate_header = self.credentials.redact(&challenge.www_authenticate_header);
                StreamableHttpError::AuthRequired(challenge)
            }
            StreamableHttpError::InsufficientScope(mut challenge) => {
                challenge.www_authenticate_header = self.credentials.redact(&challenge.www_authenticate_header);
                StreamableHttpError::InsufficientScope(challenge)
            }
            error => error,
        }
    }
}

fn is_unauthorized(error: &StreamableHttpError<reqwest::Error>) -> bool {
    match error {
        StreamableHttpError::AuthRequired(_) => true,
        StreamableHttpError::Client(error) => error.status() == Some(StatusCode::UNAUTHORIZED),
        StreamableHttpError::UnexpectedServerResponse(text) => text.starts_with("HTTP 401"),
        _ => false,
    }
}

impl StreamableHttpClient for AuthorizedClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> HttpResult<StreamableHttpPostResponse> {
        self.post_message_with_max_sse_event_size(uri, message, session_id, None, headers, MAX_EVENT).await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
        max_event: usize,
    ) -> HttpResult<StreamableHttpPostResponse> {
        self.authorized(|token| {
            let (uri, message, session, headers) =
                (Arc::clone(&uri), message.clone(), session_id.clone(), headers.clone());
            self.http.post_message_with_max_sse_event_size(uri, message, session, token, headers, max_event)
        })
        .await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> HttpResult<()> {
        self.authorized(|token| {
            self.http.delete_session(Arc::clone(&uri), Arc::clone(&session_id), token, headers.clone())
        })
        .await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> HttpResult<Events> {
        self.get_stream_with_max_sse_event_size(uri, session_id, last_event_id, None, headers, MAX_EVENT).await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
        max_event: usize,
    ) -> HttpResult<Events> {
        self.authorized(|token| {
            let (uri, session, last, headers) =
                (Arc::clone(&uri), session_id.clone(), last_event_id.clone(), headers.clone());
            self.http.get_stream_with_max_sse_event_size(uri, session, last, token, headers, max_event)
        })
        .await
    }
}

type Events = BoxStream<'static, Result<Sse, SseError>>;

/// The largest event that is read if the transport sets no limit.
const MAX_EVENT: usize = 16 << 20;
