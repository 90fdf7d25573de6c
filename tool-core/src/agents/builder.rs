//! Putting [`Agents`] together.

use super::action::Waiting;
use super::cache::Slots;
use super::catalog::Catalog;
use super::{AgentToolStore, Agents, EachSession, Keyring, Settings, Shared, TokenRefresher};
use crate::configure::ToolsetFactory;
use crate::context::{RegistryErrors, ToolContext, ToolContextBuilder};
use crate::runtime::{Open, Runtime};
use crate::tool::IntoTool;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::task::TaskTracker;

/// Makes [`Agents`].
#[must_use]
pub struct AgentsBuilder {
    store: Arc<dyn AgentToolStore>,
    keys: Keyring,
    refresher: Option<Arc<dyn TokenRefresher>>,
    runtime: Option<Runtime>,
    factories: Vec<Arc<dyn ToolsetFactory>>,
    /// The tools of every agent.
    base: ToolContextBuilder,
    each_session: Option<EachSession>,
    settings: Settings,
    cached: u64,
}

impl AgentsBuilder {
    pub(super) fn new(store: Arc<dyn AgentToolStore>) -> Self {
        Self {
            store,
            keys: Keyring::none(),
            refresher: None,
            runtime: None,
            factories: Vec::new(),
            base: ToolContext::builder(),
            each_session: None,
            settings: Settings {
                recheck_after: Duration::ZERO,
                retry_failed: Duration::from_secs(30),
                setup_within: Duration::from_secs(30),
            },
            cached: 10_000,
        }
    }

    /// The keys that seal secrets. Without them, toolsets that have secrets do not work.
    pub fn keys(mut self, keys: Keyring) -> Self {
        self.keys = keys;
        self
    }

    /// Who refreshes the tokens of OAuth 2 grants.
    pub fn oauth2(mut self, refresher: impl TokenRefresher) -> Self {
        self.refresher = Some(Arc::new(refresher));
        self
    }

    /// What governs the agents' sessions; one with the policies of [`Policy::voice`](crate::Policy::voice) and
    /// [`Policy::text`](crate::Policy::text) unless told. Its own tools are not those of the agents: see
    /// [`with`](Self::with).
    pub fn runtime(mut self, runtime: Runtime) -> Self {
        self.runtime = Some(runtime);
        self
    }

    /// Adds toolsets that are only known at run time. Those that are linked in are known already.
    pub fn factory(mut self, factory: impl ToolsetFactory) -> Self {
        self.factories.push(Arc::new(factory));
        self
    }

    /// Adds a tool that every agent has, beside those of its records. A toolset among them is the same for all agents;
    /// the program opens and closes it.
    #[track_caller]
    pub fn with<M>(mut self, tool: impl IntoTool<M>) -> Self {
        self.base = self.base.with(tool);
        self
    }

    /// What to do with each session that an agent opens, before it is: to say for whom it speaks, to give it user data.
    pub fn each_session(mut self, change: impl Fn(Open) -> Open + Send + Sync + 'static) -> Self {
        self.each_session = Some(Box::new(change));
        self
    }

    /// For how long a loaded agent is taken to be up to date. Unless told, the store is asked for its version each time.
    pub fn recheck_after(mut self, time: Duration) -> Self {
        self.settings.recheck_after = time;
        self
    }

    /// After which time a load tries again the toolsets that failed; 30 s unless told. At once when one of the agent's
    /// records changes.
    pub fn retry_failed(mut self, time: Duration) -> Self {
        self.settings.retry_failed = time;
        self
    }

    /// How long a toolset may take for `configure`, for its setup, and for its close; 30 s each unless told. One that
    /// takes longer has failed: it is closed, and the others work.
    pub fn setup_within(mut self, time: Duration) -> Self {
        self.settings.setup_within = time;
        self
    }

    /// How many agents are kept loaded; 10,000 unless told. Those that were used last stay; a session keeps its tools
    /// whatever goes.
    pub fn cached_agents(mut self, agents: u64) -> Self {
        self.cached = agents;
        self
    }

    /// The agents, or every problem with the toolsets that are linked in or were added, and with the tools of every agent.
    pub fn build(self) -> Result<Agents, RegistryErrors> {
        let (catalog, base) = (Catalog::discover(self.factories), self.base.build());
        let (catalog, base) = match (catalog, base) {
            (Ok(catalog), Ok(base)) => (catalog, base),
            (catalog, base) => {
                let errors = [catalog.err(), base.err()].into_iter().flatten();
                return Err(RegistryErrors::join(errors));
            }
        };
        let runtime = match self.runtime {
            Some(runtime) => runtime,
            None => Runtime::builder(base.clone()).build()?,
        };
        Ok(Agents(Arc::new(Shared {
            store: self.store,
            keys: self.keys,
            catalog,
            refresher: self.refresher,
            refreshes: Arc::default(),
            runtime,
            base,
            each_session: self.each_session,
            settings: self.settings,
            slots: Slots::new(self.cached),
            waiting: Waiting::default(),
            tasks: TaskTracker::new(),
            closing: tokio::sync::Mutex::default(),
        })))
    }
}
