//! The options of a client, which all connections to its server share, and the run that answers the
//! server.

use crate::client::budget::{ServerSpending, Spending};
use crate::client::credentials::Credentials;
use crate::client::pins::Pins;
use crate::client::rights::ServerRights;
use rmcp::model::ProtocolVersion;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tool_core::RunContext;
use tool_core::call::LogLevel;

/// The options of a client.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a choice of the host"
)]
pub(crate) struct RemoteOptions {
    pub(crate) name: String,
    pub(crate) pins: Pins,
    pub(crate) pinned_only: bool,
    /// The client shows the pages of the server, or passes them on to one that does.
    pub(crate) shows_pages: bool,
    pub(crate) probe: bool,
    pub(crate) timeout: Duration,
    /// Sends the baggage of the trace, which names the run and the customer.
    pub(crate) baggage: bool,
    pub(crate) credentials: Arc<Credentials>,
    /// Prompts and resources are not imported.
    pub(crate) tools_only: bool,
    pub(crate) rights: ServerRights,
    /// The level from which on the server is to log.
    pub(crate) log_level: Option<LogLevel>,
    /// The tools that run as tasks where the server allows it.
    pub(crate) tasks: HashSet<String>,
}

/// The run that answers the requests of a server.
#[derive(Clone, Copy)]
pub(crate) struct AskedRun<'a> {
    pub(crate) options: &'a RemoteOptions,
    pub(crate) spending: &'a ServerSpending,
    pub(crate) ctx: &'a RunContext,
    /// The use of the model for this run.
    pub(crate) charged: &'a Spending,
}

/// Returns true for revisions without sessions, in which a server sends no requests.
pub(crate) fn is_stateless(version: &ProtocolVersion) -> bool {
    *version >= ProtocolVersion::V_2026_07_28
}
