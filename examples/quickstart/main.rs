//! Two functions and a toolset as tools: `cargo run --example quickstart`.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use tool_core::{RegistryErrors, RunContext, Timestamp, ToolContext, tool, toolset};

/// Find the e-mail addresses and phone numbers in a text.
#[tool(category = "retrieval")]
fn extract_contacts(text: &str) -> Vec<&str> {
    let words = text
        .split_whitespace()
        .map(|word| word.trim_matches(['<', '>', '(', ')', ',', ';', '.']));
    words
        .filter(|word| {
            matches!(word.find('@'), Some(1..)) || (word.starts_with('+') && word.len() > 7)
        })
        .collect()
}

/// Write an instant the way a person reads it, in UTC.
#[tool]
fn format_datetime(
    at: Timestamp,
    #[arg(default = "%-d %B %Y, %H:%M")] format: &str,
) -> Result<String, String> {
    let mut text = String::new();
    write!(text, "{}", at.strftime(format))
        .map(|()| text)
        .map_err(|_| format!("`{format}` is no strftime format"))
}

#[derive(Default)]
struct Tally(AtomicU64);
#[toolset]
impl Tally {
    /// Count votes, and return how many there are by now.
    #[tool(category = "action")]
    fn count_votes(&self, #[arg(default = 1, range(1..=100))] votes: u64) -> u64 {
        self.0.fetch_add(votes, Ordering::Relaxed) + votes
    }
}

#[tokio::main]
async fn main() -> Result<(), RegistryErrors> {
    let (tools, ctx) = (ToolContext::discover()?, RunContext::detached());
    println!(
        "{}",
        tools
            .call(
                "extract_contacts",
                r#"{"text": "Call ada@x.org, +493012345."}"#,
                &ctx
            )
            .await
            .to_json()
    );
    println!(
        "{}",
        tools
            .call(
                "format_datetime",
                r#"{"at": "2026-11-20T09:30:00+01:00"}"#,
                &ctx
            )
            .await
            .to_json()
    );
    println!(
        "{}",
        tools
            .call("count_votes", r#"{"votes": 3}"#, &ctx)
            .await
            .to_json()
    );
    Ok(())
}
