//! `call`: one call, and what calls are made by.

use crate::cli::arguments::Call;
use crate::cli::declared::{Purpose, Source};
use crate::cli::output::Io;
use crate::cli::{Status, Stop, declared};
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use tool_core::{ErrorKind, Mode, RunContext, Runtime, Session, ToolCall, ToolContext, ToolResponse};

/// Who makes the calls.
pub(crate) enum Caller {
    /// A session: the tools are real.
    Session(Session, ToolContext),
    /// Nobody: what is only declared needs no governing.
    Bare(ToolContext),
}

impl Caller {
    async fn open(source: &Source, declared: Option<&Path>, io: &mut Io<'_>) -> Result<Self, Stop> {
        if let Some(path) = declared {
            return Ok(Self::Bare(declared::read(path, Purpose::Echo)?));
        }
        let tools = opened(source.own()?, io).await;
        let runtime = Runtime::builder(tools.clone()).build();
        let runtime = runtime.map_err(|problems| Stop::Refused(problems.to_string()))?;
        let session = runtime.session("command-line", Mode::Text).await;
        let session = session.map_err(|error| Stop::Refused(error.to_string()))?;
        Ok(Self::Session(session, tools))
    }

    /// Makes a call.
    pub(crate) async fn call(&self, call: ToolCall) -> ToolResponse {
        match self {
            Self::Session(session, _) => session.call(call).await,
            Self::Bare(tools) => {
                let ctx = RunContext::builder().call_id(call.id()).build();
                tools.call(call.name(), call.arguments(), &ctx).await
            }
        }
    }

    /// Begins the next turn: what calls before it have used up is no matter of those after it.
    pub(crate) async fn next(&self) {
        if let Self::Session(session, _) = self {
            session.next_turn().await;
        }
    }

    /// Agrees to a call that waits for a person.
    pub(crate) async fn approve(&self, response: ToolResponse) -> ToolResponse {
        match (self, response.meta().confirmation()) {
            (Self::Session(session, _), Some(confirmation)) => session.approve(&confirmation.token).await,
            _ => response,
        }
    }

    async fn close(self, io: &mut Io<'_>) {
        if let Self::Session(session, tools) = self {
            session.end().await;
            for failure in tools.close().await {
                io.remark(&format!("warning: toolset `{}` did not close: {}", failure.toolset, failure.error));
            }
        }
    }
}

/// The tools of the toolsets that open; of the others it is told why.
pub(crate) async fn opened(tools: ToolContext, io: &mut Io<'_>) -> ToolContext {
    let (tools, failures) = tools.setup().await;
    for failure in failures {
        io.remark(&format!("warning: toolset `{}` did not open: {}", failure.toolset, failure.error));
    }
    tools
}

pub(crate) async fn run_call(
    source: &Source,
    declared: Option<&Path>,
    wanted: &Call,
    io: &mut Io<'_>,
) -> Result<Status, Stop> {
    // What is wrong with the arguments is told before a toolset opens.
    let text = arguments(wanted.args.as_deref().unwrap_or_default(), io)?;
    let caller = Caller::open(source, declared, io).await?;
    let status = match (&wanted.batch, &wanted.name) {
        (Some(path), _) => run_batch(&caller, path, wanted.approve, io).await,
        (None, name) => one(&caller, name.as_deref().unwrap_or_default(), text, wanted.approve, io).await,
    };
    caller.close(io).await;
    status
}

async fn one(caller: &Caller, name: &str, arguments: Vec<u8>, approve: bool, io: &mut Io<'_>) -> Result<Status, Stop> {
    let mut response = caller.call(ToolCall::new("call_1", name, arguments)).await;
    let waits =
        |response: &ToolResponse| response.error().is_some_and(|error| error.kind == ErrorKind::ConfirmationRequired);
    if waits(&response) && approve {
        response = caller.approve(response).await;
    } else if waits(&response) {
        io.remark("a person has to agree to this call; --approve does");
    }
    if io.terminal {
        shown(&response, io)?;
    } else {
        io.line(&response.to_json())?;
    }
    Ok(if response.is_ok() { Status::Done } else { Status::Refused })
}

/// The text of `--args`: itself, of a file, or of the input. Whether it is JSON, the tool decides.
fn arguments(text: &str, io: &mut Io<'_>) -> Result<Vec<u8>, Stop> {
    match (text, text.strip_prefix('@')) {
        ("-", _) => {
            let mut read = Vec::new();
            let outcome = io.input.read_to_end(&mut read);
            outcome.map_err(|error| Stop::Usage(format!("standard input: {error}")))?;
            Ok(read)
        }
        (_, Some(path)) => std::fs::read(path).map_err(|error| Stop::file(Path::new(path), error)),
        (text, None) => Ok(text.into()),
    }
}

/// The envelope for a person: the outcome, then what there is to read.
fn shown(response: &ToolResponse, io: &mut Io<'_>) -> Result<(), Stop> {
    let meta = response.meta();
    let seconds = meta.duration().as_secs_f64();
    match response.error() {
        None => io.line(&format!("ok     in {seconds:.3} s, {} tokens", meta.token_estimate()))?,
        Some(error) => io.line(&format!("error  {}: {}", error.kind, error.message))?,
    }
    let data = response.data_json().and_then(|data| serde_json::from_str::<serde_json::Value>(data).ok());
    if let Some(data) = data {
        io.line(&pretty(&data))?;
    }
    for warning in meta.warnings().iter().chain(meta.coerced()) {
        io.line(&format!("note   {warning}"))?;
    }
    if !response.intents().is_empty() {
        io.line(&format!("asks   {}", pretty(&response.intents())))?;
    }
    Ok(())
}

/// Serialising data that has a JSON form never fails.
fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

// ---- `call --batch`: a call a line, an envelope a line, as they come.

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

pub(crate) async fn run_batch(caller: &Caller, path: &Path, approve: bool, io: &mut Io<'_>) -> Result<Status, Stop> {
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
