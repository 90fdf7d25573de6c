//! The last step: what came of the call is counted, its intents are carried out, and hooks see the answer.

use crate::arguments::equality::Fingerprint;
use crate::call::intent::Intent;
use crate::call::mode::Mode;
use crate::call::response::ToolResponse;
use crate::call::tool_call::ToolCall;
use crate::schema::timestamp::Timestamp;
use crate::session::hooks::HookedCall;
use crate::session::metrics::history::Answered;
use crate::session::pipeline::admit::Gate;
use crate::session::pipeline::empty::is_empty;
use crate::session::pipeline::{Governed, deferred};
use crate::session::session::Core;
use crate::session::state::{AuditEntry, StateChange};
use crate::session::store::StoreError;
use crate::session::store::admission::Settlement;
use crate::tool::options::Category;
use futures_util::FutureExt;
use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// Records a call that came as far as the gate.
pub(crate) async fn record(call: &Governed<'_>, gate: &Gate<'_>, mut response: ToolResponse) -> ToolResponse {
    warn_if_slow(call, &mut response);
    if let Some(turn) = gate.turn() {
        let empty = counts_as_empty(call, &response);
        if empty || (response.is_ok() && !response.intents().is_empty()) {
            Box::pin(settle(call, turn, empty, &mut response)).await;
        }
    } else if response.is_ok() && gate.ungoverned() {
        response.rare().warnings.push("the session store was down, so no limits were applied".to_owned());
    }
    finish(call, gate.turn(), response).await
}

/// Records a call that did not.
pub(crate) async fn refused(call: &Governed<'_>, response: ToolResponse) -> ToolResponse {
    finish(call, None, response).await
}

/// What every answer goes through last.
#[inline]
async fn finish(call: &Governed<'_>, admitted: Option<u64>, mut response: ToolResponse) -> ToolResponse {
    count(call, admitted, &response);
    if !call.core.shared.hooks.is_empty() {
        Box::pin(after(call, &deferred::hooked(call, admitted), &mut response)).await;
    }
    response
}

/// By itself, as an `async` body keeps more of what it computes in memory.
#[inline(never)]
fn count(call: &Governed<'_>, admitted: Option<u64>, response: &ToolResponse) {
    let turn = admitted.unwrap_or_else(|| call.core.record.turn());
    let answered = Answered { tool: Some(call.at), turn, ..Answered::of(response, call.began, call.text) };
    call.core.measured.calls.add(&answered, call.policy().call_history);
    // Where a session stands in memory tells it from its neighbours.
    let by = Arc::as_ptr(call.core).addr() / size_of::<Core>();
    if let Some(tally) = call.core.toolbox.tallies.get(call.at)
        && let Some(size) = tally.count(&answered, characters(response), by)
    {
        large(call.tool.name(), size);
    }
    if let Some(progress) = call.scope().and_then(|scope| scope.progress.get()).filter(|progress| !progress.is_shown())
    {
        let said = progress.take();
        if !said.is_empty() {
            call.core.updates.keep(call.call_id, call.tool.name(), said);
        }
    }
}

/// Counts an answer to a call that came to no tool: of a session that is over, or under a name that nobody knows.
#[cold]
pub(crate) fn count_aside(core: &Core, call: &ToolCall, began: Instant, response: &ToolResponse) {
    let tool = core.toolbox.find(call.name()).map(|(at, _)| at);
    let tally = tool.and_then(|at| core.toolbox.tallies.get(at)).map_or(&core.shared.measured.unknown, Arc::as_ref);
    let answered = Answered { tool, turn: core.record.turn(), ..Answered::of(response, began, call.arguments()) };
    tally.count(&answered, 0, 0);
    core.measured.calls.add(&answered, core.policy().call_history);
}

/// The size of the result; an error has none.
#[inline]
fn characters(response: &ToolResponse) -> u32 {
    u32::try_from(response.meta().size_chars()).unwrap_or(u32::MAX)
}

/// R-M2
#[cold]
fn large(tool: &str, p95: u32) {
    let tool = tool.escape_debug();
    tracing::warn!(target: "tool_core::metrics", %tool, p95, "the results of a tool have become large");
}

/// R-B1
#[inline]
fn warn_if_slow(call: &Governed<'_>, response: &mut ToolResponse) {
    let (soft, taken) = (call.policy().soft, response.meta().duration());
    let over = |limit: Option<Duration>| limit.filter(|limit| taken > *limit);
    let (what, limit) = match over(soft.retrieval).filter(|_| call.definition().category == Category::Retrieval) {
        Some(limit) => ("a retrieval", limit),
        None => match over(soft.any) {
            Some(limit) => ("a call", limit),
            None => return,
        },
    };
    let (tool, mode) = (call.tool.name(), call.core.mode.as_str());
    let warning = format!(
        "`{tool}` took {} ms; in {mode} {what} should take at most {} ms",
        taken.as_millis(),
        limit.as_millis()
    );
    response.rare().warnings.push(warning);
}

/// R-L2: retrievals are looked at; others count where the tool says so.
#[inline]
fn counts_as_empty(call: &Governed<'_>, response: &ToolResponse) -> bool {
    let Some(data) = response.data_json() else { return false };
    let said = response.slim.rare.as_ref().and_then(|rare| rare.empty);
    said.unwrap_or_else(|| call.definition().category == Category::Retrieval && is_empty(data))
}

/// Tells the store what the call leaves behind. R-I1
async fn settle(call: &Governed<'_>, turn: u64, empty: bool, response: &mut ToolResponse) {
    let mut changes = Vec::new();
    let mut audit = Vec::new();
    for intent in response.intents() {
        let (change, effect) = carried_out(intent, call.core.mode);
        changes.extend(change);
        audit.push(AuditEntry {
            tool: call.tool.name().to_owned(),
            call_id: call.call_id.to_string(),
            intent: intent.clone(),
            at: Timestamp(jiff::Timestamp::now()),
            effect,
        });
    }
    let settlement = Settlement {
        tool: call.tool.name(),
        category: call.definition().category,
        turn,
        refund: false,
        empty,
        changes: &changes,
        audit: &audit,
    };
    call.core.updates.message_set(&changes);
    // The call has run: what its store does must not take the answer away.
    let told = AssertUnwindSafe(async { call.core.store(call.core.record.settle(&settlement)).await }).catch_unwind();
    if let Err(error) = told.await.unwrap_or_else(|_| Err(StoreError::new("it panicked"))) {
        tracing::error!(session = %call.core.id.as_str().escape_debug(), %error, "what a call left behind was not recorded");
        if !audit.is_empty() {
            response.rare().warnings.push("its intents were not carried out: the session store is down".to_owned());
        }
    }
}

/// What an intent changes, and in words.
fn carried_out(intent: &Intent, mode: Mode) -> (Option<StateChange>, String) {
    match intent {
        Intent::EndVoiceSession if mode == Mode::Voice => {
            (Some(StateChange::Ending(true)), "the session ends after this turn".into())
        }
        Intent::EndVoiceSession => (None, "none: this is not a voice session".into()),
        Intent::SuppressAudio => (Some(StateChange::AudioSuppressed(true)), "audio is suppressed".into()),
        Intent::SuppressTranscript => {
            (Some(StateChange::TranscriptSuppressed(true)), "the transcript is suppressed".into())
        }
        Intent::SetPendingMessage(message) => {
            (Some(StateChange::PendingMessage(Some(message.clone()))), "a message waits for the next turn".into())
        }
        Intent::Custom { name, payload } => (
            Some(StateChange::Value(name.clone(), payload.clone())),
            format!("the session's `{}` was set", name.escape_debug()),
        ),
    }
}

/// A hook that panics here leaves the answer as it was.
async fn after(call: &Governed<'_>, hooked: &HookedCall<'_>, response: &mut ToolResponse) {
    for hook in &call.core.shared.hooks {
        let seeing = AssertUnwindSafe(async { hook.after(hooked, response).await }).catch_unwind();
        let Ok(seen) = timeout(deferred::GRACE, seeing).await else {
            tracing::error!(tool = %call.tool.name().escape_debug(), "a hook after the call took too long");
            continue;
        };
        if seen.is_err() {
            tracing::error!(tool = %call.tool.name().escape_debug(), "a hook panicked after the call");
        }
    }
}

// ---- The results of `idempotent` tools, kept for equal calls of the same session where the policy says so.

/// The results that one session keeps.
#[derive(Default)]
pub(crate) struct Reuse(Mutex<VecDeque<(u128, Instant, ToolResponse)>>);

const KEPT: usize = 32;

/// The result of an equal call, where it is young enough. It is this call's answer, and says whose it was.
pub(crate) fn recall(call: &Governed<'_>, text: &str) -> Option<ToolResponse> {
    let (key, lifetime) = (key(call, text)?, call.policy().result_cache_ttl?);
    let mut kept = call.core.reuse.0.lock().unwrap_or_else(PoisonError::into_inner);
    kept.retain(|(_, since, _)| since.elapsed() < lifetime);
    let (_, _, response) = kept.iter().find(|(of, ..)| *of == key)?;
    let mut response = response.clone();
    response.drop_intents();
    let whose = response.slim.call_id.replace(Arc::clone(call.call_id)).unwrap_or_default();
    response.slim.duration = call.began.elapsed();
    response.rare().warnings.push(format!("the result of call `{whose}`, which asked for the same"));
    Some(response)
}

/// Keeps a success.
pub(crate) fn keep(call: &Governed<'_>, text: &str, response: &ToolResponse) {
    let Some(key) = key(call, text).filter(|_| response.is_ok()) else { return };
    let mut kept = call.core.reuse.0.lock().unwrap_or_else(PoisonError::into_inner);
    if kept.len() == KEPT {
        kept.pop_front();
    }
    kept.push_back((key, Instant::now(), response.clone()));
}

/// Whether results of this tool are kept.
#[inline]
pub(crate) fn applies(call: &Governed<'_>) -> bool {
    call.policy().result_cache_ttl.is_some() && call.definition().flags.idempotent
}

fn key(call: &Governed<'_>, text: &str) -> Option<u128> {
    applies(call).then(|| Fingerprint::of(call.definition().parameters(), call.tool.name(), text).fast())
}
