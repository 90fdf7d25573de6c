//! The reader of the parts of a content: texts, thoughts, calls, and what the provider ran itself.

use crate::codec::{EventSink, WireCall};
use crate::event::{Event, ProtocolError, malformed, unparsed};
use crate::gemini::pieces::CallPieces;
use crate::gemini::seen_parts::SeenParts;
use crate::gemini::wire::{Content, FunctionCall, PartItems, WirePart};
use crate::lenient::RawObject;
use serde_json::{Value, json};
use tool_core::ToolCall;

/// Reads the parts of a message.
#[derive(Debug)]
pub(crate) struct PartReader {
    items: PartItems,
    pieces: CallPieces,
    seen: SeenParts,
    has_calls: bool,
    has_tool_results: bool,
}

impl PartReader {
    pub(crate) fn new(items: PartItems) -> Self {
        Self {
            items,
            pieces: CallPieces::default(),
            seen: SeenParts::default(),
            has_calls: false,
            has_tool_results: false,
        }
    }

    /// Returns true if the message has a call.
    pub(crate) fn has_calls(&self) -> bool {
        self.has_calls
    }

    /// Returns true if the message has the result of a tool that the provider ran itself.
    pub(crate) fn has_tool_results(&self) -> bool {
        self.has_tool_results
    }

    pub(crate) fn read(
        &mut self,
        content: &Content<'_>,
        sink: &mut EventSink<'_>,
    ) -> Result<(), ProtocolError> {
        if !content.unreadable.is_empty() {
            return Err(malformed(
                "expected a content with an array of parts",
                content.unreadable,
            ));
        }
        let parts = content.parts.0.as_deref().unwrap_or_default();
        let new = self.seen.new_parts(parts);
        for (at, part) in parts.iter().enumerate().skip(new.from) {
            let text_from = if at == new.from { new.text_from } else { 0 };
            self.read_part(part, text_from, sink)?;
        }
        Ok(())
    }

    /// Reads a text that is a part of its own.
    pub(crate) fn read_text(
        &mut self,
        piece: &str,
        sink: &mut EventSink<'_>,
    ) -> serde_json::Result<()> {
        sink.text(piece);
        self.seen.add_text(false, piece);
        let item = json!({"text": piece});
        if sink.halves.were_seen {
            return sink.item(&item.to_string());
        }
        sink.push(Event::Item(item));
        Ok(())
    }

    fn read_part(
        &mut self,
        part: &RawObject<'_, WirePart<'_>>,
        text_from: usize,
        sink: &mut EventSink<'_>,
    ) -> Result<(), ProtocolError> {
        let RawObject {
            raw,
            object: Some(wire),
        } = part
        else {
            return Err(malformed("expected an object as a part", part.raw));
        };
        wire.check(raw)?;
        if let Some(call) = &*wire.function_call.value {
            return self.read_call(call, raw, wire.signature(), sink);
        }
        self.has_tool_results |=
            wire.tool_response.0.is_some() || wire.code_execution_result.0.is_some();
        let text = wire.text.value.as_str();
        let piece = text.get(text_from..).unwrap_or_default();
        self.emit_text(wire, piece, sink);
        if self.items == PartItems::Other {
            let audio = wire
                .inline_data
                .as_ref()
                .filter(|data| data.mime_type.as_str().starts_with("audio/"));
            if let Some(audio) = audio {
                let mime_type = audio.mime_type.as_str().to_owned();
                sink.push(Event::Audio {
                    data: audio.data.as_str().to_owned(),
                    mime_type,
                });
                return Ok(());
            }
            if wire.text.value.0.is_some() {
                return Ok(());
            }
        }
        if self.items == PartItems::All && wire.text.value.0.is_none() {
            self.seen.add_other(raw);
        }
        if text_from == 0 {
            return sink.item(raw).map_err(|error| unparsed(error, raw));
        }
        let mut item = serde_json::from_str::<Value>(raw).map_err(|error| unparsed(error, raw))?;
        if let Some(text) = item.get_mut("text") {
            *text = piece.into();
        }
        sink.item(&item.to_string())
            .map_err(|error| unparsed(error, raw))
    }

    fn emit_text(&mut self, part: &WirePart<'_>, piece: &str, sink: &mut EventSink<'_>) {
        let is_thought = part.thought.is_true();
        if is_thought {
            sink.reasoning(piece);
        } else {
            sink.text(piece);
        }
        if self.items == PartItems::All {
            self.seen.add_text(is_thought, piece);
        }
    }

    /// Reads a call or a piece of one. `raw` is the part that has it, with this signature.
    pub(crate) fn read_call(
        &mut self,
        call: &FunctionCall<'_>,
        raw: &str,
        signature: &str,
        sink: &mut EventSink<'_>,
    ) -> Result<(), ProtocolError> {
        call.check(raw)?;
        if self.pieces.takes(call) {
            if let Some(whole) = self.pieces.read(call, raw, sink)? {
                let is_new = self.seen.add_call(
                    &whole.wire.id,
                    &whole.wire.name,
                    &whole.arguments,
                    whole.signature(),
                );
                self.has_calls |= is_new;
                if is_new {
                    whole.emit(self.items, sink);
                }
            }
            return Ok(());
        }
        let id = call.id.as_str();
        let name = call.name.as_str();
        // A model may invent an empty name, which the result tells. A call without a name and an id
        // has no answer.
        if call.name.0.is_none() || name.is_empty() && id.is_empty() {
            return Err(ProtocolError::Orphan {
                key: "functionCall".to_owned(),
            });
        }
        let arguments = call.args.text();
        let mut arguments = if arguments.is_empty() {
            "{}".to_owned()
        } else {
            arguments.into_owned()
        };
        if !self.seen.add_call(id, name, &arguments, signature) {
            return Ok(());
        }
        self.has_calls = true;
        sink.join(&mut arguments);
        let id = sink.assign(WireCall {
            id: id.to_owned(),
            name: name.to_owned(),
            kind: "",
        });
        sink.push(Event::CallStarted {
            id: id.clone(),
            name: name.to_owned(),
        });
        sink.push(Event::Arguments {
            id: id.clone(),
            delta: arguments.clone(),
        });
        sink.push(Event::Call(ToolCall::new(id, name, arguments)));
        if self.items == PartItems::Other {
            return Ok(());
        }
        sink.item(raw).map_err(|error| unparsed(error, raw))
    }

    /// Ends the message, in which calls may be open.
    pub(crate) fn end(&mut self, sink: &mut EventSink<'_>) {
        self.pieces.truncate(sink);
    }
}

impl WirePart<'_> {
    pub(crate) fn signature(&self) -> &str {
        self.thought_signature.as_str()
    }

    /// Fails for a known member of another type.
    fn check(&self, raw: &str) -> Result<(), ProtocolError> {
        if !matches!(self.text.raw.as_bytes().first(), None | Some(b'"' | b'n')) {
            return Err(malformed("expected a text as the `text` of a part", raw));
        }
        if self.function_call.value.is_none() && !matches!(self.function_call.raw, "" | "null") {
            return Err(malformed(
                "expected an object as the `functionCall` of a part",
                raw,
            ));
        }
        Ok(())
    }
}
