//! From JSON-RPC requests to events.

use crate::providers::call_ids::WireCall;
use crate::providers::codec::{EventSink, MessageReader};
use crate::providers::event::{Event, malformed};
use crate::providers::lenient::{LenientObject, LenientText, RawJson};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tool_core::ToolCall;

/// The kinds of request ids.
pub(crate) const TEXT_ID: &str = "text";
const NUMBER_ID: &str = "number";

/// Reads the requests to an MCP server.
#[derive(Debug, Default)]
pub(crate) struct McpReader;

/// A request, a notification or an answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct RpcMessage<'a> {
    id: RawJson<'a>,
    method: LenientText<'a>,
    params: LenientObject<RpcParams<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct RpcParams<'a> {
    name: RawJson<'a>,
    arguments: RawJson<'a>,
    #[serde(rename = "_meta")]
    meta: RawJson<'a>,
    /// The request that `notifications/cancelled` is about.
    request_id: RawJson<'a>,
}

impl MessageReader for McpReader {
    fn read(&mut self, _name: &str, text: &str, sink: &mut EventSink<'_>) -> serde_json::Result<()> {
        if !text.trim_ascii_start().starts_with('[') {
            return read_message(text, sink);
        }
        let messages = serde_json::from_str::<Vec<&RawValue>>(text)?;
        messages.into_iter().try_for_each(|message| read_message(message.get(), sink))
    }

    /// A request is whole, or the framing reports that it is cut off.
    fn finish(&mut self, _sink: &mut EventSink<'_>) {}
}

fn read_message(text: &str, sink: &mut EventSink<'_>) -> serde_json::Result<()> {
    let LenientObject(message) = serde_json::from_str::<LenientObject<RpcMessage<'_>>>(text)?;
    let Some(message) = message else {
        sink.error(malformed("expected a JSON-RPC object", text));
        return Ok(());
    };
    match (message.method.as_str(), &*message.params) {
        // A call is always answered, and a message without an id is not.
        ("tools/call", _) if message.id.0.is_none() => sink.unknown(text),
        ("tools/call", params) => {
            if let Err(error) = read_call(message.id, params.as_ref(), sink) {
                sink.error(malformed(error, text));
            }
            Ok(())
        }
        ("notifications/cancelled", Some(params)) => {
            let ours = request_id(params.request_id).and_then(|id| {
                let WireCall { id, kind, .. } = wire_call(&id, "");
                sink.ids.of_kind(&id, kind).map(str::to_owned)
            });
            match ours {
                Some(id) => sink.push(Event::Cancelled(vec![id])),
                None => return sink.unknown(text),
            }
            Ok(())
        }
        _ => sink.unknown(text),
    }
}

fn read_call(id: RawJson<'_>, params: Option<&RpcParams<'_>>, sink: &mut EventSink<'_>) -> Result<(), &'static str> {
    let id = request_id(id).ok_or("expected a text or a whole number as the id of a request")?;
    let params = params.ok_or("`tools/call` has no `params`")?;
    let name = params.name.parse::<String>().ok_or("expected a text as the `name` of `tools/call`")?;
    let ours = assign_id(&id, &name, sink);
    if let Some(meta) = params.meta.parse::<Value>().filter(|meta| !meta.is_null()) {
        sink.push(Event::Item(json!({"id": id, "_meta": meta})));
    }
    let arguments = match params.arguments.0.map_or("null", RawValue::get) {
        "null" => "{}",
        arguments => arguments,
    };
    sink.push(Event::CallStarted { id: ours.clone(), name: name.clone() });
    sink.push(Event::Arguments { id: ours.clone(), delta: arguments.to_owned() });
    sink.push(Event::Call(ToolCall::new(ours, name, arguments)));
    Ok(())
}

/// Parses an id; `None` for another value than a text or a whole number.
fn request_id(id: RawJson<'_>) -> Option<Value> {
    let id = id.parse::<Value>()?;
    (id.is_string() || id.is_i64() || id.is_u64()).then_some(id)
}

fn wire_call(id: &Value, name: &str) -> WireCall {
    let text = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
    WireCall { id: text, name: name.to_owned(), kind: if id.is_string() { TEXT_ID } else { NUMBER_ID } }
}

/// Returns our id of a request: its own as a text.
fn assign_id(id: &Value, name: &str, sink: &mut EventSink<'_>) -> String {
    let call = wire_call(id, name);
    match sink.ids.get(&call.id) {
        // `1` and `"1"` are two ids: that the second becomes another text is not an error.
        Some(before) if before.kind != call.kind => sink.ids.assign(call).0,
        _ => sink.assign(call),
    }
}
