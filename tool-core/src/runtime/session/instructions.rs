//! What the model is told of the tools, beside their declarations. R-F4

use super::core::Core;
use crate::tool::ToolDefinition;
use std::fmt::Write as _;

pub(super) fn of(core: &Core) -> String {
    let full = core.policy().full_guides[core.mode as usize];
    let now = core.now();
    let tools = core.toolbox.context.definitions_for(&now);
    told(tools.filter(|tool| tool.modes().contains(core.mode)), full)
}

/// What is told of these tools.
pub(crate) fn told<'a>(tools: impl Iterator<Item = &'a ToolDefinition>, full: bool) -> String {
    let mut text = String::from("# Tools\n");
    for tool in tools {
        // Writing to a `String` does not fail.
        let _ = write!(text, "\n## {}\n\n{}\n", tool.name(), about(tool, full));
    }
    text
}

fn about(tool: &ToolDefinition, full: bool) -> String {
    if full { tool.documentation().trim().to_owned() } else { tool.summary().into_owned() }
}
