//! A server of notes, over standard input and output.

use crate::tour::Outcome;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use tool_adapters::mcp::Server;
use tool_core::{ToolContext, toolset};

/// The argument with which this program is the server.
pub(crate) const SERVE: &str = "--serve-notes";

struct Notes(Mutex<BTreeMap<String, String>>);

#[toolset(discover = false)]
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
        notes
            .get(title)
            .cloned()
            .ok_or_else(|| format!("there is no note `{title}`"))
    }

    /// Write a note, in place of the one of that title.
    #[tool(category = "action")]
    fn write_note(&self, title: String, text: String) -> String {
        let written = format!("wrote `{title}`");
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(title, text);
        written
    }

    /// A note by its path, as a file system would find it.
    #[resource(uri = "notes://{+path}")]
    fn note(&self, path: &str) -> Result<String, String> {
        let mut found = Vec::new();
        for step in path.split('/') {
            match step {
                ".." => _ = found.pop(),
                step => found.push(step),
            }
        }
        self.read_note(&found.join("/"))
    }

    /// Delete all notes.
    #[tool(category = "action", destructive)]
    fn delete_notes(&self) -> usize {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)).len()
    }
}

pub(crate) async fn serve() -> Outcome<()> {
    let notes = [
        ("milk", "one bottle"),
        ("shared/bread", "two loaves"),
        ("private/diary", "Dear diary, .."),
    ];
    let notes = notes
        .map(|(title, text)| (title.to_owned(), text.to_owned()))
        .into();
    let tools = ToolContext::builder()
        .with(Notes(Mutex::new(notes)))
        .build()?;
    Ok(Server::from_tools(tools)?
        .name("notes", "1.0.0")
        .serve_stdio()
        .await?)
}
