//! The tools of a session: a snapshot taken when it is opened.

use crate::call::Mode;
use crate::describe::manifest::content_version;
use crate::registry::ToolContext;
use crate::session::metrics::ContextMetrics;
use crate::session::metrics::tool_stats::ToolStats;
use crate::session::policy::Policy;
use crate::session::search::SearchableTools;
use crate::tool::instance::OpenToolsets;
use crate::tool::{FunctionTool, ToolDefinition};
use parking_lot::Mutex;
use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};

/// Policies by mode.
pub(crate) type Policies = [Policy; 2];

/// The tools that a session offers to its model: those of the host, then those that the runtime
/// adds.
pub(crate) struct OfferedTools {
    pub(crate) context: ToolContext,
    /// The index of the first control tool.
    pub(crate) first_control_tool: usize,
    /// `None` in most sessions, which declare all of their tools.
    pub(crate) search: Option<Box<SearchableTools>>,
}

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
        offered: OfferedTools,
        stats: impl Fn(&str) -> Arc<ToolStats>,
        policies: &Arc<Policies>,
    ) -> Self {
        let OfferedTools {
            context,
            first_control_tool,
            search,
        } = offered;
        Self {
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
        }
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

    /// Returns true if the session has added the tool itself.
    #[inline]
    pub(crate) fn is_own(&self, index: usize) -> bool {
        self.is_control_tool(index) || self.is_search(index)
    }

    /// Returns true if the tool at that index is the search over tools.
    pub(crate) fn is_search(&self, index: usize) -> bool {
        self.search.is_some() && index + 1 == self.first_control_tool
    }

    /// Estimates the context with which a session in a mode starts, including the tools that a
    /// `dynamic` toolset may hide.
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

/// Writes the instructions about tools: their guides in full, or the guides' summaries. What a
/// declaration says already is left out, so that the model reads it once. The text is empty if no
/// guide says more.
pub(crate) fn instructions<'a>(
    tools: impl Iterator<Item = &'a ToolDefinition>,
    full_guides: bool,
) -> String {
    let mut text = String::new();
    for tool in tools {
        let Some(guide) = tool.guide() else {
            continue;
        };
        let guide = if full_guides {
            guide.text().trim()
        } else {
            guide.summary()
        };
        if guide.is_empty() || tool.description().contains(guide) {
            continue;
        }
        if text.is_empty() {
            text.push_str("# Tools\n");
        }
        // Writing to a `String` does not fail.
        let _ = write!(text, "\n## {}\n\n{guide}\n", tool.name());
    }
    text
}
