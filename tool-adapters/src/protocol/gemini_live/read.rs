//! Messages of the server, to events.

use super::Known;
use super::wire::{Message, ServerContent};
use crate::protocol::codec::Out;
use crate::protocol::errors::provider_error;
use crate::protocol::event::{Event, Finish, ProtocolError};
use crate::protocol::fields::Object;
use crate::protocol::gemini::{Form, call, read_parts};

/// The turn that is being read.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// The model has begun, and not said that it is done.
    begun: bool,
}

impl Reader {
    pub(super) fn read(&mut self, text: &str, known: &mut Known, out: &mut Out<'_>) {
        let Some(Object(message)) = out.parse::<Object<Message<'_>>>(text) else { return };
        let Some(message) = message else { return out.unknown(text) };
        let mut told = message.usage_metadata.is_some();
        if let Some(content) = &*message.server_content {
            told |= self.content(content, known, out);
        }
        if let Some(calls) = &*message.tool_call {
            (told, self.begun) = (true, true);
            for function in &calls.function_calls.0 {
                call(function, text, &mut |id, wire| known.add(id, wire), out);
            }
        }
        if let Some(cancelled) = &*message.tool_call_cancellation {
            told = true;
            let ids = known.cancel(&cancelled.ids.read::<Vec<String>>().unwrap_or_default());
            out.push(Event::Cancelled(ids));
        }
        if let Some(counts) = *message.usage_metadata {
            out.push(Event::Usage(counts.usage()));
        }
        if !message.error.text().is_empty() {
            let error = serde_json::from_str(text).ok().as_ref().and_then(provider_error);
            told |= error.is_some();
            out.events.extend(error.map(Event::Error));
        }
        if !told || message.go_away.0.is_some() || message.session_resumption_update.0.is_some() {
            out.unknown(text);
        }
    }

    /// Whether all that it says was told.
    fn content(&mut self, content: &ServerContent<'_>, known: &mut Known, out: &mut Out<'_>) -> bool {
        let mut told = content.generation_complete.or_empty() == "true";
        if let Some(turn) = &*content.model_turn {
            (told, self.begun) = (true, true);
            read_parts(turn, Form::Live, &mut |id, wire| known.add(id, wire), out);
        }
        if let Some(said) = &*content.output_transcription {
            (told, self.begun) = (true, true);
            out.text(said.text.or_empty());
        }
        if content.interrupted.or_empty() == "true" {
            told = true;
            out.push(Event::Interrupted);
        }
        if content.turn_complete.or_empty() == "true" {
            (told, self.begun) = (true, false);
            out.push(Event::Finished(match content.turn_complete_reason.or_empty() {
                "" | "TURN_COMPLETE_REASON_UNSPECIFIED" => Finish::Stop,
                reason => Finish::Other(reason.to_owned()),
            }));
        }
        told && content.input_transcription.0.is_none()
    }

    /// The connection is closed.
    pub(super) fn finish(&mut self, out: &mut Out<'_>) {
        if std::mem::take(&mut self.begun) {
            out.error(ProtocolError::Truncated { call_id: None });
        }
    }
}
