//! Parts of what Gemini says, to events.

use super::wire::{Call, Content, Part};
use crate::protocol::codec::Out;
use crate::protocol::event::{Event, ProtocolError};
use crate::protocol::framing::malformed;
use crate::protocol::ids::Wire;
use serde_json::value::RawValue;
use tool_core::ToolCall;

/// What becomes an item, and what an event of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::protocol) enum Form {
    /// Every part is an item.
    Message,
    /// Parts that are no text and no call are items; sound is an event.
    Live,
}

/// Reads parts; the calls among them go to `called` with our ids.
pub(in crate::protocol) fn read(
    content: &Content<'_>,
    form: Form,
    called: &mut dyn FnMut(&str, Wire),
    out: &mut Out<'_>,
) {
    for raw in content.parts.read::<Vec<&RawValue>>().unwrap_or_default() {
        part(raw.get(), form, called, out);
    }
}

fn part(raw: &str, form: Form, called: &mut dyn FnMut(&str, Wire), out: &mut Out<'_>) {
    let Some(part) = out.parse::<Part<'_>>(raw) else { return };
    match part.thought.or_empty() {
        "true" => out.reasoning(part.text.or_empty()),
        _ => out.text(part.text.or_empty()),
    }
    if let Some(function) = &*part.function_call {
        call(function, raw, called, out);
    }
    let said = part.text.0.is_some() || part.function_call.is_some();
    if form == Form::Live {
        match &*part.inline_data {
            Some(blob) if blob.mime_type.or_empty().starts_with("audio/") => {
                let (data, mime_type) = (blob.data.or_empty().to_owned(), blob.mime_type.or_empty().to_owned());
                return out.push(Event::Audio { data, mime_type });
            }
            _ if said => return,
            _ => {}
        }
    }
    if let Ok(item) = serde_json::from_str(raw) {
        out.push(Event::Item(item));
    }
}

/// Reads a call, which comes whole.
pub(in crate::protocol) fn call(function: &Call<'_>, raw: &str, called: &mut dyn FnMut(&str, Wire), out: &mut Out<'_>) {
    if function.partial_args.0.is_some() || function.will_continue.or_empty() == "true" {
        let message = "a call in pieces cannot be read: ask without `streamFunctionCallArguments`";
        return out.error(malformed(message, raw));
    }
    let name = function.name.or_empty();
    let wire = Wire { id: function.id.or_empty().to_owned(), name: name.to_owned(), ..Wire::default() };
    let id = out.assign(wire.clone());
    called(&id, wire);
    out.push(Event::CallStarted { id: id.clone(), name: name.to_owned() });
    let arguments = match &*function.args.text() {
        "" => "{}".to_owned(),
        arguments => arguments.to_owned(),
    };
    out.push(Event::Arguments { id: id.clone(), delta: arguments.clone() });
    out.push(Event::Call(ToolCall::new(id, name, arguments)));
}

/// The error that a reason to end is, where it is one.
pub(super) fn failure(reason: &str, message: &str) -> ProtocolError {
    let message = if message.is_empty() { "the model's answer could not be used" } else { message };
    ProtocolError::Provider { code: Some(reason.to_owned()), message: message.to_owned() }
}
