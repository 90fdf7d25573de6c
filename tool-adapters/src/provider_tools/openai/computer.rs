//! OpenAI's computer use.

use serde::Serialize;

/// Has the model work a computer: it sends actions as `computer_call` items, and the host sends screenshots back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "computer")]
pub struct Computer {}

/// The form that the model `computer-use-preview` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "computer_use_preview")]
pub struct ComputerUsePreview {
    /// In pixels.
    pub display_width: u32,
    /// In pixels.
    pub display_height: u32,
    /// What runs on it.
    pub environment: Environment,
}

/// What runs on a computer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)] // they say it themselves
pub enum Environment {
    Windows,
    Mac,
    Linux,
    Ubuntu,
    Browser,
}
