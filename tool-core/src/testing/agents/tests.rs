//! The conformance tests of the store in memory.

use crate::agents::DynAgentToolStore;
use crate::agents::MemoryAgentToolStore;
use crate::testing::agents::AgentStoreUnderTest;
use std::sync::Arc;
use std::time::Duration;

#[derive(Default)]
struct Memory(Arc<MemoryAgentToolStore>);

impl AgentStoreUnderTest for Memory {
    const TICK: Duration = Duration::from_secs(60);

    async fn handle(&self) -> Arc<dyn DynAgentToolStore> {
        self.0.clone()
    }

    async fn pass(&self, time: Duration) {
        tokio::time::pause();
        tokio::time::advance(time).await;
        tokio::time::resume();
    }
}

crate::agent_store_conformance!(Some(Memory::default()));
