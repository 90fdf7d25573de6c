//! A call as a step of an engine, which runs the step again if its process was killed, or if it has not recorded the response.

use crate::call::{ToolCall, ToolError, ToolResponse};
use crate::schema::timestamp::Timestamp;
use crate::session::drain_switch::process_ending;
use crate::session::inner::SessionInner;
use crate::session::journal::{DynJournal, JournalEntry, JournalStart};
use crate::session::pipeline::governed_call::{
    canonical_sent_arguments, question_time, time_limit,
};
use crate::session::pipeline::journal::recovered_end;
use crate::session::unmade_calls::lost_call;
use crate::session::unrecorded_calls::EarlierRun;
use crate::time::whole_milliseconds;
use crate::tool::FunctionTool;
use std::time::Duration;

/// The time that a step may take beyond the limit of its call, for hooks, stores and records.
const MARGIN: Duration = Duration::from_secs(60);

/// Makes a call, unless another process is making it or has begun it.
///
/// The step has an entry of its own in the journal, which shows other processes that it runs. So a call that is tried again
/// while its first process may still live is not counted by any limit.
///
/// # Errors
///
/// Another process runs the step, perhaps one that was killed a moment ago, or an earlier run of the step in this process makes
/// the call, or the journal cannot say, or this process is about to end. The engine tries again.
pub(crate) async fn make_in_step(
    session: &SessionInner,
    call: &ToolCall,
    response: impl Future<Output = ToolResponse>,
) -> Result<ToolResponse, ToolError> {
    check_not_ending(session, call)?;
    let journal = session.runtime.journal.as_ref();
    let found = session.tools.find(call.name());
    let (Some(journal), Some((_, tool))) = (journal, found) else {
        return Ok(response.await);
    };
    match session
        .runtime
        .unrecorded
        .find(&session.journal_key(), call.id())
    {
        Some(EarlierRun::Running) => return Err(running_in_this_process(call)),
        Some(EarlierRun::Ended(earlier)) => session.shared().earlier.lock().add(*earlier),
        None => {}
    }
    let entry = begin(session, &**journal, tool, call).await?;
    let response = match begun_earlier(session, tool, call) {
        Some(earlier) => Ok(earlier),
        // The drain may have begun since then.
        None => match check_not_ending(session, call) {
            Ok(()) => Ok(response.await),
            Err(error) => Err(error),
        },
    };
    let ended = journal.finished(&entry.session, &entry.call_id, "{}");
    if let Err(error) = ended.await {
        tracing::error!(%error, "failed to record the end of a step in the journal");
    }
    let response = response?;
    if response.runs_elsewhere() {
        return Err(running_elsewhere(call));
    }
    Ok(response)
}

/// Fails if the process is about to end, so that the call may not begin in it.
fn check_not_ending(session: &SessionInner, call: &ToolCall) -> Result<(), ToolError> {
    if session.runtime.drain.is_on() && session.refuses_calls(call.depth()) {
        return Err(process_ending("the call"));
    }
    Ok(())
}

/// Records that this process runs the step.
async fn begin(
    session: &SessionInner,
    journal: &dyn DynJournal,
    tool: &FunctionTool,
    call: &ToolCall,
) -> Result<JournalEntry, ToolError> {
    let policy = session.policy();
    let limit = time_limit(policy, tool)
        .saturating_mul(2)
        .saturating_add(question_time(policy, tool, call, &session.base))
        .saturating_add(MARGIN);
    let mut entry = JournalEntry {
        session: session.journal_key().into_owned(),
        call_id: format!("step {}", call.id()),
        tool: call.name().to_owned(),
        arguments: String::new(),
        turn: session.record.turn(),
        idempotency_key: String::new(),
        started_at: Timestamp(jiff::Timestamp::now()),
        // The entry of the call itself tells whether it had an effect.
        harmless: true,
        time_limit_ms: whole_milliseconds(limit),
        replaces: None,
        approval: None,
        seal: None,
    };
    // The second attempt replaces what a process that does not run the step any more has left.
    for _ in 0..2 {
        entry.seal = session.runtime.journal_sealer.seal(&entry);
        match journal.started(&entry).await {
            Ok(JournalStart::Recorded) => return Ok(entry),
            Ok(JournalStart::Known(found)) => entry.replaces = Some(found.number),
            Ok(JournalStart::Running) => return Err(running_elsewhere(call)),
            Err(error) => {
                tracing::error!(%error, "failed to record the start of a step in the journal");
                let message = "the journal cannot record that the call begins; it is tried again";
                return Err(ToolError::transient(message));
            }
        }
    }
    Err(running_elsewhere(call))
}

fn running_elsewhere(call: &ToolCall) -> ToolError {
    let id = call.id().escape_debug();
    ToolError::transient(format!(
        "another process is making the call `{id}`, or was killed a moment ago; it is tried again"
    ))
}

fn running_in_this_process(call: &ToolCall) -> ToolError {
    let id = call.id().escape_debug();
    ToolError::transient(format!(
        "an earlier run of the step is still making the call `{id}`; it is tried again"
    ))
}

/// Notes that an engine has recorded the response of a call, so that the call is not made again.
pub(crate) fn response_is_recorded(session: &SessionInner, call: &ToolCall) {
    if session.runtime.journal.is_some() {
        let unrecorded = &session.runtime.unrecorded;
        unrecorded.forget(&session.journal_key(), call.id());
    }
}

/// Answers a call that an earlier process, or an earlier run of the step, has begun. `None` if none has, or if the call may run again without harm.
fn begun_earlier(
    session: &SessionInner,
    tool: &FunctionTool,
    call: &ToolCall,
) -> Option<ToolResponse> {
    let definition = &tool.definition().compiled;
    if definition.is_harmless() {
        return None;
    }
    // As the call has run with them.
    let arguments = canonical_sent_arguments(session, tool, call.arguments());
    let was_begun = {
        let earlier = session.used_shared()?.earlier.lock();
        earlier.has(call.id(), |found| {
            found.entry.tool == call.name() && found.entry.arguments == arguments
        })
    };
    was_begun.then(|| recovered_end(session, call).unwrap_or_else(|| lost_call(session, call)))
}
