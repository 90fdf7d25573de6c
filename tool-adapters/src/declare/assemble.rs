//! From definitions to declarations.

use super::form::Item;
use super::mixing::{self, ProviderTools};
use super::names::Names;
use super::{DeclareOptions, Inner, list, text};
use crate::Provider;
use crate::dialect::{self, Projection};
use crate::report::{Refusal, Report, ToolReport};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use tool_core::{ProviderTool, ToolDefinition};

pub(super) fn assemble(
    provider: Provider,
    definitions: Vec<ToolDefinition>,
    provider_tools: &[Arc<dyn ProviderTool>],
    options: DeclareOptions,
) -> Inner {
    let functions = !definitions.is_empty();
    let mut beside = mixing::choose(provider, functions, provider_tools.iter().map(AsRef::as_ref), options);
    let projected = dialect::strict::project_all(provider, &definitions, options.strict);
    let accepted = definitions.iter().zip(&projected).enumerate().filter(|(_, (_, projected))| projected.is_ok());
    let names = accepted.map(|(at, (definition, _))| (at, definition.name()));
    let mut names = Names::of(provider, names.filter(|(_, name)| !beside.declares(name)), &beside.names());
    for (at, definition) in definitions.iter().enumerate().filter(|(_, tool)| beside.declares(tool.name())) {
        names.insert(at, definition.name(), definition.name().to_owned());
    }
    let mut items = Vec::with_capacity(definitions.len());
    let mut tools = Vec::with_capacity(definitions.len());
    for (definition, projected) in definitions.iter().zip(projected) {
        let wire = names.wire(definition.name());
        let (report, item) = if beside.declares(definition.name()) {
            (unchanged(definition, wire), None)
        } else {
            one(provider, definition, wire, projected, options.strict)
        };
        tools.push(report);
        items.extend(item);
    }
    let strict = tools.iter().map(|tool| tool.strict).collect::<Vec<_>>();
    beside.warnings.extend(too_many(provider, items.len(), beside.len()));
    // What is written here is JSON, so there is no error to tell of.
    let json = list::write(provider, &items, &beside).unwrap_or_else(|_| RawValue::NULL.to_owned());
    let settings = settings(provider, &items, &beside, &strict);
    let report = Report { provider, tools, skipped: beside.skipped, warnings: beside.warnings };
    Inner { provider, json, settings, names, strict, definitions, report }
}

/// What is reported of a tool of which nothing is said in a declaration of its own.
fn unchanged(definition: &ToolDefinition, wire: Option<&str>) -> ToolReport {
    ToolReport {
        tool: definition.name().to_owned(),
        declared_as: wire.map(str::to_owned),
        strict: false,
        not_strict: None,
        refused: None,
        changes: Vec::new(),
        tokens: 0,
    }
}

/// What is reported of a tool, and what is declared of it.
fn one(
    provider: Provider,
    definition: &ToolDefinition,
    wire: Option<&str>,
    projected: Result<Projection, Refusal>,
    strict_wanted: bool,
) -> (ToolReport, Option<String>) {
    let mut report = unchanged(definition, None);
    let Projection { schema, changes, not_strict } = match projected {
        Ok(projection) => projection,
        Err(refusal) => {
            report.refused = Some(refusal);
            return (report, None);
        }
    };
    let strict = strict_wanted && not_strict.is_none();
    let item = wire.and_then(|name| {
        let schema = text::write(definition, &schema).ok()?;
        Item { definition, name, schema: &schema, strict }.write(provider).ok()
    });
    report.declared_as = wire.map(str::to_owned);
    report.tokens = item.as_ref().map_or(0, |item| item.chars().count().div_ceil(4));
    (ToolReport { strict, not_strict, changes, ..report }, item)
}

/// What the request has to say besides its tools.
fn settings(provider: Provider, functions: &[String], beside: &ProviderTools, strict: &[bool]) -> Map<String, Value> {
    let setting = match provider {
        Provider::Cohere if strict.contains(&true) => json!({"strict_tools": true}),
        // L31
        _ if mixing::is_chat(provider) && !functions.is_empty() && !beside.is_empty() => {
            json!({"toolConfig": {"includeServerSideToolInvocations": true}})
        }
        _ => return Map::new(),
    };
    setting.as_object().cloned().unwrap_or_default()
}

/// A warning where there are more tools than the provider takes. It decides what it does with them.
fn too_many(provider: Provider, functions: usize, others: usize) -> Option<String> {
    let (found, most) = match provider {
        Provider::OpenAiChat | Provider::OpenAiResponses | Provider::OpenAiRealtime | Provider::Mistral => {
            (functions + others, 128)
        }
        Provider::Gemini | Provider::GeminiJsonSchema | Provider::GeminiLive => (functions, 512),
        _ => return None,
    };
    (found > most).then(|| format!("{found} tools are declared, and {provider} takes {most}: declare fewer at a time"))
}
