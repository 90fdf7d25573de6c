//! `call --batch`: the calls of a file.

use crate::caller::Caller;
use crate::output::{CommandError, CommandIo, CommandResult, CommandStatus};
use crate::tools::without_mark;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use tool_core::{ToolCall, ToolResponse};

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

/// Makes the calls of a file, and prints an envelope for each.
pub(crate) async fn call_batch(
    caller: &Caller,
    path: &Path,
    approve: bool,
    io: &mut CommandIo<'_>,
) -> CommandResult {
    let mut file = if path == Path::new("-") {
        None
    } else {
        Some(BufReader::new(
            File::open(path).map_err(|error| CommandError::file(path, error))?,
        ))
    };
    let path = if file.is_some() {
        path
    } else {
        Path::new("standard input")
    };
    let mut line = Vec::new();
    let mut number = 0_u64;
    let mut calls = 0_u64;
    let mut failed = 0_u64;
    io.progress.begin();
    loop {
        let input = file.as_mut().map_or(&mut *io.input, |file| file);
        if !read_line(input, &mut line).map_err(|error| CommandError::file(path, error))? {
            break;
        }
        number += 1;
        let line = if number == 1 {
            without_mark(&line)
        } else {
            &line
        };
        if line.trim_ascii().is_empty() {
            continue;
        }
        let progress = || format!("{calls} calls, {failed} failed");
        let (is_ok, envelope) = io
            .wait(call_line(caller, line, number, approve), progress)
            .await;
        (calls, failed) = (calls + 1, failed + u64::from(!is_ok));
        // Flushed for callers that wait for each response.
        io.print_json_line(&envelope)?;
        io.flush()?;
        if io.is_closed {
            break;
        }
        io.progress.show(io.error_layout, io.errors, || {
            format!("{calls} calls, {failed} failed")
        });
        caller.next_turn().await;
    }
    io.progress.erase(io.errors);
    Ok(if failed == 0 {
        CommandStatus::Success
    } else {
        CommandStatus::Failure
    })
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
        return (
            false,
            invalid_line(number, &format!("the line is longer than {MAX_LINE} bytes")),
        );
    }
    let call = match serde_json::from_slice::<BatchLine<'_>>(line) {
        Ok(call) => call,
        Err(error) => {
            return (
                false,
                invalid_line(number, &format!("expected {{name, arguments}}: {error}")),
            );
        }
    };
    let id = call.id.unwrap_or_else(|| format!("call_{number}").into());
    let arguments = call.arguments.map_or("", RawValue::get);
    let response = caller
        .call(ToolCall::new(id, call.name, arguments), approve)
        .await;
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
