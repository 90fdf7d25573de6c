//! The tools that the runtime adds to those of the host, by which the model cancels calls, reads
//! guides and searches tools.

use crate::call::{ErrorKind, Mode, Modes, RunContext, ToolError};
use crate::registry::{RegistryErrors, ToolContext};
use crate::session::inner::SessionInner;
use crate::session::metrics::tool_stats::ToolStats;
use crate::session::search::SearchableTools;
use crate::session::tools::{OfferedTools, Policies, SessionTools};
use crate::tool::{Category, FunctionTool, RawTool};
use serde_json::{Value, json};
use std::any::Any;
use std::sync::{Arc, LazyLock};

/// The name of the tool by which the model searches.
pub const SEARCH_TOOL: &str = "search_tools";

/// The names of the tools that a runtime may add to those of the host. Tools of servers and users
/// should have others.
pub const CONTROL_TOOL_NAMES: [&str; 4] = [
    "cancel_call",
    "list_running_calls",
    "get_tool_guide",
    SEARCH_TOOL,
];

/// Takes a snapshot of tools, and adds the control tools that they need. `stats` returns the
/// statistics for a tool name.
pub(crate) fn session_tools(
    tools: ToolContext,
    stats: impl Fn(&str) -> Arc<ToolStats>,
    policies: &Arc<Policies>,
) -> Result<SessionTools, RegistryErrors> {
    let offered = with_control_tools(without_control_tools(tools), policies)?;
    Ok(SessionTools::new(offered, stats, policies))
}

/// Adds the control tools that the host's tools need.
fn with_control_tools(
    tools: ToolContext,
    policies: &Policies,
) -> Result<OfferedTools, RegistryErrors> {
    let settings = policies.each_ref().map(|policy| policy.search.as_deref());
    let search = SearchableTools::new(&tools, settings);
    let first_control_tool = tools.function_tools().len() + usize::from(search.is_some());
    let mut added = Vec::new();

    // The search is charged as other tools are, so it is before the control tools.
    if let Some(search) = &search {
        added.extend(for_modes(&*SEARCH_TOOLS, search.modes));
    }
    let mut definitions = tools.function_tools().iter().map(FunctionTool::definition);
    if definitions.any(|tool| tool.flags().cancellable) {
        added.extend(CONTROL_TOOLS.iter());
    }
    let guide_modes = guide_modes(policies);
    let mut definitions = tools.function_tools().iter().map(FunctionTool::definition);
    let has_guide = definitions.any(|tool| {
        let mut modes = guide_modes.iter();
        tool.guide().is_some() && modes.any(|mode| tool.modes().contains(mode))
    });
    if has_guide {
        added.extend(for_modes(&*GUIDE_TOOLS, guide_modes));
    }

    let context = if added.is_empty() {
        tools
    } else {
        tools.to_builder().with_all(added).build()?
    };
    Ok(OfferedTools {
        context,
        first_control_tool,
        search,
    })
}

/// Finds the tool for a set of modes.
fn for_modes(tools: &[FunctionTool], modes: Modes) -> Option<&FunctionTool> {
    tools.iter().find(|tool| tool.definition().modes() == modes)
}

/// The tools that exist wherever a tool can be cancelled. They are shared, so that tools that were
/// taken from one session and given to another are recognised.
pub(crate) static CONTROL_TOOLS: LazyLock<[FunctionTool; 2]> =
    LazyLock::new(|| [cancel_call(), list_running_calls()]);

/// The tool that gives a guide to the model, for each set of modes.
static GUIDE_TOOLS: LazyLock<[FunctionTool; 3]> =
    LazyLock::new(|| [Modes::VOICE, Modes::TEXT, Modes::BOTH].map(get_tool_guide));

/// The tool that searches for tools, for each set of modes.
static SEARCH_TOOLS: LazyLock<[FunctionTool; 3]> =
    LazyLock::new(|| [Modes::VOICE, Modes::TEXT, Modes::BOTH].map(search_tools));

/// Returns the modes in which the model may ask for guides.
fn guide_modes(policies: &Policies) -> Modes {
    let asks = |mode: Mode| {
        let policy = &policies[mode as usize];
        policy.guides_on_demand && !policy.full_guides[mode as usize]
    };
    [Mode::Voice, Mode::Text]
        .into_iter()
        .filter(|mode| asks(*mode))
        .fold(Modes::NONE, Modes::with)
}

fn without_control_tools(tools: ToolContext) -> ToolContext {
    let own = || {
        CONTROL_TOOLS
            .iter()
            .chain(&*GUIDE_TOOLS)
            .chain(&*SEARCH_TOOLS)
    };
    let is_control_tool = |tool: &FunctionTool| own().any(|own| own.same(tool));
    if !tools.function_tools().iter().any(is_control_tool) {
        return tools;
    }
    // Removing tools from a valid context leaves a valid context.
    tools
        .to_builder()
        .without(is_control_tool)
        .build()
        .unwrap_or(tools)
}

fn cancel_call() -> FunctionTool {
    let declared = RawTool {
        name: "cancel_call".into(),
        description: "Cancel a call that is still running. Take its id from `list_running_calls`."
            .into(),
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
        description:
            "List the calls that are still running, with the ids by which they can be cancelled."
                .into(),
        parameters: json!({"type": "object", "properties": {}, "additionalProperties": false}),
    };
    FunctionTool::raw(declared, list)
        .validate(true)
        .category(Category::Utility)
}

fn get_tool_guide(modes: Modes) -> FunctionTool {
    let declared = RawTool {
        name: "get_tool_guide".into(),
        description: "Read the full guide of a tool, where its summary does not say enough.".into(),
        parameters: json!({
            "type": "object",
            "properties": {"tool": {"type": "string", "description": "The name of the tool"}},
            "required": ["tool"],
            "additionalProperties": false
        }),
    };
    FunctionTool::raw(declared, guide)
        .validate(true)
        .category(Category::Utility)
        .modes(modes)
}

fn search_tools(modes: Modes) -> FunctionTool {
    let declared = RawTool {
        name: SEARCH_TOOL.into(),
        description: "Find tools by words about what they do. Most tools are not listed before they are found, so search \
                      before you say that something cannot be done. Tools that are found can be called from the next step \
                      on."
            .into(),
        parameters: json!({
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "description": "Words for the action and the things that it is about",
                    "minLength": 1
                },
                "limit": {"type": "integer", "description": "The most tools to find", "minimum": 1}
            },
            "required": ["query"],
            "additionalProperties": false
        }),
    };
    FunctionTool::raw(declared, search)
        .validate(true)
        .category(Category::Utility)
        .idempotent()
        .modes(modes)
}

async fn cancel(arguments: Value, ctx: &RunContext) -> Result<Value, ToolError> {
    let id = text(&arguments, "call_id");
    session(ctx)?.running.cancel_for_model(id)?;
    Ok(json!({"cancelled": id}))
}

async fn list(_: Value, ctx: &RunContext) -> Result<Value, ToolError> {
    Ok(json!({"calls": session(ctx)?.running.list_for_model()}))
}

async fn search(arguments: Value, ctx: &RunContext) -> Result<Value, ToolError> {
    let limit = arguments.get("limit").and_then(Value::as_u64);
    let limit = limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let found = session(ctx)?.search_tools(text(&arguments, "query"), limit);
    Ok(Value::String(found))
}

async fn guide(arguments: Value, ctx: &RunContext) -> Result<Value, ToolError> {
    let session = session(ctx)?;
    let name = text(&arguments, "tool");
    let visible = session.definitions();
    let searchable = session.searchable_definitions();
    let mut known = visible.iter().chain(&searchable);
    if let Some(tool) = known.find(|tool| tool.name() == name) {
        return Ok(Value::String(tool.documentation().to_owned()));
    }

    let with_guide = visible.iter().filter(|tool| tool.guide().is_some());
    let names = with_guide
        .map(|tool| format!("`{}`", tool.name()))
        .collect::<Vec<_>>();
    let guides = if names.is_empty() {
        "is no guide".to_owned()
    } else {
        format!("are guides for {}", names.join(", "))
    };
    let message = format!(
        "no tool has the name `{}`; there {guides}",
        name.escape_debug()
    );
    Err(ToolError::new(ErrorKind::NotFound, message, false))
}

/// Returns the text of an argument, or an empty text.
fn text<'a>(arguments: &'a Value, name: &str) -> &'a str {
    arguments
        .get(name)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Returns the session to which the call belongs.
fn session(ctx: &RunContext) -> Result<Arc<SessionInner>, ToolError> {
    let session = ctx.session_handle().and_then(|handle| {
        let handle: Arc<dyn Any + Send + Sync> = handle;
        handle.downcast().ok()
    });
    session.ok_or_else(|| {
        ToolError::session_inactive("there is no session whose calls could be running")
    })
}
