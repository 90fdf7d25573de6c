//! Agents from a database: which toolsets an agent has, how they are set, and the tool context that comes of it.
//!
//! A store holds an [`AgentTools`] record for each toolset of each agent: its settings, and its secrets under a key
//! that is kept elsewhere. [`Agents`] is what a program has one of: it writes records, checked against the toolset's
//! schemas, and gives each agent an [`AgentExecutor`], which makes the agent's tools of them.
//!
#![doc = include_str!("../docs/agents.md")]
#![doc = include_str!("../docs/secrets.md")]

pub(crate) mod error;
pub(crate) mod executor;
pub(crate) mod grant;
pub(crate) mod keys;
pub(crate) mod load;
pub(crate) mod loaded;
pub(crate) mod memory;
pub(crate) mod record;
pub(crate) mod refresh;
pub(crate) mod rotation;
pub(crate) mod scrub;
pub(crate) mod settings;
pub(crate) mod store;
pub(crate) mod tokens;

#[cfg(test)]
mod tests;

pub use crate::agents::error::{AgentError, AgentErrorKind};
pub use crate::agents::executor::AgentExecutor;
use crate::agents::executor::Waiting;
pub use crate::agents::keys::{KeyError, Keyring, SealedSecrets};
use crate::agents::load::Slots;
pub use crate::agents::loaded::LoadedAgent;
pub use crate::agents::memory::MemoryAgentToolStore;
pub use crate::agents::record::{AgentId, AgentRecords, AgentSummary, AgentTools, UnreadableRow};
pub use crate::agents::rotation::{Rotation, RunningRotation};
pub use crate::agents::settings::RecordBuilder;
pub use crate::agents::store::{
    AgentStoreError, AgentToolStore, IntoAgentToolStore, Precondition, RecordWrite, SealedRow, SecretsWrite,
};
pub use crate::agents::tokens::{RefreshError, TokenRefresher, Tokens};
use crate::arguments::problem::nearest;
use crate::registry::builder::ToolContextBuilder;
use crate::registry::errors::{RegistryError, RegistryErrors};
use crate::registry::{ToolContext, discovery};
use crate::session::builder::SessionBuilder;
use crate::session::runtime::Runtime;
use crate::tool::auth::Auth;
use crate::tool::configure::ToolsetFactory;
use crate::tool::configure::metadata::ToolsetMetadata;
use crate::tool::definition::SourceLocation;
use crate::tool::toolset::IntoTool;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::task::TaskTracker;

/// The agents of a program: their records, and what is made of them. Cheap to clone.
#[derive(Clone)]
pub struct Agents(Arc<Shared>);

/// What all handles share.
pub(crate) struct Shared {
    store: Arc<dyn AgentToolStore>,
    keys: Keyring,
    catalog: Catalog,
    /// Who refreshes the tokens of OAuth 2 grants.
    refresher: Option<Arc<dyn TokenRefresher>>,
    /// The refreshes that are under way.
    refreshes: Arc<refresh::Refreshes>,
    /// What governs the agents' sessions.
    runtime: Runtime,
    /// The tools that every agent has.
    base: ToolContext,
    each_session: Option<EachSession>,
    settings: Settings,
    slots: Slots,
    waiting: Waiting,
    /// Agents that are being loaded, toolsets that are being closed.
    tasks: TaskTracker,
    /// Held by the one who waits for them: whoever opened the tracker again would leave another waiting for ever.
    closing: tokio::sync::Mutex<()>,
}

/// What is done with each session before it opens.
type EachSession = Box<dyn Fn(SessionBuilder) -> SessionBuilder + Send + Sync>;

/// The builder says what they are.
struct Settings {
    recheck_after: Duration,
    retry_failed: Duration,
    setup_within: Duration,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.slots.clear();
    }
}

impl Agents {
    /// Agents whose records are in this store.
    pub fn builder(store: impl IntoAgentToolStore) -> AgentsBuilder {
        AgentsBuilder::new(store.into_agent_tool_store())
    }

    /// One agent. Nothing is asked of the store before something is wanted of it.
    pub fn executor(&self, agent: impl AsRef<str>) -> AgentExecutor {
        AgentExecutor { shared: Arc::clone(&self.0), agent: agent.as_ref().into() }
    }

    /// What governs the agents' sessions.
    pub fn runtime(&self) -> &Runtime {
        &self.0.runtime
    }

    /// Lets go of all that is loaded, answers no calls that wait for a person any more, and waits until the toolsets that
    /// nobody holds are closed.
    ///
    /// Sessions that are open go on, and their toolsets are closed when they have ended: end them first, with
    /// [`Runtime::shutdown`], to see all closed.
    pub async fn close(&self) {
        self.0.waiting.clear().await;
        self.0.slots.clear();
        let _alone = self.0.closing.lock().await;
        self.0.tasks.close();
        self.0.tasks.wait().await;
        self.0.tasks.reopen();
    }
}

impl fmt::Debug for Agents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agents").field("toolsets", &self.0.catalog).field("keys", &self.0.keys).finish_non_exhaustive()
    }
}

// ---- Putting [`Agents`] together.

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
    pub(crate) fn new(store: Arc<dyn AgentToolStore>) -> Self {
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
    pub fn each_session(mut self, change: impl Fn(SessionBuilder) -> SessionBuilder + Send + Sync + 'static) -> Self {
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

// ---- The toolsets that agents may have, by name.

/// The factories of all toolsets: those that are linked in, and those that the program brings.
#[derive(Default)]
pub(crate) struct Catalog(BTreeMap<String, Arc<dyn ToolsetFactory>>);

/// A factory, and where its toolset stands, where that is known.
type Found = (Arc<dyn ToolsetFactory>, Option<SourceLocation>);

impl Catalog {
    /// Finds everything, or tells every problem: names that are used twice or are none, schemas that no form could be
    /// made of, defaults that their own schema refuses, auth without secrets.
    pub(crate) fn discover(extra: Vec<Arc<dyn ToolsetFactory>>) -> Result<Self, RegistryErrors> {
        let (linked, mut problems) = discovery::linked_factories();
        let linked = linked.into_iter().map(|(factory, source)| (factory, Some(source)));
        let found = linked.chain(extra.into_iter().map(|factory| (factory, None))).collect::<Vec<Found>>();
        let mut named = BTreeMap::<String, Vec<Found>>::new();
        for (factory, source) in found {
            let metadata = factory.metadata();
            problems.extend(problems_of(metadata).into_iter().map(|what| {
                let message = format!("toolset `{}`: {what}", metadata.name.escape_debug());
                RegistryError { message, places: source.into_iter().collect() }
            }));
            named.entry(metadata.name.clone()).or_default().push((factory, source));
        }
        problems.extend(named.iter().filter_map(|(name, found)| namesakes(name, found)));
        RegistryErrors::check(problems)?;
        let first = |found: Vec<Found>| found.into_iter().next().map(|(factory, _)| factory);
        Ok(Self(named.into_iter().filter_map(|(name, found)| Some((name, first(found)?))).collect()))
    }

    /// The factory of that name.
    pub(crate) fn get(&self, name: &str) -> Option<&Arc<dyn ToolsetFactory>> {
        self.0.get(name)
    }

    /// The known name that was probably meant.
    pub(crate) fn nearest(&self, name: &str) -> Option<String> {
        nearest(name, self.0.keys().map(String::as_str)).map(str::to_owned)
    }

    /// All of them, by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<dyn ToolsetFactory>> {
        self.0.values()
    }
}

fn problems_of(metadata: &ToolsetMetadata) -> Vec<String> {
    let mut problems = metadata.problems();
    if !record::is_id(&metadata.name) {
        problems.push("its name is empty, longer than 512 bytes, or has control characters".to_owned());
    }
    if metadata.auth != Auth::None && metadata.secrets_schema.is_none() {
        problems.push(
            "it says how it proves who it works for (`auth = ..`), and takes no secrets to do so; give it some as `Configure::Secrets`"
                .to_owned(),
        );
    }
    problems
}

fn namesakes(name: &str, found: &[Found]) -> Option<RegistryError> {
    let message = format!("duplicate toolset name: {}; give one of them another `name`", name.escape_debug());
    let places = found.iter().filter_map(|(_, source)| *source).collect();
    (found.len() > 1).then_some(RegistryError { message, places })
}

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

// ---- What tool-adapters needs of agents. Hidden from the docs.

/// Seals a text under the active key, for a purpose of more than two words: two are a record's.
pub fn seal_text(agents: &Agents, purpose: &[&str], text: &str) -> Result<SealedSecrets, KeyError> {
    agents.0.keys.seal_for(purpose, text)
}

/// Opens it for the same purpose.
pub fn open_text(agents: &Agents, purpose: &[&str], sealed: &SealedSecrets) -> Result<String, KeyError> {
    agents.0.keys.open_for(purpose, sealed)
}

/// An error about a toolset of an agent.
pub fn agent_error(agent: &str, tool: &str, kind: AgentErrorKind) -> AgentError {
    AgentError::new(agent, tool, kind)
}
