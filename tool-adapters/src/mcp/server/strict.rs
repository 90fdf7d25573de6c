//! The strict check of each incoming message, before rmcp reads it.
//!
//! Two parsers that read one text as two different messages let a sender bypass checks. So member names have to match
//! exactly, and duplicate and unknown members are refused. Each refused message gets one JSON-RPC error as its answer.

use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorCode};
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value, json};
use std::cell::RefCell;
use std::fmt;

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
    let value = parse_unique(text)?;
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

/// Parses a JSON text, and refuses duplicate members at any depth.
fn parse_unique(text: &str) -> Result<Value, InvalidMessage> {
    let duplicate = RefCell::new(None);
    let mut source = serde_json::Deserializer::from_str(text);
    let unique = UniqueKeys { duplicate: &duplicate };
    let read = unique.deserialize(&mut source).and_then(|value| source.end().map(|()| value));
    read.map_err(|error| match duplicate.into_inner() {
        Some(key) => InvalidMessage::invalid_request(format!("duplicate member `{key}`")),
        // The text is not JSON, nests too deep, or has trailing characters.
        None => InvalidMessage::parse_error(format!("the message is not valid JSON: {error}")),
    })
}

#[derive(Clone, Copy)]
struct UniqueKeys<'a> {
    /// The duplicate member that was found. An error of serde carries only a text.
    duplicate: &'a RefCell<Option<String>>,
}

impl<'de> DeserializeSeed<'de> for UniqueKeys<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, source: D) -> Result<Value, D::Error> {
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for UniqueKeys<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut read = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            read.push(item);
        }
        Ok(Value::Array(read))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut read = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            if read.contains_key(&key) {
                *self.duplicate.borrow_mut() = Some(excerpt(&key));
                return Err(A::Error::custom("duplicate member"));
            }
            let value = members.next_value_seed(self)?;
            read.insert(key, value);
        }
        Ok(Value::Object(read))
    }
}
