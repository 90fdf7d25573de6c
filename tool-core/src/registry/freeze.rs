//! From a list of tools to a frozen context: flattened, checked once, every problem told.

use crate::registry::Inner;
use crate::registry::errors::{RegistryError, RegistryErrors};
use crate::registry::lifecycle::{Keep, Memo};
use crate::tool::configure::metadata::ToolsetMetadata;
use crate::tool::definition::{ToolDefinition, check_name, check_raw_name, normalised};
use crate::tool::dispatch::Settings;
use crate::tool::function::FunctionTool;
use crate::tool::provider::ProviderTool;
use crate::tool::toolset::{Tool, Toolset};
use rustc_hash::FxHashMap;
use serde_json::Value;
use std::sync::Arc;

/// What a context is made of.
#[derive(Default)]
pub(crate) struct Parts {
    pub(crate) entries: Vec<Tool>,
    pub(crate) unconfigured: Vec<ToolsetMetadata>,
    pub(crate) settings: Settings,
    /// What went wrong before.
    pub(crate) problems: Vec<RegistryError>,
    pub(crate) keep: Keep,
    pub(crate) agent: Option<Arc<str>>,
    /// Whether each tool was checked by itself already.
    pub(crate) checked: bool,
}

#[derive(Default)]
struct Flat {
    functions: Vec<FunctionTool>,
    providers: Vec<Arc<dyn ProviderTool>>,
    toolsets: Vec<Arc<dyn Toolset>>,
}

/// Toolsets nest this deep at most, so that one which holds itself is an error and not an endless loop.
const DEPTH: usize = 32;

pub(crate) fn freeze(parts: Parts) -> Result<Inner, RegistryErrors> {
    let Parts { entries, unconfigured, settings, mut problems, keep, agent, checked } = parts;
    let mut flat = Flat::default();
    for entry in &entries {
        flatten(entry, &mut flat, &mut problems, DEPTH);
    }
    for tool in flat.functions.iter().filter(|_| !checked) {
        problems.extend(check(tool.definition()).into_iter().map(|message| at(message, [tool])));
    }
    let functions = unique(flat.functions, &mut problems);
    RegistryErrors::check(problems)?;
    let index = functions
        .iter()
        .enumerate()
        .map(|(at, tool)| (tool.definition().name.clone(), at))
        .collect::<FxHashMap<_, _>>();
    let Flat { providers, toolsets, .. } = flat;
    Ok(Inner {
        entries,
        functions,
        index,
        providers,
        toolsets,
        unconfigured,
        settings,
        memo: Memo::default(),
        keep,
        agent,
    })
}

fn at<const N: usize>(message: String, tools: [&FunctionTool; N]) -> RegistryError {
    RegistryError { message, places: tools.map(|tool| tool.definition().source()).to_vec() }
}

fn flatten(tool: &Tool, flat: &mut Flat, problems: &mut Vec<RegistryError>, depth: usize) {
    match tool {
        Tool::Function(tool) => flat.functions.push(tool.clone()),
        Tool::Provider(tool) => flat.providers.push(Arc::clone(tool)),
        Tool::Toolset(toolset) => {
            let known = flat.toolsets.iter().any(|known| std::ptr::addr_eq(Arc::as_ptr(known), Arc::as_ptr(toolset)));
            if known {
                // The same instance twice: nothing happens.
                return;
            }
            if depth == 0 {
                let message = format!("toolset `{}` nests deeper than {DEPTH}; does it hold itself?", toolset.id());
                problems.push(RegistryError { message, places: Vec::new() });
                return;
            }
            flat.toolsets.push(Arc::clone(toolset));
            for nested in Arc::clone(toolset).tools() {
                flatten(&nested, flat, problems, depth - 1);
            }
        }
    }
}

/// What is wrong with a tool by itself.
fn check(tool: &ToolDefinition) -> Vec<String> {
    let name = tool.name().escape_debug();
    let mut messages = tool.body.problems.iter().map(|problem| format!("tool `{name}`: {problem}")).collect::<Vec<_>>();
    if !tool.is_raw() {
        messages.extend(check_name(tool.name()));
    } else if messages.is_empty() {
        messages.extend(check_raw_name(tool.name()));
    }
    messages.extend(check_schema(tool.parameters()).map(|problem| format!("tool `{name}`: {problem}")));
    if let Some(Err(problem)) = tool.output().map(jsonschema::meta::validate) {
        messages.push(format!("tool `{name}`: its output schema is no JSON Schema: {problem}"));
    }
    messages.extend(check_compiled(tool).map(|problem| format!("tool `{name}`: {problem}")));
    messages
}

/// A schema may be sound and still not compile: a pattern that is none, a reference to nowhere. Types of one's own have
/// neither unless they write them by hand.
fn check_compiled(tool: &ToolDefinition) -> Option<String> {
    let body = &tool.body;
    if body.raw || body.schema.text.contains("\"pattern") {
        let schema = body.validator().compiled().err();
        if let Some(why) = schema {
            return Some(format!("its parameters do not compile: {why}"));
        }
    }
    let why = body.output_validator().filter(|_| body.raw)?.compiled().err()?;
    Some(format!("its output schema does not compile: {why}"))
}

fn check_schema(schema: &Value) -> Option<String> {
    let kind = schema.get("type");
    if !schema.is_object() || !kind.is_none_or(|kind| kind == "object") {
        return Some("its parameters are no object; a parameters schema has `\"type\": \"object\"` at its root".into());
    }
    let problem = jsonschema::meta::validate(schema).err()?;
    Some(format!("its parameters are no JSON Schema: {}: {problem}", problem.instance_path()))
}

/// Every instance once; names that collide, exactly or in what a provider makes of them, are problems.
fn unique(tools: Vec<FunctionTool>, problems: &mut Vec<RegistryError>) -> Vec<FunctionTool> {
    let mut kept: Vec<FunctionTool> = Vec::with_capacity(tools.len());
    let mut names: FxHashMap<String, usize> = FxHashMap::default();
    for tool in tools {
        let name = normalised(tool.name());
        let Some(other) = names.get(&name).and_then(|index| kept.get(*index)) else {
            names.insert(name, kept.len());
            kept.push(tool);
            continue;
        };
        if other.same(&tool) {
            continue;
        }
        let message = if other.name() == tool.name() {
            format!("duplicate function name: {}; rename one, or give a toolset a `prefix`", tool.name().escape_debug())
        } else {
            format!(
                "function names `{}` and `{}` are the same to a provider; rename one",
                other.name().escape_debug(),
                tool.name().escape_debug()
            )
        };
        problems.push(at(message, [other, &tool]));
    }
    kept
}
