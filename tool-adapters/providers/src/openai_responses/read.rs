//! From answers and stream events to events.

use crate::codec::{EventSink, MessageReader, ResponseOrigin};
use crate::event::{ProtocolError, malformed};
use crate::lenient::{RawObject, parse_object};
use crate::openai_responses::items::{OutputItem, ResponseEvent, ResponseObject};
use crate::openai_responses::output::{Appearance, ItemDelta, ItemNumber, OutputItems};
use crate::repeats::LastEvent;
use std::borrow::Cow;

/// Reads Responses.
#[derive(Debug, Default)]
pub(crate) struct ResponsesReader {
    items: OutputItems,
    origin: ResponseOrigin,
    begun: bool,
    /// The id of the previous response, until the next one begins.
    previous: String,
    /// The item and the kind of the last event's piece.
    last_event: Option<LastEvent<(ItemNumber, ItemDelta)>>,
}

impl MessageReader for ResponsesReader {
    fn read(
        &mut self,
        _name: &str,
        text: &str,
        sink: &mut EventSink<'_>,
    ) -> serde_json::Result<()> {
        if self.read_repeated(text, sink) {
            return Ok(());
        }
        self.last_event = None;
        let Some(mut event) = parse_object::<ResponseEvent<'_>>(text)? else {
            sink.error(malformed("expected an object", text));
            return Ok(());
        };
        let response = event.response.0.take().unwrap_or_default();
        let kind = event.kind.as_str();
        if self.repeats_end(kind, &response) {
            return Ok(());
        }
        self.begun |= kind.starts_with("response.");
        self.items.read_tools(&response);
        self.origin
            .emit(response.id.as_str(), response.model.as_str(), sink);
        match kind {
            "" => return self.read_answer(text, &event, sink),
            "response.output_item.added" => self.begin_item(text, &event, sink),
            "response.output_item.done" => return self.complete_item(text, &event, sink),
            "response.output_text.delta" => self.read_piece(text, &event, ItemDelta::Text, sink),
            "response.refusal.delta" => {
                self.items.refused = true;
                self.read_piece(text, &event, ItemDelta::Text, sink);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.read_piece(text, &event, ItemDelta::Reasoning, sink);
            }
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
                self.read_piece(text, &event, ItemDelta::Arguments, sink);
            }
            "response.function_call_arguments.done" => {
                self.set_arguments(&event, &event.arguments.text(), sink);
            }
            "response.custom_tool_call_input.done" => {
                self.set_arguments(&event, &event.input.text(), sink);
            }
            kind if is_end(kind) => {
                return self.end(&response, kind.trim_start_matches("response."), sink);
            }
            "error" => return sink.error_or_unknown(text),
            kind if is_redundant(kind) => {}
            _ => return self.read_unknown(text, &event, sink),
        }
        Ok(())
    }

    fn finish(&mut self, sink: &mut EventSink<'_>) {
        if self.begun {
            self.items.truncate(sink);
            sink.error(ProtocolError::Truncated { call_id: None });
        }
        *self = Self::default();
    }
}

impl ResponsesReader {
    fn read_piece(
        &mut self,
        text: &str,
        event: &ResponseEvent<'_>,
        kind: ItemDelta,
        sink: &mut EventSink<'_>,
    ) {
        if event.delta.value.0.is_none() {
            return sink.error(malformed("expected a text as `delta`", text));
        }
        let item = self.items.of_piece(event.item_id.as_str(), event.place());
        let others =
            [event.sequence_number, event.obfuscation].map(|value| value.0.unwrap_or_default());
        self.items
            .append(item, kind, Cow::Borrowed(event.delta.as_str()), sink);
        self.last_event =
            LastEvent::new(text, [event.delta.raw, others[0], others[1]], (item, kind));
    }

    /// Reads an event that repeats the last one but for its piece; returns false for another one.
    fn read_repeated(&mut self, text: &str, sink: &mut EventSink<'_>) -> bool {
        let Some(((item, kind), piece, [_, _, _])) =
            LastEvent::repeated(self.last_event.as_ref(), text)
        else {
            return false;
        };
        self.items.append(*item, *kind, piece, sink);
        true
    }

    /// Returns true for the end of the previous response that comes once more: its calls are
    /// emitted.
    fn repeats_end(&self, kind: &str, response: &ResponseObject<'_>) -> bool {
        let id = response.id.as_str();
        !self.begun && !id.is_empty() && id == self.previous && is_end(kind)
    }

    /// Reads a whole answer, or an error instead of one.
    fn read_answer(
        &mut self,
        text: &str,
        event: &ResponseEvent<'_>,
        sink: &mut EventSink<'_>,
    ) -> serde_json::Result<()> {
        let response = parse_object::<ResponseObject<'_>>(text)?.unwrap_or_default();
        if response.output.0.is_none() {
            if event.has_part() {
                sink.error(malformed("expected the `type` of an event", text));
                return Ok(());
            }
            return sink.error_or_unknown(text);
        }
        let status = response
            .status
            .0
            .as_deref()
            .unwrap_or("completed")
            .to_owned();
        self.items.read_tools(&response);
        self.origin
            .emit(response.id.as_str(), response.model.as_str(), sink);
        self.end(&response, &status, sink)
    }

    /// Reads an event of an unknown type.
    fn read_unknown(
        &mut self,
        text: &str,
        event: &ResponseEvent<'_>,
        sink: &mut EventSink<'_>,
    ) -> serde_json::Result<()> {
        if event.has_part() {
            self.items
                .note_unknown_part(event.item_id.as_str(), event.place());
        }
        sink.unknown(text)
    }

    fn set_arguments(
        &mut self,
        event: &ResponseEvent<'_>,
        arguments: &str,
        sink: &mut EventSink<'_>,
    ) {
        let item = self.items.of_piece(event.item_id.as_str(), event.place());
        self.items.set_arguments(item, arguments, sink);
    }

    fn begin_item(&mut self, text: &str, event: &ResponseEvent<'_>, sink: &mut EventSink<'_>) {
        match &event.item.object {
            Some(item) => self.items.begin(item, event.place()),
            None => sink.error(malformed("expected an object as `item`", text)),
        }
    }

    fn complete_item(
        &mut self,
        text: &str,
        event: &ResponseEvent<'_>,
        sink: &mut EventSink<'_>,
    ) -> serde_json::Result<()> {
        let Some(item) = &event.item.object else {
            sink.error(malformed("expected an object as `item`", text));
            return Ok(());
        };
        let is_new = self
            .items
            .complete(item, event.place(), Appearance::Done, sink);
        if is_new {
            sink.item(event.item.raw)
        } else {
            Ok(())
        }
    }

    /// Ends the response. Items that its events did not bring are read from the response itself.
    fn end(
        &mut self,
        response: &ResponseObject<'_>,
        status: &str,
        sink: &mut EventSink<'_>,
    ) -> serde_json::Result<()> {
        for (place, item) in (0..).zip(response.output.0.iter().flatten()) {
            self.complete_output(place, item, sink)?;
        }
        self.items.end(response, status, sink);
        let previous = response.id.as_str().to_owned();
        *self = Self {
            previous,
            ..Self::default()
        };
        Ok(())
    }

    fn complete_output(
        &mut self,
        place: u64,
        output: &RawObject<'_, OutputItem<'_>>,
        sink: &mut EventSink<'_>,
    ) -> serde_json::Result<()> {
        let Some(item) = &output.object else {
            sink.error(malformed("expected objects in `output`", output.raw));
            return Ok(());
        };
        let is_new = self
            .items
            .complete(item, Some(place), Appearance::Listed, sink);
        if is_new {
            sink.item(output.raw)
        } else {
            Ok(())
        }
    }
}

/// Returns true for the last event of a response.
fn is_end(kind: &str) -> bool {
    matches!(
        kind,
        "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled"
    )
}

/// Returns true for events whose content comes with others: beginnings, ends, and the progress of
/// the provider's tools.
fn is_redundant(kind: &str) -> bool {
    const ENDINGS: [&str; 12] = [
        ".created",
        ".in_progress",
        ".queued",
        ".searching",
        ".interpreting",
        ".generating",
        "_call.completed",
        "_call.failed",
        "_tools.completed",
        "_tools.failed",
        "_part.added",
        "annotation.added",
    ];
    let is_done = || kind.rsplit('.').next() == Some("done") && !kind.contains("shell");
    kind.starts_with("response.")
        && (ENDINGS.iter().any(|ending| kind.ends_with(ending)) || is_done())
}
