//! The two tools that exist wherever a tool can be cancelled: `cancel_call` and `list_running_calls`. L16

use crate::call::context::RunContext;
use crate::call::error::ToolError;
use crate::call::scope::Governor;
use crate::registry::ToolContext;
use crate::registry::builder::ToolContextBuilder;
use crate::registry::errors::RegistryErrors;
use crate::tool::function::FunctionTool;
use crate::tool::options::Category;
use crate::tool::raw::RawTool;
use serde_json::{Value, json};
use std::sync::{Arc, LazyLock};

/// The two, the same ones everywhere: who hands on the tools of a session hands on these too.
static COMPANIONS: LazyLock<[FunctionTool; 2]> = LazyLock::new(|| [cancel_call(), list_running_calls()]);

/// The two themselves.
#[cfg(feature = "agents")]
pub(crate) fn companions() -> &'static [FunctionTool] {
    &*COMPANIONS
}

/// The same tools and the two, which come last.
pub(crate) fn added(tools: &ToolContext) -> Result<ToolContext, RegistryErrors> {
    COMPANIONS.iter().fold(tools.parts(), ToolContextBuilder::with).build()
}

/// The same tools without the two.
pub(crate) fn removed(tools: ToolContext) -> ToolContext {
    let is_companion = |tool: &FunctionTool| COMPANIONS.iter().any(|own| own.same(tool));
    if !tools.function_tools().iter().any(is_companion) {
        return tools;
    }
    // Fewer tools of a sound context are a sound context.
    tools.parts().without(is_companion).build().unwrap_or(tools)
}

fn cancel_call() -> FunctionTool {
    let declared = RawTool {
        name: "cancel_call".into(),
        description: "Cancel a call that is still running. Take its id from `list_running_calls`.".into(),
        parameters: json!({
            "type": "object",
            "properties": {"call_id": {"type": "string", "description": "The id of the running call"}},
            "required": ["call_id"],
            "additionalProperties": false
        }),
    };
    FunctionTool::raw(declared, cancel).validate(true)
}

fn list_running_calls() -> FunctionTool {
    let declared = RawTool {
        name: "list_running_calls".into(),
        description: "List the calls that are still running, with the ids by which they can be cancelled.".into(),
        parameters: json!({"type": "object", "properties": {}, "additionalProperties": false}),
    };
    // It is asked again and again while something runs, so it is not a retrieval, whose empty results count.
    FunctionTool::raw(declared, list).validate(true).category(Category::Utility)
}

async fn cancel(arguments: Value, ctx: &RunContext) -> Result<Value, ToolError> {
    let id = arguments.get("call_id").and_then(Value::as_str).unwrap_or_default();
    session(ctx)?.cancel_for_model(id)?;
    Ok(json!({"cancelled": id}))
}

async fn list(_: Value, ctx: &RunContext) -> Result<Value, ToolError> {
    Ok(json!({"calls": session(ctx)?.running_for_model()}))
}

fn session(ctx: &RunContext) -> Result<Arc<dyn Governor>, ToolError> {
    ctx.governor().ok_or_else(|| ToolError::session_inactive("there is no session whose calls could be running"))
}
