//! Tool search: a session with many tools declares a few of them, and the model finds the others by
//! words.

use crate::call::{Mode, Modes};
use crate::describe::search::ToolIndex;
use crate::registry::ToolContext;
use crate::session::metrics::ContextMetrics;
use crate::text::matches_tool;
use crate::tool::{FunctionTool, ToolDefinition};
use std::sync::OnceLock;

/// The settings of tool search, for [`Policy::search_tools`](crate::Policy::search_tools).
///
/// Over its threshold a session declares the tools that are always declared, `search_tools`, and
/// those that the model has found or called. `search_tools` ranks the others by the words of their
/// names, descriptions and parameters ([`ToolIndex`]). It is charged to the turn as a utility. The
/// model may call a tool that it has not found, for example one that it knows from an earlier
/// conversation: the call is made, and the tool is declared from then on.
///
/// ```
/// use serde_json::{Value, json};
/// use tool_core::session::ToolSearch;
/// use tool_core::{FunctionTool, Mode, Policy, RawTool, RunContext, Runtime, Session, Tool, ToolCall, ToolContext, ToolError};
///
/// async fn run(_: Value, ctx: &RunContext) -> Result<Value, ToolError> {
///     Ok(json!({"done": ctx.tool()}))
/// }
///
/// fn names(session: &Session) -> Vec<String> {
///     session.definitions().iter().map(|tool| tool.name().to_owned()).collect()
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let tools = ["help", "send_letter", "send_invoice", "cancel_order"].map(|name| {
///     let raw = RawTool { name: name.into(), description: String::new(), parameters: json!({"type": "object"}) };
///     Tool::from(FunctionTool::raw(raw, run))
/// });
/// let tools = ToolContext::builder().with_all(tools).build()?;
/// let policy = Policy::text().search_tools(ToolSearch::over_tools(3).always(["help"]).results(1));
/// let session = Runtime::builder(tools).policy(policy).build()?.session("s-1", Mode::Text).await?;
/// assert_eq!(names(&session), ["help", "search_tools"]);
///
/// let found = session.call(ToolCall::new("call_1", "search_tools", json!({"query": "invoices"}))).await;
/// assert!(found.into_text().contains("send_invoice"));
/// assert_eq!(names(&session), ["help", "search_tools", "send_invoice"]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct ToolSearch {
    threshold: Threshold,
    always: Vec<String>,
    pub(crate) results: usize,
    pub(crate) keep: usize,
}

/// The size above which the tools of a session are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Threshold {
    Tools(usize),
    Tokens(u64),
}

impl ToolSearch {
    /// Creates the settings for sessions with more than so many tools of their mode. Tools that a
    /// `dynamic` toolset hides count, control tools do not.
    pub fn over_tools(tools: usize) -> Self {
        Self::over(Threshold::Tools(tools))
    }

    /// Creates the settings for sessions whose tools take more than so many tokens, as
    /// [`ContextMetrics::tool_decl_tokens`](crate::session::ContextMetrics::tool_decl_tokens) estimates them: a token for
    /// every four characters of the declarations. Tools that a `dynamic` toolset hides count,
    /// control tools do not.
    pub fn over_tokens(tokens: u64) -> Self {
        Self::over(Threshold::Tokens(tokens))
    }

    fn over(threshold: Threshold) -> Self {
        Self {
            threshold,
            always: Vec::new(),
            results: 5,
            keep: 32,
        }
    }

    /// Adds tools that are always declared, by their names. A `*` stands for any text, even an
    /// empty one: `kb_*`.
    pub fn always<T: Into<String>>(mut self, patterns: impl IntoIterator<Item = T>) -> Self {
        self.always.extend(patterns.into_iter().map(Into::into));
        self
    }

    /// Sets the tools that one search finds, unless the model asks for another number. Defaults to
    /// 5.
    pub fn results(mut self, tools: usize) -> Self {
        self.results = tools.max(1);
        self
    }

    /// Sets the found tools that stay declared, which is also the most that one search finds. Past
    /// it, those that were found or called longest ago are no longer declared. Tools that the
    /// current turn has called stay. Defaults to 32.
    pub fn keep(mut self, tools: usize) -> Self {
        self.keep = tools.max(1);
        self
    }

    /// Returns true if these tools of a mode are searched.
    fn is_over(&self, tools: &[&ToolDefinition]) -> bool {
        match self.threshold {
            Threshold::Tools(limit) => tools.len() > limit,
            Threshold::Tokens(limit) => {
                ContextMetrics::new("", tools.iter().copied()).tool_decl_tokens > limit
            }
        }
    }

    fn is_always_declared(&self, name: &str) -> bool {
        self.always
            .iter()
            .any(|pattern| matches_tool(pattern, name))
    }
}

/// The tools of a session that the model must find.
pub(crate) struct SearchableTools {
    /// The modes in which the model searches.
    pub(crate) modes: Modes,
    /// By mode and by the index of a tool: true for a tool that is declared once it is found. Empty
    /// for other modes.
    hidden: [Box<[bool]>; 2],
    index: OnceLock<ToolIndex>,
}

impl SearchableTools {
    /// Returns the tools to find among those of a context. `settings` has those of each mode that
    /// has its tools searched.
    pub(crate) fn new(
        tools: &ToolContext,
        settings: [Option<&ToolSearch>; 2],
    ) -> Option<Box<Self>> {
        if settings.iter().all(Option::is_none) {
            return None;
        }
        let hidden = [Mode::Voice, Mode::Text]
            .map(|mode| hidden_tools(tools.function_tools(), mode, settings[mode as usize]));
        let [voice, text] = hidden.each_ref().map(|hidden| hidden.contains(&true));
        let modes = if voice {
            Modes::NONE.with(Mode::Voice)
        } else {
            Modes::NONE
        };
        let modes = if text { modes.with(Mode::Text) } else { modes };
        (voice || text).then(|| {
            Box::new(Self {
                modes,
                hidden,
                index: OnceLock::new(),
            })
        })
    }

    /// Returns true if a tool is declared only once it is found.
    pub(crate) fn hides(&self, index: usize, mode: Mode) -> bool {
        self.hidden[mode as usize]
            .get(index)
            .copied()
            .unwrap_or_default()
    }

    /// Returns the index over the tools, which the first search builds.
    pub(crate) fn index(&self, tools: &ToolContext) -> &ToolIndex {
        let host = self
            .hidden
            .iter()
            .map(|hidden| hidden.len())
            .max()
            .unwrap_or_default();
        self.index
            .get_or_init(|| ToolIndex::new(tools.definitions().take(host)))
    }
}

/// Returns true for each tool that is declared only once it is found, or nothing if the mode has no
/// search.
fn hidden_tools(tools: &[FunctionTool], mode: Mode, settings: Option<&ToolSearch>) -> Box<[bool]> {
    let serves = |tool: &ToolDefinition| tool.modes().contains(mode);
    let all = tools.iter().map(FunctionTool::definition);
    let of_mode = all.clone().filter(|tool| serves(tool)).collect::<Vec<_>>();
    match settings {
        Some(search) if search.is_over(&of_mode) => all
            .map(|tool| serves(tool) && !search.is_always_declared(tool.name()))
            .collect(),
        _ => Box::default(),
    }
}

/// The tools that a session has found, in the order in which they were found: a provider's cache of
/// a prompt then keeps the declarations before a new one.
#[derive(Default)]
pub(crate) struct FoundTools {
    tools: Vec<FoundTool>,
    /// Counts searches and calls.
    clock: u64,
}

struct FoundTool {
    index: usize,
    /// The search or the call by which the tool was needed last.
    used: u64,
    /// The turn of the last call.
    called: Option<u64>,
}

impl FoundTools {
    /// Adds the tools of one search, or the tool that a turn calls.
    pub(crate) fn add(&mut self, indices: &[usize], turn: u64, is_call: bool, keep: usize) {
        self.clock += 1;
        for index in indices {
            let known = self.tools.iter().position(|tool| tool.index == *index);
            let at = known.unwrap_or_else(|| {
                self.tools.push(FoundTool {
                    index: *index,
                    used: 0,
                    called: None,
                });
                self.tools.len() - 1
            });
            self.tools[at].used = self.clock;
            self.tools[at].called = if is_call {
                Some(turn)
            } else {
                self.tools[at].called
            };
        }
        while self.tools.len() > keep {
            let may_leave = |tool: &&FoundTool| tool.used < self.clock && tool.called != Some(turn);
            let Some(oldest) = self
                .tools
                .iter()
                .filter(may_leave)
                .map(|tool| tool.used)
                .min()
            else {
                return;
            };
            // The tools of one search have one number, of which the one that was found first
            // leaves.
            let Some(at) = self
                .tools
                .iter()
                .position(|tool| tool.used == oldest && tool.called != Some(turn))
            else {
                return;
            };
            self.tools.remove(at);
        }
    }

    /// Returns the same tools under the indices that they have among other tools. Those that are not
    /// among them are left out.
    pub(crate) fn moved(&self, index_of: impl Fn(usize) -> Option<usize>) -> Self {
        let moved = self.tools.iter().filter_map(|tool| {
            let index = index_of(tool.index)?;
            Some(FoundTool { index, ..*tool })
        });
        Self {
            tools: moved.collect(),
            clock: self.clock,
        }
    }

    /// Returns the indices of the tools.
    pub(crate) fn indices(&self) -> Vec<usize> {
        self.tools.iter().map(|tool| tool.index).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(steps: &[(&[usize], u64, bool)], keep: usize) -> Vec<usize> {
        let mut found = FoundTools::default();
        for (indices, turn, is_call) in steps {
            found.add(indices, *turn, *is_call, keep);
        }
        found.indices()
    }

    #[test]
    fn a_tool_is_always_declared_by_the_name_that_clients_see() {
        let search = ToolSearch::over_tools(1).always(["gh_create_*"]);
        assert!(search.is_always_declared("gh_create:issue"));
        assert!(!search.is_always_declared("gh:delete"));
    }

    #[test]
    fn the_oldest_unused_tools_leave_first() {
        assert_eq!(
            found(
                &[(&[1, 2], 0, false), (&[3], 0, false), (&[4], 0, false)],
                3
            ),
            [2, 3, 4]
        );
        // A tool that is found or called again is not old, and keeps its place.
        assert_eq!(
            found(
                &[(&[1, 2], 0, false), (&[1], 0, true), (&[3, 4], 1, false)],
                3
            ),
            [1, 3, 4]
        );
    }

    #[test]
    fn tools_that_the_turn_calls_stay() {
        let called: [(&[usize], u64, bool); 3] =
            [(&[1], 0, true), (&[2], 0, true), (&[3, 4], 0, false)];
        assert_eq!(found(&called, 2), [1, 2, 3, 4]);
        let later = [called[0], called[1], called[2], (&[5], 1, false)];
        assert_eq!(found(&later, 2), [4, 5]);
    }

    #[test]
    fn no_search_loses_what_it_has_found() {
        assert_eq!(found(&[(&[9], 0, true), (&[1, 2], 0, false)], 2), [9, 1, 2]);
    }
}
