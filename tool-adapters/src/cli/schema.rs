//! `schema`: what a provider is told.

use super::arguments::Schema;
use super::status::Stop;
use super::table::table;
use super::{Io, Status};
use crate::declare::{Declarations, DeclareOptions, declare_with};
use crate::report::{Report, ToolReport};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tool_core::ToolContext;

#[derive(Serialize)]
struct Reported<'a> {
    declarations: &'a RawValue,
    settings: &'a Map<String, Value>,
    report: &'a Report,
}

pub(super) fn run(tools: &ToolContext, wanted: &Schema, reported: bool, io: &mut Io<'_>) -> Result<Status, Stop> {
    let options = DeclareOptions {
        strict: wanted.strict,
        only_single_type: wanted.only_single_type,
        model_mixes: wanted.model_mixes,
    };
    let declared = declare_with(wanted.provider, tools, options);
    if io.terminal {
        shown(&declared, io)?;
    } else if reported || wanted.report {
        let (declarations, settings, report) = (declared.json(), declared.settings(), declared.report());
        io.json(&Reported { declarations, settings, report })?;
    } else {
        io.line(declared.json().get())?;
        // Without a report nothing else would say it.
        for (tool, reason) in refused(declared.report()) {
            io.remark(&format!("warning: `{}` is not declared: {reason}", tool.tool.escape_debug()));
        }
    }
    Ok(Status::Done)
}

fn refused(report: &Report) -> impl Iterator<Item = (&ToolReport, String)> {
    report.tools.iter().filter_map(|tool| Some((tool, tool.refused.as_ref()?.to_string())))
}

fn shown(declared: &Declarations, io: &mut Io<'_>) -> Result<(), Stop> {
    let report = declared.report();
    let rows = report.tools.iter().map(|tool| {
        let declared_as = tool.declared_as.as_deref().unwrap_or("(refused)").to_owned();
        let strict = if tool.strict { "yes" } else { "no" };
        let changes = tool.changes.len().to_string();
        [tool.tool.clone(), declared_as, strict.to_owned(), tool.tokens.to_string(), changes]
    });
    let rows = rows.collect::<Vec<_>>();
    io.print(&table(["TOOL", "DECLARED AS", "STRICT", "TOKENS", "CHANGES"], &rows))?;
    for (tool, reason) in refused(report) {
        io.line(&format!("{} is refused: {reason}", tool.tool.escape_debug()))?;
    }
    for skipped in &report.skipped {
        io.line(&format!("{} is left out: {}", skipped.id.escape_debug(), skipped.reason))?;
    }
    for warning in &report.warnings {
        io.line(warning)?;
    }
    for (name, value) in declared.settings() {
        io.line(&format!("the request also says {name}: {value}"))?;
    }
    io.line("\n--json prints the declarations; `check` tells the changes.")
}
