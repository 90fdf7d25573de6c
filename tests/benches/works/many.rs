//! Contexts of tools.

use super::methods::Calendar;
use tool_core::{ToolContext, ToolsetExt};

/// Returns a context with the methods.
pub(crate) fn calendar() -> ToolContext {
    build(ToolContext::builder().with(Calendar))
}

/// Returns a context of `count` tools, all of them `noop` under different names.
pub(crate) fn noops(count: usize) -> ToolContext {
    let one = |at: usize| {
        Calendar
            .filtered(|tool| tool.name() == "noop")
            .prefixed(&format!("toolset_{at}"))
    };
    build(ToolContext::builder().with_all((0..count).map(one)))
}

/// Returns the tools' names.
pub(crate) fn names(tools: &ToolContext) -> Vec<String> {
    tools
        .definitions()
        .map(|tool| tool.name().to_owned())
        .collect()
}

fn build(builder: tool_core::registry::ToolContextBuilder) -> ToolContext {
    match builder.build() {
        Ok(tools) => tools,
        Err(errors) => panic!("{errors}"),
    }
}
