//! Writing calls down before they run, and answering those that an earlier process left behind.

use crate::call::error::{ErrorKind, ToolError};
use crate::call::response::ToolResponse;
use crate::schema::timestamp::Timestamp;
use crate::session::journal::{JournalEntry, Recovered};
use crate::session::pipeline::{Governed, canonical, idempotency_key};
use crate::session::session::Core;
use std::future::IntoFuture;
use std::sync::{Arc, PoisonError};
use tokio::time::timeout;

/// Writes the call down. Gives its answer where an earlier process had one, or nobody knows it.
pub(crate) async fn begin<'a>(call: &Governed<'a>, text: &str, turn: u64) -> Result<Begun<'a>, ToolError> {
    let Some(journal) = &call.core.shared.journal else { return Ok(Begun::Runs(None)) };
    let arguments = canonical(call.tool, text);
    if let Some(found) = take(call, &arguments)
        && let Some(response) = recalled(call, &found)
    {
        return Ok(Begun::Answered(Box::new(response)));
    }
    let written = Written::claim(call)?;
    let entry = JournalEntry {
        session: call.core.id.to_string(),
        call_id: call.call_id.to_string(),
        tool: call.tool.name().to_owned(),
        idempotency_key: idempotency_key(call.core.id.as_str(), turn, call.tool.name(), &arguments),
        arguments,
        turn,
        started_at: Timestamp(jiff::Timestamp::now()),
        harmless: call.definition().harmless(),
    };
    match journal.started(&entry).await {
        Ok(()) => Ok(Begun::Runs(Some(written))),
        // What harms nobody when it runs twice needs no journal.
        Err(error) if entry.harmless => {
            tracing::error!(%error, "a call that only reads was not written down");
            Ok(Begun::Runs(Some(written)))
        }
        Err(error) => {
            tracing::error!(%error, "a call could not be written down, so it does not run");
            Err(ToolError::transient(
                "this call cannot be recorded at the moment, so nothing was done; try again later",
            ))
        }
    }
}

/// Writes down how it ended.
pub(crate) async fn finish(call: &Governed<'_>, response: &ToolResponse) {
    let Some(journal) = &call.core.shared.journal else { return };
    let text = response.to_json();
    let finished = journal.finished(call.core.id.as_str(), call.call_id, &text).into_future();
    match timeout(call.policy().store_deadline, finished).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::error!(%error, "the end of a call was not written down"),
        Err(_) => tracing::error!("the journal does not answer, so the end of a call was not written down"),
    }
}

/// What becomes of a call that is about to run.
pub(crate) enum Begun<'a> {
    /// It runs, and is written down until this is dropped, where there is a journal.
    Runs(Option<Written<'a>>),
    /// An earlier process has its answer, or nobody knows it.
    Answered(Box<ToolResponse>),
}

/// A call that is written down. Of two under one id the journal could not tell which has ended.
pub(crate) struct Written<'a> {
    core: &'a Core,
    id: Arc<str>,
}

impl<'a> Written<'a> {
    fn claim(call: &Governed<'a>) -> Result<Self, ToolError> {
        let mut ids = call.core.journaled.lock().unwrap_or_else(PoisonError::into_inner);
        if ids.iter().any(|id| **id == **call.call_id) {
            let message = "a call under the same id is still running; give each call an id of its own";
            return Err(ToolError::conflict(message));
        }
        ids.push(Arc::clone(call.call_id));
        Ok(Self { core: call.core, id: Arc::clone(call.call_id) })
    }
}

impl Drop for Written<'_> {
    fn drop(&mut self) {
        let mut ids = self.core.journaled.lock().unwrap_or_else(PoisonError::into_inner);
        ids.retain(|id| !Arc::ptr_eq(id, &self.id));
    }
}

/// What an earlier process wrote of this call. Taken once: who asks again under the same id asks anew.
fn take(call: &Governed<'_>, arguments: &str) -> Option<Recovered> {
    let mut recovered = call.core.recovered.lock().unwrap_or_else(PoisonError::into_inner);
    let at = recovered.iter().rposition(|found| is_of(found, call, arguments))?;
    Some(recovered.remove(at))
}

fn is_of(found: &Recovered, call: &Governed<'_>, arguments: &str) -> bool {
    let entry = &found.entry;
    *entry.call_id == **call.call_id && entry.tool == call.tool.name() && entry.arguments == arguments
}

fn recalled(call: &Governed<'_>, found: &Recovered) -> Option<ToolResponse> {
    // An answer that cannot be read is as good as none.
    match found.response.as_deref().and_then(|text| serde_json::from_str::<ToolResponse>(text).ok()) {
        Some(mut response) => {
            // They were carried out then.
            response.drop_intents();
            Some(response)
        }
        None if found.entry.harmless => None,
        None => Some(unknown(call, found)),
    }
}

/// UNKNOWN: an earlier process started it, and nobody knows what came of it.
fn unknown(call: &Governed<'_>, found: &Recovered) -> ToolResponse {
    let message = format!(
        "`{}` was started at {} by a process that then ended; nobody knows whether it took effect, and it was not run \
         again. Find out, and call it anew under another id if it did not.",
        found.entry.tool, found.entry.started_at
    );
    call.answer().fail(ToolError::new(ErrorKind::Unknown, message, false).partial_side_effects(true))
}
