//! The tools that a session began with: a snapshot that it keeps. R-I4

use super::companions;
use super::metrics::{Beginning, Tally};
use crate::context::{RegistryErrors, ToolContext};
use crate::manifest::content_version;
use crate::tool::{FunctionTool, Mode};
use std::sync::{Arc, OnceLock};

pub(crate) struct Toolbox {
    /// The host's tools and, where one of them is `cancellable`, the runtime's own.
    pub(crate) context: ToolContext,
    /// What approvals are bound to.
    pub(crate) version: Arc<str>,
    /// Whether some calls may not run beside others.
    pub(crate) sequential: bool,
    /// One for each function tool, in their order. A tool that stays when the others change keeps its own.
    pub(crate) tallies: Box<[Arc<Tally>]>,
    /// What a session begins with, by mode.
    begins: [OnceLock<Beginning>; 2],
    /// Function tools from here on are the runtime's own.
    own: usize,
}

impl Toolbox {
    /// `large`: the characters past which a result is one to be warned of.
    pub(crate) fn new(tools: ToolContext, before: Option<&Self>, large: u32) -> Result<Self, RegistryErrors> {
        let own = tools.function_tools().len();
        let cancellable = tools.function_tools().iter().any(|tool| tool.definition().flags().cancellable);
        let context = if cancellable { companions::added(&tools)? } else { tools };
        Ok(Self {
            version: content_version(&context).into(),
            sequential: context.function_tools().iter().any(|tool| tool.definition().flags().sequential),
            tallies: context.function_tools().iter().map(|tool| tally(before, tool.name(), large)).collect(),
            begins: Default::default(),
            context,
            own,
        })
    }

    #[inline]
    pub(crate) fn find(&self, name: &str) -> Option<(usize, &FunctionTool)> {
        let at = self.context.position(name)?;
        self.context.function_tools().get(at).map(|tool| (at, tool))
    }

    /// What a session begins with.
    pub(crate) fn begins(&self, mode: Mode, full_guides: bool) -> Beginning {
        *self.begins[mode as usize].get_or_init(|| Beginning::of_toolbox(self, mode, full_guides))
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

/// The tally of a name: the one that it had.
fn tally(before: Option<&Toolbox>, name: &str, large: u32) -> Arc<Tally> {
    let known = before.and_then(|before| before.tallies.get(before.context.position(name)?));
    known.map_or_else(|| Arc::new(Tally::new(large)), Arc::clone)
}
