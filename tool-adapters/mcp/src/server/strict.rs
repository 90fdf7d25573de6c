//! The strict check of each incoming message, before rmcp reads it.
//!
//! Two parsers that read one text as two different messages let a sender bypass checks. So member names have to match
//! exactly, and duplicate members are refused. Members that are not known are ignored. Each refused message gets one JSON-RPC
//! error as its answer, under the message's own id where that can be read.

use crate::lines::{IdScanner, MessageId};
use crate::server::features::ServedMethods;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, ErrorCode,
    RequestId, RequestMetaObject,
};
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

    /// Returns the answer over HTTP. Many clients end their session at any other status than 200, so `status` is used only if
    /// the answer does not reach a request.
    pub(crate) fn into_response(self, status: StatusCode) -> Response {
        let status = if self.id.is_null() {
            status
        } else {
            StatusCode::OK
        };
        self.with_status(status)
    }

    /// Returns the answer over HTTP in a revision without sessions, in which a method that is not served is not found.
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

/// A checked message, or the answer to an invalid one.
pub(crate) type CheckedMessage = Result<ClientJsonRpcMessage, InvalidMessage>;

/// The messages of a text.
#[allow(clippy::large_enum_variant)] // nearly all texts are one message
pub(crate) enum Parsed {
    One(CheckedMessage),
    /// An array of messages, which one revision allows.
    Batch(Vec<CheckedMessage>),
}

/// The method of a call.
const CALL: &str = "tools/call";

/// Maximum number of messages in a batch.
const MAX_BATCH: usize = 1_000;

/// Parses and checks a text. A batch is refused unless `allow_batch` is set.
pub(crate) fn parse(bytes: &[u8], served: ServedMethods<'_>, allow_batch: bool) -> Parsed {
    let text = std::str::from_utf8(bytes);
    if let Some(call) = text.ok().and_then(read_ordinary_call) {
        return Parsed::One(Ok(call));
    }
    let parsed = text.map_err(|_| not_utf8()).and_then(|text| {
        let value = parse_strict::<Value>(text).map_err(|error| match error.offset() {
            Some(_) => {
                ErrorData::parse_error(format!("the message is not valid JSON: {error}"), None)
            }
            None => invalid_request(excerpt(error.message())),
        })?;
        Ok((text, value))
    });
    let (text, value) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => {
            let id = id_of_request(&IdScanner::scan(bytes));
            return Parsed::One(Err(InvalidMessage {
                id,
                error: error.into(),
            }));
        }
    };
    match value {
        Value::Object(message) => Parsed::One(check(message, served, Some(text))),
        Value::Array(messages)
            if allow_batch && !messages.is_empty() && messages.len() <= MAX_BATCH =>
        {
            Parsed::Batch(
                messages
                    .into_iter()
                    .map(|message| check_in_batch(message, served))
                    .collect(),
            )
        }
        Value::Array(_) if allow_batch => Parsed::One(Err(invalid_request(format!(
            "expected a batch of 1 to {MAX_BATCH} messages"
        ))
        .into())),
        _ => {
            let error = "expected an object; batches are served in revision 2025-03-26 only";
            Parsed::One(Err(invalid_request(error).into()))
        }
    }
}

fn check_in_batch(message: Value, served: ServedMethods<'_>) -> CheckedMessage {
    let Value::Object(message) = message else {
        return Err(invalid_request("expected an object").into());
    };
    let is_initialize = message
        .get("method")
        .is_some_and(|method| method == "initialize");
    match check(message, served, None) {
        Ok(ClientJsonRpcMessage::Request(request)) if is_initialize => Err(InvalidMessage {
            id: request.id.into_json_value(),
            error: invalid_request("`initialize` is not allowed in a batch").into(),
        }),
        checked => checked,
    }
}

/// The members of an ordinary call.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OrdinaryCall<'a> {
    #[serde(borrow)]
    jsonrpc: Cow<'a, str>,
    id: Value,
    method: Cow<'a, str>,
    params: OrdinaryParams,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OrdinaryParams {
    name: String,
    arguments: Option<Map<String, Value>>,
    #[serde(rename = "_meta")]
    meta: Option<RequestMetaObject>,
}

/// Reads a call that has no unusual member at once, as nearly all messages are such calls. Returns `None` for all others, and for
/// what is not valid.
fn read_ordinary_call(text: &str) -> Option<ClientJsonRpcMessage> {
    let OrdinaryCall {
        jsonrpc,
        id,
        method,
        params,
    } = parse_strict(text).ok()?;
    let is_call = method == CALL && jsonrpc == "2.0" && is_valid_id(&id);
    let id = RequestId::deserialize(id).ok().filter(|_| is_call)?;
    let mut call = CallToolRequestParams::new(params.name);
    call.arguments = params.arguments;
    let mut call = CallToolRequest::new(call);
    if let Some(meta) = params.meta {
        call.extensions.insert(meta);
    }
    Some(ClientJsonRpcMessage::request(
        ClientRequest::CallToolRequest(call),
        id,
    ))
}

fn is_valid_id(id: &Value) -> bool {
    id.is_string() || id.is_i64()
}

/// Checks a message, of which `text` is the text if it is alone.
fn check(
    message: Map<String, Value>,
    served: ServedMethods<'_>,
    text: Option<&str>,
) -> CheckedMessage {
    let mut id = Value::Null;
    read(message, served, text, &mut id).map_err(|error| InvalidMessage {
        id,
        error: error.into(),
    })
}

/// Checks and reads a message. Sets `valid_id` to its id.
fn read(
    mut message: Map<String, Value>,
    served: ServedMethods<'_>,
    text: Option<&str>,
    valid_id: &mut Value,
) -> Result<ClientJsonRpcMessage, ErrorData> {
    match message.get("id") {
        Some(id) if is_valid_id(id) => valid_id.clone_from(id),
        Some(_) => {
            return Err(invalid_request(
                "expected `id` to be a string or an integer",
            ));
        }
        None => {}
    }
    check_envelope(&message)?;
    let method = message
        .get("method")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let misread =
        |method: &str| invalid_params(format!("invalid parameters for `{}`", excerpt(method)));
    if let Some(id) = message.get("id").filter(|_| message.contains_key("method")) {
        if !served.names().any(|name| name == method) {
            return Err(unknown_method(method, served));
        }
        check_params(method, message.get("params"))?;
        if method == CALL {
            let id = RequestId::deserialize(id)
                .map_err(|_| invalid_request("expected a shorter `id`"))?;
            let params = message.remove("params").unwrap_or_default();
            return read_call(params)
                .map(|call| ClientJsonRpcMessage::request(call, id))
                .map_err(|_| misread(CALL));
        }
    }
    let method = method.to_owned();
    let is_discover = method == "server/discover";
    if let Some(params) = message
        .get_mut("params")
        .and_then(Value::as_object_mut)
        .filter(|_| is_discover)
    {
        // rmcp refuses others.
        params.retain(|name, _| name == "_meta");
    }
    let read = match text.filter(|_| !is_discover) {
        Some(text) => serde_json::from_str::<ClientJsonRpcMessage>(text),
        None => serde_json::from_value(Value::Object(message)),
    };
    match read.map_err(|_| invalid_request("expected a request, a notification or a response"))? {
        ClientJsonRpcMessage::Request(request)
            if matches!(request.request, ClientRequest::CustomRequest(_)) =>
        {
            Err(misread(&method))
        }
        read => Ok(read),
    }
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

/// Reads the parameters of a call as rmcp does, which tries the types of all methods for them first.
fn read_call(mut params: Value) -> Result<ClientRequest, serde_json::Error> {
    let meta = params
        .get_mut("_meta")
        .map(Value::take)
        .map(serde_json::from_value::<Option<RequestMetaObject>>);
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

/// Checks the parameters that are read of the methods that are served. Null is the same as no value.
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

    fn call(members: &str, params: &str) -> String {
        format!(
            r#"{{"jsonrpc": "2.0", "method": "tools/call", {members}, "params": {{{params}}}}}"#
        )
    }

    #[test]
    fn an_ordinary_call_is_read_as_any_message_is() {
        let runtime = Runtime::builder(ToolContext::builder().build().expect("no tools"))
            .build()
            .expect("a runtime");
        let state = ServerState::new(runtime);
        let ids = [
            r#""id": 1"#,
            r#""id": "a""#,
            r#""id": -9223372036854775808"#,
            r#""\u0069d": 3"#,
        ];
        let params = [
            r#""name": "t""#,
            r#""name": "\u0074\n", "arguments": null, "_meta": null"#,
            r#""arguments": {"n": 1.0, "o": {"a": [null, "\ud83d\ude00"]}}, "name": "t", "_meta": {"progressToken": 5, "x/y": {}}"#,
        ];
        for (id, params) in ids
            .iter()
            .flat_map(|id| params.iter().map(move |params| (id, params)))
        {
            let text = call(id, params);
            let ordinary = read_ordinary_call(&text).expect("an ordinary call");
            let message = parse_strict(&text).expect("an object");
            let checked =
                check(message, state.served(Revisions::All), Some(&text)).expect("a call");
            assert_eq!(format!("{ordinary:?}"), format!("{checked:?}"), "{text}");
        }
    }

    #[test]
    fn an_unusual_message_is_no_ordinary_call() {
        let unusual = [
            call(r#""id": 1.0"#, r#""name": "t""#),
            call(r#""id": 18446744073709551615"#, r#""name": "t""#),
            call(r#""id": null"#, r#""name": "t""#),
            call(r#""id": 1, "id": 2"#, r#""name": "t""#),
            call(r#""id": 1, "extra": 2"#, r#""name": "t""#),
            call(r#""id": 1"#, r#""name": null"#),
            call(r#""id": 1"#, r#""name": "t", "name": "u""#),
            call(r#""id": 1"#, r#""name": "t", "task": {}"#),
            call(
                r#""id": 1"#,
                r#""name": "t", "arguments": {"a": 1, "a": 2}"#,
            ),
            call(r#""id": 1"#, r#""name": "t", "_meta": {"a": 1, "a": 2}"#),
            call(r#""id": 1"#, r#""name": "t""#).replace("2.0", "1.0"),
            call(r#""id": 1"#, r#""name": "t""#).replace("call", "list"),
            call(r#""id": 1"#, r#""name": "t""#) + "1",
        ];
        for text in unusual {
            assert!(read_ordinary_call(&text).is_none(), "{text}");
        }
    }
}
