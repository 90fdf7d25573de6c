//! When the toolsets of a server are set up and closed.

use super::support::LineClient;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use tool_adapters::mcp::Server;
use tool_core::{Runtime, ToolContext, toolset};

#[derive(Clone, Default)]
struct Database {
    opened: Arc<AtomicU32>,
    closed: Arc<AtomicU32>,
    fails: Arc<AtomicBool>,
}

#[toolset(discover = false)]
impl Database {
    #[setup]
    fn open(&self) -> Result<(), String> {
        self.opened.fetch_add(1, Ordering::SeqCst);
        if self.fails.load(Ordering::SeqCst) {
            Err("no database".into())
        } else {
            Ok(())
        }
    }

    #[close]
    fn shut(&self) {
        self.closed.fetch_add(1, Ordering::SeqCst);
    }

    /// Query.
    #[tool]
    fn query(&self) -> &'static str {
        if self.counts().0 > 0 {
            "a row"
        } else {
            "nothing"
        }
    }
}

impl Database {
    fn counts(&self) -> (u32, u32) {
        (
            self.opened.load(Ordering::SeqCst),
            self.closed.load(Ordering::SeqCst),
        )
    }

    fn tools(&self) -> ToolContext {
        ToolContext::builder()
            .with(self.clone())
            .build()
            .expect("sound tools")
    }
}

/// Waits until a condition holds.
async fn until(holds: impl AsyncFn() -> bool) {
    for _ in 0..100_000 {
        if holds().await {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("it never holds");
}

async fn query(client: &mut LineClient) -> String {
    let answer = client.call("query", json!({})).await;
    answer["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer}"))
        .to_owned()
}

// L6
#[tokio::test]
async fn sets_up_once_for_several_clients_and_closes_at_the_end() {
    let database = Database::default();
    let server = Server::from_tools(database.tools()).expect("a server");
    assert_eq!(database.counts(), (0, 0));
    for _ in 0..2 {
        let mut clients = Vec::new();
        for _ in 0..3 {
            let mut client = LineClient::initialized(&server, json!({})).await;
            assert_eq!(query(&mut client).await, "a row");
            clients.push(client);
        }
    }
    assert_eq!(database.counts(), (1, 0));
    server.shutdown().await;
    assert_eq!(database.counts(), (1, 1));
}

// L6
#[tokio::test]
async fn closes_the_toolsets_of_sessions_after_the_last_client() {
    let (database, runtime) = (
        Database::default(),
        Runtime::builder(ToolContext::builder().build().expect("none")),
    );
    let (tools, runtime) = (database.tools(), runtime.build().expect("a runtime"));
    let server =
        Server::new(runtime.clone()).session(move |session, _| session.tools(tools.clone()));
    let mut first = LineClient::initialized(&server, json!({})).await;
    let mut second = LineClient::initialized(&server, json!({})).await;
    assert_eq!(
        (query(&mut first).await, query(&mut second).await),
        ("a row".into(), "a row".into())
    );
    assert_eq!(database.counts(), (1, 0));
    drop(first);
    until(async || runtime.sessions().await.expect("a store") == 1).await;
    assert_eq!(
        (query(&mut second).await.as_str(), database.counts()),
        ("a row", (1, 0))
    );
    drop(second);
    until(async || database.counts() == (1, 1)).await;
}

// L6
#[tokio::test]
async fn tells_the_client_that_a_setup_failed() {
    let database = Database::default();
    database.fails.store(true, Ordering::SeqCst);
    let server = Server::from_tools(database.tools()).expect("a server");
    let mut first = LineClient::initialized(&server, json!({})).await;
    let listed = first.request(json!(1), "tools/list", json!({})).await;
    assert_eq!(listed["result"]["tools"], json!([]));
    let answer = first.call("query", json!({})).await;
    assert_eq!(answer["result"]["isError"], true);
    assert!(
        query(&mut first)
            .await
            .contains("the setup of toolset `database` failed: no database")
    );
    // The next client gets another attempt.
    database.fails.store(false, Ordering::SeqCst);
    let mut second = LineClient::initialized(&server, json!({})).await;
    assert_eq!(
        (query(&mut second).await.as_str(), database.counts()),
        ("a row", (2, 0))
    );
}
