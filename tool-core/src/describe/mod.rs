//! The tools described as data.

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
