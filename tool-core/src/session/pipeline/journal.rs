//! Recording calls in the journal, and answering those that another process has recorded, or that
//! have run under the same approval.

use crate::call::{ToolCall, ToolError, ToolResponse};
use crate::schema::timestamp::Timestamp;
use crate::session::earlier_calls::Listed;
use crate::session::inner::SessionInner;
use crate::session::journal::{JournalEntry, JournalError, JournalStart, RecoveredCall};
use crate::session::journal_response::bounded;
use crate::session::lost_work::{lost_work, untrusted_work};
use crate::session::pipeline::governed_call::{GovernedCall, idempotency_key, longest_run};
use crate::session::store::handle::within;
use crate::session::unmade_calls::lost_call;
use crate::time::whole_milliseconds;
use std::sync::Arc;
use tokio::runtime::Handle;

/// Number of attempts to replace what other processes have recorded under a call's id. Each fails
/// only if yet another process was faster.
const ATTEMPTS: u32 = 3;

/// The advice about a call of which it is unknown whether it took effect.
const FIND_OUT: &str = "Find out, and call it again with another id if it did not.";

/// Records that the call is about to run. Returns the call's claim, `None` without a journal, or
/// the response of a call that does not run: it failed to be recorded, another process has
/// started it, or it has run already under its approval.
pub(crate) async fn record_start(
    call: &GovernedCall<'_>,
    text: &str,
    turn: u64,
) -> Result<Option<JournalClaim>, Box<ToolResponse>> {
    let Some(journal) = &call.session.runtime.journal else {
        return Ok(None);
    };
    let arguments = call.definition().equality().canonical_text(text);
    if let Some(found) = take_recovered(call, &arguments)
        && let Some(response) = recovered_response(call, &found)
    {
        return Err(Box::new(response));
    }

    let fail = |error| Box::new(call.responses().fail(error));
    let mut claim = JournalClaim::new(call).map_err(fail)?;
    let mut entry = entry_of(call, arguments, turn);
    for _ in 0..ATTEMPTS {
        entry.replaces = replaced_by(call);
        match journal.started(&entry).await {
            Ok(JournalStart::Recorded) => {
                if call.request.is_step() && !entry.harmless {
                    call.session.runtime.unrecorded.begin(&entry);
                }
                claim.entry = Some(Box::new(entry));
                return Ok(Some(claim));
            }
            Ok(JournalStart::Running) => return Err(Box::new(runs_elsewhere(call))),
            Ok(JournalStart::Known(found)) => {
                call.session.shared().earlier.lock().answer(&found);
                if is_answered_by(call, &found, &entry.arguments)
                    && let Some(response) = recovered_response(call, &found)
                {
                    return Err(Box::new(response));
                }
            }
            Err(error) => {
                let tool = call.tool.name().escape_debug();
                tracing::error!(%tool, %error, "failed to record the start of a call in the journal");
                // A call that may run twice without harm needs no journal.
                if entry.harmless {
                    return Ok(Some(claim));
                }
                let message = "this call cannot be recorded at the moment, so nothing was done; try again later";
                return Err(fail(ToolError::transient(message)));
            }
        }
    }
    Err(fail(running_elsewhere(call)))
}

/// Returns the answer to a call that is about to be refused, if another process has begun it
/// already.
pub(crate) async fn known_answer(call: &GovernedCall<'_>, text: &str) -> Option<ToolResponse> {
    let journal = call.session.runtime.journal.as_ref()?;
    let arguments = call.definition().equality().canonical_text(text);
    if let Some(found) = take_recovered(call, &arguments) {
        return recovered_response(call, &found);
    }

    let session = call.session.journal_key();
    let find = journal.find(&session, call.request.id());
    let known = within(call.policy.store_deadline, find, JournalError::timeout).await;
    let known = known.unwrap_or_else(|error| {
        tracing::error!(%error, "failed to look a refused call up in the journal");
        None
    });
    match known? {
        JournalStart::Recorded => None,
        JournalStart::Running => Some(runs_elsewhere(call)),
        JournalStart::Known(found) => {
            let is_told = replaced_by(call) == Some(found.number);
            if is_told || !is_answered_by(call, &found, &arguments) {
                return None;
            }
            call.session.shared().earlier.lock().answer(&found);
            recovered_response(call, &found)
        }
    }
}

/// Returns the entry of a call that is about to run.
fn entry_of(call: &GovernedCall<'_>, arguments: String, turn: u64) -> JournalEntry {
    let session = call.session;
    let limit = longest_run(call.policy, call.tool, call.request, call.ctx);
    let mut entry = JournalEntry {
        session: session.journal_key().into_owned(),
        call_id: call.request.id().to_owned(),
        tool: call.tool.name().to_owned(),
        idempotency_key: idempotency_key(session, turn, call.tool.name(), &arguments),
        arguments,
        turn,
        started_at: Timestamp(jiff::Timestamp::now()),
        harmless: call.definition().is_harmless(),
        time_limit_ms: whole_milliseconds(limit),
        replaces: None,
        approval: approval_of(call).map(str::to_owned),
        seal: None,
    };
    entry.seal = session.runtime.journal_sealer.seal(&entry);
    entry
}

/// Returns the id of the approval under which a call runs, unless it may run again without harm.
fn approval_of<'a>(call: &'a GovernedCall<'_>) -> Option<&'a str> {
    let approval = call.request.approval()?;
    (!call.definition().is_harmless()).then_some(&approval.id)
}

/// Answers a call that another process is running.
fn runs_elsewhere(call: &GovernedCall<'_>) -> ToolResponse {
    let mut response = call.responses().fail(running_elsewhere(call));
    response.optional_meta().runs_elsewhere = true;
    response
}

fn running_elsewhere(call: &GovernedCall<'_>) -> ToolError {
    let message = format!(
        "another process is running a call of `{}` with the same id, and this one was not run; wait for its result",
        call.tool.name()
    );
    ToolError::conflict(message)
}

/// Records the end of the call, once its response is as the model gets it, and all that it asked for is carried out: what is
/// recorded here is all that a later process knows of the call.
pub(crate) async fn record_end(
    call: &GovernedCall<'_>,
    mut claim: JournalClaim,
    response: &ToolResponse,
) {
    let text = text_of_end(call.session, claim.entry.as_deref(), response);
    let text = claim.end.insert(text);
    if let Some(entry) = &claim.entry {
        call.session.runtime.unrecorded.end(entry, Some(text));
    }
    record_text(call.session, call.request.id(), text).await;
    claim.entry = None;
}

/// Returns the response to a call as the journal keeps it.
fn text_of_end(
    session: &SessionInner,
    entry: Option<&JournalEntry>,
    response: &ToolResponse,
) -> String {
    let text = response.to_stored_json();
    let text = bounded(&text).into_owned();
    let entry_seal = entry.and_then(|entry| entry.seal.as_deref());
    let sealer = &session.runtime.journal_sealer;
    sealer.seal_response(entry_seal, text)
}

async fn record_text(session: &SessionInner, call_id: &str, text: &str) {
    let Some(journal) = &session.runtime.journal else {
        return;
    };
    let key = session.journal_key();
    let finished = journal.finished(&key, call_id, text);
    let deadline = session.policy().store_deadline;
    if let Err(error) = within(deadline, finished, JournalError::timeout).await {
        tracing::error!(%error, "failed to record the end of a call in the journal");
    }
}

/// The claim of a call that runs. If the call is dropped, other processes would take it for a running
/// one until its time limit, so the journal learns its end.
pub(crate) struct JournalClaim {
    id: Arc<ReservedId>,
    /// The entry of the call, until its end is recorded.
    entry: Option<Box<JournalEntry>>,
    /// The response that is being recorded.
    end: Option<String>,
}

impl JournalClaim {
    fn new(call: &GovernedCall<'_>) -> Result<Self, ToolError> {
        let id = Arc::clone(call.request.shared_id());
        if !call
            .session
            .shared()
            .journaled
            .lock()
            .insert(Arc::clone(&id))
        {
            let message = "a call with the same id is still running; give each call its own id";
            return Err(ToolError::conflict(message));
        }
        let session = Arc::clone(call.session);
        Ok(Self {
            id: Arc::new(ReservedId { session, id }),
            entry: None,
            end: None,
        })
    }
}

impl Drop for JournalClaim {
    fn drop(&mut self) {
        let Some(entry) = self.entry.take() else {
            return;
        };
        let end = self.end.take();
        let unrecorded = &self.id.session.runtime.unrecorded;
        unrecorded.end(&entry, end.as_deref());
        // A harmless call may run again, so it gets no answer.
        if entry.harmless && end.is_none() {
            return;
        }
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        // The id stays reserved until the end is recorded, which would otherwise be that of a later
        // call with the id.
        let id = Arc::clone(&self.id);
        runtime.spawn(async move {
            let session = &id.session;
            let text = end.unwrap_or_else(|| {
                let call = ToolCall::new(&*entry.call_id, &*entry.tool, &*entry.arguments);
                text_of_end(session, Some(&entry), &lost_call(session, &call))
            });
            record_text(session, &entry.call_id, &text).await;
        });
    }
}

/// Reserves the id of a recorded call while it runs: of two calls with one id, the journal could
/// not tell which has ended.
struct ReservedId {
    session: Arc<SessionInner>,
    id: Arc<str>,
}

impl Drop for ReservedId {
    fn drop(&mut self) {
        self.session.shared().journaled.lock().remove(&self.id);
    }
}

/// Takes what an earlier process recorded of this call, as it was known when the session opened.
fn take_recovered(call: &GovernedCall<'_>, arguments: &str) -> Option<RecoveredCall> {
    let mut earlier = call.session.used_shared()?.earlier.lock();
    let is_it = |found: &RecoveredCall| is_answered_by(call, found, arguments);
    earlier.take(call.request.id(), is_it)
}

/// Returns the number of the recorded call that this one replaces.
fn replaced_by(call: &GovernedCall<'_>) -> Option<u64> {
    let earlier = call.session.used_shared()?.earlier.lock();
    earlier.replaced_by(call.request.id())
}

/// Returns true if a recorded call with this call's id is this call. One under the same approval is,
/// even if the person has approved other arguments this time. A changed record may be any call's.
fn is_answered_by(call: &GovernedCall<'_>, found: &RecoveredCall, arguments: &str) -> bool {
    let is_same = found.entry.tool == call.tool.name() && found.entry.arguments == arguments;
    let approval = approval_of(call);
    let is_of_approval = approval.is_some() && found.entry.approval.as_deref() == approval;
    is_same || is_of_approval || !call.session.runtime.journal_sealer.is_genuine(found)
}

/// Returns the answer to a call that an earlier process has started: the recorded response, or UNKNOWN
/// if the call may have had effects. A harmless call runs again.
fn recovered_response(call: &GovernedCall<'_>, found: &RecoveredCall) -> Option<ToolResponse> {
    let response = response_or_unknown(call, found)?;
    call.set_run();
    Some(response)
}

fn response_or_unknown(call: &GovernedCall<'_>, found: &RecoveredCall) -> Option<ToolResponse> {
    let name = call.tool.name();
    if !call.session.runtime.journal_sealer.is_genuine(found) {
        tracing::error!(
            tool = %name.escape_debug(),
            "an entry of the journal was changed, or sealed with another key; the call counts as unknown"
        );
        let message = format!("{} {FIND_OUT}", untrusted_work(name));
        return (!call.definition().is_harmless()).then(|| unknown(call, message));
    }
    if let Some(response) = recorded_response(found) {
        return Some(response);
    }
    if found.entry.harmless && call.definition().is_harmless() {
        return None;
    }

    let message = format!("{} {FIND_OUT}", lost_work(name, found.entry.started_at));
    Some(unknown(call, message))
}

fn unknown(call: &GovernedCall<'_>, message: String) -> ToolResponse {
    call.responses()
        .fail(ToolError::unknown(message).partial_side_effects(true))
}

/// Returns the response that an earlier process recorded. One that cannot be read counts as
/// missing.
fn recorded_response(found: &RecoveredCall) -> Option<ToolResponse> {
    let text = found.response.as_deref()?;
    let mut response = serde_json::from_str::<ToolResponse>(text).ok()?;
    // Its intents were carried out by the earlier process.
    response.drop_intents();
    Some(response)
}

/// Takes the response that an earlier process recorded of a call that will not be made again.
pub(crate) fn recovered_end(session: &SessionInner, call: &ToolCall) -> Option<ToolResponse> {
    let mut earlier = session.used_shared()?.earlier.lock();
    let found = earlier.take(call.id(), |found| found.entry.tool == call.name())?;
    genuine_response(session, call, &found)
}

/// The end of a call that was begun before, as far as it is recorded.
pub(crate) enum EarlierEnd {
    /// This process or another one may run the call still.
    Open,
    /// The journal cannot be read.
    Unreadable,
    /// The end was recorded.
    Response(Box<ToolResponse>),
    /// The end was not recorded.
    Lost,
}

/// Finds out what became of a call that was begun before, by this process or by another one. One that
/// has ended counts as answered.
pub(crate) async fn earlier_end(session: &SessionInner, call: &ToolCall) -> EarlierEnd {
    if session.is_running(call.id()) {
        return EarlierEnd::Open;
    }
    let Some(journal) = &session.runtime.journal else {
        return EarlierEnd::Lost;
    };
    let key = session.journal_key();
    let deadline = session.policy().store_deadline;
    let find = journal.find(&key, call.id());
    let found = match within(deadline, find, JournalError::timeout).await {
        Ok(Some(JournalStart::Running)) => return EarlierEnd::Open,
        Ok(Some(JournalStart::Known(found))) => Ok(Some(*found)),
        // A journal of one process knows the calls of earlier ones only as a list.
        Ok(Some(JournalStart::Recorded) | None) => {
            let shared = session.used_shared();
            let listed = shared.map_or(Listed::No, |shared| shared.earlier.lock().listed(call));
            match listed {
                Listed::Unanswered(found) => Ok(Some(*found)),
                Listed::No => Ok(None),
                Listed::Answered => {
                    let recover = journal.recover(&key);
                    let calls = within(deadline, recover, JournalError::timeout).await;
                    calls.map(|calls| calls.into_iter().rfind(|found| found.is_of(call)))
                }
            }
        }
        Err(error) => Err(error),
    };
    match found {
        Ok(Some(found)) if found.entry.tool == call.name() => {
            session.shared().earlier.lock().settle(&found);
            match genuine_response(session, call, &found) {
                Some(response) => EarlierEnd::Response(Box::new(response)),
                None => EarlierEnd::Lost,
            }
        }
        Ok(_) => EarlierEnd::Lost,
        Err(error) => {
            tracing::error!(%error, "failed to look an earlier call up in the journal");
            EarlierEnd::Unreadable
        }
    }
}

/// Returns the response in a record, unless the record was changed.
fn genuine_response(
    session: &SessionInner,
    call: &ToolCall,
    found: &RecoveredCall,
) -> Option<ToolResponse> {
    if !session.runtime.journal_sealer.is_genuine(found) {
        let tool = call.name().escape_debug();
        tracing::error!(%tool, "an entry of the journal was changed, or sealed with another key; the call counts as unknown");
        return None;
    }
    recorded_response(found)
}
