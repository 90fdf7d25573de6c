//! The tools that a session declares to its model: all of its mode, or with tool search those that
//! the model has found.

use crate::session::inner::SessionInner;
use crate::session::metrics::ContextMetrics;
use crate::session::search::SearchableTools;
use crate::session::tools::{initial_context, instructions};
use crate::text::{prefix, truncate};
use crate::tool::{FunctionTool, ToolDefinition};
use std::fmt::Write as _;

/// The characters of a tool's description in the answer to a search.
const SUMMARY: usize = 200;
/// The bytes of a query that are read.
const QUERY: usize = 4_096;

impl SessionInner {
    /// Returns the definitions of the tools that are declared to the model now: those that are
    /// always declared in the order of the context, and then those that were found.
    pub(crate) fn definitions(&self) -> Vec<ToolDefinition> {
        let ctx = self.current_context();
        let mode = self.mode();
        let tools = self.tools.context.function_tools();
        let is_callable = |tool: &&FunctionTool| {
            tool.definition().modes().contains(mode) && tool.visible_in(&ctx)
        };
        let Some(search) = self.tools.search.as_deref() else {
            return tools
                .iter()
                .filter(is_callable)
                .map(|tool| tool.definition().clone())
                .collect();
        };
        let found = self
            .rare
            .get()
            .map(|rare| rare.found.lock().indices())
            .unwrap_or_default();
        let shown = tools
            .iter()
            .enumerate()
            .filter(|(index, _)| !search.hides(*index, mode))
            .map(|(_, tool)| tool);
        let found = found
            .iter()
            .filter(|index| search.hides(**index, mode))
            .filter_map(|index| tools.get(*index));
        shown
            .chain(found)
            .filter(is_callable)
            .map(|tool| tool.definition().clone())
            .collect()
    }

    /// Returns the definitions of the tools that the model must find, found or not.
    pub(crate) fn searchable_definitions(&self) -> Vec<ToolDefinition> {
        let Some(search) = self.tools.search.as_deref() else {
            return Vec::new();
        };
        let ctx = self.current_context();
        let mode = self.mode();
        let hidden = self.tools.context.function_tools().iter().enumerate();
        let hidden =
            hidden.filter(|(index, tool)| search.hides(*index, mode) && tool.visible_in(&ctx));
        hidden.map(|(_, tool)| tool.definition().clone()).collect()
    }

    /// Searches tools for the model, declares those that it finds from now on, and describes them.
    pub(crate) fn search_tools(&self, query: &str, limit: Option<usize>) -> String {
        let mode = self.mode();
        let policy = self.policy();
        let (Some(search), Some(settings)) =
            (self.tools.search.as_deref(), policy.search.as_deref())
        else {
            return "there are no further tools".to_owned();
        };
        let ctx = self.current_context();
        let tools = &self.tools;
        let limit = limit.unwrap_or(settings.results).clamp(1, settings.keep);
        let ranked = search
            .index(&tools.context)
            .search(prefix(query, QUERY), usize::MAX);
        let ranked = ranked.into_iter().filter_map(|name| tools.find(name));
        let ranked =
            ranked.filter(|(index, tool)| search.hides(*index, mode) && tool.visible_in(&ctx));
        let (indices, found): (Vec<_>, Vec<_>) = ranked.take(limit).unzip();
        if found.is_empty() {
            return "no tool has these words; search for the same thing by other words".to_owned();
        }
        self.add_found(&indices, false, settings.keep);
        let mut text = String::from("You can call these tools from your next step on:\n");
        for tool in found {
            let summary = truncate(&tool.definition().summary(), SUMMARY);
            // Writing to a `String` does not fail.
            let _ = writeln!(text, "- {}: {summary}", tool.name());
        }
        text
    }

    /// Declares a tool that the model calls, if it must find it.
    #[cold]
    pub(crate) fn keep_called(&self, search: &SearchableTools, index: usize) {
        if let Some(settings) = self
            .policy()
            .search
            .as_deref()
            .filter(|_| search.hides(index, self.mode()))
        {
            self.add_found(&[index], true, settings.keep);
        }
    }

    fn add_found(&self, indices: &[usize], is_call: bool, keep: usize) {
        self.rare()
            .found
            .lock()
            .add(indices, self.record.turn(), is_call, keep);
    }

    /// Returns the instructions about the tools.
    pub(crate) fn instructions(&self) -> String {
        instructions(
            self.definitions().iter(),
            self.policy().full_guides[self.mode() as usize],
        )
    }

    /// Returns the instructions about some of the tools.
    pub(crate) fn instructions_about(&self, tools: &[ToolDefinition]) -> String {
        instructions(
            tools.iter(),
            self.policy().full_guides[self.mode() as usize],
        )
    }

    /// Estimates the context with which the session starts.
    pub(crate) fn initial_context(&self) -> ContextMetrics {
        let full_guides = self.policy().full_guides[self.mode() as usize];
        let context = if self
            .tools
            .context
            .function_tools()
            .iter()
            .any(FunctionTool::is_dynamic)
        {
            initial_context(self.definitions().iter(), full_guides)
        } else {
            self.tools.initial_context(self.mode(), full_guides)
        };
        self.context_usage
            .prompt()
            .map_or(context, |tokens| context.with_prompt(tokens))
    }
}
