//! What all connections of a server share.

use super::confirm::Waiting;
use axum::http::request::Parts;
use rmcp::RoleServer;
use rmcp::model::ProtocolVersion;
use rmcp::service::RequestContext;
use std::sync::Arc;
use std::time::Duration;
use tool_core::session::SessionBuilder;
use tool_core::{CancellationToken, Runtime};

/// Who opens a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Client {
    /// What the client calls itself: anybody may say anything.
    pub name: Option<String>,
    /// Its version, as it says.
    pub version: Option<String>,
    /// For whom it speaks, as [`Server::principal`](super::Server::principal) has found out.
    pub principal: Option<String>,
}

pub(super) type Principal = dyn Fn(&Parts) -> Option<String> + Send + Sync;
pub(super) type Opener = dyn Fn(SessionBuilder, &Client) -> SessionBuilder + Send + Sync;

#[derive(Clone)]
pub(super) struct Settings {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) instructions: Option<String>,
    pub(super) turn_after: Duration,
    pub(super) page: usize,
    pub(super) confirm_within: Duration,
    pub(super) idle: Duration,
    pub(super) max_message: usize,
    pub(super) path: String,
    pub(super) trust_baggage: bool,
    /// The loopback names where none are told.
    pub(super) hosts: Option<Vec<String>>,
    pub(super) origins: Option<Vec<String>>,
    pub(super) principal: Option<Arc<Principal>>,
    pub(super) open: Option<Arc<Opener>>,
    pub(super) stop: CancellationToken,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: "tools".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instructions: None,
            turn_after: Duration::from_secs(30),
            page: 1000,
            confirm_within: Duration::from_mins(10),
            idle: Duration::from_mins(30),
            max_message: 4 << 20,
            path: "/mcp".to_owned(),
            trust_baggage: false,
            hosts: None,
            origins: None,
            principal: None,
            open: None,
            stop: CancellationToken::new(),
        }
    }
}

pub(super) struct Shared {
    pub(super) settings: Settings,
    pub(super) runtime: Runtime,
    pub(super) waiting: Arc<Waiting>,
}

impl Shared {
    /// Who makes a request.
    pub(super) fn client(&self, context: &RequestContext<RoleServer>) -> Client {
        let info = context.client_info();
        Client {
            name: info.as_ref().map(|info| info.name.clone()),
            version: info.map(|info| info.version),
            principal: parts(context).and_then(|parts| self.settings.principal.as_ref()?(parts)),
        }
    }
}

/// The HTTP request that a message came in; none over standard input.
pub(super) fn parts(context: &RequestContext<RoleServer>) -> Option<&Parts> {
    context.extensions.get::<Parts>()
}

/// Whether a request speaks revision 2026-07-28 or later: it stands alone, and nobody is asked in the middle of it.
pub(super) fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}
