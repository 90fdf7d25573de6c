//! The items of a message: calls, texts, thoughts, and what the provider ran itself.

use super::wire::{Item, Key, Part};
use crate::protocol::calls::Calls;
use crate::protocol::codec::Out;
use crate::protocol::ids::Wire;
use serde_json::value::RawValue;
use std::collections::HashSet;

/// The kind of call whose input is free text.
pub(in crate::protocol) const CUSTOM: &str = "custom_tool_call";

/// What has come of a message's items. Realtime's are read here too.
#[derive(Debug, Default)]
pub(in crate::protocol) struct Items {
    pub(in crate::protocol) calls: Calls<Key>,
    /// Of these a piece of text or of thought has come.
    spoken: HashSet<Key>,
    /// These are over.
    done: HashSet<Key>,
    pub(in crate::protocol) refused: bool,
}

impl Items {
    /// An item begins.
    pub(in crate::protocol) fn added(&mut self, key: &Key, item: &Item<'_>) {
        if let Some(kind) = item.call() {
            self.begin(key, item.call_id.or_empty(), item.name.or_empty(), kind);
        }
    }

    /// A call begins, unless it has.
    pub(in crate::protocol) fn begin(&mut self, key: &Key, id: &str, name: &str, kind: &'static str) {
        match self.calls.latest(key) {
            None => self.calls.begin(key.clone(), Wire { id: id.to_owned(), name: name.to_owned(), kind }),
            Some(call) if call.wire.name == name => self.calls.identify(key, id, ""),
            Some(_) => self.calls.identify(key, id, name),
        }
    }

    /// Whether a key is that of another item: a call with another id.
    pub(in crate::protocol) fn is_another(&self, key: &Key, item: &Item<'_>) -> bool {
        let id = item.call_id.or_empty();
        let other = |known: &str| !known.is_empty() && !id.is_empty() && known != id;
        item.call().is_some() && self.calls.latest(key).is_some_and(|call| other(&call.wire.id))
    }

    /// Whether an item is over.
    pub(in crate::protocol) fn is_over(&self, key: &Key) -> bool {
        self.done.contains(key)
    }

    /// Whether anything came of an item.
    pub(in crate::protocol) fn knows(&self, key: &Key) -> bool {
        self.calls.latest(key).is_some() || self.spoken.contains(key) || self.done.contains(key)
    }

    /// A piece of text.
    pub(in crate::protocol) fn text(&mut self, key: Key, text: &str, out: &mut Out<'_>) {
        out.text(text);
        self.spoken.insert(key);
    }

    /// A piece of a thought.
    pub(in crate::protocol) fn reasoning(&mut self, key: Key, text: &str, out: &mut Out<'_>) {
        out.reasoning(text);
        self.spoken.insert(key);
    }

    /// An item is over; `false` where that is not new.
    pub(in crate::protocol) fn over(&mut self, key: &Key, item: &Item<'_>, out: &mut Out<'_>) -> bool {
        if !self.done.insert(key.clone()) {
            return false;
        }
        if let Some(kind) = item.call() {
            self.begin(key, item.call_id.or_empty(), item.name.or_empty(), kind);
            let arguments = if kind == CUSTOM { item.input.text() } else { item.arguments.text() };
            self.calls.set(key, &arguments, out);
            match item.status.or_empty() {
                "incomplete" => self.calls.cut_one(key, out),
                _ => self.calls.whole(key, out),
            }
            return true;
        }
        let parts = item.content.objects::<Part<'_>>();
        self.refused |= parts.iter().any(|part| !part.refusal.or_empty().is_empty());
        if self.spoken.contains(key) {
            return true;
        }
        match item.kind.or_empty() {
            "message" => parts.iter().for_each(|part| {
                out.text(part.text.or_empty());
                out.text(part.refusal.or_empty());
                out.text(part.transcript.or_empty());
            }),
            "reasoning" => {
                let summary = item.summary.objects::<Part<'_>>();
                summary.iter().chain(&parts).for_each(|part| out.reasoning(part.text.or_empty()));
            }
            _ => {}
        }
        true
    }
}

impl Item<'_> {
    /// The kind of call that it is, for the ids to remember; `None` where it is none that we answer.
    pub(in crate::protocol) fn call(&self) -> Option<&'static str> {
        match self.kind.or_empty() {
            "function_call" => Some(""),
            CUSTOM => Some(CUSTOM),
            _ => None,
        }
    }
}

/// An item, where it is an object.
pub(in crate::protocol) fn item(raw: &RawValue) -> Option<Item<'_>> {
    Some(raw.get()).filter(|raw| raw.starts_with('{')).and_then(|raw| serde_json::from_str(raw).ok())
}
