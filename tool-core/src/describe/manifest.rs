//! The manifest: every tool as data, with a version that is a hash of what the model and the runtime go by.
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
//! describe::check_manifest(&tools, &path)?; // in a test: fails, and says which tool changed in what
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok(())
//! # }
//! ```

use crate::call::mode::Mode;
use crate::json::canonical::{canonical, short_hash};
use crate::registry::context::ToolContext;
use crate::schema::timestamp::Timestamp;
use crate::text;
use crate::tool::definition::ToolDefinition;
use crate::tool::options::{Category, Confirm, DuplicateScope, OnDuplicate, ToolAnnotations};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::{fmt, io};

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
        let problems = tools.definitions().flat_map(problems).collect();
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
pub(crate) fn version(tools: &[ManifestTool]) -> String {
    let content = tools.iter().map(ManifestTool::content).collect::<Vec<_>>();
    format!("1.0.{}", short_hash(&json!({ "tools": content })))
}

pub(crate) fn now() -> Timestamp {
    let now = jiff::Timestamp::now();
    Timestamp(jiff::Timestamp::from_second(now.as_second()).unwrap_or(now))
}

fn git_commit() -> Option<String> {
    let asked = Command::new("git").args(["rev-parse", "--short=8", "HEAD"]).output().ok()?;
    let commit = String::from_utf8(asked.stdout).ok()?;
    let commit = commit.trim().get(..8)?;
    (asked.status.success() && commit.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| commit.to_owned())
}

// ---- One tool in the manifest.

/// A tool, as the manifest describes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ManifestTool {
    /// The name by which a model calls it.
    pub tool_id: String,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is for.
    pub category: Category,
    /// A sentence or two: of the guide, or of the description where there is no guide.
    pub summary: String,
    /// What the model reads.
    pub description: String,
    /// The guide, or the description where there is none.
    pub documentation: String,
    /// What it returns, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub returns: Option<String>,
    /// The schema of the arguments.
    pub json_schema: Value,
    /// The schema of the result, where its type has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// What each provider is told, by the provider's name. Empty unless an adapter filled it.
    #[serde(default)]
    pub provider_schemas: Map<String, Value>,
    /// The Rust path of the method; empty for a tool that was made at run time.
    pub handler_path: String,
    /// Where it stands, `file:line`.
    pub source: String,
    /// Where it may be called.
    pub modes: Vec<Mode>,
    /// Whether a call waits for a person's word.
    pub confirm: ManifestConfirm,
    /// The names of the options that are on, such as `idempotent`.
    pub flags: Vec<String>,
    /// What happens to a call while another runs.
    pub on_duplicate: OnDuplicate,
    /// Which calls count as duplicates.
    pub duplicate_scope: DuplicateScope,
    /// How long a call may take, in milliseconds, where the tool says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The Unicode scalars that a result may have, where the tool says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output: Option<usize>,
    /// The calls a turn may make of it, where the tool says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_calls: Option<u32>,
}

/// Whether a call waits for a person's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ManifestConfirm {
    /// It does not.
    Never,
    /// It does.
    Always,
    /// A function decides by the arguments.
    Conditional,
}

/// Members that change nothing for a model or the runtime.
pub(crate) const NO_CONTENT: &[&str] = &["handlerPath", "providerSchemas", "source"];

impl ManifestTool {
    pub(crate) fn of(tool: &ToolDefinition) -> Self {
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
            confirm: match tool.confirm() {
                Confirm::Never => ManifestConfirm::Never,
                Confirm::Always => ManifestConfirm::Always,
                Confirm::When(_) => ManifestConfirm::Conditional,
            },
            flags: flags(tool.flags()),
            on_duplicate: tool.on_duplicate(),
            duplicate_scope: tool.duplicate_scope(),
            timeout_ms: tool.timeout().map(|timeout| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX)),
            max_output: tool.max_output(),
            max_calls: tool.max_calls(),
        }
    }

    /// What the version is hashed from. R-F2
    pub(crate) fn content(&self) -> Value {
        let mut content = self.to_value();
        if let Some(members) = content.as_object_mut() {
            members.retain(|name, _| !NO_CONTENT.contains(&name.as_str()));
        }
        content
    }

    pub(crate) fn to_value(&self) -> Value {
        // All of it is data that has a JSON form.
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// The names of the options that are on. An option that is added later changes no version of a tool without it.
fn flags(flags: ToolAnnotations) -> Vec<String> {
    let named = [
        ("cancellable", flags.cancellable),
        ("blocking", flags.blocking),
        ("destructive", flags.destructive),
        ("idempotent", flags.idempotent),
        ("ignoreOnEnter", flags.ignore_on_enter),
        ("openWorld", flags.open_world),
        ("sequential", flags.sequential),
    ];
    let mut on = named.into_iter().filter(|(_, on)| *on).map(|(name, _)| name.to_owned()).collect::<Vec<_>>();
    on.sort();
    on
}

/// Everything for which a tool is not fit to be published. R-F3
pub(crate) fn problems(tool: &ToolDefinition) -> Vec<ManifestError> {
    let mut messages = Vec::new();
    if tool.description().trim().is_empty() {
        messages.push("it has no description; the model chooses a tool by it".to_owned());
    }
    let schemas = [("parameters", Some(tool.parameters())), ("output", tool.output())];
    for (which, schema) in schemas.into_iter().filter_map(|(which, schema)| Some((which, schema?))) {
        let refused = jsonschema::draft202012::meta::validate(schema).err();
        messages.extend(refused.map(|problem| {
            let at = problem.instance_path().to_string();
            format!("its {which} schema is no JSON Schema of draft 2020-12 at `{at}`: {problem}")
        }));
    }
    messages.extend(tool.guide().into_iter().flat_map(|guide| guide.problems(tool.parameters())));
    messages.into_iter().map(|message| ManifestError::of_tool(tool.name(), message)).collect()
}

// ---- Everything that is wrong with a manifest, at once.

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
    pub(crate) fn of_tool(tool: &str, message: impl Into<String>) -> Self {
        Self { tool: Some(tool.to_owned()), message: message.into() }
    }

    pub(crate) fn new(message: impl Into<String>) -> Self {
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
    pub(crate) fn check(problems: Vec<ManifestError>) -> Result<(), Self> {
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

// ---- The manifest as a file, and what a project's own tests ask of it.

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
pub fn check_manifest(tools: &ToolContext, path: impl AsRef<Path>) -> Result<(), ManifestErrors> {
    Manifest::content(tools)?.check(path)
}

/// Pins the version in a test: a change of any schema, description, guide or option has to be meant. A default that
/// comes from `self` is part of a schema, so pin with fixed settings.
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
/// Where the version is another, with the one that it is; and where the manifest cannot be built.
#[track_caller]
pub fn assert_manifest_version(tools: &ToolContext, version: &str) {
    match Manifest::content(tools) {
        Ok(manifest) if manifest.version == version => {}
        Ok(manifest) => panic!(
            "the version of these {} tools is {}, and {version} was expected\n\
             help: if the change is meant, write the new version into this test; \
             `describe::check_manifest` against a manifest that was written says which tool changed in what",
            manifest.tools.len(),
            manifest.version,
        ),
        Err(errors) => panic!("the manifest of these tools cannot be built:\n{errors}"),
    }
}

// ---- What differs between a manifest that was written down and the tools as they are.

/// The places that are told of one tool; who wants to see more compares the files.
const SHOWN: usize = 8;

impl Manifest {
    /// What differs in content from the `written` one: tools added, removed and changed, and in which of their members.
    ///
    /// Commit, time and places in the source are no content. Provider schemas count where this manifest has some.
    pub fn drift_from(&self, written: &Self) -> Vec<ManifestError> {
        let ids = |manifest: &Self| manifest.tools.iter().map(|tool| tool.tool_id.clone()).collect::<BTreeSet<_>>();
        let all = ids(self).into_iter().chain(ids(written)).collect::<BTreeSet<_>>();
        let mut found = all.iter().filter_map(|id| tool_drift(id, self.tool(id), written.tool(id))).collect::<Vec<_>>();
        let own = version(&written.tools);
        if found.is_empty() && written.version != own {
            let stated = written.version.escape_debug();
            found.push(ManifestError::new(format!(
                "it says that its version is {stated}, and by its content it is {own}"
            )));
        }
        found
    }
}

fn tool_drift(id: &str, now: Option<&ManifestTool>, written: Option<&ManifestTool>) -> Option<ManifestError> {
    let (now, written) = match (now, written) {
        (Some(_), None) => return Some(ManifestError::of_tool(id, "added")),
        (None, Some(_)) => return Some(ManifestError::of_tool(id, "removed")),
        (None, None) => return None,
        (Some(now), Some(written)) => (now, written),
    };
    let counted = |member: &str| match member {
        "providerSchemas" => !now.provider_schemas.is_empty(),
        member => !NO_CONTENT.contains(&member),
    };
    let (now, written) = (members(now, counted), members(written, counted));
    let mut places = Vec::new();
    differences(&now, &written, "", &mut places);
    let more = places.len().saturating_sub(SHOWN);
    places.truncate(SHOWN);
    if more > 0 {
        places.push(format!("{more} more"));
    }
    (!places.is_empty()).then(|| ManifestError::of_tool(id, format!("changed: {}", places.join("; "))))
}

fn members(tool: &ManifestTool, counted: impl Fn(&str) -> bool) -> Value {
    let mut value = tool.to_value();
    if let Some(members) = value.as_object_mut() {
        members.retain(|name, _| counted(name));
    }
    value
}

/// The places where two values differ, as deep as both are objects.
fn differences(now: &Value, written: &Value, at: &str, places: &mut Vec<String>) {
    if let (Value::Object(now), Value::Object(written)) = (now, written) {
        for name in now.keys().chain(written.keys()).collect::<BTreeSet<_>>() {
            let escaped = name.replace('~', "~0").replace('/', "~1");
            let at = if at.is_empty() { escaped } else { format!("{at}/{escaped}") };
            match (now.get(name), written.get(name)) {
                (Some(now), Some(written)) => differences(now, written, &at, places),
                (Some(now), None) => places.push(format!("`{at}` is {}, and was absent", shown(now))),
                (_, written) => {
                    let written = written.map(shown).unwrap_or_default();
                    places.push(format!("`{at}` is absent, and was {written}"));
                }
            }
        }
    } else if canonical(now) != canonical(written) {
        places.push(format!("`{at}` is {}, and was {}", shown(now), shown(written)));
    }
}

/// On one line and short.
fn shown(value: &Value) -> String {
    text::truncate(&value.to_string(), 60)
}
