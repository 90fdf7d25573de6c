//! OpenAI's code interpreter.

use serde::Serialize;

/// Runs Python that the model writes, in a container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "code_interpreter")]
pub struct CodeInterpreter {
    /// Where it runs; in a container of its own unless told.
    pub container: Container,
}

/// Where code runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Container {
    /// In the container of this id.
    Id(String),
    /// In one that is made for it.
    Auto(AutoContainer),
}

impl Default for Container {
    fn default() -> Self {
        Self::Auto(AutoContainer::default())
    }
}

/// A container that is made for the code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "auto")]
pub struct AutoContainer {
    /// The uploaded files that the code can read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub file_ids: Vec<String>,
    /// How much memory it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_limit: Option<MemoryLimit>,
    /// What of the network it reaches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_policy: Option<NetworkPolicy>,
}

/// The memory of a container, in GiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs)] // they say it themselves
pub enum MemoryLimit {
    #[serde(rename = "1g")]
    G1,
    #[serde(rename = "4g")]
    G4,
    #[serde(rename = "16g")]
    G16,
    #[serde(rename = "64g")]
    G64,
}

/// What of the network a container reaches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum NetworkPolicy {
    /// Nothing.
    Disabled,
    /// Some domains.
    Allowlist {
        /// Which.
        allowed_domains: Vec<String>,
    },
}
