//! Metrics over HTTP: `cargo run --example metrics` makes some calls and serves `/metrics`.
//!
//! `curl localhost:9464/metrics | promtool check metrics`, or `curl localhost:9464/metrics.json` for JSON. The first
//! argument is another address.

use std::error::Error;
use std::net::SocketAddr;
use tool_adapters::telemetry::prometheus;
use tool_core::trace::{self, Collector, Cost};
use tool_core::{Category, Mode, Policy, Runtime, Session, ToolCall, ToolContext, tool};

/// Search the articles.
#[tool(category = "retrieval")]
async fn search(query: String) -> Vec<String> {
    // The service behind the tool has a price.
    trace::record_cost("search service", Cost::micros(250));
    (1..=query.len())
        .map(|n| format!("{query}, result {n}"))
        .collect()
}

/// Sign in.
#[tool(category = "action")]
fn sign_in(user: &str, password: &str) -> Result<String, String> {
    if password.len() < 8 {
        return Err(format!("`{user}` has a longer password; ask for it"));
    }
    Ok(format!("welcome, {user}"))
}

async fn talk(session: &Session) {
    let calls = [
        ("search", r#"{"query": "rust"}"#),
        ("search", r#"{"query": "tools for language models"}"#),
        ("search", r#"{"query": 7}"#),
        ("sign_in", r#"{"user": "ann", "password": "hunter2"}"#),
        ("sign_in", r#"{"user": "ann", "password": "correct horse"}"#),
        ("no_such_tool", "{}"),
    ];
    for (n, (tool, arguments)) in calls.into_iter().enumerate() {
        session
            .call(ToolCall::new(format!("call_{n}"), tool, arguments))
            .await;
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "127.0.0.1:9464".to_owned())
        .parse::<SocketAddr>()?;
    let tools = ToolContext::builder().with(search).with(sign_in).build()?;
    let policy = Policy::text().category_budget(Category::Retrieval, Some(10));
    let runtime = Runtime::builder(tools).policy(policy).build()?;
    let session = runtime.session("example", Mode::Text).await?;
    let collector = Collector::new();
    collector.run(trace::agent("helper", talk(&session))).await;
    // The report of a session contains no passwords.
    println!("{}", serde_json::to_string_pretty(&session.metrics())?);

    let bound = prometheus::router(&runtime)
        .collector(&collector)
        .bind(address)
        .await?;
    eprintln!("http://{}/metrics", bound.address()?);
    bound.serve().await?;
    Ok(())
}
