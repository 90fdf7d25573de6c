//! Questions to the client's user, through `elicitation/create`.

use crate::mcp::server::session::ServerContext;
use futures_util::future::BoxFuture;
use rmcp::RoleServer;
use rmcp::model::{
    CancelledNotificationParam, ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
    RequestId, ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, ServiceError};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::SetOnce;
use tool_core::call::{Answer, AskError, Question, QuestionHandler};

/// Returns true if the client shows forms to its user.
pub(crate) fn shows_forms(context: &ServerContext) -> bool {
    context.client_capabilities().and_then(|can| can.elicitation).is_some_and(|elicitation| {
        // A client that names neither form nor URL supports forms.
        elicitation.form.is_some() || elicitation.url.is_none()
    })
}

/// Sends a question and waits for the answer. Dropped before it, withdraws the question.
pub(crate) async fn elicit(
    peer: &Peer<RoleServer>,
    question: ElicitRequestParams,
    timeout: Option<Duration>,
) -> Result<ElicitResult, ServiceError> {
    let options = timeout.map_or_else(PeerRequestOptions::no_options, PeerRequestOptions::with_timeout);
    let question = ServerRequest::ElicitRequest(ElicitRequest::new(question));
    let sent = peer.send_request_with_option(question, options).await?;
    let mut withdrawal = Withdrawal(Some((sent.peer.clone(), sent.id.clone())));
    let answer = sent.await_response().await;
    withdrawal.0 = None;
    match answer? {
        ClientResult::ElicitResult(answer) => Ok(answer),
        _ => Err(ServiceError::UnexpectedResponse),
    }
}

/// Tells the client that its user need not answer any more, if it is dropped before the answer.
struct Withdrawal(Option<(Peer<RoleServer>, RequestId)>);

impl Drop for Withdrawal {
    fn drop(&mut self) {
        let Some(((peer, id), runtime)) = self.0.take().zip(Handle::try_current().ok()) else { return };
        runtime.spawn(async move {
            let reason = Some("the call that asked has ended".to_owned());
            if let Err(error) = peer.notify_cancelled(CancelledNotificationParam::new(Some(id), reason)).await {
                tracing::debug!(%error, "failed to withdraw a question");
            }
        });
    }
}

/// The connection over which the tools of one call ask the client's user, once the call knows it.
pub(crate) type QuestionPeer = Arc<SetOnce<Peer<RoleServer>>>;

/// Answers the questions of one call.
pub(crate) struct Elicitation(pub(crate) QuestionPeer);

impl QuestionHandler for Elicitation {
    fn ask(&self, question: Question) -> BoxFuture<'static, Result<Answer<Value>, AskError>> {
        let peer = Arc::clone(&self.0);
        Box::pin(async move { ask(peer.wait().await, question).await })
    }
}

/// Asks the client's user. The session bounds the time.
async fn ask(peer: &Peer<RoleServer>, question: Question) -> Result<Answer<Value>, AskError> {
    let params = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: question.message,
        requested_schema: serde_json::from_value(question.schema).map_err(AskError::failed)?,
    };
    let answer = elicit(peer, params, None).await.map_err(AskError::failed)?;
    Ok(match answer.action {
        ElicitationAction::Accept => Answer::Accepted(answer.content.unwrap_or_else(|| json!({}))),
        ElicitationAction::Decline => Answer::Declined,
        // `ElicitationAction` is non-exhaustive.
        _ => Answer::Cancelled,
    })
}

/// Answers the questions of calls whose client cannot be asked.
pub(crate) async fn unavailable(_: Question) -> Result<Answer<Value>, AskError> {
    let reason = "this MCP client cannot ask its user in the middle of a call: it does not support elicitation by form, or \
                  speaks revision 2026-07-28 or later";
    Err(AskError::Unavailable(reason.to_owned()))
}
