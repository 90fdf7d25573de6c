//! From the parts of the model's content to events, for generateContent and Live.

use crate::providers::call_ids::WireCall;
use crate::providers::codec::EventSink;
use crate::providers::event::{Event, malformed};
use crate::providers::gemini::wire::{FunctionCall, WireContent, WirePart};
use tool_core::ToolCall;

/// The parts that become items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartItems {
    /// Every part, for a conversation that the client keeps.
    All,
    /// Parts other than text, calls and audio, for a conversation that the server keeps. Audio is an event.
    Other,
}

/// Reads the parts of a content; returns true if there are calls among them.
pub(crate) fn read_parts(
    content: &WireContent<'_>,
    items: PartItems,
    sink: &mut EventSink<'_>,
) -> serde_json::Result<bool> {
    let mut has_calls = false;
    for raw in content.parts.items() {
        has_calls |= read_part(raw.get(), items, sink)?;
    }
    Ok(has_calls)
}

fn read_part(raw: &str, items: PartItems, sink: &mut EventSink<'_>) -> serde_json::Result<bool> {
    let part = serde_json::from_str::<WirePart<'_>>(raw)?;
    if part.thought.is_true() {
        sink.reasoning(part.text.as_str());
    } else {
        sink.text(part.text.as_str());
    }
    let has_call = part.function_call.as_ref().is_some_and(|call| read_call(call, raw, sink));
    if items == PartItems::Other {
        let audio = part.inline_data.as_ref().filter(|data| data.mime_type.as_str().starts_with("audio/"));
        if let Some(audio) = audio {
            let (data, mime_type) = (audio.data.as_str().to_owned(), audio.mime_type.as_str().to_owned());
            sink.push(Event::Audio { data, mime_type });
            return Ok(has_call);
        }
        if part.text.0.is_some() || part.function_call.is_some() {
            return Ok(has_call);
        }
    }
    sink.item(raw)?;
    Ok(has_call)
}

/// Reads a call, which comes whole; returns false for one in pieces.
pub(crate) fn read_call(call: &FunctionCall<'_>, raw: &str, sink: &mut EventSink<'_>) -> bool {
    if call.partial_args.0.is_some() || call.will_continue.is_true() {
        let message = "a call in pieces cannot be read: send the request without `streamFunctionCallArguments`";
        sink.error(malformed(message, raw));
        return false;
    }
    let name = call.name.as_str().to_owned();
    let id = sink.assign(WireCall { id: call.id.as_str().to_owned(), name: name.clone(), kind: "" });
    sink.push(Event::CallStarted { id: id.clone(), name: name.clone() });
    let arguments = call.args.text();
    let arguments = if arguments.is_empty() { "{}".to_owned() } else { arguments.into_owned() };
    sink.push(Event::Arguments { id: id.clone(), delta: arguments.clone() });
    sink.push(Event::Call(ToolCall::new(id, name, arguments)));
    true
}
