//! The one reader of a client's messages: from their bytes to what the server does with them.
//!
//! Two parsers that read one text as two different messages let a sender bypass checks. So member
//! names have to match exactly, and duplicate members are refused. Members that are not known are
//! ignored. Each refused message gets one JSON-RPC error as its answer, under the message's own id
//! where that can be read.

use crate::lines::{IdScanner, MessageId};
use crate::server::calls::CallUnderWay;
use crate::server::features::ServedMethods;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientJsonRpcMessage, ClientNotification,
    ClientRequest, ErrorCode, MetaObject, RequestId, RequestMetaObject,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::sync::Arc;
use tool_core::json::parse_strict;

/// A message that is refused, as the JSON-RPC error that answers it.
#[derive(Debug, PartialEq)]
pub(crate) struct InvalidMessage {
    /// Null if the message has no valid id.
    id: Value,
    pub(crate) error: Box<ErrorData>,
}

impl From<ErrorData> for InvalidMessage {
    fn from(error: ErrorData) -> Self {
        Self {
            id: Value::Null,
            error: error.into(),
        }
    }
}

impl InvalidMessage {
    /// Creates the answer to a message of more bytes than are read.
    pub(crate) fn too_long(size: usize, max: usize, id: &MessageId) -> Self {
        let message =
            format!("expected a message of at most {max} bytes, got {size}; send less at once");
        Self {
            id: id_of_request(id),
            error: invalid_request(message).into(),
        }
    }

    /// Returns the answer over HTTP. Many clients end their session at any other status than 200,
    /// so `status` is used only if the answer does not reach a request.
    pub(crate) fn into_response(self, status: StatusCode) -> Response {
        let status = if self.id.is_null() {
            status
        } else {
            StatusCode::OK
        };
        self.with_status(status)
    }

    /// Returns the answer over HTTP in a revision without sessions, in which a method that is not
    /// served is not found.
    pub(crate) fn into_response_without_sessions(self, status: StatusCode) -> Response {
        match self.error.code {
            ErrorCode::METHOD_NOT_FOUND => self.with_status(StatusCode::NOT_FOUND),
            _ => self.into_response(status),
        }
    }

    fn with_status(self, status: StatusCode) -> Response {
        (
            status,
            [(header::CONTENT_TYPE, "application/json")],
            self.to_json(),
        )
            .into_response()
    }

    pub(crate) fn to_json(&self) -> String {
        json!({"jsonrpc": "2.0", "id": self.id, "error": self.error}).to_string()
    }
}

pub(crate) fn invalid_request(message: impl Into<Cow<'static, str>>) -> ErrorData {
    ErrorData::invalid_request(message, None)
}

fn invalid_params(message: impl Into<Cow<'static, str>>) -> ErrorData {
    ErrorData::invalid_params(message, None)
}

/// Returns the id of a request. An answer under the id of a response would fail another request.
fn id_of_request(id: &MessageId) -> Value {
    match id {
        MessageId::Request(id) => id.clone().into_json_value(),
        MessageId::Response(_) | MessageId::Unknown => Value::Null,
    }
}

/// A message of a client, by what the server does with it.
#[derive(Clone, Debug)]
pub(crate) enum ClientMessage {
    Call(CallRequest),
    /// The end of a request that its client no longer waits for, with its notification.
    Cancel(RequestId, ClientJsonRpcMessage),
    /// A message that rmcp reads on.
    Other(ClientJsonRpcMessage),
}

/// The request for a call of a tool.
#[derive(Clone, Debug)]
pub(crate) struct CallRequest {
    pub(crate) id: RequestId,
    pub(crate) params: CallToolRequestParams,
    pub(crate) meta: RequestMetaObject,
}

impl CallRequest {
    /// Returns the request as rmcp's message, with the call's entry in its connection.
    pub(crate) fn into_rmcp(self, under_way: Option<Arc<CallUnderWay>>) -> ClientJsonRpcMessage {
        let mut request = CallToolRequest::new(self.params);
        if !self.meta.is_empty() {
            request.extensions.insert(self.meta);
        }
        if let Some(under_way) = under_way {
            request.extensions.insert(under_way);
        }
        ClientJsonRpcMessage::request(ClientRequest::CallToolRequest(request), self.id)
    }
}

impl ClientMessage {
    /// Returns the id of a request.
    pub(crate) fn request_id(&self) -> Option<&RequestId> {
        match self {
            Self::Call(call) => Some(&call.id),
            Self::Other(ClientJsonRpcMessage::Request(request)) => Some(&request.id),
            Self::Cancel(..) | Self::Other(_) => None,
        }
    }
}

impl From<ClientJsonRpcMessage> for ClientMessage {
    fn from(message: ClientJsonRpcMessage) -> Self {
        if let ClientJsonRpcMessage::Notification(sent) = &message
            && let ClientNotification::CancelledNotification(cancelled) = &sent.notification
            && let Some(id) = &cancelled.params.request_id
        {
            return Self::Cancel(id.clone(), message);
        }
        Self::Other(message)
    }
}

/// A message that was read, or the answer to an invalid one.
pub(crate) type ReadMessage = Result<ClientMessage, InvalidMessage>;

/// The messages of a text.
#[allow(clippy::large_enum_variant)] // nearly all texts are one message
pub(crate) enum Incoming {
    One(ReadMessage),
    /// An array of messages, which one revision allows.
    Batch(Vec<ReadMessage>),
}

/// The method of a call.
const CALL: &str = "tools/call";

/// Maximum number of messages in a batch.
const MAX_BATCH: usize = 1_000;

/// Reads the messages of a text. A batch is refused unless `allow_batch` is set.
pub(crate) fn read(bytes: &[u8], served: ServedMethods<'_>, allow_batch: bool) -> Incoming {
    let value = match read_json(bytes) {
        Ok(value) => value,
        Err(error) => {
            let id = id_of_request(&IdScanner::scan(bytes));
            return Incoming::One(Err(InvalidMessage {
                id,
                error: error.into(),
            }));
        }
    };
    match value {
        Value::Object(message) => Incoming::One(read_message(message, served)),
        Value::Array(messages) if allow_batch => read_batch(messages, served),
        _ => {
            let error = "expected an object; batches are served in revision 2025-03-26 only";
            Incoming::One(Err(invalid_request(error).into()))
        }
    }
}

/// Reads JSON in which no member is duplicate.
fn read_json(bytes: &[u8]) -> Result<Value, ErrorData> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| ErrorData::parse_error("the message is not valid UTF-8", None))?;
    parse_strict::<Value>(text).map_err(|error| match error.offset() {
        Some(_) => ErrorData::parse_error(format!("the message is not valid JSON: {error}"), None),
        None => invalid_request(excerpt(error.message())),
    })
}

fn read_batch(messages: Vec<Value>, served: ServedMethods<'_>) -> Incoming {
    if messages.is_empty() || messages.len() > MAX_BATCH {
        let error = format!("expected a batch of 1 to {MAX_BATCH} messages");
        return Incoming::One(Err(invalid_request(error).into()));
    }
    let read = messages
        .into_iter()
        .map(|message| read_in_batch(message, served))
        .collect();
    Incoming::Batch(read)
}

fn read_in_batch(message: Value, served: ServedMethods<'_>) -> ReadMessage {
    let Value::Object(message) = message else {
        return Err(invalid_request("expected an object").into());
    };
    let is_initialize = message
        .get("method")
        .is_some_and(|method| method == "initialize");
    match read_message(message, served) {
        Ok(ClientMessage::Other(ClientJsonRpcMessage::Request(request))) if is_initialize => {
            Err(InvalidMessage {
                id: request.id.into_json_value(),
                error: invalid_request("`initialize` is not allowed in a batch").into(),
            })
        }
        read => read,
    }
}

/// Reads a message. Its answer has its id, if that is valid.
fn read_message(message: Map<String, Value>, served: ServedMethods<'_>) -> ReadMessage {
    let id = message.get("id").filter(|id| is_valid_id(id)).cloned();
    read_members(message, served).map_err(|error| InvalidMessage {
        id: id.unwrap_or_default(),
        error: error.into(),
    })
}

fn is_valid_id(id: &Value) -> bool {
    id.is_string() || id.is_i64()
}

fn read_members(
    mut message: Map<String, Value>,
    served: ServedMethods<'_>,
) -> Result<ClientMessage, ErrorData> {
    if message.get("id").is_some_and(|id| !is_valid_id(id)) {
        return Err(invalid_request(
            "expected `id` to be a string or an integer",
        ));
    }
    check_envelope(&message)?;
    let method = message
        .get("method")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let is_request = message.contains_key("id") && message.contains_key("method");
    if is_request {
        if !served.names().any(|name| name == method) {
            return Err(unknown_method(&method, served));
        }
        check_params(&method, message.get("params"))?;
    }
    if is_request && method == CALL {
        return read_call(message).map(ClientMessage::Call);
    }
    if method == "server/discover"
        && let Some(params) = message.get_mut("params").and_then(Value::as_object_mut)
    {
        // rmcp refuses others.
        params.retain(|name, _| name == "_meta");
    }
    let read = serde_json::from_value::<ClientJsonRpcMessage>(Value::Object(message))
        .map_err(|_| invalid_request("expected a request, a notification or a response"))?;
    match read {
        ClientJsonRpcMessage::Request(request)
            if matches!(request.request, ClientRequest::CustomRequest(_)) =>
        {
            Err(misread(&method))
        }
        read => Ok(read.into()),
    }
}

/// Reads a call whose parameters were checked. rmcp would try the types of all methods for them
/// first.
fn read_call(mut message: Map<String, Value>) -> Result<CallRequest, ErrorData> {
    let id = message.get_mut("id").map(Value::take).unwrap_or_default();
    let id = RequestId::deserialize(id).map_err(|_| invalid_request("expected a shorter `id`"))?;
    let Some(Value::Object(mut params)) = message.get_mut("params").map(Value::take) else {
        return Err(misread(CALL));
    };
    let meta = match params.get_mut("_meta").map(Value::take) {
        Some(Value::Object(meta)) => RequestMetaObject(MetaObject(meta)),
        Some(Value::Null) | None => RequestMetaObject::default(),
        Some(_) => return Err(misread(CALL)),
    };
    // Taken as they are, as they are the largest part of the message.
    let arguments = match params.get_mut("arguments").map(Value::take) {
        Some(Value::Object(arguments)) => Some(arguments),
        _ => None,
    };
    let mut params =
        CallToolRequestParams::deserialize(Value::Object(params)).map_err(|_| misread(CALL))?;
    params.arguments = arguments;
    Ok(CallRequest { id, params, meta })
}

fn misread(method: &str) -> ErrorData {
    invalid_params(format!("invalid parameters for `{}`", excerpt(method)))
}

fn unknown_method(method: &str, served: ServedMethods<'_>) -> ErrorData {
    let served = served
        .names()
        .map(|method| format!("`{method}`"))
        .collect::<Vec<_>>()
        .join(", ");
    let message = format!(
        "unknown method `{}`; this server has {served}",
        excerpt(method)
    );
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None)
}

/// Checks the members of a JSON-RPC message.
fn check_envelope(message: &Map<String, Value>) -> Result<(), ErrorData> {
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(invalid_request("expected `jsonrpc` to be \"2.0\""));
    }
    let kinds = ["method", "result", "error"]
        .iter()
        .filter(|kind| message.contains_key(**kind))
        .count();
    if kinds != 1 {
        return Err(invalid_request(
            "expected exactly one of `method`, `result` and `error`",
        ));
    }
    match (message.get("method"), message.get("params")) {
        (Some(method), _) if !method.is_string() => {
            Err(invalid_request("expected `method` to be a string"))
        }
        (Some(_), Some(params)) if !params.is_object() => {
            Err(invalid_params("expected `params` to be an object"))
        }
        _ => Ok(()),
    }
}

/// Checks the parameters that are read of the methods that are served. Null is the same as no
/// value.
fn check_params(method: &str, params: Option<&Value>) -> Result<(), ErrorData> {
    let params = params.and_then(Value::as_object);
    let given = |name| {
        params
            .and_then(|params| params.get(name))
            .filter(|value| !value.is_null())
    };
    match method {
        "tools/call" | "prompts/get" if !given("name").is_some_and(Value::is_string) => {
            Err(invalid_params("expected `name` to be a string"))
        }
        "tools/call" if given("arguments").is_some_and(|arguments| !arguments.is_object()) => {
            Err(invalid_params("expected `arguments` to be an object"))
        }
        "tasks/get" | "tasks/update" | "tasks/cancel"
            if !given("taskId").is_some_and(Value::is_string) =>
        {
            Err(invalid_params("expected `taskId` to be a string"))
        }
        "prompts/get" if given("arguments").is_some_and(|arguments| !has_texts(arguments)) => Err(
            invalid_params("expected `arguments` to be an object of strings"),
        ),
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" | "skills/get"
            if !given("uri").is_some_and(Value::is_string) =>
        {
            Err(invalid_params("expected `uri` to be a string"))
        }
        "completion/complete" => check_completion(given("ref"), given("argument")),
        _ if method.ends_with("/list")
            && given("cursor").is_some_and(|cursor| !cursor.is_string()) =>
        {
            Err(invalid_params("expected `cursor` to be a string"))
        }
        _ => Ok(()),
    }
}

fn has_texts(arguments: &Value) -> bool {
    arguments
        .as_object()
        .is_some_and(|arguments| arguments.values().all(Value::is_string))
}

/// Checks what is completed.
fn check_completion(reference: Option<&Value>, argument: Option<&Value>) -> Result<(), ErrorData> {
    let has = |value: Option<&Value>, name: &str| {
        value.is_some_and(|value| value.get(name).is_some_and(Value::is_string))
    };
    let name = match reference
        .and_then(|reference| reference.get("type"))
        .and_then(Value::as_str)
    {
        Some("ref/prompt") => "name",
        Some("ref/resource") => "uri",
        _ => {
            return Err(invalid_params(
                "expected `ref` of the type `ref/prompt` or `ref/resource`",
            ));
        }
    };
    if !has(reference, name) {
        return Err(invalid_params(format!(
            "expected `{name}` of `ref` to be a string"
        )));
    }
    if !has(argument, "name") || !has(argument, "value") {
        return Err(invalid_params(
            "expected `argument` with the strings `name` and `value`",
        ));
    }
    Ok(())
}

/// Returns the beginning of a name from the client, escaped.
pub(crate) fn excerpt(name: &str) -> String {
    name.chars()
        .take(64)
        .collect::<String>()
        .escape_debug()
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::features::Revisions;
    use crate::server::session::ServerState;
    use tool_core::{Runtime, ToolContext};

    /// Reads one message, and returns what rmcp would get, as JSON.
    fn read_again(message: &Value) -> Result<Value, InvalidMessage> {
        let tools = ToolContext::builder().build().expect("no tools");
        let runtime = Runtime::builder(tools).build().expect("a runtime");
        let state = ServerState::new(runtime);
        let text = message.to_string();
        let Incoming::One(read) = read(text.as_bytes(), state.served(Revisions::All), false) else {
            panic!("a batch");
        };
        let message = match read? {
            ClientMessage::Call(call) => call.into_rmcp(None),
            ClientMessage::Cancel(_, message) | ClientMessage::Other(message) => message,
        };
        Ok(serde_json::to_value(message).expect("JSON"))
    }

    #[test]
    fn rmcp_gets_a_message_as_it_was_read() {
        let call = json!({"name": "t", "arguments": {"n": 1.0, "o": {"a": [null, "😀"]}}, "_meta": {"progressToken": 5, "x/y": {}}});
        let repeated = json!({"name": "t", "requestState": "s", "inputResponses": {}});
        for message in [
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}),
            json!({"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": repeated}),
            json!({"jsonrpc": "2.0", "id": i64::MIN, "method": "tools/list", "params": {"cursor": "1"}}),
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1, "reason": "late"}}),
            json!({"jsonrpc": "2.0", "id": 3, "error": {"code": 1, "message": "no"}}),
        ] {
            assert_eq!(read_again(&message), Ok(message));
        }
    }

    #[test]
    fn a_call_with_other_metadata_than_an_object_is_refused() {
        let params = json!({"name": "t", "_meta": 1});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let refused = read_again(&call).expect_err("invalid");
        assert_eq!(refused.error.code, ErrorCode::INVALID_PARAMS);
    }
}
