//! The command line, run in-process. The example `tools` is a real binary.

mod batch;
mod call;
mod declared;
mod inspect;
mod look;
#[cfg(feature = "openapi")]
mod openapi;
mod usage;
mod user_data;

use crate::{CommandIo, CommandStatus, run};
use serde_json::Value;
use tool_core::{FunctionTool, RawTool, RunContext, ToolContext, ToolError, tool};

/// Add two numbers. Exactly.
///
/// # Parameters
/// - `a`: The first number
/// - `b`: The second number
#[tool(category = "retrieval")]
fn command_line_add(#[arg(range(..=1000))] a: i64, #[arg(default)] b: i64) -> Result<i64, String> {
    a.checked_add(b).ok_or_else(|| "too large".to_owned())
}

/// Delete a record.
///
/// # Parameters
/// - `id`: The record
#[tool(category = "action", confirm)]
fn command_line_delete(id: u32) -> String {
    format!("deleted {id}")
}

pub(crate) fn tools() -> ToolContext {
    ToolContext::builder()
        .with(command_line_add)
        .with(command_line_delete)
        .build()
        .expect("sound tools")
}

/// The outcome of a command line.
pub(crate) struct Outcome {
    pub(crate) status: CommandStatus,
    pub(crate) output: String,
    pub(crate) errors: String,
}

impl Outcome {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.output)
            .unwrap_or_else(|error| panic!("{error}: {}", self.output))
    }

    /// Parses each line of the output.
    pub(crate) fn lines(&self) -> Vec<Value> {
        self.output
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect()
    }
}

/// Runs with these streams, and the look of a pipe.
pub(crate) async fn run_with(tools: &ToolContext, arguments: &[&str], input: &str) -> Outcome {
    run_in(tools, arguments, input, None, false).await
}

/// Runs with lines of this width.
pub(crate) async fn run_in(
    tools: &ToolContext,
    arguments: &[&str],
    input: &str,
    width: Option<usize>,
    color: bool,
) -> Outcome {
    let mut input = input.as_bytes();
    let mut output = Vec::new();
    let mut errors = Vec::new();
    let mut io = CommandIo::new(&mut input, &mut output, &mut errors).color(color, color);
    if let Some(width) = width {
        io = io.width(width);
    }
    let status = run([&["tools"], arguments].concat(), tools, &mut io).await;
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Outcome {
        status,
        output: text(output),
        errors: text(errors),
    }
}

/// Runs in a pipe, which gets text.
pub(crate) async fn piped(arguments: &[&str]) -> Outcome {
    run_with(&tools(), arguments, "").await
}

/// Runs with `--json`.
pub(crate) async fn in_json(arguments: &[&str]) -> Outcome {
    run_with(&tools(), &[arguments, &["--json"]].concat(), "").await
}

/// Runs on a terminal of 80 columns without colours.
pub(crate) async fn on_terminal(arguments: &[&str]) -> Outcome {
    run_in(&tools(), arguments, "", Some(80), false).await
}

/// Returns a tool that some providers refuse.
pub(crate) fn refused_tool() -> ToolContext {
    async fn nothing(_: Value, _: &RunContext) -> Result<Value, ToolError> {
        Ok(Value::Null)
    }
    let parameters = serde_json::json!({
        "type": "object", "properties": {"größe": {"type": "string"}}, "patternProperties": {"ß": {"type": "string"}}});
    let declared = RawTool {
        name: "measure".into(),
        description: "Measure something.".into(),
        parameters,
    };
    ToolContext::builder()
        .with(FunctionTool::raw(declared, nothing))
        .build()
        .expect("sound")
}

/// Creates a temporary file with this text.
pub(crate) fn file(text: impl AsRef<[u8]>) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), text).expect("written");
    file
}

pub(crate) fn path(file: &tempfile::NamedTempFile) -> &str {
    file.path().to_str().expect("UTF-8")
}
