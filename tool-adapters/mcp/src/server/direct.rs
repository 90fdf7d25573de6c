//! Calls that are answered without rmcp. Over HTTP so are the requests that open a session and list
//! its tools.
//!
//! rmcp hands a request from task to task, and serves it over HTTP by a stream of events, so that a
//! client can lose its connection and be asked. A call that is answered before anything else has to
//! reach its client needs none of it. It runs on one task, and over HTTP its answer is one JSON
//! message, which every revision of the protocol allows. When its tool reports progress or asks,
//! its call needs an approval, or it takes long, rmcp's handler takes the call over as it is.
//! Requests that are unusual in any respect go to rmcp, which checks them.

use crate::server::calls::CallUnderWay;
use crate::server::changes::Recipient;
use crate::server::client::{Client, Identity};
use crate::server::client_requests::Capabilities;
use crate::server::connection::Connection;
use crate::server::http_sessions::{HttpSessions, Opener, SessionError};
use crate::server::message::CallRequest;
use crate::server::ongoing_call::OngoingCall;
use crate::server::pages::PageRequest;
use crate::server::session_streams::SessionStreams;
use crate::server::{passed_on, tools};
use axum::body::Body;
use axum::http::header::{self, AsHeaderName};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, GetExtensions, GetMeta, InitializeRequestParams,
    ProtocolVersion, RequestId, RequestMetaObject, ServerJsonRpcMessage, ServerResult,
};
use rmcp::service::Peer;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tool_adapters_http::quota::Share;
use tool_core::ToolResponse;
use tool_core::trace::{self, DistributedContext};

/// The headers of the revision and of the session.
pub(crate) static REVISION_HEADER: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(crate) static SESSION_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");

/// The time after which a call over HTTP gets a stream, which can be requested again when its
/// connection is lost.
const STREAM_AFTER: Duration = Duration::from_secs(1);

/// Returns true if a call is neither a repeated one nor one that may become a task.
fn is_ordinary(connection: &Connection, call: &CallRequest) -> bool {
    let is_repeated = call.params.request_state.is_some() || call.params.input_responses.is_some();
    !is_repeated && !connection.may_be_task(&call.params.name)
}

/// Returns true if no metadata is of a revision without sessions.
fn is_of_session(meta: &RequestMetaObject) -> bool {
    meta.keys()
        .all(|key| !key.starts_with("io.modelcontextprotocol/"))
}

/// Returns the text that answers a call, or `None` if it has to be approved first.
fn answered(
    call: &OngoingCall,
    response: &ToolResponse,
    id: &RequestId,
    revision: &ProtocolVersion,
) -> Option<String> {
    if response.meta().confirmations().next().is_some() {
        return None;
    }
    match call.complete(response) {
        Ok(call) => {
            let result = call.to_json(*revision >= ProtocolVersion::V_2026_07_28);
            passed_on::message(id, &result)
        }
        Err(error) => {
            serde_json::to_string(&ServerJsonRpcMessage::error(error, Some(id.clone()))).ok()
        }
    }
}

/// Returns an answer over HTTP.
fn json_response(text: String) -> Response {
    (
        [(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        )],
        text,
    )
        .into_response()
}

/// Answers a call over HTTP. Adds the call to the request if rmcp has to take it over.
pub(crate) async fn answer(
    connection: &Connection,
    client: &Client,
    request: &CallRequest,
    under_way: Option<&Arc<CallUnderWay>>,
    (parts, buffered): (&mut Parts, &Arc<Share<Identity>>),
) -> Option<Response> {
    if !is_ordinary(connection, request) {
        return None;
    }
    let revision = revision(connection, request, &parts.headers)?;
    if !are_json_and_events_accepted(&parts.headers) {
        return None;
    }
    let has_sessions = *revision < ProtocolVersion::V_2026_07_28;
    let wanted = connection.wanted(&request.meta, !has_sessions);
    let cancellation = under_way.map(|call| call.cancellation());
    let cancellation = cancellation.unwrap_or_default();
    let call = connection.begin_at_once(client, &request.params, wanted, cancellation);
    if call.is_none() && has_sessions && Box::pin(connection.session.begin_due_turn()).await {
        return Some(unknown_session());
    }
    let mut held = HeldCall {
        call: Some(call?),
        ends_with_client: !has_sessions,
        under_way,
        buffered,
    };
    let attributes = || connection.attributes(&request.id, Some(revision), Some(parts));
    let parent = connection.parent(&request.meta);
    let response = held.response(parent, attributes).await;
    if under_way.is_some_and(|call| call.is_cancelled()) {
        // Without a response, the call is held until its record is written.
        if response.is_some() {
            drop(held.call.take());
        }
        return Some(end_without_answer());
    }
    let mut call = held.call.take()?;
    if let Some(response) = response {
        if response.meta().session_is_lost() {
            connection.lose(client, call.client_session(), &call.session);
            // Without a session of the protocol, the call begins in another one.
            return has_sessions.then(unknown_session);
        }
        if let Some(answer) = answered(&call, &response, &request.id, revision) {
            return Some(json_response(answer));
        }
        call.asking.response = Box::pin(std::future::ready(response));
    }
    parts.extensions.insert(call.hand_over());
    None
}

/// Returns the answer to a call that its client has cancelled.
fn end_without_answer() -> Response {
    let kind = [(header::CONTENT_TYPE, "text/event-stream")];
    (kind, Body::empty()).into_response()
}

/// Returns the answer to a request for a session that does not exist, has ended, belongs to another
/// client, or was lost by its store. It is the same for all of them.
pub(crate) fn unknown_session() -> Response {
    (StatusCode::NOT_FOUND, UNKNOWN_SESSION).into_response()
}

const UNKNOWN_SESSION: &str =
    "Not Found: this client has no such session; open one with `initialize`";

/// Returns the same answer as a message, for a request that cannot have a status of its own.
pub(crate) fn unknown_session_error(id: Option<RequestId>) -> String {
    let error = ServerJsonRpcMessage::error(ErrorData::invalid_request(UNKNOWN_SESSION, None), id);
    serde_json::to_string(&error).unwrap_or_default()
}

/// Answers a request over HTTP for the list of a session's tools.
pub(crate) fn list_tools(
    connection: &Connection,
    message: &ClientJsonRpcMessage,
    headers: &HeaderMap,
) -> Option<Response> {
    let ClientJsonRpcMessage::Request(message) = message else {
        return None;
    };
    let ClientRequest::ListToolsRequest(request) = &message.request else {
        return None;
    };
    let named =
        sole_header(headers, &REVISION_HEADER).filter(|_| headers.contains_key(&SESSION_HEADER))?;
    let agrees =
        connection.revision.get()?.as_str() == named && is_of_session(message.request.get_meta());
    if !agrees || !are_json_and_events_accepted(headers) {
        return None;
    }
    let session = connection.session.current()?;
    let id = message.id.clone();
    let params = request.params.as_ref();
    let page = PageRequest {
        cursor: params.and_then(|params| params.cursor.clone()),
        with_hints: false,
    };
    let answer = match tools::page(&session, &page) {
        Ok(page) => {
            let mut list = page.answer;
            list.result_type = None;
            let list = ServerResult::ListToolsResult(list);
            let result = passed_on::completed(&passed_on::list("tools", &page.tools), &list);
            return passed_on::message(&id, &result).map(json_response);
        }
        Err(error) => ServerJsonRpcMessage::error(error, Some(id)),
    };
    Some(axum::Json(answer).into_response())
}

/// Returns the parameters of a request over HTTP that opens a session, unless its headers or its
/// metadata are for rmcp to check.
pub(crate) fn opening<'a>(
    message: &'a ClientJsonRpcMessage,
    headers: &HeaderMap,
) -> Option<&'a InitializeRequestParams> {
    let ClientJsonRpcMessage::Request(message) = message else {
        return None;
    };
    let ClientRequest::InitializeRequest(request) = &message.request else {
        return None;
    };
    let is_checked = headers.contains_key(&REVISION_HEADER) || headers.contains_key("mcp-method");
    let is_usual = !is_checked
        && is_of_session(message.request.get_meta())
        && are_json_and_events_accepted(headers);
    is_usual.then_some(&request.params)
}

/// Opens a session, and answers the request that has this id.
pub(crate) async fn open(
    sessions: &HttpSessions,
    opening: (Opener, Arc<Connection>),
    (id, request): (RequestId, &InitializeRequestParams),
) -> Response {
    let ((client, _), connection) = &opening;
    let streams = SessionStreams::default();
    let opened = connection
        .open(request.clone(), client, Recipient::Streams(streams.clone()))
        .await;
    let opened = opened.and_then(|result| {
        let failed = |error: SessionError| ErrorData::internal_error(error.to_string(), None);
        Ok((
            sessions.open(opening, streams, None).map_err(failed)?,
            result,
        ))
    });
    match opened {
        Ok((session, result)) => {
            let answer = ServerJsonRpcMessage::response(ServerResult::InitializeResult(result), id);
            ([(&SESSION_HEADER, &*session)], axum::Json(answer)).into_response()
        }
        Err(error) => axum::Json(ServerJsonRpcMessage::error(error, Some(id))).into_response(),
    }
}

/// A call over HTTP. It goes on if the client's connection is lost, but for revisions in which that
/// cancels it.
struct HeldCall<'a> {
    call: Option<OngoingCall>,
    ends_with_client: bool,
    under_way: Option<&'a Arc<CallUnderWay>>,
    /// The bytes of the request, which count until it is answered.
    buffered: &'a Arc<Share<Identity>>,
}

impl HeldCall<'_> {
    /// Waits for the response, which is `None` if rmcp has to take the call over.
    async fn response(
        &mut self,
        parent: DistributedContext,
        attributes: impl FnOnce() -> Vec<(&'static str, Value)>,
    ) -> Option<ToolResponse> {
        let call = self.call.as_mut()?;
        let alone = trace::attributed(attributes, call.response_alone(STREAM_AFTER));
        trace::import(parent, alone).await
    }
}

impl Drop for HeldCall<'_> {
    fn drop(&mut self) {
        let Some(call) = self.call.take() else {
            return;
        };
        if self.ends_with_client {
            call.cancel();
        }
        let under_way = self.under_way.cloned();
        let buffered = Arc::clone(self.buffered);
        call.end_alone((under_way, buffered));
    }
}

/// A call over lines.
pub(crate) struct LineCall {
    connection: Arc<Connection>,
    peer: Peer<RoleServer>,
    capabilities: Capabilities,
    revision: ProtocolVersion,
    call: OngoingCall,
}

impl LineCall {
    /// Begins a call, unless rmcp has to make it.
    pub(crate) fn begin(
        connection: &Arc<Connection>,
        request: &CallRequest,
        under_way: &CallUnderWay,
    ) -> Option<Self> {
        if !is_ordinary(connection, request) || !is_of_session(&request.meta) {
            return None;
        }
        let (peer, capabilities) = connection.requester()?;
        let revision = connection.revision.get()?.clone();
        let wanted = connection.wanted(&request.meta, false);
        let client = Client::default();
        let cancellation = under_way.cancellation();
        let call = connection.begin_at_once(&client, &request.params, wanted, cancellation)?;
        Some(Self {
            connection: Arc::clone(connection),
            peer,
            capabilities,
            revision,
            call,
        })
    }

    /// Runs the call, and returns its id and the line of its answer, or none if it was cancelled.
    /// Returns the request as a message if rmcp has to take the call over.
    pub(crate) async fn answer(
        mut self,
        request: CallRequest,
        under_way: Arc<CallUnderWay>,
    ) -> Result<Option<(RequestId, String)>, ClientJsonRpcMessage> {
        let connection = self.connection;
        let attributes = || connection.attributes(&request.id, Some(&self.revision), None);
        let responding = self.call.respond(&self.peer, self.capabilities);
        let responding = trace::attributed(attributes, responding);
        let response = trace::import(connection.parent(&request.meta), responding).await;
        if under_way.is_cancelled() {
            return Ok(None);
        }
        if response.meta().session_is_lost() {
            let session = self.call.client_session();
            connection.lose(&Client::default(), session, &self.call.session);
            return Err(request.into_rmcp(Some(under_way)));
        }
        if let Some(answer) = answered(&self.call, &response, &request.id, &self.revision) {
            return Ok(Some((request.id, answer)));
        }
        self.call.asking.response = Box::pin(std::future::ready(response));
        let mut message = request.into_rmcp(Some(under_way));
        if let ClientJsonRpcMessage::Request(request) = &mut message {
            let begun = self.call.hand_over();
            request.request.extensions_mut().insert(begun);
        }
        Err(message)
    }
}

/// Returns a header that has one value.
fn sole_header(headers: &HeaderMap, name: impl AsHeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    values
        .next()
        .filter(|_| values.next().is_none())?
        .to_str()
        .ok()
}

/// Returns true if a request brings JSON, and takes both forms of an answer without ranking them.
fn are_json_and_events_accepted(headers: &HeaderMap) -> bool {
    let accepted =
        sole_header(headers, header::ACCEPT).filter(|accepted| !accepted.contains([';', '"']));
    let accepts = |kind| {
        accepted.is_some_and(|accepted| accepted.split(',').any(|accepted| accepted.trim() == kind))
    };
    sole_header(headers, header::CONTENT_TYPE) == Some("application/json")
        && accepts("application/json")
        && accepts("text/event-stream")
}

/// Returns the revision of a call, if its headers, its metadata and its session agree on it.
fn revision<'a>(
    connection: &'a Connection,
    request: &CallRequest,
    headers: &HeaderMap,
) -> Option<&'a ProtocolVersion> {
    let meta = &request.meta;
    let tool = &*request.params.name;
    let named = sole_header(headers, &REVISION_HEADER);
    if headers.contains_key(&SESSION_HEADER) {
        let revision = connection.revision.get()?;
        return (is_of_session(meta) && named == Some(revision.as_str())).then_some(revision);
    }
    let revision = &ProtocolVersion::V_2026_07_28;
    let agrees = named == Some(revision.as_str())
        && meta.protocol_version().as_ref() == Some(revision)
        && meta.missing_required_keys(revision).is_empty()
        && sole_header(headers, "mcp-method") == Some("tools/call")
        && sole_header(headers, "mcp-name") == Some(tool);
    (agrees && !tools::needs_headers(&connection.state.runtime.tools(), tool)).then_some(revision)
}
