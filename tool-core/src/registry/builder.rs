//! The builder of tool contexts.

use crate::arguments::coerce::Coercions;
use crate::registry::context::{ContextParts, ToolContext};
#[cfg(feature = "agents")]
use crate::registry::context::{KeepAlive, SharedResource};
use crate::registry::freeze::{RegistryError, RegistryErrors};
use crate::tool::function::FunctionTool;
use crate::tool::toolset::{IntoTool, Tool};
#[cfg(feature = "agents")]
use std::sync::Arc;

impl ToolContext {
    /// Returns a builder for a context of selected tools.
    pub fn builder() -> ToolContextBuilder {
        ToolContextBuilder::default()
    }

    /// Returns a builder with the same tools.
    pub(crate) fn to_builder(&self) -> ToolContextBuilder {
        ToolContextBuilder { parts: self.to_parts(), ..ToolContextBuilder::default() }
    }
}

/// Builds a [`ToolContext`]. [`build`](Self::build) checks all tools and reports every problem.
#[derive(Default)]
#[must_use]
pub struct ToolContextBuilder {
    parts: ContextParts,
    problems: Vec<RegistryError>,
    /// True where each tool was checked before, so that only their names are compared.
    validated: bool,
}

impl ToolContextBuilder {
    /// Adds a toolset by value or in an `Arc`, a `#[tool]` function by its name, or a tool. An instance that was added
    /// before is ignored.
    pub fn with<M>(mut self, tool: impl IntoTool<M>) -> Self {
        match tool.into_tool() {
            Ok(tool) => self.parts.entries.push(tool),
            Err(message) => self.problems.push(RegistryError::new(message, [])),
        }
        self
    }

    /// Adds several tools of the same type.
    pub fn with_all<M, T: IntoTool<M>>(self, tools: impl IntoIterator<Item = T>) -> Self {
        tools.into_iter().fold(self, Self::with)
    }

    /// Sets the lossless coercions of arguments that are allowed. Defaults to all.
    pub fn coercions(mut self, coercions: Coercions) -> Self {
        self.parts.settings.coercions = coercions;
        self
    }

    /// Sets the maximum size of a call's arguments in bytes. Defaults to 1 MiB.
    pub fn max_argument_bytes(mut self, bytes: usize) -> Self {
        self.parts.settings.argument_bytes = bytes;
        self
    }

    /// Sets the maximum size of a result in bytes. A longer result is cut. Defaults to 1 MiB. The `max_output` of a tool
    /// is a separate limit.
    pub fn max_output_bytes(mut self, bytes: usize) -> Self {
        self.parts.settings.output_bytes = bytes;
        self
    }

    /// Removes function tools that were added outside any toolset.
    pub(crate) fn without(mut self, remove: impl Fn(&FunctionTool) -> bool) -> Self {
        self.parts.entries.retain(|entry| !matches!(entry, Tool::Function(tool) if remove(tool)));
        self
    }

    /// Keeps a resource alive for as long as the context, or a context made of it, is used.
    #[cfg(feature = "agents")]
    pub(crate) fn keep_alive(mut self, resource: SharedResource) -> Self {
        self.parts.keep_alive = KeepAlive::Strong(resource);
        self
    }

    /// Sets the agent to which the tools belong.
    #[cfg(feature = "agents")]
    pub(crate) fn agent(mut self, agent: Arc<str>) -> Self {
        self.parts.agent = Some(agent);
        self
    }

    /// Skips the checks of single tools, which have passed them before. Names are still compared.
    #[cfg(feature = "agents")]
    pub(crate) fn already_validated(mut self) -> Self {
        self.validated = true;
        self
    }

    /// Checks all tools and freezes them.
    ///
    /// # Errors
    ///
    /// Every problem: names that collide, invalid names, invalid schemas.
    pub fn build(self) -> Result<ToolContext, RegistryErrors> {
        ToolContext::freeze(self.parts, self.problems, self.validated)
    }
}
