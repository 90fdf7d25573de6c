//! Keywords of Rust as names for the model.
#![deny(warnings)]
#![allow(clippy::all, clippy::pedantic)] // `strict_lints` covers lints

use tool_core::{ToolContext, tool, toolset};

/// Move a thing.
#[tool]
fn r#move(r#type: String, r#in: Option<&str>, #[arg(default = 3)] r#loop: u8) -> String {
    format!(
        "{type} {in:?} {loop}",
        r#type = r#type,
        r#in = r#in,
        r#loop = r#loop
    )
}

struct r#Match;

#[toolset]
impl r#Match {
    /// Match a text.
    #[tool]
    fn r#match(&self, r#where: &str) -> bool {
        r#where.is_empty()
    }
}

#[test]
fn raw_identifiers_are_valid_names() {
    let tools = ToolContext::builder()
        .with(r#move)
        .with(r#Match)
        .build()
        .expect("two tools");
    assert!(tools.has_tool("move") && tools.has_tool("match"));
    let parameters = tools
        .definitions()
        .map(|tool| tool.parameters_json().to_owned())
        .collect::<String>();
    assert!(parameters.contains("\"type\"") && !parameters.contains("r#"));
}
