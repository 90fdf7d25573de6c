//! `call`: one call, and its result as text.

use crate::arguments::CallOptions;
use crate::batch::call_batch;
use crate::caller::Caller;
use crate::indent::indented;
use crate::output::{CommandError, CommandIo, CommandResult, CommandStatus};
use crate::pairs::read_pairs;
use crate::text::SUCCESS;
use crate::tools::{ToolFile, ToolSource, read_declarations, without_mark};
use crate::user_data::{SessionUserData, UserDataConstructor};
use parking_lot::Mutex;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use tool_core::call::OutputKind;
use tool_core::text::escape_invisible;
use tool_core::{Content, ErrorKind, ToolCall, ToolContext, ToolResponse};

pub(crate) async fn call(
    source: ToolSource<'_>,
    file: Option<ToolFile<'_>>,
    options: &CallOptions,
    user_data: &[UserDataConstructor],
    io: &mut CommandIo<'_>,
) -> CommandResult {
    let tools = match file {
        Some(file) => read_declarations(file, false, io)?,
        None => source().map_err(CommandError::failure)?,
    };
    // Read before a toolset is set up, so that a mistake costs nothing.
    let arguments = read_arguments(&tools, options, io)?;
    let user_data = SessionUserData::read(options.user_data.as_deref(), user_data)?;
    let caller = Caller::open(tools, file.is_some(), &user_data, io).await?;
    let status = match (&options.batch, &options.name) {
        (Some(path), _) => call_batch(&caller, path, options.approve, io).await,
        (None, name) => {
            call_one(
                &caller,
                name.as_deref().unwrap_or_default(),
                arguments,
                options.approve,
                io,
            )
            .await
        }
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
    let mut call = ToolCall::new("call_1", name, arguments);
    let latest = Arc::new(Mutex::new(name.to_owned()));
    if io.progress.enabled {
        let shown = Arc::clone(&latest);
        let name = name.to_owned();
        call = call.on_update(move |update| {
            let percent = update
                .fraction
                .map_or_else(String::new, |part| format!(" {:.0} %", part * 100.0));
            *shown.lock() = format!("{name}{percent} {}", update.message);
        });
    }
    let text = || latest.lock().trim_end().to_owned();
    io.progress.begin();
    let response = io.wait(caller.call(call, approve), text).await;
    if io.json {
        io.print_json_line(&response.to_json())?;
    } else {
        print_response(&response, io)?;
    }
    if response
        .error()
        .is_some_and(|error| error.kind == ErrorKind::ConfirmationRequired)
        && !approve
    {
        note_reasons(&response, io);
        io.note("note: this call needs confirmation; --approve confirms it");
    }
    Ok(if response.is_ok() {
        CommandStatus::Success
    } else {
        CommandStatus::Failure
    })
}

/// Shows what a person has to read before the decision: each argument, and each reason to ask.
fn note_reasons(response: &ToolResponse, io: &mut CommandIo<'_>) {
    for confirmation in response.meta().confirmations() {
        io.note(&format!("note: {} waits for a person", confirmation.tool));
        for line in &confirmation.arguments {
            io.note(&format!("note: with {line}"));
        }
        for reason in &confirmation.reasons {
            io.note(&format!("note: asked by {reason}"));
        }
    }
}

/// Reads the arguments of a call: pairs, or the text of `--args`, which the tool checks.
fn read_arguments(
    tools: &ToolContext,
    options: &CallOptions,
    io: &mut CommandIo<'_>,
) -> Result<Vec<u8>, CommandError> {
    if !options.pairs.is_empty() {
        // The call of an unknown tool fails, whatever its arguments are.
        let tool = tools
            .definitions()
            .find(|tool| Some(tool.name()) == options.name.as_deref());
        return Ok(read_pairs(
            &options.pairs,
            tool.map_or(&Value::Null, |tool| tool.parameters()),
        )?
        .into());
    }
    let text = options.args.as_deref().unwrap_or("{}");
    match (text, text.strip_prefix('@')) {
        ("-", _) => {
            let mut read = Vec::new();
            io.input
                .read_to_end(&mut read)
                .map_err(|error| CommandError::file(Path::new("standard input"), error))?;
            Ok(without_mark(&read).into())
        }
        (_, Some(path)) => {
            let path = Path::new(path);
            let read = std::fs::read(path).map_err(|error| CommandError::file(path, error))?;
            Ok(without_mark(&read).into())
        }
        (text, None) => Ok(text.into()),
    }
}

/// Prints the data of a response, or writes its error to the error stream, which also gets the time
/// and the notes.
fn print_response(response: &ToolResponse, io: &mut CommandIo<'_>) -> Result<(), CommandError> {
    let meta = response.meta();
    if let Some(error) = response.error() {
        let (first, rest) = error
            .message
            .split_once('\n')
            .unwrap_or((&error.message, ""));
        io.note(&format!("error: {}: {first}", error.kind));
        let lines = io.error_layout.lines(rest, 2);
        io.write_error(&lines);
    } else {
        io.print(&data_text(response))?;
        let seconds = meta.duration().as_secs_f64();
        let ok = io.error_layout.paint(SUCCESS, "ok");
        let tokens = meta.token_estimate();
        let unit = if tokens == 1 { "token" } else { "tokens" };
        io.write_error(&format!("{ok}: {seconds:.3} s, {tokens} {unit}\n"));
    }
    for warning in meta.warnings() {
        io.note(&format!("warning: {warning}"));
    }
    for coercion in meta.coerced() {
        io.note(&format!("note: {coercion}"));
    }
    for intent in response.intents() {
        io.note(&format!(
            "intent: {}",
            serde_json::to_string(intent).unwrap_or_default()
        ));
    }
    Ok(())
}

/// Returns the data as text: a text as it is, content part by part, and other data as indented
/// JSON.
fn data_text(response: &ToolResponse) -> String {
    if matches!(response.kind(), OutputKind::Unit | OutputKind::Stop) {
        return String::new();
    }
    if response.kind() == OutputKind::Content
        && let Ok(parts) = response.data::<Vec<Content>>()
    {
        return parts.iter().map(part_text).collect();
    }
    let data = response.data_json().unwrap_or_default();
    match serde_json::from_str::<Value>(data) {
        Ok(Value::String(text)) => safe_lines(&text),
        // Not the value, which rounds numbers.
        Ok(_) => safe_lines(&indented(data)),
        Err(_) => safe_lines(data),
    }
}

fn part_text(part: &Content) -> String {
    let bytes = |data: &str| format!("{} characters of base64; --json prints them", data.len());
    match part {
        Content::Text { text }
        | Content::Resource {
            text: Some(text), ..
        } => safe_lines(text),
        Content::Image { data, mime_type } => {
            safe_lines(&format!("[image, {mime_type}, {}]", bytes(data)))
        }
        Content::Audio { data, mime_type } => {
            safe_lines(&format!("[audio, {mime_type}, {}]", bytes(data)))
        }
        Content::Resource { uri, .. } => safe_lines(&format!("[resource {uri}]")),
        _ => safe_lines("[a part; --json prints it]"),
    }
}

/// Returns the lines of a text, each ended, with invisible characters escaped.
fn safe_lines(text: &str) -> String {
    let line = |line: &str| {
        line.split('\t')
            .map(escape_invisible)
            .collect::<Vec<_>>()
            .join("\t")
            + "\n"
    };
    text.lines().map(line).collect()
}
