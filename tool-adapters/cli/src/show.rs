//! The commands that describe tools to people: `list` and `show`.

use crate::output::{CommandError, CommandIo, CommandResult, CommandStatus};
use crate::parameters::{ParameterRow, ParameterRows, ParameterSchema};
use crate::text::{ASIDE, Column, HEADING, NAME, WARNING};
use serde_json::{Map, Value, json};
use std::path::Path;
use tool_adapters_providers::Provider;
use tool_core::tool::{Confirm, Guide};
use tool_core::{Mode, ProviderTool, RunContext, ToolContext, ToolDefinition};

/// Returns a tool as `list` prints it in JSON, which `--tools` accepts.
fn listed_function(tool: &ToolDefinition, file: Option<&Path>) -> Map<String, Value> {
    let listed = json!({
        "kind": "function",
        "name": tool.name(),
        "title": tool.title(),
        "description": tool.description(),
        "category": tool.category(),
        "modes": tool.modes().iter().collect::<Vec<_>>(),
        "confirm": tool.confirm().as_str(),
        "inputSchema": tool.parameters(),
        "outputSchema": tool.output(),
        "source": source(tool, file),
    });
    members(listed)
}

/// Returns the members of an object that are not null.
fn members(object: Value) -> Map<String, Value> {
    let Value::Object(mut members) = object else {
        return Map::new();
    };
    members.retain(|_, value| !value.is_null());
    members
}

/// Returns the place that declares a tool.
fn source(tool: &ToolDefinition, file: Option<&Path>) -> String {
    file.map_or_else(
        || tool.source().to_string(),
        |file| file.display().to_string(),
    )
}

fn listed_provider_tool(tool: &dyn ProviderTool) -> Map<String, Value> {
    members(json!({"kind": "provider", "name": tool.id(), "providers": supporting_providers(tool)}))
}

fn supporting_providers(tool: &dyn ProviderTool) -> Vec<Provider> {
    Provider::ALL
        .into_iter()
        .filter(|provider| tool.config(&provider.id()).is_some())
        .collect()
}

/// Returns the providers of a provider tool in words.
fn for_providers(tool: &dyn ProviderTool) -> String {
    let providers = supporting_providers(tool)
        .into_iter()
        .map(Provider::name)
        .collect::<Vec<_>>();
    format!(
        "for {}",
        if providers.is_empty() {
            "no provider".to_owned()
        } else {
            providers.join(", ")
        }
    )
}

fn modes(tool: &ToolDefinition) -> String {
    tool.modes()
        .iter()
        .map(Mode::as_str)
        .collect::<Vec<_>>()
        .join(", ")
}

/// Prints all tools, a line each.
pub(crate) fn list(
    tools: &ToolContext,
    file: Option<&Path>,
    io: &mut CommandIo<'_>,
) -> CommandResult {
    for toolset in tools.unconfigured() {
        io.note(&format!(
            "note: toolset `{}` is left out: it needs configuration",
            toolset.name
        ));
    }
    if io.json {
        let others = tools
            .provider_tools()
            .iter()
            .map(|tool| listed_provider_tool(&**tool));
        let all = tools
            .definitions()
            .map(|tool| listed_function(tool, file))
            .chain(others);
        io.print_json(&all.collect::<Vec<_>>())?;
        return Ok(CommandStatus::Success);
    }
    let functions = tools.definitions().map(|tool| {
        let [name, category] = [tool.name(), tool.category().as_str()].map(str::to_owned);
        let modes = if tool.modes().iter().count() == 2 {
            "both".to_owned()
        } else {
            modes(tool)
        };
        [
            name,
            parameter_list(tool),
            tool.confirm().as_str().to_owned(),
            category,
            modes,
            tool.summary().into_owned(),
        ]
    });
    let others = tools.provider_tools().iter().map(|tool| {
        let [name, category] = [tool.id(), "provider"].map(str::to_owned);
        [
            name,
            String::new(),
            String::new(),
            category,
            String::new(),
            for_providers(&**tool),
        ]
    });
    let rows = functions.chain(others).collect::<Vec<_>>();
    if rows.is_empty() {
        if file.is_none() {
            io.note("note: no tools are linked into this program; --tools FILE reads declarations");
        }
        return Ok(CommandStatus::Success);
    }
    let columns = [
        Column::new("TOOL").style(NAME),
        Column::new("PARAMETERS").wraps(),
        Column::new("CONFIRM"),
        Column::new("CATEGORY"),
        Column::new("MODES"),
        Column::new("DESCRIPTION").wraps(),
    ];
    let table = io.layout.table(columns, rows);
    io.print(&table)?;
    Ok(CommandStatus::Success)
}

/// Returns the names of a tool's parameters, the optional ones with a question mark.
fn parameter_list(tool: &ToolDefinition) -> String {
    let ParameterRows { rows, has_more } = ParameterSchema::new(tool.parameters()).top_rows();
    let named = rows.iter().map(|row| {
        let mark = if row.required { "" } else { "?" };
        format!("{}{mark}", row.name)
    });
    let more = has_more.then(|| "..".to_owned());
    named.chain(more).collect::<Vec<_>>().join(", ")
}

/// Prints one tool.
pub(crate) async fn show(
    tools: &ToolContext,
    name: &str,
    file: Option<&Path>,
    io: &mut CommandIo<'_>,
) -> CommandResult {
    if let Some(tool) = tools.definitions().find(|tool| tool.name() == name) {
        return show_function(tool, file, io);
    }
    let Some(tool) = tools.provider_tools().iter().find(|tool| tool.id() == name) else {
        // The error of a call has the nearest name. No tool runs, as there is none of this name.
        let response = tools.call(name, "{}", &RunContext::detached()).await;
        let message = response
            .error()
            .map_or_else(String::new, |error| error.message.clone());
        return Err(CommandError::Failure(message));
    };
    if io.json {
        io.print_json(&listed_provider_tool(&**tool))?;
    } else {
        let title = io.layout.paint(HEADING, &name.escape_debug().to_string());
        io.print_line(&title)?;
        let text = io
            .layout
            .lines(&format!("A provider tool {}.", for_providers(&**tool)), 0);
        io.print(&text)?;
    }
    Ok(CommandStatus::Success)
}

fn show_function(
    tool: &ToolDefinition,
    file: Option<&Path>,
    io: &mut CommandIo<'_>,
) -> CommandResult {
    if io.json {
        let mut shown = listed_function(tool, file);
        shown.extend(members(json!({
            "options": options_json(tool),
            "returns": tool.returns(),
            "guide": tool.guide().map(Guide::text),
        })));
        io.print_json(&shown)?;
        return Ok(CommandStatus::Success);
    }
    let layout = io.layout;
    let title = tool
        .title()
        .map_or_else(String::new, |title| format!(": {}", title.escape_debug()));
    io.print_line(&format!(
        "{}{title}",
        layout.paint(NAME.bold(), tool.name())
    ))?;
    io.print(&layout.lines(tool.description(), 0))?;
    let ParameterRows { rows, has_more } = ParameterSchema::new(tool.parameters()).rows();
    if rows.is_empty() {
        io.print("\nNo parameters.\n")?;
    } else {
        let columns = [
            Column::new("PARAMETER").style(NAME),
            Column::new("TYPE").wraps(),
            Column::new("REQUIRED"),
            Column::new("DEFAULT").wraps(),
            Column::new("LIMITS").wraps(),
            Column::new("DESCRIPTION").wraps(),
        ];
        let cells = |row: ParameterRow| {
            let required = if row.required { "yes" } else { "no" };
            [
                row.name,
                row.kind,
                required.to_owned(),
                row.default,
                row.limits,
                one_line(&row.description),
            ]
        };
        let table = layout.table(columns, rows.into_iter().map(cells).collect());
        io.print_line("")?;
        io.print(&table)?;
    }
    if has_more {
        let lines = layout.lines("There are more; --json prints the whole schema.", 0);
        io.print(&layout.paint(ASIDE, &lines))?;
    }
    io.print_line("")?;
    let options = layout.table(
        [Column::new("OPTION"), Column::new("VALUE").wraps()],
        options(tool, file),
    );
    io.print(&options)?;
    let approval = match tool.confirm() {
        Confirm::Never => "",
        Confirm::Always => "A call needs approval, which `call --approve` gives.",
        Confirm::When(_) => "Some calls need approval, which `call --approve` gives.",
    };
    if !approval.is_empty() {
        let lines = layout.lines(approval, 0);
        io.print(&format!("\n{}", layout.paint(WARNING, &lines)))?;
    }
    if let Some(guide) = tool.guide() {
        io.print_line(&format!("\n{}", layout.paint(HEADING, "GUIDE")))?;
        io.print(&layout.lines(guide.text(), 0))?;
    }
    Ok(CommandStatus::Success)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the options of a tool as they are named in `#[tool(..)]`, without those that are not
/// set.
fn options(tool: &ToolDefinition, file: Option<&Path>) -> Vec<[String; 2]> {
    let returns = match (tool.returns(), tool.output()) {
        (Some(text), _) => Some(one_line(text)),
        (None, Some(_)) => Some("JSON of the output schema (--json prints it)".to_owned()),
        (None, None) => None,
    };
    let flags = tool.flags().names().collect::<Vec<_>>().join(", ");
    let tokens = format!("{} (estimate)", tool.token_estimate());
    let mut rows = vec![
        ["category", tool.category().as_str()].map(str::to_owned),
        ["modes", &modes(tool)].map(str::to_owned),
        ["confirm", tool.confirm().as_str()].map(str::to_owned),
    ];
    if !flags.is_empty() {
        rows.push(["flags".to_owned(), flags]);
    }
    for option in tool.set_options() {
        rows.push([option.name.to_owned(), option.with_unit()]);
    }
    if let Some(returns) = returns {
        rows.push(["returns".to_owned(), returns]);
    }
    rows.push(["tokens".to_owned(), tokens]);
    rows.push(["source".to_owned(), source(tool, file)]);
    rows
}

fn options_json(tool: &ToolDefinition) -> Map<String, Value> {
    let flags = tool.flags().names().map(Value::from).collect();
    let mut members = Map::from_iter([("flags".to_owned(), flags)]);
    for option in tool.set_options() {
        members.insert(option.json_name, option.json);
        if option.name == "on_duplicate" {
            members.insert("duplicateScope".to_owned(), json!(tool.duplicate_scope()));
        }
    }
    members
}
