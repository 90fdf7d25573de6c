//! The manifest as a file, and what a project's own tests ask of it.

use super::{Manifest, ManifestError, ManifestErrors};
use crate::ToolContext;
use std::io;
use std::path::Path;

impl Manifest {
    /// Writes it as JSON for people.
    pub fn write(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let path = path.as_ref();
        std::fs::write(path, self.to_json_pretty()).map_err(|error| at(path, &error))
    }

    /// Reads one that was written.
    pub fn read(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(|error| at(path, &error))?;
        serde_json::from_str(&text).map_err(|error| at(path, &error.into()))
    }

    /// Tells everything in which the file differs from this.
    pub fn check(&self, path: impl AsRef<Path>) -> Result<(), ManifestErrors> {
        let written = Self::read(path).map_err(|error| ManifestError::new(error.to_string()))?;
        ManifestErrors::check(self.drift_from(&written))
    }
}

fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Tells everything that is wrong with the tools, or in which they differ from the manifest that was written.
pub fn check(tools: &ToolContext, path: impl AsRef<Path>) -> Result<(), ManifestErrors> {
    Manifest::content(tools)?.check(path)
}

/// Pins the version in a test: a change of any schema, description, guide or option has to be meant. A default that
/// comes from `self` is part of a schema, so pin with fixed settings.
///
/// ```
/// use tool_core::{ToolContext, manifest};
///
/// let tools = ToolContext::builder().build()?;
/// manifest::assert_version(&tools, "1.0.fe2f3b4e");
/// # Ok::<(), tool_core::RegistryErrors>(())
/// ```
///
/// # Panics
///
/// Where the version is another, with the one that it is; and where the manifest cannot be built.
#[track_caller]
pub fn assert_version(tools: &ToolContext, version: &str) {
    match Manifest::content(tools) {
        Ok(manifest) if manifest.version == version => {}
        Ok(manifest) => panic!(
            "the version of these {} tools is {}, and {version} was expected\n\
             help: if the change is meant, write the new version into this test; \
             `manifest::check` against a manifest that was written says which tool changed in what",
            manifest.tools.len(),
            manifest.version,
        ),
        Err(errors) => panic!("the manifest of these tools cannot be built:\n{errors}"),
    }
}
