//! The connection to a server, its repair, and the check of the server's list against the pins.

use crate::client::address::{RunningClient, ServerAddress};
use crate::client::budget::ServerSpending;
use crate::client::changes::{ChangeSender, ChangedLists, ServerChange};
use crate::client::declared::Declared;
use crate::client::direct::DirectCalls;
use crate::client::error::{ImportError, describe};
use crate::client::lists::{ListError, ListReader, ServerList, remove_nulls};
use crate::client::notices::{ListChanges, Pause};
use crate::client::options::{RemoteOptions, is_stateless};
use crate::client::pins::{Declaration, Fingerprint, ToolPins};
use crate::client::process::ServerProcess;
use crate::client::quarantine::{Quarantine, QuarantineReason};
use crate::client::routes::CallRoutes;
use crate::client::subscriptions::SubscribedResources;
use crate::client::tasks::{TaskNeed, TaskTools, is_lost};
use parking_lot::Mutex;
use rmcp::RoleClient;
use rmcp::model::{ClientRequest, CustomRequest, ListToolsRequest, Tool};
use rmcp::service::{Peer, ServiceError};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::OwnedMutexGuard;
use tokio::time::{Instant, sleep_until, timeout};
use tool_core::call::LogLevel;
use tool_core::{CancellationToken, ToolError, time, trace};

/// The parts of a connected server that its connections share.
pub(crate) struct RemoteParts {
    pub(crate) options: Arc<RemoteOptions>,
    changed: Arc<ChangedLists>,
    pub(crate) changes: ChangeSender,
    pub(crate) subscriptions: Arc<SubscribedResources>,
    pub(crate) spending: ServerSpending,
    tasks: TaskTools,
}

/// A connected server.
pub(crate) struct RemoteServer {
    parts: RemoteParts,
    /// This server, for the task that makes its connection again.
    own: Weak<Self>,
    /// OpenTelemetry's name of the transport, if it is known.
    pub(crate) transport: Option<&'static str>,
    current: Mutex<Arc<ServerConnection>>,
    launcher: Arc<tokio::sync::Mutex<Launcher>>,
    closed: CancellationToken,
    /// The toolsets that use the connection.
    pub(crate) users: AtomicUsize,
    /// The declarations of what was imported.
    imported: Mutex<ToolPins>,
    pub(crate) quarantine: Quarantine,
    /// The tools of which the host sends no call twice.
    pub(crate) sent_once: Mutex<HashSet<String>>,
}

impl Deref for RemoteServer {
    type Target = RemoteParts;

    fn deref(&self) -> &RemoteParts {
        &self.parts
    }
}

/// A tool as its server declares it.
pub(crate) type DeclaredTool = Declared<Tool>;

/// The keys and fingerprints of a list, as far as it could be had.
pub(crate) struct ListedPins {
    pub(crate) found: Vec<(String, Fingerprint)>,
    /// True if the rest of the list could not be had.
    pub(crate) has_failed: bool,
}

/// One connection to a server. It is replaced once it is lost.
pub(crate) struct ServerConnection {
    pub(crate) peer: Peer<RoleClient>,
    pub(crate) routes: CallRoutes,
    pub(crate) calls: DirectCalls,
    running: tokio::sync::Mutex<Option<RunningClient>>,
    process: Option<ServerProcess>,
    /// True once the server has answered a call.
    has_answered: AtomicBool,
}

/// The address of a server, and the connections that were made again.
struct Launcher {
    address: ServerAddress,
    /// The connections that were made again since the last good one, which answered a call or
    /// lasted for [`Launcher::STABLE`].
    repairs: u32,
    connected: Instant,
}

impl Launcher {
    const STABLE: Duration = Duration::from_secs(60);

    const MAX_REPAIRS: u32 = 5;

    /// The shortest time between two starts, which doubles with each connection that was not good.
    const PAUSE: Duration = Duration::from_millis(250);

    /// Waits for the pause before a repair, and counts it. Returns an error if there were too many.
    async fn admit(&mut self, was_good: bool) -> Result<(), ToolError> {
        let since = self.connected.elapsed();
        if was_good || since >= Self::STABLE {
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
        sleep_until(time::after(
            self.connected,
            Self::PAUSE * 2_u32.pow(self.repairs),
        ))
        .await;
        self.repairs += 1;
        self.connected = Instant::now();
        Ok(())
    }
}

impl ServerConnection {
    async fn new(
        address: &mut ServerAddress,
        remote: &RemoteParts,
    ) -> Result<Arc<Self>, ImportError> {
        let routes = CallRoutes::default();
        let calls = DirectCalls::default();
        let handler = ListChanges {
            changed: Arc::clone(&remote.changed),
            changes: remote.changes.clone(),
            routes: routes.clone(),
            tasks: remote.tasks.clone(),
            calls: calls.clone(),
            options: Arc::clone(&remote.options),
        };
        let options = &remote.options;
        let connecting = address.connect(handler, options.probe, &options.credentials);
        let (running, process) = tokio::select! {
            biased;
            connected = connecting => connected?,
            () = options.credentials.time_out(options.timeout) => return Err(ImportError::Timeout),
        };
        let peer = running.peer().clone();
        remote
            .subscriptions
            .follow(&peer, &remote.changed, &remote.changes);
        if let Some(level) = options.log_level {
            set_log_level(&peer, level, options).await;
        }
        let running = tokio::sync::Mutex::new(Some(running));
        let has_answered = AtomicBool::new(false);
        Ok(Arc::new(Self {
            peer,
            routes,
            calls,
            running,
            process,
            has_answered,
        }))
    }

    pub(crate) fn is_lost(&self) -> bool {
        // rmcp closes the peer only once the process has ended, and it is known before that.
        self.peer.is_transport_closed()
            || self.calls.has_expired()
            || self.process.as_ref().is_some_and(ServerProcess::is_ending)
    }

    /// Notes that the server answers calls, or requests for their tasks. Its end is not one of a crash loop then.
    pub(crate) fn note_answer<T>(&self, answer: &Result<T, ServiceError>) {
        if !self.has_answered.load(Ordering::Relaxed) && !answer.as_ref().is_err_and(is_lost) {
            self.has_answered.store(true, Ordering::Relaxed);
        }
    }

    /// Returns the status with which the server's process has ended, such as `exit status: 1`.
    pub(crate) async fn status(&self) -> Option<String> {
        self.process.as_ref()?.status().await
    }

    fn last_lines(&self) -> String {
        self.process
            .as_ref()
            .map(ServerProcess::last_lines)
            .unwrap_or_default()
    }
}

/// Returns true if the server declares that it has tools.
fn declares_tools(connection: &ServerConnection) -> bool {
    connection
        .peer
        .peer_info()
        .is_some_and(|info| info.capabilities.tools.is_some())
}

impl RemoteServer {
    /// Connects to a server. Returns it with the tools that agree with the pins.
    pub(crate) async fn connect(
        mut address: ServerAddress,
        options: RemoteOptions,
    ) -> Result<(Arc<Self>, Vec<DeclaredTool>), ImportError> {
        let transport = address.transport();
        let parts = RemoteParts {
            options: Arc::new(options),
            changed: Arc::default(),
            changes: ChangeSender::new(),
            subscriptions: Arc::default(),
            spending: ServerSpending::default(),
            tasks: TaskTools::default(),
        };
        let connection = ServerConnection::new(&mut address, &parts).await?;
        let launcher = Launcher {
            address,
            repairs: 0,
            connected: Instant::now(),
        };
        let changed = Arc::clone(&parts.changed);
        let remote = Arc::new_cyclic(|own| Self {
            parts,
            own: Weak::clone(own),
            transport,
            current: Mutex::new(Arc::clone(&connection)),
            launcher: Arc::new(tokio::sync::Mutex::new(launcher)),
            closed: CancellationToken::new(),
            users: AtomicUsize::new(0),
            imported: Mutex::default(),
            quarantine: Quarantine::default(),
            sent_once: Mutex::default(),
        });
        let listed = remote.list(&connection).await?;
        let tools = remote.check(listed).await?;
        tokio::spawn(watch(Arc::downgrade(&remote), changed));
        Ok((remote, tools))
    }

    pub(crate) fn current(&self) -> Arc<ServerConnection> {
        Arc::clone(&self.current.lock())
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.current().is_lost()
    }

    /// Returns true if a tool is to run as a task: the server says that it runs as a task only, or
    /// that it may, and the host wants it.
    pub(crate) fn runs_as_task(&self, tool: &str) -> bool {
        match self.tasks.support(tool) {
            Some(TaskNeed::Required) => true,
            Some(TaskNeed::Optional) => self.options.tasks.contains(tool),
            None => false,
        }
    }

    /// Returns the connection. A lost one is made again, and the list of the server checked, before
    /// a call may use it.
    pub(crate) async fn connection(&self) -> Result<Arc<ServerConnection>, ToolError> {
        let current = self.current();
        if !current.is_lost() || self.closed.is_cancelled() {
            return Ok(current);
        }
        tokio::select! {
            // Boxed, as nearly no call needs it.
            connection = Box::pin(self.repaired()) => connection,
            () = self.closed.cancelled() => Ok(current),
        }
    }

    /// Makes a lost connection again, in a task. A call whose time is over does not end it: the
    /// next one finds the connection. Calls wait for each other's repair.
    async fn repaired(&self) -> Result<Arc<ServerConnection>, ToolError> {
        let launcher = Arc::clone(&self.launcher).lock_owned().await;
        let Some(remote) = self.own.upgrade() else {
            return Ok(self.current());
        };
        let repair = trace::in_current_span(async move {
            let closed = remote.closed.clone();
            let repair = Box::pin(remote.repair(launcher));
            let repaired = closed.run_until_cancelled(repair).await;
            repaired.unwrap_or_else(|| Ok(remote.current()))
        });
        tokio::spawn(repair).await.unwrap_or_else(|_| {
            let problem = "the tool's server has ended, and its start was broken off";
            Err(ToolError::transient(problem))
        })
    }

    async fn repair(
        &self,
        mut launcher: OwnedMutexGuard<Launcher>,
    ) -> Result<Arc<ServerConnection>, ToolError> {
        let lost = self.current();
        if !lost.is_lost() || !launcher.address.can_reconnect() {
            return Ok(lost);
        }
        let status = lost
            .status()
            .await
            .unwrap_or_else(|| "no status".to_owned());
        let server = self.options.name.escape_debug();
        let lines = lost.last_lines();
        // Noted once, as the next start may fail.
        launcher
            .admit(lost.has_answered.swap(false, Ordering::Relaxed))
            .await?;
        tracing::warn!(%server, status, lines, attempt = launcher.repairs, "connecting again to a server that was lost");
        let repaired = async {
            let connection = ServerConnection::new(&mut launcher.address, &self.parts).await?;
            self.check_imported(&connection).await?;
            Ok::<_, ImportError>(connection)
        };
        let connection = repaired.await.map_err(|error| {
            tracing::warn!(%server, %error, "failed to connect again to a server");
            ToolError::transient("the tool's server has ended, and could not be started again")
        })?;
        *self.current.lock() = Arc::clone(&connection);
        self.changes.send(ServerChange::Missed);
        self.subscriptions
            .renew(&connection.peer, &self.changes, self.options.timeout);
        Ok(connection)
    }

    /// Returns true if the server no longer lists a tool. Quarantines it then.
    pub(crate) async fn has_removed(&self, connection: &ServerConnection, tool: &str) -> bool {
        let Ok(listed) = self.list(connection).await else {
            return false;
        };
        let is_removed = listed.iter().all(|(listed, _)| listed.item.name != tool);
        if is_removed {
            self.quarantine(tool, QuarantineReason::Removed);
        }
        is_removed
    }

    pub(crate) fn quarantine(&self, name: &str, reason: QuarantineReason) {
        let is_imported = self.imported.lock().contains_key(name);
        self.quarantine
            .add(&self.options.name, name, is_imported, reason);
    }

    /// Quarantines an entry of a list that was not offered before.
    fn quarantine_new(&self, key: &str, list: Declaration, reason: QuarantineReason) {
        let server = &self.options.name;
        self.quarantine.add_new(server, key, list, reason);
    }

    /// Quarantines what cannot be registered, and was therefore never offered.
    pub(crate) fn quarantine_invalid(&self, key: &str, reason: QuarantineReason) {
        self.imported.lock().remove(key);
        self.quarantine(key, reason);
    }

    /// Fails if a tool, prompt or resource is no longer offered.
    pub(crate) fn check_offered(&self, key: &str, what: &str, name: &str) -> Result<(), ToolError> {
        match self.quarantine.get(key) {
            None => Ok(()),
            Some(quarantined) if quarantined.reason == QuarantineReason::Removed => {
                Err(self.removed(what, name))
            }
            Some(quarantined) => Err(ToolError::permanent(format!(
                "the {what} of the server was not used: {quarantined}"
            ))),
        }
    }

    pub(crate) fn removed(&self, what: &str, name: &str) -> ToolError {
        let server = self.options.name.escape_debug();
        let name = name.escape_debug();
        ToolError::not_found(format!(
            "the server `{server}` no longer has the {what} `{name}`"
        ))
    }

    /// Returns the names of the tools that were imported, and of those in quarantine.
    pub(crate) fn own_names(&self) -> Vec<String> {
        let mut names = self.imported.lock().keys().cloned().collect::<Vec<_>>();
        names.extend(self.quarantine.all().into_iter().map(|tool| tool.name));
        names
    }

    /// Returns the kinds of the lists of which something was imported.
    fn imported_kinds(&self) -> Vec<Declaration> {
        let imported = self.imported.lock();
        let is_imported = |kind: &Declaration| {
            *kind == Declaration::Tool
                || imported
                    .values()
                    .any(|fingerprint| fingerprint.kind() == *kind)
        };
        Declaration::ALL.into_iter().filter(is_imported).collect()
    }

    /// Returns the reader of the lists of a connection.
    pub(crate) fn reader<'a>(&'a self, connection: &'a ServerConnection) -> ListReader<'a> {
        ListReader {
            peer: &connection.peer,
            options: &self.options,
            quarantine: &self.quarantine,
        }
    }

    /// Returns all tools of the list, in which keys are masked, with the fingerprints of what the
    /// server sent. Quarantines tools with a key in a name.
    async fn list(
        &self,
        connection: &ServerConnection,
    ) -> Result<Vec<(DeclaredTool, Fingerprint)>, ImportError> {
        let credentials = &self.options.credentials;
        let list = ServerList {
            method: "tools/list",
            member: "tools",
            kind: Declaration::Tool,
            request: |page| ClientRequest::ListToolsRequest(ListToolsRequest::with_param(page)),
        };
        let mut listed = Vec::new();
        match self.reader(connection).pages(&list, &mut listed).await {
            Ok(()) => {}
            // A server with prompts or resources only need not know the method.
            Err(ListError::Failed(ServiceError::McpError(_))) if !declares_tools(connection) => {}
            Err(ListError::Failed(error)) => {
                return Err(credentials.protocol_failure(&describe(&error)));
            }
            Err(ListError::Timeout) => return Err(ImportError::Timeout),
        }

        let mut tools = Vec::with_capacity(listed.len());
        for tool in listed {
            let fingerprint = Fingerprint::of_declared(&tool, Declaration::Tool);
            if credentials.is_in_names(&tool.item) {
                self.quarantine(
                    &credentials.redact(&tool.item.name),
                    QuarantineReason::HasKey,
                );
                continue;
            }
            let mut tool = credentials.redact_declared(tool)?;
            remove_nulls(Arc::make_mut(&mut tool.item.input_schema));
            if let Some(schema) = tool
                .sent
                .get_mut("inputSchema")
                .and_then(Value::as_object_mut)
            {
                remove_nulls(schema);
            }
            tools.push((tool, fingerprint));
        }
        Ok(tools)
    }

    /// Pins new tools, quarantines those that differ from their pins, and returns the rest.
    async fn check(
        &self,
        listed: Vec<(DeclaredTool, Fingerprint)>,
    ) -> Result<Vec<DeclaredTool>, ImportError> {
        let found = listed
            .iter()
            .map(|(tool, fingerprint)| (tool.item.name.to_string(), fingerprint.clone()));
        let offered = self.check_pins(found).await?;
        Ok(listed
            .into_iter()
            .map(|(tool, _)| tool)
            .filter(|tool| offered.contains(&*tool.item.name))
            .collect())
    }

    /// Pins what is new, quarantines what differs from its pin, and returns the keys of the rest.
    pub(crate) async fn check_pins(
        &self,
        found: impl IntoIterator<Item = (String, Fingerprint)>,
    ) -> Result<HashSet<String>, ImportError> {
        let mut fingerprints = ToolPins::new();
        let mut duplicates = HashSet::new();
        for (key, fingerprint) in found {
            if fingerprints.insert(key.clone(), fingerprint).is_some() {
                duplicates.insert(key);
            }
        }
        fingerprints.retain(|key, _| !duplicates.contains(key));
        for key in &duplicates {
            self.quarantine(key, QuarantineReason::Duplicate);
        }
        let options = &self.options;
        let merged = options
            .pins
            .merge(&options.name, fingerprints.clone(), !options.pinned_only)
            .await?;
        fingerprints.retain(|key, fingerprint| match merged.known.get(key) {
            Some(pin) => {
                let changed = fingerprint.changed_members(pin);
                let is_same = changed.is_empty();
                if !is_same {
                    self.quarantine(key, QuarantineReason::Changed(changed));
                }
                is_same
            }
            None if options.pinned_only => {
                self.quarantine(key, QuarantineReason::NotPinned);
                false
            }
            None if merged.left_out.contains_key(key) => {
                self.quarantine_new(key, fingerprint.kind(), QuarantineReason::PinsFull);
                false
            }
            None => true,
        });
        let offered = fingerprints.keys().cloned().collect::<HashSet<_>>();
        // What was added, or has changed and was accepted since, is offered from now on.
        for key in &offered {
            self.quarantine.lift(key);
        }
        self.imported.lock().extend(fingerprints);
        Ok(offered)
    }

    /// Requests the list of tools again. Returns those that agree with the pins.
    pub(crate) async fn list_checked(&self) -> Result<Vec<DeclaredTool>, ImportError> {
        let connection = self
            .connection()
            .await
            .map_err(|error| ImportError::Protocol(error.message().into()))?;
        let mut listed = self.list(&connection).await;
        if listed.is_err()
            && let Some(next) = self.after_expiry(&connection).await
        {
            listed = self.list(&next).await;
        }
        self.check(listed?).await
    }

    /// Requests the lists again and quarantines what changed.
    pub(crate) async fn refresh(&self) -> Result<(), ImportError> {
        let connection = self
            .connection()
            .await
            .map_err(|error| ImportError::Protocol(error.message().into()))?;
        let checked = self.check_imported(&connection).await;
        if checked.is_err()
            && let Some(next) = self.after_expiry(&connection).await
        {
            return self.check_imported(&next).await;
        }
        checked
    }

    /// Returns the next connection after one over which a request failed, if it failed because its
    /// session has expired.
    async fn after_expiry(&self, connection: &ServerConnection) -> Option<Arc<ServerConnection>> {
        if !connection.calls.has_expired() {
            return None;
        }
        self.connection().await.ok()
    }

    /// Checks the lists of which something was imported. One that fails, other than that of the
    /// tools, is requested again later.
    async fn check_imported(&self, connection: &ServerConnection) -> Result<(), ImportError> {
        let kinds = self.imported_kinds();
        let checked = self.check_again(connection, &kinds).await?;
        self.note_unchecked(&kinds, &checked);
        Ok(())
    }

    fn note_unchecked(&self, kinds: &[Declaration], checked: &[Declaration]) {
        let unchecked = kinds.iter().filter(|kind| !checked.contains(kind));
        self.note_changed(unchecked.copied());
    }

    /// Notes that lists have to be requested again.
    pub(crate) fn note_changed(&self, kinds: impl IntoIterator<Item = Declaration>) {
        for kind in kinds {
            self.changed.note(kind);
        }
    }

    /// Returns the keys and fingerprints of a list.
    async fn list_again(
        &self,
        connection: &ServerConnection,
        kind: Declaration,
    ) -> Result<ListedPins, ImportError> {
        Ok(match kind {
            Declaration::Tool => {
                let listed = self.list(connection).await?.into_iter();
                let found = listed
                    .map(|(tool, fingerprint)| (tool.item.name.to_string(), fingerprint))
                    .collect();
                ListedPins {
                    found,
                    has_failed: false,
                }
            }
            Declaration::Prompt => self.pinned_prompts(connection).await,
            Declaration::Resource => self.pinned_resources(connection).await,
        })
    }

    /// Quarantines what changed or is gone of these kinds, and offers again what was removed and is
    /// listed as before. Fails if the tools cannot be had. Returns the kinds whose lists were read
    /// to their end: no other list tells what is gone.
    async fn check_again(
        &self,
        connection: &ServerConnection,
        kinds: &[Declaration],
    ) -> Result<Vec<Declaration>, ImportError> {
        let mut checked = Vec::new();
        for kind in kinds {
            let listed = self.list_again(connection, *kind).await?;
            if !listed.has_failed {
                self.quarantine_removed(*kind, &listed);
                checked.push(*kind);
            }
            self.compare(*kind, &listed);
        }
        self.quarantine.end_check(&self.options.name);
        Ok(checked)
    }

    /// Quarantines what is no longer in a list.
    fn quarantine_removed(&self, kind: Declaration, listed: &ListedPins) {
        let imported = self.imported.lock().clone();
        let keys = listed.found.iter().map(|(key, _)| &**key);
        let keys = keys.collect::<HashSet<_>>();
        let own = imported
            .iter()
            .filter(|(_, fingerprint)| fingerprint.kind() == kind);
        for (key, _) in own.filter(|(key, _)| !keys.contains(&***key)) {
            self.quarantine(key, QuarantineReason::Removed);
        }
        self.quarantine.forget_new(kind, &keys);
    }

    /// Quarantines what has changed in a list, or was added to it. A list that has failed adds
    /// nothing, as an import of it would fail in the same way.
    fn compare(&self, kind: Declaration, listed: &ListedPins) {
        let imported = self.imported.lock().clone();
        for (key, fingerprint) in &listed.found {
            match imported.get(key) {
                Some(known) if known == fingerprint => self.quarantine.restore(key),
                Some(known) => {
                    let changed = fingerprint.changed_members(known);
                    self.quarantine(key, QuarantineReason::Changed(changed));
                }
                None if listed.has_failed || self.quarantine.get(key).is_some() => {}
                None => self.quarantine_new(key, kind, QuarantineReason::Added),
            }
        }
    }

    /// Subscribes to a resource, over this connection and those after it.
    pub(crate) async fn subscribe(&self, uri: &str) -> Result<(), ToolError> {
        let connection = self.connection().await?;
        let added = self.subscriptions.add(&connection.peer, uri);
        let added = self.in_time(added).await;
        if added.is_err()
            && let Some(next) = self.after_expiry(&connection).await
        {
            let added = self.subscriptions.add(&next.peer, uri);
            return self.in_time(added).await;
        }
        added
    }

    pub(crate) async fn unsubscribe(&self, uri: &str) -> Result<(), ToolError> {
        let connection = self.connection().await?;
        let removed = self.subscriptions.remove(&connection.peer, uri);
        let removed = self.in_time(removed).await;
        if removed.is_err() && connection.calls.has_expired() {
            // The subscription has ended with its session.
            return Ok(());
        }
        removed
    }

    async fn in_time(
        &self,
        work: impl Future<Output = Result<(), String>>,
    ) -> Result<(), ToolError> {
        match timeout(self.options.timeout, work).await {
            Ok(done) => {
                done.map_err(|error| ToolError::permanent(self.options.credentials.display(&error)))
            }
            Err(_) => Err(ToolError::timeout("the server did not answer in time")),
        }
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

/// Sets the level of a server's log, up to revision 2025-11-25. Later ones have it in each request.
async fn set_log_level(peer: &Peer<RoleClient>, level: LogLevel, options: &RemoteOptions) {
    let info = peer.peer_info();
    if !info.is_some_and(|info| {
        info.capabilities.logging.is_some() && !is_stateless(&info.protocol_version)
    }) {
        return;
    }
    let request = CustomRequest::new("logging/setLevel", Some(json!({"level": level})));
    let sent = timeout(
        options.timeout,
        peer.send_request(ClientRequest::CustomRequest(request)),
    );
    if let Ok(Err(error)) = sent.await {
        let server = options.name.escape_debug();
        let error = options.credentials.display(&describe(&error));
        tracing::warn!(%server, error, "failed to set the level of a server's log");
    }
}

/// The times in a row that lists which fail are requested again, each after a pause.
const MAX_RETRIES: u32 = 10;

/// Requests the lists again of which the server notifies that they have changed, and less and less
/// often if it does so all the time. A list that cannot be had is requested again.
async fn watch(remote: Weak<RemoteServer>, changed: Arc<ChangedLists>) {
    let mut pause = Pause::new();
    let mut retries = 0;
    changed.changed.notified().await;
    loop {
        let Some(remote) = remote.upgrade() else {
            return;
        };
        // The end of a connection wakes this task too. A call makes it again.
        let connection = Some(remote.current()).filter(|connection| !connection.is_lost());
        let mut kinds = changed.take();
        kinds.retain(|kind| *kind == Declaration::Tool || !remote.options.tools_only);
        if let Some(connection) = connection.filter(|_| !kinds.is_empty()) {
            let checked = match remote.check_again(&connection, &kinds).await {
                Ok(checked) => checked,
                Err(error) => {
                    tracing::warn!(server = %remote.options.name.escape_debug(), %error, "failed to refresh the lists");
                    Vec::new()
                }
            };
            for kind in &checked {
                remote.changes.send((*kind).into());
            }
            let is_whole = checked.len() == kinds.len();
            if is_whole || retries == MAX_RETRIES {
                retries = 0;
            } else {
                retries += 1;
                remote.note_unchecked(&kinds, &checked);
            }
        }
        drop(remote);
        pause.until_next(&changed.changed).await;
    }
}
