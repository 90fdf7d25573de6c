//! Approval of calls by the client's user, through elicitation.
//!
//! Up to revision 2025-11-25 the client gets an `elicitation/create` request. From 2026-07-28 on
//! the call is answered `input_required`, and the client repeats it with the user's answer and the
//! `requestState`: an alias of the approval token, by which any process that serves the client
//! finds the call in the session's store, and a digest of the request. The token itself never
//! leaves the process.

use crate::server::client_requests::{Capabilities, Capability, elicit};
use crate::server::session::{ClientSession, McpResult, ServerContext, ServerState, is_stateless};
use crate::server::tools::complete;
use crate::server::unclaimed::AwaitedCall;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ElicitRequest,
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, InputRequest,
    InputRequests, InputRequiredResult, InputResponses,
};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use tokio::sync::oneshot;
use tokio::time::sleep;
use tool_core::call::Confirmation;
use tool_core::text::hex;
use tool_core::{CancellationToken, ErrorKind, Session, ToolError, ToolResponse};

/// A request that its client repeats with answers.
pub(crate) struct RepeatedRequest {
    pub(crate) state: String,
    pub(crate) answers: Option<InputResponses>,
    /// The digest of what the request asks for.
    pub(crate) digest: String,
}

impl RepeatedRequest {
    /// Returns the alias of the approval token in the state.
    pub(crate) fn alias(&self) -> &str {
        self.state
            .split_once(SEPARATOR)
            .map_or("", |(alias, _)| alias)
    }
}

/// The name of the question in `inputRequests`.
const QUESTION: &str = "confirm";
/// Separates the alias from the digest in a `requestState`.
const SEPARATOR: char = '-';

/// Asks the client's user to approve a call, and waits for the host where it approves calls. Denies
/// the call if neither decides. Returns the call to run, or the answer to the request.
pub(crate) async fn request(
    state: &ServerState,
    call: &CallToolRequestParams,
    (client, mut awaited): (&ClientSession, AwaitedCall),
    context: &ServerContext,
) -> McpResult<ControlFlow<CallToolResponse, ApprovedCall>> {
    let answer = |response| Ok(ControlFlow::Break(response));
    let has_forms = Capabilities::of(context.client_capabilities()).has(Capability::Forms);
    let token = awaited.confirmation.token.clone();
    let question = awaited.confirmation.question();
    let session = awaited.session.clone();
    let tool = awaited.tool.clone();
    let complete = |outcome: Option<ToolResponse>| {
        let result = outcome.map_or_else(
            || ended(&tool),
            |response| complete(&session, &tool, &response).into(),
        );
        answer(CallToolResponse::Complete(result))
    };
    if !has_forms && state.settings.host_approval.is_none() {
        // The session's own answer says that the user is being asked, so it cannot be sent here.
        session.deny_undecided(&token).await;
        return answer(CallToolResponse::Complete(no_elicitation(&tool)));
    }
    if has_forms && is_stateless(context) {
        if state.settings.host_approval.is_some() {
            match (&mut awaited.outcome).now_or_never() {
                Some(outcome) => return complete(outcome),
                None => keep(client, digest_of_call(call), awaited).await,
            }
        }
        let alias = session.token_alias(&token).unwrap_or_default();
        let request_state = format!("{alias}{SEPARATOR}{}", digest_of_call(call));
        return answer(require_input(request_state, requests(form(question))).into());
    }
    let asking = async {
        if has_forms {
            let answered = elicit(
                context,
                form(question),
                Some(state.settings.confirm_timeout),
            )
            .await;
            answered
                .inspect_err(|error| tracing::debug!(%error, "failed to ask the client's user"))
                .ok()
        } else {
            sleep(state.settings.host_approval.unwrap_or_default()).await;
            None
        }
    };
    let action = tokio::select! {
        biased;
        outcome = &mut awaited.outcome, if state.settings.host_approval.is_some() => {
            return complete(outcome);
        }
        () = state.runtime.drain_begun() => {
            return answer(CallToolResponse::Complete(stays(&tool)));
        }
        answered = context.ct.run_until_cancelled(asking) => answered.flatten().map(|answered| answered.action),
    };
    if context.ct.is_cancelled() && state.runtime.is_draining() {
        return answer(CallToolResponse::Complete(stays(&tool)));
    }
    if !has_forms && !context.ct.is_cancelled() && !client.is_anonymous {
        keep(client, digest_of_call(call), awaited).await;
        return answer(CallToolResponse::Complete(waits(&tool)));
    }
    if action == Some(ElicitationAction::Accept) {
        let is_shared = state.settings.host_approval.is_some();
        return Ok(ControlFlow::Continue(ApprovedCall {
            token,
            tool,
            outcome: is_shared.then_some(awaited.outcome),
        }));
    }
    let response = deny(&session, &token, action).await;
    if !is_late(&response) || state.settings.host_approval.is_none() {
        if !has_forms && !context.ct.is_cancelled() {
            return answer(CallToolResponse::Complete(no_identity(&tool)));
        }
        return complete(Some(response));
    }
    // The host was first.
    if context.ct.is_cancelled() {
        keep(client, digest_of_call(call), awaited).await;
        return complete(Some(response));
    }
    answer(outcome(awaited).await)
}

/// Returns true for the response to a decision on a call that no longer waits. A tool that has not
/// found something gives the same.
pub(crate) fn is_late(response: &ToolResponse) -> bool {
    response
        .error()
        .is_some_and(|error| error.kind == ErrorKind::NotFound)
}

/// Returns true for the response to a decision that reached no call, not even a tool's own error.
pub(crate) fn reached_no_call(response: &ToolResponse) -> bool {
    is_late(response) && response.meta().tool().is_empty()
}

/// Keeps a call until its client repeats it.
pub(crate) async fn keep(client: &ClientSession, digest: String, awaited: AwaitedCall) {
    if let Some(oldest) = client
        .unclaimed
        .get_or_init(Box::default)
        .keep(digest, awaited)
    {
        oldest
            .session
            .deny_undecided(&oldest.confirmation.token)
            .await;
    }
}

/// Waits for the host's decision.
pub(crate) async fn outcome(awaited: AwaitedCall) -> CallToolResponse {
    let AwaitedCall {
        session,
        tool,
        outcome,
        ..
    } = awaited;
    let result = outcome.await.map_or_else(
        || ended(&tool),
        |response| complete(&session, &tool, &response).into(),
    );
    CallToolResponse::Complete(result)
}

/// A call that the client's user has approved. It has not run.
pub(crate) struct ApprovedCall {
    pub(crate) token: String,
    pub(crate) tool: String,
    /// The response if the host decides on the call first. `None` if it approves no calls.
    pub(crate) outcome: Option<BoxFuture<'static, Option<ToolResponse>>>,
}

/// Reads the user's answer to a call that the client repeats with it. Returns the call to run, or
/// the answer to the request.
pub(crate) async fn resume(
    session: &Session,
    repeated: RepeatedRequest,
) -> McpResult<ControlFlow<CallToolResponse, ApprovedCall>> {
    let RepeatedRequest {
        state,
        answers,
        digest,
    } = repeated;
    let (alias, asked) = state.split_once(SEPARATOR).ok_or_else(no_pending_call)?;
    let token = session
        .token_for_alias(alias)
        .await
        .map_err(|error| not_found(&error))?;
    let pending = session
        .pending_call(&token)
        .await
        .map_err(|error| not_found(&error))?;
    if asked != digest {
        // The user was not asked about this call. Neither it nor the pending one may run.
        session.deny_undecided(&token).await;
        return Err(no_pending_call());
    }
    let Some(answer) = answers.and_then(|mut answers| answers.remove(QUESTION)) else {
        let asked = requests(form(pending.question()));
        return Ok(ControlFlow::Break(require_input(state, asked).into()));
    };
    let answer = serde_json::from_value::<ElicitResult>(answer).map_err(|_| {
        ErrorData::invalid_params(
            "expected `inputResponses.confirm` to be an elicitation result",
            None,
        )
    });
    if answer
        .as_ref()
        .is_ok_and(|answer| answer.action == ElicitationAction::Accept)
    {
        return Ok(ControlFlow::Continue(ApprovedCall {
            token,
            tool: pending.tool,
            outcome: None,
        }));
    }
    let action = answer.as_ref().ok().map(|answer| answer.action.clone());
    let response = deny(session, &token, action).await;
    if reached_no_call(&response) {
        return Err(no_pending_call());
    }
    let result = CallToolResponse::Complete(complete(session, &pending.tool, &response).into());
    answer.map(|_| ControlFlow::Break(result))
}

/// Asks the client's user to approve a call that goes on as a task. Returns the call to run, or the
/// response of a call that is denied, also because its task is cancelled.
pub(crate) async fn request_in_task(
    (session, shows_forms): (&Session, bool),
    confirmation: &Confirmation,
    ask: impl FnOnce(InputRequest) -> oneshot::Receiver<Value>,
    cancel: &CancellationToken,
) -> ControlFlow<ToolResponse, ApprovedCall> {
    let action = if shows_forms {
        let question = form(confirmation.question());
        let answer = cancel
            .run_until_cancelled(ask(InputRequest::Elicitation(ElicitRequest::new(question))))
            .await;
        let answer = answer
            .and_then(Result::ok)
            .and_then(|answer| serde_json::from_value::<ElicitResult>(answer).ok());
        answer.map(|answer| answer.action)
    } else {
        None
    };
    if action == Some(ElicitationAction::Accept) {
        return ControlFlow::Continue(ApprovedCall {
            token: confirmation.token.clone(),
            tool: confirmation.tool.clone(),
            outcome: None,
        });
    }
    ControlFlow::Break(deny(session, &confirmation.token, action).await)
}

/// Denies the calls of a tool that wait for approval, because the tool has ended and the user would
/// be asked about calls whose results reach no one.
pub(crate) async fn deny_nested(session: &Session, response: &ToolResponse) {
    for confirmation in response.meta().nested_confirmations() {
        session.deny_undecided(&confirmation.token).await;
    }
}

/// Returns the digest of a request's tool and arguments, which a repeated request has too, in any
/// order.
pub(crate) fn digest_of_call(call: &CallToolRequestParams) -> String {
    let mut arguments = Value::Object(call.arguments.clone().unwrap_or_default());
    arguments.sort_all_objects();
    digest(&(&call.name, arguments))
}

/// Returns the digest of what a request asks for.
pub(crate) fn digest(asked_for: &impl Serialize) -> String {
    hex(&Sha256::digest(
        serde_json::to_string(asked_for).unwrap_or_default(),
    ))
}

fn not_found(error: &ToolError) -> ErrorData {
    match error.kind() {
        ErrorKind::NotFound => no_pending_call(),
        _ => ErrorData::internal_error(error.message().to_owned(), None),
    }
}

/// Denies the call that the user has not accepted.
async fn deny(session: &Session, token: &str, action: Option<ElicitationAction>) -> ToolResponse {
    match action {
        Some(ElicitationAction::Decline) => session.deny(token).await,
        _ => session.deny_undecided(token).await,
    }
}

/// Answers `input_required`, with requests to the client.
pub(crate) fn require_input(request_state: String, requests: InputRequests) -> InputRequiredResult {
    InputRequiredResult::new(Some(requests), Some(request_state))
}

fn requests(question: ElicitRequestParams) -> InputRequests {
    InputRequests::from([(
        QUESTION.to_owned(),
        InputRequest::Elicitation(ElicitRequest::new(question)),
    )])
}

/// Returns the question: a form without fields. Accepting it is the approval.
fn form(question: String) -> ElicitRequestParams {
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: question,
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

/// Answers a call that waits on for the host's approval.
fn waits(tool: &str) -> CallToolResult {
    let message = format!(
        "`{tool}` waits for the approval of an operator, and has not run. Call it again with the same arguments to wait on: that call \
         gets the result, and the tool runs once."
    );
    CallToolResult::error(vec![ContentBlock::text(message)])
}

/// Answers a call that waits for approval in the store of its session while this process ends.
fn stays(tool: &str) -> CallToolResult {
    let message = format!(
        "`{tool}` waits for approval, and has not run. This server is about to end: call it again in a moment."
    );
    CallToolResult::error(vec![ContentBlock::text(message)])
}

/// Answers a call that the host has not decided on, of a client whose repetition cannot be told
/// from the call of another.
fn no_identity(tool: &str) -> CallToolResult {
    let message = format!(
        "no operator has approved this call of `{tool}` in time, so it is denied, and was not run. It cannot wait on, because this client \
         sends no token by which the server knows it again."
    );
    CallToolResult::error(vec![ContentBlock::text(message)])
}

/// Answers a call whose approval has ended without a response.
pub(crate) fn ended(tool: &str) -> CallToolResult {
    let message = format!(
        "the approval of this call of `{tool}` has ended without a result: it has expired, or the operator has given it up while it ran"
    );
    CallToolResult::error(vec![ContentBlock::text(message)])
}

pub(crate) fn no_pending_call() -> ErrorData {
    let message = "no call is pending under this `requestState`: it was used before, has expired, or belongs to another call; repeat the call without it";
    ErrorData::invalid_params(message, None)
}
