//! The items of a response, as far as they have arrived: Responses sends each of them up to three
//! times, begun, done, and listed at the end. Realtime's are the same.

use crate::codec::{EventSink, WireCall};
use crate::event::{ProtocolError, malformed};
use crate::openai_responses::items::{OutputItem, ResponseObject};
use crate::partial_calls::{PartialCall, PartialCalls, is_object};
use crate::same_json::{canonical_json, is_same_json};
use std::borrow::Cow;
use std::collections::HashMap;

/// An item of a response, by the order in which the items first came.
pub(crate) type ItemNumber = usize;

/// The items of a response.
#[derive(Debug, Default)]
pub(crate) struct OutputItems {
    items: Vec<KnownItem>,
    calls: PartialCalls<ItemNumber>,
    /// The latest item of each id, place and call id.
    by_id: HashMap<String, ItemNumber>,
    by_place: HashMap<u64, ItemNumber>,
    by_call_id: HashMap<String, ItemNumber>,
    /// The calls by their content, once the items are listed.
    contents: Option<HashMap<CallContent, Vec<ItemNumber>>>,
    /// The tools of free text of the request, if the response lists its tools.
    custom_tools: Option<Vec<String>>,
    pub(crate) refused: bool,
    /// True once a text was emitted.
    has_text: bool,
    /// True once an item or a piece of one has come in an event of its own.
    has_streamed: bool,
}

/// The known parts of an item.
#[derive(Debug, Default)]
struct KnownItem {
    /// The type. Empty until the item itself comes: its pieces may come first.
    kind: String,
    id: String,
    call_id: String,
    name: String,
    /// The text that its pieces have brought.
    text: String,
    has_reasoning: bool,
    /// True if an event that is not known had a part of it: the item counts only if it comes whole.
    has_unknown_part: bool,
    came: Appearances,
}

/// The appearances of an item.
#[derive(Clone, Copy, Debug, Default)]
struct Appearances {
    begun: bool,
    done: bool,
    listed: bool,
}

/// The way in which an item comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Appearance {
    Begun,
    Done,
    /// In the output of the whole response.
    Listed,
}

impl Appearances {
    fn has(self, appearance: Appearance) -> bool {
        match appearance {
            Appearance::Begun => self.begun,
            Appearance::Done => self.done,
            Appearance::Listed => self.listed,
        }
    }

    fn note(&mut self, appearance: Appearance) {
        match appearance {
            Appearance::Begun => self.begun = true,
            Appearance::Done => self.done = true,
            Appearance::Listed => self.listed = true,
        }
    }

    /// Returns true if the whole item has come.
    fn is_whole(self) -> bool {
        self.done || self.listed
    }
}

/// The content of a call, however it is written.
#[derive(Debug, PartialEq, Eq, Hash)]
struct CallContent {
    kind: &'static str,
    name: String,
    arguments: String,
}

impl CallContent {
    fn new(kind: &'static str, name: &str, arguments: &str) -> Self {
        Self {
            kind,
            name: name.to_owned(),
            arguments: canonical_json(arguments).into_owned(),
        }
    }
}

/// The number of open calls that are compared with a call whose ids and place are new.
const MOST_COMPARED: usize = 8;

/// The kind of a piece of an item.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ItemDelta {
    Text,
    Reasoning,
    Arguments,
}

impl OutputItems {
    /// Takes in the tools that a response lists.
    pub(crate) fn read_tools(&mut self, response: &ResponseObject<'_>) {
        if self.custom_tools.is_none() {
            self.custom_tools = response.custom_tools();
        }
    }

    /// Notes a part of an item in an event of an unknown type.
    pub(crate) fn note_unknown_part(&mut self, id: &str, place: Option<u64>) {
        let number = self.named(id, place);
        if let Some(known) = number.and_then(|number| self.items.get_mut(number)) {
            known.has_unknown_part = true;
        }
    }

    /// Returns the item that an event names, by its id or by its place.
    fn named(&self, id: &str, place: Option<u64>) -> Option<ItemNumber> {
        let by_id = self.by_id.get(id).filter(|_| !id.is_empty());
        by_id.or_else(|| self.by_place.get(&place?)).copied()
    }

    /// Returns the item that a piece names, or the last one for a piece without a name. A piece may
    /// come before its item.
    pub(crate) fn of_piece(&mut self, id: &str, place: Option<u64>) -> ItemNumber {
        self.has_streamed = true;
        let is_nameless = id.is_empty() && place.is_none();
        let last = self.items.len().checked_sub(1).filter(|_| is_nameless);
        let open = last.filter(|number| {
            self.items
                .get(*number)
                .is_some_and(|last| !last.came.is_whole())
        });
        self.named(id, place)
            .or(open)
            .unwrap_or_else(|| self.insert(id, place))
    }

    /// Takes in an item at its beginning.
    pub(crate) fn begin(&mut self, item: &OutputItem<'_>, place: Option<u64>) {
        let number = self.meet(item, place, Appearance::Begun);
        self.begin_call(number, item);
    }

    /// Begins or identifies the call of a piece that has the call's own id and name.
    pub(crate) fn identify(&mut self, number: ItemNumber, call_id: &str, name: &str) {
        if let Some(known) = self.items.get_mut(number) {
            set_if_empty(&mut known.call_id, call_id);
            set_if_empty(&mut known.name, name);
        }
        if !call_id.is_empty() {
            self.by_call_id.entry(call_id.to_owned()).or_insert(number);
        }
        self.name_call(number, call_id, name, "");
    }

    /// Adds a piece to an item.
    pub(crate) fn append(
        &mut self,
        number: ItemNumber,
        kind: ItemDelta,
        piece: Cow<'_, str>,
        sink: &mut EventSink<'_>,
    ) {
        let Some(known) = self.items.get_mut(number) else {
            return;
        };
        match kind {
            ItemDelta::Arguments => self.calls.append(&number, piece, sink),
            ItemDelta::Reasoning => {
                known.has_reasoning = true;
                sink.reasoning(&piece);
            }
            // The item has said it already.
            ItemDelta::Text if known.came.is_whole() => {}
            ItemDelta::Text => {
                if known.text.is_empty() && !piece.is_empty() {
                    separate(&mut self.has_text, sink);
                }
                known.text.push_str(&piece);
                sink.text(&piece);
            }
        }
    }

    /// Sets the whole arguments of a call.
    pub(crate) fn set_arguments(
        &mut self,
        number: ItemNumber,
        arguments: &str,
        sink: &mut EventSink<'_>,
    ) {
        self.calls.set(&number, arguments, sink);
    }

    /// Emits a call whose arguments are one whole object, if its name is known.
    pub(crate) fn complete_whole_call(&mut self, number: ItemNumber, sink: &mut EventSink<'_>) {
        let is_whole = |call: &str| is_object(call);
        let call = self
            .calls
            .latest(&number)
            .filter(|call| !call.wire.name.is_empty() && is_whole(&call.arguments));
        if call.is_some() {
            self.calls.complete(&number, sink);
        }
    }

    /// Takes in a whole item; returns false if it has come before.
    pub(crate) fn complete(
        &mut self,
        item: &OutputItem<'_>,
        place: Option<u64>,
        appearance: Appearance,
        sink: &mut EventSink<'_>,
    ) -> bool {
        let number = self.meet(item, place, appearance);
        let Some(known) = self.items.get_mut(number) else {
            return false;
        };
        let was_whole = known.came.is_whole();
        known.came.note(appearance);
        let is_call = item.call_kind().is_some();
        if was_whole {
            if is_call {
                self.compare_call(number, item, sink);
            }
            return false;
        }
        if is_call && !item.was_run_by_server(self.custom_tools.as_deref()) {
            self.complete_call(number, item, sink);
            return true;
        }
        self.calls.discard(&number);
        self.complete_content(number, item, sink);
        true
    }

    /// Ends the response: emits its open calls, its usage and its error. Items that were begun and
    /// never ended are lost.
    pub(crate) fn end(
        &mut self,
        response: &ResponseObject<'_>,
        status: &str,
        sink: &mut EventSink<'_>,
    ) {
        if status == "completed" {
            self.check_ends(sink);
            self.calls.complete_all(sink);
        } else {
            self.calls.truncate_all(sink);
        }
        if let Some(usage) = &*response.usage {
            sink.usage(usage.usage(), &response.service_tier);
        }
        if let Some(error) = response.failure() {
            sink.error(error);
        }
        sink.end(response.finish(status, !self.calls.is_empty(), self.refused));
    }

    /// Emits the open calls of a response that was cut off.
    pub(crate) fn truncate(&mut self, sink: &mut EventSink<'_>) {
        self.calls.truncate_all(sink);
    }

    /// Reports items that were begun, and of which nothing else has come, and calls that are not in
    /// a list of the calls.
    fn check_ends(&self, sink: &mut EventSink<'_>) {
        let calls = self.items.iter().filter(|known| is_call_kind(&known.kind));
        if calls.clone().any(|known| known.came.listed) {
            for known in calls.filter(|known| known.came.done && !known.came.listed) {
                let id = known.call_id.escape_debug();
                let message =
                    format!("the call `{id}` is not among those that the end of the answer lists");
                sink.error(ProtocolError::OutOfPlace { message });
            }
        }
        for (number, known) in self.items.iter().enumerate() {
            let is_open = known.came.begun && !known.came.is_whole();
            let has_content = match &*known.kind {
                "message" => !known.text.is_empty(),
                kind if is_call_kind(kind) => self
                    .calls
                    .latest(&number)
                    .is_some_and(|call| is_object(&call.arguments)),
                _ => continue,
            };
            if is_open && (!has_content || known.has_unknown_part) {
                let message = format!(
                    "the item `{}` of the answer was begun and not ended",
                    known.id.escape_debug()
                );
                sink.error(ProtocolError::OutOfPlace { message });
            }
        }
    }

    /// Returns the number of an item: the one that it had before, or a new one.
    fn meet(
        &mut self,
        item: &OutputItem<'_>,
        place: Option<u64>,
        appearance: Appearance,
    ) -> ItemNumber {
        self.has_streamed |= appearance != Appearance::Listed;
        let known = self.same_item(item, place, appearance);
        let number = known.unwrap_or_else(|| self.insert(item.id.as_str(), place));
        let Some(known) = self.items.get_mut(number) else {
            return number;
        };
        set_if_empty(&mut known.kind, item.kind.as_str());
        set_if_empty(&mut known.id, item.id.as_str());
        set_if_empty(&mut known.call_id, item.call_id.as_str());
        set_if_empty(&mut known.name, item.name.as_str());
        if appearance == Appearance::Begun {
            known.came.note(appearance);
        }
        let id = item.id.as_str();
        if !id.is_empty() {
            self.by_id.insert(id.to_owned(), number);
        }
        let call_id = item.call_id.as_str();
        if !call_id.is_empty() {
            self.by_call_id.insert(call_id.to_owned(), number);
        }
        number
    }

    /// Returns the item that this one is once more: servers change ids, places and spaces between
    /// the appearances of an item. It is the one with the same id, with the same call id, at the
    /// same place, or with the same content, in this order.
    fn same_item(
        &mut self,
        item: &OutputItem<'_>,
        place: Option<u64>,
        appearance: Appearance,
    ) -> Option<ItemNumber> {
        let by_id = self
            .by_id
            .get(item.id.as_str())
            .filter(|_| !item.id.as_str().is_empty())
            .copied();
        let by_call_id = self.by_call_id.get(item.call_id.as_str());
        let by_call_id = by_call_id
            .filter(|_| !item.call_id.as_str().is_empty())
            .copied();
        let by_place = place.and_then(|place| self.by_place.get(&place)).copied();

        let same_call = by_id.filter(|number| self.has_call_id(*number, item));
        let other_id =
            by_call_id.filter(|number| self.may_be_renamed(*number, item, by_id.is_some()));
        let candidates = [
            same_call,
            other_id,
            by_id,
            by_place.filter(|number| self.agrees(*number, item)),
        ];
        let is_candidate = |number: &ItemNumber| self.may_be(*number, item, appearance);
        let found = candidates.into_iter().flatten().find(is_candidate);
        found
            .or_else(|| self.repeated(item, appearance, same_call))
            .or_else(|| self.of_content(item, appearance))
    }

    /// Returns an item that comes again in the same way, such as an event that was sent twice.
    fn repeated(
        &self,
        item: &OutputItem<'_>,
        appearance: Appearance,
        same_call: Option<ItemNumber>,
    ) -> Option<ItemNumber> {
        let number = same_call?;
        let known = self.items.get(number)?;
        let is_same = known.kind == item.kind.as_str() && known.call_id == item.call_id.as_str();
        (is_same && known.came.has(appearance)).then_some(number)
    }

    /// Returns the call with the same name and arguments, which has not come in this way.
    fn of_content(&mut self, item: &OutputItem<'_>, appearance: Appearance) -> Option<ItemNumber> {
        let kind = item.call_kind()?;
        match appearance {
            Appearance::Begun => None,
            Appearance::Done => {
                let is_same = |call: &PartialCall<ItemNumber>| {
                    let has_name = call.wire.kind == kind && call.wire.name == item.name.as_str();
                    has_name && is_same_json(&call.arguments, &item.call_arguments())
                };
                let open = self
                    .items
                    .iter()
                    .enumerate()
                    .rev()
                    .filter(|(_, known)| !known.came.done);
                let mut calls = open.take(MOST_COMPARED).map(|(number, _)| number);
                calls.find(|number| self.calls.latest(number).is_some_and(is_same))
            }
            // The items of a whole answer have not come before.
            Appearance::Listed if !self.has_streamed => None,
            Appearance::Listed => {
                let content = CallContent::new(kind, item.name.as_str(), &item.call_arguments());
                if self.contents.is_none() {
                    self.contents = Some(self.contents());
                }
                let numbers = self.contents.as_mut()?.get_mut(&content)?;
                let is_listed = |number: &ItemNumber| {
                    self.items
                        .get(*number)
                        .is_none_or(|known| known.came.listed)
                };
                let at = numbers.iter().position(|number| !is_listed(number))?;
                Some(numbers.swap_remove(at))
            }
        }
    }

    /// Returns the calls by their content.
    fn contents(&self) -> HashMap<CallContent, Vec<ItemNumber>> {
        let mut contents = HashMap::<_, Vec<_>>::new();
        for number in 0..self.items.len() {
            if let Some(content) = self.content_of(number) {
                contents.entry(content).or_default().push(number);
            }
        }
        contents
    }

    fn content_of(&self, number: ItemNumber) -> Option<CallContent> {
        let call = self.calls.latest(&number)?;
        Some(CallContent::new(
            call.wire.kind,
            &call.wire.name,
            &call.arguments,
        ))
    }

    fn may_be(&self, number: ItemNumber, item: &OutputItem<'_>, appearance: Appearance) -> bool {
        let Some(known) = self.items.get(number) else {
            return false;
        };
        let same_kind = known.kind.is_empty() || known.kind == item.kind.as_str();
        same_kind && !known.came.has(appearance)
    }

    fn has_call_id(&self, number: ItemNumber, item: &OutputItem<'_>) -> bool {
        let known = self.items.get(number).map_or("", |known| &*known.call_id);
        let call_id = item.call_id.as_str();
        known.is_empty() || call_id.is_empty() || known == call_id
    }

    /// Returns true if the item of a call id may have come under another id of its own.
    fn may_be_renamed(&self, number: ItemNumber, item: &OutputItem<'_>, is_id_known: bool) -> bool {
        let known = self.items.get(number).map_or("", |known| &*known.id);
        known.is_empty() || item.id.as_str().is_empty() || !is_id_known
    }

    /// Returns true if nothing of the item at a place contradicts this one.
    fn agrees(&self, number: ItemNumber, item: &OutputItem<'_>) -> bool {
        let Some(known) = self.items.get(number) else {
            return false;
        };
        let other_ids =
            !known.id.is_empty() && !item.id.as_str().is_empty() && known.id != item.id.as_str();
        if item.call_kind().is_none() || known.kind.is_empty() {
            return known.kind.is_empty() || known.kind == item.kind.as_str();
        }
        let same_name = known.name.is_empty() || known.name == item.name.as_str();
        let arguments = item.call_arguments();
        let ours = self
            .calls
            .latest(&number)
            .map_or("", |call| &*call.arguments);
        let same_arguments =
            ours.is_empty() || arguments.is_empty() || is_same_json(ours, &arguments);
        // Two calls that share a place have ids of their own.
        let is_other_call = other_ids && !ours.is_empty() && !same_arguments;
        same_name && !is_other_call && (same_arguments || !other_ids)
    }

    fn insert(&mut self, id: &str, place: Option<u64>) -> ItemNumber {
        let number = self.items.len();
        self.items.push(KnownItem {
            id: id.to_owned(),
            ..KnownItem::default()
        });
        if !id.is_empty() {
            self.by_id.insert(id.to_owned(), number);
        }
        if let Some(place) = place {
            self.by_place.insert(place, number);
        }
        number
    }

    fn begin_call(&mut self, number: ItemNumber, item: &OutputItem<'_>) {
        let Some(kind) = item.call_kind() else { return };
        self.name_call(number, item.call_id.as_str(), item.name.as_str(), kind);
    }

    fn name_call(&mut self, number: ItemNumber, id: &str, name: &str, kind: &'static str) {
        match self.calls.latest(&number) {
            None => self.calls.begin(
                number,
                WireCall {
                    id: id.to_owned(),
                    name: name.to_owned(),
                    kind,
                },
            ),
            Some(call) if call.wire.name == name => self.calls.identify(&number, id, ""),
            Some(_) => self.calls.identify(&number, id, name),
        }
    }

    fn complete_call(
        &mut self,
        number: ItemNumber,
        item: &OutputItem<'_>,
        sink: &mut EventSink<'_>,
    ) {
        self.begin_call(number, item);
        self.calls.set(&number, &item.call_arguments(), sink);
        let call_id = item.call_id.as_str();
        if !call_id.is_empty() {
            self.calls.set_wire_id(&number, call_id, sink);
        }
        match item.status.as_str() {
            "incomplete" => self.calls.truncate(&number, sink),
            _ => self.calls.complete(&number, sink),
        }
    }

    /// Compares a call that comes again with what has come before.
    fn compare_call(&self, number: ItemNumber, item: &OutputItem<'_>, sink: &mut EventSink<'_>) {
        let arguments = item.call_arguments();
        let call = self.calls.latest(&number).filter(|_| !arguments.is_empty());
        if call.is_some_and(|call| !is_same_json(&call.arguments, &arguments)) {
            let message = format!(
                "the call `{}` has other arguments when it comes again",
                item.call_id.as_str().escape_debug()
            );
            sink.error(malformed(message, &arguments));
        }
    }

    /// Emits the content of a whole item that its pieces have not brought.
    fn complete_content(
        &mut self,
        number: ItemNumber,
        item: &OutputItem<'_>,
        sink: &mut EventSink<'_>,
    ) {
        let Some(known) = self.items.get_mut(number) else {
            return;
        };
        match item.kind.as_str() {
            "message" => {
                self.refused |= item.has_refusal();
                let Some(whole) = item.text() else {
                    return sink.error(malformed(
                        "expected the parts of a message",
                        item.content.0.unwrap_or_default(),
                    ));
                };
                let mut pieces = known.text.clone();
                sink.join(&mut pieces);
                match missing_text(&pieces, &whole) {
                    Some(missing) => {
                        if pieces.is_empty() && !missing.is_empty() {
                            separate(&mut self.has_text, sink);
                        }
                        sink.text(missing);
                    }
                    None => sink.error(malformed(
                        "a message has another text than its pieces",
                        &whole,
                    )),
                }
            }
            "reasoning" if !known.has_reasoning => sink.reasoning(&item.reasoning()),
            _ => {}
        }
    }
}

/// Emits the space before the first text of a message, if another message came before: a model may
/// comment on what it does before it answers.
fn separate(has_text: &mut bool, sink: &mut EventSink<'_>) {
    if std::mem::replace(has_text, true) {
        sink.text("\n\n");
    }
}

/// Returns the end of the whole text that its pieces have not brought; `None` if a piece before it
/// is lost. The whole text may be left out, or be trimmed.
fn missing_text<'a>(pieces: &str, whole: &'a str) -> Option<&'a str> {
    if let Some(rest) = whole.strip_prefix(pieces) {
        return Some(rest);
    }
    let is_same = whole.is_empty() || pieces.trim() == whole.trim();
    is_same.then_some("")
}

fn is_call_kind(kind: &str) -> bool {
    matches!(kind, "function_call" | "custom_tool_call")
}

fn set_if_empty(text: &mut String, value: &str) {
    if text.is_empty() {
        value.clone_into(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_the_pieces_of_a_text_left_out() {
        assert_eq!(missing_text("", "whole"), Some("whole"));
        assert_eq!(missing_text("who", "whole"), Some("le"));
        assert_eq!(missing_text("whole", ""), Some(""));
        assert_eq!(missing_text(" whole\n", "whole"), Some(""));
        assert_eq!(missing_text("wole", "whole"), None);
        assert_eq!(missing_text("le", "whole"), None);
        assert_eq!(missing_text("wholele", "whole"), None);
    }
}
