//! The transport over streamable HTTP: its router, the check of each request, and the sessions of rmcp.

use crate::mcp::server::body::read_body;
use crate::mcp::server::client::{Client, SessionLimit, SessionSlot};
use crate::mcp::server::connection::Connection;
use crate::mcp::server::request_ids::RandomIds;
use crate::mcp::server::session::{ServerState, Settings};
use crate::mcp::server::shared::SharedSessions;
use crate::mcp::server::strict;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use futures_util::Stream;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
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
    let Some(client) = Client::of(&parts, settings.find_principal.as_deref(), settings.access.allow_anonymous) else {
        let scheme = [(header::WWW_AUTHENTICATE, "Bearer")];
        return (StatusCode::UNAUTHORIZED, scheme, "Unauthorized: sign in and repeat the request").into_response();
    };
    if !gate.sessions.are_open_to(&client, &parts.headers) {
        let message = "Not Found: this client has no such session; open one with `initialize`";
        return (StatusCode::NOT_FOUND, message).into_response();
    }
    parts.extensions.insert(client.clone());
    if parts.method != Method::POST {
        return next.run(Request::from_parts(parts, body)).await;
    }
    let bytes = match read_body(body, settings.max_message, &settings.limits).await {
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
        Some(id) => match gate.state.open.acquire(&client, settings.max_sessions) {
            Ok(slot) => SLOT.scope(Cell::new(Some(slot)), next.run(request)).await,
            Err(limit) => too_many_sessions(limit, id),
        },
    }
}

const SESSION_HEADER: &str = "mcp-session-id";

fn initialize_id(message: &ClientJsonRpcMessage) -> Option<RequestId> {
    match message {
        JsonRpcMessage::Request(request) if matches!(request.request, ClientRequest::InitializeRequest(_)) => {
            Some(request.id.clone())
        }
        _ => None,
    }
}

fn too_many_sessions(limit: SessionLimit, id: RequestId) -> Response {
    tracing::warn!(?limit, "refused to open an MCP session");
    let (status, error) = (limit.status(), limit.error());
    let answer = ServerJsonRpcMessage::error(error, Some(id));
    (status, axum::Json(answer)).into_response()
}

impl SessionLimit {
    fn status(self) -> StatusCode {
        match self {
            Self::Client(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::All(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// Returns the answer to the request that would open a session.
    pub(crate) fn error(self) -> ErrorData {
        ErrorData::invalid_request(
            match self {
                Self::Client(max) => format!("this client has {max} sessions open; end one of them first"),
                Self::All(max) => format!("the server has {max} sessions open; try again later"),
            },
            None,
        )
    }
}

tokio::task_local! {
    /// The place of the session that a request opens.
    static SLOT: Cell<Option<SessionSlot>>;
}

/// rmcp's sessions, with the client that opened each.
pub(crate) struct HttpSessions {
    sessions: LocalSessionManager,
    openers: Mutex<HashMap<SessionId, SessionSlot>>,
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

    fn openers(&self) -> MutexGuard<'_, HashMap<SessionId, SessionSlot>> {
        self.openers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns false if a request names more than one session, or a session that another client opened.
    fn are_open_to(&self, client: &Client, headers: &HeaderMap) -> bool {
        let mut ids = headers.get_all(SESSION_HEADER).iter();
        match (ids.next(), ids.next()) {
            (None, _) => true,
            (Some(id), None) => id.to_str().is_ok_and(|id| {
                // rmcp answers requests for sessions that do not exist.
                self.openers().get(id).is_none_or(|slot| client.owns(&slot.client))
            }),
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
        let closed = self.sessions.close_session(id).await;
        self.openers().remove(id);
        Ok(closed?)
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
