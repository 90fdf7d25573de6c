//! What is amiss with tools whatever the provider.

use super::Severity::{Note, Warning};
use super::gather::Gathered;
use crate::provider::Provider;
use serde_json::Value;
use tool_core::{ToolContext, ToolDefinition};

/// What every provider takes.
const MOST_TOOLS: usize = 128;
const LONGEST_NAME: usize = 64;
/// In characters. A model reads it with every request, and attends less to each sentence the more there are.
const LONG_DESCRIPTION: usize = 2000;
/// The names that one finding tells.
const SHOWN: usize = 8;

pub(super) fn look_at(tools: &ToolContext, found: &mut Gathered) {
    for (at, tool) in tools.definitions().enumerate() {
        for (severity, message) in problems(tool) {
            found.add(severity, Some((at, tool.name())), None, message);
        }
    }
    let count = tools.function_tools().len();
    if count > MOST_TOOLS {
        let message = format!(
            "{count} tools: several providers take {MOST_TOOLS} in a request, and a model chooses worse among many; \
             show a session those that it needs"
        );
        found.add(Warning, None, None, message);
    }
}

fn problems(tool: &ToolDefinition) -> Vec<(super::Severity, String)> {
    let mut problems = Vec::new();
    let length = tool.description().chars().count();
    if tool.description().trim().is_empty() {
        problems.push((Warning, "it has no description; the model chooses a tool by it".to_owned()));
    } else if length > LONG_DESCRIPTION {
        let message = format!(
            "its description has {length} characters, which a model reads each time; the details may go into its guide"
        );
        problems.push((Warning, message));
    }
    if !portable(tool.name()) {
        let message = format!(
            "its name is not one that every provider takes: 1-{LONGEST_NAME} of `A-Z a-z 0-9 _ -`, beginning with a letter or `_`"
        );
        problems.push((Note, message));
    }
    let silent = undescribed(tool.parameters());
    if !silent.is_empty() {
        let more = silent.len().saturating_sub(SHOWN);
        let names = silent.iter().take(SHOWN).map(|name| format!("`{}`", name.escape_debug())).collect::<Vec<_>>();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        problems.push((Note, format!("parameters without a description: {}{more}", names.join(", "))));
    }
    problems
}

/// Whether every provider takes the name as it is.
fn portable(name: &str) -> bool {
    let begins = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    begins && name.len() <= LONGEST_NAME && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// The parameters that say nothing about themselves. One that refers to a type is told of there.
fn undescribed(schema: &Value) -> Vec<&str> {
    let parameters = schema.get("properties").and_then(Value::as_object);
    let silent = |parameter: &Value| {
        let says = |keyword| parameter.get(keyword).is_some();
        parameter.is_object() && !["description", "$ref", "const", "enum"].into_iter().any(says)
    };
    let silent = parameters.into_iter().flatten().filter(|(_, parameter)| silent(parameter));
    silent.map(|(name, _)| name.as_str()).collect()
}

/// Provider tools that nobody takes, and such as are called here with nobody to answer.
pub(super) fn provider_tools(tools: &ToolContext, providers: &[Provider], found: &mut Gathered) {
    let first = tools.function_tools().len();
    for (at, tool) in tools.provider_tools().iter().enumerate() {
        let at = Some((first + at, tool.id()));
        let takers = providers.iter().filter(|provider| tool.config(&provider.id()).is_some()).collect::<Vec<_>>();
        if takers.is_empty() {
            found.add(Warning, at, None, "none of these providers takes this provider tool".to_owned());
            continue;
        }
        let names = tool.answered_here();
        if !names.is_empty() && !names.iter().any(|name| tools.function_tool(name).is_some()) {
            let name = names.first().copied().unwrap_or_default();
            let message = format!(
                "the provider declares this tool and does not run it: calls come as `{name}`{}, and no function tool answers them",
                if names.len() > 1 { " and others" } else { "" }
            );
            for taker in takers {
                found.add(Warning, at, Some(*taker), message.clone());
            }
        }
    }
}
