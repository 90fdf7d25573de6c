//! The tools of a command line: linked tools, a given context, or the declarations of a file.

use crate::output::{CommandError, CommandIo};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::path::Path;
use tool_adapters_providers::mcp::messages::with_hints;
use tool_core::{FunctionTool, RawTool, RegistryErrors, RunContext, ToolContext, ToolError};

/// Returns the tools of a command line without `--tools`. They are not built if a file has the
/// tools.
pub(crate) type ToolSource<'a> = &'a dyn Fn() -> Result<ToolContext, RegistryErrors>;

/// The file of declarations that replaces the linked tools.
#[derive(Clone, Copy)]
pub(crate) struct ToolFile<'a> {
    pub(crate) path: &'a Path,
    /// True if invalid declarations are left out with a warning.
    pub(crate) skips_invalid: bool,
}

/// Returns the tools of the file if there is one, with the schemas of their results.
pub(crate) fn open_tools(
    source: ToolSource<'_>,
    file: Option<ToolFile<'_>>,
    io: &mut CommandIo<'_>,
) -> Result<ToolContext, CommandError> {
    match file {
        Some(file) => read_declarations(file, true, io),
        None => source().map_err(CommandError::failure),
    }
}

/// Reads a file of declarations as tools that return their arguments, and reports all problems of
/// the file. An echo has no results of the declared schemas, so calls leave out the output schemas.
pub(crate) fn read_declarations(
    file: ToolFile<'_>,
    output_schemas: bool,
    io: &mut CommandIo<'_>,
) -> Result<ToolContext, CommandError> {
    let path = file.path;
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
        let tool = match echo_tool(entry, output_schemas) {
            Ok(tool) => tool,
            Err(messages) => {
                problems.extend(
                    messages
                        .into_iter()
                        .map(|message| format!("tool {number}: {message}")),
                );
                continue;
            }
        };
        // Registered alone, so that an invalid tool does not keep the others out.
        let alone = file
            .skips_invalid
            .then(|| ToolContext::builder().with(tool.clone()).build());
        if let Some(Err(errors)) = alone {
            problems.extend(messages(&errors));
            continue;
        }
        match numbers.insert(tool.name().to_owned(), number) {
            None => builder = builder.with(tool),
            Some(first) => {
                let name = tool.name().escape_debug();
                problems.push(format!(
                    "duplicate tool name `{name}`: tools {first} and {number}"
                ));
            }
        }
    }
    let built = builder
        .build()
        .map_err(|errors| problems.extend(messages(&errors)));
    let problems = problems
        .iter()
        .map(|problem| format!("{}: {problem}", path.display()))
        .collect::<Vec<_>>();
    match built {
        Ok(tools) if problems.is_empty() || file.skips_invalid => {
            for problem in &problems {
                io.note(&format!("warning: {problem}; the tool is skipped"));
            }
            Ok(tools)
        }
        _ => Err(CommandError::Usage(problems.join("\n"))),
    }
}

/// Returns the messages only, as the errors' source locations are in this file.
fn messages(errors: &RegistryErrors) -> Vec<String> {
    errors.iter().map(|error| error.message.clone()).collect()
}

/// Returns a text without its byte order mark, which some editors and shells write. It is no part
/// of JSON.
pub(crate) fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
}

/// Parses an array of declarations, the result of MCP's `tools/list`, or the JSON-RPC response
/// around it.
fn parse_entries(text: &[u8]) -> Result<Vec<Value>, String> {
    match serde_json::from_slice(without_mark(text))
        .map_err(|error| format!("invalid JSON: {error}"))?
    {
        Value::Array(entries) => Ok(entries),
        Value::Object(mut object) => {
            let mut result = match object.remove("result") {
                Some(Value::Object(result)) => result,
                _ => object,
            };
            match result.remove("tools") {
                Some(Value::Array(entries)) => Ok(entries),
                _ => Err("expected an array `tools` in the object".into()),
            }
        }
        _ => Err("expected an array [{name, description, inputSchema}]".into()),
    }
}

fn echo_tool(entry: Value, output_schemas: bool) -> Result<FunctionTool, Vec<String>> {
    let Value::Object(mut entry) = entry else {
        return Err(vec!["expected an object".to_owned()]);
    };
    // OpenAI's Chat Completions have the declaration inside, and may leave out the parameters.
    let is_openai = entry.get("type").is_some_and(|kind| kind == "function");
    if let (true, Some(Value::Object(function))) = (is_openai, entry.get_mut("function")) {
        entry = std::mem::take(function);
    }
    let mut problems = Vec::new();
    let name = string_member(&mut entry, "name", &mut problems);
    if name.is_none() && problems.is_empty() {
        problems.push("missing `name`".to_owned());
    }
    let description = string_member(&mut entry, "description", &mut problems).unwrap_or_default();
    let title = string_member(&mut entry, "title", &mut problems);
    let parameters = ["inputSchema", "input_schema", "parameters"]
        .into_iter()
        .find_map(|key| entry.remove(key));
    let parameters = parameters.filter(|parameters| !(is_openai && parameters.is_null()));
    let parameters =
        parameters.or_else(|| is_openai.then(|| json!({"type": "object", "properties": {}})));
    if parameters.is_none() {
        problems.push("missing `inputSchema`".to_owned());
    }
    let hints = match entry.remove("annotations") {
        Some(Value::Object(hints)) => Some(hints),
        None | Some(Value::Null) => None,
        Some(_) => {
            problems.push("expected `annotations` to be an object".to_owned());
            None
        }
    };
    let (Some(name), Some(parameters), true) = (name, parameters, problems.is_empty()) else {
        return Err(problems);
    };
    let mut tool = FunctionTool::raw(
        RawTool {
            name,
            description,
            parameters,
        },
        echo,
    )
    .validate(true);
    if let Some(hints) = &hints {
        let names = [
            "readOnlyHint",
            "destructiveHint",
            "idempotentHint",
            "openWorldHint",
        ];
        tool = with_hints(
            &tool,
            names.map(|name| hints.get(name).and_then(Value::as_bool)),
        );
    }
    let hinted = hints
        .as_ref()
        .and_then(|hints| hints.get("title")?.as_str())
        .map(str::to_owned);
    if let Some(title) = title.or(hinted) {
        tool = tool.title(title);
    }
    match entry.remove("outputSchema") {
        Some(output) if output_schemas && !output.is_null() => tool = tool.output_schema(output),
        _ => {}
    }
    Ok(tool)
}

/// Removes an optional string from an entry.
fn string_member(
    entry: &mut Map<String, Value>,
    key: &str,
    problems: &mut Vec<String>,
) -> Option<String> {
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
