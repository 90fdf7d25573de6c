//! The manifest: every tool as data, with a version that is a hash of everything that a model or
//! the runtime depends on.
//!
//! Write it where other programs read it, commit it, and let a build fail when it drifts:
//!
//! ```
//! use tool_core::describe::{self, Manifest};
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
//! describe::check_manifest(&tools, &path)?; // in a test: fails and names the tools and members that changed
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok(())
//! # }
//! ```

use crate::call::{ErrorList, Mode};
use crate::json::canonical::{canonical, short_hash};
use crate::registry::context::ToolContext;
use crate::schema::meta::problems_in_2020_12;
use crate::schema::timestamp::Timestamp;
use crate::schema::walk::join_pointer;
use crate::text;
use crate::time::whole_milliseconds;
use crate::tool::{
    Category, Confirm, DuplicateScope, OnDuplicate, ToolAnnotations, ToolDefinition,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// All function tools of a context, as data. Its JSON is `tool_registry.json`.
///
/// ```
/// use tool_core::describe::Manifest;
/// use tool_core::{ToolContext, tool};
///
/// /// Add two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let manifest = Manifest::build(&ToolContext::builder().with(add).build()?)?;
/// assert!(manifest.version.starts_with("1.0."));
/// assert_eq!(manifest.tools[0].tool_id, "add");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Manifest {
    /// `1.0.` and the first 8 hexadecimal digits of the content's SHA-256. The content is
    /// everything that a model reads and the runtime depends on. Commit, time, source locations and
    /// provider schemas are not part of it.
    pub version: String,
    /// The first 8 hexadecimal digits of the commit, if there is one.
    pub git_commit: Option<String>,
    /// The time at which the manifest was built, RFC 3339 in seconds.
    pub build_timestamp: Timestamp,
    /// The tools, sorted by their ids.
    pub tools: Vec<ManifestTool>,
}

impl Manifest {
    /// Describes the tools of a context.
    ///
    /// The commit is read with `git` in the current directory, and absent if that fails.
    ///
    /// # Errors
    ///
    /// Every problem: a schema that the meta-schema of draft 2020-12 refuses, a tool without a
    /// description, a guide without a summary, or an example in a guide that the tool's schema
    /// refuses.
    pub fn build(tools: &ToolContext) -> Result<Self, ManifestErrors> {
        Ok(Self {
            git_commit: git_commit(),
            ..Self::without_commit(tools)?
        })
    }

    fn without_commit(tools: &ToolContext) -> Result<Self, ManifestErrors> {
        ManifestErrors::check(tools.definitions().flat_map(problems).collect())?;
        let now = jiff::Timestamp::now();
        let build_timestamp =
            Timestamp(jiff::Timestamp::from_second(now.as_second()).unwrap_or(now));
        let tools = sorted_tools(tools);
        Ok(Self {
            version: version(&tools),
            git_commit: None,
            build_timestamp,
            tools,
        })
    }

    /// Sets the commit. Its first 8 characters are kept.
    #[must_use]
    pub fn with_git_commit(mut self, commit: Option<&str>) -> Self {
        self.git_commit = commit.map(|commit| commit.chars().take(8).collect());
        self
    }

    /// Sets the time at which the manifest was built.
    #[must_use]
    pub fn with_build_timestamp(mut self, built: Timestamp) -> Self {
        self.build_timestamp = built;
        self
    }

    /// Adds the declaration of each tool for each provider, by the provider's name. Adapters know
    /// these declarations.
    ///
    /// ```
    /// use serde_json::{Map, json};
    /// use tool_core::describe::Manifest;
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

    /// Returns the tool of that id.
    pub fn tool(&self, id: &str) -> Option<&ManifestTool> {
        self.tools.iter().find(|tool| tool.tool_id == id)
    }

    /// Returns indented JSON that ends with a line break.
    pub fn to_json_pretty(&self) -> String {
        // All members have a JSON form, so this does not fail.
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        format!("{text}\n")
    }

    /// Writes the manifest to a file, as indented JSON.
    ///
    /// # Errors
    ///
    /// [`ManifestError::File`] if the file cannot be written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), ManifestError> {
        let path = path.as_ref();
        std::fs::write(path, self.to_json_pretty()).map_err(ManifestError::file(path))
    }

    /// Reads a manifest from a file.
    ///
    /// # Errors
    ///
    /// [`ManifestError::File`] if the file cannot be read or is not a manifest.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ManifestError> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(ManifestError::file(path))?;
        // Some editors write a byte order mark, which is no part of JSON.
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        serde_json::from_str(text).map_err(|error| ManifestError::file(path)(error.into()))
    }

    /// Compares the file with this manifest.
    ///
    /// # Errors
    ///
    /// Every difference in content, or [`ManifestError::File`] if the file cannot be read.
    pub fn check(&self, path: impl AsRef<Path>) -> Result<(), ManifestErrors> {
        ManifestErrors::check(self.drift_from(&Self::read(path)?))
    }

    /// Returns the differences in content from the `written` manifest: the tools that were added,
    /// removed and changed, and the members that changed.
    ///
    /// Commit, time and source locations are not content. Provider schemas count if this manifest
    /// has some.
    pub fn drift_from(&self, written: &Self) -> Vec<ManifestError> {
        let tools = self.tools.iter().chain(&written.tools);
        let ids = tools
            .map(|tool| tool.tool_id.as_str())
            .collect::<BTreeSet<_>>();
        let drift = |id| {
            Some(ManifestError::tool(
                id,
                tool_drift(self.tool(id), written.tool(id))?,
            ))
        };
        let mut found = ids.into_iter().filter_map(drift).collect::<Vec<_>>();
        let expected = version(&written.tools);
        if found.is_empty() && written.version != expected {
            found.push(ManifestError::Version {
                expected,
                got: written.version.clone(),
            });
        }
        found
    }
}

/// Checks the tools of a context, and compares them with the manifest in a file.
///
/// # Errors
///
/// Every problem of the tools, or every difference from the file.
pub fn check_manifest(tools: &ToolContext, path: impl AsRef<Path>) -> Result<(), ManifestErrors> {
    Manifest::without_commit(tools)?.check(path)
}

/// Asserts the version of a context's manifest, so that a test fails at every unintended change of
/// a schema, a description, a guide or an option. A default that an instance decides is part of a
/// schema, so use fixed settings.
///
/// ```
/// use tool_core::{ToolContext, describe};
///
/// let tools = ToolContext::builder().build()?;
/// describe::assert_manifest_version(&tools, "1.0.fe2f3b4e");
/// # Ok::<(), tool_core::RegistryErrors>(())
/// ```
///
/// # Panics
///
/// Panics if the version differs, or if the manifest cannot be built.
#[track_caller]
pub fn assert_manifest_version(tools: &ToolContext, version: &str) {
    match Manifest::without_commit(tools) {
        Ok(manifest) if manifest.version == version => {}
        Ok(manifest) => panic!(
            "expected version {version} of these {} tools, got {}\n\
             help: if the change is intended, write the new version into this test; \
             `describe::check_manifest` against a written manifest names the tools and members that changed",
            manifest.tools.len(),
            manifest.version,
        ),
        Err(errors) => panic!("failed to build the manifest of these tools:\n{errors}"),
    }
}

/// Returns the version of a context's tools, also where a manifest of them cannot be built.
pub(crate) fn content_version(tools: &ToolContext) -> String {
    version(&sorted_tools(tools))
}

fn sorted_tools(tools: &ToolContext) -> Vec<ManifestTool> {
    let mut tools = tools
        .definitions()
        .map(ManifestTool::of)
        .collect::<Vec<_>>();
    tools.sort_by(|a, b| a.tool_id.cmp(&b.tool_id));
    tools
}

pub(crate) fn version(tools: &[ManifestTool]) -> String {
    let content = tools
        .iter()
        .map(|tool| tool.members(is_content))
        .collect::<Vec<_>>();
    format!("1.0.{}", short_hash(&json!({ "tools": content })))
}

fn git_commit() -> Option<String> {
    let output = Command::new("git")
        .args(["rev-parse", "--short=8", "HEAD"])
        .output()
        .ok()?;
    let commit = String::from_utf8(output.stdout).ok()?;
    let commit = commit.trim().get(..8)?;
    (output.status.success() && commit.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .then(|| commit.to_owned())
}

/// A tool in a manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ManifestTool {
    /// The name by which a model calls the tool.
    pub tool_id: String,
    /// The title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The tool's purpose.
    pub category: Category,
    /// A sentence or two: of the guide, or of the description if there is no guide.
    pub summary: String,
    /// The description for the model.
    pub description: String,
    /// The guide, or the description if there is none.
    pub documentation: String,
    /// A description of the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub returns: Option<String>,
    /// The schema of the arguments.
    pub json_schema: Value,
    /// The schema of the result, if its type has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// The declaration for each provider, by the provider's name. Empty unless an adapter added
    /// them.
    #[serde(default)]
    pub provider_schemas: Map<String, Value>,
    /// The Rust path of the method; empty for a tool that was created at run time.
    pub handler_path: String,
    /// The location in the source, `file:line`.
    pub source: String,
    /// The modes in which the tool may be called.
    pub modes: Vec<Mode>,
    /// The condition under which a person must approve a call.
    pub confirm: ManifestConfirm,
    /// The names of the options that are on, for example `idempotent`.
    pub flags: Vec<String>,
    /// The treatment of a call while another call of the tool runs.
    pub on_duplicate: OnDuplicate,
    /// The calls that count as duplicates.
    pub duplicate_scope: DuplicateScope,
    /// The maximum duration of a call in milliseconds, if it is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The maximum length of a result in Unicode scalars, if it is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output: Option<usize>,
    /// The maximum number of calls in a turn, if it is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_calls: Option<u32>,
    /// The other options that are not at their defaults.
    #[serde(flatten)]
    pub options: Map<String, Value>,
}

/// The condition under which a person must approve a call, as data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ManifestConfirm {
    /// No call needs approval.
    Never,
    /// Every call needs approval.
    Always,
    /// A function decides by the arguments.
    Conditional,
}

impl From<Confirm> for ManifestConfirm {
    fn from(confirm: Confirm) -> Self {
        match confirm {
            Confirm::Never => Self::Never,
            Confirm::Always => Self::Always,
            Confirm::When(_) => Self::Conditional,
        }
    }
}

/// Returns true for a member of a tool that a model or the runtime depends on.
fn is_content(member: &str) -> bool {
    !["handlerPath", "providerSchemas", "source"].contains(&member)
}

impl ManifestTool {
    fn of(tool: &ToolDefinition) -> Self {
        Self {
            tool_id: tool.name().to_owned(),
            title: tool.title().map(str::to_owned),
            category: tool.category(),
            summary: tool.summary().into_owned(),
            description: tool.description().to_owned(),
            documentation: tool.documentation().to_owned(),
            returns: tool.returns().map(str::to_owned),
            json_schema: tool.parameters().clone(),
            output_schema: tool.output().cloned(),
            provider_schemas: Map::new(),
            handler_path: tool.path().to_owned(),
            source: tool.source().to_string(),
            modes: tool.modes().iter().collect(),
            confirm: tool.confirm().into(),
            flags: flags(tool.flags()),
            on_duplicate: tool.on_duplicate(),
            duplicate_scope: tool.duplicate_scope(),
            timeout_ms: tool.timeout().map(whole_milliseconds),
            max_output: tool.max_output(),
            max_calls: tool.max_calls(),
            options: other_options(tool),
        }
    }

    /// Returns the members that `keep` accepts, as JSON.
    fn members(&self, keep: impl Fn(&str) -> bool) -> Value {
        // All members have a JSON form, so this does not fail.
        let mut value = serde_json::to_value(self).unwrap_or_default();
        if let Some(members) = value.as_object_mut() {
            members.retain(|name, _| keep(name));
        }
        value
    }
}

/// Returns the options that have no field of their own.
fn other_options(tool: &ToolDefinition) -> Map<String, Value> {
    let has_field = |name| ["timeout", "on_duplicate", "max_output", "max_calls"].contains(&name);
    let options = tool.set_options().into_iter();
    options
        .filter(|option| !has_field(option.name))
        .map(|option| (option.json_name, option.json))
        .collect()
}

/// Returns the names of the options that are on, sorted. An option that is added later changes no
/// version of a tool without it.
fn flags(flags: ToolAnnotations) -> Vec<String> {
    let mut names = flags.names().map(text::camel_case).collect::<Vec<_>>();
    names.sort();
    names
}

/// A problem of a manifest: a tool that cannot be published, a difference, or an unreadable file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// A tool cannot be published, or differs from the written manifest.
    #[error("tool `{}`: {message}", tool.escape_debug())]
    Tool {
        /// The tool's name.
        tool: String,
        /// The problem.
        message: String,
    },
    /// The version in the written manifest is not the version of its content.
    #[error("expected version {expected} by the manifest's content, got {}; build it again", got.escape_debug())]
    Version {
        /// The version of the content.
        expected: String,
        /// The version in the file.
        got: String,
    },
    /// A manifest's file cannot be read, decoded or written.
    #[error("failed to access the manifest `{}`", path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// All problems of a manifest. Displays one a line.
pub type ManifestErrors = ErrorList<ManifestError>;

impl ManifestError {
    fn tool(tool: &str, message: impl Into<String>) -> Self {
        Self::Tool {
            tool: tool.to_owned(),
            message: message.into(),
        }
    }

    fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |source| Self::File { path, source }
    }
}

/// Returns the problems that keep a tool from being published.
pub(crate) fn problems(tool: &ToolDefinition) -> Vec<ManifestError> {
    let mut messages = Vec::new();
    if tool.description().trim().is_empty() {
        messages.push(
            "the description is empty; the model chooses a tool by its description".to_owned(),
        );
    }
    for (name, schema) in [
        ("parameters", Some(tool.parameters())),
        ("output", tool.output()),
    ] {
        let invalid = |problem| {
            format!("the {name} schema is not valid in JSON Schema draft 2020-12: {problem}")
        };
        messages.extend(
            schema
                .map(problems_in_2020_12)
                .into_iter()
                .flatten()
                .map(invalid),
        );
    }
    messages.extend(
        tool.guide()
            .into_iter()
            .flat_map(|guide| guide.problems(tool.parameters())),
    );
    messages
        .into_iter()
        .map(|message| ManifestError::tool(tool.name(), message))
        .collect()
}

/// The maximum number of differences that are listed for one tool.
const MAX_DIFFERENCES: usize = 8;

/// Describes the difference between two versions of a tool; `None` if there is none.
fn tool_drift(now: Option<&ManifestTool>, written: Option<&ManifestTool>) -> Option<String> {
    let (Some(now), Some(written)) = (now, written) else {
        return Some(if now.is_some() { "added" } else { "removed" }.to_owned());
    };
    let with_providers = !now.provider_schemas.is_empty();
    let counts =
        |member: &str| is_content(member) || (with_providers && member == "providerSchemas");
    let mut found = Vec::new();
    collect_differences(
        &now.members(counts),
        &written.members(counts),
        "",
        &mut found,
    );
    let more = found.len().saturating_sub(MAX_DIFFERENCES);
    found.truncate(MAX_DIFFERENCES);
    if more > 0 {
        found.push(format!("{more} more"));
    }
    (!found.is_empty()).then(|| format!("changed: {}", found.join("; ")))
}

/// Collects the differences between two values, down to the members of nested objects.
fn collect_differences(now: &Value, written: &Value, pointer: &str, found: &mut Vec<String>) {
    if let (Value::Object(now), Value::Object(written)) = (now, written) {
        for name in now.keys().chain(written.keys()).collect::<BTreeSet<_>>() {
            let pointer = join_pointer(pointer, name);
            match (now.get(name), written.get(name)) {
                (Some(now), Some(written)) => collect_differences(now, written, &pointer, found),
                (now, written) => found.push(difference(&pointer, now, written)),
            }
        }
    } else if canonical(now) != canonical(written) {
        found.push(difference(pointer, Some(now), Some(written)));
    }
}

fn difference(pointer: &str, now: Option<&Value>, written: Option<&Value>) -> String {
    let short = |value: Option<&Value>| {
        value.map_or_else(
            || "no value".to_owned(),
            |value| text::truncate(&value.to_string(), 60),
        )
    };
    format!(
        "`{pointer}`: expected {}, got {}",
        short(written),
        short(now)
    )
}
