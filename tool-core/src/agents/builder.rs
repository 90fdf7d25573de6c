//! The agents of a program, and their builder.

use crate::agents::cache::AgentCache;
use crate::agents::catalog::Catalog;
use crate::agents::grant::Grants;
use crate::agents::keys::{KeyError, Keyring, SealedSecrets};
use crate::agents::store::DynAgentToolStore;
use crate::agents::tokens::TokenRefresher;
use crate::registry::{RegistryErrors, ToolContext, ToolContextBuilder};
use crate::session::approvals::ApprovalLimits;
use crate::session::{Runtime, SessionBuilder};
use crate::tool::{IntoTool, ToolsetFactory};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::task::TaskTracker;

/// The agents of a program: their records, and the tools that are made from them. Cheap to clone.
///
/// ```standalone_crate
/// use tool_core::agents::{Agents, MemoryAgentToolStore};
/// use tool_core::serde_json::json;
/// use tool_core::{Configure, ToolError, tool_type, toolset};
///
/// #[tool_type]
/// struct Settings {
///     greeting: String,
/// }
///
/// struct Greeter(Settings);
///
/// impl Configure for Greeter {
///     type Config = Settings;
///     type Secrets = ();
///
///     async fn configure(settings: Settings, (): ()) -> Result<Self, ToolError> {
///         Ok(Self(settings))
///     }
/// }
///
/// #[toolset(name = "greeter")]
/// impl Greeter {
///     /// Greet a person by name.
///     #[tool]
///     fn greet(&self, name: &str) -> String {
///         format!("{} {name}", self.0.greeting)
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let agents = Agents::builder(MemoryAgentToolStore::new()).build()?;
/// agents.add("alice", "greeter").config(json!({"greeting": "Good morning"})).save().await?;
///
/// let response = agents.executor("alice").run_tool_action("greeter", "greet", r#"{"name": "Ada"}"#).await?;
/// assert_eq!(response.data_json(), Some(r#""Good morning Ada""#));
/// agents.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Agents(pub(crate) Arc<AgentsInner>);

/// The state that all handles share.
pub(crate) struct AgentsInner {
    pub(crate) store: Arc<dyn DynAgentToolStore>,
    pub(crate) keys: Keyring,
    pub(crate) catalog: Catalog,
    pub(crate) grants: Arc<Grants>,
    pub(crate) runtime: Runtime,
    /// The tools that every agent has.
    pub(crate) base: ToolContext,
    pub(crate) each_session: Option<EachSession>,
    pub(crate) timing: Timing,
    pub(crate) cache: AgentCache,
    pub(crate) pending_actions: ApprovalLimits,
    /// Agents that are being loaded, and toolsets that are being closed.
    pub(crate) tasks: TaskTracker,
    /// Lets one caller of `close` at a time wait for the tasks: reopening the tracker would keep
    /// others waiting.
    closing: tokio::sync::Mutex<()>,
}

/// Changes each session before it opens.
pub(crate) type EachSession = Box<dyn Fn(SessionBuilder) -> SessionBuilder + Send + Sync>;

/// The times that the builder sets.
pub(crate) struct Timing {
    pub(crate) recheck_after: Duration,
    pub(crate) retry_failed: Duration,
    pub(crate) setup_within: Duration,
}

impl Drop for AgentsInner {
    fn drop(&mut self) {
        self.cache.clear();
    }
}

impl Agents {
    /// Creates a builder of agents whose records are in this store, or in the store of this `Arc`.
    pub fn builder(store: impl DynAgentToolStore) -> AgentsBuilder {
        AgentsBuilder {
            store: Arc::new(store),
            keys: Keyring::none(),
            refresher: None,
            runtime: None,
            factories: Vec::new(),
            base: ToolContext::builder(),
            each_session: None,
            timing: Timing {
                recheck_after: Duration::ZERO,
                retry_failed: Duration::from_secs(30),
                setup_within: Duration::from_secs(30),
            },
            cached_agents: 10_000,
            pending_actions: ApprovalLimits {
                session: 256,
                turn: u32::MAX,
                bytes: 8 << 20,
            },
        }
    }

    /// Returns the runtime of the agents' sessions.
    pub fn runtime(&self) -> &Runtime {
        &self.0.runtime
    }

    /// Drops all loaded agents, and waits until unused toolsets are closed. Actions that wait for a
    /// person's approval stay in the store.
    ///
    /// Open sessions keep their toolsets open. To close all toolsets, end the sessions first with [`Runtime::shutdown`].
    pub async fn close(&self) {
        self.0.cache.clear();
        let _closing = self.0.closing.lock().await;
        self.0.tasks.close();
        self.0.tasks.wait().await;
        self.0.tasks.reopen();
    }

    /// Seals a text under the active key, for state that leaves the program and comes back, for
    /// example the `state` of an OAuth 2 redirect. It opens only with the same purpose: three words
    /// that nothing else uses, for example the names of the crate, the feature and the text.
    /// Records are sealed for two words, so that no text opens as a record's secrets.
    pub fn seal_text(&self, purpose: [&str; 3], text: &str) -> Result<SealedSecrets, KeyError> {
        self.0.keys.seal_text(&purpose, text)
    }

    /// Opens a text that [`seal_text`](Self::seal_text) sealed for the same purpose. Wipe it after
    /// use.
    pub fn open_text(
        &self,
        purpose: [&str; 3],
        sealed: &SealedSecrets,
    ) -> Result<String, KeyError> {
        self.0.keys.open_text(&purpose, sealed)
    }
}

impl fmt::Debug for Agents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let toolsets = self
            .0
            .catalog
            .iter()
            .map(|factory| &factory.metadata().name)
            .collect::<Vec<_>>();
        f.debug_struct("Agents")
            .field("toolsets", &toolsets)
            .field("keys", &self.0.keys)
            .finish_non_exhaustive()
    }
}

/// Builds [`Agents`].
///
/// ```standalone_crate
/// use std::time::Duration;
/// use tool_core::agents::{Agents, Keyring, MemoryAgentToolStore};
/// use tool_core::tool;
///
/// /// Tell the opening hours.
/// #[tool(category = "retrieval")]
/// fn opening_hours() -> &'static str {
///     "7 to 21"
/// }
///
/// struct Tenant(&'static str);
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let keys = Keyring::parse(&Keyring::generate("2026-11")?)?; // `Keyring::from_env("TOOL_SECRETS_KEYS")` in production
/// let agents = Agents::builder(MemoryAgentToolStore::new())
///     .keys(keys)
///     .with(opening_hours) // every agent has it
///     .each_session(|session| session.user_data(Tenant("acme")))
///     .recheck_after(Duration::from_secs(5))
///     .build()?;
///
/// assert!(agents.executor("alice").tools().await?.has_tool("opening_hours"));
/// # Ok(())
/// # }
/// ```
#[must_use]
pub struct AgentsBuilder {
    store: Arc<dyn DynAgentToolStore>,
    keys: Keyring,
    refresher: Option<Arc<dyn TokenRefresher>>,
    runtime: Option<Runtime>,
    factories: Vec<Arc<dyn ToolsetFactory>>,
    base: ToolContextBuilder,
    each_session: Option<EachSession>,
    timing: Timing,
    cached_agents: u64,
    pending_actions: ApprovalLimits,
}

impl AgentsBuilder {
    /// Sets the keys that seal secrets. Without keys, toolsets that have secrets do not work.
    pub fn keys(mut self, keys: Keyring) -> Self {
        self.keys = keys;
        self
    }

    /// Sets the OAuth 2 client that refreshes the tokens of grants.
    pub fn oauth2(mut self, refresher: impl TokenRefresher) -> Self {
        self.refresher = Some(Arc::new(refresher));
        self
    }

    /// Sets the runtime of the agents' sessions. Defaults to a runtime with the policies
    /// [`Policy::voice`](crate::Policy::voice) and [`Policy::text`](crate::Policy::text). Agents do not get the runtime's own
    /// tools; add such tools by [`with`](Self::with).
    pub fn runtime(mut self, runtime: Runtime) -> Self {
        self.runtime = Some(runtime);
        self
    }

    /// Adds a toolset that is only known at run time. Toolsets that are linked in are found by
    /// themselves.
    pub fn factory(mut self, factory: impl ToolsetFactory) -> Self {
        self.factories.push(Arc::new(factory));
        self
    }

    /// Adds a tool that every agent has, beside those of its records. All agents share an added
    /// toolset, and the program sets it up and closes it.
    #[track_caller]
    pub fn with<M>(mut self, tool: impl IntoTool<M>) -> Self {
        self.base = self.base.with(tool);
        self
    }

    /// Sets a function that changes each session before it opens, for example to set its principal
    /// or user data.
    pub fn each_session(
        mut self,
        change: impl Fn(SessionBuilder) -> SessionBuilder + Send + Sync + 'static,
    ) -> Self {
        self.each_session = Some(Box::new(change));
        self
    }

    /// Sets how long a loaded agent is used without asking the store for its version. Defaults to
    /// zero: each load asks. With [`Agents::follow`] a change takes effect at once, however long
    /// this is.
    pub fn recheck_after(mut self, time: Duration) -> Self {
        self.timing.recheck_after = time;
        self
    }

    /// Sets how long a failed toolset is left out before a load tries it again. A change of one of
    /// the agent's records ends the wait. Defaults to 30 s.
    pub fn retry_failed(mut self, time: Duration) -> Self {
        self.timing.retry_failed = time;
        self
    }

    /// Sets the longest time of a toolset's `configure`, of its setup and of its close. A toolset
    /// that takes longer has failed: it is closed, and the others work. Defaults to 30 s each.
    pub fn setup_within(mut self, time: Duration) -> Self {
        self.timing.setup_within = time;
        self
    }

    /// Sets the maximum number of loaded agents. The least recently used are dropped first; open
    /// sessions keep their tools. Defaults to 10,000.
    pub fn cached_agents(mut self, agents: u64) -> Self {
        self.cached_agents = agents;
        self
    }

    /// Sets the number and the bytes of an agent's actions that may wait for a person's approval at
    /// once. Further ones are answered `BUDGET_EXCEEDED`. Defaults to 256 actions and 8 MiB.
    pub fn max_pending_actions(mut self, actions: u32, bytes: usize) -> Self {
        self.pending_actions = ApprovalLimits {
            session: actions,
            turn: u32::MAX,
            bytes,
        };
        self
    }

    /// Builds the agents. Reports every problem of the toolsets that are linked in or were added,
    /// and of the tools that every agent has.
    pub fn build(self) -> Result<Agents, RegistryErrors> {
        let (catalog, base) = match (Catalog::discover(self.factories), self.base.build()) {
            (Ok(catalog), Ok(base)) => (catalog, base),
            (Err(errors), Err(others)) => return Err(errors.and(others)),
            (Err(errors), _) | (_, Err(errors)) => return Err(errors),
        };
        let runtime = match self.runtime {
            Some(runtime) => runtime,
            None => Runtime::builder(base.clone()).build()?,
        };
        let tasks = TaskTracker::new();
        Ok(Agents(Arc::new(AgentsInner {
            grants: Arc::new(Grants::new(
                Arc::clone(&self.store),
                self.keys.clone(),
                self.refresher,
                tasks.clone(),
            )),
            store: self.store,
            keys: self.keys,
            catalog,
            runtime,
            base,
            each_session: self.each_session,
            timing: self.timing,
            cache: AgentCache::new(self.cached_agents),
            pending_actions: self.pending_actions,
            tasks,
            closing: tokio::sync::Mutex::default(),
        })))
    }
}
