//! The readers of messages, the sink of their events, and the ids of calls.

use crate::event::{Event, Finish, ProtocolError, malformed, provider_error};
use crate::framing::frame::MAX_EVENT_BYTES;
use crate::half_characters::{Halves, UnpairedHalf, join_whole};
use crate::lenient::ServiceTier;
use crate::tool_names::NameRule;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use tool_core::ToolResponse;
use tool_core::call::ModelResult;
use tool_core::text::hex;
use tool_core::trace::TokenUsage;

/// Reads one provider's messages, event by event.
pub(crate) trait MessageReader: Send {
    /// Reads one event or a whole answer. `name` is the name of a server-sent event, or empty.
    ///
    /// Returns the error of a text that is not JSON, before any event of it is emitted.
    fn read(&mut self, name: &str, text: &str, sink: &mut EventSink<'_>) -> serde_json::Result<()>;

    /// Reads the end of the stream, `[DONE]`.
    fn read_done(&mut self, _sink: &mut EventSink<'_>) {}

    /// Ends the message, which may be cut off. Another may follow.
    fn finish(&mut self, sink: &mut EventSink<'_>);
}

/// Collects the events of a reader.
pub(crate) struct EventSink<'a> {
    pub(crate) events: &'a mut Vec<Event>,
    pub(crate) ids: &'a mut CallIds,
    pub(crate) halves: &'a mut Halves,
}

impl EventSink<'_> {
    pub(crate) fn push(&mut self, event: Event) {
        self.events.push(event);
    }

    /// Emits the end of the message.
    pub(crate) fn end(&mut self, finish: Finish) {
        if self.halves.is_open() {
            self.unpaired();
        }
        self.events.push(Event::Finished(finish));
    }

    /// Reports half a character whose other half did not come.
    fn unpaired(&mut self) {
        self.error(malformed(
            "a character is cut in two, and its other half did not come",
            "",
        ));
    }

    /// Joins the halves of a whole text of the message, such as the arguments of a call.
    pub(crate) fn join(&mut self, text: &mut String) {
        if !self.halves.were_seen {
            return;
        }
        match join_whole(text) {
            Ok(whole) => *text = whole,
            Err(UnpairedHalf) => self.unpaired(),
        }
    }

    /// Joins the halves in an item of the message.
    pub(crate) fn join_item(&mut self, item: &mut Value) {
        if !self.halves.were_seen {
            return;
        }
        let mut json = item.to_string();
        self.join(&mut json);
        if let Ok(whole) = serde_json::from_str(&json) {
            *item = whole;
        }
    }

    pub(crate) fn error(&mut self, error: ProtocolError) {
        self.events.push(Event::Error(error));
    }

    /// Emits the tokens used, after the tier that they are billed in.
    pub(crate) fn usage(&mut self, usage: TokenUsage, service_tier: &ServiceTier) {
        self.events
            .extend(service_tier.0.clone().map(Event::ServiceTier));
        self.events.push(Event::Usage(usage));
    }

    /// Emits a piece of text, unless it is empty.
    pub(crate) fn text(&mut self, text: &str) {
        if self.halves.were_seen {
            let joined = self.halves.text.join(text).map(Cow::into_owned);
            return self.emit_joined(joined, Event::Text);
        }
        if !text.is_empty() {
            self.events.push(Event::Text(text.to_owned()));
        }
    }

    /// Emits a piece of reasoning, unless it is empty.
    pub(crate) fn reasoning(&mut self, text: &str) {
        if self.halves.were_seen {
            let joined = self.halves.reasoning.join(text).map(Cow::into_owned);
            return self.emit_joined(joined, Event::Reasoning);
        }
        if !text.is_empty() {
            self.events.push(Event::Reasoning(text.to_owned()));
        }
    }

    /// Emits a piece of a call's arguments.
    pub(crate) fn arguments(&mut self, id: &str, piece: String) {
        let to_event = |delta| Event::Arguments {
            id: id.to_owned(),
            delta,
        };
        if !self.halves.were_seen {
            self.events.push(to_event(piece));
            return;
        }
        let joined = self
            .halves
            .arguments
            .entry(id.to_owned())
            .or_default()
            .join(&piece)
            .map(Cow::into_owned);
        self.emit_joined(joined, to_event);
    }

    fn emit_joined(
        &mut self,
        joined: Result<String, UnpairedHalf>,
        to_event: impl FnOnce(String) -> Event,
    ) {
        match joined {
            Ok(piece) if piece.is_empty() => {}
            Ok(piece) => self.events.push(to_event(piece)),
            Err(UnpairedHalf) => self.unpaired(),
        }
    }

    /// Returns our id for a call. Reports an id that came before.
    pub(crate) fn assign(&mut self, mut call: WireCall) -> String {
        self.join(&mut call.name);
        let (id, error) = self.ids.assign(call);
        self.events.extend(error.map(Event::Error));
        id
    }

    /// Emits an item of the message.
    pub(crate) fn item(&mut self, text: &str) -> serde_json::Result<()> {
        let mut item = serde_json::from_str(text)?;
        if self.halves.were_seen {
            self.join_text_of(&mut item);
        }
        self.events.push(Event::Item(item));
        Ok(())
    }

    /// Emits an item of the message that was put together of pieces.
    pub(crate) fn push_item(&mut self, mut item: Value) {
        self.join_item(&mut item);
        self.events.push(Event::Item(item));
    }

    /// Joins the text of an item with the end of the item before: some providers send each piece of
    /// text as an item.
    fn join_text_of(&mut self, item: &mut Value) {
        if let Some(Value::String(text)) = item.get_mut("text") {
            match self.halves.items.join(text).map(Cow::into_owned) {
                Ok(joined) => *text = joined,
                Err(UnpairedHalf) => return self.unpaired(),
            }
        }
        self.join_item(item);
    }

    /// Emits the error that an answer is or holds; returns false if it is none.
    pub(crate) fn provider_error(&mut self, text: &str) -> bool {
        let error = provider_error(text);
        let found = error.is_some();
        self.events.extend(error.map(Event::Error));
        found
    }

    /// Emits the error that an answer is or holds, or the answer as unknown.
    pub(crate) fn error_or_unknown(&mut self, text: &str) -> serde_json::Result<()> {
        if self.provider_error(text) {
            Ok(())
        } else {
            self.unknown(text)
        }
    }

    /// Emits what became of an event: nothing more if it was read, the event itself if it is not
    /// known, or its error.
    pub(crate) fn tell(
        &mut self,
        read: Result<bool, ProtocolError>,
        text: &str,
    ) -> serde_json::Result<()> {
        match read {
            Ok(true) => Ok(()),
            Ok(false) => self.unknown(text),
            Err(error) => {
                self.error(error);
                Ok(())
            }
        }
    }

    /// Emits an event that the protocol does not know.
    pub(crate) fn unknown(&mut self, text: &str) -> serde_json::Result<()> {
        self.events
            .push(Event::Unknown(serde_json::from_str(text)?));
        Ok(())
    }

    /// Appends a piece to a text; returns false if the text has grown too large, which is reported
    /// once.
    pub(crate) fn append(&mut self, text: &mut String, piece: &str, too_large: &mut bool) -> bool {
        let has_room = self.has_room(text.len() + piece.len(), too_large);
        if has_room {
            text.push_str(piece);
        }
        has_room
    }

    /// Returns true for the size of a text that may grow to it. Reports the first that may not.
    pub(crate) fn has_room(&mut self, size: usize, too_large: &mut bool) -> bool {
        if !*too_large && size > MAX_EVENT_BYTES {
            *too_large = true;
            self.error(ProtocolError::TooLarge {
                most: MAX_EVENT_BYTES,
            });
        }
        !*too_large
    }
}

/// Emits [`Event::Response`] once for a message: most providers name the response with each chunk.
#[derive(Debug, Default)]
pub(crate) struct ResponseOrigin {
    emitted: bool,
}

impl ResponseOrigin {
    /// Emits the id and the model, the first time that one of them is known.
    pub(crate) fn emit(&mut self, id: &str, model: &str, sink: &mut EventSink<'_>) {
        if self.emitted || (id.is_empty() && model.is_empty()) {
            return;
        }
        self.emitted = true;
        let known = |text: &str| {
            Some(text)
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
        };
        sink.push(Event::Response {
            id: known(id),
            model: known(model),
        });
    }
}

/// The answer to a call.
#[derive(Debug)]
pub(crate) struct ToolAnswer<'a> {
    pub(crate) response: &'a ToolResponse,
    /// The call as the provider made it.
    pub(crate) call: Option<&'a WireCall>,
    /// The text and content for the model.
    pub(crate) result: ModelResult,
    /// The names that the provider accepts.
    pub(crate) names: NameRule,
}

impl<'a> ToolAnswer<'a> {
    /// Returns our id of the call.
    pub(crate) fn id(&self) -> &'a str {
        self.response.meta().call_id().unwrap_or_default()
    }

    /// Returns the id that the provider gave; empty if it gave none.
    pub(crate) fn given_id(&self) -> &'a str {
        self.call.map(|call| call.id.as_str()).unwrap_or_default()
    }

    /// Returns the id that the provider gave, or ours in a form that the provider accepts.
    pub(crate) fn wire_id(&self, conform: fn(&'a str) -> Cow<'a, str>) -> Cow<'a, str> {
        match self.given_id() {
            "" => conform(self.id()),
            id => Cow::Borrowed(id),
        }
    }

    /// Returns the tool's name at the provider, or the nearest that the provider accepts: models
    /// invent names.
    pub(crate) fn name(&self) -> Cow<'a, str> {
        let name = self
            .call
            .map(|call| call.name.as_str())
            .filter(|name| !name.is_empty());
        self.names
            .nearest(name.unwrap_or(self.response.meta().tool()))
    }
}

/// The calls of a conversation by our ids. Kept as long as the protocol.
#[derive(Debug, Default)]
pub(crate) struct CallIds {
    calls: BTreeMap<String, WireCall>,
    fresh: usize,
    /// The number of the last id that was made of a repeated one.
    repeats: HashMap<String, usize>,
    /// Our id of the first repeat of an id, by the kind of the call.
    kinds: HashMap<String, BTreeMap<&'static str, String>>,
    withdrawn: HashSet<String>,
}

/// A call as the provider knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WireCall {
    /// The id that the provider gave; empty if it gave none.
    pub(crate) id: String,
    /// The tool's name at the provider.
    pub(crate) name: String,
    /// A kind of call that is answered in a form of its own; empty for functions.
    pub(crate) kind: &'static str,
}

impl CallIds {
    /// Returns our id for a call: the provider's if it is new, otherwise another one.
    pub(crate) fn assign(&mut self, call: WireCall) -> (String, Option<ProtocolError>) {
        if !call.id.is_empty()
            && let Entry::Vacant(entry) = self.calls.entry(call.id.clone())
        {
            let id = entry.key().clone();
            entry.insert(call);
            return (id, None);
        }
        let (id, error) = match call.id.as_str() {
            "" => (self.fresh(), None),
            id => {
                let ours = self.repeated(id);
                self.kinds
                    .entry(id.to_owned())
                    .or_default()
                    .entry(call.kind)
                    .or_insert_with(|| ours.clone());
                (ours, Some(ProtocolError::DuplicateId { id: id.to_owned() }))
            }
        };
        self.calls.insert(id.clone(), call);
        (id, error)
    }

    fn fresh(&mut self) -> String {
        loop {
            let id = format!("call_{}", self.fresh);
            self.fresh += 1;
            if !self.calls.contains_key(&id) {
                return id;
            }
        }
    }

    fn repeated(&mut self, id: &str) -> String {
        let repeats = self.repeats.entry(id.to_owned()).or_insert(1);
        loop {
            *repeats += 1;
            let other = format!("{id}_{repeats}");
            if !self.calls.contains_key(&other) {
                return other;
            }
        }
    }

    /// Changes the id that the provider gave a call.
    pub(crate) fn set_wire_id(&mut self, id: &str, wire_id: &str) {
        if let Some(call) = self.calls.get_mut(id) {
            wire_id.clone_into(&mut call.id);
        }
    }

    /// Returns the call of our id.
    pub(crate) fn get(&self, id: &str) -> Option<&WireCall> {
        self.calls.get(id)
    }

    /// Returns our id of the latest call that the provider gave an id.
    pub(crate) fn latest(&self, wire_id: &str) -> Option<String> {
        let ours = match self.repeats.get(wire_id) {
            Some(number) => format!("{wire_id}_{number}"),
            None => wire_id.to_owned(),
        };
        self.calls
            .get(&ours)
            .is_some_and(|call| call.id == wire_id)
            .then_some(ours)
    }

    /// Returns our id of a call that has this id and this kind.
    pub(crate) fn of_kind(&self, wire_id: &str, kind: &str) -> Option<&str> {
        let direct = self
            .calls
            .get_key_value(wire_id)
            .filter(|(_, call)| call.id == wire_id && call.kind == kind);
        direct
            .map(|(ours, _)| ours.as_str())
            .or_else(|| Some(self.kinds.get(wire_id)?.get(kind)?.as_str()))
    }

    /// Notes that the provider has withdrawn a call.
    pub(crate) fn withdraw(&mut self, id: &str) {
        if self.calls.contains_key(id) {
            self.withdrawn.insert(id.to_owned());
        }
    }

    /// Returns true for a call that the provider has withdrawn.
    pub(crate) fn is_withdrawn(&self, id: &str) -> bool {
        self.withdrawn.contains(id)
    }
}

/// Returns an id of at most 64 visible characters.
pub(crate) fn short_id(id: &str) -> Cow<'_, str> {
    conforming(id, 64, |char| char.is_ascii_graphic())
}

/// Returns an id of at most 40 visible characters, which is the limit of OpenAI's Chat Completions.
pub(crate) fn chat_id(id: &str) -> Cow<'_, str> {
    conforming(id, 40, |char| char.is_ascii_graphic())
}

/// Returns an id of the form `[a-zA-Z0-9_-]{1,64}`.
pub(crate) fn word_id(id: &str) -> Cow<'_, str> {
    conforming(id, 64, |char| {
        char.is_ascii_alphanumeric() || matches!(char, '_' | '-')
    })
}

/// Returns the id if it conforms, and otherwise one that depends on it alone, so that a call and
/// its result agree.
fn conforming(id: &str, max_length: usize, allowed: fn(char) -> bool) -> Cow<'_, str> {
    if !id.is_empty() && id.chars().count() <= max_length && id.chars().all(allowed) {
        return Cow::Borrowed(id);
    }
    Cow::Owned(format!(
        "call_{}",
        hex(Sha256::digest(id).get(..16).unwrap_or_default())
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assigned(ids: &mut CallIds, id: &str) -> String {
        ids.assign(WireCall {
            id: id.into(),
            name: "add".into(),
            kind: "",
        })
        .0
    }

    #[test]
    fn replaces_an_id_that_is_absent_or_repeated() {
        let mut ids = CallIds::default();
        let ours = ["call_1", "", "a", "", "a", "a", "a_2"].map(|id| assigned(&mut ids, id));
        assert_eq!(
            ours,
            ["call_1", "call_0", "a", "call_2", "a_2", "a_3", "a_2_2"]
        );
        assert_eq!(ids.get("a_3").map(|call| &*call.id), Some("a"));
        assert_eq!(ids.get("call_0").map(|call| &*call.id), Some(""));
        assert_eq!(
            (ids.latest("a"), ids.latest("a_2"), ids.latest("b")),
            (Some("a_3".into()), Some("a_2_2".into()), None)
        );
    }

    #[test]
    fn reports_a_repeated_id() {
        let mut ids = CallIds::default();
        let call = WireCall {
            id: "a".into(),
            ..WireCall::default()
        };
        assert_eq!(ids.assign(call.clone()).1, None);
        assert_eq!(
            ids.assign(call).1,
            Some(ProtocolError::DuplicateId { id: "a".into() })
        );
    }

    #[test]
    fn keeps_ids_that_a_provider_accepts() {
        let long = "x".repeat(64);
        for id in ["call_1", "functions.look:0", &long] {
            assert_eq!(short_id(id), id);
        }
        assert_eq!(chat_id("functions.look:0"), "functions.look:0");
        assert_eq!(chat_id(&long).len(), 37);
        assert_eq!(word_id("toolu_0-1"), "toolu_0-1");
    }

    #[test]
    fn replaces_ids_that_a_provider_refuses_by_the_id_alone() {
        let long = "x".repeat(65);
        for id in ["", "a b", "ä", &long] {
            let made = word_id(id);
            assert!(made.len() == 37 && made.starts_with("call_"), "{made}");
            assert_eq!(
                made,
                conforming(id, 64, |char| char.is_ascii_alphanumeric()
                    || "_.:-".contains(char)),
                "{id}"
            );
            assert_eq!(word_id(&made), made, "what it makes conforms");
        }
    }
}
