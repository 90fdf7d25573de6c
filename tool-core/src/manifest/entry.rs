//! One tool in the manifest.

use super::ManifestError;
use crate::tool::{Category, Confirm, DuplicateScope, Flags, Mode, OnDuplicate, ToolDefinition};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

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
pub(super) const NO_CONTENT: &[&str] = &["handlerPath", "providerSchemas", "source"];

impl ManifestTool {
    pub(super) fn of(tool: &ToolDefinition) -> Self {
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
    pub(super) fn content(&self) -> Value {
        let mut content = self.to_value();
        if let Some(members) = content.as_object_mut() {
            members.retain(|name, _| !NO_CONTENT.contains(&name.as_str()));
        }
        content
    }

    pub(super) fn to_value(&self) -> Value {
        // All of it is data that has a JSON form.
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// The names of the options that are on. An option that is added later changes no version of a tool without it.
fn flags(flags: Flags) -> Vec<String> {
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
pub(super) fn problems(tool: &ToolDefinition) -> Vec<ManifestError> {
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
