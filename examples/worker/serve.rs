//! Calls from standard input, one each line, and their responses on standard output.

use super::outbox::{Outbox, report_lost};
use super::signals::Signals;
use super::worker::{Failure, Worker};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{self, BufRead, Write};
use std::pin::pin;
use std::time::Duration;
use tokio::sync::mpsc;
use tool_core::jiff::Timestamp;
use tool_core::{CancellationToken, Session, ToolCall, ToolResponse};

/// A line: a call, or a command of the host.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    agent: String,
    /// The session, which workers with one database share. Without it, each worker has one for each agent.
    session: Option<String>,
    /// Returned with the response.
    id: Option<String>,
    name: Option<String>,
    arguments: Option<Box<RawValue>>,
    approve: Option<String>,
    deny: Option<String>,
    #[serde(default)]
    next_turn: bool,
    #[serde(default)]
    end: bool,
}

/// The time for a call and a draft to finish once the worker is told to end.
const LIMIT: Duration = Duration::from_secs(30);

/// Serves until the end of standard input, or a signal. Then the current call and the current draft finish, and no others
/// begin.
pub(crate) async fn run(worker: &Worker) -> Result<(), Failure> {
    worker.point_to_stand_ins().await?;
    let (outbox, lost) = Outbox::open(worker).await?;
    lost.iter().for_each(report_lost);
    let mut signals = Signals::listen()?;
    let stop = CancellationToken::new();
    let sending = tokio::spawn({
        let stop = stop.clone();
        async move { outbox.run(stop).await }
    });
    let abort = sending.abort_handle();
    let serving = async {
        let served = answer_lines(worker, &stop).await;
        // At the end of standard input too.
        stop.cancel();
        served
    };
    let draining = async {
        stop.cancelled().await;
        eprintln!("ending after the current draft; interrupt again to end now");
        let report = worker.agents.runtime().drain(LIMIT).await;
        for call in report.calls {
            eprintln!("`{}` did not finish, and was cancelled", call.tool);
        }
        sending.await
    };
    let mut work = pin!(async { tokio::join!(serving, draining) });
    tokio::select! {
        (served, ended) = &mut work => {
            ended?;
            return served;
        }
        () = signals.next() => stop.cancel(),
    }
    tokio::select! {
        // A second signal does not wait for the draft. The next worker reports that it may have been sent.
        () = signals.next() => {
            abort.abort();
            Err("interrupted while it ended".into())
        }
        (served, ended) = work => {
            ended?;
            served
        }
    }
}

async fn answer_lines(worker: &Worker, stop: &CancellationToken) -> Result<(), Failure> {
    let mut sessions = Sessions::new();
    let mut lines = lines();
    while let Some(Some(line)) = stop.run_until_cancelled(lines.recv()).await {
        let answer = match serde_json::from_str(&line) {
            Ok(line) => serve(worker, &mut sessions, line).await,
            Err(error) => json!({"error": format!("not understood: {error}")}),
        };
        writeln!(io::stdout(), "{answer}")?;
    }
    Ok(())
}

/// Reads the lines of standard input on a separate thread, which may still wait when the process ends.
fn lines() -> mpsc::Receiver<String> {
    let (lines, receiver) = mpsc::channel(1);
    std::thread::spawn(move || {
        let read = io::stdin().lock().lines().map_while(Result::ok);
        read.filter(|line| !line.trim().is_empty())
            .try_for_each(|line| lines.blocking_send(line))
    });
    receiver
}

async fn serve(worker: &Worker, sessions: &mut Sessions, line: Line) -> Value {
    let (agent, id) = (line.agent.clone(), line.id.clone());
    let mut answer = match respond(worker, sessions, line).await {
        Ok(Some(response)) => json!({"agent": agent, "response": response}),
        Ok(None) => json!({"agent": agent, "done": true}),
        Err(error) => json!({"agent": agent, "error": error.to_string()}),
    };
    if let Some(id) = id {
        answer["id"] = id.into();
    }
    answer
}

/// The sessions that this worker has open.
type Sessions = HashMap<SessionKey, Session>;

#[derive(PartialEq, Eq, Hash)]
struct SessionKey {
    agent: String,
    session: Option<String>,
}

/// Returns a session, and opens or joins it if it is not open here.
async fn open(
    worker: &Worker,
    sessions: &mut Sessions,
    key: SessionKey,
) -> Result<Session, Failure> {
    if let Some(session) = sessions.get(&key)
        // One that was idle for too long has expired.
        && !session.state().ended
    {
        return Ok(session.clone());
    }
    let own = || format!("serve-{}-{}", key.agent, Timestamp::now().as_nanosecond());
    let id = key.session.clone().unwrap_or_else(own);
    let session = worker.session(&key.agent, &id).await?;
    sessions.insert(key, session.clone());
    Ok(session)
}

async fn respond(
    worker: &Worker,
    sessions: &mut Sessions,
    line: Line,
) -> Result<Option<ToolResponse>, Failure> {
    let key = SessionKey {
        agent: line.agent.clone(),
        session: line.session.clone(),
    };
    if line.end {
        if let Some(session) = sessions.remove(&key) {
            session.end().await;
        }
        return Ok(None);
    }
    let session = open(worker, sessions, key).await?;
    match line {
        Line {
            name: Some(name),
            arguments,
            id,
            approve: None,
            deny: None,
            next_turn: false,
            ..
        } => {
            let arguments = arguments.unwrap_or_default();
            let id = id.unwrap_or_else(|| Timestamp::now().as_nanosecond().to_string());
            Ok(Some(session.call(ToolCall::new(id, name, arguments)).await))
        }
        Line {
            name: None,
            arguments: None,
            approve: Some(token),
            deny: None,
            next_turn: false,
            ..
        } => Ok(Some(session.approve(&token).await)),
        Line {
            name: None,
            arguments: None,
            approve: None,
            deny: Some(token),
            next_turn: false,
            ..
        } => Ok(Some(session.deny(&token).await)),
        Line {
            name: None,
            arguments: None,
            approve: None,
            deny: None,
            next_turn: true,
            ..
        } => {
            session.next_turn().await;
            Ok(None)
        }
        _ => Err("a line has one of `name`, `approve`, `deny`, `next_turn` and `end`".into()),
    }
}
