//! The commands that open the tools: `call` and `serve`.

use crate::cli::arguments::{CallOptions, ServeOptions};
use crate::cli::output::{CommandError, CommandIo, CommandResult, CommandStatus};
use crate::cli::tools::{ToolSource, read_declarations};
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use tool_core::{ErrorKind, Mode, RunContext, Runtime, Session, ToolCall, ToolContext, ToolResponse};

/// Makes the calls of a command.
enum Caller {
    /// Calls through a session.
    Session(Session, ToolContext),
    /// Calls of declared tools, which only return their arguments.
    Echo(ToolContext),
}

impl Caller {
    async fn open(source: ToolSource<'_>, file: Option<&Path>, io: &mut CommandIo<'_>) -> Result<Self, CommandError> {
        if let Some(path) = file {
            return Ok(Self::Echo(read_declarations(path, false)?));
        }
        let tools = set_up(source().map_err(CommandError::failure)?, io).await;
        let runtime = Runtime::builder(tools.clone()).build().map_err(CommandError::failure)?;
        let session = runtime.session("command-line", Mode::Text).await.map_err(CommandError::failure)?;
        Ok(Self::Session(session, tools))
    }

    /// Makes a call. With `approve`, approves it if it needs confirmation.
    async fn call(&self, call: ToolCall, approve: bool) -> ToolResponse {
        match self {
            Self::Session(session, _) => {
                let response = session.call(call).await;
                match response.meta().confirmation().filter(|_| approve) {
                    Some(confirmation) => session.approve(&confirmation.token).await,
                    None => response,
                }
            }
            Self::Echo(tools) => {
                let ctx = RunContext::builder().call_id(call.id()).build();
                tools.call(call.name(), call.arguments(), &ctx).await
            }
        }
    }

    /// Begins the next turn, so that each call has its own budgets.
    async fn next_turn(&self) {
        if let Self::Session(session, _) = self {
            session.next_turn().await;
        }
    }

    async fn close(self, io: &mut CommandIo<'_>) {
        if let Self::Session(session, tools) = self {
            session.end().await;
            for failure in tools.close().await {
                io.note(&format!("warning: failed to close toolset `{}`: {}", failure.toolset, failure.error));
            }
        }
    }
}

/// Sets the toolsets up. Warns of those that fail, and returns the others.
async fn set_up(tools: ToolContext, io: &mut CommandIo<'_>) -> ToolContext {
    let (tools, failures) = tools.setup().await;
    for failure in failures {
        io.note(&format!("warning: failed to set up toolset `{}`: {}", failure.toolset, failure.error));
    }
    tools
}

pub(crate) async fn call(
    source: ToolSource<'_>,
    file: Option<&Path>,
    options: &CallOptions,
    io: &mut CommandIo<'_>,
) -> CommandResult {
    // Read before a toolset is set up, so that a mistake costs nothing.
    let arguments = read_arguments(options.args.as_deref().unwrap_or_default(), io)?;
    let caller = Caller::open(source, file, io).await?;
    let status = match (&options.batch, &options.name) {
        (Some(path), _) => call_batch(&caller, path, options.approve, io).await,
        (None, name) => call_one(&caller, name.as_deref().unwrap_or_default(), arguments, options.approve, io).await,
    };
    caller.close(io).await;
    status
}

async fn call_one(
    caller: &Caller,
    name: &str,
    arguments: Vec<u8>,
    approve: bool,
    io: &mut CommandIo<'_>,
) -> CommandResult {
    let response = caller.call(ToolCall::new("call_1", name, arguments), approve).await;
    if response.error().is_some_and(|error| error.kind == ErrorKind::ConfirmationRequired) && !approve {
        io.note("this call needs confirmation; --approve confirms it");
    }
    if io.terminal {
        print_response(&response, io)?;
    } else {
        io.print_line(&response.to_json())?;
    }
    Ok(if response.is_ok() { CommandStatus::Success } else { CommandStatus::Failure })
}

/// Reads the text of `--args`: JSON, `@FILE` or `-`. The tool checks the JSON.
fn read_arguments(text: &str, io: &mut CommandIo<'_>) -> Result<Vec<u8>, CommandError> {
    match (text, text.strip_prefix('@')) {
        ("-", _) => {
            let mut read = Vec::new();
            io.input.read_to_end(&mut read).map_err(|error| CommandError::file(Path::new("standard input"), error))?;
            Ok(read)
        }
        (_, Some(path)) => std::fs::read(path).map_err(|error| CommandError::file(Path::new(path), error)),
        (text, None) => Ok(text.into()),
    }
}

/// Prints a response for a person: the outcome, the data, and notes.
fn print_response(response: &ToolResponse, io: &mut CommandIo<'_>) -> Result<(), CommandError> {
    let meta = response.meta();
    let seconds = meta.duration().as_secs_f64();
    match response.error() {
        None => io.print_line(&format!("ok     in {seconds:.3} s, {} tokens", meta.token_estimate()))?,
        Some(error) => io.print_line(&format!("error  {}: {}", error.kind, error.message))?,
    }
    let data = response.data_json().and_then(|data| serde_json::from_str::<serde_json::Value>(data).ok());
    if let Some(data) = data {
        io.print_line(&pretty_json(&data))?;
    }
    for warning in meta.warnings().iter().chain(meta.coerced()) {
        io.print_line(&format!("note   {warning}"))?;
    }
    if !response.intents().is_empty() {
        io.print_line(&format!("intent {}", pretty_json(&response.intents())))?;
    }
    Ok(())
}

fn pretty_json(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

const MAX_LINE: usize = 16 << 20;

/// A line of `call --batch`. Other members are ignored.
#[derive(Deserialize)]
struct BatchLine<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
}

async fn call_batch(caller: &Caller, path: &Path, approve: bool, io: &mut CommandIo<'_>) -> CommandResult {
    let mut file;
    let (path, input): (_, &mut dyn BufRead) = if path == Path::new("-") {
        (Path::new("standard input"), &mut *io.input)
    } else {
        file = BufReader::new(File::open(path).map_err(|error| CommandError::file(path, error))?);
        (path, &mut file)
    };
    let (mut line, mut number, mut status) = (Vec::new(), 0_u64, CommandStatus::Success);
    while read_line(input, &mut line).map_err(|error| CommandError::file(path, error))? {
        number += 1;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let (is_ok, envelope) = call_line(caller, &line, number, approve).await;
        if !is_ok {
            status = CommandStatus::Failure;
        }
        // Flushed for callers that wait for each response.
        writeln!(io.output, "{envelope}")?;
        io.output.flush()?;
        caller.next_turn().await;
    }
    Ok(status)
}

/// Reads a line. Keeps only the beginning of a line that is too long. Returns false at the end.
fn read_line(input: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    Read::take(&mut *input, MAX_LINE as u64 + 1).read_until(b'\n', line)?;
    if line.len() > MAX_LINE && line.last() != Some(&b'\n') {
        input.skip_until(b'\n')?;
    }
    Ok(!line.is_empty())
}

/// Makes the call of a line. Returns whether it succeeded, and its envelope.
async fn call_line(caller: &Caller, line: &[u8], number: u64, approve: bool) -> (bool, String) {
    if line.len() > MAX_LINE {
        return (false, invalid_line(number, &format!("the line is longer than {MAX_LINE} bytes")));
    }
    let call = match serde_json::from_slice::<BatchLine<'_>>(line) {
        Ok(call) => call,
        Err(error) => return (false, invalid_line(number, &format!("expected {{name, arguments}}: {error}"))),
    };
    let id = call.id.unwrap_or_else(|| format!("call_{number}").into());
    let arguments = call.arguments.map_or("", RawValue::get);
    let response = caller.call(ToolCall::new(id, call.name, arguments), approve).await;
    (response.is_ok(), response.to_json())
}

/// Returns the envelope for a line that is not a call.
fn invalid_line(number: u64, problem: &str) -> String {
    let message = format!("line {number}: {problem}");
    let error = json!({"type": "VALIDATION", "message": message, "retryable": false, "partialSideEffects": false});
    let envelope = json!({"ok": false, "error": error, "meta": {"tool": "", "callId": format!("call_{number}")}});
    // Read as a response, so that it has all members of one.
    match ToolResponse::deserialize(&envelope) {
        Ok(response) => response.to_json(),
        Err(_) => envelope.to_string(),
    }
}

#[cfg(feature = "mcp")]
pub(crate) async fn serve(tools: ToolContext, options: &ServeOptions, io: &mut CommandIo<'_>) -> CommandResult {
    use crate::cli::arguments::ServeTransport;
    use crate::mcp::Server;

    let tools = set_up(tools, io).await;
    let mut server = Server::from_tools(tools.clone()).map_err(CommandError::failure)?;
    if !options.allow_host.is_empty() {
        server = server.allow_hosts(&options.allow_host);
    }
    if let Some(variable) = &options.token_env {
        let token = std::env::var(variable).map_err(|_| {
            CommandError::Usage(format!(
                "--token-env: expected a variable with the bearer token, got `{variable}`, which is not set"
            ))
        })?;
        server = server.bearer_token(token);
    }
    server = server.allow_anonymous(options.allow_anonymous);
    let outcome = match options.mcp {
        ServeTransport::Stdio => server.serve_stdio().await,
        ServeTransport::Http => match server.bind(options.address).await {
            Ok(bound) => {
                // A program that starts the server may wait for this line.
                io.note(&format!("listening on {}", bound.url().unwrap_or_else(|_| options.address.to_string())));
                bound.serve().await
            }
            Err(error) => {
                // The library names its settings.
                let flags = if error.kind() == io::ErrorKind::InvalidInput {
                    " (--allow-host NAME, --token-env VARIABLE, --allow-anonymous)"
                } else {
                    ""
                };
                return Err(CommandError::Failure(format!("{}: {error}{flags}", options.address)));
            }
        },
    };
    tools.close().await;
    outcome.map_err(CommandError::failure)?;
    Ok(CommandStatus::Success)
}

#[cfg(not(feature = "mcp"))]
#[allow(clippy::unused_async, reason = "the signature is the same with the feature")]
pub(crate) async fn serve(_: ToolContext, _: &ServeOptions, _: &mut CommandIo<'_>) -> CommandResult {
    let message = "this program was built without MCP; enable the feature `mcp` of `tool-adapters` in its Cargo.toml";
    Err(CommandError::Usage(message.to_owned()))
}
