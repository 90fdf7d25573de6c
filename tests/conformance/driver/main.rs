//! The driver of the conformance suite: reads a line of JSON, writes a line of JSON.
//!
//! `{"do": "providers" | "tools" | "declare" | "parse" | "encode" | "request" | "history" | "price" | "biller", ..}`; each
//! module says what its command takes. A command that cannot be done answers `{"failed": ".."}`.

#![allow(dead_code, reason = "of the examples, only the tools are wanted")]

#[path = "../../../examples/calendar/api.rs"]
mod api;
#[path = "../../../examples/concierge/articles.rs"]
mod articles;
#[path = "../../../examples/calendar/config.rs"]
mod config;
#[path = "../../../examples/concierge/conversation.rs"]
mod conversation;
mod declare;
#[path = "../../../examples/calendar/error.rs"]
mod error;
mod events;
#[path = "../../../examples/concierge/front_desk.rs"]
mod front_desk;
mod history;
#[path = "../../../examples/concierge/index.rs"]
mod index;
#[path = "../../../examples/concierge/knowledge_base.rs"]
mod knowledge_base;
#[path = "../../../examples/mcp_server.rs"]
mod mcp_server;
mod messages;
#[path = "../../../examples/interop/orders.rs"]
mod orders;
mod prices;
#[path = "../../../examples/quickstart/main.rs"]
mod quickstart;
#[path = "../../../examples/concierge/tools.rs"]
mod tools;
#[path = "../../../examples/tools.rs"]
mod tools_example;
#[path = "../../../examples/calendar/toolset.rs"]
mod toolset;

use serde_json::{Value, json};
use std::error::Error;
use std::io::{BufRead, Write};
use tool_adapters::Provider;

type Answer = Result<Value, Box<dyn Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let answer = match serde_json::from_str(&line?) {
            Ok(command) => obey(&command).await,
            Err(error) => Err(error.into()),
        };
        let answer = answer.unwrap_or_else(|error| json!({"failed": error.to_string()}));
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

async fn obey(command: &Value) -> Answer {
    match command["do"].as_str() {
        Some("providers") => Ok(json!(Provider::ALL)),
        Some("tools") => declare::tools(),
        Some("declare") => declare::declare(command),
        Some("parse") => events::parse(command),
        Some("encode") => messages::encode(command).await,
        Some("request") => messages::request(command).await,
        Some("history") => history::history(command),
        Some("price") => Ok(prices::price(command)),
        Some("biller") => Ok(prices::biller(command)),
        _ => Err("no such command".into()),
    }
}

fn provider(command: &Value) -> Result<Provider, Box<dyn Error>> {
    Ok(command["provider"]
        .as_str()
        .ok_or("which provider?")?
        .parse()?)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
