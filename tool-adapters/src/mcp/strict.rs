//! JSON in which no member stands twice.

use rmcp::model::{ClientJsonRpcMessage, ClientRequest};
use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value, json};
use std::cell::RefCell;
use std::fmt;

#[derive(Debug, PartialEq)]
pub(crate) enum Error {
    /// It is not JSON, nests too deep, or has more behind it.
    Syntax(String),
    /// A member stands twice.
    Duplicate(String),
}

/// Reads a text in which no object has a member twice, at any depth.
pub(crate) fn parse_unique(text: &str) -> Result<Value, Error> {
    let twice = RefCell::new(None);
    let mut source = serde_json::Deserializer::from_str(text);
    let read = Sole { twice: &twice }.deserialize(&mut source).and_then(|value| source.end().map(|()| value));
    read.map_err(|error| match twice.into_inner() {
        Some(key) => Error::Duplicate(key),
        None => Error::Syntax(error.to_string()),
    })
}

#[derive(Clone, Copy)]
struct Sole<'a> {
    /// The member that stands twice: the text of an error could be anybody's.
    twice: &'a RefCell<Option<String>>,
}

impl<'de> DeserializeSeed<'de> for Sole<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, source: D) -> Result<Value, D::Error> {
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Sole<'_> {
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
                let shown = key.chars().take(64).collect::<String>();
                *self.twice.borrow_mut() = Some(shown.escape_debug().to_string());
                return Err(A::Error::custom("a member stands twice"));
            }
            let value = members.next_value_seed(self)?;
            read.insert(key, value);
        }
        Ok(Value::Object(read))
    }
}

// ---- What is a message and what is not, before anything reads it: two parsers that take one text for two messages are how
// checks are passed by. Exact names, no duplicate and no unknown members; each refusal is one typed answer.

/// The answer to what is no message.
#[derive(Debug, PartialEq)]
pub(crate) struct Refused {
    pub(crate) id: Value,
    pub(crate) code: i32,
    pub(crate) message: String,
}

const PARSE: i32 = -32700;
const INVALID: i32 = -32600;
pub(crate) const PARAMS: i32 = -32602;

impl Refused {
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self { id: Value::Null, code: INVALID, message: message.into() }
    }

    fn under(mut self, id: Option<&Value>) -> Self {
        self.id = id.cloned().unwrap_or_default();
        self
    }

    pub(crate) fn to_json(&self) -> String {
        let error = json!({"code": self.code, "message": self.message});
        json!({"jsonrpc": "2.0", "id": self.id, "error": error}).to_string()
    }
}

/// Reads one message.
pub(crate) fn read(bytes: &[u8]) -> Result<ClientJsonRpcMessage, Refused> {
    let text = std::str::from_utf8(bytes).map_err(|_| parse("the message is not UTF-8"))?;
    let value = parse_unique(text).map_err(|error| match error {
        Error::Syntax(why) => parse(format!("the message is not JSON: {why}")),
        Error::Duplicate(key) => Refused::invalid(format!("the member `{key}` stands twice")),
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
            Err(invalid_params(format!("the parameters of `{method}` are not what it takes")).under(id))
        }
        _ => Ok(read),
    }
}

fn parse(message: impl Into<String>) -> Refused {
    Refused { code: PARSE, ..Refused::invalid(message) }
}

fn invalid_params(message: impl Into<String>) -> Refused {
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
            Err(invalid_params("`params` has to be an object").under(usable))
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
                Some(cursor) if !cursor.is_string() => Err(invalid_params("`cursor` has to be a text")),
                _ => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

fn check_call(given: &Map<String, Value>) -> Result<(), Refused> {
    only("tools/call", given, &["name", "arguments", "_meta", "inputResponses", "requestState", "task"])?;
    if !given.get("name").is_some_and(Value::is_string) {
        return Err(invalid_params("`tools/call` needs the tool's `name`, a text"));
    }
    if given.get("arguments").is_some_and(|arguments| !arguments.is_object()) {
        return Err(invalid_params("`arguments` has to be an object"));
    }
    Ok(())
}

fn only(method: &str, given: &Map<String, Value>, known: &[&str]) -> Result<(), Refused> {
    match given.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(invalid_params(format!("`{method}` has no parameter `{}`", shown(key)))),
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
