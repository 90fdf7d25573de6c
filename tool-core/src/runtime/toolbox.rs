//! The tools that a session began with: a snapshot that it keeps. R-I4

use super::companions;
use super::tally::Tally;
use crate::context::{RegistryErrors, ToolContext};
use crate::manifest::content_version;
use crate::tool::FunctionTool;
use std::sync::Arc;

pub(crate) struct Toolbox {
    /// The host's tools and, where one of them is `cancellable`, the runtime's own.
    pub(crate) context: ToolContext,
    /// What approvals are bound to.
    pub(crate) version: Arc<str>,
    /// Whether some calls may not run beside others.
    pub(crate) sequential: bool,
    /// One for each function tool, in their order.
    pub(crate) tallies: Box<[Tally]>,
    /// Function tools from here on are the runtime's own.
    own: usize,
}

impl Toolbox {
    pub(crate) fn new(tools: ToolContext) -> Result<Self, RegistryErrors> {
        let own = tools.function_tools().len();
        let cancellable = tools.function_tools().iter().any(|tool| tool.definition().flags().cancellable);
        let context = if cancellable { companions::added(&tools)? } else { tools };
        Ok(Self {
            version: content_version(&context).into(),
            sequential: context.function_tools().iter().any(|tool| tool.definition().flags().sequential),
            tallies: context.function_tools().iter().map(|_| Tally::default()).collect(),
            context,
            own,
        })
    }

    #[inline]
    pub(crate) fn find(&self, name: &str) -> Option<(usize, &FunctionTool)> {
        let at = self.context.position(name)?;
        self.context.function_tools().get(at).map(|tool| (at, tool))
    }

    /// Whether that is the name of one of the runtime's own tools.
    pub(crate) fn is_own(&self, name: &str) -> bool {
        self.context.position(name).is_some_and(|at| self.is_companion(at))
    }

    /// Whether the tool at that place is one of the runtime's own.
    #[inline]
    pub(crate) fn is_companion(&self, at: usize) -> bool {
        at >= self.own
    }
}
