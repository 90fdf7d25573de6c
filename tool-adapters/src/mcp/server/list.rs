//! What `tools/list` says: the tools that the session's model may see.

use crate::providers::declare::{Declarations, declare};
use crate::providers::provider::Provider;
use rmcp::ErrorData;
use rmcp::model::{CacheScope, ListToolsResult, Tool};
use serde_json::Value;
use std::collections::HashSet;
use std::sync::OnceLock;
use tool_core::{Session, ToolContext, ToolDefinition};

/// The declarations of a context as the protocol's own type, made once.
#[derive(Default)]
struct Listed(OnceLock<Vec<Tool>>);

/// How long a client need not ask again: a session keeps its tools, but another one may have others.
const FRESH_MS: u64 = 60_000;

/// One page of the list. The cursor is where it begins. `hints`: whether the client knows what caching hints are.
pub(crate) fn page(
    session: &Session,
    cursor: Option<&str>,
    size: usize,
    hints: bool,
) -> Result<ListToolsResult, ErrorData> {
    let from = match cursor {
        None => 0,
        Some(text) => text.parse::<usize>().map_err(|_| unknown_cursor())?,
    };
    let visible = visible(session);
    let mut tools = tools(session.tools(), &visible);
    if from > tools.len() || (cursor.is_some() && from == tools.len()) {
        return Err(unknown_cursor());
    }
    tools.drain(..from);
    let more = tools.len() > size;
    tools.truncate(size);
    let mut result = ListToolsResult::with_all_items(tools);
    result.next_cursor = more.then(|| (from + size).to_string());
    if hints {
        result.ttl_ms = Some(FRESH_MS);
        result.cache_scope = Some(CacheScope::Private);
    }
    Ok(result)
}

fn unknown_cursor() -> ErrorData {
    ErrorData::invalid_params("no page begins at this `cursor`; ask for the list without one", None)
}

/// The names of the tools that the session's model may see now.
pub(crate) fn visible(session: &Session) -> Vec<ToolDefinition> {
    session.definitions()
}

fn tools(context: &ToolContext, visible: &[ToolDefinition]) -> Vec<Tool> {
    let declared = declare(Provider::Mcp, context);
    let names = visible.iter().filter_map(|tool| declared.wire_name(tool.name())).collect::<HashSet<_>>();
    with_all(context, |all| all.iter().filter(|tool| names.contains(&*tool.name)).cloned().collect())
}

/// The tool of a context that is listed under a name.
pub(crate) fn one(context: &ToolContext, wire: &str) -> Option<Tool> {
    with_all(context, |all| all.iter().find(|tool| tool.name == wire).cloned())
}

fn with_all<T>(context: &ToolContext, read: impl FnOnce(&[Tool]) -> T) -> T {
    let listed = context.memo::<Listed>();
    read(listed.0.get_or_init(|| parsed(&declare(Provider::Mcp, context))))
}

fn parsed(declared: &Declarations) -> Vec<Tool> {
    serde_json::from_str(declared.json().get()).unwrap_or_else(|error| {
        tracing::error!(%error, "the declarations are no list of MCP tools");
        Vec::new()
    })
}

/// The tool that a client calls, by the name under which it is listed.
pub(crate) fn named(session: &Session, wire: &str) -> Option<String> {
    let declared = declare(Provider::Mcp, session.tools());
    declared.tool_name(wire).map(str::to_owned)
}

/// The schema of a tool's results, where it has one.
pub(crate) fn output<'a>(context: &'a ToolContext, tool: &str) -> Option<&'a Value> {
    context.function_tool(tool)?.definition().output()
}

/// The guides of the tools that have one: the list has all else.
pub(crate) fn guides(session: &Session) -> Option<String> {
    let guided = visible(session).into_iter().filter(|tool| tool.guide().is_some());
    let texts = guided.map(|tool| format!("# {}\n\n{}", tool.name(), tool.documentation())).collect::<Vec<_>>();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}
