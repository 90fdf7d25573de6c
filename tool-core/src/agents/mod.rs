//! Agents from a database: which toolsets an agent has, how they are set, and the tool context that comes of it.
//!
//! A store holds an [`AgentTools`] record for each toolset of each agent: its settings, and its secrets under a key
//! that is kept elsewhere. [`Agents`] is what a program has one of: it writes records, checked against the toolset's
//! schemas, and gives each agent an [`AgentExecutor`], which makes the agent's tools of them.

mod builder;
mod catalog;
mod connect;
mod error;
mod grant;
mod keys;
mod memory;
mod record;
mod rotation;
mod seal;
#[doc(hidden)]
pub(crate) mod shared;
mod settings;
mod store;
mod tokens;

pub use builder::AgentsBuilder;
pub use error::{AgentError, AgentErrorKind};
pub use keys::{KeyError, Keyring, SealedSecrets};
pub use memory::MemoryAgentToolStore;
pub use record::{AgentRecords, AgentSummary, AgentTools, UnreadableRow};
pub use settings::RecordDraft;
pub use rotation::{Rotation, RunningRotation};
pub use store::{AgentStoreError, AgentToolStore, Expected, IntoAgentToolStore, RecordWrite, SealedRow, SecretsWrite};
pub use tokens::{RefreshError, TokenRefresher, Tokens};

use catalog::Catalog;
use std::sync::Arc;

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
}

impl Agents {
    /// Agents whose records are in this store.
    pub fn builder(store: impl IntoAgentToolStore) -> AgentsBuilder {
        AgentsBuilder::new(store.into_agent_tool_store())
    }
}

impl std::fmt::Debug for Agents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agents").field("toolsets", &self.0.catalog).field("keys", &self.0.keys).finish_non_exhaustive()
    }
}
