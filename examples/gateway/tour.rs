//! The files, the servers, the gateway and the calls of the client.

use crate::client::Client;
use crate::notes;
use serde_json::{Map, Value, json};
use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};
use tool_adapters::gateway::{Gateway, GatewayFiles};

pub(crate) type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// The reference server of the protocol's authors.
const EVERYTHING: &str = "@modelcontextprotocol/server-everything@2026.8.31";

/// A server of MCP Apps of the protocol's authors: one of its tools shows its result on a page.
const APPS: &str = "@modelcontextprotocol/server-budget-allocator@2.0.3";

/// The policy of the servers of npm. Node takes long to start them while much else runs.
const NPM_POLICY: &str = r#"
[servers.everything]
timeout = "2m"

[servers.budget]
timeout = "2m"
"#;

/// Runs the example, or the server of notes that it starts.
#[tokio::main]
pub(crate) async fn run() -> Outcome<()> {
    if std::env::args().any(|argument| argument == notes::SERVE) {
        return notes::serve().await;
    }
    let folder = std::env::temp_dir().join(format!("tool-gateway-example-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let outcome = show(&folder).await;
    std::fs::remove_dir_all(&folder)?;
    outcome
}

async fn show(folder: &Path) -> Outcome<()> {
    let mut policy = include_str!("policy.toml").to_owned();
    let mut servers = Map::new();
    servers.insert(
        "notes".to_owned(),
        json!({"command": std::env::current_exe()?, "args": [notes::SERVE]}),
    );
    let has_npm = fetch(EVERYTHING) && fetch(APPS);
    if has_npm {
        servers.insert(
            "everything".to_owned(),
            json!({"command": "npx", "args": ["-y", EVERYTHING]}),
        );
        servers.insert(
            "budget".to_owned(),
            json!({"command": "npx", "args": ["-y", APPS, "--stdio"]}),
        );
        policy.push_str(NPM_POLICY);
    } else {
        println!("skipped: the servers of npm, as Node or its registry is not there");
    }
    let files = GatewayFiles {
        config: folder.join("mcp.json"),
        policy: Some(folder.join("policy.toml")),
    };
    std::fs::write(&files.config, json!({"mcpServers": servers}).to_string())?;
    std::fs::write(folder.join("policy.toml"), policy)?;

    let gateway = Gateway::open(files).await?;
    for server in gateway.servers() {
        let state = match server.error {
            Some(error) => format!("not connected: {error}"),
            None if server.is_up => "connected".to_owned(),
            None => "not connected yet".to_owned(),
        };
        println!("server {}: {state}", server.name);
    }
    let mut client = Client::connect(&gateway).await?;
    println!("offered: {}", client.tools().await?.join(", "));

    println!("\nallowed:");
    client
        .call("notes_read_note", json!({"title": "milk"}))
        .await?;
    client.read("notes://shared/bread").await?;
    if has_npm {
        client
            .call("everything_echo", json!({"message": "hello"}))
            .await?;

        println!("\nshown on a page, as its server has sent it:");
        client.show_page("budget_get-budget-data").await?;
    }

    println!("\napproved, and denied:");
    client.accepts = true;
    client
        .call(
            "notes_write_note",
            json!({"title": "milk", "text": "two bottles"}),
        )
        .await?;
    client.accepts = false;
    client
        .call("notes_write_note", json!({"title": "milk", "text": "none"}))
        .await?;

    println!("\nrefused:");
    client.call("notes_delete_notes", json!({})).await?;
    // However it is spelled.
    client.read("notes://private/diary").await?;
    client.read("notes://shared/%2e%2e/private/diary").await?;
    client.accepts = true;
    for bottles in 3..6 {
        client
            .call(
                "notes_write_note",
                json!({"title": "milk", "text": format!("{bottles} bottles")}),
            )
            .await?;
    }
    for _ in 0..3 {
        client.call("notes_list_notes", json!({})).await?;
    }

    gateway.close().await;
    println!("\nlogged in audit.jsonl:");
    for line in std::fs::read_to_string(folder.join("audit.jsonl"))?.lines() {
        let record = serde_json::from_str::<Value>(line)?;
        let text = |name: &str| record[name].as_str().unwrap_or_default().to_owned();
        println!(
            "  {} {} {}",
            text("name"),
            text("arguments"),
            text("outcome")
        );
    }
    Ok(())
}

/// Has npx download a server, and returns true if it can be started. A gateway gives a server 30 s to answer, which a first
/// download may exceed.
fn fetch(package: &str) -> bool {
    let fetched = Command::new("npx")
        .args(["-y", "--package", package, "--", "node", "--version"])
        .stdin(Stdio::null())
        .output();
    fetched.is_ok_and(|output| output.status.success())
}
