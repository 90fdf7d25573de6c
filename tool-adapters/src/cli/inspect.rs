//! `list`, `manifest` and `check`: the tools, looked at.

use crate::cli::arguments::{Check, Manifest, Schema, Serve};
use crate::cli::output::{Io, plain, table};
use crate::cli::{Status, Stop, call};
use crate::providers::declare::{Declarations, DeclareOptions, declare_with};
use crate::providers::lint::{Severity, lint_for};
use crate::providers::provider::Provider;
use crate::providers::report::{Report, ToolReport};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
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

pub(crate) fn list(tools: &ToolContext, io: &mut Io<'_>) -> Result<Status, Stop> {
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

pub(crate) fn manifest(tools: &ToolContext, wanted: &Manifest, io: &mut Io<'_>) -> Result<Status, Stop> {
    let manifest = crate::providers::manifest::build(tools).map_err(|problems| Stop::Refused(problems.to_string()))?;
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

pub(crate) fn check(tools: &ToolContext, wanted: &Check, io: &mut Io<'_>) -> Result<Status, Stop> {
    let providers = if wanted.provider.is_empty() { &Provider::ALL[..] } else { &wanted.provider };
    let options = DeclareOptions { strict: wanted.strict, ..DeclareOptions::default() };
    let check = lint_for(tools, providers, options);
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

// ---- `schema`: what a provider is told.

#[derive(Serialize)]
struct Reported<'a> {
    declarations: &'a RawValue,
    settings: &'a Map<String, Value>,
    report: &'a Report,
}

pub(crate) fn run_schema(
    tools: &ToolContext,
    wanted: &Schema,
    reported: bool,
    io: &mut Io<'_>,
) -> Result<Status, Stop> {
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

// ---- `serve`: the tools for other programs.

#[cfg(feature = "mcp")]
pub(crate) async fn run_serve(tools: ToolContext, wanted: &Serve, io: &mut Io<'_>) -> Result<Status, Stop> {
    use crate::cli::arguments::Transport;
    use crate::mcp::Server;

    let tools = call::opened(tools, io).await;
    let mut server = Server::of_tools(tools.clone()).map_err(|problems| Stop::Refused(problems.to_string()))?;
    if !wanted.allow_host.is_empty() {
        server = server.allow_hosts(&wanted.allow_host);
    }
    let ended = match wanted.mcp {
        Transport::Stdio => server.serve_stdio().await,
        Transport::Http => match server.bind(wanted.address).await {
            Ok(bound) => {
                // Whoever started it may wait for this line; standard output stays free.
                io.remark(&format!("listening on {}", bound.url().unwrap_or_else(|_| wanted.address.to_string())));
                bound.serve().await
            }
            Err(error) => return Err(Stop::Refused(format!("{}: {error}", wanted.address))),
        },
    };
    tools.close().await;
    ended.map_err(|error| Stop::Refused(error.to_string()))?;
    Ok(Status::Done)
}

#[cfg(not(feature = "mcp"))]
#[allow(clippy::unused_async)] // as with the feature
pub(crate) async fn run_serve(_: ToolContext, _: &Serve, _: &mut Io<'_>) -> Result<Status, Stop> {
    let message = "this program was built without the Model Context Protocol; \
        turn on the feature `mcp` of `tool-adapters` in its Cargo.toml";
    Err(Stop::Usage(message.to_owned()))
}
