//! The tools of a session: a snapshot taken when it is opened, and the control tools that the runtime adds.

use crate::call::context::SessionHandle;
use crate::call::{Mode, Modes, RunContext, ToolError};
use crate::describe::manifest::content_version;
use crate::registry::{RegistryErrors, ToolContext};
use crate::session::metrics::ContextMetrics;
use crate::session::metrics::tool_stats::ToolStats;
use crate::session::policy::Policy;
use crate::session::search::{SEARCH_TOOL, SearchableTools};
use crate::tool::instance::OpenToolsets;
use crate::tool::{Category, FunctionTool, RawTool, ToolDefinition};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::sync::{Arc, LazyLock, OnceLock};

/// Policies by mode.
pub(crate) type Policies = [Policy; 2];

/// The tools and the policies of a session. They stay the same until it ends, or is renewed.
pub(crate) struct SessionTools {
    /// The host's tools, and the control tools that they need.
    pub(crate) context: ToolContext,
    /// The version that approvals are bound to.
    pub(crate) version: Arc<str>,
    /// The policies, by mode.
    pub(crate) policies: Arc<Policies>,
    /// The statistics of each function tool, in order.
    pub(crate) stats: Box<[Arc<ToolStats>]>,
    /// By mode.
    initial_contexts: [OnceLock<ContextMetrics>; 2],
    /// The index of the first control tool.
    first_control_tool: usize,
    /// `None` in most sessions, which declare all of their tools.
    pub(crate) search: Option<Box<SearchableTools>>,
    /// The toolsets that the runtime keeps open between its sessions.
    pub(crate) open: Mutex<OpenToolsets>,
}

impl SessionTools {
    /// Takes a snapshot. `stats` returns the statistics for a tool name.
    pub(crate) fn new(
        tools: ToolContext,
        stats: impl Fn(&str) -> Arc<ToolStats>,
        policies: &Arc<Policies>,
    ) -> Result<Self, RegistryErrors> {
        let (tools, guide_modes) = (without_control_tools(tools), guide_modes(policies));
        let search = SearchableTools::new(&tools, policies);
        let first_control_tool = tools.function_tools().len() + usize::from(search.is_some());
        let cancellable = tools
            .function_tools()
            .iter()
            .any(|tool| tool.definition().flags().cancellable);
        let has_guide = |tool: &FunctionTool| {
            tool.definition().guide().is_some()
                && guide_modes
                    .iter()
                    .any(|mode| tool.definition().modes().contains(mode))
        };
        let guide_tool = GUIDE_TOOLS
            .iter()
            .find(|tool| tool.definition().modes() == guide_modes);
        let guide_tool = guide_tool.filter(|_| tools.function_tools().iter().any(has_guide));
        let control_tools = if cancellable {
            CONTROL_TOOLS.as_slice()
        } else {
            &[]
        };
        let search_tool = search.as_ref().and_then(|search| {
            // It is charged as other tools are, so it is before the control tools.
            SEARCH_TOOLS
                .iter()
                .find(|tool| tool.definition().modes() == search.modes)
        });
        let control_tools = search_tool
            .into_iter()
            .chain(control_tools)
            .chain(guide_tool)
            .collect::<Vec<_>>();
        let context = if control_tools.is_empty() {
            tools
        } else {
            tools.to_builder().with_all(control_tools).build()?
        };
        Ok(Self {
            version: content_version(&context).into(),
            policies: Arc::clone(policies),
            stats: context
                .function_tools()
                .iter()
                .map(|tool| stats(tool.name()))
                .collect(),
            initial_contexts: Default::default(),
            context,
            first_control_tool,
            search,
            open: Mutex::default(),
        })
    }

    /// Finds a tool and its index by name.
    #[inline]
    pub(crate) fn find(&self, name: &str) -> Option<(usize, &FunctionTool)> {
        let index = self.context.position(name)?;
        self.context
            .function_tools()
            .get(index)
            .map(|tool| (index, tool))
    }

    /// Returns true if the tool at that index is one of the control tools.
    #[inline]
    pub(crate) fn is_control_tool(&self, index: usize) -> bool {
        index >= self.first_control_tool
    }

    /// Returns true if the tool at that index is the search over tools.
    pub(crate) fn is_search(&self, index: usize) -> bool {
        self.search.is_some() && index + 1 == self.first_control_tool
    }

    /// Estimates the context with which a session in a mode starts, including the tools that a `dynamic` toolset may hide.
    pub(crate) fn initial_context(&self, mode: Mode, full_guides: bool) -> ContextMetrics {
        *self.initial_contexts[mode as usize].get_or_init(|| {
            let hides = |index| {
                self.search
                    .as_ref()
                    .is_some_and(|search| search.hides(index, mode))
            };
            let shown = self
                .context
                .function_tools()
                .iter()
                .enumerate()
                .filter(|(index, _)| !hides(*index));
            let definitions = shown.map(|(_, tool)| tool.definition());
            initial_context(
                definitions.filter(|tool| tool.modes().contains(mode)),
                full_guides,
            )
        })
    }
}

/// Estimates the context of a session with these tools.
pub(crate) fn initial_context<'a>(
    tools: impl Iterator<Item = &'a ToolDefinition> + Clone,
    full_guides: bool,
) -> ContextMetrics {
    ContextMetrics::new(&instructions(tools.clone(), full_guides), tools)
}

/// Writes the instructions about tools: their guides in full, or the guides' summaries.
pub(crate) fn instructions<'a>(
    tools: impl Iterator<Item = &'a ToolDefinition>,
    full_guides: bool,
) -> String {
    let mut text = String::from("# Tools\n");
    for tool in tools {
        let guide = if full_guides {
            tool.documentation().trim().into()
        } else {
            tool.summary()
        };
        // Writing to a `String` does not fail.
        let _ = write!(text, "\n## {}\n\n{guide}\n", tool.name());
    }
    text
}

/// The tools that exist wherever a tool can be cancelled. They are shared, so that tools that were taken from one session
/// and given to another are recognised.
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
    let id = arguments
        .get("call_id")
        .and_then(Value::as_str)
        .unwrap_or_default();
    session(ctx)?.cancel_for_model(id)?;
    Ok(json!({"cancelled": id}))
}

async fn list(_: Value, ctx: &RunContext) -> Result<Value, ToolError> {
    Ok(json!({"calls": session(ctx)?.running_for_model()}))
}

async fn guide(arguments: Value, ctx: &RunContext) -> Result<Value, ToolError> {
    let tool = arguments
        .get("tool")
        .and_then(Value::as_str)
        .unwrap_or_default();
    session(ctx)?.guide_for_model(tool).map(Value::String)
}

async fn search(arguments: Value, ctx: &RunContext) -> Result<Value, ToolError> {
    let query = arguments
        .get("query")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let limit = arguments.get("limit").and_then(Value::as_u64);
    let limit = limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(Value::String(session(ctx)?.search_for_model(query, limit)))
}

fn session(ctx: &RunContext) -> Result<Arc<dyn SessionHandle>, ToolError> {
    ctx.session_handle().ok_or_else(|| {
        ToolError::session_inactive("there is no session whose calls could be running")
    })
}
