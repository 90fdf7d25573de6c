//! Settings and data that all connections of a server share.

use axum::http::request::Parts;
use rmcp::RoleServer;
use rmcp::model::{JsonObject, ProtocolVersion};
use rmcp::service::RequestContext;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;
use tool_core::session::SessionBuilder;
use tool_core::{CancellationToken, Runtime, Session};

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

type FindPrincipal = dyn Fn(&Parts) -> Option<String> + Send + Sync;
type ConfigureSession = dyn Fn(SessionBuilder, &ClientInfo) -> SessionBuilder + Send + Sync;

#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) instructions: Option<String>,
    pub(crate) turn_after: Duration,
    pub(crate) page_size: usize,
    pub(crate) confirm_timeout: Duration,
    pub(crate) idle_timeout: Duration,
    pub(crate) max_message: usize,
    pub(crate) path: String,
    pub(crate) trust_baggage: bool,
    /// `None` allows the loopback names.
    pub(crate) hosts: Option<Vec<String>>,
    pub(crate) origins: Option<Vec<String>>,
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
            page_size: 1000,
            confirm_timeout: Duration::from_mins(10),
            idle_timeout: Duration::from_mins(30),
            max_message: 4 << 20,
            path: "/mcp".to_owned(),
            trust_baggage: false,
            hosts: None,
            origins: None,
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
    pub(crate) fn client(&self, context: &RequestContext<RoleServer>) -> ClientInfo {
        let info = context.client_info();
        ClientInfo {
            name: info.as_ref().map(|info| info.name.clone()),
            version: info.map(|info| info.version),
            principal: http_parts(context).and_then(|parts| self.settings.find_principal.as_ref()?(parts)),
        }
    }
}

/// Returns the HTTP request that carried a message. Returns `None` over standard input and other streams.
pub(crate) fn http_parts(context: &RequestContext<RoleServer>) -> Option<&Parts> {
    context.extensions.get::<Parts>()
}

/// Returns true if a request speaks revision 2026-07-28 or later, in which a server cannot send requests to the client.
pub(crate) fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
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
        if let (true, Ok(runtime)) = (self.owns_session, tokio::runtime::Handle::try_current()) {
            runtime.spawn(async move { self.session.end().await });
        }
    }
}
