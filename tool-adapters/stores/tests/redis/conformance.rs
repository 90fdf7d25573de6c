//! The conformance suite over Redis, and over a cluster.

use crate::server;
use std::time::Duration;
use tool_adapters::stores::RedisStore;
use tool_core::testing::store::StoreUnderTest;

pub(crate) struct Redis {
    pub(crate) url: String,
    pub(crate) prefix: String,
}

impl Redis {
    /// A separate store on the server, if one is configured.
    pub(crate) fn on_server() -> Option<Self> {
        server::url().map(|url| Self {
            url,
            prefix: server::prefix(),
        })
    }

    /// A separate store on a cluster.
    pub(crate) fn on_cluster() -> Option<Self> {
        server::cluster_url().map(|url| Self {
            url,
            prefix: server::prefix(),
        })
    }
}

impl StoreUnderTest for Redis {
    const TICK: Duration = Duration::from_millis(150);

    type Store = RedisStore;

    /// With its own connection.
    async fn handle(&self) -> RedisStore {
        RedisStore::connect(&self.url)
            .await
            .expect("the server answers")
            .prefix(&self.prefix)
    }

    /// The server's clock cannot be moved.
    async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}

tool_core::store_conformance!(Redis::on_server());

mod cluster {
    use super::Redis;
    tool_core::store_conformance!(Redis::on_cluster());
}
