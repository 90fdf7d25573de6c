//! From answers and stream events to events.

use crate::providers::codec::{EventSink, MessageReader, ResponseOrigin};
use crate::providers::event::ProtocolError;
use crate::providers::lenient::{RawObject, parse_object};
use crate::providers::openai_responses::items::{
    ItemKey, OutputItem, OutputItems, PieceKind, ResponseEvent, ResponseObject,
};
use crate::providers::repeats::LastEvent;
use std::borrow::Cow;
use std::collections::HashMap;

/// Reads Responses.
#[derive(Debug, Default)]
pub(crate) struct ResponsesReader {
    items: OutputItems,
    /// The keys of items by their ids.
    keys: HashMap<String, ItemKey>,
    origin: ResponseOrigin,
    begun: bool,
    /// The id of the previous response, until the next one begins.
    previous: String,
    /// The key and the kind of the last event's piece.
    last_event: Option<LastEvent<(ItemKey, PieceKind)>>,
}

impl MessageReader for ResponsesReader {
    fn read(&mut self, _name: &str, text: &str, sink: &mut EventSink<'_>) -> serde_json::Result<()> {
        if self.read_repeated(text, sink) {
            return Ok(());
        }
        self.last_event = None;
        let Some(mut event) = parse_object::<ResponseEvent<'_>>(text)? else { return sink.unknown(text) };
        let response = event.response.0.take().unwrap_or_default();
        let kind = event.kind.as_str();
        if self.repeats_end(kind, &response) {
            return Ok(());
        }
        self.begun |= kind.starts_with("response.");
        self.origin.emit(response.id.as_str(), response.model.as_str(), sink);
        match kind {
            "" => return self.read_answer(text, sink),
            "response.output_item.added" => self.begin_item(&event),
            "response.output_item.done" => return self.complete_item(&event, sink),
            "response.output_text.delta" => self.read_piece(text, &event, PieceKind::Text, sink),
            "response.refusal.delta" => {
                self.items.refused = true;
                self.read_piece(text, &event, PieceKind::Text, sink);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.read_piece(text, &event, PieceKind::Reasoning, sink);
            }
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
                self.read_piece(text, &event, PieceKind::Arguments, sink);
            }
            "response.function_call_arguments.done" => {
                self.items.calls.set(&self.key(&event), &event.arguments.text(), sink);
            }
            "response.custom_tool_call_input.done" => {
                self.items.calls.set(&self.key(&event), &event.input.text(), sink);
            }
            kind if is_end(kind) => {
                return self.end(&response, kind.trim_start_matches("response."), sink);
            }
            "error" => return sink.error_or_unknown(text),
            kind if is_redundant(kind) => {}
            _ => return sink.unknown(text),
        }
        Ok(())
    }

    fn finish(&mut self, sink: &mut EventSink<'_>) {
        if self.begun {
            self.items.calls.truncate_all(sink);
            sink.error(ProtocolError::Truncated { call_id: None });
        }
        *self = Self::default();
    }
}

impl ResponsesReader {
    fn read_piece(&mut self, text: &str, event: &ResponseEvent<'_>, kind: PieceKind, sink: &mut EventSink<'_>) {
        let key = self.key(event);
        let others = [event.sequence_number, event.obfuscation].map(|value| value.0.unwrap_or_default());
        self.items.append(&key, kind, Cow::Borrowed(event.delta.as_str()), sink);
        self.last_event = LastEvent::new(text, [event.delta.raw, others[0], others[1]], (key, kind));
    }

    /// Reads an event that repeats the last one but for its piece; returns false for another one.
    fn read_repeated(&mut self, text: &str, sink: &mut EventSink<'_>) -> bool {
        let Some(((key, kind), piece, [_, _, _])) = LastEvent::repeated(self.last_event.as_ref(), text) else {
            return false;
        };
        self.items.append(key, *kind, piece, sink);
        true
    }

    /// Returns true for the end of the previous response that comes once more: its calls are emitted.
    fn repeats_end(&self, kind: &str, response: &ResponseObject<'_>) -> bool {
        let id = response.id.as_str();
        !self.begun && !id.is_empty() && id == self.previous && is_end(kind)
    }

    /// Reads a whole answer, or an error instead of one.
    fn read_answer(&mut self, text: &str, sink: &mut EventSink<'_>) -> serde_json::Result<()> {
        let response = parse_object::<ResponseObject<'_>>(text)?.unwrap_or_default();
        if response.output.0.is_none() {
            return sink.error_or_unknown(text);
        }
        let status = response.status.0.as_deref().unwrap_or("completed").to_owned();
        self.origin.emit(response.id.as_str(), response.model.as_str(), sink);
        self.end(&response, &status, sink)
    }

    /// Returns the key of an event about an item: that of its id if it is known, as some servers send one index for all
    /// items.
    fn key(&self, event: &ResponseEvent<'_>) -> ItemKey {
        let id = event.item_id.as_str();
        let known = self.keys.get(id).cloned();
        let index = event.output_index.map(|index| ItemKey::Index(index.0));
        known.or(index).unwrap_or_else(|| ItemKey::Id(id.to_owned()))
    }

    /// Returns the key of an item of an event. An item whose index another item has gets a key of its own.
    fn item_key(&mut self, event: &ResponseEvent<'_>, item: &OutputItem<'_>) -> ItemKey {
        let id = item.id.as_str();
        let known = self.keys.get(id).filter(|key| !self.items.is_taken(key, item)).cloned();
        let key = known.unwrap_or_else(|| {
            let index = event.output_index.map(|index| ItemKey::Index(index.0));
            let is_free =
                |key: &ItemKey| !self.items.is_taken(key, item) && (id.is_empty() || !self.items.is_complete(key));
            index.filter(is_free).unwrap_or_else(|| ItemKey::of_id(&item.id, &item.call_id))
        });
        if !id.is_empty() {
            self.keys.insert(id.to_owned(), key.clone());
        }
        key
    }

    fn begin_item(&mut self, event: &ResponseEvent<'_>) {
        if let Some(item) = &event.item.object {
            let key = self.item_key(event, item);
            self.items.begin(&key, item);
        }
    }

    fn complete_item(&mut self, event: &ResponseEvent<'_>, sink: &mut EventSink<'_>) -> serde_json::Result<()> {
        let Some(item) = &event.item.object else { return Ok(()) };
        let key = self.item_key(event, item);
        if self.items.complete(&key, item, sink) { sink.item(event.item.raw) } else { Ok(()) }
    }

    /// Ends the response. Items that its events did not bring are read from the response itself.
    fn end(&mut self, response: &ResponseObject<'_>, status: &str, sink: &mut EventSink<'_>) -> serde_json::Result<()> {
        for (index, item) in (0..).zip(response.output.0.iter().flatten()) {
            self.complete_output(index, item, sink)?;
        }
        self.items.end(response, status, sink);
        let previous = response.id.as_str().to_owned();
        *self = Self { previous, ..Self::default() };
        Ok(())
    }

    fn complete_output(
        &mut self,
        index: u64,
        output: &RawObject<'_, OutputItem<'_>>,
        sink: &mut EventSink<'_>,
    ) -> serde_json::Result<()> {
        let Some(item) = &output.object else { return Ok(()) };
        let by_id = ItemKey::Id(item.id.as_str().to_owned());
        let known = self.keys.get(item.id.as_str()).filter(|key| !self.items.is_taken(key, item)).cloned();
        let key = match known {
            Some(key) => key,
            // The items of a stream without indices have their ids as keys.
            None if self.items.has_begun(&by_id) => by_id,
            None if self.items.is_taken(&ItemKey::Index(index), item) => ItemKey::of_id(&item.id, &item.call_id),
            None => ItemKey::Index(index),
        };
        if self.items.complete(&key, item, sink) { sink.item(output.raw) } else { Ok(()) }
    }
}

/// Returns true for the last event of a response.
fn is_end(kind: &str) -> bool {
    matches!(kind, "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled")
}

/// Returns true for events whose content comes with others: beginnings, ends, and the progress of the provider's tools.
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
    kind.starts_with("response.") && (ENDINGS.iter().any(|ending| kind.ends_with(ending)) || is_done())
}
