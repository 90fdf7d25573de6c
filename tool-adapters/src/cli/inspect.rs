//! `list`, `manifest` and `check`: the tools, looked at.

use super::arguments::{Check, Manifest};
use super::status::Stop;
use super::table::table;
use super::{Io, Status};
use crate::check::{Severity, check_for};
use crate::declare::DeclareOptions;
use crate::manifest;
use crate::plain::plain;
use crate::provider::Provider;
use serde::Serialize;
use serde_json::Value;
use tool_core::tool::Confirm;
use tool_core::{Category, Mode, ProviderTool, ToolContext, ToolDefinition};

/// A tool, as `list` prints it; `--tools` takes it again.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Listed<'a> {
    Function(Function<'a>),
    Provider { name: &'a str, providers: Vec<Provider> },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Function<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    description: &'a str,
    category: Category,
    modes: Vec<Mode>,
    /// `never`, `always` or `conditional`, as in the manifest.
    confirm: &'static str,
    input_schema: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<&'a Value>,
    source: String,
}

impl<'a> Function<'a> {
    fn of(tool: &'a ToolDefinition) -> Self {
        Self {
            name: tool.name(),
            title: tool.title(),
            description: tool.description(),
            category: tool.category(),
            modes: tool.modes().iter().collect(),
            confirm: match tool.confirm() {
                Confirm::Never => "never",
                Confirm::Always => "always",
                Confirm::When(_) => "conditional",
            },
            input_schema: tool.parameters(),
            output_schema: tool.output(),
            source: tool.source().to_string(),
        }
    }
}

/// The providers that take a provider tool.
fn takers(tool: &dyn ProviderTool) -> Vec<Provider> {
    Provider::ALL.into_iter().filter(|provider| tool.config(&provider.id()).is_some()).collect()
}

pub(super) fn list(tools: &ToolContext, io: &mut Io<'_>) -> Result<Status, Stop> {
    for toolset in tools.unconfigured() {
        io.remark(&format!("note: toolset `{}` is left out: it has to be configured", plain(&toolset.name)));
    }
    if !io.terminal {
        let functions = tools.definitions().map(|tool| Listed::Function(Function::of(tool)));
        let others = tools.provider_tools().iter();
        let others = others.map(|tool| Listed::Provider { name: tool.id(), providers: takers(&**tool) });
        io.json(&functions.chain(others).collect::<Vec<_>>())?;
        return Ok(Status::Done);
    }
    let functions = tools.definitions().map(|tool| {
        let modes = tool.modes().iter().map(Mode::as_str).collect::<Vec<_>>().join(", ");
        [tool.name().to_owned(), tool.category().as_str().to_owned(), modes, tool.summary().into_owned()]
    });
    let others = tools.provider_tools().iter().map(|tool| {
        let takers = takers(&**tool).into_iter().map(Provider::name).collect::<Vec<_>>().join(", ");
        [tool.id().to_owned(), "provider".to_owned(), String::new(), format!("for {takers}")]
    });
    let rows = functions.chain(others).collect::<Vec<_>>();
    io.print(&table(["TOOL", "CATEGORY", "MODES", "DESCRIPTION"], &rows))?;
    Ok(Status::Done)
}

pub(super) fn manifest(tools: &ToolContext, wanted: &Manifest, io: &mut Io<'_>) -> Result<Status, Stop> {
    let manifest = manifest::build(tools).map_err(|problems| Stop::Refused(problems.to_string()))?;
    if let Some(path) = &wanted.check {
        let written = tool_core::describe::Manifest::read(path).map_err(|error| Stop::Usage(error.to_string()))?;
        let drift = manifest.drift_from(&written);
        if !drift.is_empty() {
            let lines = drift.iter().map(ToString::to_string).collect::<Vec<_>>();
            return Err(Stop::Refused(lines.join("\n")));
        }
        if io.terminal {
            io.line(&format!("{}: version {}, as the tools are", path.display(), manifest.version))?;
        } else {
            io.json(&serde_json::json!({"version": manifest.version}))?;
        }
    } else if io.terminal {
        let rows = manifest.tools.iter().map(|tool| {
            [tool.tool_id.clone(), tool.category.as_str().to_owned(), tool.handler_path.clone(), tool.source.clone()]
        });
        io.print(&table(["TOOL", "CATEGORY", "HANDLER", "SOURCE"], &rows.collect::<Vec<_>>()))?;
        io.line(&format!("\nversion {}; --json prints the manifest", manifest.version))?;
    } else {
        io.print(&manifest.to_json_pretty())?;
    }
    Ok(Status::Done)
}

pub(super) fn check(tools: &ToolContext, wanted: &Check, io: &mut Io<'_>) -> Result<Status, Stop> {
    let providers = if wanted.provider.is_empty() { &Provider::ALL[..] } else { &wanted.provider };
    let options = DeclareOptions { strict: wanted.strict, ..DeclareOptions::default() };
    let check = check_for(tools, providers, options);
    let status = if check.refuses_nothing() { Status::Done } else { Status::Refused };
    if !io.terminal {
        io.json(&check)?;
        return Ok(status);
    }
    let notes = check.of(Severity::Note).len();
    let shown = check.keep(|finding| wanted.notes || finding.severity > Severity::Note);
    io.print(&shown.to_string())?;
    if notes > 0 && !wanted.notes {
        io.line(&format!("\n--notes shows {notes} notes."))?;
    }
    Ok(status)
}
