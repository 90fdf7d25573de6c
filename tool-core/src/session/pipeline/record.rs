//! The record of an answered call: it is counted, its intents are carried out, and hooks see it.

use crate::call::{ApprovalReason, ErrorKind, Intent, Mode, Progress, ToolError, ToolResponse};
use crate::schema::timestamp::Timestamp;
use crate::session::account::Payment;
use crate::session::audit::{
    ApprovedCall, AuditEntry, AuditFacts, AuditedIntent, CallOutcome, kept_id, last_intents,
    redacted_reasons,
};
use crate::session::inner::SessionInner;
use crate::session::metrics::call_log::{AnsweredCall, SessionCall};
use crate::session::pipeline::admit::AdmissionGate;
use crate::session::pipeline::governed_call::GovernedCall;
use crate::session::pipeline::journal::record_end;
#[cfg(feature = "tower")]
use crate::session::pipeline::passing_call::PassingCall;
use crate::session::pipeline::{empty, hooks};
use crate::session::state::StateChange;
use crate::session::store::{AnsweredCallRecord, Settlement, StoreError};
use crate::text::characters;
use crate::time;
use crate::tool::Category;
use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::runtime::Handle;

/// Records a call that has reached the gate, if that needs no waiting. Otherwise nothing is
/// recorded, and the result is false.
#[inline]
pub(crate) fn record_now(
    call: &GovernedCall<'_>,
    gate: &AdmissionGate<'_>,
    response: &mut ToolResponse,
) -> bool {
    let session = call.session;
    let Some(turn) = gate.turn() else {
        return false;
    };
    let runtime = &session.runtime;
    let waits = !runtime.hooks.is_empty() || runtime.journal.is_some();
    if call.meter.is_some() || waits || session.record.is_remote() {
        return false;
    }
    if empty::counts_as_empty(call, response)
        || (response.is_ok() && !response.intents().is_empty())
    {
        return false;
    }
    count(call, Some(turn), false, response);
    true
}

/// Records a call that has reached the gate, once it is answered.
pub(crate) async fn recorded(
    call: &GovernedCall<'_>,
    gate: &AdmissionGate<'_>,
    answer: impl Future<Output = ToolResponse>,
) -> ToolResponse {
    let mut response = answer.await;
    let mut is_audited = false;
    if let Some(turn) = gate.turn() {
        let empty = empty::counts_as_empty(call, &response);
        if let (Some(meter), Some(questions)) = (&call.meter, call.questions()) {
            meter.exclude(questions.waited());
        }
        let payment = call.meter.as_ref().and_then(|meter| meter.take());
        if empty || payment.is_some() || (response.is_ok() && !response.intents().is_empty()) {
            is_audited = Box::pin(settle(call, turn, empty, payment, &mut response)).await;
        }
    } else if response.is_ok() && gate.is_ungoverned() {
        response
            .optional_meta()
            .warnings
            .push("the session store was down, so no limits were applied".to_owned());
    } else if gate.has_lost_session() {
        response.optional_meta().session_is_lost = true;
    }
    finish(call, gate.turn(), is_audited, &mut response).await;
    if let Some(claim) = gate.take_claim() {
        record_end(call, claim, &response).await;
    }
    response
}

/// Answers a call that was not let in, and records it.
pub(crate) async fn unrun(call: &GovernedCall<'_>, error: ToolError) -> ToolResponse {
    let mut response = *call.refuse_unread(error).await;
    finish(call, None, false, &mut response).await;
    response
}

/// Counts the response to a call and runs the hooks after it. `turn` is the turn in which the call
/// was charged. A call that is audited has an entry in the audit log already.
async fn finish(
    call: &GovernedCall<'_>,
    turn: Option<u64>,
    is_audited: bool,
    response: &mut ToolResponse,
) {
    if let Some(kept) = count(call, turn, is_audited, response) {
        Box::pin(keep(call.session, &kept)).await;
    }
    if !call.session.runtime.hooks.is_empty() {
        Box::pin(hooks::after(
            call.session,
            &hooks::hooked(call, turn),
            response,
        ))
        .await;
    }
}

/// An answered call that a store outside of this process has to keep.
pub(crate) struct CallToKeep {
    call: Option<SessionCall>,
    audit: Option<AuditEntry>,
}

/// Keeps a call in a store outside of this process.
pub(crate) async fn keep(session: &SessionInner, call: &CallToKeep) {
    let record = AnsweredCallRecord {
        call: call.call.as_ref(),
        audit: call.audit.as_ref(),
    };
    // The call has run, so a panic of the store must not take its response away.
    let kept = AssertUnwindSafe(async { session.record.keep_call(&record).await })
        .catch_unwind()
        .await;
    if let Err(error) = kept.unwrap_or_else(|_| Err(StoreError::new("it panicked"))) {
        tracing::error!(session = %session.id.as_str().escape_debug(), %error, "failed to keep a call");
    }
}

/// Counts the response, and returns the call if a store outside of this process has to keep it. Not
/// inlined, as an `async` body would keep the intermediate values in its future.
#[inline(never)]
fn count(
    call: &GovernedCall<'_>,
    turn: Option<u64>,
    is_audited: bool,
    response: &mut ToolResponse,
) -> Option<Box<CallToKeep>> {
    let session = call.session;
    if let Some(scope) = call.scope() {
        scope.answered.store(true, Ordering::SeqCst);
        if let Some(questions) = scope.questions.get() {
            questions.ended.cancel();
            // The time of the user is no work of the tool.
            response.meta.duration = response.meta.duration.saturating_sub(questions.waited());
        }
        if let Some(confirmations) = scope.confirmations.get() {
            response.optional_meta().nested_confirmations =
                std::mem::take(&mut *confirmations.lock());
        }
    }
    if let Some(approval) = call.request.approval()
        && approval.asked.is_some()
    {
        let arguments = call.request.arguments().to_owned();
        response.optional_meta().changed_arguments = Some(arguments);
    }
    let slow = warn_if_slow(call, response);
    let turn = turn.unwrap_or_else(|| session.record.turn());
    let answered = AnsweredCall::new(call.tool.name(), turn, response, call.request.arguments());
    let approved = approved(call);
    let facts = AuditFacts {
        tool: &call.tool.definition().name,
        call_id: call.request.shared_id(),
        began: call.began,
        approval: approved.as_ref(),
        reasons: audited_reasons(call, response),
        redaction: &call.policy.redaction,
    };
    let is_remote = session.record.is_remote();
    let audit = if is_audited || is_remote {
        None
    } else {
        Some(facts)
    };
    let answered = AnsweredCall {
        slow,
        refused: call.is_refusal(response),
        audit,
        ..answered
    };
    session.log().add(&answered);
    if let Some(stats) = session.tools.stats.get(call.index)
        && let Some(p95) = stats.record(&answered, size_for_model(response))
    {
        let tool = call.tool.name().escape_debug();
        tracing::warn!(target: "tool_core::metrics", %tool, p95, "more than 5 % of the results of a tool are large");
    }
    if let Some(progress) = call.reported() {
        keep_updates(call, progress);
    }
    if !is_remote {
        return None;
    }
    let entry = || audit_entry(call, turn, response, Vec::new());
    kept_call(session, &answered, (!is_audited).then(entry))
}

/// Keeps the updates that no listener has heard. The call is answered, so it reports nothing any
/// more.
#[cold]
fn keep_updates(call: &GovernedCall<'_>, progress: &Progress) {
    progress.end();
    let updates = if progress.has_listener() {
        Vec::new()
    } else {
        progress.take()
    };
    if !updates.is_empty() {
        call.session
            .shared()
            .updates
            .push(call.request.id(), call.tool.name(), updates);
    }
}

/// Returns the characters of the data or of the error's text, which take room in the model's
/// context.
#[inline]
pub(crate) fn size_for_model(response: &ToolResponse) -> u32 {
    let size = response.error().map_or_else(
        || response.meta().size_chars(),
        |error| characters(&error.message),
    );
    u32::try_from(size).unwrap_or(u32::MAX)
}

/// Returns a call, redacted, and its entry, for a store outside of this process.
#[cold]
pub(crate) fn kept_call(
    session: &SessionInner,
    call: &AnsweredCall<'_>,
    audit: Option<AuditEntry>,
) -> Option<Box<CallToKeep>> {
    let policy = session.policy();
    let call =
        (policy.call_history > 0).then(|| SessionCall::new(&call.shortened(), &policy.redaction));
    (call.is_some() || audit.is_some()).then(|| Box::new(CallToKeep { call, audit }))
}

/// Returns the entry of a call in the audit log.
fn audit_entry(
    call: &GovernedCall<'_>,
    turn: u64,
    response: &ToolResponse,
    intents: Vec<AuditedIntent>,
) -> AuditEntry {
    let approved = approved(call);
    let redaction = &call.policy.redaction;
    AuditEntry {
        at: Timestamp(jiff::Timestamp::now()),
        turn,
        call_id: kept_id(call.request.id()).to_owned(),
        tool: call.tool.name().to_owned(),
        principal: call.session.principal.to_string(),
        outcome: CallOutcome::of_response(response, call.is_refusal(response)),
        intents: last_intents(intents),
        decision: approved.map(|approved| approved.decision(redaction)),
        reasons: redacted_reasons(audited_reasons(call, response), redaction),
    }
}

/// Returns the approval under which a call runs, as the audit log tells it.
#[inline]
fn approved<'a>(call: &'a GovernedCall<'_>) -> Option<ApprovedCall<'a>> {
    Some(ApprovedCall {
        by: call.approved_by()?,
        approval: call.request.approval(),
        grant: call.grant.get().map(|used| &used.audited),
        tool: call.tool.name(),
        arguments: call.request.arguments(),
    })
}

/// Returns the reasons for which a call has waited for its approval, or waits with this response.
#[inline]
fn audited_reasons<'a>(
    call: &'a GovernedCall<'_>,
    response: &'a ToolResponse,
) -> &'a [ApprovalReason] {
    if let Some(approval) = call.request.approval() {
        return &approval.reasons;
    }
    let confirmation = response.meta().confirmation();
    confirmation.map_or(&[], |confirmation| &confirmation.reasons)
}

/// Adds a call whose caller has gone away while it ran to the audit log.
#[cold]
pub(crate) fn audit_dropped(call: &GovernedCall<'_>) {
    let session = call.session;
    let error = ToolError::new(ErrorKind::Cancelled, String::new(), false);
    let response = call.responses().fail(error);
    let entry = AuditEntry {
        outcome: CallOutcome::Failed(ErrorKind::Cancelled),
        ..audit_entry(call, session.record.turn(), &response, Vec::new())
    };
    #[cfg(feature = "tower")]
    let entry = match call.request.layers::<PassingCall>() {
        Some(dropped) => dropped.leave(entry),
        None => Some(entry),
    };
    #[cfg(not(feature = "tower"))]
    let entry = Some(entry);
    if let Some(entry) = entry {
        audit_later(session, entry);
    }
}

/// Adds an entry to the audit log. A store outside of this process keeps it after the caller has gone
/// on.
pub(crate) fn audit_later(session: &Arc<SessionInner>, entry: AuditEntry) {
    if session.record.is_remote() {
        keep_later(
            session,
            Box::new(CallToKeep {
                call: None,
                audit: Some(entry),
            }),
        );
    } else {
        session.log().add_entry(&entry);
    }
}

/// Keeps a call in a store outside of this process, after the caller has gone on.
pub(crate) fn keep_later(session: &Arc<SessionInner>, kept: Box<CallToKeep>) {
    let session = Arc::clone(session);
    if let Ok(handle) = Handle::try_current() {
        drop(handle.spawn(async move { keep(&session, &kept).await }));
    }
}

/// Adds an entry to the audit log.
pub(crate) async fn audit(session: &SessionInner, entry: AuditEntry) {
    if session.record.is_remote() {
        keep(
            session,
            &CallToKeep {
                call: None,
                audit: Some(entry),
            },
        )
        .await;
    } else {
        session.log().add_entry(&entry);
    }
}

/// Adds a warning to the response of a call that took longer than the policy's soft limit, and
/// returns true.
#[inline]
fn warn_if_slow(call: &GovernedCall<'_>, response: &mut ToolResponse) -> bool {
    let policy = call.policy;
    let taken = response.meta().duration();
    let exceeded = |limit: Option<Duration>| limit.filter(|limit| taken > *limit);
    let is_retrieval = call.definition().options.category == Category::Retrieval;
    let (kind, limit) = match (
        exceeded(policy.warn_retrieval_after),
        exceeded(policy.warn_after),
    ) {
        (Some(limit), _) if is_retrieval => ("a retrieval", limit),
        (_, Some(limit)) => ("a call", limit),
        _ => return false,
    };
    add_slow_warning(call, response, kind, limit);
    true
}

#[cold]
fn add_slow_warning(
    call: &GovernedCall<'_>,
    response: &mut ToolResponse,
    kind: &str,
    limit: Duration,
) {
    let tool = call.tool.name();
    let mode = call.mode.as_str();
    let taken = response.meta().duration();
    let warning = format!(
        "`{tool}` took {} ms; in {mode} {kind} should take at most {} ms",
        taken.as_millis(),
        time::milliseconds(limit)
    );
    let session = call.session.id.as_str().escape_debug();
    tracing::warn!(target: "tool_core::metrics", %session, call_id = %call.request.id().escape_debug(), "{warning}");
    response.optional_meta().warnings.push(warning);
}

/// Records the outcome of the call in the store, with its entry in the audit log. Returns false if
/// the store failed.
async fn settle(
    call: &GovernedCall<'_>,
    turn: u64,
    empty: bool,
    payment: Option<Payment>,
    response: &mut ToolResponse,
) -> bool {
    let mut changes = Vec::new();
    let mut intents = Vec::new();
    let carried_out = if response.is_ok() {
        response.intents()
    } else {
        &[]
    };
    for intent in carried_out {
        let (change, effect) = carry_out(intent, call.session.mode());
        changes.extend(change);
        intents.push(AuditedIntent::kept(intent, &effect, &call.policy.redaction));
    }
    let had_intents = !intents.is_empty();
    let audit = [audit_entry(call, turn, response, intents)];
    let settlement = Settlement {
        tool: call.tool.name(),
        category: call.definition().options.category,
        turn,
        empty,
        changes: &changes,
        audit: &audit,
        ..payment
            .as_ref()
            .map(|payment| payment.amount.settlement())
            .unwrap_or_default()
    };
    // The call has run, so a panic of the store must not take its response away.
    let settled = AssertUnwindSafe(async { call.session.record.settle(&settlement).await })
        .catch_unwind()
        .await;
    if let Err(error) = settled.unwrap_or_else(|_| Err(StoreError::new("it panicked"))) {
        tracing::error!(session = %call.session.id.as_str().escape_debug(), %error, "failed to record the outcome of a call");
        if had_intents {
            response
                .optional_meta()
                .warnings
                .push("its intents were not carried out: the session store is down".to_owned());
        }
        return false;
    }
    if let Some(payment) = payment {
        payment.settled();
    }
    true
}

/// Returns the state change of an intent, and its effect in words.
fn carry_out(intent: &Intent, mode: Mode) -> (Option<StateChange>, String) {
    match intent {
        Intent::EndVoiceSession if mode == Mode::Voice => (
            Some(StateChange::Ending(true)),
            "the session ends after this turn".into(),
        ),
        Intent::EndVoiceSession => (None, "none: this is not a voice session".into()),
        Intent::SuppressAudio => (
            Some(StateChange::AudioSuppressed(true)),
            "audio is suppressed".into(),
        ),
        Intent::SuppressTranscript => (
            Some(StateChange::TranscriptSuppressed(true)),
            "the transcript is suppressed".into(),
        ),
        Intent::SetPendingMessage(message) => (
            Some(StateChange::PendingMessage(Some(message.clone()))),
            "a message waits for the next turn".into(),
        ),
        Intent::StartVoiceSession => (None, "the host may begin a voice session".into()),
        Intent::Navigate(to) => (None, format!("the host may show `{}`", to.escape_debug())),
        Intent::Custom { name, payload } => (
            Some(StateChange::Value(name.clone(), payload.clone())),
            format!("the session's `{}` was set", name.escape_debug()),
        ),
    }
}
