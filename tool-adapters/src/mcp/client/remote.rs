//! The connection to a server, and the check of its list against the pins.

use crate::mcp::client::address::{RunningClient, ServerAddress};
use crate::mcp::client::credentials::Credentials;
use crate::mcp::client::error::ImportError;
use crate::mcp::client::notices::{ListChanges, Pause};
use crate::mcp::client::pins::{Fingerprint, Pins, ToolPins};
use crate::mcp::client::quarantine::{Quarantine, QuarantineReason};
use rmcp::RoleClient;
use rmcp::model::{PaginatedRequestParams, Tool};
use rmcp::service::Peer;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::timeout;
use tool_core::RegistryErrors;

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
    pub(crate) peer: Peer<RoleClient>,
    running: tokio::sync::Mutex<Option<RunningClient>>,
    /// The declarations of the imported tools.
    imported: Mutex<ToolPins>,
    pub(crate) quarantine: Quarantine,
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
        let handler = ListChanges(Arc::clone(&changed));
        let connecting = address.connect(handler, options.probe, &options.credentials);
        let running = timeout(options.timeout, connecting).await.map_err(|_| ImportError::Timeout)??;
        let remote = Arc::new(Self {
            options,
            transport,
            peer: running.peer().clone(),
            running: tokio::sync::Mutex::new(Some(running)),
            imported: Mutex::default(),
            quarantine: Quarantine::default(),
        });
        let listed = remote.list().await?;
        let tools = remote.check(listed).await?;
        tokio::spawn(watch(Arc::downgrade(&remote), changed));
        Ok((remote, tools))
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
    async fn list(&self) -> Result<Vec<(Tool, Fingerprint)>, ImportError> {
        let listing = async {
            let (mut tools, mut listed, mut cursor, mut cursors) = (Vec::new(), 0, None, HashSet::new());
            let credentials = &self.options.credentials;
            loop {
                let page = PaginatedRequestParams::default().with_cursor(cursor);
                let page = self.peer.list_tools(Some(page)).await;
                let page = page.map_err(|error| credentials.protocol_error(&error))?;
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
        let listed = self.list().await?;
        let imported = lock(&self.imported).clone();
        for (tool, fingerprint) in listed {
            match imported.get(&*tool.name) {
                Some(known) if *known == fingerprint => {}
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
        if let Some(running) = self.running.lock().await.take()
            && let Err(error) = running.cancel().await
        {
            tracing::debug!(%error, "failed to close the connection to a server");
        }
    }
}

/// Refreshes the list when the server notifies that it has changed, and less and less often if it does so all the time.
async fn watch(remote: Weak<RemoteServer>, changed: Arc<Notify>) {
    let mut pause = Pause::new();
    changed.notified().await;
    loop {
        let Some(remote) = remote.upgrade() else { return };
        if let Err(error) = remote.refresh().await {
            tracing::warn!(server = %remote.options.name.escape_debug(), %error, "failed to refresh the list of tools");
        }
        drop(remote);
        pause.until_next(&changed).await;
    }
}
