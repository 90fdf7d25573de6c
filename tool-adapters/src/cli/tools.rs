//! The tools of a command line: linked tools, a given context, or the declarations of a file.

use crate::cli::output::CommandError;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::path::Path;
use tool_core::{FunctionTool, RawTool, RegistryErrors, RunContext, ToolContext, ToolError};

/// Returns the tools of a command line without `--tools`. They are not built if a file has the tools.
pub(crate) type ToolSource<'a> = &'a dyn Fn() -> Result<ToolContext, RegistryErrors>;

/// Returns the tools of the file if there is one, with the schemas of their results.
pub(crate) fn open_tools(source: ToolSource<'_>, file: Option<&Path>) -> Result<ToolContext, CommandError> {
    match file {
        Some(path) => read_declarations(path, true),
        None => source().map_err(CommandError::failure),
    }
}

/// Reads a file of declarations as tools that return their arguments, and reports all problems of the file. An echo has
/// no results of the declared schemas, so calls leave out the output schemas.
pub(crate) fn read_declarations(path: &Path, output_schemas: bool) -> Result<ToolContext, CommandError> {
    let text = std::fs::read(path).map_err(|error| CommandError::file(path, error))?;
    let entries = parse_entries(&text).map_err(|problem| CommandError::file(path, problem))?;
    let mut problems = Vec::new();
    let mut numbers = HashMap::new();
    let mut builder = ToolContext::builder();
    for (number, entry) in (1..).zip(entries) {
        // `list` also prints provider tools, which are not declarations.
        if entry.get("kind").is_some_and(|kind| kind == "provider") {
            continue;
        }
        match echo_tool(entry, output_schemas) {
            Ok(tool) => match numbers.insert(tool.name().to_owned(), number) {
                None => builder = builder.with(tool),
                Some(first) => {
                    let name = tool.name().escape_debug();
                    problems.push(format!("duplicate tool name `{name}`: tools {first} and {number}"));
                }
            },
            Err(messages) => problems.extend(messages.into_iter().map(|message| format!("tool {number}: {message}"))),
        }
    }
    match builder.build() {
        Ok(tools) if problems.is_empty() => return Ok(tools),
        Ok(_) => {}
        // Only the messages, as the errors' source locations are in this file.
        Err(errors) => problems.extend(errors.iter().map(|error| error.message.clone())),
    }
    let lines = problems.iter().map(|problem| format!("{}: {problem}", path.display())).collect::<Vec<_>>();
    Err(CommandError::Usage(lines.join("\n")))
}

/// Parses an array of declarations, or the result of MCP's `tools/list`.
fn parse_entries(text: &[u8]) -> Result<Vec<Value>, String> {
    match serde_json::from_slice(text).map_err(|error| format!("invalid JSON: {error}"))? {
        Value::Array(entries) => Ok(entries),
        Value::Object(mut result) => match result.remove("tools") {
            Some(Value::Array(entries)) => Ok(entries),
            _ => Err("expected an array `tools` in the object".into()),
        },
        _ => Err("expected an array [{name, description, inputSchema}]".into()),
    }
}

fn echo_tool(entry: Value, output_schemas: bool) -> Result<FunctionTool, Vec<String>> {
    let Value::Object(mut entry) = entry else { return Err(vec!["expected an object".to_owned()]) };
    let mut problems = Vec::new();
    let name = string_member(&mut entry, "name", &mut problems);
    if name.is_none() && problems.is_empty() {
        problems.push("missing `name`".to_owned());
    }
    let description = string_member(&mut entry, "description", &mut problems).unwrap_or_default();
    let title = string_member(&mut entry, "title", &mut problems);
    let parameters = ["inputSchema", "input_schema", "parameters"].into_iter().find_map(|key| entry.remove(key));
    if parameters.is_none() {
        problems.push("missing `inputSchema`".to_owned());
    }
    let (Some(name), Some(parameters), true) = (name, parameters, problems.is_empty()) else { return Err(problems) };
    let mut tool = FunctionTool::raw(RawTool { name, description, parameters }, echo).validate(true);
    if let Some(title) = title {
        tool = tool.title(title);
    }
    match entry.remove("outputSchema") {
        Some(output) if output_schemas && !output.is_null() => tool = tool.output_schema(output),
        _ => {}
    }
    Ok(tool)
}

/// Removes an optional string from an entry.
fn string_member(entry: &mut Map<String, Value>, key: &str, problems: &mut Vec<String>) -> Option<String> {
    match entry.remove(key)? {
        Value::String(text) => Some(text),
        Value::Null => None,
        _ => {
            problems.push(format!("expected `{key}` to be a string"));
            None
        }
    }
}

async fn echo(arguments: Value, _: &RunContext) -> Result<Value, ToolError> {
    Ok(arguments)
}
