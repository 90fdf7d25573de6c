//! The strict check of each incoming message, before rmcp reads it.
//!
//! Two parsers that read one text as two different messages let a sender bypass checks. So member names have to match
//! exactly, and duplicate and unknown members are refused. Each refused message gets one JSON-RPC error as its answer.

use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorCode};
use serde_json::{Map, Value, json};
use tool_core::json::{self, parse_strict};

/// A message that is refused, as the JSON-RPC error that answers it.
#[derive(Debug, PartialEq)]
pub(crate) struct InvalidMessage {
    pub(crate) id: Value,
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
}

impl InvalidMessage {
    fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { id: Value::Null, code, message: message.into() }
    }

    pub(crate) fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::INVALID_REQUEST, message)
    }

    pub(crate) fn parse_error(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::PARSE_ERROR, message)
    }

    fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::INVALID_PARAMS, message)
    }

    fn with_id(mut self, id: Option<&Value>) -> Self {
        self.id = id.cloned().unwrap_or_default();
        self
    }

    pub(crate) fn to_json(&self) -> String {
        let error = json!({"code": self.code, "message": self.message});
        json!({"jsonrpc": "2.0", "id": self.id, "error": error}).to_string()
    }
}

/// Returns the text for a message that is longer than `max` bytes.
pub(crate) fn too_long(max: usize) -> String {
    format!("the message is longer than {max} bytes")
}

/// Parses and checks one message.
pub(crate) fn parse_message(bytes: &[u8]) -> Result<ClientJsonRpcMessage, InvalidMessage> {
    let text = std::str::from_utf8(bytes).map_err(|_| InvalidMessage::parse_error("the message is not valid UTF-8"))?;
    let value = parse_strict(text).map_err(|error| not_strict(&error))?;
    let Value::Object(message) = &value else {
        return Err(InvalidMessage::invalid_request("expected an object; batches are not supported"));
    };
    check_envelope(message)?;
    let id = message.get("id");
    let method = message.get("method").and_then(Value::as_str).unwrap_or_default();
    if id.is_some() {
        check_params(method, message.get("params")).map_err(|invalid| invalid.with_id(id))?;
    }
    let read = serde_json::from_str::<ClientJsonRpcMessage>(text)
        .map_err(|_| InvalidMessage::invalid_request("expected a request, a notification or a response").with_id(id))?;
    match &read {
        ClientJsonRpcMessage::Request(request) if is_misread(&request.request) => {
            Err(InvalidMessage::invalid_params(format!("invalid parameters for `{method}`")).with_id(id))
        }
        _ => Ok(read),
    }
}

fn not_strict(error: &json::Error) -> InvalidMessage {
    match error.offset() {
        Some(_) => InvalidMessage::parse_error(format!("the message is not valid JSON: {error}")),
        None => InvalidMessage::invalid_request(excerpt(error.message())),
    }
}

/// Checks the members of a JSON-RPC message.
fn check_envelope(message: &Map<String, Value>) -> Result<(), InvalidMessage> {
    let id = message.get("id");
    let valid_id = id.filter(|id| id.is_string() || id.is_i64());
    if id.is_some() && valid_id.is_none() {
        return Err(InvalidMessage::invalid_request("expected `id` to be a string or an integer"));
    }
    let refuse = |text: &str| Err(InvalidMessage::invalid_request(text).with_id(valid_id));
    let known = ["jsonrpc", "id", "method", "params", "result", "error"];
    if let Some(key) = message.keys().find(|key| !known.contains(&key.as_str())) {
        return refuse(&format!("unknown member `{}`", excerpt(key)));
    }
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return refuse("expected `jsonrpc` to be \"2.0\"");
    }
    let kinds = ["method", "result", "error"].iter().filter(|kind| message.contains_key(**kind)).count();
    if kinds != 1 {
        return refuse("expected exactly one of `method`, `result` and `error`");
    }
    match (message.get("method"), message.get("params")) {
        (Some(method), _) if !method.is_string() => refuse("expected `method` to be a string"),
        (None, Some(_)) => refuse("`params` is allowed in requests and notifications only"),
        (Some(_), Some(params)) if !params.is_object() => {
            Err(InvalidMessage::invalid_params("expected `params` to be an object").with_id(valid_id))
        }
        _ => Ok(()),
    }
}

/// Checks the parameters of the methods that are served.
fn check_params(method: &str, params: Option<&Value>) -> Result<(), InvalidMessage> {
    let empty = Map::new();
    let params = params.and_then(Value::as_object).unwrap_or(&empty);
    let refuse = |text: &str| Err(InvalidMessage::invalid_params(text));
    match method {
        "tools/call" => {
            check_names(method, params, &["name", "arguments", "_meta", "inputResponses", "requestState", "task"])?;
            if !params.get("name").is_some_and(Value::is_string) {
                return refuse("expected `name` to be a string");
            }
            if params.get("arguments").is_some_and(|arguments| !arguments.is_object()) {
                return refuse("expected `arguments` to be an object");
            }
            Ok(())
        }
        "tools/list" => {
            check_names(method, params, &["cursor", "_meta"])?;
            match params.get("cursor") {
                Some(cursor) if !cursor.is_string() => refuse("expected `cursor` to be a string"),
                _ => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

fn check_names(method: &str, params: &Map<String, Value>, known: &[&str]) -> Result<(), InvalidMessage> {
    match params.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(InvalidMessage::invalid_params(format!("unknown parameter `{}` of `{method}`", excerpt(key)))),
        None => Ok(()),
    }
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
