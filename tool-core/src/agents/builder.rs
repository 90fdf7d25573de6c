//! Putting [`Agents`] together.

use super::catalog::Catalog;
use super::{AgentToolStore, Agents, Keyring, Shared, TokenRefresher};
use crate::context::RegistryErrors;
use std::sync::Arc;

/// Makes [`Agents`].
#[must_use]
pub struct AgentsBuilder {
    store: Arc<dyn AgentToolStore>,
    keys: Keyring,
    refresher: Option<Arc<dyn TokenRefresher>>,
}

impl AgentsBuilder {
    pub(super) fn new(store: Arc<dyn AgentToolStore>) -> Self {
        Self { store, keys: Keyring::none(), refresher: None }
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

    /// The agents, or every problem with the toolsets that are linked in.
    pub fn build(self) -> Result<Agents, RegistryErrors> {
        let Self { store, keys, refresher } = self;
        Ok(Agents(Arc::new(Shared {
            store,
            keys,
            catalog: Catalog::discover(Vec::new())?,
            refresher,
            refreshes: Arc::default(),
        })))
    }
}
