//! Questions to the client's user: by `elicitation/create`, or from revision 2026-07-28 on by the answer to a request.

use crate::mcp::send_on_drop::SendOnDrop;
use futures_util::future::BoxFuture;
use rmcp::RoleServer;
use rmcp::model::{
    CancelledNotificationParam, ClientCapabilities, ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult,
    ElicitationAction, ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, ServiceError};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{SetOnce, mpsc, oneshot};
use tool_core::CancellationToken;
use tool_core::call::{Answer, AskError, Question, RequestHandler};

/// Returns true if a client shows forms to its user.
pub(crate) fn shows_forms(client: Option<ClientCapabilities>) -> bool {
    client.and_then(|can| can.elicitation).is_some_and(|elicitation| {
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
    let (peer, id) = (sent.peer.clone(), sent.id.clone());
    let mut withdrawal = SendOnDrop::new(async move {
        let reason = Some("the call that asked has ended".to_owned());
        if let Err(error) = peer.notify_cancelled(CancelledNotificationParam::new(Some(id), reason)).await {
            tracing::debug!(%error, "failed to withdraw a question");
        }
    });
    let answer = sent.await_response().await;
    withdrawal.disarm();
    match answer? {
        ClientResult::ElicitResult(answer) => Ok(answer),
        _ => Err(ServiceError::UnexpectedResponse),
    }
}

/// The way of a call's questions to the client's user.
pub(crate) enum QuestionRoute {
    /// By requests to the client.
    Requests(Peer<RoleServer>),
    /// By the answer to the call's own request, which the client repeats.
    Repeats(mpsc::Sender<AskedQuestion>),
    /// The client shows no forms.
    None,
}

/// A question that the answer to its call's request carries.
pub(crate) struct AskedQuestion {
    pub(crate) params: ElicitRequestParams,
    pub(crate) answer: oneshot::Sender<ElicitResult>,
    /// Cancelled when the question is answered, or no longer waits.
    pub(crate) over: CancellationToken,
}

/// Answers the questions of one call, once the call knows the way.
pub(crate) struct Elicitation(pub(crate) Arc<SetOnce<QuestionRoute>>);

impl RequestHandler<Question> for Elicitation {
    fn ask(&self, question: Question) -> BoxFuture<'static, Result<Answer<Value>, AskError>> {
        let route = Arc::clone(&self.0);
        Box::pin(async move { ask(route.wait().await, question).await })
    }
}

/// Asks the client's user. The session bounds the time.
async fn ask(route: &QuestionRoute, question: Question) -> Result<Answer<Value>, AskError> {
    if question.url.is_some() {
        // As a form without fields, it would hide the address to which the user agrees.
        return Err(AskError::Unavailable("this MCP server sends its clients' users to no pages".to_owned()));
    }
    let params = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: question.message.clone(),
        requested_schema: serde_json::from_value(question.schema.clone()).map_err(AskError::failed)?,
    };
    let answer = match route {
        QuestionRoute::Requests(peer) => elicit(peer, params, None).await.map_err(AskError::failed)?,
        QuestionRoute::Repeats(questions) => repeated(questions, params).await?,
        QuestionRoute::None => return unavailable(question).await,
    };
    Ok(match answer.action {
        ElicitationAction::Accept => Answer::Accepted(answer.content.unwrap_or_else(|| json!({}))),
        ElicitationAction::Decline => Answer::Declined,
        // `ElicitationAction` is non-exhaustive.
        _ => Answer::Cancelled,
    })
}

/// Waits for the answer that a repeated request brings.
async fn repeated(
    questions: &mpsc::Sender<AskedQuestion>,
    params: ElicitRequestParams,
) -> Result<ElicitResult, AskError> {
    let over = CancellationToken::new();
    let _over = over.clone().drop_guard();
    let (answer, answered) = oneshot::channel();
    questions.send(AskedQuestion { params, answer, over }).await.map_err(|_| AskError::Ended)?;
    answered.await.map_err(|_| AskError::Ended)
}

/// Answers the questions of calls whose client cannot be asked.
pub(crate) async fn unavailable(_: Question) -> Result<Answer<Value>, AskError> {
    let reason = "this MCP client cannot ask its user, as it does not support elicitation by form";
    Err(AskError::Unavailable(reason.to_owned()))
}
