//! One tool context, declared to every provider, with a report of what each provider does not take.
//!
//! - `cargo run --example providers` prints a table, and the losses and refusals
//! - `cargo run --example providers -- --json` prints `{provider: {declarations, settings, report}}`
//! - `--strict` declares tools as strict where possible

use serde_json::{Map, Value, json};
use std::env;
use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;
use tool_adapters::providers::anthropic::tools as anthropic;
use tool_adapters::providers::gemini::tools as gemini;
use tool_adapters::providers::lint::Severity;
use tool_adapters::providers::openai_responses::tools as openai;
use tool_adapters::{DeclareOptions, Provider, declare_with, lint_for};
use tool_core::{FunctionTool, RawTool, RunContext, ToolContext, ToolError, tool};

/// Find trains between two towns.
#[tool(category = "retrieval")]
fn find_trains(
    /// The start of the journey
    #[arg(length(1..=60))]
    from: &str,
    /// The destination
    #[arg(length(1..=60))]
    to: &str,
    /// Maximum number of changes
    #[arg(default = 2, range(0..=5))]
    changes: u8,
    /// Towns to travel through
    via: Option<Vec<String>>,
) -> String {
    format!(
        "the 9:12 from {from} to {to}, {changes} changes at most, via {}",
        via.unwrap_or_default().join(", ")
    )
}

/// Run a command in a shell that keeps its state from call to call.
// Anthropic receives its own `bash`, and other providers this one. It answers the calls of both.
#[tool(category = "action", confirm)]
fn bash(
    /// The command
    command: Option<&str>,
    /// True to restart the shell
    #[arg(default)]
    restart: bool,
) -> String {
    format!("would run {command:?}, in a new shell: {restart}")
}

/// A tool with features that some providers refuse: a name with dots, a recursive type, a map, a tuple.
fn imported() -> FunctionTool {
    async fn echo(arguments: Value, _: &RunContext) -> Result<Value, ToolError> {
        Ok(arguments)
    }
    let parameters = json!({
        "type": "object",
        "properties": {
            "tree": {"$ref": "#/$defs/node"},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "corner": {"type": "array", "prefixItems": [{"type": "number"}, {"type": "number"}], "items": false},
            "level": {"enum": [1, 2, 3]},
        },
        "required": ["tree"],
        "$defs": {"node": {"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string", "pattern": "^[a-z]+$"},
            "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
        }}},
    });
    let description = "Lay out a tree of boxes.".to_owned();
    FunctionTool::raw(
        RawTool {
            name: "layout.tree".into(),
            description,
            parameters,
        },
        echo,
    )
    .validate(true)
}

fn main() -> ExitCode {
    let arguments = env::args().skip(1).collect::<Vec<_>>();
    if let Some(other) = arguments
        .iter()
        .find(|argument| !["--json", "--strict"].contains(&argument.as_str()))
    {
        eprintln!(
            "unknown argument {other:?}\nusage: cargo run --example providers [-- [--json] [--strict]]"
        );
        return ExitCode::from(2);
    }
    let given = |name: &str| arguments.iter().any(|argument| argument == name);
    match run(given("--json"), given("--strict")) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(as_json: bool, strict: bool) -> Result<(), Box<dyn Error>> {
    let tools = ToolContext::builder()
        .with(find_trains)
        .with(bash)
        .with(imported())
        .with(openai::WebSearch::default())
        .with(anthropic::Bash::default())
        .with(anthropic::WebSearch {
            max_uses: Some(3),
            ..anthropic::WebSearch::default()
        })
        .with(gemini::GoogleSearch::default())
        .build()?;
    let options = DeclareOptions {
        strict,
        model_mixes: true,
        ..DeclareOptions::default()
    };
    let mut out = io::stdout().lock();
    if as_json {
        let declared = Provider::ALL.map(|provider| {
            let declared = declare_with(provider, &tools, options);
            let (settings, report) = (declared.settings(), declared.report());
            let told =
                json!({"declarations": declared.json(), "settings": settings, "report": report});
            (provider.name().to_owned(), told)
        });
        return Ok(writeln!(out, "{}", Value::from(Map::from_iter(declared)))?);
    }
    for provider in Provider::ALL {
        let declared = declare_with(provider, &tools, options);
        writeln!(out, "{provider}: {}\n", declared.json())?;
    }
    let check =
        lint_for(&tools, &Provider::ALL, options).keep(|finding| finding.severity > Severity::Note);
    Ok(write!(out, "{check}")?)
}
