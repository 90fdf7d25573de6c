//! The transport over streamable HTTP: its router, and the check of each request.

#[cfg(feature = "auth")]
use crate::server::authorization;
use crate::server::body::read_body;
use crate::server::client::{Client, Identity};
use crate::server::connection::Connection;
use crate::server::direct::{self, REVISION_HEADER, SESSION_HEADER};
use crate::server::features::Revisions;
use crate::server::http_sessions::{HttpSessions, OPENING};
use crate::server::message::{self, CallRequest, ClientMessage, Incoming, ReadMessage};
use crate::server::parked::ParkedCalls;
use crate::server::passed_on;
use crate::server::session::{ServerState, SharedSessions, too_many_sessions};
use crate::server::tasks::Tasks;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use futures_util::{FutureExt, StreamExt, stream};
use rmcp::ErrorData;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, JsonRpcMessage, ProtocolVersion, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use std::cell::Cell;
use std::future::ready;
use std::sync::Arc;
use tool_adapters_http::quota::{QuotaExceeded, Share};

/// Returns a router that serves a server's tools.
pub(crate) fn router(state: &ServerState) -> Router {
    let settings = &state.settings;
    let sessions = Arc::new(HttpSessions::new(
        settings.idle_timeout,
        settings.shutdown.clone(),
    ));
    // `AccessRules` have a stricter check of both headers, and the size of a body is checked before
    // it is read.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_max_request_body_bytes(usize::MAX)
        .with_cancellation_token(settings.shutdown.child_token());
    let state = Arc::new(state.clone());
    let shared = Arc::<SharedSessions>::default();
    let opened = Arc::downgrade(&sessions);
    state.endpoints.add(opened);
    let by_client = Arc::downgrade(&shared);
    state.endpoints.add(by_client);
    let gate = Arc::new(Gate {
        state,
        sessions: Arc::clone(&sessions),
        shared,
        parked: Arc::default(),
        tasks: Arc::default(),
    });
    let at = Arc::clone(&gate);
    let factory = move || {
        Ok(OPENING
            .try_with(|(connection, _)| Arc::clone(connection))
            .unwrap_or_else(|_| at.connect()))
    };
    let endpoint = Endpoint {
        gate,
        rmcp: StreamableHttpService::new(factory, sessions, config),
    };
    let router = Router::new()
        .route(&settings.path, any(serve))
        .with_state(Arc::new(endpoint));
    #[cfg(feature = "auth")]
    let router = authorization::with_metadata(router, settings);
    router
}

/// The endpoint of a server, and rmcp's, which serves the requests that are not answered before.
struct Endpoint {
    gate: Arc<Gate>,
    rmcp: StreamableHttpService<Arc<Connection>, HttpSessions>,
}

impl Endpoint {
    /// Passes on a request of a client. The future is boxed, as that of each request has room for
    /// it.
    fn pass_on<'a>(
        &'a self,
        client: &Client,
        mut parts: Parts,
        body: Body,
    ) -> impl Future<Output = Response> + Send + use<'a> {
        parts.extensions.insert(client.clone());
        let answer = Box::pin(self.rmcp.handle(Request::from_parts(parts, body)));
        answer.map(|answer| answer.map(Body::new))
    }
}

struct Gate {
    state: Arc<ServerState>,
    sessions: Arc<HttpSessions>,
    shared: Arc<SharedSessions>,
    parked: Arc<ParkedCalls>,
    tasks: Arc<Tasks>,
}

impl Gate {
    fn connect(&self) -> Arc<Connection> {
        let shared = Arc::clone(&self.shared);
        let parked = Arc::clone(&self.parked);
        let tasks = Arc::clone(&self.tasks);
        Arc::new(Connection::over_http(
            Arc::clone(&self.state),
            shared,
            parked,
            tasks,
        ))
    }

    /// Returns the handler of the session that a request names, or a new one if it names none.
    /// Returns `None` if it names more than one, or one that its client has not opened.
    fn connection(&self, client: &Client, headers: &HeaderMap) -> Option<Arc<Connection>> {
        let mut ids = headers.get_all(&SESSION_HEADER).iter();
        match (ids.next(), ids.next()) {
            (None, _) => Some(self.connect()),
            (Some(id), None) => self.sessions.connection(client, id.to_str().ok()?),
            (Some(_), Some(_)) => None,
        }
    }
}

/// Serves a request. While the process is about to end, the client's next request needs another
/// connection, which another process may take.
async fn serve(State(endpoint): State<Arc<Endpoint>>, request: Request) -> Response {
    let state = Arc::clone(&endpoint.gate.state);
    let is_stream = request.method() == Method::GET;
    let open = (!is_stream).then(|| state.answers.begin());
    let mut answer = serve_request(&endpoint, request).await;
    if state.runtime.is_draining() {
        let close = HeaderValue::from_static("close");
        answer.headers_mut().insert(header::CONNECTION, close);
    }
    match open {
        Some(open) => open.until_sent(answer),
        None => answer,
    }
}

/// Serves a request. Identifies its client, and refuses requests that no access rule allows,
/// requests for a session of another client, requests that would open too many sessions, and bodies
/// that are not a valid message.
async fn serve_request(endpoint: &Arc<Endpoint>, request: Request) -> Response {
    let gate = &endpoint.gate;
    let settings = &gate.state.settings;
    let (mut parts, body) = request.into_parts();
    if let Some(refused) = settings.access.refusal(&parts.uri, &parts.headers) {
        return refused;
    }
    #[cfg(feature = "auth")]
    if let Some(refused) = authorization::admit(settings, &mut parts).await {
        return refused;
    }
    let Some(client) = Client::of(&parts, settings.find_principal.as_deref(), &settings.access)
    else {
        return unauthorized();
    };
    let has_sessions = !is_without_sessions(&parts.headers);
    if !has_sessions {
        parts.headers.remove(&SESSION_HEADER);
    }
    let Some(connection) = gate.connection(&client, &parts.headers) else {
        return direct::unknown_session();
    };
    match parts.method {
        Method::POST => {}
        Method::DELETE => return end_session(endpoint, &client, parts, body).await,
        _ => {
            let answer = endpoint.pass_on(&client, parts, body).await;
            return until_token_ends(client, answer);
        }
    }
    let mut buffered = Share::new(
        &gate.state.bodies,
        Identity::Peer(client.peer),
        settings.limits.buffered,
    );
    let bytes = match read_body(
        body,
        settings.max_message,
        (&settings.limits, &mut buffered),
    )
    .await
    {
        Ok(bytes) => bytes,
        Err(refused) => return refused.into_response(),
    };
    let endpoint = Arc::clone(endpoint);
    let checked = CheckedRequest {
        endpoint,
        connection,
        client,
        parts,
        buffered: Arc::new(buffered),
    };
    if let Some(refused) = checked.refusal() {
        return refused;
    }
    let revisions = if has_sessions {
        Revisions::WithSessions
    } else {
        Revisions::WithoutSessions
    };
    let incoming = message::read(
        &bytes,
        gate.state.served(revisions),
        checked.connection.allows_batches(),
    );
    #[cfg(feature = "auth")]
    if let Some(refused) = authorization::permit(settings, &checked.parts, &incoming) {
        return refused;
    }
    match incoming {
        Incoming::One(Ok(message)) => checked.serve(message).await,
        Incoming::One(Err(invalid)) if has_sessions => {
            invalid.into_response(StatusCode::BAD_REQUEST)
        }
        Incoming::One(Err(invalid)) => {
            invalid.into_response_without_sessions(StatusCode::BAD_REQUEST)
        }
        // Boxed, as the future of each request has room for it.
        Incoming::Batch(messages) => Box::pin(checked.serve_batch(messages)).await,
    }
}

/// Returns the answer to a request that has no principal.
fn unauthorized() -> Response {
    let scheme = [(header::WWW_AUTHENTICATE, "Bearer")];
    let message = "Unauthorized: the request has no principal; sign in and repeat it";
    (StatusCode::UNAUTHORIZED, scheme, message).into_response()
}

/// Ends a stream once the access token of its client is accepted no more.
fn until_token_ends(client: Client, answer: Response) -> Response {
    if client.until.is_none() {
        return answer;
    }
    let ended = async move { client.token_ended().await };
    answer.map(|body| Body::from_stream(body.into_data_stream().take_until(ended)))
}

/// Ends a session. rmcp answers 202, and some clients take only 200 and 204 for its end.
async fn end_session(endpoint: &Endpoint, client: &Client, parts: Parts, body: Body) -> Response {
    let id = parts.headers.get(&SESSION_HEADER).cloned();
    let mut answer = endpoint.pass_on(client, parts, body).await;
    if answer.status() == StatusCode::ACCEPTED {
        id.iter()
            .filter_map(|id| id.to_str().ok())
            .for_each(|id| endpoint.gate.sessions.end(id));
        *answer.status_mut() = StatusCode::NO_CONTENT;
    }
    answer
}

/// A request whose client and session are known.
#[derive(Clone)]
struct CheckedRequest {
    endpoint: Arc<Endpoint>,
    connection: Arc<Connection>,
    client: Client,
    parts: Parts,
    /// The bytes of the request, which count until it is answered, also if its client is gone.
    buffered: Arc<Share<Identity>>,
}

impl CheckedRequest {
    /// Returns the answer to a message that its client may send no more. The body of a request may
    /// take long, and so may the messages before it in a batch. Meanwhile the client's access or
    /// its session may have ended.
    fn refusal(&self) -> Option<Response> {
        let gate = &self.endpoint.gate;
        let settings = &gate.state.settings;
        #[cfg(feature = "auth")]
        if self.client.has_token_ended() {
            return authorization::refuse_expired(settings);
        }
        let find_principal = settings.find_principal.as_deref();
        let is_same = self
            .client
            .is_still_of(&self.parts, find_principal, &settings.access);
        if !is_same {
            return Some(unauthorized());
        }
        let session = self.session_id()?;
        let is_open = gate.sessions.connection(&self.client, session).is_some();
        (!is_open).then(direct::unknown_session)
    }

    async fn serve(self, message: ClientMessage) -> Response {
        match message {
            ClientMessage::Call(call) => self.serve_call(call).await,
            ClientMessage::Cancel(id, message) => self.cancel(&id, message).await,
            ClientMessage::Other(message) => self.serve_other(message).await,
        }
    }

    async fn serve_call(mut self, call: CallRequest) -> Response {
        // A call that repeats the id of another cannot be cancelled by it.
        let under_way = self.connection.calls.enter(&call.id);
        let answer = direct::answer(
            &self.connection,
            &self.client,
            &call,
            under_way.as_ref(),
            (&mut self.parts, &self.buffered),
        );
        if let Some(answer) = answer.await {
            if answer.status() == StatusCode::NOT_FOUND {
                self.end_lost_session();
            }
            return answer;
        }
        if let Some(under_way) = under_way {
            self.parts.extensions.insert(under_way);
        }
        self.pass_on(&call.into_rmcp(None)).await
    }

    async fn cancel(self, id: &RequestId, message: ClientJsonRpcMessage) -> Response {
        if !self.connection.calls.cancel(id) {
            return self.pass_on(&message).await;
        }
        if let Some(session) = self.session_id() {
            self.endpoint.gate.sessions.cancel(session, message).await;
        }
        StatusCode::ACCEPTED.into_response()
    }

    async fn serve_other(self, message: ClientJsonRpcMessage) -> Response {
        if let Some(answer) = direct::list_tools(&self.connection, &message, &self.parts.headers) {
            return answer;
        }
        let is_first = !self.parts.headers.contains_key(&SESSION_HEADER);
        match initialize_id(&message).filter(|_| is_first) {
            Some(id) => self.open_session(id, &message).await,
            None => self.pass_on(&message).await,
        }
    }

    /// Opens a session if its client may have one more.
    async fn open_session(self, id: RequestId, message: &ClientJsonRpcMessage) -> Response {
        let gate = Arc::clone(&self.endpoint.gate);
        if gate.state.runtime.is_draining() {
            return refuse_while_ending(id);
        }
        let place = match gate.state.take_place(&self.client) {
            Ok(place) => place,
            Err(limit) => return refuse_session(limit, id),
        };
        let opener = (self.client.clone(), place);
        let connection = Arc::clone(&self.connection);
        if let Some(params) = direct::opening(message, &self.parts.headers) {
            let opening = (opener, connection);
            return Box::pin(direct::open(&gate.sessions, opening, (id, params))).await;
        }
        let opening = (connection, Cell::new(Some(opener)));
        OPENING.scope(opening, self.pass_on(message)).await
    }

    /// Passes a message on to rmcp as it was read, so that rmcp cannot read another one in the
    /// bytes of the client.
    async fn pass_on(mut self, message: &ClientJsonRpcMessage) -> Response {
        let text = serde_json::to_vec(message).unwrap_or_default();
        // rmcp keeps the parts of a request until it is answered.
        self.parts.extensions.insert(self.buffered);
        let has_sessions = !is_without_sessions(&self.parts.headers);
        let answer = self
            .endpoint
            .pass_on(&self.client, self.parts, Body::from(text))
            .await;
        if has_sessions {
            answer
        } else {
            passed_on::complete_response(answer)
        }
    }

    /// Returns the id of the session that the request names.
    fn session_id(&self) -> Option<&str> {
        self.parts.headers.get(&SESSION_HEADER)?.to_str().ok()
    }

    /// Ends the session that the request names, as its store does not know it any more.
    fn end_lost_session(&self) {
        if let Some(id) = self.session_id() {
            self.endpoint.gate.sessions.end(id);
        }
    }

    /// Serves the messages of a batch one after the other. The answers are events of one stream.
    async fn serve_batch(self, messages: Vec<ReadMessage>) -> Response {
        let has_answer = |message: &ReadMessage| {
            message
                .as_ref()
                .map_or(true, |message| message.request_id().is_some())
        };
        let is_answered = messages.iter().any(has_answer);
        let answers = stream::iter(messages).then(move |message| {
            let request = self.clone();
            async move {
                match message {
                    Ok(message) => {
                        let id = message.request_id().cloned();
                        let answer = match request.refusal() {
                            Some(refused) => refused,
                            None => request.serve(message).await,
                        };
                        // The head of the stream is sent, so the status is no more.
                        match answer.status() {
                            StatusCode::NOT_FOUND | StatusCode::UNAUTHORIZED => {
                                let error = direct::unknown_session_error(id);
                                Body::from(format!("data: {error}\n\n"))
                            }
                            _ => events_of(answer),
                        }
                    }
                    Err(invalid) => Body::from(format!("data: {}\n\n", invalid.to_json())),
                }
            }
        });
        if !is_answered {
            answers.for_each(|_| ready(())).await;
            return StatusCode::ACCEPTED.into_response();
        }
        let events = Body::from_stream(answers.flat_map(Body::into_data_stream));
        ([(header::CONTENT_TYPE, "text/event-stream")], events).into_response()
    }
}

/// Returns the events of an answer. An answer of one message becomes an event.
fn events_of(answer: Response) -> Body {
    let kind = answer
        .headers()
        .get(header::CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or_default();
    if kind.starts_with("text/event-stream") {
        return answer.into_body();
    }
    if !kind.starts_with("application/json") {
        return Body::empty();
    }
    let chunks = answer.into_body().into_data_stream();
    let framed = stream::iter([Ok(Bytes::from_static(b"data: "))]).chain(chunks);
    Body::from_stream(framed.chain(stream::iter([Ok(Bytes::from_static(b"\n\n"))])))
}

/// Returns true if the request speaks a revision without sessions, where the header of a session
/// has no meaning.
fn is_without_sessions(headers: &HeaderMap) -> bool {
    let version = headers
        .get(&REVISION_HEADER)
        .and_then(|version| version.to_str().ok());
    version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28.as_str())
}

fn initialize_id(message: &ClientJsonRpcMessage) -> Option<RequestId> {
    match message {
        JsonRpcMessage::Request(request)
            if matches!(request.request, ClientRequest::InitializeRequest(_)) =>
        {
            Some(request.id.clone())
        }
        _ => None,
    }
}

/// Answers a request for a new session while the process is about to end.
fn refuse_while_ending(id: RequestId) -> Response {
    let message = "this server is about to end; send the request again in a moment";
    let error = ErrorData::internal_error(message, None);
    let answer = ServerJsonRpcMessage::error(error, Some(id));
    let headers = [(header::RETRY_AFTER, "1")];
    let status = StatusCode::SERVICE_UNAVAILABLE;
    (status, headers, axum::Json(answer)).into_response()
}

fn refuse_session(limit: QuotaExceeded, id: RequestId) -> Response {
    let status = match limit {
        QuotaExceeded::Each(_) => StatusCode::TOO_MANY_REQUESTS,
        QuotaExceeded::All(_) => StatusCode::SERVICE_UNAVAILABLE,
    };
    let answer = ServerJsonRpcMessage::error(too_many_sessions(limit), Some(id));
    (status, axum::Json(answer)).into_response()
}
