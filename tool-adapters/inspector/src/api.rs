//! The requests of the page for data. Bodies and answers are JSON.

use crate::conversation::{SayRequest, messages_json, say};
use crate::events::{metrics_json, stream};
use crate::sessions::{MAX_SESSIONS, PageSession};
use crate::state::{InspectorState, MAX_CALLS, MAX_STREAMS};
use crate::tools::{DeclareRequest, declared_json, list_json, tool_json};
use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use tool_adapters_providers::Provider;
use tool_core::call::ResultForm;
use tool_core::session::{Decision, StoreError, WaitingCall};
use tool_core::text::hex;
use tool_core::{Content, ErrorKind, Mode, RunContext, ToolCall, ToolDefinition, ToolResponse};

/// The bytes of a body. The arguments of a call have 1 MiB by default, and escaping may double
/// them.
const MAX_BODY: usize = 2 << 20;
/// The bytes of the id of a call.
const MAX_CALL_ID: usize = 64;
/// The principal of the sessions that calls of the page open.
const PRINCIPAL: &str = "inspector";
/// The time in which a body has to arrive.
const BODY_TIME: Duration = Duration::from_secs(20);

type Shared = State<Arc<InspectorState>>;
type ApiResult = Result<Response, ApiError>;

/// Returns the routes of the data.
pub(crate) fn router(state: Arc<InspectorState>) -> Router {
    Router::new()
        .route("/api/overview", get(overview))
        .route("/api/tools", get(tools))
        .route("/api/tools/{name}", get(one_tool))
        .route(
            "/api/tools/{name}/declarations/{provider}",
            post(declarations),
        )
        .route("/api/call", post(call))
        .route("/api/sessions", get(sessions).post(open_session))
        .route("/api/sessions/{id}", get(one_session).delete(end_session))
        .route("/api/sessions/{id}/turn", post(next_turn))
        .route("/api/sessions/{id}/mode", post(switch_mode))
        .route(
            "/api/sessions/{id}/messages",
            get(messages).post(send_message),
        )
        .route("/api/approvals", get(approvals))
        .route("/api/approvals/{id}/{decision}", post(decide))
        .route("/api/metrics", get(metrics))
        .route("/api/events/{after}", get(events))
        .with_state(state)
}

/// A request that is not answered with data.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum ApiError {
    #[error("expected a body of at most {MAX_BODY} bytes, got more; send less")]
    TooLong,
    #[error("the body did not arrive in time or ended early; send it again")]
    NotRead,
    #[error("expected {0}")]
    Malformed(String),
    #[error("{0}")]
    NotFound(String),
    #[error("{0}")]
    Conflict(String),
    #[error("{0}")]
    Invalid(String),
    #[error("{0}; try again later")]
    Busy(String),
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status = match self {
            Self::TooLong => StatusCode::PAYLOAD_TOO_LARGE,
            Self::NotRead => StatusCode::REQUEST_TIMEOUT,
            Self::Malformed(_) => StatusCode::BAD_REQUEST,
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::Conflict(_) => StatusCode::CONFLICT,
            Self::Invalid(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Busy(_) => StatusCode::SERVICE_UNAVAILABLE,
        };
        (status, respond(&json!({"error": self.to_string()}))).into_response()
    }
}

/// Creates a response that is neither cached nor sniffed for another type.
fn respond(document: &impl Serialize) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "application/json"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, serde_json::to_string(document).unwrap_or_default()).into_response()
}

async fn read<T: DeserializeOwned>(body: Body) -> Result<T, ApiError> {
    parse(&read_bytes(body).await?)
}

/// Reads a body that may be left out.
async fn read_if_any<T: DeserializeOwned + Default>(body: Body) -> Result<T, ApiError> {
    let bytes = read_bytes(body).await?;
    if bytes.is_empty() {
        return Ok(T::default());
    }
    Ok(parse::<Option<T>>(&bytes)?.unwrap_or_default())
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    serde_json::from_slice(bytes)
        .map_err(|error| ApiError::Malformed(format!("another JSON document: {error}")))
}

async fn read_bytes(body: Body) -> Result<Bytes, ApiError> {
    let bytes = timeout(BODY_TIME, to_bytes(body, MAX_BODY))
        .await
        .map_err(|_| ApiError::NotRead)?;
    bytes.map_err(|error| {
        let is_too_long = std::error::Error::source(&error)
            .is_some_and(|source| source.to_string().contains("length limit"));
        if is_too_long {
            ApiError::TooLong
        } else {
            ApiError::NotRead
        }
    })
}

impl InspectorState {
    fn session(&self, id: &str) -> Result<Arc<PageSession>, ApiError> {
        let unknown = || {
            ApiError::NotFound(format!(
                "no session `{}` is open here; open it first",
                id.escape_debug()
            ))
        };
        self.sessions.get(id).ok_or_else(unknown)
    }

    /// Opens or joins a session.
    async fn open(
        &self,
        id: String,
        mode: Mode,
        principal: &str,
    ) -> Result<Arc<PageSession>, ApiError> {
        let full = || ApiError::Conflict(format!("{MAX_SESSIONS} sessions are open here; end one"));
        if self.sessions.get(&id).is_none() && self.sessions.is_full() {
            return Err(full());
        }
        let opened = self.runtime.session(id, mode).principal(principal).await;
        let session = opened.map_err(|error| ApiError::Conflict(error.to_string()))?;
        let open = self.sessions.add(session).ok_or_else(full)?;
        self.sessions.changed();
        Ok(open)
    }

    /// Returns the call that waits for approval under an id.
    async fn waiting(&self, id: &str) -> Result<WaitingCall, ApiError> {
        let gone = || {
            ApiError::NotFound(
                "no call waits under this id; it was decided or has expired".to_owned(),
            )
        };
        self.waiting_call(id)
            .await
            .map_err(|error| store_down(&error))?
            .ok_or_else(gone)
    }
}

/// Returns the id of a session that a call opens.
fn random_session_id() -> String {
    let mut bytes = [0; 8];
    _ = getrandom::fill(&mut bytes);
    format!("inspector-{}", hex(&bytes))
}

fn store_down(error: &StoreError) -> ApiError {
    tracing::warn!(%error, "failed to look up the calls that wait for approval");
    ApiError::Busy("the session store did not answer".to_owned())
}

/// The answer to a call.
#[derive(Serialize)]
struct CallAnswer {
    response: ResponseViews,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<Value>,
}

impl CallAnswer {
    /// Returns the answer to a call, with the session in which it was made if that is one of the
    /// page.
    async fn new(response: &ToolResponse, open: Option<&PageSession>) -> Self {
        let session = match open {
            Some(open) => Some(open.snapshot_json().await),
            None => None,
        };
        Self {
            response: ResponseViews::new(response),
            session,
        }
    }
}

/// A response as the host sees it, with its numbers as the tool wrote them, and as the model does.
#[derive(Serialize)]
struct ResponseViews {
    envelope: Box<RawValue>,
    model: String,
    /// The parts that the model reads, such as pictures.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<Vec<Content>>,
}

impl ResponseViews {
    fn new(response: &ToolResponse) -> Self {
        let envelope = RawValue::from_string(response.to_json()).unwrap_or_default();
        let result = response.for_model(ResultForm::Plain);
        let content = result.content();
        Self {
            envelope,
            model: result.text,
            content,
        }
    }
}

fn find(tools: &tool_core::ToolContext, name: &str) -> Result<ToolDefinition, ApiError> {
    let unknown = || {
        ApiError::NotFound(format!(
            "no tool `{}` is there; reload the page",
            name.escape_debug()
        ))
    };
    tools
        .function_tool(name)
        .map(|tool| tool.definition().clone())
        .ok_or_else(unknown)
}

async fn overview(State(state): Shared) -> Response {
    respond(&json!({
        "version": env!("CARGO_PKG_VERSION"),
        "providers": Provider::ALL,
        "model": state.model.as_ref().map(|model| &model.name),
        "maxSessions": MAX_SESSIONS,
        "sessionsOnly": state.sessions_only,
    }))
}

async fn tools(State(state): Shared) -> Response {
    respond(&list_json(&state.runtime.tools()))
}

async fn one_tool(State(state): Shared, Path(name): Path<String>) -> ApiResult {
    Ok(respond(&tool_json(&find(&state.runtime.tools(), &name)?)))
}

async fn declarations(
    State(state): Shared,
    Path((name, provider)): Path<(String, String)>,
    body: Body,
) -> ApiResult {
    let request = read::<DeclareRequest>(body).await?;
    let provider = provider
        .parse::<Provider>()
        .map_err(|error| ApiError::NotFound(error.to_string()))?;
    let tools = state.runtime.tools();
    let tool = find(&tools, &name)?;
    Ok(respond(&declared_json(&tools, &tool, provider, request)))
}

/// A call of the page. The arguments stay the text that was written, which may not be JSON.
#[derive(Deserialize)]
struct CallRequest {
    tool: String,
    arguments: String,
    session: Option<String>,
    mode: Option<Mode>,
    /// The id of the call, by which the page finds its progress.
    id: Option<String>,
}

async fn call(State(state): Shared, body: Body) -> ApiResult {
    let CallRequest {
        tool,
        arguments,
        session,
        mode,
        id,
    } = read(body).await?;
    let id = id
        .filter(|id| id.len() <= MAX_CALL_ID)
        .unwrap_or_else(|| state.next_call_id());
    let _permit = state
        .call_permit()
        .ok_or_else(|| ApiError::Busy(format!("{MAX_CALLS} calls are running")))?;
    let mode = mode.unwrap_or(Mode::Text);
    let open = match session {
        Some(session) => state.session(&session)?,
        None if state.sessions_only => state.open(random_session_id(), mode, PRINCIPAL).await?,
        None => {
            let ctx = RunContext::builder().mode(mode).call_id(id).build();
            let response = state
                .collector
                .run(state.runtime.tools().call(&tool, arguments.as_str(), &ctx))
                .await;
            return Ok(respond(&CallAnswer::new(&response, None).await));
        }
    };
    let call = ToolCall::new(id, tool, arguments.as_str());
    let response = state.collector.run(open.session.call(call)).await;
    Ok(respond(&CallAnswer::new(&response, Some(&open)).await))
}

async fn sessions(State(state): Shared) -> Response {
    respond(&state.sessions.list_json())
}

/// A session to open or to join.
#[derive(Deserialize)]
struct OpenRequest {
    id: String,
    mode: Mode,
    #[serde(default)]
    principal: String,
}

async fn open_session(State(state): Shared, body: Body) -> ApiResult {
    let OpenRequest {
        id,
        mode,
        principal,
    } = read(body).await?;
    let open = state.open(id, mode, &principal).await?;
    Ok(respond(&open.snapshot_json().await))
}

async fn one_session(State(state): Shared, Path(id): Path<String>) -> ApiResult {
    let open = state.session(&id)?;
    Ok(respond(&open.snapshot_json().await))
}

async fn end_session(State(state): Shared, Path(id): Path<String>) -> ApiResult {
    let open = state.session(&id)?;
    open.session.end().await;
    state.sessions.remove(&id);
    state.sessions.changed();
    Ok(respond(&open.snapshot_json().await))
}

async fn next_turn(State(state): Shared, Path(id): Path<String>) -> ApiResult {
    let open = state.session(&id)?;
    let turn = open.session.next_turn().await;
    state.sessions.changed();
    let turn =
        json!({"number": turn.number, "pendingMessage": turn.pending_message, "ended": turn.ended});
    Ok(respond(
        &json!({"turn": turn, "session": open.snapshot_json().await}),
    ))
}

/// The mode that a session changes to.
#[derive(Deserialize)]
struct ModeRequest {
    mode: Mode,
}

async fn switch_mode(State(state): Shared, Path(id): Path<String>, body: Body) -> ApiResult {
    let ModeRequest { mode } = read(body).await?;
    let open = state.session(&id)?;
    open.session
        .switch_mode(mode)
        .await
        .map_err(|error| ApiError::Conflict(error.to_string()))?;
    state.sessions.changed();
    Ok(respond(&open.snapshot_json().await))
}

async fn messages(State(state): Shared, Path(id): Path<String>) -> ApiResult {
    let open = state.session(&id)?;
    let history = open.history.lock().await;
    Ok(respond(&messages_json(&history)))
}

async fn send_message(State(state): Shared, Path(id): Path<String>, body: Body) -> ApiResult {
    let request = read::<SayRequest>(body).await?;
    let open = state.session(&id)?;
    let _permit = state
        .call_permit()
        .ok_or_else(|| ApiError::Busy(format!("{MAX_CALLS} calls are running")))?;
    let reply = state
        .collector
        .run(say(&open, state.model.as_ref(), request))
        .await;
    let no_model =
        || ApiError::Malformed("a script, as the program gave the inspector no model".to_owned());
    let reply = reply.ok_or_else(no_model)?;
    let history = open.history.lock().await;
    Ok(respond(&json!({
        "text": reply.text,
        "finish": reply.finish,
        "error": reply.error.map(|error| error.to_string()),
        "steps": reply.steps,
        "messages": messages_json(&history),
        "session": open.snapshot_json().await,
    })))
}

async fn approvals(State(state): Shared) -> ApiResult {
    Ok(respond(
        &state
            .approvals_json()
            .await
            .map_err(|error| store_down(&error))?,
    ))
}

/// The person whom the audit log names for decisions on the page.
const OPERATOR: &str = "operator";

/// The decision on a call.
#[derive(Default, Deserialize)]
struct DecideRequest {
    /// The arguments that the operator has given in place of the model's, as JSON text.
    arguments: Option<String>,
}

async fn decide(
    State(state): Shared,
    Path((id, decision)): Path<(String, String)>,
    body: Body,
) -> ApiResult {
    let approves = match decision.as_str() {
        "approve" => true,
        "deny" => false,
        _ => {
            return Err(ApiError::NotFound(
                "expected `approve` or `deny`".to_owned(),
            ));
        }
    };
    let DecideRequest { arguments } = read_if_any(body).await?;
    let _permit = state
        .call_permit()
        .ok_or_else(|| ApiError::Busy(format!("{MAX_CALLS} calls are running")))?;
    let WaitingCall { session, token, .. } = state.waiting(&id).await?;
    let decision = match arguments {
        _ if !approves => Decision::deny(token),
        Some(arguments) => Decision::approve(token).with_arguments(arguments),
        None => Decision::approve(token),
    };
    let decision = decision.by(OPERATOR);
    let deciding = session.decide(&decision, None);
    let response = state.collector.run(deciding).await;
    if let Some(error) = response.error()
        && error.kind == ErrorKind::Validation
        && response.meta().tool().is_empty()
    {
        // The call waits on.
        return Err(ApiError::Invalid(error.message.clone()));
    }
    state.sessions.changed();
    let open = state.sessions.get(session.id().as_str());
    Ok(respond(&CallAnswer::new(&response, open.as_deref()).await))
}

async fn metrics(State(state): Shared) -> Response {
    respond(&metrics_json(&state))
}

async fn events(State(state): Shared, Path(after): Path<u64>) -> ApiResult {
    let busy = || ApiError::Busy(format!("{MAX_STREAMS} pages are open; close one"));
    let permit = state.stream_permit().ok_or_else(busy)?;
    Ok(stream(state, permit, after))
}
