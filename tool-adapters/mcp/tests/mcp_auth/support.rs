//! A protected server, and a client that sends what it likes.

use crate::issuer::Issuer;
use reqwest::{RequestBuilder, Response};
use serde_json::{Value, json};
use std::sync::OnceLock;
use tokio::net::TcpListener;
use tool_adapters::mcp::{OAuthResource, Server};
use tool_core::{ToolContext, tool};

/// Add two numbers.
#[tool(category = "retrieval")]
pub(crate) fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Delete everything.
#[tool(category = "action")]
pub(crate) fn delete() -> String {
    "deleted".to_owned()
}

pub(crate) fn server() -> Server {
    let tools = ToolContext::builder()
        .with(add)
        .with(delete)
        .build()
        .expect("tools");
    Server::from_tools(tools).expect("a server")
}

/// Serves on an address that the resource has to know. Returns the URL.
pub(crate) async fn serve(protect: impl FnOnce(Server, OAuthResource) -> Server) -> String {
    serve_at("/mcp", protect).await
}

pub(crate) async fn serve_at(
    path: &str,
    protect: impl FnOnce(Server, OAuthResource) -> Server,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("an address");
    let url = format!(
        "http://{}{path}",
        listener.local_addr().expect("an address")
    );
    let server = protect(server().path(path), OAuthResource::new(&url));
    tokio::spawn(async move { axum::serve(listener, server.router()).await });
    url
}

/// Serves with tokens of an issuer, of which each needs the scope `read`, and those for `delete` also `write`.
pub(crate) async fn protected(issuer: &Issuer) -> String {
    let issuer = issuer.url.clone();
    serve(|server, resource| {
        server.oauth(
            resource
                .issuer(issuer)
                .scopes(["read"])
                .tool_scopes("delete", ["write"]),
        )
    })
    .await
}

/// Begins a call without a session.
pub(crate) fn call(url: &str, tool: &str) -> RequestBuilder {
    let arguments = if tool == "add" {
        json!({"a": 1, "b": 2})
    } else {
        json!({})
    };
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}
    });
    let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
    post(
        url,
        &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}),
    )
    .header("mcp-protocol-version", "2026-07-28")
    .header("mcp-method", "tools/call")
    .header("mcp-name", tool)
}

pub(crate) fn post(url: &str, message: &Value) -> RequestBuilder {
    let request = http().post(url).header("content-type", "application/json");
    request
        .header("accept", "application/json, text/event-stream")
        .body(message.to_string())
}

pub(crate) async fn send(request: RequestBuilder) -> Response {
    request.send().await.expect("an answer")
}

/// Returns a client that all tests share. It keeps no connection, as each belongs to the runtime of its test.
fn http() -> &'static reqwest::Client {
    static HTTP: OnceLock<reqwest::Client> = OnceLock::new();
    HTTP.get_or_init(|| {
        reqwest::Client::builder()
            .pool_max_idle_per_host(0)
            .build()
            .expect("a client")
    })
}

/// Returns the status and the challenge of an answer.
pub(crate) async fn refusal(request: RequestBuilder) -> (u16, String) {
    let answer = send(request).await;
    let challenge = answer
        .headers()
        .get("www-authenticate")
        .map(|value| value.to_str().expect("text").to_owned());
    (answer.status().as_u16(), challenge.unwrap_or_default())
}
