//! Contexts of many tools, to look one up and to list them.

use super::methods::Calendar;
use std::hint::black_box;
use tool_core::{ToolContext, ToolsetExt};

/// A context that holds what the works call.
pub(crate) fn calendar() -> ToolContext {
    build(ToolContext::builder().with(Calendar))
}

/// `count` tools, all of them `noop` under names of their own.
pub(crate) fn noops(count: usize) -> ToolContext {
    let one = |at: usize| Calendar.filtered(|tool| tool.name() == "noop").prefixed(&format!("toolset_{at}"));
    build(ToolContext::builder().with_all((0..count).map(one)))
}

/// 100 tools of five parameters.
pub(crate) fn hundred() -> ToolContext {
    let one = |at: usize| Calendar.filtered(|tool| tool.name() == "create_event").prefixed(&format!("toolset_{at}"));
    build(ToolContext::builder().with_all((0..100).map(one)))
}

/// Their names, as calls give them.
pub(crate) fn names(tools: &ToolContext) -> Vec<String> {
    tools.definitions().map(|tool| tool.name().to_owned()).collect()
}

/// Lists each tool as a model sees it.
#[inline(never)]
pub(crate) fn list(tools: &ToolContext) -> usize {
    let mut bytes = 0;
    for tool in tools.definitions() {
        let (name, description, parameters) = black_box((tool.name(), tool.description(), tool.parameters_json()));
        bytes += name.len() + description.len() + parameters.len();
    }
    bytes
}

fn build(builder: tool_core::registry::ToolContextBuilder) -> ToolContext {
    match builder.build() {
        Ok(tools) => tools,
        Err(errors) => panic!("{errors}"),
    }
}
