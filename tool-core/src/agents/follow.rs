//! Changes that a store reports take effect without asking the store at each load.

use crate::agents::builder::Agents;
use crate::session::{StoreChange, StoreChanges};
use std::sync::Arc;

impl Agents {
    /// Follows the changes of the store: the next load of an agent that has changed asks the store,
    /// even within [`recheck_after`](crate::agents::AgentsBuilder::recheck_after). Spawn the future,
    /// which ends with the store or with the last handle of the agents.
    ///
    /// Set `recheck_after` to the time for which an agent may be outdated if the store reports
    /// nothing, for example five minutes.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tokio::sync::broadcast;
    /// use tool_core::agents::{Agents, MemoryAgentToolStore};
    /// use tool_core::session::StoreChanges;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (_sender, receiver) = broadcast::channel(100);
    /// let store = MemoryAgentToolStore::new(); // or a `PostgresStore`
    /// let changes = StoreChanges::new(receiver); // or `store.changes()`
    /// let agents = Agents::builder(store).recheck_after(Duration::from_secs(300)).build()?;
    /// tokio::spawn(agents.follow(changes));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use = "spawn the future, as nothing is followed otherwise"]
    pub fn follow(
        &self,
        mut changes: StoreChanges,
    ) -> impl Future<Output = ()> + Send + use<> + 'static {
        // The task must not keep the agents.
        let agents = Arc::downgrade(&self.0);
        async move {
            while let Some(change) = changes.next().await {
                let Some(agents) = agents.upgrade() else {
                    return;
                };
                match change {
                    StoreChange::Agent { agent } => agents.cache.recheck(&agent),
                    StoreChange::Unknown => agents.cache.recheck_all(),
                    StoreChange::Approval { .. } | StoreChange::Grant { .. } => {}
                }
            }
        }
    }
}
