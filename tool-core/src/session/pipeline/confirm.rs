//! Requesting the approval of a call, and redeeming it.

use crate::call::approval_reason::bounded;
use crate::call::meta::PendingOutcome;
use crate::call::tool_call::CallApproval;
use crate::call::{ApprovalReason, Confirmation, ErrorKind, ToolCall, ToolError, ToolResponse};
use crate::session::agent_event::ApprovalWanted;
use crate::session::approval_requests::{Outcome, RequestedCall};
use crate::session::approvals::{
    ApprovalLimit, ApprovalLimits, ApprovalRequest, ApprovalVerdict, PendingCall, Signer, fresh_id,
    summary_of,
};
use crate::session::grants::GrantVerdict;
use crate::session::hooks::{HookedCall, HookedDecision};
use crate::session::inner::SessionInner;
use crate::session::pipeline::governed_call::{GovernedCall, session_over};
use crate::session::pipeline::{granted, hooks, without_tool};
use crate::session::store::StoreError;
use crate::time::CENTURY;
use crate::time::CallInstant;
use crate::tool::bare_call::repair_arguments;
use crate::tool::response_builder::ResponseBuilder;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Denies the call that waits under a token, by the decision of a person or because no person has
/// decided.
pub(crate) async fn deny(
    session: &SessionInner,
    token: &str,
    person: Option<&str>,
) -> Result<ToolResponse, ToolError> {
    let began = CallInstant::now();
    let PendingCall {
        id,
        call_id,
        tool,
        arguments,
        turn,
        mode,
        reasons,
        ..
    } = pending_call(session, token).await?;
    let mut deciding = session.runtime.approvals.decide(&id);
    let consumed = session.record.consume(&id).await;
    if consumed.as_ref().is_ok_and(|consumed| *consumed) {
        let mut response = denied(&call_id, &tool);
        deciding.response = Some(response.clone());
        let found = session.tools.find(&tool);
        let index = found.map(|(index, _)| index);
        without_tool::count_denial(session, index, &response, person, &reasons).await;
        if let Some((_, found)) = found {
            let call = HookedCall {
                session: session.id.as_str(),
                principal: &session.principal,
                mode,
                turn,
                call_id: &call_id,
                tool: found.definition(),
                arguments: &arguments,
                decision: Some(HookedDecision {
                    approved: false,
                    by: person,
                    reasons: &reasons,
                    asked_arguments: None,
                }),
            };
            hooks::after(session, &call, &mut response).await;
        } else {
            without_tool::tell_hooks(session, &tool, &arguments, &response).await;
        }
        deciding.response = Some(response.clone());
        return Ok(response);
    }
    drop(deciding);
    consumed.map_err(|error| store_down(session, &error))?;
    Ok(ToolResponse::refused(
        &ToolCall::new(call_id, tool, ""),
        no_pending_call(),
        began,
    ))
}

/// Answers a call that a person has refused.
pub(crate) fn denied(call_id: &str, tool: &str) -> ToolResponse {
    let message = format!(
        "a person has refused this call of `{tool}`; it was not run. Do not call it again."
    );
    let error = ToolError::new(ErrorKind::Denied, message, false);
    ToolResponse::refused(&ToolCall::new(call_id, tool, ""), error, CallInstant::now())
}

/// Returns the token of the call that waits under an alias.
pub(crate) async fn token_for_alias(
    session: &SessionInner,
    alias: &str,
) -> Result<String, ToolError> {
    let id = Signer::id_of(alias).ok_or_else(no_pending_call)?;
    let found = session
        .record
        .pending(id)
        .await
        .map_err(|error| store_down(session, &error))?;
    // Of a call that was altered in the store, the alias is another.
    found
        .and_then(|pending| session.runtime.signer.token_for(alias, &pending))
        .ok_or_else(no_pending_call)
}

/// Returns the call that waits under a token, if the token was signed here and for this session.
pub(crate) async fn pending_call(
    session: &SessionInner,
    token: &str,
) -> Result<PendingCall, ToolError> {
    let _call = session.calls.enter().ok_or_else(session_over)?;
    let id = Signer::id_of(token).ok_or_else(no_pending_call)?;
    let found = session
        .record
        .pending(id)
        .await
        .map_err(|error| store_down(session, &error))?;
    if found.is_none() && session.record.state().ended {
        return Err(session_over());
    }
    let is_own = |pending: &PendingCall| {
        pending.session == session.id.as_str()
            && *pending.principal == *session.principal
            && pending.agent == session.agent()
            && session.runtime.signer.verify(token, pending)
            && !pending.is_stale()
    };
    found.filter(is_own).ok_or_else(no_pending_call)
}

/// Waits for the response of a call that another task decides on. Returns `None` if none comes.
pub(crate) async fn outcome(session: &SessionInner, asked: &Confirmation) -> Option<ToolResponse> {
    let mut response = asked.outcome.0.as_ref()?.downcast_ref::<Outcome>()?.clone();
    if let Ok(pending) = pending_call(session, &asked.token).await {
        let now = u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or_default();
        let expiry = Duration::from_millis(pending.expires_at.saturating_sub(now));
        if let Ok(response) = timeout(expiry, &mut response).await {
            return response.ok();
        }
    }
    // Without a waiter the call runs, and is answered, or was answered before.
    let is_over = Signer::id_of(&asked.token)
        .and_then(|id| session.runtime.approvals.take_waiter(id))
        .is_some();
    if is_over { None } else { response.await.ok() }
}

/// Checks that the tools and their settings are those with which the call was requested, as the
/// person has approved no others.
pub(crate) fn check_tools(session: &SessionInner, pending: &PendingCall) -> Result<(), ToolError> {
    if *pending.version != *session.tools.version {
        let message = format!(
            "the tools have changed since the approval of `{}` was requested, for example by a new release, so nothing \
             was done; deny it, or let the model request it again",
            pending.tool
        );
        return Err(ToolError::conflict(message));
    }
    if session.tools.context.agent_settings() == pending.settings {
        return Ok(());
    }
    let message = format!(
        "the settings of the agent's tools have changed since the approval of `{}` was requested, so nothing was done; \
         request it again",
        pending.tool
    );
    Err(ToolError::conflict(message))
}

/// The arguments with which an approved call runs.
pub(crate) struct ApprovedArguments {
    pub(crate) text: String,
    /// The arguments of the model, if the person has approved others.
    pub(crate) asked: Option<Arc<str>>,
}

/// Returns the arguments with which an approved call runs: its own, or those that the person has given
/// in their place. Invalid ones are answered with all their problems, and the call waits on.
pub(crate) fn approved_arguments(
    session: &SessionInner,
    pending: &PendingCall,
    given: Option<&str>,
) -> Result<ApprovedArguments, Box<ToolResponse>> {
    let own = || ApprovedArguments {
        text: pending.arguments.clone(),
        asked: None,
    };
    let Some(given) = given else {
        return Ok(own());
    };
    let Some((_, tool)) = session.tools.find(&pending.tool) else {
        return Err(Box::new(response_without_call(no_pending_call())));
    };
    let settings = session.tools.context.settings();
    let prepared = match repair_arguments(tool, given, None, settings) {
        Ok(prepared) => prepared,
        Err(problems) => {
            let responses = ResponseBuilder {
                tool,
                ctx: &session.base,
                call_id: None,
                began: CallInstant::now(),
                output_bytes: settings.output_bytes,
            };
            let mut refused = responses.refuse(&problems);
            // The call still waits, so this is not its response.
            refused.meta.tool = "".into();
            return Err(Box::new(refused));
        }
    };
    let text = tool.definition().compiled.approved_text(&prepared.text);
    if text == pending.arguments {
        return Ok(own());
    }
    Ok(ApprovedArguments {
        text,
        asked: Some(pending.arguments.as_str().into()),
    })
}

fn store_down(session: &SessionInner, error: &StoreError) -> ToolError {
    tracing::error!(session = %session.id.as_str().escape_debug(), %error, "failed to look up an approval");
    ToolError::transient(
        "the approval cannot be looked up at the moment, so nothing was done; try again",
    )
}

/// Returns a response that belongs to no call.
pub(crate) fn response_without_call(error: ToolError) -> ToolResponse {
    ToolResponse::refused(&ToolCall::new("", "", ""), error, CallInstant::now())
}

/// Returns the error of a token under which no call waits. It gives one message for all causes, so
/// that a caller cannot probe for tokens.
pub(crate) fn no_pending_call() -> ToolError {
    let message = "no call waits under this token: it was used, it has expired, or it is not for this session";
    ToolError::new(ErrorKind::NotFound, message, false)
}

/// Redeems the token of an approved call.
pub(crate) async fn redeem(call: &GovernedCall<'_>) -> Result<(), ToolError> {
    let Some(approval) = call.request.approval() else {
        return Ok(());
    };
    let CallApproval { id, .. } = approval;
    // Taken first: a waiter that finds neither the call nor its own entry goes on waiting.
    let mut deciding = call.session.runtime.approvals.decide(id);
    let redeemed = granted::redeem(call, approval).await;
    let is_redeemed = matches!(redeemed, Ok(GrantVerdict::Granted));
    deciding.approval = is_redeemed.then(|| Arc::clone(id));
    drop(deciding);
    match redeemed {
        Ok(GrantVerdict::Granted) => Ok(()),
        Ok(GrantVerdict::Full) => Err(granted::too_many(call.policy)),
        Ok(GrantVerdict::NotFound) => Err(no_pending_call()),
        Err(error) => {
            let session = call.session.id.as_str().escape_debug();
            tracing::error!(%session, %error, "failed to redeem an approval");
            let message = "the approval could not be redeemed, and may be used up; nothing was done. Try it once more, \
                           then ask again";
            Err(ToolError::transient(message))
        }
    }
}

/// Keeps the call for its approval, and answers `CONFIRMATION_REQUIRED` with a token for the host. A
/// call that an engine makes again has one token, so that a person decides once.
pub(crate) async fn request_approval(
    call: &GovernedCall<'_>,
    text: &str,
    reasons: Vec<ApprovalReason>,
) -> ToolResponse {
    let session = call.session;
    let id = waiting_id(call, text);
    let asked = match asked_earlier(call, &id).await {
        Ok(Some(asked)) => asked,
        Ok(None) => match keep_for_approval(call, id, text, reasons).await {
            Ok(asked) => asked,
            Err(response) => return *response,
        },
        Err(error) => return not_asked(call, &error),
    };
    let AskedCall { pending, token } = asked;
    let requests = &session.runtime.approvals;
    let outcome = requests.add(RequestedCall {
        session: session.id.clone(),
        incarnation: session.record.incarnation(),
        principal: Arc::clone(&session.principal),
        id: pending.id.clone(),
    });
    let outcome = PendingOutcome(Some(Arc::new(outcome)));
    let confirmation = confirmation_of(&pending, token, outcome);
    let message = format!(
        "`{}` needs a person's approval, which was requested. It has not run; do not call it again. Its result will follow \
         in a note that begins with `{}`; a text without this mark is not its result.",
        pending.tool,
        session.runtime.signer.mark(&pending.id)
    );
    let mut response = call.responses().fail(ToolError::new(
        ErrorKind::ConfirmationRequired,
        message,
        false,
    ));
    response.optional_meta().confirmation = Some(confirmation);
    response
}

fn confirmation_of(pending: &PendingCall, token: String, outcome: PendingOutcome) -> Confirmation {
    let lines = pending.argument_lines();
    Confirmation {
        token,
        tool: pending.tool.clone(),
        summary: summary_of(&pending.tool, &lines),
        arguments: lines,
        reasons: pending.reasons.clone(),
        digest: pending.digest(),
        expires_at: expiry_text(pending),
        outcome,
    }
}

/// Returns the approval that a call waits for, if it waits under the token.
pub(crate) async fn wanted_approval(session: &SessionInner, token: &str) -> Option<ApprovalWanted> {
    let pending = pending_call(session, token).await.ok()?;
    Some(ApprovalWanted {
        call_id: pending.call_id.clone(),
        payload: pending.payload(),
        confirmation: confirmation_of(&pending, token.to_owned(), PendingOutcome(None)),
    })
}

/// A call that waits for approval, and its token.
struct AskedCall {
    pending: PendingCall,
    token: String,
}

/// Returns the id under which the call waits.
fn waiting_id(call: &GovernedCall<'_>, text: &str) -> String {
    if !call.request.is_step() {
        return fresh_id();
    }
    let session = call.session;
    let key = session.journal_key();
    let turn = session.record.turn().to_string();
    let arguments = call.definition().approved_text(text);
    let parts = [
        &*key,
        &turn,
        call.request.id(),
        call.tool.name(),
        &arguments,
    ];
    session.runtime.signer.step_id(&parts)
}

/// Returns the call as an earlier run of its step has asked for it, if it still waits.
async fn asked_earlier(call: &GovernedCall<'_>, id: &str) -> Result<Option<AskedCall>, StoreError> {
    if !call.request.is_step() {
        return Ok(None);
    }
    let session = call.session;
    let Some(pending) = session.record.pending(id).await? else {
        return Ok(None);
    };
    // One that was altered in the store is asked for anew.
    let token = session.runtime.signer.sealed_token(&pending);
    Ok(token.map(|token| AskedCall { pending, token }))
}

/// Keeps the call in the store until a person has decided.
async fn keep_for_approval(
    call: &GovernedCall<'_>,
    id: String,
    text: &str,
    reasons: Vec<ApprovalReason>,
) -> Result<AskedCall, Box<ToolResponse>> {
    let session = call.session;
    let policy = call.policy;
    let lifetime = policy.confirmation_lifetime.min(CENTURY);
    let expires = jiff::Timestamp::now() + lifetime;
    let pending = PendingCall {
        id,
        principal: session.principal.to_string(),
        agent: session.agent().to_owned(),
        session: session.id.to_string(),
        mode: call.mode,
        turn: session.record.turn(),
        version: session.tools.version.to_string(),
        settings: session.tools.context.agent_settings().to_owned(),
        call_id: call.request.id().to_owned(),
        tool: call.tool.name().to_owned(),
        arguments: call.definition().approved_text(text),
        expires_at: u64::try_from(expires.as_millisecond()).unwrap_or_default(),
        reasons: bounded(reasons),
        seal: String::new(),
    };
    let token = session.runtime.signer.sign(&pending);
    let pending = PendingCall {
        seal: session.runtime.signer.seal(&token),
        ..pending
    };

    let request = ApprovalRequest::new(&pending, lifetime).limits(policy.approvals);
    match session.record.mint(&request).await {
        Ok(ApprovalVerdict::Waits) => Ok(AskedCall { pending, token }),
        Ok(ApprovalVerdict::Full(limit)) => {
            let error = too_many(&policy.approvals, limit);
            Err(Box::new(call.responses().fail(error)))
        }
        Ok(ApprovalVerdict::Inactive) => {
            let mut response = call.responses().fail(session_over());
            response.optional_meta().session_is_lost = session.is_lost();
            Err(Box::new(response))
        }
        Err(error) => Err(Box::new(not_asked(call, &error))),
    }
}

/// Answers a call for which no person can be asked, as the store is down.
fn not_asked(call: &GovernedCall<'_>, error: &StoreError) -> ToolResponse {
    let session = call.session.id.as_str().escape_debug();
    tracing::error!(%session, %error, "failed to keep a call for approval");
    let message = "a person has to approve this, and cannot be asked at the moment; nothing was done. Try again later";
    call.responses().fail(ToolError::transient(message))
}

/// Returns the time at which a call that waits expires, in seconds.
fn expiry_text(pending: &PendingCall) -> String {
    let milliseconds = i64::try_from(pending.expires_at).unwrap_or(i64::MAX);
    let expires = jiff::Timestamp::from_millisecond(milliseconds).unwrap_or(jiff::Timestamp::MAX);
    format!("{expires:.0}")
}

/// Returns the error of a call that finds too many others waiting for approval.
#[cold]
pub(crate) fn too_many(limits: &ApprovalLimits, limit: ApprovalLimit) -> ToolError {
    let waiting = match limit {
        ApprovalLimit::Session => format!("{} calls wait", limits.session),
        ApprovalLimit::Turn => format!("{} calls of this turn wait", limits.turn),
        ApprovalLimit::Bytes => format!("the calls that wait take up to {} bytes", limits.bytes),
    };
    let message = format!(
        "budget exceeded: {waiting} for a person's approval, which is the limit; this call was not requested, and \
         nothing was done. Call it again after the person has decided some of the others."
    );
    ToolError::new(ErrorKind::BudgetExceeded, message, false)
}

/// Returns the approvals that a response waits for, with all that a person must see.
pub(crate) async fn wanted_approvals(
    session: &SessionInner,
    response: &ToolResponse,
) -> Vec<ApprovalWanted> {
    let mut wanted = Vec::new();
    for confirmation in response.meta().confirmations() {
        let pending = pending_call(session, &confirmation.token).await;
        // Without the store, the summary is all that is known.
        let payload = pending.map_or_else(
            |_| confirmation.summary.clone(),
            |pending| pending.payload(),
        );
        wanted.push(ApprovalWanted {
            call_id: response.meta().call_id().unwrap_or_default().to_owned(),
            payload,
            confirmation: confirmation.clone(),
        });
    }
    wanted
}
