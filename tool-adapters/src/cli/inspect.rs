//! The commands that do not open the tools: `list`, `schema`, `manifest` and `lint`.

use crate::cli::arguments::{LintOptions, ManifestOptions, SchemaOptions};
use crate::cli::output::{CommandError, CommandIo, CommandResult, CommandStatus, table};
use crate::providers::lint::Severity;
use crate::providers::report::ToolReport;
use crate::providers::{Declarations, DeclareOptions, Provider, Report, declare_with, lint_for};
use crate::transport::sanitize::escape_control;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tool_core::describe::{Manifest, ManifestErrors};
use tool_core::tool::Confirm;
use tool_core::{Mode, ProviderTool, ToolContext, ToolDefinition};

/// Returns a tool in the output of `list`, which `--tools` accepts.
fn listed_function(tool: &ToolDefinition) -> Value {
    let mut listed = json!({
        "kind": "function",
        "name": tool.name(),
        "title": tool.title(),
        "description": tool.description(),
        "category": tool.category(),
        "modes": tool.modes().iter().collect::<Vec<_>>(),
        "confirm": match tool.confirm() {
            Confirm::Never => "never",
            Confirm::Always => "always",
            Confirm::When(_) => "conditional",
        },
        "inputSchema": tool.parameters(),
        "outputSchema": tool.output(),
        "source": tool.source().to_string(),
    });
    if let Value::Object(members) = &mut listed {
        members.retain(|_, value| !value.is_null());
    }
    listed
}

fn supporting_providers(tool: &dyn ProviderTool) -> Vec<Provider> {
    Provider::ALL.into_iter().filter(|provider| tool.config(&provider.id()).is_some()).collect()
}

pub(crate) fn list(tools: &ToolContext, io: &mut CommandIo<'_>) -> CommandResult {
    for toolset in tools.unconfigured() {
        io.note(&format!("note: toolset `{}` is left out: it needs configuration", escape_control(&toolset.name)));
    }
    if !io.terminal {
        let others = tools
            .provider_tools()
            .iter()
            .map(|tool| json!({"kind": "provider", "name": tool.id(), "providers": supporting_providers(&**tool)}));
        io.print_json(&tools.definitions().map(listed_function).chain(others).collect::<Vec<_>>())?;
        return Ok(CommandStatus::Success);
    }
    let functions = tools.definitions().map(|tool| {
        let modes = tool.modes().iter().map(Mode::as_str).collect::<Vec<_>>().join(", ");
        [tool.name().to_owned(), tool.category().as_str().to_owned(), modes, tool.summary().into_owned()]
    });
    let others = tools.provider_tools().iter().map(|tool| {
        let providers = supporting_providers(&**tool).into_iter().map(Provider::name).collect::<Vec<_>>().join(", ");
        [tool.id().to_owned(), "provider".to_owned(), String::new(), format!("for {providers}")]
    });
    let rows = functions.chain(others).collect::<Vec<_>>();
    io.print(&table(["TOOL", "CATEGORY", "MODES", "DESCRIPTION"], &rows))?;
    Ok(CommandStatus::Success)
}

pub(crate) fn manifest(tools: &ToolContext, options: &ManifestOptions, io: &mut CommandIo<'_>) -> CommandResult {
    let manifest = crate::providers::manifest::build(tools).map_err(CommandError::failure)?;
    if let Some(path) = &options.check {
        let written =
            Manifest::read(path).map_err(|error| CommandError::Usage(ManifestErrors::from(error).to_string()))?;
        let drift = manifest.drift_from(&written);
        if !drift.is_empty() {
            let lines = drift.iter().map(ToString::to_string).collect::<Vec<_>>();
            return Err(CommandError::Failure(lines.join("\n")));
        }
        if io.terminal {
            io.print_line(&format!("{} is up to date: version {}", path.display(), manifest.version))?;
        } else {
            io.print_json(&json!({"version": manifest.version}))?;
        }
    } else if io.terminal {
        let rows = manifest.tools.iter().map(|tool| {
            [tool.tool_id.clone(), tool.category.as_str().to_owned(), tool.handler_path.clone(), tool.source.clone()]
        });
        io.print(&table(["TOOL", "CATEGORY", "HANDLER", "SOURCE"], &rows.collect::<Vec<_>>()))?;
        io.print_line(&format!("\nversion {}; --json prints the manifest", manifest.version))?;
    } else {
        io.print(&manifest.to_json_pretty())?;
    }
    Ok(CommandStatus::Success)
}

pub(crate) fn lint(tools: &ToolContext, options: &LintOptions, io: &mut CommandIo<'_>) -> CommandResult {
    let providers = if options.provider.is_empty() { &Provider::ALL[..] } else { &options.provider };
    let declare = DeclareOptions { strict: options.strict, ..DeclareOptions::default() };
    let report = lint_for(tools, providers, declare);
    let status = if report.refuses_nothing() { CommandStatus::Success } else { CommandStatus::Failure };
    if !io.terminal {
        io.print_json(&report)?;
        return Ok(status);
    }
    let notes = report.of(Severity::Note).len();
    let visible = report.keep(|finding| options.notes || finding.severity > Severity::Note);
    io.print(&visible.to_string())?;
    if notes > 0 && !options.notes {
        io.print_line(&format!("\n--notes shows {notes} notes."))?;
    }
    Ok(status)
}

/// The output of `schema --report`. The declarations keep their text.
#[derive(Serialize)]
struct SchemaOutput<'a> {
    declarations: &'a RawValue,
    settings: &'a Map<String, Value>,
    report: &'a Report,
}

/// Prints the declarations. `with_report` prints the report even without `--report`.
pub(crate) fn schema(
    tools: &ToolContext,
    options: &SchemaOptions,
    with_report: bool,
    io: &mut CommandIo<'_>,
) -> CommandResult {
    let declare = DeclareOptions {
        strict: options.strict,
        only_single_type: options.only_single_type,
        model_mixes: options.model_mixes,
    };
    let declared = declare_with(options.provider, tools, declare);
    if io.terminal {
        print_declarations(&declared, io)?;
    } else if with_report || options.report {
        let (declarations, settings, report) = (declared.json(), declared.settings(), declared.report());
        io.print_json(&SchemaOutput { declarations, settings, report })?;
    } else {
        io.print_line(declared.json().get())?;
        // The declarations alone do not show which tools are missing.
        for (tool, reason) in refused_tools(declared.report()) {
            io.note(&format!("warning: `{}` is not declared: {reason}", tool.tool.escape_debug()));
        }
    }
    Ok(CommandStatus::Success)
}

fn refused_tools(report: &Report) -> impl Iterator<Item = (&ToolReport, String)> {
    report.tools.iter().filter_map(|tool| Some((tool, tool.refused.as_ref()?.to_string())))
}

fn print_declarations(declared: &Declarations, io: &mut CommandIo<'_>) -> Result<(), CommandError> {
    let report = declared.report();
    let rows = report.tools.iter().map(|tool| {
        let declared_as = tool.declared_as.as_deref().unwrap_or("(refused)").to_owned();
        let strict = if tool.strict { "yes" } else { "no" };
        let changes = tool.changes.len().to_string();
        [tool.tool.clone(), declared_as, strict.to_owned(), tool.tokens.to_string(), changes]
    });
    let rows = rows.collect::<Vec<_>>();
    io.print(&table(["TOOL", "DECLARED AS", "STRICT", "TOKENS", "CHANGES"], &rows))?;
    for (tool, reason) in refused_tools(report) {
        io.print_line(&format!("{} is refused: {reason}", tool.tool.escape_debug()))?;
    }
    for skipped in &report.skipped {
        io.print_line(&format!("{} is skipped: {}", skipped.id.escape_debug(), skipped.reason))?;
    }
    for warning in &report.warnings {
        io.print_line(warning)?;
    }
    for (name, value) in declared.settings() {
        io.print_line(&format!("request setting {name}: {value}"))?;
    }
    io.print_line("\n--json prints the declarations; `lint` lists the changes.")
}
