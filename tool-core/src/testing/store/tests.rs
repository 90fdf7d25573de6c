//! The conformance tests of the store in memory.

use crate::session::store::memory::MemoryStore;
use crate::testing::store::StoreUnderTest;
use std::sync::Arc;
use std::time::Duration;

#[derive(Default)]
struct Memory(Arc<MemoryStore>);

impl StoreUnderTest for Memory {
    const TICK: Duration = Duration::from_secs(60);

    type Store = Arc<MemoryStore>;

    async fn handle(&self) -> Arc<MemoryStore> {
        self.0.clone()
    }

    async fn pass(&self, time: Duration) {
        tokio::time::pause();
        tokio::time::advance(time).await;
        tokio::time::resume();
    }
}

crate::store_conformance!(Some(Memory::default()));
