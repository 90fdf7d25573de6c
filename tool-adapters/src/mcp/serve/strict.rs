//! What is a message and what is not, before anything reads it: two parsers that take one text for two messages are how
//! checks are passed by. Exact names, no duplicate and no unknown members; each refusal is one typed answer.

use super::super::sole;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest};
use serde_json::{Map, Value, json};

/// The answer to what is no message.
#[derive(Debug, PartialEq)]
pub(super) struct Refused {
    pub(super) id: Value,
    pub(super) code: i32,
    pub(super) message: String,
}

const PARSE: i32 = -32700;
const INVALID: i32 = -32600;
pub(super) const PARAMS: i32 = -32602;

impl Refused {
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self { id: Value::Null, code: INVALID, message: message.into() }
    }

    fn under(mut self, id: Option<&Value>) -> Self {
        self.id = id.cloned().unwrap_or_default();
        self
    }

    pub(super) fn to_json(&self) -> String {
        let error = json!({"code": self.code, "message": self.message});
        json!({"jsonrpc": "2.0", "id": self.id, "error": error}).to_string()
    }
}

/// Reads one message.
pub(super) fn read(bytes: &[u8]) -> Result<ClientJsonRpcMessage, Refused> {
    let text = std::str::from_utf8(bytes).map_err(|_| parse("the message is not UTF-8"))?;
    let value = sole::parse(text).map_err(|error| match error {
        sole::Error::Syntax(why) => parse(format!("the message is not JSON: {why}")),
        sole::Error::Duplicate(key) => Refused::invalid(format!("the member `{key}` stands twice")),
    })?;
    let Value::Object(message) = &value else {
        return Err(Refused::invalid("a message is an object; batches are not taken"));
    };
    check_envelope(message)?;
    let id = message.get("id");
    if let (Some(method), Some(_)) = (message.get("method").and_then(Value::as_str), id) {
        check_params(method, message.get("params")).map_err(|refused| refused.under(id))?;
    }
    let read = serde_json::from_str::<ClientJsonRpcMessage>(text)
        .map_err(|_| Refused::invalid("the message is no request, notification or response").under(id))?;
    match &read {
        ClientJsonRpcMessage::Request(request) if is_misread(&request.request) => {
            let method = message.get("method").and_then(Value::as_str).unwrap_or_default();
            Err(params(format!("the parameters of `{method}` are not what it takes")).under(id))
        }
        _ => Ok(read),
    }
}

fn parse(message: impl Into<String>) -> Refused {
    Refused { code: PARSE, ..Refused::invalid(message) }
}

fn params(message: impl Into<String>) -> Refused {
    Refused { code: PARAMS, ..Refused::invalid(message) }
}

/// The members of JSON-RPC, by their exact names.
fn check_envelope(message: &Map<String, Value>) -> Result<(), Refused> {
    let id = message.get("id");
    let usable = id.filter(|id| id.is_string() || id.is_i64());
    if id.is_some() && usable.is_none() {
        return Err(Refused::invalid("an `id` is a text or a whole number"));
    }
    let refused = |text: String| Err(Refused::invalid(text).under(usable));
    let known = ["jsonrpc", "id", "method", "params", "result", "error"];
    if let Some(key) = message.keys().find(|key| !known.contains(&key.as_str())) {
        return refused(format!("a message has no member `{}`", shown(key)));
    }
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return refused("`jsonrpc` has to be \"2.0\"".to_owned());
    }
    let kinds = ["method", "result", "error"].iter().filter(|kind| message.contains_key(**kind)).count();
    if kinds != 1 {
        return refused("a message has one of `method`, `result` and `error`".to_owned());
    }
    match (message.get("method"), message.get("params")) {
        (Some(method), _) if !method.is_string() => refused("`method` has to be a text".to_owned()),
        (None, Some(_)) => refused("only a request or a notification has `params`".to_owned()),
        (Some(_), Some(params)) if !params.is_object() => {
            Err(self::params("`params` has to be an object").under(usable))
        }
        _ => Ok(()),
    }
}

/// The parameters of what is served, by their exact names.
fn check_params(method: &str, given: Option<&Value>) -> Result<(), Refused> {
    let none = Map::new();
    let given = given.and_then(Value::as_object).unwrap_or(&none);
    match method {
        "tools/call" => check_call(given),
        "tools/list" => {
            only(method, given, &["cursor", "_meta"])?;
            match given.get("cursor") {
                Some(cursor) if !cursor.is_string() => Err(params("`cursor` has to be a text")),
                _ => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

fn check_call(given: &Map<String, Value>) -> Result<(), Refused> {
    only("tools/call", given, &["name", "arguments", "_meta", "inputResponses", "requestState", "task"])?;
    if !given.get("name").is_some_and(Value::is_string) {
        return Err(params("`tools/call` needs the tool's `name`, a text"));
    }
    if given.get("arguments").is_some_and(|arguments| !arguments.is_object()) {
        return Err(params("`arguments` has to be an object"));
    }
    Ok(())
}

fn only(method: &str, given: &Map<String, Value>, known: &[&str]) -> Result<(), Refused> {
    match given.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(params(format!("`{method}` has no parameter `{}`", shown(key)))),
        None => Ok(()),
    }
}

/// Whether a method that is served came with parameters that it does not take: it is then read as one that nobody
/// knows.
fn is_misread(request: &ClientRequest) -> bool {
    let served = ["tools/list", "tools/call"];
    matches!(request, ClientRequest::CustomRequest(custom) if served.contains(&custom.method.as_str()))
}

/// A name of the sender's, fit to be read.
fn shown(name: &str) -> String {
    name.chars().take(64).collect::<String>().escape_debug().to_string()
}
