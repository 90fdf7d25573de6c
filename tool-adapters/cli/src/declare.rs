//! The commands that check and print declarations: `schema`, `manifest` and `lint`.

use crate::arguments::{LintOptions, ManifestOptions, SchemaOptions};
use crate::output::{CommandError, CommandIo, CommandResult, CommandStatus};
use crate::text::{ASIDE, Column, NAME};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tool_adapters_providers::lint::Severity;
use tool_adapters_providers::report::ToolReport;
use tool_adapters_providers::{
    Declarations, DeclareOptions, Provider, Report, declare_with, lint_for,
};
use tool_core::ToolContext;
use tool_core::describe::{Manifest, ManifestErrors};
use tool_core::text::{escape_invisible, escape_invisible_json};

pub(crate) fn manifest(
    tools: &ToolContext,
    options: &ManifestOptions,
    io: &mut CommandIo<'_>,
) -> CommandResult {
    let manifest =
        tool_adapters_providers::manifest::build(tools).map_err(CommandError::failure)?;
    if let Some(path) = &options.check {
        let written = Manifest::read(path)
            .map_err(|error| CommandError::Usage(ManifestErrors::from(error).to_string()))?;
        let drift = manifest.drift_from(&written);
        if !drift.is_empty() {
            let lines = drift.iter().map(ToString::to_string).collect::<Vec<_>>();
            return Err(CommandError::Failure(lines.join("\n")));
        }
        if io.json {
            io.print_json(&json!({"version": manifest.version}))?;
        } else {
            io.print_line(&format!(
                "{} is up to date: version {}",
                path.display(),
                manifest.version
            ))?;
        }
    } else if io.json {
        io.print(&escape_invisible_json(&manifest.to_json_pretty()))?;
    } else {
        let rows = manifest.tools.iter().map(|tool| {
            [
                tool.tool_id.clone(),
                tool.category.as_str().to_owned(),
                tool.handler_path.clone(),
                tool.source.clone(),
            ]
        });
        let columns = [
            Column::new("TOOL").style(NAME),
            Column::new("CATEGORY"),
            Column::new("HANDLER").wraps(),
            Column::new("SOURCE").wraps(),
        ];
        let table = io.layout.table(columns, rows.collect());
        io.print(&table)?;
        print_hint(
            &format!("version {}; --json prints the manifest", manifest.version),
            io,
        )?;
    }
    Ok(CommandStatus::Success)
}

pub(crate) fn lint(
    tools: &ToolContext,
    options: &LintOptions,
    io: &mut CommandIo<'_>,
) -> CommandResult {
    let providers = if options.provider.is_empty() {
        &Provider::ALL[..]
    } else {
        &options.provider
    };
    let declare = DeclareOptions {
        strict: options.strict,
        ..DeclareOptions::default()
    };
    let report = lint_for(tools, providers, declare);
    let status = if report.refuses_nothing() {
        CommandStatus::Success
    } else {
        CommandStatus::Failure
    };
    if io.json {
        io.print_json(&report)?;
        return Ok(status);
    }
    let notes = report.of(Severity::Note).len();
    let visible = report.keep(|finding| options.notes || finding.severity > Severity::Note);
    for line in visible.folded().lines() {
        let text = io.layout.message(&escape_invisible(line));
        io.print(&text)?;
    }
    if notes > 0 && !options.notes {
        print_hint(&format!("--notes shows {notes} notes."), io)?;
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
        ..DeclareOptions::default()
    };
    let declared = declare_with(options.provider, tools, declare);
    let prints_json = io.json || options.report;
    if !prints_json {
        print_declarations(&declared, io)?;
    } else if with_report || options.report {
        let (declarations, settings, report) =
            (declared.json(), declared.settings(), declared.report());
        io.print_json(&SchemaOutput {
            declarations,
            settings,
            report,
        })?;
    } else {
        io.print_json_line(declared.json().get())?;
        // The declarations alone do not show which tools are missing.
        for (tool, reason) in refused_tools(declared.report()) {
            io.note(&format!(
                "warning: `{}` is not declared: {reason}",
                tool.tool.escape_debug()
            ));
        }
    }
    // Text has the warnings. JSON has them in the report only.
    if prints_json {
        for warning in &declared.report().warnings {
            io.note(&format!("warning: {warning}"));
        }
    }
    Ok(CommandStatus::Success)
}

fn refused_tools(report: &Report) -> impl Iterator<Item = (&ToolReport, String)> {
    report
        .tools
        .iter()
        .filter_map(|tool| Some((tool, tool.refused.as_ref()?.to_string())))
}

fn print_declarations(declared: &Declarations, io: &mut CommandIo<'_>) -> Result<(), CommandError> {
    let report = declared.report();
    let rows = report.tools.iter().map(|tool| {
        let declared_as = tool
            .declared_as
            .as_deref()
            .unwrap_or("(refused)")
            .to_owned();
        let strict = if tool.strict { "yes" } else { "no" };
        let changes = tool.changes.len().to_string();
        [
            tool.tool.clone(),
            declared_as,
            strict.to_owned(),
            tool.tokens.to_string(),
            changes,
        ]
    });
    let rows = rows.collect::<Vec<_>>();
    let columns = [
        Column::new("TOOL").style(NAME).wraps(),
        Column::new("DECLARED AS").wraps(),
        Column::new("STRICT"),
        Column::new("TOKENS"),
        Column::new("CHANGES"),
    ];
    let mut text = io.layout.table(columns, rows);
    for (tool, reason) in refused_tools(report) {
        text += &io.layout.message(&escape_invisible(&format!(
            "error: {} is refused: {reason}",
            tool.tool
        )));
    }
    for skipped in &report.skipped {
        text += &io.layout.message(&escape_invisible(&format!(
            "note: {} is skipped: {}",
            skipped.id, skipped.reason
        )));
    }
    for warning in &report.warnings {
        text += &io
            .layout
            .message(&escape_invisible(&format!("warning: {warning}")));
    }
    for (name, value) in declared.settings() {
        text += &io.layout.message(&escape_invisible_json(&format!(
            "request setting {name}: {value}"
        )));
    }
    io.print(&text)?;
    print_hint(
        "--json prints the declarations; `lint` lists the changes.",
        io,
    )
}

/// Prints a hint below the text of a command.
fn print_hint(hint: &str, io: &mut CommandIo<'_>) -> Result<(), CommandError> {
    let lines = io.layout.lines(hint, 0);
    let text = format!("\n{}", io.layout.paint(ASIDE, &lines));
    io.print(&text)
}
