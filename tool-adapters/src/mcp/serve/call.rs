//! `tools/call`: one call, through the session.

use super::connection::Connection;
use super::progress::Teller;
use super::{answer, confirm, list};
use rmcp::model::{CallToolRequestParams, CallToolResponse};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use std::pin::pin;
use tool_core::{ErrorKind, Session, ToolCall, ToolResponse};

pub(super) async fn run(
    connection: &Connection,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let session = connection.conversation.session(connection.shared.client(context)).await?;
    let _under_way = connection.conversation.begin(session).await;
    let wire = &*request.name;
    let tool = list::named(session, wire).unwrap_or_else(|| wire.to_owned());
    let arguments = serde_json::Value::Object(request.arguments.clone().unwrap_or_default());
    let call = ToolCall::new(connection.conversation.call_id(), &tool, arguments);
    let response = made(session, call, context).await;
    if is_unknown(session, &tool, &response) {
        let message = response.error().map_or_else(String::new, |error| error.message.clone());
        return Err(ErrorData::invalid_params(message, None));
    }
    match response.meta().confirmation() {
        Some(confirmation) => confirm::ask(connection, session, &request, &tool, confirmation, context).await,
        None => Ok(complete(session, &tool, &response)),
    }
}

/// The result of a call of `tool`.
pub(super) fn complete(session: &Session, tool: &str, response: &ToolResponse) -> CallToolResponse {
    CallToolResponse::Complete(answer::of(response, list::output(session.tools(), tool)))
}

/// Makes the call: its updates are told while it runs, and it is cancelled when the client says so.
async fn made(session: &Session, call: ToolCall, context: &RequestContext<RoleServer>) -> ToolResponse {
    let id = call.id().to_owned();
    let (call, mut teller) = Teller::of(call, context.meta.get_progress_token(), context.peer.clone());
    let mut running = pin!(session.call(call));
    let mut cancelled = false;
    let response = loop {
        tokio::select! {
            biased;
            response = &mut running => break response,
            () = context.ct.cancelled(), if !cancelled => {
                cancelled = true;
                session.cancel(&id);
            }
            () = teller.next() => {}
        }
    };
    teller.rest().await;
    response
}

/// Whether there is no such tool, which the protocol tells apart from a tool that does not find something. L19
fn is_unknown(session: &Session, tool: &str, response: &ToolResponse) -> bool {
    response.error().is_some_and(|error| error.kind == ErrorKind::NotFound)
        && !list::visible(session).iter().any(|known| known.name() == tool)
}
