//! The servers of the tests, and answers without them.

use crate::own_server::OwnServer;
pub(crate) use crate::shared_server::{prefix, url};
use redis::cluster::ClusterClient;
use redis::{Client, Cmd, FromRedisValue};
use std::sync::LazyLock;
use std::time::Duration;

/// Starts a cluster of three primaries with so many replicas each.
pub(crate) fn own_cluster(replicas: u8) -> Result<OwnServer, String> {
    OwnServer::start("redis-cluster", &["cluster", &replicas.to_string()])
}

/// Starts a primary, its replica, and three sentinels.
pub(crate) fn own_sentinels() -> Result<OwnServer, String> {
    OwnServer::start("redis-cluster", &["sentinels"])
}

/// Skips the test if the servers cannot be had.
pub(crate) fn or_skip<T>(servers: Result<T, impl std::fmt::Display>) -> Option<T> {
    match servers {
        Ok(servers) => Some(servers),
        Err(reason) => {
            tool_core::testing::skip(reason);
            None
        }
    }
}

/// Returns the URL of a cluster that all tests share. Skips the test if there can be none.
pub(crate) fn cluster_url() -> Option<String> {
    static CLUSTER: LazyLock<Result<OwnServer, String>> = LazyLock::new(|| own_cluster(1));
    or_skip(CLUSTER.as_ref()).map(|cluster| cluster.url.clone())
}

/// Returns the URLs of the servers that a URL names.
pub(crate) fn nodes(url: &str) -> Vec<String> {
    let (_, hosts) = url.split_once("://").expect("a scheme");
    let (hosts, _) = hosts.split_once('/').unwrap_or((hosts, ""));
    let hosts = hosts.split(',');
    hosts.map(|host| format!("redis://{host}")).collect()
}

/// Runs a command over a connection of its own: at a server, or at the node of a cluster that has
/// the key.
pub(crate) async fn run<T: FromRedisValue>(url: &str, command: &Cmd) -> T {
    try_run(url, command).await.expect("the server answers")
}

/// Runs a command, or returns the error.
pub(crate) async fn try_run<T: FromRedisValue>(url: &str, command: &Cmd) -> redis::RedisResult<T> {
    if url.contains("+cluster") {
        let client = ClusterClient::new(nodes(url)).expect("a URL");
        let mut connection = client.get_async_connection().await?;
        command.query_async(&mut connection).await
    } else {
        let client = Client::open(url).expect("a URL");
        let mut connection = client.get_multiplexed_async_connection().await?;
        command.query_async(&mut connection).await
    }
}

/// Waits for an answer that does not depend on the server's. The time only ends a test that would
/// hang.
pub(crate) async fn answered<F: Future>(answer: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(60), answer)
        .await
        .expect("an answer without the server")
}
