//! `call`: one call, and what calls are made by.

use super::arguments::Call;
use super::declared::{self, Purpose};
use super::source::Source;
use super::status::Stop;
use super::{Io, Status, batch};
use serde::Serialize;
use std::path::Path;
use tool_core::{ErrorKind, Mode, RunContext, Runtime, Session, ToolCall, ToolContext, ToolResponse};

/// Who makes the calls.
pub(super) enum Caller {
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
    pub(super) async fn call(&self, call: ToolCall) -> ToolResponse {
        match self {
            Self::Session(session, _) => session.call(call).await,
            Self::Bare(tools) => {
                let ctx = RunContext::builder().call_id(call.id()).build();
                tools.call(call.name(), call.arguments(), &ctx).await
            }
        }
    }

    /// Begins the next turn: what calls before it have used up is no matter of those after it.
    pub(super) async fn next(&self) {
        if let Self::Session(session, _) = self {
            session.next_turn().await;
        }
    }

    /// Agrees to a call that waits for a person.
    pub(super) async fn approve(&self, response: ToolResponse) -> ToolResponse {
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
pub(super) async fn opened(tools: ToolContext, io: &mut Io<'_>) -> ToolContext {
    let (tools, failures) = tools.setup().await;
    for failure in failures {
        io.remark(&format!("warning: toolset `{}` did not open: {}", failure.toolset, failure.error));
    }
    tools
}

pub(super) async fn run(
    source: &Source,
    declared: Option<&Path>,
    wanted: &Call,
    io: &mut Io<'_>,
) -> Result<Status, Stop> {
    // What is wrong with the arguments is told before a toolset opens.
    let text = arguments(wanted.args.as_deref().unwrap_or_default(), io)?;
    let caller = Caller::open(source, declared, io).await?;
    let status = match (&wanted.batch, &wanted.name) {
        (Some(path), _) => batch::run(&caller, path, wanted.approve, io).await,
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
