//! Actions: the same tools described as plain data, for a user interface that does not read JSON Schema.
//!
//! ```
//! use tool_core::actions::ParameterType;
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

mod derive;
mod facts;
mod unbound;

#[cfg(test)]
mod tests;

pub(crate) use unbound::of_type;

use crate::ToolContext;
use crate::configure::ToolsetMetadata;
use crate::tool::{FunctionTool, Tool, ToolDefinition};
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};
use std::collections::HashSet;
use std::sync::Arc;

/// A toolset and what it can do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolsetActions {
    /// The toolset's id; `functions` for the tools that stand in none.
    pub name: String,
    /// A name for people.
    pub title: String,
    /// What it is for; may be empty.
    pub description: String,
    /// What it can do, in the order in which it is offered to a model.
    pub actions: Vec<Action>,
}

/// Something that a toolset can do: a function to the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Action {
    /// The name by which a model calls it, prefix included.
    pub name: String,
    /// What the model reads.
    pub description: String,
    /// In the order of the signature, what flattened types add after the others.
    pub parameters: Vec<ActionParameter>,
    /// What it returns, in words; `any` where nothing was written.
    pub returns: String,
}

/// A parameter of an action. Its figures are those of the schema, which is what is enforced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ActionParameter {
    /// The name in JSON.
    pub name: String,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: ParameterType,
    /// What the model reads; may be empty.
    pub description: String,
    /// Whether it has to be given.
    pub required: bool,
    /// What it is where it is not given. Absent too where not giving it means just that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// All values it may have; of an array, all values its items may have.
    #[serde(default, rename = "enum", skip_serializing_if = "Option::is_none")]
    pub one_of: Option<Vec<Value>>,
    /// The least value of a number, the least length of a text, the least number of items of an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<Number>,
    /// The same at the other end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<Number>,
    /// Whether `min` itself is refused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exclusive_min: bool,
    /// Whether `max` itself is refused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exclusive_max: bool,
    /// The format of a text, such as `email`; of an array, that of its items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
}

/// What a parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ParameterType {
    /// A text.
    String,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// Yes or no.
    Boolean,
    /// A list.
    Array,
    /// An object, or JSON of several shapes.
    Object,
    /// An instant, as RFC 3339 text.
    DateTime,
}

/// Where tools that stand in no toolset are listed.
const FUNCTIONS: &str = "functions";

impl ToolsetActions {
    pub(crate) fn new(toolset: ToolsetMetadata, actions: Vec<Action>) -> Self {
        Self { name: toolset.name, title: toolset.title, description: toolset.description, actions }
    }

    /// Tools that stand in no toolset; nothing where there are none.
    pub(crate) fn of_functions<'a>(tools: impl Iterator<Item = &'a ToolDefinition>) -> Option<Self> {
        let actions = tools.map(Action::of).collect::<Vec<_>>();
        (!actions.is_empty()).then(|| Self::new(ToolsetMetadata::new(FUNCTIONS, ""), actions))
    }
}

impl ToolContext {
    /// The function tools as plain data, by toolset. Tools that stand in none come last, under `functions`.
    pub fn actions(&self) -> Vec<ToolsetActions> {
        let mut listed = HashSet::new();
        let mut all = Vec::new();
        for toolset in self.toolsets() {
            let nested = Arc::clone(toolset).tools();
            let names = nested.iter().filter(|tool| matches!(tool, Tool::Function(_))).map(Tool::id);
            let tools = names.filter_map(|name| self.function_tool(name)).collect::<Vec<_>>();
            listed.extend(tools.iter().map(|tool| tool.name()));
            if !tools.is_empty() {
                let actions = tools.into_iter().map(|tool| Action::of(tool.definition())).collect();
                let metadata = ToolsetMetadata::new(toolset.id(), toolset.description());
                let metadata = toolset.title().map(|title| metadata.clone().titled(title)).unwrap_or(metadata);
                all.push(ToolsetActions::new(metadata, actions));
            }
        }
        let rest = self.function_tools().iter().filter(|tool| !listed.contains(tool.name()));
        all.extend(ToolsetActions::of_functions(rest.map(FunctionTool::definition)));
        all
    }
}
