//! Everything that is wrong with a set of tools, at once.

use crate::tool::definition::SourceLocation;
use std::fmt;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RegistryError {
    /// What, and what to do.
    pub message: String,
    /// Where in the source: both places for a collision.
    pub places: Vec<SourceLocation>,
}

impl fmt::Display for RegistryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        let mut separator = " (";
        for place in &self.places {
            write!(f, "{separator}{place}")?;
            separator = ", ";
        }
        f.write_str(if self.places.is_empty() { "" } else { ")" })
    }
}

/// Everything that is wrong with a set of tools. Displays one problem a line.
#[derive(Clone, PartialEq, Eq)]
pub struct RegistryErrors(Vec<RegistryError>);

impl RegistryErrors {
    pub(crate) fn check(problems: Vec<RegistryError>) -> Result<(), Self> {
        if problems.is_empty() { Ok(()) } else { Err(Self(problems)) }
    }

    #[cfg(feature = "agents")]
    pub(crate) fn join(all: impl Iterator<Item = Self>) -> Self {
        Self(all.flat_map(|errors| errors.0).collect())
    }

    /// The problems, in the order of the tools.
    pub fn iter(&self) -> impl Iterator<Item = &RegistryError> {
        self.0.iter()
    }

    /// How many there are; never none.
    #[allow(clippy::len_without_is_empty)] // there is no empty one
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl fmt::Display for RegistryErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for error in &self.0 {
            write!(f, "{separator}{error}")?;
            separator = "\n";
        }
        Ok(())
    }
}

// What a `main` that returns it prints.
impl fmt::Debug for RegistryErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for RegistryErrors {}
