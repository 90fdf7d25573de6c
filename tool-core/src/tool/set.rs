//! The options of a tool that is made at run time, as the macro's attributes set them for others.

use super::{Category, Confirm, DuplicateScope, Flags, FunctionTool, Modes, OnDuplicate};
use crate::guide::Guide;
use serde_json::Value;
use std::time::Duration;

/// Options, for raw tools above all. Each call gives another instance.
impl FunctionTool {
    /// What the tool is for.
    #[must_use]
    pub fn category(&self, category: Category) -> Self {
        self.changed(|definition| {
            definition.category = category;
            definition.flags.idempotent |= category == Category::Retrieval;
        })
    }

    /// Where the tool may be called.
    #[must_use]
    pub fn modes(&self, modes: Modes) -> Self {
        self.changed(|definition| definition.modes = modes)
    }

    /// How long a call may take.
    #[must_use]
    pub fn timeout(&self, timeout: Duration) -> Self {
        self.changed(|definition| definition.timeout = Some(timeout))
    }

    /// The Unicode scalars that a result may have.
    #[must_use]
    pub fn max_output(&self, scalars: usize) -> Self {
        self.changed(|definition| definition.max_output = Some(scalars))
    }

    /// The JSON Schema of the result. A raw tool's results are held to it.
    #[must_use]
    pub fn output_schema(&self, schema: Value) -> Self {
        self.changed(|definition| definition.output = Some(schema))
    }

    /// A name for people.
    #[must_use]
    pub fn title(&self, title: impl Into<String>) -> Self {
        self.changed(|definition| definition.title = Some(title.into().into()))
    }

    /// Whether a call waits for a person's word.
    #[must_use]
    pub fn confirm(&self, confirm: Confirm) -> Self {
        self.changed(|definition| definition.confirm = confirm)
    }

    /// Its yes-or-no options, all at once. What reads is idempotent whatever they say.
    ///
    /// ```
    /// use tool_core::{Flags, FunctionTool};
    ///
    /// fn deletes(tool: &FunctionTool) -> FunctionTool {
    ///     tool.flags(Flags { destructive: true, open_world: true, ..tool.definition().flags() })
    /// }
    /// ```
    #[must_use]
    pub fn flags(&self, flags: Flags) -> Self {
        self.changed(|definition| {
            definition.flags = flags;
            definition.flags.idempotent |= definition.category == Category::Retrieval;
        })
    }

    /// What happens to a call while another runs, and which calls count as another.
    #[must_use]
    pub fn on_duplicate(&self, what: OnDuplicate, scope: DuplicateScope) -> Self {
        self.changed(|definition| {
            definition.on_duplicate = what;
            definition.duplicate_scope = scope;
        })
    }

    /// The calls a turn may make of it.
    #[must_use]
    pub fn max_calls(&self, calls: u32) -> Self {
        self.changed(|definition| definition.max_calls = Some(calls))
    }

    /// The guide, in markdown.
    #[must_use]
    pub fn guide(&self, markdown: &str) -> Self {
        let guide = Guide::parse(markdown);
        self.changed(|definition| definition.guide = Some(guide))
    }
}
