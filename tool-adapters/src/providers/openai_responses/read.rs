//! Answers and stream events to events.

use crate::providers::calls::Calls;
use crate::providers::codec::Out;
use crate::providers::event::{Event, Finish, Origin, ProtocolError};
use crate::providers::fields::{Object, Text};
use crate::providers::ids::Wire;
use crate::providers::openai_responses::wire::{Details, Item, Key, Part, Response, Sent};
use crate::providers::protocol;
use serde_json::value::RawValue;
use std::collections::{HashMap, HashSet};

/// The message that is being read.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    items: Items,
    /// The keys of the items whose ids are known.
    keys: HashMap<String, Key>,
    origin: Origin,
    begun: bool,
    /// The id of the response before, until the next one begins.
    before: String,
}

impl Reader {
    pub(crate) fn read(&mut self, text: &str, out: &mut Out<'_>) {
        let Some(Object(sent)) = out.parse::<Object<Sent<'_>>>(text) else { return };
        let Some(sent) = sent else { return out.unknown(text) };
        let kind = sent.kind.or_empty();
        if !self.begins(kind, &sent) {
            return;
        }
        self.origin(sent.response.as_ref(), out);
        match kind {
            "" => self.answer(text, out),
            "response.output_item.added" => self.added(&sent),
            "response.output_item.done" => self.done(&sent, out),
            "response.output_text.delta" => self.items.text(self.key(&sent), sent.delta.or_empty(), out),
            "response.refusal.delta" => {
                self.items.refused = true;
                self.items.text(self.key(&sent), sent.delta.or_empty(), out);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.items.reasoning(self.key(&sent), sent.delta.or_empty(), out);
            }
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
                self.items.calls.append(&self.key(&sent), sent.delta.or_empty(), out);
            }
            "response.function_call_arguments.done" => {
                self.items.calls.set(&self.key(&sent), &sent.arguments.text(), out);
            }
            "response.custom_tool_call_input.done" => {
                self.items.calls.set(&self.key(&sent), &sent.input.text(), out);
            }
            kind if is_end(kind) => {
                self.over(sent.response.as_ref(), kind.trim_start_matches("response."), out);
            }
            "error" => out.provider_error(text),
            kind if says_nothing_new(kind) => {}
            _ => out.unknown(text),
        }
    }

    /// Takes note of an event; `false` where it is the end of the response before, once more: its calls are told.
    fn begins(&mut self, kind: &str, sent: &Sent<'_>) -> bool {
        let id = sent.response.as_ref().map_or("", |response| response.id.or_empty());
        let again = !self.begun && !id.is_empty() && id == self.before && is_end(kind);
        self.begun |= kind.starts_with("response.") && !again;
        !again
    }

    fn origin(&mut self, response: Option<&Response<'_>>, out: &mut Out<'_>) {
        if let Some(response) = response {
            self.origin.tell(response.id.or_empty(), response.model.or_empty(), out);
        }
    }

    pub(crate) fn finish(&mut self, out: &mut Out<'_>) {
        if self.begun {
            self.items.calls.cut(out);
            out.error(ProtocolError::Truncated { call_id: None });
        }
        *self = Self::default();
    }

    /// A whole answer, or an error instead of one.
    fn answer(&mut self, text: &str, out: &mut Out<'_>) {
        match out.parse::<Response<'_>>(text) {
            Some(response) if response.output().is_some() => {
                let status = response.status.0.as_deref().unwrap_or("completed").to_owned();
                self.origin(Some(&response), out);
                self.over(Some(&response), &status, out);
            }
            Some(_) => out.provider_error(text),
            None => {}
        }
    }

    /// The key of an event that speaks of an item: by its id where that is known, as some servers say one place of all.
    fn key(&self, sent: &Sent<'_>) -> Key {
        let id = sent.item_id.or_empty();
        let known = self.keys.get(id).cloned();
        known.or(sent.output_index.map(|at| Key::At(at.0))).unwrap_or_else(|| Key::Id(id.to_owned()))
    }

    /// The key of an event that brings the item itself. Where another item has its place, it gets a key of its own.
    fn key_of(&mut self, sent: &Sent<'_>, item: &Item<'_>) -> Key {
        let id = item.id.or_empty();
        let known = self.keys.get(id).filter(|key| !self.items.is_another(key, item)).cloned();
        let key = known.unwrap_or_else(|| {
            let place = sent.output_index.map(|at| Key::At(at.0));
            let free = |key: &Key| !self.items.is_another(key, item) && (id.is_empty() || !self.items.is_over(key));
            place.filter(free).unwrap_or_else(|| own_key(item))
        });
        self.know(id, &key);
        key
    }

    fn know(&mut self, id: &str, key: &Key) {
        if !id.is_empty() {
            self.keys.insert(id.to_owned(), key.clone());
        }
    }

    fn added(&mut self, sent: &Sent<'_>) {
        if let Some(item) = sent.item.and_then(item) {
            let key = self.key_of(sent, &item);
            self.items.added(&key, &item);
        }
    }

    fn done(&mut self, sent: &Sent<'_>, out: &mut Out<'_>) {
        if let Some((raw, item)) = sent.item.and_then(|raw| Some((raw, item(raw)?))) {
            let key = self.key_of(sent, &item);
            if self.items.over(&key, &item, out) {
                out.item(raw.get());
            }
        }
    }

    /// The response is over: what its events did not bring is read off it.
    fn over(&mut self, response: Option<&Response<'_>>, status: &str, out: &mut Out<'_>) {
        let output = response.and_then(Response::output).unwrap_or_default();
        for (at, raw) in (0..).zip(output) {
            self.rest(at, raw, out);
        }
        if status == "completed" {
            self.items.calls.all_whole(out);
        } else {
            self.items.calls.cut(out);
        }
        if let Some(usage) = response.and_then(|response| response.usage.as_ref()) {
            out.push(Event::Usage(usage.usage()));
        }
        if let Some(error) = response.and_then(|response| response.error.as_ref()) {
            let code = error.code.0.as_deref().map(str::to_owned);
            out.error(ProtocolError::Provider { code, message: error.message.or_empty().to_owned() });
        }
        let details = response.and_then(|response| response.incomplete_details.as_ref());
        out.push(Event::Finished(finish(status, details, &self.items)));
        let before = response.map_or("", |response| response.id.or_empty()).to_owned();
        *self = Self { before, ..Self::default() };
    }

    fn rest(&mut self, at: u64, raw: &RawValue, out: &mut Out<'_>) {
        let Some(item) = item(raw) else { return };
        let by_id = Key::Id(item.id.or_empty().to_owned());
        let known = self.keys.get(item.id.or_empty()).filter(|key| !self.items.is_another(key, &item)).cloned();
        let key = match known {
            Some(key) => key,
            // A stream without places knows its items by their ids.
            None if self.items.knows(&by_id) => by_id,
            None if self.items.is_another(&Key::At(at), &item) => own_key(&item),
            None => Key::At(at),
        };
        if self.items.over(&key, &item, out) {
            out.item(raw.get());
        }
    }
}

/// The key of an item that has no place of its own.
pub(crate) fn own_key(item: &Item<'_>) -> Key {
    let ids = [&item.id, &item.call_id].map(Text::or_empty);
    Key::Id(ids.into_iter().find(|id| !id.is_empty()).unwrap_or_default().to_owned())
}

/// Why a response ended. Realtime's are read here too.
pub(crate) fn finish(status: &str, details: Option<&Details<'_>>, items: &Items) -> Finish {
    let reason = details.map_or("", |details| details.reason.or_empty());
    match (status, reason) {
        ("completed", _) if !items.calls.is_empty() => Finish::ToolCalls,
        ("completed", _) if items.refused => Finish::Filtered,
        ("completed", _) => Finish::Stop,
        ("incomplete", "max_output_tokens") => Finish::Length,
        ("incomplete", "content_filter") => Finish::Filtered,
        ("incomplete", reason) if !reason.is_empty() => Finish::Other(reason.to_owned()),
        (status, _) => Finish::Other(status.to_owned()),
    }
}

/// Whether an event is the last one of a response.
fn is_end(kind: &str) -> bool {
    matches!(kind, "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled")
}

/// Events whose content other events bring: beginnings, ends, and how far the provider's own tools are.
fn says_nothing_new(kind: &str) -> bool {
    const ENDS: [&str; 12] = [
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
    let end_of = || kind.rsplit('.').next() == Some("done") && !kind.contains("shell");
    kind.starts_with("response.") && (ENDS.iter().any(|end| kind.ends_with(end)) || end_of())
}

/// The kind of result that answers a kind of call.
pub(crate) fn output_of(kind: &str) -> &'static str {
    if kind == CUSTOM { "custom_tool_call_output" } else { "function_call_output" }
}

// ---- The items of a message: calls, texts, thoughts, and what the provider ran itself.

/// The kind of call whose input is free text.
pub(crate) const CUSTOM: &str = "custom_tool_call";

/// What has come of a message's items. Realtime's are read here too.
#[derive(Debug, Default)]
pub(crate) struct Items {
    pub(crate) calls: Calls<Key>,
    /// Of these a piece of text or of thought has come.
    spoken: HashSet<Key>,
    /// These are over.
    done: HashSet<Key>,
    pub(crate) refused: bool,
}

impl Items {
    /// An item begins.
    pub(crate) fn added(&mut self, key: &Key, item: &Item<'_>) {
        if let Some(kind) = item.call() {
            self.begin(key, item.call_id.or_empty(), item.name.or_empty(), kind);
        }
    }

    /// A call begins, unless it has.
    pub(crate) fn begin(&mut self, key: &Key, id: &str, name: &str, kind: &'static str) {
        match self.calls.latest(key) {
            None => self.calls.begin(key.clone(), Wire { id: id.to_owned(), name: name.to_owned(), kind }),
            Some(call) if call.wire.name == name => self.calls.identify(key, id, ""),
            Some(_) => self.calls.identify(key, id, name),
        }
    }

    /// Whether a key is that of another item: a call with another id.
    pub(crate) fn is_another(&self, key: &Key, item: &Item<'_>) -> bool {
        let id = item.call_id.or_empty();
        let other = |known: &str| !known.is_empty() && !id.is_empty() && known != id;
        item.call().is_some() && self.calls.latest(key).is_some_and(|call| other(&call.wire.id))
    }

    /// Whether an item is over.
    pub(crate) fn is_over(&self, key: &Key) -> bool {
        self.done.contains(key)
    }

    /// Whether anything came of an item.
    pub(crate) fn knows(&self, key: &Key) -> bool {
        self.calls.latest(key).is_some() || self.spoken.contains(key) || self.done.contains(key)
    }

    /// A piece of text.
    pub(crate) fn text(&mut self, key: Key, text: &str, out: &mut Out<'_>) {
        out.text(text);
        self.spoken.insert(key);
    }

    /// A piece of a thought.
    pub(crate) fn reasoning(&mut self, key: Key, text: &str, out: &mut Out<'_>) {
        out.reasoning(text);
        self.spoken.insert(key);
    }

    /// An item is over; `false` where that is not new.
    pub(crate) fn over(&mut self, key: &Key, item: &Item<'_>, out: &mut Out<'_>) -> bool {
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
    pub(crate) fn call(&self) -> Option<&'static str> {
        match self.kind.or_empty() {
            "function_call" => Some(""),
            CUSTOM => Some(CUSTOM),
            _ => None,
        }
    }
}

/// An item, where it is an object.
pub(crate) fn item(raw: &RawValue) -> Option<Item<'_>> {
    Some(raw.get()).filter(|raw| raw.starts_with('{')).and_then(|raw| serde_json::from_str(raw).ok())
}
