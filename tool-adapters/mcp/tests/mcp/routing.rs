//! Answers go to the client that made the request, although all clients use the same ids (CVE-2026-25536).
//! `MCP_CLIENTS=1000 MCP_CALLS=100` makes 100,000 calls.

use super::support::{LineClient, server};
use rmcp::ServiceExt;
use rmcp::model::CallToolRequestParams;
use rmcp::transport::StreamableHttpClientTransport;
use serde_json::json;
use std::sync::Arc;
use tokio::sync::{Barrier, Semaphore};
use tokio::task::JoinSet;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn routes_answers_over_http_despite_equal_ids() {
    let (clients, calls) = (setting("MCP_CLIENTS", 30), setting("MCP_CALLS", 10));
    let server = server();
    let bound = server
        .bind(([127, 0, 0, 1], 0).into())
        .await
        .expect("an address");
    let url = bound.url().expect("an address");
    let serving = tokio::spawn(bound.serve());
    let mut tasks = JoinSet::new();
    // Connecting is slow. Once all clients are connected they call concurrently. Each call opens a connection, so their
    // number is limited.
    let calling = Arc::new(Semaphore::new(128));
    let (beginning, begun) = (
        Arc::new(Semaphore::new(8)),
        Arc::new(Barrier::new(usize::try_from(clients).expect("few"))),
    );
    for client in 0..clients {
        let (url, beginning, begun) = (url.clone(), Arc::clone(&beginning), Arc::clone(&begun));
        let calling = Arc::clone(&calling);
        tasks.spawn(async move {
            let turn = beginning.acquire().await.expect("open");
            // Each client counts its requests from 0.
            let transport = StreamableHttpClientTransport::from_uri(url);
            let peer = ().serve(transport).await.expect("a server");
            drop(turn);
            begun.wait().await;
            let mut misrouted = 0_u64;
            for call in 0..calls {
                let arguments = json!({"a": client * 1_000_000, "b": call});
                let arguments = arguments.as_object().cloned().expect("an object");
                let request = CallToolRequestParams::new("add").with_arguments(arguments);
                let turn = calling.acquire().await.expect("open");
                let answer = peer.call_tool(request).await.expect("an answer");
                drop(turn);
                let text = answer
                    .content
                    .first()
                    .and_then(|block| block.as_text())
                    .map(|text| text.text.clone());
                misrouted += u64::from(text != Some((client * 1_000_000 + call).to_string()));
            }
            _ = peer.cancel().await;
            misrouted
        });
    }
    let misrouted = tasks.join_all().await.into_iter().sum::<u64>();
    assert_eq!(misrouted, 0, "of {} calls", clients * calls);
    server.shutdown().await;
    serving.await.expect("no panic").expect("served");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn routes_answers_over_streams_despite_equal_ids() {
    let (clients, calls) = (setting("MCP_CLIENTS", 50), setting("MCP_CALLS", 20));
    let server = server();
    let mut tasks = JoinSet::new();
    for client in 0..clients {
        let server = server.clone();
        tasks.spawn(async move {
            let mut lines = LineClient::initialized(&server, json!({})).await;
            let mut misrouted = 0_u64;
            for call in 0..calls {
                let answer = lines
                    .call("add", json!({"a": client * 1_000_000, "b": call}))
                    .await;
                let wanted = (client * 1_000_000 + call).to_string();
                misrouted += u64::from(answer["result"]["content"][0]["text"] != wanted);
            }
            misrouted
        });
    }
    assert_eq!(tasks.join_all().await.into_iter().sum::<u64>(), 0);
}
