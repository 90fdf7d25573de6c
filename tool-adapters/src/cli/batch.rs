//! `call --batch`: a call a line, an envelope a line, as they come.

use super::call::Caller;
use super::status::Stop;
use super::{Io, Status};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use tool_core::{ToolCall, ToolResponse};

/// The bytes that a line may have.
const LONGEST: usize = 16 << 20;

/// A call, as a line has it. What else stands there is the caller's.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
}

pub(super) async fn run(caller: &Caller, path: &Path, approve: bool, io: &mut Io<'_>) -> Result<Status, Stop> {
    if path == Path::new("-") {
        return calls(caller, approve, &mut *io.input, &mut *io.output)
            .await
            .map_err(|stop| stop.unwrap_or_else(|error| Stop::Usage(format!("standard input: {error}"))));
    }
    let file = File::open(path).map_err(|error| Stop::file(path, error))?;
    let outcome = calls(caller, approve, &mut BufReader::new(file), &mut *io.output).await;
    outcome.map_err(|stop| stop.unwrap_or_else(|error| Stop::file(path, error)))
}

/// Fails with why it stops, or with what is wrong with the input.
async fn calls(
    caller: &Caller,
    approve: bool,
    input: &mut dyn BufRead,
    output: &mut dyn Write,
) -> Result<Status, Result<Stop, io::Error>> {
    let (mut line, mut number, mut status) = (Vec::new(), 0_u64, Status::Done);
    while read(input, &mut line).map_err(Err)? {
        number += 1;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let (ok, envelope) = answer(caller, &line, number, approve).await;
        if !ok {
            status = Status::Refused;
        }
        // Whoever waits for an answer before the next call gets it.
        let written = output.write_all(envelope.as_bytes()).and_then(|()| output.write_all(b"\n"));
        written.and_then(|()| output.flush()).map_err(|error| Ok(Stop::Output(error)))?;
        caller.next().await;
    }
    Ok(status)
}

/// Reads a line, of which only the first bytes are kept where it is too long. False at the end.
fn read(input: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let most = u64::try_from(LONGEST).unwrap_or(u64::MAX) + 1;
    Read::take(&mut *input, most).read_until(b'\n', line)?;
    if line.len() > LONGEST && line.last() != Some(&b'\n') {
        input.skip_until(b'\n')?;
    }
    Ok(!line.is_empty())
}

/// The envelope of a line's call, and whether the call succeeded.
async fn answer(caller: &Caller, line: &[u8], number: u64, approve: bool) -> (bool, String) {
    if line.len() > LONGEST {
        return (false, refused(number, &format!("it is longer than {LONGEST} bytes")));
    }
    let call = match serde_json::from_slice::<Line<'_>>(line) {
        Ok(call) => call,
        Err(error) => return (false, refused(number, &format!("it is no call {{name, arguments}}: {error}"))),
    };
    let id = call.id.unwrap_or_else(|| format!("call_{number}").into());
    let arguments = call.arguments.map_or("", RawValue::get);
    let mut response = caller.call(ToolCall::new(id, call.name, arguments)).await;
    if approve {
        response = caller.approve(response).await;
    }
    (response.is_ok(), response.to_json())
}

/// The envelope of a line that is no call.
fn refused(number: u64, problem: &str) -> String {
    let message = format!("line {number}: {problem}");
    let error = json!({"type": "VALIDATION", "message": message, "retryable": false, "partialSideEffects": false});
    let envelope = json!({"ok": false, "error": error, "meta": {"tool": "", "callId": format!("call_{number}")}});
    // Through the type, so that it has all members.
    match ToolResponse::deserialize(&envelope) {
        Ok(response) => response.to_json(),
        Err(_) => envelope.to_string(),
    }
}
