//! Tools served over the Model Context Protocol: `cargo run --example mcp_server --features mcp` over standard input and
//! output, `cargo run --example mcp_server --features mcp -- --http 127.0.0.1:8931` over streamable HTTP.
//!
//! A client starts the first form itself, for example the inspector:
//! `npx @modelcontextprotocol/inspector cargo run --example mcp_server --features mcp`.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tool_adapters::mcp::Server;
use tool_core::{Progress, ToolContext, tool, toolset};

/// Notes, for as long as the process lives.
#[derive(Default)]
struct Notes(Mutex<BTreeMap<String, String>>);

#[toolset]
impl Notes {
    /// List the titles of all notes.
    #[tool(category = "retrieval")]
    fn list_notes(&self) -> Vec<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .keys()
            .cloned()
            .collect()
    }

    /// Read a note.
    #[tool(category = "retrieval")]
    fn read_note(&self, title: &str) -> Result<String, String> {
        let notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        notes.get(title).cloned().ok_or_else(|| {
            format!("there is no note `{title}`; `list_notes` tells which there are")
        })
    }

    /// Write a note, in place of the one of that title.
    #[tool(category = "action", idempotent)]
    fn write_note(&self, #[arg(length(1..=80))] title: String, text: String) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(title, text);
    }

    /// Delete all notes. The user is asked first.
    #[tool(category = "action", destructive, confirm)]
    fn delete_notes(&self) -> usize {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *notes).len()
    }
}

/// Count down from a number to 0, a second each, telling how it goes.
#[tool]
async fn count_down(#[arg(range(1..=20))] from: u32, #[context] progress: Progress) -> String {
    for left in (1..=from).rev() {
        progress.fraction(f64::from(from - left) / f64::from(from), format!("{left}"));
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    "Lift-off".to_owned()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let tools = ToolContext::builder()
        .with(Notes::default())
        .with(count_down)
        .build()?;
    let server = Server::from_tools(tools)?.name("notes", "1.0.0");
    let arguments = std::env::args().skip(1).collect::<Vec<_>>();
    match arguments
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .as_slice()
    {
        [] => server.serve_stdio().await?,
        ["--http", address] => {
            let bound = server.bind(address.parse()?).await?;
            // Over stdio standard output belongs to the protocol, so messages go to standard error.
            eprintln!("serving {}", bound.url()?);
            bound.serve().await?;
        }
        _ => return Err("usage: mcp_server [--http ADDRESS]".into()),
    }
    Ok(())
}
