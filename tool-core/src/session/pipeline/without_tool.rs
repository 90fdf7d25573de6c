//! Answers to calls that reach no tool: the session is over, the name is unknown, a step has too
//! many calls, a layer refused the call, or a person denied it.

use crate::call::response::shorten_name;
use crate::call::{ApprovalReason, ErrorKind, ToolCall, ToolError, ToolResponse};
use crate::registry::context::MissedCall;
use crate::schema::timestamp::Timestamp;
use crate::session::audit::{AuditEntry, CallDecision, CallOutcome, kept_id, redacted_reasons};
use crate::session::drain_switch::process_ending;
use crate::session::hooks::RequestKind;
use crate::session::inner::SessionInner;
use crate::session::metrics::call_log::{AnsweredCall, UNKNOWN};
use crate::session::pipeline::governed_call::session_over;
use crate::session::pipeline::hooks::around_request;
use crate::session::pipeline::record::{
    CallToKeep, audit, keep, keep_later, kept_call, size_for_model,
};
use crate::time::CallInstant;
use std::future::ready;
use std::sync::Arc;

/// Answers `SESSION_INACTIVE`.
#[cold]
pub(crate) async fn inactive(
    session: &SessionInner,
    call: &ToolCall,
    began: CallInstant,
) -> ToolResponse {
    let mut response = ToolResponse::refused(call, session_over(), began);
    if session.is_lost() {
        response.optional_meta().session_is_lost = true;
    }
    count_without_tool(session, call, response).await
}

/// Answers a call that comes while the process is about to end.
#[cold]
pub(crate) async fn draining(
    session: &SessionInner,
    call: &ToolCall,
    began: CallInstant,
) -> ToolResponse {
    let response = ToolResponse::refused(call, process_ending("the call"), began);
    count_without_tool(session, call, response).await
}

/// Answers a call of a tool that the session does not have.
#[cold]
pub(crate) async fn unknown(
    session: &SessionInner,
    call: &ToolCall,
    began: CallInstant,
) -> ToolResponse {
    let searches = session
        .tools
        .search
        .as_ref()
        .is_some_and(|search| search.modes.contains(session.mode()));
    let hint = if searches {
        "; find others by `search_tools`"
    } else {
        ""
    };
    let missed = MissedCall {
        name: call.name(),
        call_id: Some(call.shared_id()),
        mode: Some(session.mode()),
        began,
    };
    let ctx = session.current_context();
    let response = session
        .tools
        .context
        .answer_without_tool(&missed, &ctx, hint);
    count_without_tool(session, call, response).await
}

/// Answers a call of a step that has too many.
#[cold]
pub(crate) async fn beyond_step(
    session: &SessionInner,
    call: &ToolCall,
    limit: usize,
) -> ToolResponse {
    let message = format!(
        "budget exceeded: the {limit} calls that one step may make are used, so nothing was done; make this call in the \
         next step"
    );
    let error = ToolError::new(ErrorKind::BudgetExceeded, message, false);
    let response = ToolResponse::refused(call, error, CallInstant::now());
    count_without_tool(session, call, response).await
}

/// Counts a response that no tool was asked for: of a session that is over, or to an unknown name.
pub(crate) async fn count_without_tool(
    session: &SessionInner,
    call: &ToolCall,
    response: ToolResponse,
) -> ToolResponse {
    if let Some(kept) = count_answer(session, call, &response, Done::Nothing) {
        keep(session, &kept).await;
    }
    tell_hooks(session, call.name(), call.arguments(), &response).await;
    response
}

/// Tells the hooks around requests of a call that no tool serves.
pub(crate) async fn tell_hooks(
    session: &SessionInner,
    tool: &str,
    arguments: &str,
    response: &ToolResponse,
) {
    let Some(error) = response.error() else {
        return;
    };
    let error = ToolError::new(error.kind, error.message.clone(), error.retryable);
    let refused = Box::pin(ready(Err::<(), _>(error)));
    let arguments = || arguments.to_owned();
    _ = around_request(session, RequestKind::Call, tool, arguments, refused).await;
}

/// Records a call that was refused before its tool was asked for. A store outside of this process
/// keeps it later.
pub(crate) fn record_refusal(
    session: &Arc<SessionInner>,
    call: &ToolCall,
    response: &ToolResponse,
) {
    if let Some(kept) = count_answer(session, call, response, Done::Nothing) {
        keep_later(session, kept);
    }
}

/// Records the answer to a call that was begun and may have taken effect: by an earlier process, or
/// inside layers that have dropped it and left this entry.
pub(crate) fn record_begun(
    session: &Arc<SessionInner>,
    call: &ToolCall,
    response: &ToolResponse,
    dropped: Option<Box<AuditEntry>>,
) {
    if let Some(kept) = count_answer(session, call, response, Done::Perhaps(dropped)) {
        keep_later(session, kept);
    }
}

/// The effect of a call that no tool has answered.
enum Done {
    Nothing,
    /// It may have taken effect. The entry is that of a call which was dropped while it ran.
    Perhaps(Option<Box<AuditEntry>>),
}

/// Counts a call that no tool has answered, and adds it to the audit log. Returns the call if a store
/// outside of this process has to keep it.
fn count_answer(
    session: &SessionInner,
    call: &ToolCall,
    response: &ToolResponse,
    done: Done,
) -> Option<Box<CallToKeep>> {
    let found = session.tools.find(call.name());
    let name = found.map_or(UNKNOWN, |(_, tool)| tool.name());
    let turn = session.record.turn();
    let refused = matches!(done, Done::Nothing);
    let answered = AnsweredCall {
        refused,
        ..AnsweredCall::new(name, turn, response, call.arguments())
    };
    let size = size_for_model(response);
    match found.and_then(|(index, _)| session.tools.stats.get(index)) {
        Some(stats) => stats.record(&answered, size),
        None => session.runtime.metrics.unknown.record(&answered, size),
    };
    session.log().add(&answered);
    let called = CalledAs {
        call_id: call.id(),
        tool: call.name(),
    };
    let outcome = CallOutcome::of_response(response, refused);
    let entry = match done {
        Done::Perhaps(Some(dropped)) => *dropped,
        _ => entry_without_tool(session, turn, called, response),
    };
    let entry = AuditEntry { outcome, ..entry };
    if session.record.is_remote() {
        return kept_call(session, &answered, Some(entry));
    }
    session.log().add_entry(&entry);
    None
}

/// Counts the refusal of a call that a person has denied, and adds it to the audit log. The call
/// itself was counted when it asked for approval. `index` is that of the tool, if the session still
/// has it.
pub(crate) async fn count_denial(
    session: &SessionInner,
    index: Option<usize>,
    response: &ToolResponse,
    person: Option<&str>,
    reasons: &[ApprovalReason],
) {
    let turn = session.record.turn();
    let denied = AnsweredCall {
        refused: true,
        ..AnsweredCall::new("", turn, response, "")
    };
    match index.and_then(|index| session.tools.stats.get(index)) {
        Some(stats) => stats.record(&denied, 0),
        None => session.runtime.metrics.unknown.record(&denied, 0),
    };
    let meta = response.meta();
    let called = CalledAs {
        call_id: meta.call_id().unwrap_or_default(),
        tool: meta.tool(),
    };
    let entry = entry_without_tool(session, turn, called, response);
    let entry = AuditEntry {
        decision: person.map(|person| CallDecision::new(false, person)),
        reasons: redacted_reasons(reasons, &session.policy().redaction),
        ..entry
    };
    audit(session, entry).await;
}

/// A call as its response or its model names it.
#[derive(Clone, Copy)]
struct CalledAs<'a> {
    call_id: &'a str,
    tool: &'a str,
}

/// Returns the entry of a call that no tool has served.
fn entry_without_tool(
    session: &SessionInner,
    turn: u64,
    called: CalledAs<'_>,
    response: &ToolResponse,
) -> AuditEntry {
    AuditEntry {
        at: Timestamp(jiff::Timestamp::now()),
        turn,
        call_id: kept_id(called.call_id).to_owned(),
        tool: shorten_name(called.tool),
        principal: session.principal.to_string(),
        outcome: CallOutcome::of_response(response, true),
        intents: Vec::new(),
        decision: None,
        reasons: Vec::new(),
    }
}
