//! Tools as data: actions for a user interface, the manifest for other programs, and a search over
//! descriptions.
//!
//! - [`ToolContext::actions`](crate::ToolContext::actions) lists the tools with their parameters,
//!   for a page or a menu on which a person picks one.
//! - `Manifest` (feature `session`) describes all tools with their schemas and guides in
//!   `tool_registry.json`. You commit this file, and a test tells you when the tools differ from
//!   it.
//! - [`ToolIndex`] finds tools by words.

pub(crate) mod actions;
#[cfg(feature = "session")]
pub(crate) mod manifest;
pub(crate) mod search;

#[cfg(test)]
mod tests;

pub use crate::describe::actions::ToolsetActions;
#[cfg(feature = "session")]
pub use crate::describe::manifest::{
    Manifest, ManifestConfirm, ManifestError, ManifestErrors, ManifestTool,
    assert_manifest_version, check_manifest,
};
pub use crate::describe::search::ToolIndex;
pub use crate::tool::action::{Action, ActionParameter, ParameterType};
