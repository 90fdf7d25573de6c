//! Agents from a database: which toolsets an agent has, how they are set, and the tool context that comes of it.
//!
//! A store holds an [`AgentTools`] record for each toolset of each agent: its settings, and its secrets under a key
//! that is kept elsewhere. [`Agents`] is what a program has one of: it writes records, checked against the toolset's
//! schemas, and gives each agent an [`AgentExecutor`], which makes the agent's tools of them.
//!
#![doc = include_str!("../docs/agents.md")]
#![doc = include_str!("../docs/secrets.md")]

mod action;
mod assemble;
mod builder;
mod cache;
mod catalog;
mod connect;
mod error;
mod executor;
mod grant;
mod id;
mod keys;
mod live;
mod load;
mod loaded;
mod memory;
mod open;
mod record;
mod rotation;
mod scrub;
mod seal;
mod settings;
#[doc(hidden)]
pub(crate) mod shared;
mod store;
mod tokens;

pub use builder::AgentsBuilder;
pub use error::{AgentError, AgentErrorKind};
pub use executor::AgentExecutor;
pub use id::AgentId;
pub use keys::{KeyError, Keyring, SealedSecrets};
pub use loaded::LoadedAgent;
pub use memory::MemoryAgentToolStore;
pub use record::{AgentRecords, AgentSummary, AgentTools, UnreadableRow};
pub use rotation::{Rotation, RunningRotation};
pub use settings::RecordDraft;
pub use store::{AgentStoreError, AgentToolStore, Expected, IntoAgentToolStore, RecordWrite, SealedRow, SecretsWrite};
pub use tokens::{RefreshError, TokenRefresher, Tokens};

use crate::context::ToolContext;
use crate::runtime::{Open, Runtime};
use action::Waiting;
use cache::Slots;
use catalog::Catalog;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::task::TaskTracker;

/// The agents of a program: their records, and what is made of them. Cheap to clone.
#[derive(Clone)]
pub struct Agents(Arc<Shared>);

/// What all handles share.
struct Shared {
    store: Arc<dyn AgentToolStore>,
    keys: Keyring,
    catalog: Catalog,
    /// Who refreshes the tokens of OAuth 2 grants.
    refresher: Option<Arc<dyn TokenRefresher>>,
    /// The refreshes that are under way.
    refreshes: Arc<grant::Refreshes>,
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
type EachSession = Box<dyn Fn(Open) -> Open + Send + Sync>;

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

impl std::fmt::Debug for Agents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agents").field("toolsets", &self.0.catalog).field("keys", &self.0.keys).finish_non_exhaustive()
    }
}
