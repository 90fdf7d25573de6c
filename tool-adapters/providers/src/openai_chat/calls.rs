//! The calls of a message in Chat Completions, however the server numbers their pieces.

use crate::codec::{EventSink, WireCall};
use crate::event::{ProtocolError, malformed};
use crate::lenient::LenientText;
use crate::message_members::MessageMembers;
use crate::openai_chat::call_entry::{CallEntry, CalledFunction};
use crate::partial_calls::{PartialCall, PartialCalls, is_object};
use crate::same_json::is_same_json;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// A call of a message, by the order in which the calls began.
pub(crate) type CallNumber = u64;

/// The number of keys up to which they are compared one by one.
const FEW: usize = 8;

/// The calls of a message, as far as they have arrived.
#[derive(Debug, Default)]
pub(crate) struct ChatCalls {
    calls: PartialCalls<CallNumber>,
    count: CallNumber,
    by_index: LatestCalls<u64>,
    by_id: LatestCalls<String>,
    /// The call of the last piece.
    last: Option<CallNumber>,
    /// True once a piece that goes on with a call had the call's id or none: the server makes up no
    /// ids for pieces.
    ids_are_of_calls: bool,
    /// The arguments of calls that come once more, as far as they have.
    repeated: BTreeMap<CallNumber, String>,
    /// The members of calls that the protocol does not know.
    members: BTreeMap<CallNumber, MessageMembers>,
}

/// A call, or a piece of one.
pub(crate) struct CallPiece<'a> {
    pub(crate) index: Option<u64>,
    pub(crate) id: &'a str,
    pub(crate) name: &'a str,
    pub(crate) arguments: Cow<'a, str>,
    pub(crate) kind: &'static str,
}

/// A call of a whole message, with its entry.
pub(crate) struct WholeCall<'a> {
    pub(crate) piece: CallPiece<'a>,
    /// `None` in the form before `tool_calls`.
    pub(crate) entry: Option<&'a CallEntry<'a>>,
}

/// The latest call of each key.
#[derive(Debug)]
struct LatestCalls<K> {
    few: Vec<(K, CallNumber)>,
    many: HashMap<K, CallNumber>,
}

impl<K> Default for LatestCalls<K> {
    fn default() -> Self {
        Self {
            few: Vec::new(),
            many: HashMap::new(),
        }
    }
}

impl<K: Eq + Hash> LatestCalls<K> {
    fn get<Q>(&self, key: &Q) -> Option<CallNumber>
    where
        K: std::borrow::Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let is_key = |known: &&(K, CallNumber)| known.0.borrow() == key;
        let few = self.few.iter().rev().find(is_key).map(|known| known.1);
        few.or_else(|| self.many.get(key).copied())
    }

    fn insert(&mut self, key: K, call: CallNumber) {
        if self.many.is_empty() && self.few.len() < FEW {
            self.few.push((key, call));
            return;
        }
        self.many.extend(self.few.drain(..));
        self.many.insert(key, call);
    }
}

impl ChatCalls {
    /// Returns true if the message has no call.
    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Reads a call of a stream, or a piece of one. Returns false if it says nothing new.
    pub(crate) fn read_piece(&mut self, piece: CallPiece<'_>, sink: &mut EventSink<'_>) -> bool {
        let known = self.named_by(&piece);
        if let Some(number) = known.filter(|number| self.is_repeated(*number, &piece)) {
            self.last = Some(number);
            self.repeated
                .entry(number)
                .or_default()
                .push_str(&piece.arguments);
            return false;
        }
        let number = match known {
            Some(number) if self.begins_another(number, &piece) => self.begin(&piece),
            Some(number)
                if self
                    .calls
                    .latest(&number)
                    .is_some_and(|call| piece.repeats(call)) =>
            {
                self.last = Some(number);
                return false;
            }
            Some(number) => {
                if !self.belongs_to(number, &piece) {
                    sink.error(ProtocolError::Orphan {
                        key: piece.id.to_owned(),
                    });
                    return true;
                }
                self.identify(number, &piece);
                number
            }
            None => self.begin(&piece),
        };
        self.last = Some(number);
        self.calls.append(&number, piece.arguments, sink);
        true
    }

    /// Adds a piece of arguments to the call of the last piece. Returns false if it says nothing new.
    pub(crate) fn append_to_last(
        &mut self,
        arguments: Cow<'_, str>,
        sink: &mut EventSink<'_>,
    ) -> bool {
        let Some(number) = self.last else {
            return false;
        };
        if let Some(repeated) = self.repeated.get_mut(&number) {
            repeated.push_str(&arguments);
            return false;
        }
        let is_new = !arguments.is_empty();
        self.calls.append(&number, arguments, sink);
        is_new
    }

    /// Returns true for a piece of a call that comes once more, after it was whole: some servers
    /// send a stream twice.
    fn is_repeated(&mut self, number: CallNumber, piece: &CallPiece<'_>) -> bool {
        if self.repeated.contains_key(&number) {
            return piece.name.is_empty() || !piece.id.is_empty();
        }
        let Some(call) = self.calls.latest(&number) else {
            return false;
        };
        let is_beginning =
            !piece.id.is_empty() && call.wire.id == piece.id && call.wire.name == piece.name;
        is_beginning && self.calls.has_whole_object(&number)
    }

    /// Compares the calls that came once more with what they were before.
    fn check_repeated(&mut self, sink: &mut EventSink<'_>) {
        for (number, repeated) in std::mem::take(&mut self.repeated) {
            let Some(call) = self.calls.latest(&number) else {
                continue;
            };
            let is_same = repeated.is_empty() || is_same_json(&repeated, &call.arguments);
            if !is_same {
                let message = format!(
                    "the call `{}` has other arguments when it comes again",
                    call.wire.id.escape_debug()
                );
                sink.error(malformed(message, &repeated));
            }
        }
    }

    /// Reads a call of a whole answer; returns false for one that has come before.
    pub(crate) fn read_whole(&mut self, piece: CallPiece<'_>, sink: &mut EventSink<'_>) -> bool {
        let same_id = self.by_id.get(piece.id).filter(|_| !piece.id.is_empty());
        if same_id
            .and_then(|number| self.calls.latest(&number))
            .is_some_and(|call| piece.repeats(call))
        {
            return false;
        }
        let number = self.begin(&piece);
        self.last = Some(number);
        self.calls.append(&number, piece.arguments, sink);
        true
    }

    /// Compares the calls of a whole message with those of its stream: a call that the stream has
    /// had does not come again. Returns the calls that are new.
    ///
    /// A call is the same if it has the same id, or the name and the arguments of a call that no
    /// other one is.
    pub(crate) fn new_of_message<'a>(
        &self,
        calls: Vec<WholeCall<'a>>,
    ) -> Result<Vec<WholeCall<'a>>, String> {
        let mut left = (0..self.count)
            .filter_map(|number| self.calls.latest(&number))
            .collect::<Vec<_>>();
        let mut others = Vec::new();
        for whole in calls {
            let piece = &whole.piece;
            let same_id = left
                .iter()
                .position(|call| !piece.id.is_empty() && call.wire.id == piece.id);
            let Some(at) = same_id else {
                others.push(whole);
                continue;
            };
            let call = left.remove(at);
            if !piece.agrees(call) {
                return Err(format!(
                    "the call `{}` has other arguments in the whole message than in its pieces",
                    piece.id
                ));
            }
        }
        others.retain(|whole| {
            let same = left
                .iter()
                .position(|call| whole.piece.wire_name_is(call) && whole.piece.agrees(call));
            same.map(|at| left.remove(at)).is_none()
        });
        if let (Some(other), Some(missing)) = (others.first(), left.first()) {
            return Err(format!(
                "the whole message has the call `{}` in place of the call `{}` of its pieces",
                other.piece.id, missing.wire.id
            ));
        }
        Ok(others)
    }

    /// Keeps the members of a call's entry that the protocol does not know.
    pub(crate) fn keep_members(&mut self, entry: &CallEntry<'_>, sink: &mut EventSink<'_>) {
        let Some(number) = self.last else { return };
        let function = entry.function.as_ref();
        let custom = entry.custom.as_ref();
        let of_function = function.map(|called| ("function", &called.others.0));
        let of_custom = custom.map(|called| ("custom", &called.others.0));
        let called = of_function.or(of_custom);
        if entry.others.0.is_empty() && called.is_none_or(|(_, others)| others.is_empty()) {
            return;
        }
        let members = self.members.entry(number).or_default();
        for other in &entry.others.0 {
            match other.value() {
                Ok(value) => members.add(&other.name, value),
                Err(error) => sink.error(error),
            }
        }
        let Some((kind, others)) = called else { return };
        for other in others {
            match other.value() {
                Ok(value) => {
                    let member = Map::from_iter([(other.name.clone(), value)]);
                    members.add(kind, Value::Object(member));
                }
                Err(error) => sink.error(error),
            }
        }
    }

    /// Returns true if a call cannot be sent back by its id, name and arguments alone: it has members that the protocol does not
    /// know, or is of a custom tool.
    pub(crate) fn need_an_item(&self) -> bool {
        let mut calls = (0..self.count).filter_map(|number| self.calls.latest(&number));
        let has_custom = calls.any(|call| !call.wire.kind.is_empty());
        has_custom || !self.members.is_empty()
    }

    /// Returns the calls as the message has them, with the members that the protocol does not know.
    pub(crate) fn items(&mut self) -> Vec<Value> {
        let mut items = Vec::new();
        for number in 0..self.count {
            let Some(call) = self.calls.latest(&number) else {
                continue;
            };
            let mut item = std::mem::take(self.members.entry(number).or_default()).into_map();
            let is_custom = !call.wire.kind.is_empty();
            let (kind, arguments) = if is_custom {
                ("custom", "input")
            } else {
                ("function", "arguments")
            };
            item.insert("id".to_owned(), call.wire.id.as_str().into());
            item.insert("type".to_owned(), kind.into());
            let function = item.entry(kind).or_insert_with(|| json!({}));
            function["name"] = call.wire.name.as_str().into();
            function[arguments] = "".into();
            items.push(Value::Object(item));
        }
        items
    }

    /// Emits all calls as whole.
    pub(crate) fn complete_all(&mut self, sink: &mut EventSink<'_>) {
        self.check_repeated(sink);
        self.calls.complete_all(sink);
    }

    /// Emits all calls of a message that was cut off.
    pub(crate) fn truncate_all(&mut self, sink: &mut EventSink<'_>) {
        self.calls.truncate_all(sink);
    }

    /// Returns the call that a piece names: by its index, by its id, or by the order of the pieces.
    fn named_by(&self, piece: &CallPiece<'_>) -> Option<CallNumber> {
        let by_id = self.by_id.get(piece.id).filter(|_| !piece.id.is_empty());
        let Some(index) = piece.index else {
            return by_id.or(self.last);
        };
        let by_index = self.by_index.get(&index);
        let has_id = |number: &CallNumber| {
            self.calls
                .latest(number)
                .is_some_and(|call| call.wire.id == piece.id)
        };
        match by_index {
            Some(number) if has_id(&number) => Some(number),
            // Some servers give several calls one id, others give all calls the index 0.
            None if !piece.name.is_empty() => None,
            by_index => by_id.or(by_index),
        }
    }

    /// Returns true for a piece that begins another call at the same place: some servers give all
    /// calls the index 0. A new id begins a call, and so does anything after a whole object. A
    /// piece without a name does not, as other servers make up an id for each piece, and neither
    /// does a piece that gives a call its name.
    fn begins_another(&mut self, number: CallNumber, piece: &CallPiece<'_>) -> bool {
        let after_whole = piece.may_begin_object() && self.calls.has_whole_object(&number);
        let Some(call) = self.calls.latest(&number) else {
            return true;
        };
        if piece.repeats(call) {
            return false;
        }
        let is_nameless = piece.name.is_empty() || call.wire.name.is_empty();
        let has_other_id =
            !piece.id.is_empty() && !call.wire.id.is_empty() && piece.id != call.wire.id;
        let has_other_name = piece.name != call.wire.name && !call.arguments.is_empty();
        !is_nameless && (has_other_id || has_other_name || after_whole)
    }

    /// Returns false for a piece with an id that no call has, of a server whose pieces have the ids
    /// of their calls: the beginning of its call is lost.
    fn belongs_to(&mut self, number: CallNumber, piece: &CallPiece<'_>) -> bool {
        let id = self.calls.latest(&number).map_or("", |call| &*call.wire.id);
        let has_own_id = !piece.id.is_empty() && !id.is_empty() && piece.id != id;
        let is_known = !has_own_id || piece.index.is_some() || !piece.name.is_empty();
        self.ids_are_of_calls |= !has_own_id && piece.name.is_empty();
        is_known || !self.ids_are_of_calls
    }

    fn begin(&mut self, piece: &CallPiece<'_>) -> CallNumber {
        let number = self.count;
        self.count += 1;
        self.calls.begin(number, piece.wire());
        if let Some(index) = piece.index {
            self.by_index.insert(index, number);
        }
        if !piece.id.is_empty() {
            self.by_id.insert(piece.id.to_owned(), number);
        }
        number
    }

    fn identify(&mut self, number: CallNumber, piece: &CallPiece<'_>) {
        self.calls.identify(&number, piece.id, piece.name);
        let has_id = self
            .calls
            .latest(&number)
            .is_some_and(|call| call.wire.id == piece.id);
        if has_id && !piece.id.is_empty() && self.by_id.get(piece.id).is_none() {
            self.by_id.insert(piece.id.to_owned(), number);
        }
    }
}

impl<'a> WholeCall<'a> {
    /// Returns the call of an entry; `None` for an entry that is no call for us.
    pub(crate) fn of_entry(entry: &'a CallEntry<'a>) -> Option<Self> {
        Some(Self {
            piece: CallPiece::of_entry(entry)?,
            entry: Some(entry),
        })
    }

    /// Returns the call of a message in the form before `tool_calls`.
    pub(crate) fn of_legacy_call(function: &'a CalledFunction<'_>) -> Self {
        Self {
            piece: CallPiece::of_legacy_call(function),
            entry: None,
        }
    }
}

impl<'a> CallPiece<'a> {
    /// Returns the piece of an entry; `None` for an entry that is no call for us: one that the
    /// server has run.
    pub(crate) fn of_entry(entry: &'a CallEntry<'_>) -> Option<Self> {
        let index = entry.index.map(|index| index.0);
        match (entry.function.as_ref(), entry.custom.as_ref()) {
            (None, Some(custom)) => Some(Self::new(index, &entry.id, custom, "custom")),
            (Some(function), _) => Some(Self::new(index, &entry.id, function, "")),
            (None, None) if matches!(entry.kind.as_str(), "" | "function" | "custom") => {
                let id = given_id(&entry.id);
                Some(Self {
                    index,
                    id,
                    name: "",
                    arguments: Cow::Borrowed(""),
                    kind: "",
                })
            }
            (None, None) => None,
        }
    }

    /// Returns the call of a message in the form before `tool_calls`.
    pub(crate) fn of_legacy_call(function: &'a CalledFunction<'_>) -> Self {
        const NO_ID: &LenientText<'static> = &LenientText(None);
        Self::new(Some(0), NO_ID, function, "")
    }

    fn new(
        index: Option<u64>,
        id: &'a LenientText<'_>,
        function: &'a CalledFunction<'_>,
        kind: &'static str,
    ) -> Self {
        let arguments = if kind.is_empty() {
            function.arguments
        } else {
            function.input
        };
        Self {
            index,
            id: given_id(id),
            name: function.name.as_str(),
            arguments: arguments.text(),
            kind,
        }
    }

    fn wire(&self) -> WireCall {
        WireCall {
            id: self.id.to_owned(),
            name: self.name.to_owned(),
            kind: self.kind,
        }
    }

    /// Returns true for a piece that the call has: an event that came twice.
    fn repeats(&self, call: &PartialCall<CallNumber>) -> bool {
        let same = !self.id.is_empty() && self.id == call.wire.id;
        same && self.name == call.wire.name
            && is_object(&self.arguments)
            && self.arguments == call.arguments
    }

    fn wire_name_is(&self, call: &PartialCall<CallNumber>) -> bool {
        self.name == call.wire.name
    }

    /// Returns true if the call has the same arguments, however they are spaced.
    fn agrees(&self, call: &PartialCall<CallNumber>) -> bool {
        self.wire_name_is(call) && is_same_json(&self.arguments, &call.arguments)
    }

    fn may_begin_object(&self) -> bool {
        !self.name.is_empty() && self.arguments.trim_ascii_start().starts_with('{')
    }
}

/// Returns the id, if there is one: Mistral sends the text `null` for none.
fn given_id<'a>(id: &'a LenientText<'_>) -> &'a str {
    Some(id.as_str())
        .filter(|id| *id != "null")
        .unwrap_or_default()
}
