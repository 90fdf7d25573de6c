//! The items of a message: calls, texts, thoughts, and tools that the provider ran itself. Realtime has the same.

use crate::providers::call_ids::WireCall;
use crate::providers::codec::EventSink;
use crate::providers::event::Finish;
use crate::providers::openai_responses::wire::{ItemKey, OutputItem, OutputPart, StatusDetails};
use crate::providers::partial_calls::PartialCalls;
use serde_json::value::RawValue;
use std::collections::HashSet;

/// The kind of a call whose input is free text.
pub(crate) const CUSTOM_CALL: &str = "custom_tool_call";

/// The items of a message, as far as they have arrived.
#[derive(Debug, Default)]
pub(crate) struct OutputItems {
    pub(crate) calls: PartialCalls<ItemKey>,
    /// The items of which a piece of text or reasoning has arrived.
    streamed: HashSet<ItemKey>,
    complete: HashSet<ItemKey>,
    pub(crate) refused: bool,
}

impl OutputItems {
    /// Begins an item.
    pub(crate) fn begin(&mut self, key: &ItemKey, item: &OutputItem<'_>) {
        if let Some(kind) = item.call_kind() {
            self.begin_call(key, item.call_id.as_str(), item.name.as_str(), kind);
        }
    }

    /// Begins a call, unless it has begun.
    pub(crate) fn begin_call(&mut self, key: &ItemKey, id: &str, name: &str, kind: &'static str) {
        match self.calls.latest(key) {
            None => self.calls.begin(key.clone(), WireCall { id: id.to_owned(), name: name.to_owned(), kind }),
            Some(call) if call.wire.name == name => self.calls.identify(key, id, ""),
            Some(_) => self.calls.identify(key, id, name),
        }
    }

    /// Returns true if a call with another id has this key.
    pub(crate) fn is_taken(&self, key: &ItemKey, item: &OutputItem<'_>) -> bool {
        let id = item.call_id.as_str();
        let differs = |known: &str| !known.is_empty() && !id.is_empty() && known != id;
        item.call_kind().is_some() && self.calls.latest(key).is_some_and(|call| differs(&call.wire.id))
    }

    pub(crate) fn is_complete(&self, key: &ItemKey) -> bool {
        self.complete.contains(key)
    }

    /// Returns true if any part of an item has arrived.
    pub(crate) fn has_begun(&self, key: &ItemKey) -> bool {
        self.calls.latest(key).is_some() || self.streamed.contains(key) || self.complete.contains(key)
    }

    /// Adds a piece of text.
    pub(crate) fn text(&mut self, key: ItemKey, text: &str, sink: &mut EventSink<'_>) {
        sink.text(text);
        self.streamed.insert(key);
    }

    /// Adds a piece of reasoning.
    pub(crate) fn reasoning(&mut self, key: ItemKey, text: &str, sink: &mut EventSink<'_>) {
        sink.reasoning(text);
        self.streamed.insert(key);
    }

    /// Completes an item; returns false if it was complete.
    pub(crate) fn complete(&mut self, key: &ItemKey, item: &OutputItem<'_>, sink: &mut EventSink<'_>) -> bool {
        if !self.complete.insert(key.clone()) {
            return false;
        }
        if let Some(kind) = item.call_kind() {
            self.begin_call(key, item.call_id.as_str(), item.name.as_str(), kind);
            let arguments = if kind == CUSTOM_CALL { item.input.text() } else { item.arguments.text() };
            self.calls.set(key, &arguments, sink);
            match item.status.as_str() {
                "incomplete" => self.calls.truncate(key, sink),
                _ => self.calls.complete(key, sink),
            }
            return true;
        }
        let parts = item.content.objects::<OutputPart<'_>>();
        self.refused |= parts.iter().any(|part| !part.refusal.as_str().is_empty());
        if !self.streamed.contains(key) {
            emit_text(item, &parts, sink);
        }
        true
    }

    /// Returns the reason for which a response ended.
    pub(crate) fn finish(&self, status: &str, details: Option<&StatusDetails<'_>>) -> Finish {
        let reason = details.map_or("", |details| details.reason.as_str());
        match (status, reason) {
            ("completed", _) if !self.calls.is_empty() => Finish::ToolCalls,
            ("completed", _) if self.refused => Finish::Filtered,
            ("completed", _) => Finish::Stop,
            ("incomplete", "max_output_tokens") => Finish::Length,
            ("incomplete", "content_filter") => Finish::Filtered,
            ("incomplete", reason) if !reason.is_empty() => Finish::Other(reason.to_owned()),
            (status, _) => Finish::Other(status.to_owned()),
        }
    }
}

fn emit_text(item: &OutputItem<'_>, parts: &[OutputPart<'_>], sink: &mut EventSink<'_>) {
    match item.kind.as_str() {
        "message" => parts.iter().for_each(|part| {
            sink.text(part.text.as_str());
            sink.text(part.refusal.as_str());
            sink.text(part.transcript.as_str());
        }),
        "reasoning" => {
            let summary = item.summary.objects::<OutputPart<'_>>();
            summary.iter().chain(parts).for_each(|part| sink.reasoning(part.text.as_str()));
        }
        _ => {}
    }
}

impl<'a> OutputItem<'a> {
    /// Parses an item; `None` for another value than an object.
    pub(crate) fn parse(raw: &'a RawValue) -> Option<Self> {
        Some(raw.get()).filter(|raw| raw.starts_with('{')).and_then(|raw| serde_json::from_str(raw).ok())
    }

    /// Returns the kind of a call that is answered here; `None` for another item.
    fn call_kind(&self) -> Option<&'static str> {
        match self.kind.as_str() {
            "function_call" => Some(""),
            CUSTOM_CALL => Some(CUSTOM_CALL),
            _ => None,
        }
    }
}
