//! The Model Context Protocol, from a server's side: `tools/call` requests in, JSON-RPC answers out.
//!
//! Requests' ids come back in their own type. A request's `_meta` comes as an item, `{"id": .., "_meta": {..}}`, before
//! its call; `notifications/cancelled` withdraws a call; other methods come as `Event::Unknown`. A call of a tool that
//! does not exist is answered with the error -32602, any other failure with a result that says `isError`. There is no
//! model to ask: `request` gives the result of `tools/list`.
//!
//! A whole server is `tool_adapters::mcp`.

pub(crate) mod output_schema;

#[cfg(test)]
mod tests;

use crate::providers::body;
use crate::providers::codec::{Answer, Codec, Framed, Out};
use crate::providers::event::{Event, Request};
use crate::providers::fields::{Json, Object, Text};
use crate::providers::framing::malformed;
use crate::providers::ids::Wire;
use crate::providers::protocol::Protocol;
use crate::providers::provider::Provider;
use crate::providers::spec::{Endpoint, ProviderSpec};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use tool_core::call::{ModelResult, ResultForm};
use tool_core::{Content, ErrorKind, ToolCall, ToolResponse};

/// The facts of the Model Context Protocol.
pub(crate) const SPEC: ProviderSpec = ProviderSpec {
    turn_id: "mcp",
    otel_name: "mcp",
    biller: None,
    endpoint: Endpoint::ToolServer,
    urls: None,
    binary_frames: false,
};

/// JSON-RPC's "invalid params", with which MCP says that there is no such tool.
const UNKNOWN_TOOL: i32 = -32602;

/// Reads requests.
#[derive(Debug, Default)]
struct Requests {
    known: Known,
}

impl Codec for Requests {
    fn provider(&self) -> Provider {
        Provider::Mcp
    }

    fn read(&mut self, _name: &str, text: &str, out: &mut Out<'_>) {
        read(text, &mut self.known, out);
    }

    /// What was cut off, the framing tells.
    fn finish(&mut self, _out: &mut Out<'_>) {}

    fn encode(&self, answers: &[Answer<'_>]) -> Value {
        let told = answers.iter().map(|answer| {
            let id = self.known.wire(answer.id);
            json!({"jsonrpc": "2.0", "id": id, "result": result(&answer.result)})
        });
        told.collect()
    }

    fn request(&self, request: &Request<'_>) -> Value {
        body::finished(Map::from_iter([("tools".to_owned(), body::tools(request))]), request)
    }
}

/// Reads and writes what a server of MCP does.
#[derive(Default)]
pub(crate) struct Mcp(Framed<Requests>);

impl Protocol for Mcp {
    fn provider(&self) -> Provider {
        self.0.provider()
    }

    fn push(&mut self, bytes: &[u8]) -> Vec<Event> {
        self.0.push(bytes)
    }

    fn push_event(&mut self, event: &Value) -> Vec<Event> {
        self.0.push_event(event)
    }

    fn finish(&mut self) -> Vec<Event> {
        self.0.finish()
    }

    fn encode(&self, responses: &[ToolResponse]) -> Value {
        let mut answers = self.0.encode(responses);
        for (answer, response) in answers.as_array_mut().into_iter().flatten().zip(responses) {
            let unknown = response.error().filter(|error| error.kind == ErrorKind::NotFound);
            if let (Some(error), Some(answer)) = (unknown, answer.as_object_mut()) {
                answer.remove("result");
                answer.insert("error".to_owned(), json!({"code": UNKNOWN_TOOL, "message": error.message}));
            }
        }
        answers
    }

    fn result_form(&mut self, form: ResultForm) {
        self.0.result_form(form);
    }

    fn request(&self, request: &Request<'_>) -> Value {
        self.0.request(request)
    }
}

// ---- The ids of requests, which are texts or numbers.

#[derive(Debug, Default)]
pub(crate) struct Known {
    /// By our id.
    ids: HashMap<String, Value>,
}

impl Known {
    /// Our id for a request: its own, as a text.
    pub(crate) fn assign(&mut self, id: &Value, name: &str, out: &mut Out<'_>) -> String {
        let text = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
        let kind = if id.is_string() { "text" } else { "number" };
        let wire = Wire { id: text.clone(), name: name.to_owned(), kind };
        let ours = match out.ids.wire(&text) {
            // `1` and `"1"` are two ids: that the second gets another text is no error.
            Some(before) if before.kind != kind => out.ids.assign(wire).0,
            _ => out.assign(wire),
        };
        self.ids.insert(ours.clone(), id.clone());
        ours
    }

    /// Our id of a request.
    pub(crate) fn ours(&self, id: &Value) -> Option<String> {
        let text = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
        let own = Some(text).filter(|text| self.ids.get(text) == Some(id));
        own.or_else(|| self.ids.iter().find(|(_, known)| *known == id).map(|(ours, _)| ours.clone()))
    }

    /// The id to answer under: the request's, or ours where there was none.
    pub(crate) fn wire(&self, ours: &str) -> Value {
        self.ids.get(ours).cloned().unwrap_or_else(|| ours.into())
    }
}

// ---- Requests, to calls.

pub(crate) fn read(text: &str, known: &mut Known, out: &mut Out<'_>) {
    if text.trim_ascii_start().starts_with('[') {
        for message in out.parse::<Vec<&RawValue>>(text).unwrap_or_default() {
            one(message.get(), known, out);
        }
    } else {
        one(text, known, out);
    }
}

fn one(text: &str, known: &mut Known, out: &mut Out<'_>) {
    let Some(Object(message)) = out.parse::<Object<Message<'_>>>(text) else { return };
    let Some(message) = message else { return out.error(malformed("a message is no JSON-RPC object", text)) };
    match (message.method.or_empty(), &*message.params) {
        // Without an id it wants no answer, and a call without an answer there is not.
        ("tools/call", _) if message.id.0.is_none() => out.unknown(text),
        ("tools/call", params) => {
            if let Err(wrong) = call(&message, params.as_ref(), known, out) {
                out.error(malformed(wrong, text));
            }
        }
        ("notifications/cancelled", Some(Params { request_id, .. })) => {
            match id(*request_id).and_then(|id| known.ours(&id)) {
                Some(id) => out.push(Event::Cancelled(vec![id])),
                None => out.unknown(text),
            }
        }
        _ => out.unknown(text),
    }
}

fn call(
    message: &Message<'_>,
    params: Option<&Params<'_>>,
    known: &mut Known,
    out: &mut Out<'_>,
) -> Result<(), &'static str> {
    let id = id(message.id).ok_or("the id of a request has to be a text or a whole number")?;
    let params = params.ok_or("`tools/call` has no `params`")?;
    let name = text(params.name).ok_or("`tools/call` has to say the tool's `name`, a text")?;
    let ours = known.assign(&id, &name, out);
    if let Some(meta) = params.meta.read::<Value>().filter(|meta| !meta.is_null()) {
        out.push(Event::Item(json!({"id": id, "_meta": meta})));
    }
    let arguments = match params.arguments.0.map_or("null", RawValue::get) {
        "null" => "{}",
        arguments => arguments,
    };
    out.push(Event::CallStarted { id: ours.clone(), name: name.clone() });
    out.push(Event::Arguments { id: ours.clone(), delta: arguments.to_owned() });
    out.push(Event::Call(ToolCall::new(ours, name, arguments)));
    Ok(())
}

// ---- What a client of a server of tools sends: JSON-RPC.

/// A request, a notification or an answer.
#[derive(Debug, Deserialize)]
pub(crate) struct Message<'a> {
    #[serde(borrow, default)]
    pub(crate) id: Json<'a>,
    #[serde(borrow, default)]
    pub(crate) method: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) params: Object<Params<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Params<'a> {
    #[serde(borrow, default)]
    pub(crate) name: Json<'a>,
    #[serde(borrow, default)]
    pub(crate) arguments: Json<'a>,
    #[serde(borrow, default, rename = "_meta")]
    pub(crate) meta: Json<'a>,
    /// Of `notifications/cancelled`.
    #[serde(borrow, default)]
    pub(crate) request_id: Json<'a>,
}

/// An id: a text or a whole number, and nothing else.
pub(crate) fn id(id: Json<'_>) -> Option<Value> {
    let id = id.read::<Value>()?;
    (id.is_string() || id.is_i64() || id.is_u64()).then_some(id)
}

/// A text, and nothing else.
pub(crate) fn text(json: Json<'_>) -> Option<String> {
    json.read::<String>()
}

// ---- Results, in MCP's form.

/// The result of `tools/call`. Data that is an object is told as structured content too.
pub(crate) fn result(result: &ModelResult) -> Value {
    let content = match result.content() {
        Some(parts) => parts.iter().map(part).collect(),
        None if result.text.is_empty() => Vec::new(),
        None => vec![json!({"type": "text", "text": result.text})],
    };
    let mut told = Map::from_iter([
        ("content".to_owned(), content.into()),
        ("isError".to_owned(), result.is_error.into()),
        // Since 2026-07-28; older clients pass over it.
        ("resultType".to_owned(), "complete".into()),
    ]);
    if let (false, Ok(data @ Value::Object(_))) = (result.is_error, serde_json::from_str(&result.text)) {
        told.insert("structuredContent".to_owned(), data);
    }
    Value::Object(told)
}

fn part(part: &Content) -> Value {
    match part {
        Content::Text { text } => json!({"type": "text", "text": text}),
        Content::Image { data, mime_type } => json!({"type": "image", "data": data, "mimeType": mime_type}),
        Content::Audio { data, mime_type } => json!({"type": "audio", "data": data, "mimeType": mime_type}),
        Content::Resource { uri, mime_type, text } => resource(uri, mime_type.as_deref(), text.as_deref()),
        other => json!({"type": "text", "text": body::text_of(other)}),
    }
}

/// A resource whose text is at hand, or a link to one.
fn resource(uri: &str, mime_type: Option<&str>, text: Option<&str>) -> Value {
    let mut told = Map::from_iter([("uri".to_owned(), uri.into())]);
    told.extend(mime_type.map(|mime_type| ("mimeType".to_owned(), mime_type.into())));
    if let Some(text) = text {
        told.insert("text".to_owned(), text.into());
        return json!({"type": "resource", "resource": told});
    }
    told.extend([("type".to_owned(), "resource_link".into()), ("name".to_owned(), uri.into())]);
    Value::Object(told)
}
