//! The connection to a server, and the check of its list against the pins.

use crate::mcp::client::pins::{Fingerprint, PinError, Pins, ToolPins};
use rmcp::model::{ClientConfig, Implementation, PaginatedRequestParams, ProtocolVersion, Tool};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, NotificationContext, Peer, RunningService};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, RoleClient};
use std::collections::{BTreeMap, HashSet};
use std::io;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;
use tokio::time::timeout;
use tool_core::RegistryErrors;

/// An error of importing a server's tools.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The server's process could not be started.
    #[error("failed to start the server: {0}")]
    Start(#[source] io::Error),
    /// The server broke the protocol or closed the connection.
    #[error("the server does not follow the protocol: {0}")]
    Protocol(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The server did not answer within [`McpClient::timeout`](super::McpClient::timeout).
    #[error("the server did not answer in time")]
    Timeout,
    /// The server lists more than 100,000 tools, or its pages form a loop.
    #[error("the server's list of tools has no end")]
    EndlessList,
    /// The pins could not be written.
    #[error(transparent)]
    Pins(#[from] PinError),
}

/// A tool of the server that is not offered, or no longer offered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` {reason}", name.escape_debug())]
#[non_exhaustive]
pub struct QuarantinedTool {
    /// The name that the server gives the tool.
    pub name: String,
    /// The reason.
    pub reason: QuarantineReason,
}

/// The reason why a tool is not offered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QuarantineReason {
    /// These members of its declaration differ from its pin.
    #[error("has changed since it was pinned, in {}: review it, and forget its pin to trust it again", .0.join(", "))]
    Changed(Vec<&'static str>),
    /// It is not pinned, and [`pinned_only`](super::McpClient::pinned_only) is set.
    #[error("is not pinned, and only pinned tools are imported")]
    NotPinned,
    /// It was added after the import. Importing again makes it available.
    #[error("was added after the import; import again to use it")]
    Added,
    /// The server lists the name more than once.
    #[error("is listed more than once")]
    Duplicate,
    /// It cannot be registered, such as for its name or its schema.
    #[error("cannot be registered: {0}")]
    Invalid(RegistryErrors),
}

/// The address of a server.
pub(crate) enum ServerAddress {
    Command(Command),
    Url(String),
    Streams(Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>),
}

impl ServerAddress {
    /// Returns OpenTelemetry's name of the transport, if it is known.
    fn transport(&self) -> Option<&'static str> {
        match self {
            Self::Command(_) => Some("pipe"),
            Self::Url(_) => Some("tcp"),
            Self::Streams(..) => None,
        }
    }

    async fn connect(self, changes: ListChanges, probe: bool) -> Result<RunningClient, ImportError> {
        let lifecycle = if probe {
            ClientLifecycleMode::Auto { preferred_versions: vec![ProtocolVersion::LATEST], legacy_version: None }
        } else {
            ClientLifecycleMode::Initialize
        };
        let connected = match self {
            Self::Command(command) => {
                let child = TokioChildProcess::new(tokio::process::Command::from(command));
                changes.serve_with_lifecycle(child.map_err(ImportError::Start)?, lifecycle).await
            }
            Self::Url(url) => {
                changes.serve_with_lifecycle(StreamableHttpClientTransport::from_uri(url), lifecycle).await
            }
            Self::Streams(input, output) => changes.serve_with_lifecycle((input, output), lifecycle).await,
        };
        connected.map_err(|error| ImportError::Protocol(error.into()))
    }
}

pub(crate) struct RemoteOptions {
    pub(crate) name: String,
    pub(crate) pins: Pins,
    pub(crate) pinned_only: bool,
    pub(crate) probe: bool,
    pub(crate) timeout: Duration,
    /// Sends the baggage of the trace, which names the run and the customer.
    pub(crate) baggage: bool,
}

type RunningClient = RunningService<RoleClient, ListChanges>;

/// A connected server.
pub(crate) struct RemoteServer {
    pub(crate) options: RemoteOptions,
    /// OpenTelemetry's name of the transport, if it is known.
    pub(crate) transport: Option<&'static str>,
    pub(crate) peer: Peer<RoleClient>,
    running: tokio::sync::Mutex<Option<RunningClient>>,
    /// The declarations of the imported tools.
    imported: Mutex<ToolPins>,
    quarantine: Mutex<BTreeMap<String, QuarantinedTool>>,
}

/// Handles notifications that the list has changed. The server gets no access to the user or a model.
struct ListChanges(Arc<Notify>);

impl ClientHandler for ListChanges {
    fn get_info(&self) -> ClientConfig {
        let mut info = ClientConfig::default();
        info.client_info = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
        info
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.notify_one();
    }
}

impl Drop for ListChanges {
    /// Wakes the task that watches the list, so that it ends with the connection.
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RemoteServer {
    const MAX_TOOLS: usize = 100_000;

    /// Connects to a server. Returns it with the tools that agree with the pins.
    pub(crate) async fn connect(
        address: ServerAddress,
        options: RemoteOptions,
    ) -> Result<(Arc<Self>, Vec<Tool>), ImportError> {
        let changed = Arc::new(Notify::new());
        let transport = address.transport();
        let connecting = address.connect(ListChanges(Arc::clone(&changed)), options.probe);
        let running = timeout(options.timeout, connecting).await.map_err(|_| ImportError::Timeout)??;
        let remote = Arc::new(Self {
            options,
            transport,
            peer: running.peer().clone(),
            running: tokio::sync::Mutex::new(Some(running)),
            imported: Mutex::default(),
            quarantine: Mutex::default(),
        });
        let listed = remote.list().await?;
        let tools = remote.check(listed)?;
        tokio::spawn(watch(Arc::downgrade(&remote), changed));
        Ok((remote, tools))
    }

    pub(crate) fn quarantine(&self, name: &str, reason: QuarantineReason) {
        let tool = QuarantinedTool { name: name.to_owned(), reason };
        tracing::warn!(server = %self.options.name.escape_debug(), %tool, "quarantined a tool");
        lock(&self.quarantine).insert(name.to_owned(), tool);
    }

    pub(crate) fn all_quarantined(&self) -> Vec<QuarantinedTool> {
        lock(&self.quarantine).values().cloned().collect()
    }

    pub(crate) fn quarantined(&self, name: &str) -> Option<QuarantinedTool> {
        lock(&self.quarantine).get(name).cloned()
    }

    /// Returns all pages of the list.
    async fn list(&self) -> Result<Vec<Tool>, ImportError> {
        let listing = async {
            let (mut tools, mut cursor, mut cursors) = (Vec::new(), None, HashSet::new());
            loop {
                let page = PaginatedRequestParams::default().with_cursor(cursor);
                let page = self.peer.list_tools(Some(page)).await;
                let page = page.map_err(|error| ImportError::Protocol(error.into()))?;
                tools.extend(page.tools);
                let Some(next) = page.next_cursor else { return Ok(tools) };
                if tools.len() > Self::MAX_TOOLS || !cursors.insert(next.clone()) {
                    return Err(ImportError::EndlessList);
                }
                cursor = Some(next);
            }
        };
        timeout(self.options.timeout, listing).await.map_err(|_| ImportError::Timeout)?
    }

    /// Pins new tools, quarantines those that differ from their pins, and returns the rest.
    fn check(&self, listed: Vec<Tool>) -> Result<Vec<Tool>, ImportError> {
        let (mut tools, mut fingerprints, mut duplicates) = (Vec::new(), ToolPins::new(), HashSet::new());
        for tool in listed {
            let name = tool.name.to_string();
            let fingerprint = Fingerprint::new(&tool);
            match self.options.pins.get(&self.options.name, &name) {
                Some(pinned) if pinned != fingerprint => {
                    self.quarantine(&name, QuarantineReason::Changed(fingerprint.changed_members(&pinned)));
                }
                None if self.options.pinned_only => self.quarantine(&name, QuarantineReason::NotPinned),
                _ if fingerprints.insert(name.clone(), fingerprint).is_some() => {
                    duplicates.insert(name);
                }
                _ => tools.push(tool),
            }
        }
        tools.retain(|tool| !duplicates.contains(&*tool.name));
        fingerprints.retain(|name, _| !duplicates.contains(name));
        for name in &duplicates {
            self.quarantine(name, QuarantineReason::Duplicate);
        }
        self.options.pins.pin(&self.options.name, &fingerprints)?;
        *lock(&self.imported) = fingerprints;
        Ok(tools)
    }

    /// Requests the list again and quarantines the tools that changed.
    pub(crate) async fn refresh(&self) -> Result<(), ImportError> {
        let listed = self.list().await?;
        let imported = lock(&self.imported).clone();
        for tool in listed {
            let fingerprint = Fingerprint::new(&tool);
            match imported.get(&*tool.name) {
                Some(known) if *known == fingerprint => {}
                Some(known) => {
                    self.quarantine(&tool.name, QuarantineReason::Changed(fingerprint.changed_members(known)));
                }
                None if self.quarantined(&tool.name).is_some() => {}
                None => self.quarantine(&tool.name, QuarantineReason::Added),
            }
        }
        Ok(())
    }

    pub(crate) async fn close(&self) {
        if let Some(running) = self.running.lock().await.take()
            && let Err(error) = running.cancel().await
        {
            tracing::debug!(%error, "failed to close the connection to a server");
        }
    }
}

/// Refreshes the list when the server notifies that it has changed.
async fn watch(remote: Weak<RemoteServer>, changed: Arc<Notify>) {
    loop {
        changed.notified().await;
        let Some(remote) = remote.upgrade() else { return };
        if let Err(error) = remote.refresh().await {
            tracing::warn!(server = %remote.options.name.escape_debug(), %error, "failed to refresh the list of tools");
        }
    }
}
