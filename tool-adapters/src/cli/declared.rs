//! Declarations in a file, as tools that echo what they are called with.

use crate::cli::Stop;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::path::Path;
use tool_core::{FunctionTool, RawTool, RunContext, ToolContext, ToolError};

/// What the tools are read for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To be declared: with the schemas of their results.
    Look,
    /// To be called: there are no results, so nothing is known of them.
    Echo,
}

/// Reads a file of declarations; every problem of it is told.
pub(crate) fn read(path: &Path, purpose: Purpose) -> Result<ToolContext, Stop> {
    let text = std::fs::read(path).map_err(|error| Stop::file(path, error))?;
    let entries = entries(&text).map_err(|problem| Stop::file(path, problem))?;
    let mut problems = Vec::new();
    let mut places = HashMap::new();
    let mut builder = ToolContext::builder();
    for (number, entry) in entries.into_iter().enumerate().map(|(at, entry)| (at + 1, entry)) {
        // What `list` prints of a provider tool is no declaration.
        if entry.get("kind").is_some_and(|kind| kind == "provider") {
            continue;
        }
        match tool(entry, purpose) {
            Ok(tool) => match places.insert(tool.name().to_owned(), number) {
                None => builder = builder.with(tool),
                Some(first) => {
                    problems
                        .push(format!("tools {first} and {number} are both called `{}`", tool.name().escape_debug()));
                }
            },
            Err(messages) => problems.extend(messages.into_iter().map(|message| format!("tool {number}: {message}"))),
        }
    }
    match builder.build() {
        Ok(tools) if problems.is_empty() => return Ok(tools),
        Ok(_) => {}
        // The places that it tells are in this file, not in theirs.
        Err(errors) => problems.extend(errors.iter().map(|error| error.message.clone())),
    }
    let lines = problems.iter().map(|problem| format!("{}: {problem}", path.display())).collect::<Vec<_>>();
    Err(Stop::Usage(lines.join("\n")))
}

/// An array of declarations, or the result of MCP's `tools/list`.
fn entries(text: &[u8]) -> Result<Vec<Value>, String> {
    match serde_json::from_slice(text).map_err(|error| format!("it is not JSON: {error}"))? {
        Value::Array(entries) => Ok(entries),
        Value::Object(mut result) => match result.remove("tools") {
            Some(Value::Array(entries)) => Ok(entries),
            _ => Err("it is an object without an array `tools`; expected [{name, description, inputSchema}]".into()),
        },
        _ => Err("it is no array; expected [{name, description, inputSchema}]".into()),
    }
}

fn tool(entry: Value, purpose: Purpose) -> Result<FunctionTool, Vec<String>> {
    let Value::Object(mut entry) = entry else { return Err(vec!["it is no object".to_owned()]) };
    let mut problems = Vec::new();
    let name = text(&mut entry, "name", &mut problems);
    if name.is_none() && problems.is_empty() {
        problems.push("`name` is missing".to_owned());
    }
    let description = text(&mut entry, "description", &mut problems).unwrap_or_default();
    let title = text(&mut entry, "title", &mut problems);
    let parameters = ["inputSchema", "input_schema", "parameters"].into_iter().find_map(|key| entry.remove(key));
    if parameters.is_none() {
        problems.push("`inputSchema` is missing".to_owned());
    }
    let (Some(name), Some(parameters), true) = (name, parameters, problems.is_empty()) else { return Err(problems) };
    let mut tool = FunctionTool::raw(RawTool { name, description, parameters }, echo).validate(true);
    if let Some(title) = title {
        tool = tool.title(title);
    }
    match entry.remove("outputSchema") {
        Some(output) if purpose == Purpose::Look && !output.is_null() => tool = tool.output_schema(output),
        _ => {}
    }
    Ok(tool)
}

/// A member that is a text, absent or null.
fn text(entry: &mut Map<String, Value>, key: &str, problems: &mut Vec<String>) -> Option<String> {
    match entry.remove(key)? {
        Value::String(text) => Some(text),
        Value::Null => None,
        _ => {
            problems.push(format!("`{key}` has to be a text"));
            None
        }
    }
}

async fn echo(arguments: Value, _: &RunContext) -> Result<Value, ToolError> {
    Ok(arguments)
}

// ---- Where the tools come from.

/// The tools of a command line that names no file.
pub(crate) enum Source {
    /// All that are linked in and need no configuration.
    Linked,
    /// These.
    Given(ToolContext),
}

impl Source {
    /// The tools to look at: those of the file, where one is named.
    pub(crate) fn tools(&self, declared: Option<&Path>) -> Result<ToolContext, Stop> {
        match declared {
            Some(path) => read(path, Purpose::Look),
            None => self.own(),
        }
    }

    /// The tools that there are without a file.
    pub(crate) fn own(&self) -> Result<ToolContext, Stop> {
        match self {
            Self::Linked => ToolContext::discover().map_err(|problems| Stop::Refused(problems.to_string())),
            Self::Given(tools) => Ok(tools.clone()),
        }
    }
}
