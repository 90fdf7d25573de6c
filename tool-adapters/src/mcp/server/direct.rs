//! Calls over HTTP that are answered at once.
//!
//! rmcp serves a request by four tasks and a stream of events, so that a client can lose its connection, cancel the request and
//! be asked. A call whose tool returns without waiting needs none of it. Such a call is made on the task of its connection and
//! answered with one JSON message, which every revision of the protocol allows. If the tool waits, or its call needs an
//! approval, rmcp's handler takes the call over as it is. Requests that are unusual in any respect go to rmcp, which checks them.

use crate::mcp::server::client::Client;
use crate::mcp::server::connection::Connection;
use crate::mcp::server::tools;
use axum::http::HeaderMap;
use axum::http::header::{self, AsHeaderName};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, GetMeta, ProtocolVersion, RequestMetaObject, ServerJsonRpcMessage,
    ServerResult,
};
use tool_core::trace;

pub(crate) const SESSION_HEADER: &str = "mcp-session-id";
pub(crate) const REVISION_HEADER: &str = "mcp-protocol-version";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// Answers a message that is a call whose tool returns without waiting. Adds the call to the request if the tool waits.
pub(crate) fn answer(
    connection: &Connection,
    client: &Client,
    message: &ClientJsonRpcMessage,
    parts: &mut Parts,
) -> Option<Response> {
    let ClientJsonRpcMessage::Request(message) = message else { return None };
    let ClientRequest::CallToolRequest(request) = &message.request else { return None };
    let (id, meta, params) = (&message.id, message.request.get_meta(), &request.params);
    let revision = revision(connection, &params.name, meta, &parts.headers)?;
    let is_repeated = params.request_state.is_some() || params.input_responses.is_some();
    let is_notified = meta.contains_key("progressToken") || meta.contains_key(LOG_LEVEL) || connection.takes_log();
    if is_repeated || is_notified || !are_json_and_events_accepted(&parts.headers) {
        return None;
    }
    if connection.may_be_task(&params.name) {
        return None;
    }
    let mut call = connection.begin_at_once(client, params)?;
    let attributes = || connection.attributes(id, Some(revision), Some(parts));
    let work = trace::import(connection.parent(meta), trace::attributed(attributes, &mut call.asking.response));
    let response = work.now_or_never();
    let Some(response) = response.as_ref().filter(|response| response.meta().confirmations().next().is_none()) else {
        if let Some(response) = response {
            call.asking.response = Box::pin(std::future::ready(response));
        }
        call.hand_over(parts);
        return None;
    };
    let answer = match call.complete(response) {
        Ok(mut result) => {
            result.result_type.take_if(|_| *revision < ProtocolVersion::V_2026_07_28);
            ServerJsonRpcMessage::response(ServerResult::CallToolResult(result), id.clone())
        }
        Err(error) => ServerJsonRpcMessage::error(error, Some(id.clone())),
    };
    Some(axum::Json(answer).into_response())
}

/// Returns a header that has one value.
fn sole_header(headers: &HeaderMap, name: impl AsHeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none())?.to_str().ok()
}

/// Returns true if a request brings JSON, and takes both forms of an answer without ranking them.
fn are_json_and_events_accepted(headers: &HeaderMap) -> bool {
    let accepted = sole_header(headers, header::ACCEPT).filter(|accepted| !accepted.contains([';', '"']));
    let accepts = |kind| accepted.is_some_and(|accepted| accepted.split(',').any(|accepted| accepted.trim() == kind));
    sole_header(headers, header::CONTENT_TYPE) == Some("application/json")
        && accepts("application/json")
        && accepts("text/event-stream")
}

/// Returns the revision of a call, if its headers, its metadata and its session agree on it.
fn revision<'a>(
    connection: &'a Connection,
    tool: &str,
    meta: &RequestMetaObject,
    headers: &HeaderMap,
) -> Option<&'a ProtocolVersion> {
    let named = sole_header(headers, REVISION_HEADER);
    if headers.contains_key(SESSION_HEADER) {
        let revision = connection.revision.get()?;
        let agrees = meta.keys().all(|key| !key.starts_with("io.modelcontextprotocol/"));
        return (agrees && named == Some(revision.as_str())).then_some(revision);
    }
    let revision = &ProtocolVersion::V_2026_07_28;
    let agrees = named == Some(revision.as_str())
        && meta.protocol_version().as_ref() == Some(revision)
        && meta.missing_required_keys(revision).is_empty()
        && sole_header(headers, "mcp-method") == Some("tools/call")
        && sole_header(headers, "mcp-name") == Some(tool);
    (agrees && !tools::needs_headers(&connection.state.runtime.tools(), tool)).then_some(revision)
}
