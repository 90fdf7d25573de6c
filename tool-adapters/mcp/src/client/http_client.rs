//! The client over HTTP, which authorizes each request.

use crate::client::answer::failure;
use crate::client::changes::{ChangeSender, ChangedLists, ServerChange};
#[cfg(feature = "auth")]
use crate::client::credentials::SecretKind;
use crate::client::credentials::{Credentials, Token};
use crate::client::direct;
use crate::client::error::{ImportError, Unsent, text_with_causes};
use crate::client::http_answer::{self, Events, HttpError, HttpResult, Posted, too_long_event};
#[cfg(feature = "auth")]
use crate::client::logins;
use crate::client::message::{MessageReader, ReadError};
use crate::client::notices::ListChanges;
use crate::client::pins::Declaration;
use crate::client::plain_client::PlainClient;
use crate::client::routes::CallRoutes;
use crate::lines::{IdScanner, MessageId};
use futures_util::StreamExt;
use hyper::Response;
use parking_lot::Mutex;
use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Body, Client, Method, Request, StatusCode, Url, redirect};
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorData, JsonRpcRequest, RequestId,
    ServerJsonRpcMessage, ServerResult,
};
use rmcp::service::ServiceError;
use rmcp::transport::common::http_header::HEADER_SESSION_ID;
use rmcp::transport::streamable_http_client::{
    HttpStatusError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::Sse;
use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio_util::bytes::Bytes;
use tool_adapters_http::base_url::is_local;
use tracing::Dispatch;
use tracing::instrument::WithSubscriber;

/// A client over HTTP that authorizes each request.
#[derive(Clone)]
pub(crate) struct AuthorizedClient {
    http: Client,
    plain: Option<PlainClient>,
    url: Url,
    session: Arc<Mutex<Arc<SessionHeaders>>>,
    /// True once the server no longer knows the session.
    has_expired: Arc<AtomicBool>,
    /// True once the stream of the session was opened.
    has_streamed: Arc<AtomicBool>,
    changed: Arc<ChangedLists>,
    changes: ChangeSender,
    credentials: Arc<Credentials>,
    reader: MessageReader,
    routes: CallRoutes,
}

/// The session of a client, as the headers of its messages.
#[derive(Clone, Default)]
pub(crate) struct SessionHeaders {
    has_id: bool,
    headers: HeaderMap,
}

impl SessionHeaders {
    fn new(id: Option<&str>, headers: HashMap<HeaderName, HeaderValue>) -> Self {
        let mut headers = headers.into_iter().collect::<HeaderMap>();
        let accepted = HeaderValue::from_static("text/event-stream, application/json");
        headers.insert(header::ACCEPT, accepted);
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        );
        let id = id.and_then(|id| HeaderValue::from_str(id).ok());
        let has_id = id.is_some();
        if let Some(id) = id {
            headers.insert(HEADER_SESSION_ID, id);
        }
        Self { has_id, headers }
    }
}

impl AuthorizedClient {
    pub(crate) fn new(
        url: &Url,
        credentials: Arc<Credentials>,
        changes: &ListChanges,
    ) -> Result<Self, ImportError> {
        // reqwest removes `Authorization` when another host is reached, but no other header.
        let same_origin = redirect::Policy::custom(|attempt| {
            let first = attempt.previous().first().map(Url::origin);
            if first.is_some_and(|origin| origin == attempt.url().origin())
                && attempt.previous().len() < 10
            {
                attempt.follow()
            } else {
                attempt
                    .error("the server redirects to another origin; use that URL if you trust it")
            }
        });
        // A small body cannot become a large one, and a proxy cannot read keys for this machine.
        let http = credentials
            .http_builder(url)?
            .redirect(same_origin)
            .referer(false)
            .no_gzip();
        let is_local = is_local(url.host_str().unwrap_or_default()) && !credentials.is_guarded();
        let http = if is_local { http.no_proxy() } else { http };
        // Without encryption, the system's certificates need not be read.
        let http = if is_local && url.scheme() == "http" {
            http.tls_certs_only([])
        } else {
            http
        };
        let http = http
            .build()
            .map_err(|error| ImportError::Protocol(error.into()))?;
        // Its address was checked with the URL, and no proxy is used.
        let is_direct = is_local || (credentials.is_guarded() && !credentials.is_proxied(url));
        let plain = if is_direct {
            PlainClient::new(url)
        } else {
            None
        };
        credentials.note_secrets(url);
        Ok(Self {
            http,
            plain,
            url: url.clone(),
            session: Arc::default(),
            has_expired: Arc::default(),
            has_streamed: Arc::default(),
            changed: Arc::clone(&changes.changed),
            changes: changes.changes.clone(),
            credentials,
            reader: MessageReader::over_http(changes.tasks.clone()),
            routes: changes.routes.clone(),
        })
    }

    /// Returns the session that rmcp has opened last.
    pub(crate) fn session(&self) -> Arc<SessionHeaders> {
        Arc::clone(&self.session.lock())
    }

    /// Returns true once the server no longer knows the session.
    pub(crate) fn has_expired(&self) -> bool {
        self.has_expired.load(Ordering::Relaxed)
    }

    /// Makes a call in a session.
    pub(crate) async fn post(
        &self,
        session: &SessionHeaders,
        message: Bytes,
    ) -> HttpResult<Posted> {
        match self.answer(session, message, Sent::Call).await? {
            Posted::Refused(status, text) => {
                let text = self.credentials.display(&text);
                let message = format!("the tool's server refused the call: HTTP {status}: {text}");
                Ok(Posted::Failed(ErrorData::internal_error(message, None)))
            }
            answer => Ok(answer),
        }
    }

    /// Reads the answer to a call.
    pub(crate) fn read_answer(
        &self,
        text: &[u8],
        call: &RequestId,
    ) -> Result<ServerResult, ServiceError> {
        let message = self.reader.read(text);
        let message = message.map_err(|error| ServiceError::McpError(error.into()))?;
        if !direct::answers(&message, call) {
            return Err(ServiceError::UnexpectedResponse);
        }
        direct::result(message)
    }

    /// Reads the text of an event in the stream of a request. One that cannot be read is the error
    /// of the request, if it may be the answer.
    pub(crate) fn read_event(
        &self,
        text: &[u8],
        stream: Option<&RequestId>,
    ) -> Result<ServerJsonRpcMessage, Option<ErrorData>> {
        let is_answer = || matches!(IdScanner::scan(text), MessageId::Response(_));
        let message = match self.reader.read(text) {
            Ok(message) => message,
            Err(ReadError::Unreadable) if !is_answer() => return Err(None),
            Err(error) => return Err(Some(error.into())),
        };
        if let (ServerJsonRpcMessage::Request(request), Some(stream)) = (&message, stream) {
            self.routes.note_stream(request.id.clone(), stream.clone());
        }
        Ok(message)
    }

    /// Sends a message, and returns its answer.
    async fn answer(
        &self,
        session: &SessionHeaders,
        message: Bytes,
        sent: Sent,
    ) -> HttpResult<Posted> {
        let answer = match self
            .send(&Method::POST, &session.headers, Some(&message))
            .await
        {
            Ok(response) => http_answer::read(response, sent != Sent::Other, session.has_id).await,
            Err(error) => Err(error),
        };
        let answer = answer.map_err(|error| self.masked(error));
        if let Err(StreamableHttpError::SessionExpired) = answer {
            self.has_expired.store(true, Ordering::Relaxed);
        }
        if let (Err(error), Sent::Call) = (&answer, sent)
            && let Some(refused) = self.refused_call(error)
        {
            tracing::warn!(error = %text_with_causes(error), "a server refused a call");
            return Ok(Posted::Failed(refused));
        }
        #[cfg(feature = "auth")]
        if let (Err(error), Sent::Call) = (&answer, sent)
            && logins::is_unavailable(error)
        {
            return Err(Unsent(text_with_causes(error)).into());
        }
        answer
    }

    /// Returns the answer to a call that was refused for its token or its key, or for lack of one.
    fn refused_call(&self, error: &HttpError) -> Option<ErrorData> {
        #[cfg(feature = "auth")]
        if self.credentials.oauth.is_some() {
            return logins::is_refusal(error).then(logins::refused_call);
        }
        let status = match error {
            StreamableHttpError::AuthRequired(_) => StatusCode::UNAUTHORIZED,
            StreamableHttpError::InsufficientScope(_) => StatusCode::FORBIDDEN,
            _ => return None,
        };
        let message = format!(
            "the tool's server refused the call for its key or the lack of one: HTTP {status}"
        );
        Some(ErrorData::invalid_request(message, None))
    }

    /// Requests a stream of a session, or the rest of one after an event.
    pub(crate) async fn stream(
        &self,
        session: &SessionHeaders,
        last_event: Option<&str>,
    ) -> HttpResult<Events> {
        let mut headers = session.headers.clone();
        let last_event = last_event.and_then(|last| HeaderValue::from_str(last).ok());
        headers.extend(last_event.map(|last| (HeaderName::from_static("last-event-id"), last)));
        // Some servers know no streams, whatever the session.
        let may_expire = session.has_id && self.has_streamed.load(Ordering::Relaxed);
        let answer = match self.send(&Method::GET, &headers, None).await {
            Ok(response) if response.status() == StatusCode::METHOD_NOT_ALLOWED => {
                Err(StreamableHttpError::ServerDoesNotSupportSse)
            }
            Ok(response) if response.status().is_server_error() => {
                Err(HttpStatusError::new(response.status().as_u16(), None).into())
            }
            Ok(response) => match http_answer::read(response, true, may_expire).await {
                Ok(Posted::Events(events, _)) => Ok(events),
                Ok(Posted::Refused(status, text)) => Err(http_answer::refused(status, &text)),
                Ok(_) => Err(StreamableHttpError::UnexpectedContentType(None)),
                Err(error) => Err(error),
            },
            Err(error) => Err(error),
        };
        answer.map_err(|error| self.masked(error))
    }

    /// Notes that changes may have been missed while the stream of the session was lost.
    fn note_missed_changes(&self) {
        for kind in Declaration::ALL {
            self.changed.note(kind);
        }
        self.changes.send(ServerChange::Missed);
    }

    /// Sends a request with a token.
    async fn send(
        &self,
        method: &Method,
        headers: &HeaderMap,
        body: Option<&Bytes>,
    ) -> HttpResult<Response<Body>> {
        self.authorized(|token| async move {
            let mut headers = Cow::Borrowed(headers);
            if body.is_none() {
                headers.to_mut().remove(header::CONTENT_TYPE);
            }
            if let Some(token) = token {
                let bearer = HeaderValue::try_from(format!("Bearer {token}"));
                let mut bearer = bearer.map_err(|_| {
                    Unsent("the token has characters that no header may have".to_owned())
                })?;
                bearer.set_sensitive(true);
                headers.to_mut().insert(header::AUTHORIZATION, bearer);
            }
            let response = self.execute(method, &headers, body).await?;
            http_answer::check_token(response, headers.contains_key(HEADER_SESSION_ID)).await
        })
        .await
    }

    /// Sends a request once.
    async fn execute(
        &self,
        method: &Method,
        headers: &HeaderMap,
        body: Option<&Bytes>,
    ) -> HttpResult<Response<Body>> {
        if let Some(plain) = &self.plain {
            let sent = plain.send(method, headers, body).await;
            let response = sent.map_err(|failed| {
                let text = self.credentials.display(&text_with_causes(&*failed.error));
                if failed.was_sent {
                    HttpError::Io(io::Error::other(text))
                } else {
                    HttpError::from(Unsent(text))
                }
            })?;
            // A server that redirects has done nothing yet.
            if !response.status().is_redirection() {
                return Ok(response);
            }
        }
        let mut request = Request::new(method.clone(), self.url.clone());
        headers.clone_into(request.headers_mut());
        *request.body_mut() = body.cloned().map(Body::from);
        self.http
            .execute(request)
            .await
            .map(Into::into)
            .map_err(StreamableHttpError::Client)
    }

    /// Sends a request with a token. If the server refuses the token, sends it once more with a new
    /// one.
    async fn authorized<T, F>(
        &self,
        send: impl Fn(Option<String>) -> F + Send + Sync,
    ) -> HttpResult<T>
    where
        F: Future<Output = HttpResult<T>> + Send,
    {
        // The libraries log URLs and headers as they are. The error has them too, masked.
        let send = |token| send(token).with_subscriber(Dispatch::none());
        #[cfg(feature = "auth")]
        if let Some(tokens) = &self.credentials.oauth {
            let note = |token: &str| self.credentials.add_secret(token, SecretKind::Token);
            return logins::authorized(tokens, note, send).await;
        }
        let copy = |token: &Option<Token>| token.as_deref().cloned();
        let token = self.credentials.token(None).await?;
        match send(copy(&token)).await {
            Err(error @ StreamableHttpError::AuthRequired(_)) if token.is_some() => {
                let renewed = self.credentials.token(token.clone()).await?;
                if renewed == token {
                    Err(error)
                } else {
                    send(copy(&renewed)).await
                }
            }
            outcome => outcome,
        }
    }

    /// Returns an error without the URL and without what the server repeats of the request's
    /// secrets.
    fn masked(&self, error: HttpError) -> HttpError {
        match error {
            // The cause says why nothing was reached, and rmcp would drop it.
            StreamableHttpError::Client(error) if error.is_connect() => {
                let text = text_with_causes(&error.without_url());
                Unsent(self.credentials.display(&text)).into()
            }
            StreamableHttpError::Client(error) => StreamableHttpError::Client(error.without_url()),
            StreamableHttpError::UnexpectedServerResponse(text) => {
                StreamableHttpError::UnexpectedServerResponse(
                    self.credentials.display(&text).into(),
                )
            }
            StreamableHttpError::UnexpectedContentType(Some(text)) => {
                StreamableHttpError::UnexpectedContentType(Some(self.credentials.display(&text)))
            }
            StreamableHttpError::AuthRequired(mut challenge) => {
                challenge.www_authenticate_header =
                    self.credentials.display(&challenge.www_authenticate_header);
                StreamableHttpError::AuthRequired(challenge)
            }
            StreamableHttpError::InsufficientScope(mut challenge) => {
                challenge.www_authenticate_header =
                    self.credentials.display(&challenge.www_authenticate_header);
                StreamableHttpError::InsufficientScope(challenge)
            }
            error => error,
        }
    }

    /// Returns the events of a stream for rmcp, which gets the messages as they were read. One that
    /// is too long or cannot be read is the error of the stream's request, once.
    fn events_for_rmcp(&self, events: Events, stream: Option<RequestId>) -> Events {
        let client = self.clone();
        let mut unanswered = stream.clone();
        let events = events.map(move |event| {
            let mut event = match event {
                Ok(event) => event,
                Err(error) => {
                    let (Some(too_long), Some(id)) = (too_long_event(&error), unanswered.take())
                    else {
                        return Err(error);
                    };
                    return Ok(Sse {
                        data: serde_json::to_string(&failure(too_long, id)).ok(),
                        ..Sse::default()
                    });
                }
            };
            let text = event.data.take().unwrap_or_default();
            if text.is_empty() {
                return Ok(event);
            }
            let message = match client.read_event(text.as_bytes(), stream.as_ref()) {
                Ok(message) => Some(message),
                Err(Some(error)) => unanswered.take().map(|id| failure(error, id)),
                Err(None) => None,
            };
            event.data = message.and_then(|message| serde_json::to_string(&message).ok());
            Ok(event)
        });
        events.boxed()
    }
}

/// The kind of a message that is sent.
#[derive(Clone, Copy, PartialEq)]
enum Sent {
    Call,
    Request,
    Other,
}

/// Returns the request of a message that is one.
fn request_of(message: &ClientJsonRpcMessage) -> Option<&JsonRpcRequest<ClientRequest>> {
    match message {
        ClientJsonRpcMessage::Request(request) => Some(request),
        _ => None,
    }
}

/// The messages that rmcp sends.
impl StreamableHttpClient for AuthorizedClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        _: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> HttpResult<StreamableHttpPostResponse> {
        let session = SessionHeaders::new(session_id.as_deref(), headers);
        if let ClientJsonRpcMessage::Notification(sent) = &message
            && let ClientNotification::InitializedNotification(_) = &sent.notification
        {
            *self.session.lock() = Arc::new(session.clone());
        }
        let request = request_of(&message);
        let sent = match request.map(|request| &request.request) {
            Some(ClientRequest::CallToolRequest(_)) => Sent::Call,
            // The call of a tool that runs as a task.
            Some(ClientRequest::CustomRequest(request)) if request.method == "tools/call" => {
                Sent::Call
            }
            Some(_) => Sent::Request,
            None => Sent::Other,
        };
        let answer = self
            .answer(&session, serde_json::to_vec(&message)?.into(), sent)
            .await?;
        let id = request.map(|request| request.id.clone());
        let is_discover = request
            .is_some_and(|request| matches!(request.request, ClientRequest::DiscoverRequest(_)));
        let mut opened = None;
        let answer = match answer {
            Posted::Events(events, opened) => {
                return Ok(StreamableHttpPostResponse::Sse(
                    self.events_for_rmcp(events, id),
                    opened,
                ));
            }
            // A server that does not know the request is older.
            Posted::Refused(status, text)
                if is_discover
                    && !session.has_id
                    && status.is_client_error()
                    && status != StatusCode::FORBIDDEN =>
            {
                let message = format!("`server/discover` was refused: HTTP {status}: {text}");
                Err(ErrorData::invalid_request(message, None))
            }
            Posted::Refused(status, text) => {
                return Err(self.masked(http_answer::refused(status, &text)));
            }
            Posted::Accepted => return Ok(StreamableHttpPostResponse::Accepted),
            Posted::Failed(error) => Err(error),
            Posted::Text(text, session) => {
                opened = session;
                match self.reader.read(&text) {
                    // The answer to a request has its error, also if the server could not read the
                    // id.
                    Ok(ServerJsonRpcMessage::Error(error)) => Err(error.error),
                    Ok(message) => Ok(message),
                    Err(error) => Err(error.into()),
                }
            }
        };
        Ok(match (answer, id) {
            // Only a request has an answer.
            (_, None) => StreamableHttpPostResponse::Accepted,
            (Ok(message), Some(_)) => StreamableHttpPostResponse::Json(message, opened),
            (Err(error), Some(id)) => StreamableHttpPostResponse::Json(failure(error, id), None),
        })
    }

    async fn delete_session(
        &self,
        _: Arc<str>,
        session_id: Arc<str>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> HttpResult<()> {
        let session = SessionHeaders::new(Some(&session_id), headers);
        let response = self
            .send(&Method::DELETE, &session.headers, None)
            .await
            .map_err(|error| self.masked(error))?;
        match response.status() {
            // Some servers keep sessions until they expire.
            status if status.is_success() || status == StatusCode::METHOD_NOT_ALLOWED => Ok(()),
            status => Err(http_answer::refused(status, "")),
        }
    }

    async fn get_stream(
        &self,
        _: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> HttpResult<Events> {
        let session = SessionHeaders::new(session_id.as_deref(), headers);
        let events = match self.stream(&session, last_event_id.as_deref()).await {
            Ok(events) => events,
            Err(error) => {
                if let StreamableHttpError::SessionExpired = error {
                    self.has_expired.store(true, Ordering::Relaxed);
                    self.changed.wake();
                }
                return Err(error);
            }
        };
        // The streams of requests are asked for by their last event. A server that gives events ids
        // sends again what was missed.
        if last_event_id.is_none() && self.has_streamed.swap(true, Ordering::Relaxed) {
            self.note_missed_changes();
        }
        Ok(self.events_for_rmcp(events, None))
    }
}
