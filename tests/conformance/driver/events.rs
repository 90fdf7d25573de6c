//! `{"do": "parse", "provider", "texts"?: [".."], "values"?: [..]}`: what a protocol reads off the pieces of a stream, or
//! off events that are already parsed.

use crate::{Answer, list, provider, text};
use serde_json::{Value, json};
use tool_adapters::protocol;
use tool_adapters::providers::Event;

pub(crate) fn parse(command: &Value) -> Answer {
    let mut protocol = protocol(provider(command)?);
    let mut events = Vec::new();
    for piece in list(&command["texts"]) {
        events.extend(protocol.push(text(piece).as_bytes()));
    }
    for value in list(&command["values"]) {
        events.extend(protocol.push_event(value));
    }
    events.extend(protocol.finish());
    Ok(events.iter().map(told).collect())
}

fn told(event: &Event) -> Value {
    match event {
        Event::Text(text) => json!({"event": "text", "text": text}),
        Event::Reasoning(text) => json!({"event": "reasoning", "text": text}),
        Event::CallStarted { id, name } => json!({"event": "started", "id": id, "name": name}),
        Event::Arguments { id, delta } => json!({"event": "arguments", "id": id, "delta": delta}),
        Event::Call(call) => {
            json!({"event": "call", "id": call.id(), "name": call.name(), "arguments": call.arguments()})
        }
        Event::Cancelled(ids) => json!({"event": "cancelled", "ids": ids}),
        Event::Item(item) => json!({"event": "item", "item": item}),
        Event::ServiceTier(tier) => json!({"event": "service tier", "tier": tier}),
        Event::Usage(usage) => json!({"event": "usage", "usage": usage}),
        Event::Response { id, model } => json!({"event": "response", "id": id, "model": model}),
        Event::Interrupted => json!({"event": "interrupted"}),
        Event::Audio { data, mime_type } => {
            json!({"event": "audio", "data": data, "mimeType": mime_type})
        }
        Event::Finished(finish) => json!({"event": "finished", "finish": format!("{finish:?}")}),
        Event::Unknown(value) => json!({"event": "unknown", "value": value}),
        Event::Error(error) => json!({"event": "error", "error": error.to_string()}),
        other => json!({"event": format!("{other:?}")}),
    }
}
