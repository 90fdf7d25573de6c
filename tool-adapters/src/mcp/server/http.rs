//! The transport over streamable HTTP: its router, the check of each request, and the sessions of rmcp.

use crate::mcp::server::body::read_body;
use crate::mcp::server::client::{Client, Identity};
use crate::mcp::server::connection::Connection;
use crate::mcp::server::request_ids::RandomIds;
use crate::mcp::server::session::{ServerState, Settings, SharedSessions, too_many_sessions};
use crate::mcp::server::strict;
use crate::transport::quota::{QuotaExceeded, Share};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use futures_util::Stream;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, JsonRpcMessage, ProtocolVersion, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, LocalSessionWorker, SessionConfig,
};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService, WorkerTransport};
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Returns a router that serves a server's tools.
pub(crate) fn router(state: &ServerState) -> Router {
    let (state, settings) = (Arc::new(state.clone()), &state.settings);
    let sessions = Arc::new(HttpSessions::new(settings));
    // `AccessRules` have a stricter check of both headers.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_max_request_body_bytes(settings.max_message)
        .with_cancellation_token(settings.shutdown.child_token());
    let gate = Arc::new(Gate { state: Arc::clone(&state), sessions: Arc::clone(&sessions) });
    let shared = Arc::new(SharedSessions::default());
    let factory = move || Ok(Connection::over_http(Arc::clone(&state), Arc::clone(&shared)));
    let service = StreamableHttpService::new(factory, sessions, config);
    let router = Router::new().route_service(&settings.path, service).layer(from_fn_with_state(gate, check_request));
    settings.access.clone().guard(router)
}

struct Gate {
    state: Arc<ServerState>,
    sessions: Arc<HttpSessions>,
}

/// Identifies the client of a request, and refuses requests for a session of another client, requests that would open too
/// many sessions, and bodies that are not a valid message.
async fn check_request(State(gate): State<Arc<Gate>>, request: Request, next: Next) -> Response {
    let settings = &gate.state.settings;
    let (mut parts, body) = request.into_parts();
    let Some(client) = Client::of(&parts, settings.find_principal.as_deref(), &settings.access) else {
        let scheme = [(header::WWW_AUTHENTICATE, "Bearer")];
        let message = "Unauthorized: the request has no principal; sign in and repeat it";
        return (StatusCode::UNAUTHORIZED, scheme, message).into_response();
    };
    if is_without_sessions(&parts.headers) {
        parts.headers.remove(SESSION_HEADER);
    }
    if !gate.sessions.are_open_to(&client, &parts.headers) {
        // One answer for sessions that do not exist, have ended, or belong to another client.
        let message = "Not Found: this client has no such session; open one with `initialize`";
        return (StatusCode::NOT_FOUND, message).into_response();
    }
    parts.extensions.insert(client.clone());
    if parts.method != Method::POST {
        return next.run(Request::from_parts(parts, body)).await;
    }
    let mut buffered = Share::new(&gate.state.bodies, Identity::Peer(client.peer), settings.limits.buffered);
    let bytes = match read_body(body, settings.max_message, (&settings.limits, &mut buffered)).await {
        Ok(bytes) => bytes,
        Err(refused) => return refused.into_response(),
    };
    let message = match strict::parse_message(&bytes) {
        Ok(message) => message,
        Err(invalid) => {
            let is_params = invalid.error.code == ErrorCode::INVALID_PARAMS;
            let status = if is_params { StatusCode::OK } else { StatusCode::BAD_REQUEST };
            return (status, [(header::CONTENT_TYPE, "application/json")], invalid.to_json()).into_response();
        }
    };
    let is_first = !parts.headers.contains_key(SESSION_HEADER);
    let request = Request::from_parts(parts, Body::from(bytes));
    match initialize_id(&message).filter(|_| is_first) {
        None => next.run(request).await,
        Some(id) => match gate.state.take_place(&client) {
            Ok(slot) => SLOT.scope(Cell::new(Some((client, slot))), next.run(request)).await,
            Err(limit) => refuse_session(limit, id),
        },
    }
}

const SESSION_HEADER: &str = "mcp-session-id";

/// Returns true if the request speaks a revision without sessions, where the header of a session has no meaning.
fn is_without_sessions(headers: &HeaderMap) -> bool {
    let version = headers.get("mcp-protocol-version").and_then(|version| version.to_str().ok());
    version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28.as_str())
}

fn initialize_id(message: &ClientJsonRpcMessage) -> Option<RequestId> {
    match message {
        JsonRpcMessage::Request(request) if matches!(request.request, ClientRequest::InitializeRequest(_)) => {
            Some(request.id.clone())
        }
        _ => None,
    }
}

fn refuse_session(limit: QuotaExceeded, id: RequestId) -> Response {
    let status = match limit {
        QuotaExceeded::Each(_) => StatusCode::TOO_MANY_REQUESTS,
        QuotaExceeded::All(_) => StatusCode::SERVICE_UNAVAILABLE,
    };
    let answer = ServerJsonRpcMessage::error(too_many_sessions(limit), Some(id));
    (status, axum::Json(answer)).into_response()
}

/// The client that opens a session, and the session's place.
type Opener = (Client, Share<Identity>);

tokio::task_local! {
    /// The opener of the session that a request opens.
    static SLOT: Cell<Option<Opener>>;
}

/// rmcp's sessions, with the client that opened each.
pub(crate) struct HttpSessions {
    sessions: LocalSessionManager,
    openers: Mutex<HashMap<SessionId, Opener>>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpSessionError {
    #[error(transparent)]
    Session(#[from] LocalSessionManagerError),
    #[error("the request that opens a session was not checked")]
    Unchecked,
}

impl HttpSessions {
    fn new(settings: &Settings) -> Self {
        let mut config = SessionConfig::default();
        config.keep_alive = Some(settings.idle_timeout);
        let mut sessions = LocalSessionManager::default();
        sessions.session_config = config;
        Self { sessions, openers: Mutex::default() }
    }

    fn openers(&self) -> MutexGuard<'_, HashMap<SessionId, Opener>> {
        self.openers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns false if a request names more than one session, or one that its client has not opened.
    fn are_open_to(&self, client: &Client, headers: &HeaderMap) -> bool {
        let mut ids = headers.get_all(SESSION_HEADER).iter();
        match (ids.next(), ids.next()) {
            (None, _) => true,
            (Some(id), None) => {
                id.to_str().is_ok_and(|id| self.openers().get(id).is_some_and(|(opener, _)| client.owns(opener)))
            }
            (Some(_), Some(_)) => false,
        }
    }
}

type Events<S> = Result<S, HttpSessionError>;

impl SessionManager for HttpSessions {
    type Error = HttpSessionError;
    type Transport = RandomIds<WorkerTransport<LocalSessionWorker>>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), HttpSessionError> {
        let slot = SLOT.try_with(Cell::take).ok().flatten().ok_or(HttpSessionError::Unchecked)?;
        let (id, transport) = self.sessions.create_session().await?;
        self.openers().insert(Arc::clone(&id), slot);
        Ok((id, RandomIds::new(transport)))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, HttpSessionError> {
        Ok(self.sessions.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, HttpSessionError> {
        Ok(self.sessions.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), HttpSessionError> {
        // No request reaches a session that is being closed. Its place is free once it is closed.
        let _opener = self.openers().remove(id);
        Ok(self.sessions.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Events<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static> {
        Ok(self.sessions.create_stream(id, message).await?)
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), HttpSessionError> {
        Ok(self.sessions.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Events<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static> {
        Ok(self.sessions.create_standalone_stream(id).await?)
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Events<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static> {
        Ok(self.sessions.resume(id, last_event_id).await?)
    }
}
