//! Recording calls in the journal, and answering those that an earlier process has recorded.

use crate::call::{ToolCall, ToolError, ToolResponse};
use crate::schema::timestamp::Timestamp;
use crate::session::inner::SessionInner;
use crate::session::journal::{JournalEntry, JournalError, RecoveredCall};
use crate::session::pipeline::governed_call::{GovernedCall, idempotency_key};
use crate::session::store::handle::within;
use std::sync::Arc;

/// Records that the call is about to run. Returns the call's claim, `None` without a journal, or
/// the response of a call that does not run: it failed to be recorded, or an earlier process has
/// started it.
pub(crate) async fn record_start(
    call: &GovernedCall<'_>,
    text: &str,
    turn: u64,
) -> Result<Option<JournalClaim>, Box<ToolResponse>> {
    let Some(journal) = &call.session.runtime.journal else {
        return Ok(None);
    };
    let arguments = call.definition().equality().canonical_text(text);
    if let Some(response) =
        take_recovered(call, &arguments).and_then(|found| recovered_response(call, &found))
    {
        return Err(Box::new(response));
    }
    let fail = |error| Box::new(call.responses().fail(error));
    let claim = JournalClaim::new(call).map_err(fail)?;
    let session = call.session;
    let entry = JournalEntry {
        session: session.journal_key().into_owned(),
        call_id: call.request.id().to_owned(),
        tool: call.tool.name().to_owned(),
        idempotency_key: idempotency_key(session, turn, call.tool.name(), &arguments),
        arguments,
        turn,
        started_at: Timestamp(jiff::Timestamp::now()),
        harmless: call.definition().is_harmless(),
    };
    if let Err(error) = journal.started(&entry).await {
        let tool = call.tool.name().escape_debug();
        tracing::error!(%tool, %error, "failed to record the start of a call in the journal");
        // A call that may run twice without harm needs no journal.
        if !entry.harmless {
            let message =
                "this call cannot be recorded at the moment, so nothing was done; try again later";
            return Err(fail(ToolError::transient(message)));
        }
    }
    Ok(Some(claim))
}

/// Records the end of the call, once its response is as the model gets it, and all that it asked for is carried out: what is
/// recorded here is all that a later process knows of the call.
pub(crate) async fn record_end(call: &GovernedCall<'_>, response: &ToolResponse) {
    let Some(journal) = &call.session.runtime.journal else {
        return;
    };
    let text = response.to_stored_json();
    let session = call.session.journal_key();
    let finished = journal.finished(&session, call.request.id(), &text);
    if let Err(error) = within(call.policy.store_deadline, finished, JournalError::timeout).await {
        tracing::error!(%error, "failed to record the end of a call in the journal");
    }
}

/// Reserves the id of a recorded call while it runs: of two calls with one id, the journal could
/// not tell which has ended.
pub(crate) struct JournalClaim {
    session: Arc<SessionInner>,
    id: Arc<str>,
}

impl JournalClaim {
    fn new(call: &GovernedCall<'_>) -> Result<Self, ToolError> {
        let id = Arc::clone(call.request.shared_id());
        if !call.session.rare().journaled.lock().insert(Arc::clone(&id)) {
            let message = "a call with the same id is still running; give each call its own id";
            return Err(ToolError::conflict(message));
        }
        Ok(Self {
            session: Arc::clone(call.session),
            id,
        })
    }
}

impl Drop for JournalClaim {
    fn drop(&mut self) {
        self.session.rare().journaled.lock().remove(&self.id);
    }
}

/// Takes what an earlier process recorded of this call. Taken once, so that a further call with the
/// same id runs.
fn take_recovered(call: &GovernedCall<'_>, arguments: &str) -> Option<RecoveredCall> {
    let mut recovered = call.session.rare.get()?.recovered.lock();
    let index = recovered.iter().rposition(|RecoveredCall { entry, .. }| {
        entry.call_id == call.request.id()
            && entry.tool == call.tool.name()
            && entry.arguments == arguments
    })?;
    Some(recovered.remove(index))
}

/// Returns the recorded response, or UNKNOWN if the call may have had effects. A harmless call runs
/// again.
fn recovered_response(call: &GovernedCall<'_>, found: &RecoveredCall) -> Option<ToolResponse> {
    if let Some(response) = recorded_response(found) {
        return Some(response);
    }
    if found.entry.harmless {
        return None;
    }
    let message = format!(
        "`{}` was started at {} by a process that then ended; it is unknown whether it took effect, and it was not run \
         again. Find out, and call it again with another id if it did not.",
        found.entry.tool, found.entry.started_at
    );
    Some(
        call.responses()
            .fail(ToolError::unknown(message).partial_side_effects(true)),
    )
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
    let mut recovered = session.rare.get()?.recovered.lock();
    let index = recovered.iter().rposition(|RecoveredCall { entry, .. }| {
        entry.call_id == call.id() && entry.tool == call.name()
    })?;
    recorded_response(&recovered.remove(index))
}
