//! Actions: the same tools described as plain data, for a user interface that does not read JSON
//! Schema.
//!
//! ```
//! use tool_core::describe::ParameterType;
//! use tool_core::{ToolContext, tool, toolset};
//!
//! struct Calendar;
//!
//! /// Appointments.
//! #[toolset(name = "calendar")]
//! impl Calendar {
//!     /// List events.
//!     #[tool]
//!     fn list_events(&self, #[arg(default = 10, range(1..=50))] max_results: u32) -> Vec<String> {
//!         Vec::with_capacity(max_results as usize)
//!     }
//! }
//!
//! let tools = ToolContext::builder().with(Calendar).build()?;
//! let calendar = &tools.actions()[0];
//! assert_eq!((calendar.name.as_str(), calendar.title.as_str()), ("calendar", "Calendar"));
//!
//! let parameter = &calendar.actions[0].parameters[0];
//! assert_eq!((parameter.kind, parameter.required), (ParameterType::Integer, false));
//! assert_eq!(parameter.max, Some(50.into()));
//! # Ok::<(), tool_core::RegistryErrors>(())
//! ```

use crate::registry::{Registry, ToolContext};
use crate::tool::action::{Action, actions_of_type};
use crate::tool::configure::metadata::title_of;
use crate::tool::registration::{function_tool, linked_functions, linked_toolsets};
use crate::tool::{FunctionTool, Tool, ToolDefinition};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::Arc;

/// A toolset and its actions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolsetActions {
    /// The toolset's id; `functions` for tools outside any toolset.
    pub name: String,
    /// The title for people.
    pub title: String,
    /// The description of the toolset; may be empty.
    pub description: String,
    /// The actions, in the order in which a model sees them.
    pub actions: Vec<Action>,
}

/// The name under which tools outside any toolset are listed.
const FUNCTIONS: &str = "functions";

impl ToolsetActions {
    fn new(name: &str, title: Option<&str>, description: &str, actions: Vec<Action>) -> Self {
        Self {
            name: name.to_owned(),
            title: title_of(name, title),
            description: description.to_owned(),
            actions,
        }
    }

    /// Lists tools outside any toolset; `None` if there are none.
    fn of_functions<'a>(tools: impl Iterator<Item = &'a ToolDefinition>) -> Option<Self> {
        let actions = tools.map(Action::of).collect::<Vec<_>>();
        (!actions.is_empty()).then(|| Self::new(FUNCTIONS, None, "", actions))
    }
}

impl ToolContext {
    /// Returns the function tools as plain data, by toolset. Tools outside any toolset come last,
    /// under `functions`.
    pub fn actions(&self) -> Vec<ToolsetActions> {
        let mut listed = HashSet::new();
        let mut all = Vec::new();
        for toolset in self.toolsets() {
            let nested = Arc::clone(toolset).tools();
            let names = nested
                .iter()
                .filter(|tool| matches!(tool, Tool::Function(_)))
                .map(Tool::id);
            let tools = names
                .filter_map(|name| self.function_tool(name))
                .collect::<Vec<_>>();
            listed.extend(tools.iter().map(|tool| tool.name()));
            if !tools.is_empty() {
                let actions = tools
                    .into_iter()
                    .map(|tool| Action::of(tool.definition()))
                    .collect();
                all.push(ToolsetActions::new(
                    toolset.id(),
                    toolset.title(),
                    toolset.description(),
                    actions,
                ));
            }
        }
        let rest = self
            .function_tools()
            .iter()
            .filter(|tool| !listed.contains(tool.name()));
        all.extend(ToolsetActions::of_functions(
            rest.map(FunctionTool::definition),
        ));
        all
    }
}

impl Registry {
    /// Returns the tools of all linked toolsets as plain data, sorted by the toolset's name,
    /// including toolsets that have to be configured. Free functions come last, under `functions`.
    /// Defaults that an instance decides are left out.
    ///
    /// ```standalone_crate
    /// use tool_core::{Registry, tool};
    ///
    /// /// Add two numbers.
    /// #[tool]
    /// fn add(a: i64, b: i64) -> i64 {
    ///     a + b
    /// }
    ///
    /// let toolsets = Registry::discover()?.actions();
    /// assert_eq!((toolsets[0].name.as_str(), toolsets[0].actions[0].name.as_str()), ("functions", "add"));
    /// # Ok::<(), tool_core::RegistryErrors>(())
    /// ```
    pub fn actions(&self) -> Vec<ToolsetActions> {
        let described = linked_toolsets().map(|(linked, _)| {
            let toolset = &linked.toolset;
            ToolsetActions::new(
                toolset.name,
                toolset.title,
                toolset.description,
                actions_of_type(&linked),
            )
        });
        let mut all = described.collect::<Vec<_>>();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        let mut functions = linked_functions()
            .map(|(_, spec)| function_tool(spec))
            .collect::<Vec<_>>();
        functions.sort_by(|a, b| a.name().cmp(b.name()));
        all.extend(ToolsetActions::of_functions(
            functions.iter().map(FunctionTool::definition),
        ));
        all
    }
}
