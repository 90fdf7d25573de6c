//! The runtime itself: what all sessions share.

use super::builder::RuntimeBuilder;
use super::hook::Hook;
use super::journal::Journal;
use super::metrics::{Metrics, SharedMeasures, Tally, ToolTally};
use super::policy::Policy;
use super::service::Stack;
use super::session::{Core, Open};
use super::session_id::SessionId;
use super::store::{SessionStore, StoreError};
use super::token::Signer;
use super::toolbox::{Toolbox, Toolboxes};
use crate::context::{RegistryErrors, ToolContext};
use crate::tool::Mode;
use futures_util::future::join_all;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use tokio::sync::Semaphore;

/// Governs the calls of all sessions: budgets, modes, loops, confirmation, deadlines. Cheap to clone.
///
/// ```
/// use serde_json::json;
/// use tool_core::{Mode, Policy, Runtime, ToolCall, ToolContext, tool};
///
/// /// Add two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let tools = ToolContext::builder().with(add).build()?;
/// let runtime = Runtime::builder(tools).policy(Policy::voice()).build()?;
/// let session = runtime.session("s-1", Mode::Voice).await?;
///
/// let response = session.call(ToolCall::new("call_1", "add", json!({"a": 1, "b": 2}))).await;
/// assert_eq!(response.data_json(), Some("3"));
/// session.end().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Runtime(pub(super) Arc<Shared>);

pub(crate) struct Shared {
    pub(super) toolbox: RwLock<Arc<Toolbox>>,
    /// By mode.
    pub(super) policies: [Policy; 2],
    pub(super) store: Arc<dyn SessionStore>,
    pub(super) journal: Option<Arc<dyn Journal>>,
    pub(super) hooks: Vec<Arc<dyn Hook>>,
    pub(super) stack: Option<Stack>,
    pub(super) signer: Signer,
    /// The sessions that have a handle in this process.
    pub(super) live: Mutex<HashMap<Arc<str>, Weak<Core>>>,
    pub(super) blocking: Arc<Semaphore>,
    pub(super) detached: Arc<AtomicUsize>,
    pub(crate) measured: SharedMeasures,
    /// The characters past which a result is one to be warned of.
    pub(super) large: u32,
}

impl Runtime {
    /// A runtime of these tools.
    pub fn builder(tools: ToolContext) -> RuntimeBuilder {
        RuntimeBuilder::new(tools)
    }

    /// Opens a session, or joins the one that is open under this id, with the tools of this moment.
    ///
    /// Await what it gives, after saying for whom the session speaks and what else its tools need.
    pub fn session(&self, id: impl Into<SessionId>, mode: Mode) -> Open {
        Open::new(Arc::clone(&self.0), id.into(), mode)
    }

    /// The tools that a session opened now would have, the runtime's own among them.
    pub fn tools(&self) -> ToolContext {
        self.0.toolbox().context.clone()
    }

    /// Puts other tools in the place of all there are. Sessions that are open keep those that they began with.
    pub fn update_tools(&self, tools: ToolContext) -> Result<(), RegistryErrors> {
        let toolbox = Arc::new(Toolbox::new(tools, |name| {
            self.0.measured.tallies.find(name).unwrap_or_else(|| self.0.tally_of(name))
        })?);
        *self.0.toolbox.write().unwrap_or_else(PoisonError::into_inner) = toolbox;
        Ok(())
    }

    /// How many sessions are open, in all processes that share the store.
    pub async fn sessions(&self) -> Result<u64, StoreError> {
        self.0.store.sessions().await
    }

    /// How often a tool of this moment was called, or one that sessions have of their own: tools of one name count
    /// together.
    pub fn tally(&self, tool: &str) -> Option<ToolTally> {
        let known = self.0.toolbox().tally(tool).cloned();
        known.or_else(|| self.0.measured.tallies.find(tool)).map(|tally| tally.read())
    }

    /// What was measured: sizes, latencies, errors, context, loops. What `/metrics` serves.
    pub fn metrics(&self) -> Metrics {
        Metrics::of(&self.0)
    }

    /// How many `blocking` tools still run whose callers were answered already: timed out, cancelled or gone.
    pub fn detached(&self) -> usize {
        self.0.detached.load(Ordering::Relaxed)
    }

    /// Ends every session that has a handle in this process: running calls are cancelled and answered.
    pub async fn shutdown(&self) {
        let sessions = self.0.live().values().filter_map(Weak::upgrade).collect::<Vec<_>>();
        join_all(sessions.iter().map(Core::end)).await;
    }
}

impl Shared {
    pub(super) fn toolbox(&self) -> Arc<Toolbox> {
        Arc::clone(&self.toolbox.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// What a session has that is opened with these tools.
    pub(super) fn toolbox_of(self: &Arc<Self>, tools: &ToolContext) -> Result<Arc<Toolbox>, RegistryErrors> {
        let tally = |name: &str| self.measured.tallies.get(name, || self.tally_of(name));
        tools.memo::<Toolboxes>().get(self, || {
            let mut toolbox = Toolbox::new(tools.clone(), tally)?;
            // The context keeps its toolbox, which must keep neither it nor what it keeps.
            toolbox.context = toolbox.context.lent();
            Ok(toolbox)
        })
    }

    /// Where the calls of a tool of that name are counted, as it is or as it begins.
    fn tally_of(&self, name: &str) -> Arc<Tally> {
        let known = self.toolbox().tally(name).cloned();
        known.unwrap_or_else(|| Arc::new(Tally::new(self.large)))
    }

    pub(super) fn policy(&self, mode: Mode) -> &Policy {
        match mode {
            Mode::Voice => &self.policies[0],
            Mode::Text => &self.policies[1],
        }
    }

    pub(super) fn live(&self) -> MutexGuard<'_, HashMap<Arc<str>, Weak<Core>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn find_live(&self, id: &str) -> Option<Arc<Core>> {
        self.live().get(id)?.upgrade()
    }
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runtime").field("tools", &self.tools()).finish_non_exhaustive()
    }
}
