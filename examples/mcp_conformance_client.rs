//! The client that `tests/conformance/mcp/client.py` runs under the protocol's conformance suite: it logs in at the server of a
//! scenario if it must, calls each of its tools, and accepts the forms that it is shown as they are.
//!
//! The suite sets `MCP_CONFORMANCE_SCENARIO`, `MCP_CONFORMANCE_PROTOCOL_VERSION`, and `MCP_CONFORMANCE_CONTEXT` with credentials and
//! with arguments of tools. The URL is the last argument.

use serde_json::{Value, json};
use std::env;
use std::error::Error;
use tool_adapters::mcp::{LoginRequest, McpClient, OAuthLogin};
use tool_core::call::{Answer, AskError, Question};
use tool_core::{RunContext, ToolContext, ToolDefinition};

/// The document by which the suite knows the client.
const CLIENT_METADATA: &str = "https://conformance-test.local/client-metadata.json";

/// A person who agrees at once: follows the redirects of the page to the port of this machine.
async fn agree(request: LoginRequest) -> Result<(), reqwest::Error> {
    reqwest::get(request.url).await.map(drop)
}

/// Returns the authorization server that a server names. A program knows it from its own registration.
async fn issuer(server: &str) -> Result<String, Box<dyn Error>> {
    let (origin, path) = server.split_at(server.rfind('/').ok_or("expected a URL with a path")?);
    let text = reqwest::get(format!(
        "{origin}/.well-known/oauth-protected-resource{path}"
    ))
    .await?
    .text()
    .await?;
    let metadata = serde_json::from_str::<Value>(&text)?;
    Ok(metadata["authorization_servers"][0]
        .as_str()
        .ok_or("the server names no authorization server")?
        .to_owned())
}

async fn login(server: &str, context: &Value) -> Result<OAuthLogin, Box<dyn Error>> {
    let text = |name: &str| context[name].as_str().map(str::to_owned);
    let login = OAuthLogin::browser(agree)
        .client_name("conformance")
        .client_metadata(CLIENT_METADATA);
    let scenario = env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    Ok(match (text("client_id"), text("client_secret")) {
        (Some(id), Some(secret)) if scenario.starts_with("auth/client-credentials") => {
            OAuthLogin::machine(issuer(server).await?, id, secret)
        }
        (Some(id), Some(secret)) => login
            .client(issuer(server).await?, id)
            .client_secret(secret),
        _ => login,
    })
}

/// Returns the arguments with which a scenario wants a tool called.
fn arguments(tool: &str, tools: &ToolContext, context: &Value) -> Value {
    let wanted = context["toolCalls"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|call| call["name"] == tool);
    if let Some(call) = wanted {
        return call["arguments"].clone();
    }

    match tool {
        "add_numbers" => json!({"a": 5, "b": 3}),
        "valid_tool" => json!({"region": "us-west1"}),
        "json_schema_echo" => {
            let described = tools
                .definitions()
                .find(|tool| tool.name() == "json_schema_2020_12_tool");
            json!({"schema": described.map(ToolDefinition::parameters)})
        }
        _ => json!({}),
    }
}

/// A person who changes nothing in a form.
async fn accept(question: Question) -> Result<Answer<Value>, AskError> {
    println!("asked: {}", question.message);
    Ok(Answer::Accepted(json!({})))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = env::args()
        .next_back()
        .ok_or("expected the URL of the server")?;
    let context = env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_else(|_| "{}".to_owned());
    let context = serde_json::from_str::<Value>(&context)?;

    let client = McpClient::url(&server)
        .oauth(login(&server, &context).await?)
        .allow_elicitation();
    let is_stateless =
        env::var("MCP_CONFORMANCE_PROTOCOL_VERSION").is_ok_and(|version| *version >= *"2026-07-28");
    let client = if is_stateless { client.probe() } else { client };

    let tools = ToolContext::builder()
        .with(client.connect().await?)
        .build()?;
    for tool in tools.definitions() {
        let arguments = arguments(tool.name(), &tools, &context).to_string();
        let run = RunContext::builder().on_question(accept).build();
        let response = tools.call(tool.name(), &arguments, &run).await;
        println!("{}: {}", tool.name(), response.into_text());
    }
    Ok(())
}
