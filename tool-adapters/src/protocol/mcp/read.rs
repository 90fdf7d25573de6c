//! Requests, to calls.

use super::known::Known;
use super::wire::{self, Message, Params};
use crate::protocol::codec::Out;
use crate::protocol::event::Event;
use crate::protocol::fields::Object;
use crate::protocol::framing::malformed;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tool_core::ToolCall;

pub(super) fn read(text: &str, known: &mut Known, out: &mut Out<'_>) {
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
            match wire::id(*request_id).and_then(|id| known.ours(&id)) {
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
    let id = wire::id(message.id).ok_or("the id of a request has to be a text or a whole number")?;
    let params = params.ok_or("`tools/call` has no `params`")?;
    let name = wire::text(params.name).ok_or("`tools/call` has to say the tool's `name`, a text")?;
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
