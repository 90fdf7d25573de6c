//! One `tools/call` request: it takes the trace along, its span knows it by its id, and it is taken back when nobody
//! waits for it any longer.

use super::remote::Remote;
use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResponse, CancelledNotificationParam, ClientRequest, RequestId,
    RequestParamsMeta, ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, ServiceError};
use tool_core::trace;

/// The baggage has the run and the customer.
const BAGGAGE: &str = "baggage";

pub(super) async fn send(remote: &Remote, mut params: CallToolRequestParams) -> Result<CallToolResponse, ServiceError> {
    for (name, value) in trace::export().to_pairs() {
        if name != BAGGAGE || remote.shares_baggage() {
            params.meta_or_default().insert(name.to_owned(), value.into());
        }
    }
    let peer = remote.peer();
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    let sent = peer.send_request_with_option(request, PeerRequestOptions::no_options()).await?;
    describe(remote, &sent.id);
    let mut waiting = Waiting { peer, id: Some(sent.id.clone()) };
    let answer = sent.await_response().await;
    waiting.id = None;
    match answer? {
        ServerResult::CallToolResult(result) => Ok(CallToolResponse::Complete(result)),
        ServerResult::InputRequiredResult(result) => Ok(CallToolResponse::InputRequired(result)),
        ServerResult::CreateTaskResult(result) => Ok(CallToolResponse::Task(result)),
        _ => Err(ServiceError::UnexpectedResponse),
    }
}

/// Says on the span of the call what request it is, in place of a second span.
fn describe(remote: &Remote, id: &RequestId) {
    trace::attribute("mcp.method.name", "tools/call");
    trace::attribute("jsonrpc.request.id", id.to_string());
    if let Some(info) = remote.peer().peer_info() {
        trace::attribute("mcp.protocol.version", info.protocol_version.as_str());
    }
    if let Some(transport) = remote.transport() {
        trace::attribute("network.transport", transport);
    }
}

/// Tells the server when it is dropped before there is an answer.
struct Waiting<'a> {
    peer: &'a Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let peer = self.peer.clone();
            let why = Some("nobody waits for it any longer".to_owned());
            runtime.spawn(async move {
                if let Err(error) = peer.notify_cancelled(CancelledNotificationParam::new(Some(id), why)).await {
                    tracing::debug!(%error, "a server could not be told that a call is taken back");
                }
            });
        }
    }
}
