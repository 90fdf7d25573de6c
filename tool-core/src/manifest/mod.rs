//! The manifest: every tool as data, with a version that is a hash of what the model and the runtime go by.
//!
//! Write it where other programs read it, commit it, and let a build fail when it drifts:
//!
//! ```
//! use tool_core::manifest::{self, Manifest};
//! use tool_core::{ToolContext, tool};
//!
//! /// Add two numbers.
//! #[tool]
//! fn add(a: i64, b: i64) -> i64 {
//!     a + b
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let tools = ToolContext::builder().with(add).build()?;
//! # let folder = std::env::temp_dir().join(format!("manifest-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! # let path = folder.join("tool_registry.json");
//! Manifest::build(&tools)?.write(&path)?;
//! manifest::check(&tools, &path)?; // in a test: fails, and says which tool changed in what
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok(())
//! # }
//! ```

mod drift;
mod entry;
mod errors;
mod file;

#[cfg(test)]
mod tests;

pub use entry::{ManifestConfirm, ManifestTool};
pub use errors::{ManifestError, ManifestErrors};
pub use file::{assert_version, check};

use crate::ToolContext;
use crate::canonical::short_hash;
use crate::timestamp::Timestamp;
use crate::tool::ToolDefinition;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::process::Command;

/// All function tools of a context, as data. Its JSON is `tool_registry.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Manifest {
    /// `1.0.` and the first 8 hexadecimal digits of the content's SHA-256. The content is what a model reads and what
    /// the runtime goes by; commit, time, places in the source and provider schemas are no part of it.
    pub version: String,
    /// The first 8 hexadecimal digits of the commit, where there is one.
    pub git_commit: Option<String>,
    /// When it was built, RFC 3339 in seconds.
    pub build_timestamp: Timestamp,
    /// The tools, sorted by their ids.
    pub tools: Vec<ManifestTool>,
}

impl Manifest {
    /// Describes the tools, or tells every problem: a schema that the meta-schema of draft 2020-12 refuses, a tool
    /// without a description, a guide that says nothing or shows arguments that its tool refuses.
    ///
    /// The commit is asked of `git` in the current directory, and absent where that fails.
    pub fn build(tools: &ToolContext) -> Result<Self, ManifestErrors> {
        Ok(Self { git_commit: git_commit(), ..Self::content(tools)? })
    }

    /// The same without asking for the commit.
    fn content(tools: &ToolContext) -> Result<Self, ManifestErrors> {
        let problems = tools.definitions().flat_map(entry::problems).collect();
        ManifestErrors::check(problems)?;
        let mut tools = tools.definitions().map(ManifestTool::of).collect::<Vec<_>>();
        tools.sort_by(|a, b| a.tool_id.cmp(&b.tool_id));
        Ok(Self { version: version(&tools), git_commit: None, build_timestamp: now(), tools })
    }

    /// Sets the commit, of which the first 8 characters are kept.
    #[must_use]
    pub fn with_git_commit(mut self, commit: Option<&str>) -> Self {
        self.git_commit = commit.map(|commit| commit.chars().take(8).collect());
        self
    }

    /// Sets when it was built.
    #[must_use]
    pub fn with_build_timestamp(mut self, built: Timestamp) -> Self {
        self.build_timestamp = built;
        self
    }

    /// Sets what each provider is told of each tool, by the provider's name. Adapters know it; this crate does not.
    ///
    /// ```
    /// use serde_json::{Map, json};
    /// use tool_core::manifest::Manifest;
    /// # use tool_core::ToolContext;
    /// # let tools = ToolContext::builder().build()?;
    ///
    /// let manifest = Manifest::build(&tools)?.with_provider_schemas(&tools, |tool| {
    ///     let function = json!({"name": tool.name(), "parameters": tool.parameters()});
    ///     Map::from_iter([("openai".to_owned(), json!({"type": "function", "function": function}))])
    /// });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_provider_schemas(
        mut self,
        tools: &ToolContext,
        mut schemas: impl FnMut(&ToolDefinition) -> Map<String, Value>,
    ) -> Self {
        for entry in &mut self.tools {
            if let Some(tool) = tools.function_tool(&entry.tool_id) {
                entry.provider_schemas = schemas(tool.definition());
            }
        }
        self
    }

    /// The tool of that id.
    pub fn tool(&self, id: &str) -> Option<&ManifestTool> {
        self.tools.iter().find(|tool| tool.tool_id == id)
    }

    /// As JSON for people, with a line break at the end.
    pub fn to_json_pretty(&self) -> String {
        // All of it is data that has a JSON form.
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        format!("{text}\n")
    }
}

/// The version of these tools, whatever is wrong with them.
pub(crate) fn content_version(tools: &ToolContext) -> String {
    let mut tools = tools.definitions().map(ManifestTool::of).collect::<Vec<_>>();
    tools.sort_by(|a, b| a.tool_id.cmp(&b.tool_id));
    version(&tools)
}

/// The version of this content.
fn version(tools: &[ManifestTool]) -> String {
    let content = tools.iter().map(ManifestTool::content).collect::<Vec<_>>();
    format!("1.0.{}", short_hash(&json!({ "tools": content })))
}

fn now() -> Timestamp {
    let now = jiff::Timestamp::now();
    Timestamp(jiff::Timestamp::from_second(now.as_second()).unwrap_or(now))
}

fn git_commit() -> Option<String> {
    let asked = Command::new("git").args(["rev-parse", "--short=8", "HEAD"]).output().ok()?;
    let commit = String::from_utf8(asked.stdout).ok()?;
    let commit = commit.trim().get(..8)?;
    (asked.status.success() && commit.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| commit.to_owned())
}
