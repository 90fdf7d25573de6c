//! The tools as the page shows them, and their declarations to providers.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tool_adapters_providers::report::ToolReport;
use tool_adapters_providers::{DeclareOptions, Provider, declare_tools, declare_with};
use tool_core::tool::{Guide, GuideExample};
use tool_core::{ToolContext, ToolDefinition};

/// Returns the tools for the list of the page.
pub(crate) fn list_json(tools: &ToolContext) -> Value {
    let providers = tools
        .provider_tools()
        .iter()
        .map(|tool| tool.id())
        .collect::<Vec<_>>();
    json!({
        "tools": tools.definitions().map(summary_json).collect::<Vec<_>>(),
        "providerTools": providers,
        "unconfigured": tools.unconfigured().iter().map(|toolset| &toolset.name).collect::<Vec<_>>(),
    })
}

fn summary_json(tool: &ToolDefinition) -> Value {
    json!({
        "name": tool.name(),
        "title": tool.title(),
        "summary": tool.summary(),
        "category": tool.category(),
        "modes": tool.modes().iter().collect::<Vec<_>>(),
        "options": option_names(tool),
    })
}

/// Returns a tool with its schemas and its documentation.
pub(crate) fn tool_json(tool: &ToolDefinition) -> Value {
    let examples = tool.guide().map(Guide::examples).unwrap_or_default();
    json!({
        "name": tool.name(),
        "title": tool.title(),
        "description": tool.description(),
        "category": tool.category(),
        "modes": tool.modes().iter().collect::<Vec<_>>(),
        "options": option_names(tool),
        "parameters": tool.parameters(),
        "order": tool.parameter_order(),
        "output": tool.output(),
        "returns": tool.returns(),
        "guide": tool.guide().map(Guide::text),
        "examples": examples.iter().map(GuideExample::json).collect::<Vec<_>>(),
        "source": tool.source().to_string(),
        "tokens": tool.token_estimate(),
    })
}

/// Returns the options that are set, in words.
fn option_names(tool: &ToolDefinition) -> Vec<String> {
    let flags = tool.flags().names().map(|name| name.replace('_', " "));
    let mut names = Vec::new();
    names.extend(tool.confirm().label().map(str::to_owned));
    names.extend(flags);
    if tool.is_raw() {
        names.push("raw".to_owned());
    }
    for option in tool.set_options() {
        // The page has no room for the treatment of duplicates.
        if option.name != "on_duplicate" {
            names.push(option.words);
        }
    }
    names
}

/// The options of a declaration on the page.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct DeclareRequest {
    strict: bool,
}

/// A declaration in the provider's form, whose members keep their order.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Declared<'a> {
    declaration: &'a RawValue,
    settings: &'a Map<String, Value>,
    report: Option<&'a ToolReport>,
    name_among_all: Option<&'a str>,
    warnings: &'a [String],
}

/// Returns the declaration of a tool to a provider, and its report.
pub(crate) fn declared_json(
    tools: &ToolContext,
    tool: &ToolDefinition,
    provider: Provider,
    request: DeclareRequest,
) -> Box<RawValue> {
    let options = DeclareOptions {
        strict: request.strict,
        ..DeclareOptions::default()
    };
    // The name depends on those of the other tools, so it is that of the declaration of all of
    // them.
    let of_all = declare_with(provider, tools, options);
    let declared = declare_tools(provider, [tool], &[], options);
    let document = Declared {
        declaration: declared.json(),
        settings: declared.settings(),
        report: declared.report().tools.first(),
        name_among_all: of_all.wire_name(tool.name()),
        warnings: &of_all.report().warnings,
    };
    serde_json::value::to_raw_value(&document).unwrap_or_default()
}
