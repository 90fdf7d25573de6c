//! `tools/list`: the tools that the session's model may see.

use crate::providers::declare::declare;
use crate::providers::provider::Provider;
use rmcp::ErrorData;
use rmcp::model::{CacheScope, ListToolsResult, Tool};
use serde_json::Value;
use std::collections::HashSet;
use std::sync::OnceLock;
use tool_core::{Session, ToolContext};

/// The declarations of a context as rmcp's type, converted once.
#[derive(Default)]
struct ListedTools(OnceLock<Vec<Tool>>);

/// The time for which a client may cache the list.
const TTL_MS: u64 = 60_000;

/// Returns one page of the list. The cursor is the index of its first tool. `cache_hints` is true for clients whose
/// revision has caching hints.
pub(crate) fn page(
    session: &Session,
    cursor: Option<&str>,
    size: usize,
    cache_hints: bool,
) -> Result<ListToolsResult, ErrorData> {
    let from = match cursor {
        None => 0,
        Some(text) => text.parse::<usize>().map_err(|_| unknown_cursor())?,
    };
    let mut tools = visible_tools(session);
    if from > tools.len() || (cursor.is_some() && from == tools.len()) {
        return Err(unknown_cursor());
    }
    tools.drain(..from);
    let has_more = tools.len() > size;
    tools.truncate(size);
    let mut result = ListToolsResult::with_all_items(tools);
    result.next_cursor = has_more.then(|| (from + size).to_string());
    if cache_hints {
        result.ttl_ms = Some(TTL_MS);
        result.cache_scope = Some(CacheScope::Private);
    }
    Ok(result)
}

fn unknown_cursor() -> ErrorData {
    ErrorData::invalid_params("unknown `cursor`; request the list without one", None)
}

fn visible_tools(session: &Session) -> Vec<Tool> {
    let declared = declare(Provider::Mcp, session.tools());
    let visible = session.definitions();
    let names = visible.iter().filter_map(|tool| declared.wire_name(tool.name())).collect::<HashSet<_>>();
    with_all(session.tools(), |all| all.iter().filter(|tool| names.contains(&*tool.name)).cloned().collect())
}

/// Returns the tool that is listed under a name.
pub(crate) fn find(context: &ToolContext, wire_name: &str) -> Option<Tool> {
    with_all(context, |all| all.iter().find(|tool| tool.name == wire_name).cloned())
}

fn with_all<T>(context: &ToolContext, read: impl FnOnce(&[Tool]) -> T) -> T {
    let listed = context.memo::<ListedTools>();
    read(listed.0.get_or_init(|| {
        serde_json::from_str(declare(Provider::Mcp, context).json().get()).unwrap_or_else(|error| {
            tracing::error!(%error, "failed to read the declarations as MCP tools");
            Vec::new()
        })
    }))
}

/// Returns the tool's name in the context by the name under which it is listed.
pub(crate) fn tool_name(session: &Session, wire_name: &str) -> Option<String> {
    declare(Provider::Mcp, session.tools()).tool_name(wire_name).map(str::to_owned)
}

pub(crate) fn output_schema<'a>(context: &'a ToolContext, tool: &str) -> Option<&'a Value> {
    context.function_tool(tool)?.definition().output()
}

/// Returns the guides of the visible tools that have one. The list itself carries everything else.
pub(crate) fn guides(session: &Session) -> Option<String> {
    let guided = session.definitions().into_iter().filter(|tool| tool.guide().is_some());
    let texts = guided.map(|tool| format!("# {}\n\n{}", tool.name(), tool.documentation())).collect::<Vec<_>>();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}
