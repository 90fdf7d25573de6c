//! Writing calls down before they run, and answering those that an earlier process left behind.

use super::{Governed, canonical, idempotency_key};
use crate::response::{ErrorKind, ToolError, ToolResponse};
use crate::runtime::journal::{JournalEntry, Recovered};
use crate::timestamp::Timestamp;

/// Writes the call down. Gives its answer where an earlier process had one, or nobody knows it.
pub(super) async fn begin(call: &Governed<'_>, text: &str, turn: u64) -> Result<Option<ToolResponse>, ToolError> {
    let Some(journal) = &call.core.shared.journal else { return Ok(None) };
    let arguments = canonical(call.tool, text);
    if let Some(found) = call.core.recovered.iter().rev().find(|found| is_of(found, call, &arguments))
        && let Some(response) = recalled(call, found)
    {
        return Ok(Some(response));
    }
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
        Ok(()) => Ok(None),
        // What harms nobody when it runs twice needs no journal.
        Err(error) if entry.harmless => {
            tracing::error!(%error, "a call that only reads was not written down");
            Ok(None)
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
pub(super) async fn finish(call: &Governed<'_>, response: &ToolResponse) {
    let Some(journal) = &call.core.shared.journal else { return };
    if let Err(error) = journal.finished(call.core.id.as_str(), call.call_id, &response.to_json()).await {
        tracing::error!(%error, "the end of a call was not written down");
    }
}

fn is_of(found: &Recovered, call: &Governed<'_>, arguments: &str) -> bool {
    let entry = &found.entry;
    *entry.call_id == **call.call_id && entry.tool == call.tool.name() && entry.arguments == arguments
}

fn recalled(call: &Governed<'_>, found: &Recovered) -> Option<ToolResponse> {
    match &found.response {
        Some(text) => serde_json::from_str(text).ok(),
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
