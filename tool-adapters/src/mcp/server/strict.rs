//! The strict check of each incoming message, before rmcp reads it.
//!
//! Two parsers that read one text as two different messages let a sender bypass checks. So member names have to match
//! exactly, and duplicate and unknown members are refused. Each refused message gets one JSON-RPC error as its answer.

use rmcp::ErrorData;
use rmcp::model::{CallToolRequest, ClientJsonRpcMessage, ClientRequest, RequestId, RequestMetaObject};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
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
        Self { id: Value::Null, error: error.into() }
    }
}

impl InvalidMessage {
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

/// Parses and checks one message.
pub(crate) fn parse_message(bytes: &[u8]) -> Result<ClientJsonRpcMessage, InvalidMessage> {
    let mut id = Value::Null;
    parse_and_check(bytes, &mut id).map_err(|error| InvalidMessage { id, error: error.into() })
}

/// Parses and checks one message. Sets `valid_id` to its id.
fn parse_and_check(bytes: &[u8], valid_id: &mut Value) -> Result<ClientJsonRpcMessage, ErrorData> {
    let text = std::str::from_utf8(bytes).map_err(|_| not_utf8())?;
    let value = parse_strict(text).map_err(|error| match error.offset() {
        Some(_) => ErrorData::parse_error(format!("the message is not valid JSON: {error}"), None),
        None => invalid_request(excerpt(error.message())),
    })?;
    let Value::Object(mut message) = value else {
        return Err(invalid_request("expected an object; batches are not supported"));
    };
    match message.get("id") {
        Some(id) if id.is_string() || id.is_i64() => valid_id.clone_from(id),
        Some(_) => return Err(invalid_request("expected `id` to be a string or an integer")),
        None => {}
    }
    check_envelope(&message)?;
    let method = message.get("method").and_then(Value::as_str).unwrap_or_default();
    let misread = invalid_params(format!("invalid parameters for `{method}`"));
    if let Some(id) = message.get("id") {
        check_params(method, message.get("params"))?;
        if method == "tools/call" {
            let id = RequestId::deserialize(id).map_err(|_| invalid_request("expected a shorter `id`"))?;
            let params = message.remove("params").unwrap_or_default();
            return read_call(params).map(|call| ClientJsonRpcMessage::request(call, id)).map_err(|_| misread);
        }
    }
    let read = serde_json::from_str::<ClientJsonRpcMessage>(text)
        .map_err(|_| invalid_request("expected a request, a notification or a response"))?;
    match &read {
        ClientJsonRpcMessage::Request(request) if is_misread(&request.request) => Err(misread),
        _ => Ok(read),
    }
}

/// Reads the parameters of a call as rmcp does, which tries the types of all methods for them first.
fn read_call(mut params: Value) -> Result<ClientRequest, serde_json::Error> {
    let meta = params.get_mut("_meta").map(Value::take).map(serde_json::from_value::<Option<RequestMetaObject>>);
    let mut call = CallToolRequest::new(serde_json::from_value(params)?);
    if let Some(meta) = meta.transpose()?.flatten() {
        call.extensions.insert(meta);
    }
    Ok(ClientRequest::CallToolRequest(call))
}

pub(crate) fn not_utf8() -> ErrorData {
    ErrorData::parse_error("the message is not valid UTF-8", None)
}

/// Checks the members of a JSON-RPC message.
fn check_envelope(message: &Map<String, Value>) -> Result<(), ErrorData> {
    let known = ["jsonrpc", "id", "method", "params", "result", "error"];
    if let Some(key) = message.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(invalid_request(format!("unknown member `{}`", excerpt(key))));
    }
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(invalid_request("expected `jsonrpc` to be \"2.0\""));
    }
    let kinds = ["method", "result", "error"].iter().filter(|kind| message.contains_key(**kind)).count();
    if kinds != 1 {
        return Err(invalid_request("expected exactly one of `method`, `result` and `error`"));
    }
    match (message.get("method"), message.get("params")) {
        (Some(method), _) if !method.is_string() => Err(invalid_request("expected `method` to be a string")),
        (None, Some(_)) => Err(invalid_request("`params` is allowed in requests and notifications only")),
        (Some(_), Some(params)) if !params.is_object() => Err(invalid_params("expected `params` to be an object")),
        _ => Ok(()),
    }
}

/// Checks the parameters of the methods that are served.
fn check_params(method: &str, params: Option<&Value>) -> Result<(), ErrorData> {
    let known: &[&str] = match method {
        "tools/call" => &["name", "arguments", "_meta", "inputResponses", "requestState", "task"],
        "tools/list" => &["cursor", "_meta"],
        _ => return Ok(()),
    };
    let empty = Map::new();
    let params = params.and_then(Value::as_object).unwrap_or(&empty);
    if let Some(key) = params.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(invalid_params(format!("unknown parameter `{}` of `{method}`", excerpt(key))));
    }
    if method == "tools/call" && !params.get("name").is_some_and(Value::is_string) {
        return Err(invalid_params("expected `name` to be a string"));
    }
    if params.get("arguments").is_some_and(|arguments| !arguments.is_object()) {
        return Err(invalid_params("expected `arguments` to be an object"));
    }
    if params.get("cursor").is_some_and(|cursor| !cursor.is_string()) {
        return Err(invalid_params("expected `cursor` to be a string"));
    }
    Ok(())
}

/// Returns true if rmcp read a served method as a custom request, because its parameters did not fit.
fn is_misread(request: &ClientRequest) -> bool {
    let served = ["tools/list", "tools/call"];
    matches!(request, ClientRequest::CustomRequest(custom) if served.contains(&custom.method.as_str()))
}

/// Returns the beginning of a name from the client, escaped.
pub(crate) fn excerpt(name: &str) -> String {
    name.chars().take(64).collect::<String>().escape_debug().to_string()
}
