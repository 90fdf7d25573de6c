//! The conformance tests of the store in memory.

use crate::session::store::memory::MemoryStore;
use crate::session::store::{ConversationKey, DynHistoryStore};
use crate::testing::history::HistoryStoreUnderTest;
use std::sync::Arc;
use std::time::Duration;

#[derive(Default)]
struct Memory(Arc<MemoryStore>);

impl HistoryStoreUnderTest for Memory {
    const TICK: Duration = Duration::from_millis(2);

    async fn handle(&self) -> Arc<dyn DynHistoryStore> {
        self.0.clone()
    }

    async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    async fn overwrite(&self, key: &ConversationKey, position: u64, text: &str) -> bool {
        self.0.conversations().overwrite(key, position, text);
        true
    }
}

crate::history_store_conformance!(Some(Memory::default()));
