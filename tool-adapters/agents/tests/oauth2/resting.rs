//! How often a token endpoint is asked for tokens that it refuses, and for tokens that the service refuses.

use crate::misbehaving::requests;
use crate::provider::agents;
use std::sync::Arc;
use tool_adapters::oauth2::{OAuth2Client, OAuth2Clients};
use tool_core::agents::{Agents, MemoryAgentToolStore};
use tool_core::serde_json::json;
use tool_core::{ErrorKind, RunContext, ToolContext};

const CALLS: usize = 1_000;

fn program(store: &Arc<MemoryAgentToolStore>) -> Agents {
    let client =
        OAuth2Client::new("id", "http://127.0.0.1:9/callback").secret("client-secret-canary");
    agents(
        Arc::clone(store),
        &OAuth2Clients::new().client("misbehaving", client),
    )
}

/// Returns the tools of two programs that share a store. The refresh token selects what the token endpoint does.
async fn tools(refresh: &str, expires_at: &str) -> [ToolContext; 2] {
    let store = Arc::new(MemoryAgentToolStore::new());
    let [one, two] = [program(&store), program(&store)];
    let secrets =
        json!({"access_token": "stale", "refresh_token": refresh, "expires_at": expires_at});
    one.add("alice", "edge")
        .secrets(secrets)
        .save()
        .await
        .expect("saved");
    [
        one.executor("alice").tools().await.expect("loads"),
        two.executor("alice").tools().await.expect("loads"),
    ]
}

const PAST: &str = "2020-01-01T00:00:00Z";
const FUTURE: &str = "2200-01-01T00:00:00Z";

/// Calls an action of both programs at once and returns the kinds of the errors.
async fn call_at_once(
    tools: &[ToolContext; 2],
    action: &'static str,
    calls: usize,
) -> Vec<Option<ErrorKind>> {
    let tasks = (0..calls).map(|n| {
        let tools = tools[n % 2].clone();
        tokio::spawn(async move { tools.call(action, "{}", &RunContext::detached()).await })
    });
    let mut kinds = Vec::new();
    for task in tasks.collect::<Vec<_>>() {
        kinds.push(task.await.expect("sound").error().map(|error| error.kind));
    }
    kinds
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn revoked_token_is_sent_once() {
    let tools = tools("revoked-1", PAST).await;
    assert_eq!(
        call_at_once(&tools, "length", 64).await,
        [Some(ErrorKind::Auth); 64]
    );
    for n in 0..CALLS {
        let response = tools[n % 2]
            .call("length", "{}", &RunContext::detached())
            .await;
        assert_eq!(response.error().expect("revoked").kind, ErrorKind::Auth);
    }
    assert_eq!(requests("revoked-1"), 1);
    println!("{CALLS} calls on a revoked token: 1 request");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retry_after_is_honoured_by_all_programs() {
    for status in ["429", "503"] {
        let behaviour = format!("later-{status}");
        let tools = tools(&behaviour, PAST).await;
        assert_eq!(
            call_at_once(&tools, "length", CALLS).await,
            vec![Some(ErrorKind::Transient); CALLS]
        );
        assert_eq!(requests(&behaviour), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn expired_token_is_refreshed_once_by_two_programs() {
    let tools = tools("good-1", PAST).await;
    assert_eq!(call_at_once(&tools, "length", 64).await, [None; 64]);
    assert_eq!(requests("good-1"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unreadable_expiry_is_refreshed_once() {
    let tools = tools("good-2", "soon").await;
    assert_eq!(
        call_at_once(&tools, "length", CALLS).await,
        vec![None; CALLS]
    );
    assert_eq!(requests("good-2"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn token_that_the_service_refuses_is_replaced_once() {
    let tools = tools("good-3", FUTURE).await;
    assert_eq!(call_at_once(&tools, "ask", 64).await, [None; 64]);
    assert_eq!(requests("good-3"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn service_that_refuses_every_token_causes_no_loop() {
    let tools = tools("useless-1", FUTURE).await;
    for n in 0..CALLS {
        let response = tools[n % 2]
            .call("ask", "{}", &RunContext::detached())
            .await;
        assert_eq!(
            response.error().expect("refused").kind,
            ErrorKind::Auth,
            "{response}"
        );
    }
    assert_eq!(requests("useless-1"), 1);
    println!("{CALLS} calls at a service that refuses every token: 1 request");
}
