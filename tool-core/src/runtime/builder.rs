//! Putting a runtime together.

use super::handle::{Runtime, Shared};
use super::hook::Hook;
use super::journal::Journal;
use super::metrics::{SharedMeasures, Tally};
use super::policy::Policy;
use super::service::{Stack, Wrap};
use super::store::{MemoryStore, SessionStore};
use super::token::Signer;
use super::toolbox::Toolbox;
use crate::call::ToolCall;
use crate::context::{RegistryErrors, ToolContext};
use crate::response::ToolResponse;
use crate::tool::Mode;
use std::sync::{Arc, Mutex, RwLock, Weak};
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
    pub(super) fn new(tools: ToolContext) -> Self {
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
