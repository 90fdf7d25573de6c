//! The first step: the tool of that name, among those that the session began with.

use super::Governed;
use crate::call::{ToolCall, unknown_tool};
use crate::response::{ErrorKind, ToolError, ToolResponse};
use crate::runtime::session::Core;
use crate::tool::FunctionTool;
use tokio::time::Instant;

#[inline]
pub(super) fn find<'a>(core: &'a Core, name: &str) -> Option<(usize, &'a FunctionTool)> {
    core.toolbox.find(name).filter(|(_, tool)| !tool.is_dynamic() || tool.visible_in(&core.now()))
}

/// `NOT_FOUND`, with the nearest name and those there are. L19
#[cold]
pub(super) fn unknown(core: &Core, call: &ToolCall, began: Instant) -> ToolResponse {
    let now = core.now();
    let names = core.toolbox.context.visible_names(&now);
    let response = unknown_tool(call.name(), Some(call.shared_id()), names, began);
    super::record::count_aside(core, call, began, &response);
    response
}

/// Tools that call tools that call tools come to an end. R-B4
pub(super) fn check_depth(call: &Governed<'_>) -> Result<(), ToolError> {
    let limit = call.policy().depth;
    if call.depth <= limit {
        return Ok(());
    }
    let message = format!("tools may call tools {limit} deep; `{}` would be one too many", call.tool.name());
    Err(ToolError::new(ErrorKind::BudgetExceeded, message, false))
}
