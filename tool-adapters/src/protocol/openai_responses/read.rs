//! Answers and stream events to events.

use super::items::{CUSTOM, Items, item};
use super::wire::{Details, Item, Key, Response, Sent};
use crate::protocol::codec::Out;
use crate::protocol::event::{Event, Finish, ProtocolError};
use crate::protocol::fields::{Object, Text};
use crate::protocol::origin::Origin;
use serde_json::value::RawValue;
use std::collections::HashMap;

/// The message that is being read.
#[derive(Debug, Default)]
pub(super) struct Reader {
    items: Items,
    /// The keys of the items whose ids are known.
    keys: HashMap<String, Key>,
    origin: Origin,
    begun: bool,
    /// The id of the response before, until the next one begins.
    before: String,
}

impl Reader {
    pub(super) fn read(&mut self, text: &str, out: &mut Out<'_>) {
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

    pub(super) fn finish(&mut self, out: &mut Out<'_>) {
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
pub(in crate::protocol) fn own_key(item: &Item<'_>) -> Key {
    let ids = [&item.id, &item.call_id].map(Text::or_empty);
    Key::Id(ids.into_iter().find(|id| !id.is_empty()).unwrap_or_default().to_owned())
}

/// Why a response ended. Realtime's are read here too.
pub(in crate::protocol) fn finish(status: &str, details: Option<&Details<'_>>, items: &Items) -> Finish {
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
pub(super) fn output_of(kind: &str) -> &'static str {
    if kind == CUSTOM { "custom_tool_call_output" } else { "function_call_output" }
}
