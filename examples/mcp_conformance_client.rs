//! The client that `tests/conformance/mcp/client.py` runs under the protocol's conformance suite: it logs in at the server of a
//! scenario, and calls each of its tools.
//!
//! The suite sets `MCP_CONFORMANCE_SCENARIO`, and `MCP_CONFORMANCE_CONTEXT` with credentials. The URL is the last argument.

use serde_json::Value;
use std::env;
use std::error::Error;
use tool_adapters::mcp::{LoginRequest, McpClient, OAuthLogin};
use tool_core::{RunContext, ToolContext};

/// The document by which the suite knows the client.
const CLIENT_METADATA: &str = "https://conformance-test.local/client-metadata.json";

/// A person who agrees at once: follows the redirects of the page to the port of this machine.
async fn agree(request: LoginRequest) -> Result<(), reqwest::Error> {
    reqwest::get(request.url).await.map(drop)
}

/// Returns the authorization server that a server names. A program knows it from its own registration.
async fn issuer(server: &str) -> Result<String, Box<dyn Error>> {
    let (origin, path) = server.split_at(server.rfind('/').ok_or("expected a URL with a path")?);
    let text = reqwest::get(format!("{origin}/.well-known/oauth-protected-resource{path}")).await?.text().await?;
    let metadata = serde_json::from_str::<Value>(&text)?;
    Ok(metadata["authorization_servers"][0].as_str().ok_or("the server names no authorization server")?.to_owned())
}

async fn login(server: &str) -> Result<OAuthLogin, Box<dyn Error>> {
    let context = env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_else(|_| "{}".to_owned());
    let context = serde_json::from_str::<Value>(&context)?;
    let text = |name: &str| context[name].as_str().map(str::to_owned);
    let login = OAuthLogin::browser(agree).client_name("conformance").client_metadata(CLIENT_METADATA);
    let scenario = env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    Ok(match (text("client_id"), text("client_secret")) {
        (Some(id), Some(secret)) if scenario.starts_with("auth/client-credentials") => {
            OAuthLogin::machine(issuer(server).await?, id, secret)
        }
        (Some(id), Some(secret)) => login.client(issuer(server).await?, id).client_secret(secret),
        _ => login,
    })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = env::args().next_back().ok_or("expected the URL of the server")?;
    let client = McpClient::url(&server).oauth(login(&server).await?);
    let is_stateless = env::var("MCP_CONFORMANCE_PROTOCOL_VERSION").is_ok_and(|version| *version >= *"2026-07-28");
    let client = if is_stateless { client.probe() } else { client };
    let tools = ToolContext::builder().with(client.connect().await?).build()?;
    for tool in tools.definitions() {
        let response = tools.call(tool.name(), "{}", &RunContext::detached()).await;
        println!("{}: {}", tool.name(), response.into_text());
    }
    Ok(())
}
