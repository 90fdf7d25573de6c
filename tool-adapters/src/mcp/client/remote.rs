//! The connection to a server, and what was found out about its tools.

use crate::mcp::client::pins::{Fingerprint, Pins};
use crate::mcp::client::{ImportError, QuarantineReason, Quarantined, Source};
use rmcp::model::{ClientConfig, Implementation, PaginatedRequestParams, Tool};
use rmcp::service::{NotificationContext, Peer, RunningService};
use rmcp::{ClientHandler, RoleClient};
use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::timeout;

/// The tools that a list may have.
const MOST: usize = 100_000;

pub(crate) struct Rules {
    pub(crate) name: String,
    pub(crate) pins: Pins,
    pub(crate) locked: bool,
    pub(crate) timeout: Duration,
    /// Whether the server is told for whom a call is made.
    pub(crate) baggage: bool,
    /// What carries the messages, where that is known.
    pub(crate) transport: Option<&'static str>,
}

pub(crate) struct Remote {
    rules: Rules,
    peer: Peer<RoleClient>,
    running: tokio::sync::Mutex<Option<RunningService<RoleClient, Listener>>>,
    /// What the tools that are offered looked like when they were taken.
    taken: Mutex<BTreeMap<String, Fingerprint>>,
    held: Mutex<BTreeMap<String, QuarantineReason>>,
}

/// Hears that the list has changed. It asks nothing of the user and runs no model for a server.
pub(crate) struct Listener(Arc<Notify>);

impl ClientHandler for Listener {
    fn get_info(&self) -> ClientConfig {
        let mut info = ClientConfig::default();
        info.client_info = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
        info
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.notify_one();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Remote {
    /// Connects; gives the tools that can be trusted.
    pub(crate) async fn connect(
        source: Source,
        rules: Rules,
        probe: bool,
    ) -> Result<(Arc<Self>, Vec<Tool>), ImportError> {
        let changed = Arc::new(Notify::new());
        let connecting = source.connect(Listener(Arc::clone(&changed)), probe);
        let running = timeout(rules.timeout, connecting).await.map_err(|_| ImportError::Timeout)??;
        let peer = running.peer().clone();
        let running = tokio::sync::Mutex::new(Some(running));
        let remote = Arc::new(Self { rules, peer, running, taken: Mutex::default(), held: Mutex::default() });
        let found = remote.list().await?;
        let trusted = remote.take(found)?;
        tokio::spawn(watch(Arc::downgrade(&remote), changed));
        Ok((remote, trusted))
    }

    pub(crate) fn name(&self) -> &str {
        &self.rules.name
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.rules.timeout
    }

    pub(crate) fn shares_baggage(&self) -> bool {
        self.rules.baggage
    }

    pub(crate) fn transport(&self) -> Option<&'static str> {
        self.rules.transport
    }

    pub(crate) fn peer(&self) -> &Peer<RoleClient> {
        &self.peer
    }

    pub(crate) fn hold(&self, tool: &str, why: QuarantineReason) {
        let held = Quarantined { tool: tool.to_owned(), why };
        tracing::warn!(server = %self.name().escape_debug(), %held, "a tool is not offered");
        lock(&self.held).insert(held.tool, held.why);
    }

    pub(crate) fn held(&self) -> Vec<Quarantined> {
        lock(&self.held).iter().map(|(tool, why)| Quarantined { tool: tool.clone(), why: why.clone() }).collect()
    }

    /// Why a tool must not run.
    pub(crate) fn why_held(&self, tool: &str) -> Option<Quarantined> {
        lock(&self.held).get(tool).map(|why| Quarantined { tool: tool.to_owned(), why: why.clone() })
    }

    /// The whole list, all pages of it.
    async fn list(&self) -> Result<Vec<Tool>, ImportError> {
        let listing = async {
            let (mut tools, mut cursor, mut seen) = (Vec::new(), None, HashSet::new());
            loop {
                let page = PaginatedRequestParams::default().with_cursor(cursor);
                let page = self.peer.list_tools(Some(page)).await;
                let page = page.map_err(|error| ImportError::Protocol(error.to_string()))?;
                tools.extend(page.tools);
                let Some(next) = page.next_cursor else { return Ok(tools) };
                if tools.len() > MOST || !seen.insert(next.clone()) {
                    return Err(ImportError::Endless);
                }
                cursor = Some(next);
            }
        };
        timeout(self.rules.timeout, listing).await.map_err(|_| ImportError::Timeout)?
    }

    /// Of the tools found, those that are what they were, or are trusted as they are.
    fn take(&self, found: Vec<Tool>) -> Result<Vec<Tool>, ImportError> {
        let mut trusted = BTreeMap::new();
        let (mut kept, mut twice) = (Vec::<Tool>::new(), HashSet::new());
        for tool in found {
            let name = tool.name.to_string();
            let fingerprint = Fingerprint::of(&tool);
            match self.rules.pins.of(self.name(), &name) {
                Some(pinned) if pinned != fingerprint => {
                    self.hold(&name, QuarantineReason::Changed(fingerprint.differs(&pinned)))
                }
                None if self.rules.locked => self.hold(&name, QuarantineReason::NotPinned),
                _ if trusted.insert(name.clone(), fingerprint).is_some() => {
                    twice.insert(name);
                }
                _ => kept.push(tool),
            }
        }
        // Which of the two was meant, nobody knows.
        kept.retain(|tool| !twice.contains(&*tool.name));
        trusted.retain(|name, _| !twice.contains(name));
        for name in &twice {
            self.hold(name, QuarantineReason::Twice);
        }
        self.rules.pins.trust(self.name(), &trusted).map_err(ImportError::Pins)?;
        *lock(&self.taken) = trusted;
        Ok(kept)
    }

    /// Looks at the list again: what has changed does not run any more.
    pub(crate) async fn refresh(&self) -> Result<(), ImportError> {
        let found = self.list().await?;
        let taken = lock(&self.taken).clone();
        for tool in found {
            let fingerprint = Fingerprint::of(&tool);
            match taken.get(&*tool.name) {
                Some(known) if *known == fingerprint => {}
                Some(known) => self.hold(&tool.name, QuarantineReason::Changed(fingerprint.differs(known))),
                None if self.why_held(&tool.name).is_some() => {}
                None => self.hold(&tool.name, QuarantineReason::New),
            }
        }
        Ok(())
    }

    pub(crate) async fn close(&self) {
        if let Some(running) = self.running.lock().await.take()
            && let Err(error) = running.cancel().await
        {
            tracing::debug!(%error, "the connection to a server did not close");
        }
    }
}

/// Looks at the list again whenever the server says that it has changed.
async fn watch(remote: Weak<Remote>, changed: Arc<Notify>) {
    loop {
        changed.notified().await;
        let Some(remote) = remote.upgrade() else { return };
        if let Err(error) = remote.refresh().await {
            tracing::warn!(server = %remote.name().escape_debug(), %error, "the changed list could not be read");
        }
    }
}

impl Drop for Listener {
    /// The connection is gone: whoever waits for its changes goes too.
    fn drop(&mut self) {
        self.0.notify_one();
    }
}
