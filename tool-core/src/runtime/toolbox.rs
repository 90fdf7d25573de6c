//! The tools that a session began with: a snapshot that it keeps. R-I4

use super::companions;
use super::handle::Shared;
use super::metrics::{Beginning, Tally};
use crate::context::{RegistryErrors, ToolContext};
use crate::manifest::content_version;
use crate::tool::{FunctionTool, Mode};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

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
    /// `tally`: where the calls of a tool of that name are counted.
    pub(crate) fn new(tools: ToolContext, tally: impl Fn(&str) -> Arc<Tally>) -> Result<Self, RegistryErrors> {
        let tools = companions::removed(tools);
        let own = tools.function_tools().len();
        let cancellable = tools.function_tools().iter().any(|tool| tool.definition().flags().cancellable);
        let context = if cancellable { companions::added(&tools)? } else { tools };
        Ok(Self {
            version: content_version(&context).into(),
            sequential: context.function_tools().iter().any(|tool| tool.definition().flags().sequential),
            tallies: context.function_tools().iter().map(|tool| tally(tool.name())).collect(),
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

    /// Where the calls of the tool of that name are counted.
    pub(crate) fn tally(&self, name: &str) -> Option<&Arc<Tally>> {
        self.tallies.get(self.context.position(name)?)
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

/// What runtimes have made of a context whose tools sessions have as their own, kept with it: it stays the same, so a
/// session of many finds it made.
#[derive(Default)]
pub(super) struct Toolboxes(Mutex<Vec<(Weak<Shared>, Arc<Toolbox>)>>);

impl Toolboxes {
    /// That of this runtime.
    pub(super) fn get(
        &self,
        runtime: &Arc<Shared>,
        make: impl FnOnce() -> Result<Toolbox, RegistryErrors>,
    ) -> Result<Arc<Toolbox>, RegistryErrors> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, toolbox)) = kept.iter().find(|(of, _)| std::ptr::eq(of.as_ptr(), Arc::as_ptr(runtime))) {
            return Ok(Arc::clone(toolbox));
        }
        kept.retain(|(of, _)| of.strong_count() > 0);
        let toolbox = Arc::new(make()?);
        kept.push((Arc::downgrade(runtime), Arc::clone(&toolbox)));
        Ok(toolbox)
    }
}
