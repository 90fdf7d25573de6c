//! The sessions of clients, and the settings and data that all connections of a server share.

use crate::transport::host_check::AllowedHosts;
use axum::http::request::Parts;
use rmcp::model::{JsonObject, ProtocolVersion};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::OnceCell;
use tokio::time::Instant;
use tool_core::session::SessionBuilder;
use tool_core::text::hex;
use tool_core::{CancellationToken, Mode, Runtime, Session};

/// The client that opens a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientInfo {
    /// The client's name, as it claims.
    pub name: Option<String>,
    /// The client's version, as it claims.
    pub version: Option<String>,
    /// The authenticated principal that [`Server::principal`](super::Server::principal) returned.
    pub principal: Option<String>,
}

/// The context of a client's request.
pub(crate) type ServerContext = RequestContext<RoleServer>;

/// A result whose error is the answer to a client's request.
pub(crate) type McpResult<T> = Result<T, ErrorData>;

type FindPrincipal = dyn Fn(&Parts) -> Option<String> + Send + Sync;
type ConfigureSession = dyn Fn(SessionBuilder, &ClientInfo) -> SessionBuilder + Send + Sync;

#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) instructions: Option<String>,
    pub(crate) turn_after: Duration,
    pub(crate) confirm_timeout: Duration,
    pub(crate) idle_timeout: Duration,
    pub(crate) max_message: usize,
    pub(crate) path: String,
    pub(crate) trust_baggage: bool,
    pub(crate) allowed: AllowedHosts,
    pub(crate) find_principal: Option<Arc<FindPrincipal>>,
    pub(crate) configure_session: Option<Arc<ConfigureSession>>,
    pub(crate) shutdown: CancellationToken,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: "tools".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instructions: None,
            turn_after: Duration::from_secs(30),
            confirm_timeout: Duration::from_mins(10),
            idle_timeout: Duration::from_mins(30),
            max_message: 4 << 20,
            path: "/mcp".to_owned(),
            trust_baggage: false,
            allowed: AllowedHosts::default(),
            find_principal: None,
            configure_session: None,
            shutdown: CancellationToken::new(),
        }
    }
}

#[derive(Clone)]
pub(crate) struct ServerState {
    pub(crate) settings: Settings,
    pub(crate) runtime: Runtime,
    pub(crate) pending: Arc<PendingCalls>,
}

impl ServerState {
    /// Returns the client that makes a request.
    pub(crate) fn client(&self, context: &ServerContext) -> ClientInfo {
        let info = context.client_info();
        ClientInfo {
            name: info.as_ref().map(|info| info.name.clone()),
            version: info.map(|info| info.version),
            principal: http_parts(context).and_then(|parts| self.settings.find_principal.as_ref()?(parts)),
        }
    }
}

/// Returns the HTTP request that carried a message. Returns `None` over standard input and other streams.
pub(crate) fn http_parts(context: &ServerContext) -> Option<&Parts> {
    context.extensions.get::<Parts>()
}

/// Returns true if a request speaks revision 2026-07-28 or later, in which a server cannot send requests to the client.
pub(crate) fn is_stateless(context: &ServerContext) -> bool {
    context.protocol_version().is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

/// Calls that were answered `input_required`, by the `requestState` that their clients send back.
#[derive(Default)]
pub(crate) struct PendingCalls(Mutex<HashMap<String, PendingCall>>);

pub(crate) struct PendingCall {
    pub(crate) session: Session,
    pub(crate) principal: Option<String>,
    /// The name and arguments of the request, to compare with the repeated request.
    pub(crate) name: String,
    pub(crate) arguments: Option<JsonObject>,
    pub(crate) tool: String,
    pub(crate) token: String,
    pub(crate) summary: String,
    pub(crate) expires: Instant,
    /// True if the connection is gone, so that this call has to end the session.
    pub(crate) owns_session: bool,
}

impl PendingCalls {
    const MAX: usize = 10_000;

    /// Stores a call. Returns it if too many calls are pending.
    pub(crate) fn insert(&self, state: String, call: PendingCall) -> Result<(), Box<PendingCall>> {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let expired = calls.extract_if(|_, call| call.expires <= now).map(|(_, call)| call).collect::<Vec<_>>();
        let stored = if calls.len() < Self::MAX {
            calls.insert(state, call);
            Ok(())
        } else {
            Err(Box::new(call))
        };
        drop(calls);
        expired.into_iter().for_each(PendingCall::release);
        stored
    }

    pub(crate) fn remove(&self, state: &str) -> Option<PendingCall> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(state)
    }
}

impl PendingCall {
    /// Ends the session if this call owns it.
    pub(crate) fn release(self) {
        if self.owns_session {
            end_in_background(self.session);
        }
    }
}

pub(crate) struct ClientSession {
    state: Arc<ServerState>,
    opened: OnceCell<OpenedSession>,
    calls: AtomicU64,
    activity: Mutex<Activity>,
    /// True if the session outlives the connection, because a call of it waits for the user.
    detached: AtomicBool,
}

struct OpenedSession {
    session: Session,
    principal: Option<String>,
}

/// The calls under way and the last change of their number, from which the end of a turn is inferred.
struct Activity {
    running: usize,
    since: Instant,
}

/// Counts a call as running until it is dropped.
pub(crate) struct RunningCall<'a>(&'a ClientSession);

impl ClientSession {
    pub(crate) fn new(state: Arc<ServerState>) -> Self {
        let activity = Mutex::new(Activity { running: 0, since: Instant::now() });
        Self { state, opened: OnceCell::new(), calls: AtomicU64::new(0), activity, detached: AtomicBool::new(false) }
    }

    fn activity(&self) -> MutexGuard<'_, Activity> {
        self.activity.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the session, and opens it if it is not open. Refuses a principal other than the one that opened it.
    pub(crate) async fn get(&self, client: ClientInfo) -> McpResult<&Session> {
        let principal = client.principal.clone();
        let opened = self.opened.get_or_try_init(|| open(&self.state, client)).await?;
        if opened.principal == principal {
            Ok(&opened.session)
        } else {
            Err(ErrorData::invalid_request("this session belongs to another principal; open a new session", None))
        }
    }

    /// Returns a new call id. The client's request ids are not used, as they need not be unique.
    pub(crate) fn next_call_id(&self) -> String {
        format!("call_{}", self.calls.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Counts a call as running, and begins a new turn if the session was idle for long enough.
    pub(crate) async fn begin_call(&self, session: &Session) -> RunningCall<'_> {
        let new_turn = {
            let mut activity = self.activity();
            let was_idle = activity.running == 0 && activity.since.elapsed() >= self.state.settings.turn_after;
            activity.running += 1;
            was_idle
        };
        let running = RunningCall(self);
        if new_turn {
            session.next_turn().await;
        }
        running
    }

    /// Keeps the session open after the connection is gone.
    pub(crate) fn detach(&self) {
        self.detached.store(true, Ordering::Release);
    }

    pub(crate) async fn end(&self) {
        if let Some(opened) = self.opened.get().filter(|_| !self.detached.load(Ordering::Acquire)) {
            opened.session.end().await;
        }
    }
}

async fn open(state: &ServerState, client: ClientInfo) -> McpResult<OpenedSession> {
    let id = format!("mcp-{}", random_id()?);
    let mut builder = state.runtime.session(id, Mode::Text);
    if let Some(principal) = &client.principal {
        builder = builder.principal(principal);
    }
    if let Some(configure) = &state.settings.configure_session {
        builder = configure(builder, &client);
    }
    let session = builder.await.map_err(|error| {
        tracing::error!(%error, "failed to open an MCP session");
        ErrorData::internal_error("no session can be opened at the moment; try again later", None)
    })?;
    Ok(OpenedSession { session, principal: client.principal })
}

/// Returns 128 random bits in hexadecimal.
pub(crate) fn random_id() -> McpResult<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        tracing::error!(%error, "failed to get random bytes");
        ErrorData::internal_error("An internal error occurred", None)
    })?;
    Ok(hex(&bytes))
}

fn end_in_background(session: Session) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(async move { session.end().await });
    }
}

impl Drop for RunningCall<'_> {
    fn drop(&mut self) {
        let mut activity = self.0.activity();
        activity.running = activity.running.saturating_sub(1);
        activity.since = Instant::now();
    }
}

impl Drop for ClientSession {
    fn drop(&mut self) {
        if let Some(opened) = self.opened.take().filter(|_| !*self.detached.get_mut()) {
            end_in_background(opened.session);
        }
    }
}
