//! Where the tools come from.

use super::declared::{self, Purpose};
use super::status::Stop;
use std::path::Path;
use tool_core::ToolContext;

/// The tools of a command line that names no file.
pub(super) enum Source {
    /// All that are linked in and need no configuration.
    Linked,
    /// These.
    Given(ToolContext),
}

impl Source {
    /// The tools to look at: those of the file, where one is named.
    pub(super) fn tools(&self, declared: Option<&Path>) -> Result<ToolContext, Stop> {
        match declared {
            Some(path) => declared::read(path, Purpose::Look),
            None => self.own(),
        }
    }

    /// The tools that there are without a file.
    pub(super) fn own(&self) -> Result<ToolContext, Stop> {
        match self {
            Self::Linked => ToolContext::discover().map_err(|problems| Stop::Refused(problems.to_string())),
            Self::Given(tools) => Ok(tools.clone()),
        }
    }
}
