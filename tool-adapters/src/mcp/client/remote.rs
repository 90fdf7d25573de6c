//! The connection to a server, its repair, and the check of the server's list against the pins.

use crate::mcp::client::address::{RunningClient, ServerAddress};
use crate::mcp::client::credentials::Credentials;
use crate::mcp::client::error::{ImportError, text_with_causes};
use crate::mcp::client::notices::{ListChanges, Pause};
use crate::mcp::client::pins::{Fingerprint, Pins, ToolPins};
use crate::mcp::client::process::ServerProcess;
use crate::mcp::client::progress::ProgressRoutes;
use crate::mcp::client::quarantine::{Quarantine, QuarantineReason};
use crate::mcp::client::tasks::TaskTools;
use rmcp::RoleClient;
use rmcp::model::{PaginatedRequestParams, Tool};
use rmcp::service::{Peer, ServiceError};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until, timeout};
use tool_core::{CancellationToken, RegistryErrors, ToolError, time};

pub(crate) struct RemoteOptions {
    pub(crate) name: String,
    pub(crate) pins: Pins,
    pub(crate) pinned_only: bool,
    pub(crate) probe: bool,
    pub(crate) timeout: Duration,
    /// Sends the baggage of the trace, which names the run and the customer.
    pub(crate) baggage: bool,
    pub(crate) credentials: Arc<Credentials>,
}

/// A connected server.
pub(crate) struct RemoteServer {
    pub(crate) options: RemoteOptions,
    /// OpenTelemetry's name of the transport, if it is known.
    pub(crate) transport: Option<&'static str>,
    current: Mutex<Arc<Connection>>,
    launcher: tokio::sync::Mutex<Launcher>,
    changed: Arc<Notify>,
    tasks: TaskTools,
    closed: CancellationToken,
    /// The declarations of the imported tools.
    imported: Mutex<ToolPins>,
    pub(crate) quarantine: Quarantine,
}

/// One connection to a server. It is replaced once it is lost.
pub(crate) struct Connection {
    pub(crate) peer: Peer<RoleClient>,
    pub(crate) progress: ProgressRoutes,
    running: tokio::sync::Mutex<Option<RunningClient>>,
    process: Option<ServerProcess>,
}

/// The address of a server, and the connections that were made again.
struct Launcher {
    address: ServerAddress,
    /// The connections that were made again, without one that lasted for [`Launcher::STABLE`].
    repairs: u32,
    connected: Instant,
}

impl Launcher {
    /// The time after which a connection was good, so that the count of repairs begins anew.
    const STABLE: Duration = Duration::from_secs(60);

    const MAX_REPAIRS: u32 = 5;

    /// The pause before the second repair, which doubles with each one.
    const PAUSE: Duration = Duration::from_millis(250);

    /// Counts a repair, and waits for the pause before it. Returns an error if there were too many.
    async fn admit(&mut self) -> Result<(), ToolError> {
        let since = self.connected.elapsed();
        if since >= Self::STABLE {
            self.repairs = 0;
        }
        if self.repairs >= Self::MAX_REPAIRS {
            let wait = Self::STABLE.saturating_sub(since).as_secs() + 1;
            let message = format!(
                "the tool's server ended {} times in a row; the tool can be called again in {wait} s",
                Self::MAX_REPAIRS + 1
            );
            return Err(ToolError::transient(message));
        }
        let pause = Self::PAUSE * (2_u32.pow(self.repairs) - 1);
        self.repairs += 1;
        sleep_until(time::after(self.connected, pause)).await;
        self.connected = Instant::now();
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Connection {
    async fn new(
        address: &mut ServerAddress,
        options: &RemoteOptions,
        changed: &Arc<Notify>,
        tasks: &TaskTools,
    ) -> Result<Arc<Self>, ImportError> {
        let progress = ProgressRoutes::default();
        let handler = ListChanges { changed: Arc::clone(changed), progress: progress.clone(), tasks: tasks.clone() };
        let connecting = address.connect(handler, options.probe, &options.credentials);
        let (running, process) = timeout(options.timeout, connecting).await.map_err(|_| ImportError::Timeout)??;
        let peer = running.peer().clone();
        Ok(Arc::new(Self { peer, progress, running: tokio::sync::Mutex::new(Some(running)), process }))
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.peer.is_transport_closed()
    }

    /// Returns the status with which the server's process has ended, such as `exit status: 1`.
    pub(crate) async fn status(&self) -> Option<String> {
        self.process.as_ref()?.status().await
    }

    fn last_lines(&self) -> String {
        self.process.as_ref().map(ServerProcess::last_lines).unwrap_or_default()
    }
}

impl RemoteServer {
    const MAX_TOOLS: usize = 100_000;

    /// Connects to a server. Returns it with the tools that agree with the pins.
    pub(crate) async fn connect(
        mut address: ServerAddress,
        options: RemoteOptions,
    ) -> Result<(Arc<Self>, Vec<Tool>), ImportError> {
        let (changed, tasks, transport) = (Arc::new(Notify::new()), TaskTools::default(), address.transport());
        let connection = Connection::new(&mut address, &options, &changed, &tasks).await?;
        let launcher = Launcher { address, repairs: 0, connected: Instant::now() };
        let remote = Arc::new(Self {
            options,
            transport,
            current: Mutex::new(Arc::clone(&connection)),
            launcher: tokio::sync::Mutex::new(launcher),
            changed: Arc::clone(&changed),
            tasks,
            closed: CancellationToken::new(),
            imported: Mutex::default(),
            quarantine: Quarantine::default(),
        });
        let listed = remote.list(&connection).await?;
        let tools = remote.check(listed).await?;
        tokio::spawn(watch(Arc::downgrade(&remote), changed));
        Ok((remote, tools))
    }

    fn current(&self) -> Arc<Connection> {
        Arc::clone(&lock(&self.current))
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.current().is_lost()
    }

    /// Returns true if the server says that it runs a tool as a task only.
    pub(crate) fn needs_task(&self, tool: &str) -> bool {
        self.tasks.contains(tool)
    }

    /// Returns the connection. A lost one is made again, and the list of the server checked, before a call may use it.
    pub(crate) async fn connection(&self) -> Result<Arc<Connection>, ToolError> {
        let current = self.current();
        if !current.is_lost() || self.closed.is_cancelled() {
            return Ok(current);
        }
        tokio::select! {
            connection = self.repair() => connection,
            () = self.closed.cancelled() => Ok(current),
        }
    }

    async fn repair(&self) -> Result<Arc<Connection>, ToolError> {
        let mut launcher = self.launcher.lock().await;
        let lost = self.current();
        if !lost.is_lost() || !launcher.address.can_reconnect() {
            return Ok(lost);
        }
        let status = lost.status().await.unwrap_or_else(|| "no status".to_owned());
        let (server, lines) = (self.options.name.escape_debug(), lost.last_lines());
        launcher.admit().await?;
        tracing::warn!(%server, status, lines, attempt = launcher.repairs, "connecting again to a server that was lost");
        let repaired = async {
            let connection = Connection::new(&mut launcher.address, &self.options, &self.changed, &self.tasks).await?;
            self.check_again(&connection).await?;
            Ok::<_, ImportError>(connection)
        };
        let connection = repaired.await.map_err(|error| {
            tracing::warn!(%server, %error, "failed to connect again to a server");
            ToolError::transient("the tool's server has ended, and could not be started again")
        })?;
        *lock(&self.current) = Arc::clone(&connection);
        Ok(connection)
    }

    /// Returns true if the server no longer lists a tool. Quarantines it then.
    pub(crate) async fn has_removed(&self, connection: &Connection, tool: &str) -> bool {
        let Ok(listed) = self.list(connection).await else { return false };
        let is_removed = listed.iter().all(|(listed, _)| listed.name != tool);
        if is_removed {
            self.quarantine(tool, QuarantineReason::Removed);
        }
        is_removed
    }

    pub(crate) fn quarantine(&self, name: &str, reason: QuarantineReason) {
        let is_imported = lock(&self.imported).contains_key(name);
        self.quarantine.add(&self.options.name, name, is_imported, reason);
    }

    /// Quarantines a tool that cannot be registered, and was therefore never offered.
    pub(crate) fn quarantine_invalid(&self, name: &str, errors: RegistryErrors) {
        lock(&self.imported).remove(name);
        self.quarantine(name, QuarantineReason::Invalid(errors));
    }

    /// Returns all pages of the list, in which keys are masked, with the fingerprints of what the server sent. Quarantines tools
    /// with a key in a name.
    async fn list(&self, connection: &Connection) -> Result<Vec<(Tool, Fingerprint)>, ImportError> {
        let listing = async {
            let (mut tools, mut listed, mut cursor, mut cursors) = (Vec::new(), 0, None, HashSet::new());
            let credentials = &self.options.credentials;
            loop {
                let page = PaginatedRequestParams::default().with_cursor(cursor);
                let page = connection.peer.list_tools(Some(page)).await;
                let page = page.map_err(|error| credentials.protocol_failure(&describe(&error)))?;
                listed += page.tools.len();
                for tool in page.tools {
                    let fingerprint = Fingerprint::new(&tool);
                    if credentials.is_in_names(&tool) {
                        self.quarantine(&credentials.redact(&tool.name), QuarantineReason::HasKey);
                    } else {
                        tools.push((credentials.redact_answer(tool)?, fingerprint));
                    }
                }
                if listed > Self::MAX_TOOLS || !cursors.insert(page.next_cursor.clone()) {
                    return Err(ImportError::EndlessList);
                }
                if page.next_cursor.is_none() {
                    return Ok(tools);
                }
                cursor = page.next_cursor;
            }
        };
        timeout(self.options.timeout, listing).await.map_err(|_| ImportError::Timeout)?
    }

    /// Pins new tools, quarantines those that differ from their pins, and returns the rest.
    async fn check(&self, listed: Vec<(Tool, Fingerprint)>) -> Result<Vec<Tool>, ImportError> {
        let (mut fingerprints, mut duplicates) = (ToolPins::new(), HashSet::new());
        for (tool, fingerprint) in &listed {
            if fingerprints.insert(tool.name.to_string(), fingerprint.clone()).is_some() {
                duplicates.insert(tool.name.to_string());
            }
        }
        fingerprints.retain(|name, _| !duplicates.contains(name));
        for name in &duplicates {
            self.quarantine(name, QuarantineReason::Duplicate);
        }
        let options = &self.options;
        let pinned = options.pins.merge(&options.name, fingerprints.clone(), !options.pinned_only).await?;
        fingerprints.retain(|name, fingerprint| match pinned.get(name) {
            Some(pin) => {
                let changed = fingerprint.changed_members(pin);
                let is_same = changed.is_empty();
                if !is_same {
                    self.quarantine(name, QuarantineReason::Changed(changed));
                }
                is_same
            }
            None if options.pinned_only => {
                self.quarantine(name, QuarantineReason::NotPinned);
                false
            }
            None => true,
        });
        let tools = listed.into_iter().map(|(tool, _)| tool);
        let tools = tools.filter(|tool| fingerprints.contains_key(&*tool.name)).collect();
        *lock(&self.imported) = fingerprints;
        Ok(tools)
    }

    /// Requests the list again and quarantines the tools that changed.
    pub(crate) async fn refresh(&self) -> Result<(), ImportError> {
        let connection = self.connection().await.map_err(|error| ImportError::Protocol(error.message().into()))?;
        self.check_again(&connection).await
    }

    /// Requests the list again. Returns the tools that agree with the pins, with those that were added.
    #[cfg(feature = "gateway")]
    pub(crate) async fn import_again(&self) -> Result<Vec<Tool>, ImportError> {
        let connection = self.connection().await.map_err(|error| ImportError::Protocol(error.message().into()))?;
        let listed = self.list(&connection).await?;
        self.quarantine.accept_added();
        self.check(listed).await
    }

    /// Quarantines the tools that changed or are gone, and offers removed ones again that the server lists as before.
    async fn check_again(&self, connection: &Connection) -> Result<(), ImportError> {
        let listed = self.list(connection).await?;
        let imported = lock(&self.imported).clone();
        let names = listed.iter().map(|(tool, _)| &*tool.name).collect::<HashSet<_>>();
        for name in imported.keys().filter(|name| !names.contains(&***name)) {
            self.quarantine(name, QuarantineReason::Removed);
        }
        for (tool, fingerprint) in &listed {
            match imported.get(&*tool.name) {
                Some(known) if known == fingerprint => self.quarantine.restore(&tool.name),
                Some(known) => {
                    self.quarantine(&tool.name, QuarantineReason::Changed(fingerprint.changed_members(known)));
                }
                None if self.quarantine.get(&tool.name).is_some() => {}
                None => self.quarantine(&tool.name, QuarantineReason::Added),
            }
        }
        self.quarantine.end_check(&self.options.name);
        Ok(())
    }

    pub(crate) async fn close(&self) {
        self.closed.cancel();
        // No connection is being made again once this lock is held.
        let _launcher = self.launcher.lock().await;
        if let Some(running) = self.current().running.lock().await.take()
            && let Err(error) = running.cancel().await
        {
            tracing::debug!(%error, "failed to close the connection to a server");
        }
    }
}

/// Returns the text of an error, without rmcp's names of types.
pub(crate) fn describe(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(error) => {
            format!("the server answered with the error {}: {}", error.code.0, error.message)
        }
        ServiceError::TransportSend(error) => text_with_causes(&*error.error),
        error => error.to_string(),
    }
}

/// Refreshes the list when the server notifies that it has changed, and less and less often if it does so all the time.
async fn watch(remote: Weak<RemoteServer>, changed: Arc<Notify>) {
    let mut pause = Pause::new();
    changed.notified().await;
    loop {
        let Some(remote) = remote.upgrade() else { return };
        // The end of a connection wakes this task too. A call makes it again.
        let connection = Some(remote.current()).filter(|connection| !connection.is_lost());
        if let Some(connection) = connection
            && let Err(error) = remote.check_again(&connection).await
        {
            tracing::warn!(server = %remote.options.name.escape_debug(), %error, "failed to refresh the list of tools");
        }
        drop(remote);
        pause.until_next(&changed).await;
    }
}
