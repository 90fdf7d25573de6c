//! Answers calls of tools that cannot be called: unknown ones, and those whose toolset is not set
//! up.

use crate::arguments::problem::nearest;
use crate::call::context::RunContext;
use crate::call::error::{ErrorKind, ToolError};
use crate::call::response::{ToolResponse, shorten_name};
use crate::time::CallInstant;
use crate::tool::function::FunctionTool;
use crate::tool::instance::describe_failure;
use std::sync::Arc;

/// The maximum number of names in the error of an unknown tool.
const MAX_LISTED: usize = 50;

/// Creates the response to a bare call of a tool whose toolset was not set up.
#[cold]
pub(crate) fn not_set_up(tool: &FunctionTool, error: ToolError, ctx: &RunContext) -> ToolResponse {
    ToolResponse::unhandled(
        tool.name(),
        ctx.call_id_shared().cloned(),
        tool.scrub(error),
        CallInstant::now(),
    )
}

/// Creates the response to a call of a tool that is missing because its toolset failed to be set
/// up.
#[cold]
pub(crate) fn left_out(
    tool: &FunctionTool,
    (toolset, error): (&str, &ToolError),
    call_id: Option<&Arc<str>>,
    began: CallInstant,
) -> ToolResponse {
    let name = tool.name().escape_debug();
    let toolset = toolset.escape_debug();
    let failure = describe_failure(error);
    let message = format!(
        "`{name}` is not available, as the setup of toolset `{toolset}` failed: {failure}; do without it, or try it in a \
         later session"
    );
    ToolResponse::unhandled(
        tool.name(),
        call_id.cloned(),
        tool.scrub(ToolError::permanent(message)),
        began,
    )
}

/// Creates the response to a call of an unknown tool: `NOT_FOUND`, with the nearest name, the
/// available ones, and a hint after them.
#[cold]
pub(crate) fn unknown_tool<'a>(
    name: &str,
    call_id: Option<&Arc<str>>,
    names: impl Iterator<Item = &'a str>,
    hint: &str,
    began: CallInstant,
) -> ToolResponse {
    let names = names.collect::<Vec<_>>();
    let near = nearest(name, names.iter().copied())
        .map(|near| format!(", did you mean `{near}`?"))
        .unwrap_or_default();
    let listed = names
        .iter()
        .take(MAX_LISTED)
        .copied()
        .collect::<Vec<_>>()
        .join(", ");
    let more = match names.len().saturating_sub(MAX_LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let available = if names.is_empty() {
        "no tools are available".into()
    } else {
        format!("available tools: {listed}{more}")
    };
    let message = format!(
        "unknown tool `{}`{near}; {available}{hint}",
        shorten_name(name)
    );
    ToolResponse::unhandled(
        name,
        call_id.cloned(),
        ToolError::new(ErrorKind::NotFound, message, false),
        began,
    )
}
