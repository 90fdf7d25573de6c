//! Putting a tool context together by hand.

use crate::arguments::coerce::Coercions;
use crate::registry::ToolContext;
use crate::registry::errors::{RegistryError, RegistryErrors};
use crate::registry::freeze::Parts;
#[cfg(feature = "agents")]
use crate::registry::lifecycle::{Keep, Kept};
use crate::tool::function::FunctionTool;
use crate::tool::toolset::{IntoTool, Tool};
#[cfg(feature = "agents")]
use std::sync::Arc;

/// Makes a [`ToolContext`]. Nothing is checked before [`build`](Self::build), which tells every problem at once.
#[derive(Default)]
#[must_use]
pub struct ToolContextBuilder {
    parts: Parts,
}

impl ToolContextBuilder {
    pub(crate) fn of(parts: Parts) -> Self {
        Self { parts }
    }

    /// Adds a toolset by value (or in an `Arc`), a `#[tool]` fn by its name, or a tool. The same instance twice counts once.
    #[track_caller]
    pub fn with<M>(mut self, tool: impl IntoTool<M>) -> Self {
        match tool.into_tool() {
            Ok(tool) => self.parts.entries.push(tool),
            Err(message) => self.parts.problems.push(RegistryError { message, places: Vec::new() }),
        }
        self
    }

    /// Adds several of a kind.
    #[track_caller]
    pub fn with_all<M, T: IntoTool<M>>(self, tools: impl IntoIterator<Item = T>) -> Self {
        tools.into_iter().fold(self, Self::with)
    }

    /// Which lossless readings of arguments are allowed; all of them unless told.
    pub fn coercions(mut self, coercions: Coercions) -> Self {
        self.parts.settings.coercions = coercions;
        self
    }

    /// The bytes that a call's arguments may have; 1 MiB unless told.
    pub fn max_argument_bytes(mut self, bytes: usize) -> Self {
        self.parts.settings.argument_bytes = bytes;
        self
    }

    /// The bytes that a result may have before it is cut; 1 MiB unless told. `max_output` of a tool is a limit of
    /// its own.
    pub fn max_output_bytes(mut self, bytes: usize) -> Self {
        self.parts.settings.output_bytes = bytes;
        self
    }

    /// Leaves function tools out that stand in no toolset.
    pub(crate) fn without(mut self, out: impl Fn(&FunctionTool) -> bool) -> Self {
        self.parts.entries.retain(|entry| !matches!(entry, Tool::Function(tool) if out(tool)));
        self
    }

    /// Keeps something for as long as the context is used, and every context that is made of it.
    #[cfg(feature = "agents")]
    pub(crate) fn keep(mut self, kept: Kept) -> Self {
        self.parts.keep = Keep::Held(kept);
        self
    }

    /// Says whose tools they are.
    #[cfg(feature = "agents")]
    pub(crate) fn agent(mut self, agent: Arc<str>) -> Self {
        self.parts.agent = Some(agent);
        self
    }

    /// Says that each tool was checked by itself already: only their names are compared.
    #[cfg(feature = "agents")]
    pub(crate) fn checked(mut self) -> Self {
        self.parts.checked = true;
        self
    }

    /// Checks everything and freezes it.
    pub fn build(self) -> Result<ToolContext, RegistryErrors> {
        ToolContext::freeze(self.parts)
    }
}
