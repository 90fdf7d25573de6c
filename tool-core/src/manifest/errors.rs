//! Everything that is wrong with a manifest, at once.

use std::fmt;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ManifestError {
    /// The tool, where it is one tool's matter.
    pub tool: Option<String>,
    /// What is wrong.
    pub message: String,
}

impl ManifestError {
    pub(super) fn of_tool(tool: &str, message: impl Into<String>) -> Self {
        Self { tool: Some(tool.to_owned()), message: message.into() }
    }

    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { tool: None, message: message.into() }
    }
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.tool {
            Some(tool) => write!(f, "tool `{}`: {}", tool.escape_debug(), self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// Everything that is wrong with a manifest. Displays one problem a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestErrors(Vec<ManifestError>);

impl ManifestErrors {
    pub(super) fn check(problems: Vec<ManifestError>) -> Result<(), Self> {
        if problems.is_empty() { Ok(()) } else { Err(Self(problems)) }
    }

    /// The problems, by tool.
    pub fn iter(&self) -> impl Iterator<Item = &ManifestError> {
        self.0.iter()
    }

    /// How many there are; never none.
    #[allow(clippy::len_without_is_empty)] // there is no empty one
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl From<ManifestError> for ManifestErrors {
    fn from(error: ManifestError) -> Self {
        Self(vec![error])
    }
}

impl fmt::Display for ManifestErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for error in &self.0 {
            write!(f, "{separator}{error}")?;
            separator = "\n";
        }
        Ok(())
    }
}

impl std::error::Error for ManifestErrors {}
