//! Approval of calls by the client's user, through elicitation.
//!
//! Up to revision 2025-11-25 the client gets an `elicitation/create` request. From 2026-07-28 on the call is answered
//! `input_required`, and the client repeats it with the user's answer and a random `requestState`. The approval token
//! never leaves the process.

use crate::mcp::server::session::{
    McpResult, PendingCall, ServerContext, ServerState, client, is_stateless, random_id,
};
use crate::mcp::server::tools::complete;
use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelledNotificationParam, ClientResult, ContentBlock,
    ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, InputRequest,
    InputRequests, InputRequiredResult, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, ServiceError};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;
use tool_core::call::Confirmation;
use tool_core::{Session, ToolResponse, time};

/// The name of the question in `inputRequests`.
const QUESTION: &str = "confirm";

/// Asks the client's user to approve a call. Denies the call if the client does not support elicitation by form.
pub(crate) async fn request(
    state: &ServerState,
    call: &CallToolRequestParams,
    (session, tool, confirmation): (&Session, &str, &Confirmation),
    context: &ServerContext,
) -> McpResult<CallToolResponse> {
    let supports_form = context.client_capabilities().and_then(|can| can.elicitation).is_some_and(|elicitation| {
        // A client that names neither form nor URL supports forms.
        elicitation.form.is_some() || elicitation.url.is_none()
    });
    let token = &confirmation.token;
    if !supports_form {
        // The session's own answer says that the user is being asked, so it cannot be sent here.
        session.deny(token).await;
        return Ok(CallToolResponse::Complete(no_elicitation(tool)));
    }
    let timeout = state.settings.confirm_timeout;
    if is_stateless(context) {
        let pending = PendingCall {
            session: session.clone(),
            client: client(context),
            name: call.name.to_string(),
            arguments: call.arguments.clone(),
            tool: tool.to_owned(),
            token: token.clone(),
            summary: confirmation.summary.clone(),
            expires: time::after(Instant::now(), timeout),
        };
        return require_input(state, pending);
    }
    let action = ask(&confirmation.summary, timeout, context).await;
    let action = action.inspect_err(|error| tracing::debug!(%error, "failed to ask the client's user")).ok();
    let response = decide(session, token, action).await;
    Ok(complete(session, tool, &response))
}

/// Sends the question and waits for the answer. Withdraws the question if the client cancels the call.
async fn ask(summary: &str, timeout: Duration, context: &ServerContext) -> Result<ElicitationAction, ServiceError> {
    let question = ServerRequest::ElicitRequest(ElicitRequest::new(form(summary)));
    let sent = context.peer.send_request_with_option(question, PeerRequestOptions::with_timeout(timeout)).await?;
    let (peer, id) = (sent.peer.clone(), sent.id.clone());
    tokio::select! {
        answer = sent.await_response() => match answer? {
            ClientResult::ElicitResult(answer) => Ok(answer.action),
            _ => Err(ServiceError::UnexpectedResponse),
        },
        () = context.ct.cancelled() => {
            let reason = Some("the call was cancelled".to_owned());
            peer.notify_cancelled(CancelledNotificationParam::new(Some(id), reason)).await?;
            Ok(ElicitationAction::Cancel)
        }
    }
}

/// Continues a call that the client repeats with the user's answer.
pub(crate) async fn resume(
    state: &ServerState,
    call: CallToolRequestParams,
    context: &ServerContext,
) -> McpResult<CallToolResponse> {
    let request_state = call.request_state.unwrap_or_default();
    let pending = state.pending.remove(&request_state, &client(context)).ok_or_else(no_pending_call)?;
    let is_same = pending.name == call.name
        && pending.arguments.clone().unwrap_or_default() == call.arguments.unwrap_or_default();
    if !is_same || pending.expires <= Instant::now() {
        // The user was not asked about this call. Neither it nor the pending one may run.
        pending.session.deny(&pending.token).await;
        return Err(no_pending_call());
    }
    let Some(answer) = call.input_responses.and_then(|mut answers| answers.remove(QUESTION)) else {
        return require_input(state, pending);
    };
    let answer = serde_json::from_value::<ElicitResult>(answer)
        .map_err(|_| ErrorData::invalid_params("expected `inputResponses.confirm` to be an elicitation result", None));
    let action = answer.as_ref().ok().map(|answer| answer.action.clone());
    let response = decide(&pending.session, &pending.token, action).await;
    let result = complete(&pending.session, &pending.tool, &response);
    answer.map(|_| result)
}

/// Approves the call if the user accepted. Denies it in all other cases.
async fn decide(session: &Session, token: &str, action: Option<ElicitationAction>) -> ToolResponse {
    match action {
        Some(ElicitationAction::Accept) => session.approve(token).await,
        _ => session.deny(token).await,
    }
}

/// Answers `input_required`, with the question and a new `requestState`.
fn require_input(state: &ServerState, pending: PendingCall) -> McpResult<CallToolResponse> {
    let request_state = random_id()?;
    let question = InputRequest::Elicitation(ElicitRequest::new(form(&pending.summary)));
    if !state.pending.insert(request_state.clone(), pending) {
        return Err(ErrorData::internal_error("too many calls wait for confirmation; try again later", None));
    }
    let questions = InputRequests::from([(QUESTION.to_owned(), question)]);
    Ok(CallToolResponse::InputRequired(InputRequiredResult::new(Some(questions), Some(request_state))))
}

/// Returns a form without fields. Accepting it is the approval.
fn form(summary: &str) -> ElicitRequestParams {
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: format!("Allow this call?\n\n{summary}"),
        requested_schema: ElicitationSchema::new(BTreeMap::new()),
    }
}

fn no_elicitation(tool: &str) -> CallToolResult {
    let message = format!(
        "`{tool}` needs the user's approval, but this client cannot ask the user: it does not support elicitation by \
         form. The user was not asked, and the tool was not run. Do not call it again with this client."
    );
    CallToolResult::error(vec![ContentBlock::text(message)])
}

fn no_pending_call() -> ErrorData {
    let message = "no call is pending under this `requestState`: it was used before, has expired, or belongs to another call; repeat the call without it";
    ErrorData::invalid_params(message, None)
}
