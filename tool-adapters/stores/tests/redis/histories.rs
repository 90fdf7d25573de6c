//! The conformance tests of conversations.

use crate::conformance::Redis;
use crate::server;
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::time::Duration;
use tool_core::session::{ConversationKey, DynHistoryStore};
use tool_core::testing::history::HistoryStoreUnderTest;
use tool_core::testing::store::StoreUnderTest;

impl HistoryStoreUnderTest for Redis {
    const TICK: Duration = Duration::from_millis(20);

    async fn handle(&self) -> Arc<dyn DynHistoryStore> {
        Arc::new(StoreUnderTest::handle(self).await)
    }

    async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    async fn overwrite(&self, key: &ConversationKey, position: u64, text: &str) -> bool {
        let bucket = Sha256::digest(key.principal())[0];
        let list = format!(
            "{}{{conversations:{bucket}}}:{}:{}:messages",
            self.prefix,
            key.principal(),
            key.id()
        );
        let mut change = redis::cmd("LSET");
        change.arg(list).arg(position).arg(text);
        server::run::<()>(&self.url, &change).await;
        true
    }
}

tool_core::history_store_conformance!(Redis::on_server());

mod cluster {
    use crate::conformance::Redis;
    tool_core::history_store_conformance!(Redis::on_cluster());
}
