//! Calls that are answered without rmcp. Over HTTP so are the requests that open a session and list its tools.
//!
//! rmcp hands a request from task to task, and serves it over HTTP by a stream of events, so that a client can lose its connection
//! and be asked. A call that is answered before anything else has to reach its client needs none of it. It runs on one task, and
//! over HTTP its answer is one JSON message, which every revision of the protocol allows. When its tool reports progress
//! or asks, its call needs an approval, or it takes long, rmcp's handler takes the call over as it is. Requests that are unusual
//! in any respect go to rmcp, which checks them.

use crate::server::changes::Recipient;
use crate::server::client::{Client, Identity};
use crate::server::client_requests::Capabilities;
use crate::server::connection::Connection;
use crate::server::http_sessions::{HttpSessions, Opener, SessionError};
use crate::server::ongoing_call::OngoingCall;
use crate::server::session_streams::SessionStreams;
use crate::server::{passed_on, tools};
use axum::body::Body;
use axum::http::header::{self, AsHeaderName};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use rmcp::model::{
    CallToolRequestParams, ClientJsonRpcMessage, ClientNotification, ClientRequest, GetExtensions,
    GetMeta, InitializeRequestParams, ProtocolVersion, RequestId, RequestMetaObject,
    ServerJsonRpcMessage, ServerResult,
};
use rmcp::service::Peer;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::runtime::Handle;
use tool_adapters_http::quota::Share;
use tool_core::ToolResponse;
use tool_core::trace::{self, DistributedContext};

/// The headers of the revision and of the session.
pub(crate) static REVISION_HEADER: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(crate) static SESSION_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");

/// The time after which a call over HTTP gets a stream, which can be requested again when its connection is lost.
const STREAM_AFTER: Duration = Duration::from_secs(1);

/// The forms of answers that most clients take.
const USUAL: [&str; 2] = [
    "application/json, text/event-stream",
    "text/event-stream, application/json",
];

/// Cancels the call that a message cancels. Returns false if rmcp has to see the message.
pub(crate) fn cancels(connection: &Connection, message: &ClientJsonRpcMessage) -> bool {
    let ClientJsonRpcMessage::Notification(sent) = message else {
        return false;
    };
    let ClientNotification::CancelledNotification(cancelled) = &sent.notification else {
        return false;
    };
    let id = cancelled.params.request_id.as_ref();
    id.is_some_and(|id| connection.calls.cancel(id))
}

/// The parts of a request that is an ordinary call.
struct CallParts<'a> {
    id: &'a RequestId,
    meta: &'a RequestMetaObject,
    params: &'a CallToolRequestParams,
}

impl<'a> CallParts<'a> {
    /// Returns the parts of a message, unless it is no call, a repeated one, or one that may become a task.
    fn of(connection: &Connection, message: &'a ClientJsonRpcMessage) -> Option<Self> {
        let ClientJsonRpcMessage::Request(message) = message else {
            return None;
        };
        let ClientRequest::CallToolRequest(request) = &message.request else {
            return None;
        };
        let params = &request.params;
        let is_repeated = params.request_state.is_some() || params.input_responses.is_some();
        let is_ordinary = !is_repeated && !connection.may_be_task(&params.name);
        is_ordinary.then(|| Self {
            id: &message.id,
            meta: message.request.get_meta(),
            params,
        })
    }

    fn is_of_session(&self) -> bool {
        is_of_session(self.meta)
    }
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

/// Answers a message over HTTP that is a call. Adds the call to the request if rmcp has to take it over.
pub(crate) async fn answer(
    connection: &Connection,
    client: &Client,
    message: &ClientJsonRpcMessage,
    (parts, buffered): (&mut Parts, &Arc<Share<Identity>>),
) -> Option<Response> {
    let request = CallParts::of(connection, message)?;
    let revision = revision(connection, &request, &parts.headers)?;
    if !are_json_and_events_accepted(&parts.headers) {
        return None;
    }
    let (id, has_sessions) = (request.id, *revision < ProtocolVersion::V_2026_07_28);
    let wanted = connection.wanted(request.meta, !has_sessions);
    let call = connection.begin_at_once(client, request.params, wanted);
    if call.is_none() && has_sessions && Box::pin(connection.session.begin_due_turn()).await {
        return Some(unknown_session());
    }
    let call = Some(call?);
    let mut held = HeldCall {
        connection,
        id,
        ends_with_client: !has_sessions,
        is_noted: false,
        call,
        buffered,
    };
    let attributes = || connection.attributes(id, Some(revision), Some(parts));
    let (response, is_cancelled) = held
        .response(connection.parent(request.meta), attributes)
        .await;
    let mut call = held.call.take()?;
    if is_cancelled {
        // An end without an answer.
        return Some(
            ([(header::CONTENT_TYPE, "text/event-stream")], Body::empty()).into_response(),
        );
    }
    if let Some(response) = response {
        if response.meta().session_is_lost() {
            connection.lose(client, call.client_session(), &call.session);
            // Without a session of the protocol, the call begins in another one.
            return has_sessions.then(unknown_session);
        }
        if let Some(answer) = answered(&call, &response, id, revision) {
            return Some(json_response(answer));
        }
        call.asking.response = Box::pin(std::future::ready(response));
    }
    parts.extensions.insert(call.hand_over());
    None
}

/// Returns the answer to a request for a session that does not exist, has ended, belongs to another client, or was lost by its
/// store. It is the same for all of them.
pub(crate) fn unknown_session() -> Response {
    (StatusCode::NOT_FOUND, UNKNOWN_SESSION).into_response()
}

const UNKNOWN_SESSION: &str =
    "Not Found: this client has no such session; open one with `initialize`";

/// Returns the same answer as a message, for a request that cannot have a status of its own.
pub(crate) fn unknown_session_error(message: &ClientJsonRpcMessage) -> String {
    let id = if let ClientJsonRpcMessage::Request(request) = message {
        Some(request.id.clone())
    } else {
        None
    };
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
    let (session, id) = (connection.session.current()?, message.id.clone());
    let cursor = request
        .params
        .as_ref()
        .and_then(|params| params.cursor.as_deref());
    let answer = match tools::page(&session, cursor, false) {
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

/// Returns the parameters of a request over HTTP that opens a session, unless its headers or its metadata are for rmcp to check.
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

/// A call over HTTP. It goes on if the client's connection is lost, but for revisions in which that cancels it.
struct HeldCall<'a> {
    connection: &'a Connection,
    id: &'a RequestId,
    ends_with_client: bool,
    /// True while the call can be cancelled by a notification.
    is_noted: bool,
    call: Option<OngoingCall>,
    /// The bytes of the request, which count until it is answered.
    buffered: &'a Arc<Share<Identity>>,
}

impl HeldCall<'_> {
    /// Waits for the response, which is `None` if rmcp has to take the call over. Returns true with it if the client has cancelled
    /// the call.
    async fn response(
        &mut self,
        parent: DistributedContext,
        attributes: impl FnOnce() -> Vec<(&'static str, Value)>,
    ) -> (Option<ToolResponse>, bool) {
        let Self {
            connection,
            id,
            is_noted,
            call: Some(call),
            ..
        } = self
        else {
            return (None, false);
        };
        let mut unnoted = Some(call.cancellation());
        let response = {
            let alone = trace::attributed(attributes, call.response_alone(STREAM_AFTER));
            let mut alone = pin!(trace::import(parent, alone));
            let noted = poll_fn(|cx| {
                let polled = alone.as_mut().poll(cx);
                // Only a call that waits can be cancelled. One that repeats the id of another cannot.
                if let (Poll::Pending, Some(own)) = (&polled, unnoted.take()) {
                    *is_noted = connection.calls.add(id, own);
                    if !*is_noted {
                        return Poll::Ready(None);
                    }
                }
                polled
            });
            noted.await
        };
        (response, self.is_noted && !self.end())
    }

    /// Removes the call. Returns false if it was cancelled.
    fn end(&mut self) -> bool {
        std::mem::take(&mut self.is_noted) && self.connection.calls.remove(self.id)
    }
}

impl Drop for HeldCall<'_> {
    fn drop(&mut self) {
        self.end();
        let Some(mut call) = self.call.take() else {
            return;
        };
        if self.ends_with_client {
            call.cancel();
        }
        if let Ok(runtime) = Handle::try_current() {
            let buffered = Arc::clone(self.buffered);
            runtime.spawn(async move {
                call.asking.step().await;
                drop(buffered);
            });
        }
    }
}

/// A call over lines.
pub(crate) struct LineCall {
    connection: Arc<Connection>,
    client: (Peer<RoleServer>, Capabilities),
    call: OngoingCall,
}

impl LineCall {
    /// Begins the call of a message, unless rmcp has to see it.
    pub(crate) fn begin(
        connection: &Arc<Connection>,
        message: &ClientJsonRpcMessage,
    ) -> Option<Self> {
        let request = CallParts::of(connection, message).filter(CallParts::is_of_session)?;
        let client = connection.requester()?;
        let wanted = connection.wanted(request.meta, false);
        let call = connection.begin_at_once(&Client::default(), request.params, wanted)?;
        let is_noted = connection.calls.add(request.id, call.cancellation());
        is_noted.then(|| Self {
            connection: Arc::clone(connection),
            client,
            call,
        })
    }

    /// Runs the call, and returns its id and the line of its answer, or none if it was cancelled. Returns the message if rmcp has to take the call over.
    pub(crate) async fn answer(
        mut self,
        mut message: ClientJsonRpcMessage,
    ) -> Result<Option<(RequestId, String)>, ClientJsonRpcMessage> {
        let connection = Arc::clone(&self.connection);
        let Some((request, revision)) =
            CallParts::of(&connection, &message).zip(connection.revision.get())
        else {
            return Err(message);
        };
        let id = request.id.clone();
        let attributes = || connection.attributes(&id, Some(revision), None);
        let responding =
            trace::attributed(attributes, self.call.respond(&self.client.0, self.client.1));
        let response = trace::import(connection.parent(request.meta), responding).await;
        if !connection.calls.remove(&id) {
            return Ok(None);
        }
        if response.meta().session_is_lost() {
            connection.lose(
                &Client::default(),
                self.call.client_session(),
                &self.call.session,
            );
            return Err(message);
        }
        if let Some(answer) = answered(&self.call, &response, &id, revision) {
            return Ok(Some((id, answer)));
        }
        self.call.asking.response = Box::pin(std::future::ready(response));
        if let ClientJsonRpcMessage::Request(request) = &mut message {
            request
                .request
                .extensions_mut()
                .insert(self.call.hand_over());
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
    let is_usual = accepted.is_some_and(|accepted| USUAL.contains(&accepted));
    let accepts = |kind| {
        is_usual
            || accepted
                .is_some_and(|accepted| accepted.split(',').any(|accepted| accepted.trim() == kind))
    };
    sole_header(headers, header::CONTENT_TYPE) == Some("application/json")
        && accepts("application/json")
        && accepts("text/event-stream")
}

/// Returns the revision of a call, if its headers, its metadata and its session agree on it.
fn revision<'a>(
    connection: &'a Connection,
    request: &CallParts<'_>,
    headers: &HeaderMap,
) -> Option<&'a ProtocolVersion> {
    let (meta, tool) = (request.meta, &*request.params.name);
    let named = sole_header(headers, &REVISION_HEADER);
    if headers.contains_key(&SESSION_HEADER) {
        let revision = connection.revision.get()?;
        return (request.is_of_session() && named == Some(revision.as_str())).then_some(revision);
    }
    let revision = &ProtocolVersion::V_2026_07_28;
    let agrees = named == Some(revision.as_str())
        && meta.protocol_version().as_ref() == Some(revision)
        && meta.missing_required_keys(revision).is_empty()
        && sole_header(headers, "mcp-method") == Some("tools/call")
        && sole_header(headers, "mcp-name") == Some(tool);
    (agrees && !tools::needs_headers(&connection.state.runtime.tools(), tool)).then_some(revision)
}
