//! The conformance tests of conversations.

use crate::conformance::Redis;
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
        let client = redis::Client::open(self.url.as_str()).expect("a URL");
        let connection = client.get_multiplexed_async_connection().await;
        let list = format!(
            "{{{}}}:{}:{}:messages",
            self.prefix,
            key.principal(),
            key.id()
        );
        redis::cmd("LSET")
            .arg(list)
            .arg(position)
            .arg(text)
            .exec_async(&mut connection.expect("the server answers"))
            .await
            .expect("it is replaced");
        true
    }
}

tool_core::history_store_conformance!(Redis::on_server());
