//! Putting a runtime together.

use crate::call::mode::Mode;
use crate::call::response::ToolResponse;
use crate::call::tool_call::ToolCall;
use crate::describe::manifest::content_version;
use crate::registry::ToolContext;
use crate::registry::errors::RegistryErrors;
use crate::session::approvals::Signer;
use crate::session::builder::SessionBuilder;
use crate::session::control_tools;
use crate::session::hooks::Hook;
use crate::session::journal::Journal;
use crate::session::metrics::context::Beginning;
use crate::session::metrics::stats::{Tally, ToolTally};
use crate::session::metrics::{Metrics, SharedMeasures};
use crate::session::policy::Policy;
use crate::session::service::{Stack, Wrap};
use crate::session::session::{Core, SessionId};
use crate::session::store::memory::MemoryStore;
use crate::session::store::{SessionStore, StoreError};
use crate::tool::function::FunctionTool;
use futures_util::future::join_all;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, Weak};
use tokio::sync::Semaphore;
use tower::util::BoxService;
use tower::{BoxError, Layer, Service};

/// Makes a [`Runtime`].
#[must_use]
pub struct RuntimeBuilder {
    tools: ToolContext,
    voice: Policy,
    text: Policy,
    store: Arc<dyn SessionStore>,
    journal: Option<Arc<dyn Journal>>,
    hooks: Vec<Arc<dyn Hook>>,
    layers: Vec<Wrap>,
    signer: Option<Signer>,
    large: u32,
}

/// The characters that 95 in a hundred results of a tool may have without a warning. R-M2
const LARGE: u32 = 1_500;

impl RuntimeBuilder {
    pub(crate) fn new(tools: ToolContext) -> Self {
        Self {
            tools,
            voice: Policy::voice(),
            text: Policy::text(),
            store: Arc::new(MemoryStore::new()),
            journal: None,
            hooks: Vec::new(),
            layers: Vec::new(),
            signer: None,
            large: LARGE,
        }
    }

    /// The policy of all sessions. Unless told, voice sessions have [`Policy::voice`] and text sessions
    /// [`Policy::text`]. It replaces what [`policy_for`](Self::policy_for) has set before.
    pub fn policy(self, policy: Policy) -> Self {
        self.policy_for(Mode::Voice, policy.clone()).policy_for(Mode::Text, policy)
    }

    /// The policy of the sessions of one mode.
    pub fn policy_for(mut self, mode: Mode, policy: Policy) -> Self {
        match mode {
            Mode::Voice => self.voice = policy,
            Mode::Text => self.text = policy,
        }
        self
    }

    /// Where sessions are kept; in memory unless told. Takes a store or an `Arc` of one.
    pub fn store(mut self, store: impl IntoStore) -> Self {
        self.store = store.into_store();
        self
    }

    /// Where calls are written down before they run; nowhere unless told.
    pub fn journal(mut self, journal: impl Journal) -> Self {
        self.journal = Some(Arc::new(journal));
        self
    }

    /// Adds a hook.
    pub fn hook(mut self, hook: impl Hook) -> Self {
        self.hooks.push(Arc::new(hook));
        self
    }

    /// Puts a tower layer around the calls of all sessions: a rate limit, a concurrency limit, load shedding. The first
    /// is the outermost. A rate limit by itself makes calls wait, which their `durationMs` does not count; with load
    /// shedding around it, what would wait is answered `RATE_LIMIT`. tower's `Elapsed` is answered TIMEOUT, any other
    /// error INTERNAL. Calls that tools make themselves, and the runtime's own tools, do not pass through it.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tool_core::{Runtime, ToolContext};
    /// use tower::limit::RateLimitLayer;
    /// use tower::load_shed::LoadShedLayer;
    ///
    /// # let tools = ToolContext::builder().build()?;
    /// let limit = RateLimitLayer::new(100, Duration::from_secs(1));
    /// let runtime = Runtime::builder(tools).layer(LoadShedLayer::new()).layer(limit).build()?;
    /// # Ok::<(), tool_core::RegistryErrors>(())
    /// ```
    pub fn layer<L, S>(mut self, layer: L) -> Self
    where
        L: Layer<BoxService<ToolCall, ToolResponse, BoxError>, Service = S> + Send + 'static,
        S: Service<ToolCall, Response = ToolResponse, Error: Into<BoxError>, Future: Send> + Send + 'static,
    {
        self.layers.push(Box::new(move |inner| {
            BoxService::new(tower::util::MapErr::new(layer.layer(inner), Into::<BoxError>::into))
        }));
        self
    }

    /// The key by which approvals are signed. Without one a key is made for this process, and no other process can
    /// redeem what it signs.
    pub fn signing_key(mut self, key: [u8; 32]) -> Self {
        self.signer = Some(Signer::new(key));
        self
    }

    /// The characters that 95 in a hundred results of a tool may have before the log warns; 1,500 unless told.
    pub fn large_results(mut self, characters: u32) -> Self {
        self.large = characters;
        self
    }

    /// The runtime. Fails where the tools are at odds with those that the runtime adds: `cancel_call` and
    /// `list_running_calls`, where a tool is `cancellable`.
    pub fn build(self) -> Result<Runtime, RegistryErrors> {
        let toolbox = Arc::new(Toolbox::new(self.tools, |_| Arc::new(Tally::new(self.large)))?);
        let (voice, text) = (self.voice, self.text);
        let threads = voice.blocking_threads.max(text.blocking_threads).max(1);
        let shared = Arc::new_cyclic(|shared: &Weak<Shared>| Shared {
            toolbox: RwLock::new(toolbox),
            policies: [voice, text],
            store: self.store,
            journal: self.journal,
            hooks: self.hooks,
            stack: Stack::new(Weak::clone(shared), self.layers),
            signer: self.signer.unwrap_or_else(Signer::random),
            live: Mutex::default(),
            blocking: Arc::new(Semaphore::new(threads.min(Semaphore::MAX_PERMITS))),
            detached: Arc::default(),
            measured: SharedMeasures::new(self.large),
            large: self.large,
        });
        Ok(Runtime(shared))
    }
}

/// A session store, or an `Arc` of one.
pub trait IntoStore {
    /// The store.
    fn into_store(self) -> Arc<dyn SessionStore>;
}

impl<S: SessionStore> IntoStore for S {
    fn into_store(self) -> Arc<dyn SessionStore> {
        Arc::new(self)
    }
}

impl<S: SessionStore> IntoStore for Arc<S> {
    fn into_store(self) -> Arc<dyn SessionStore> {
        self
    }
}

impl IntoStore for Arc<dyn SessionStore> {
    fn into_store(self) -> Arc<dyn SessionStore> {
        self
    }
}

// ---- The runtime itself: what all sessions share.

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
pub struct Runtime(pub(crate) Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) toolbox: RwLock<Arc<Toolbox>>,
    /// By mode.
    pub(crate) policies: [Policy; 2],
    pub(crate) store: Arc<dyn SessionStore>,
    pub(crate) journal: Option<Arc<dyn Journal>>,
    pub(crate) hooks: Vec<Arc<dyn Hook>>,
    pub(crate) stack: Option<Stack>,
    pub(crate) signer: Signer,
    /// The sessions that have a handle in this process.
    pub(crate) live: Mutex<HashMap<Arc<str>, Weak<Core>>>,
    pub(crate) blocking: Arc<Semaphore>,
    pub(crate) detached: Arc<AtomicUsize>,
    pub(crate) measured: SharedMeasures,
    /// The characters past which a result is one to be warned of.
    pub(crate) large: u32,
}

impl Runtime {
    /// A runtime of these tools.
    pub fn builder(tools: ToolContext) -> RuntimeBuilder {
        RuntimeBuilder::new(tools)
    }

    /// Opens a session, or joins the one that is open under this id, with the tools of this moment.
    ///
    /// Await what it gives, after saying for whom the session speaks and what else its tools need.
    pub fn session(&self, id: impl Into<SessionId>, mode: Mode) -> SessionBuilder {
        SessionBuilder::new(Arc::clone(&self.0), id.into(), mode)
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
    pub(crate) fn toolbox(&self) -> Arc<Toolbox> {
        Arc::clone(&self.toolbox.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// What a session has that is opened with these tools.
    pub(crate) fn toolbox_of(self: &Arc<Self>, tools: &ToolContext) -> Result<Arc<Toolbox>, RegistryErrors> {
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

    pub(crate) fn policy(&self, mode: Mode) -> &Policy {
        match mode {
            Mode::Voice => &self.policies[0],
            Mode::Text => &self.policies[1],
        }
    }

    pub(crate) fn live(&self) -> MutexGuard<'_, HashMap<Arc<str>, Weak<Core>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn find_live(&self, id: &str) -> Option<Arc<Core>> {
        self.live().get(id)?.upgrade()
    }
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runtime").field("tools", &self.tools()).finish_non_exhaustive()
    }
}

// ---- The tools that a session began with: a snapshot that it keeps. R-I4

pub(crate) struct Toolbox {
    /// The host's tools and, where one of them is `cancellable`, the runtime's own.
    pub(crate) context: ToolContext,
    /// What approvals are bound to.
    pub(crate) version: Arc<str>,
    /// Whether some calls may not run beside others.
    pub(crate) sequential: bool,
    /// One for each function tool, in their order. A tool that stays when the others change keeps its own.
    pub(crate) tallies: Box<[Arc<Tally>]>,
    /// What a session begins with, by mode.
    begins: [OnceLock<Beginning>; 2],
    /// Function tools from here on are the runtime's own.
    own: usize,
}

impl Toolbox {
    /// `tally`: where the calls of a tool of that name are counted.
    pub(crate) fn new(tools: ToolContext, tally: impl Fn(&str) -> Arc<Tally>) -> Result<Self, RegistryErrors> {
        let tools = control_tools::removed(tools);
        let own = tools.function_tools().len();
        let cancellable = tools.function_tools().iter().any(|tool| tool.definition().flags().cancellable);
        let context = if cancellable { control_tools::added(&tools)? } else { tools };
        Ok(Self {
            version: content_version(&context).into(),
            sequential: context.function_tools().iter().any(|tool| tool.definition().flags().sequential),
            tallies: context.function_tools().iter().map(|tool| tally(tool.name())).collect(),
            begins: Default::default(),
            context,
            own,
        })
    }

    #[inline]
    pub(crate) fn find(&self, name: &str) -> Option<(usize, &FunctionTool)> {
        let at = self.context.position(name)?;
        self.context.function_tools().get(at).map(|tool| (at, tool))
    }

    /// Where the calls of the tool of that name are counted.
    pub(crate) fn tally(&self, name: &str) -> Option<&Arc<Tally>> {
        self.tallies.get(self.context.position(name)?)
    }

    /// What a session begins with.
    pub(crate) fn begins(&self, mode: Mode, full_guides: bool) -> Beginning {
        *self.begins[mode as usize].get_or_init(|| Beginning::of_toolbox(self, mode, full_guides))
    }

    /// Whether that is the name of one of the runtime's own tools.
    pub(crate) fn is_own(&self, name: &str) -> bool {
        self.context.position(name).is_some_and(|at| self.is_companion(at))
    }

    /// Whether the tool at that place is one of the runtime's own.
    #[inline]
    pub(crate) fn is_companion(&self, at: usize) -> bool {
        at >= self.own
    }
}

/// What runtimes have made of a context whose tools sessions have as their own, kept with it: it stays the same, so a
/// session of many finds it made.
#[derive(Default)]
pub(crate) struct Toolboxes(Mutex<Vec<(Weak<Shared>, Arc<Toolbox>)>>);

impl Toolboxes {
    /// That of this runtime.
    pub(crate) fn get(
        &self,
        runtime: &Arc<Shared>,
        make: impl FnOnce() -> Result<Toolbox, RegistryErrors>,
    ) -> Result<Arc<Toolbox>, RegistryErrors> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, toolbox)) = kept.iter().find(|(of, _)| std::ptr::eq(of.as_ptr(), Arc::as_ptr(runtime))) {
            return Ok(Arc::clone(toolbox));
        }
        kept.retain(|(of, _)| of.strong_count() > 0);
        let toolbox = Arc::new(make()?);
        kept.push((Arc::downgrade(runtime), Arc::clone(&toolbox)));
        Ok(toolbox)
    }
}
