//! Calls that arrive in pieces.

use crate::codec::{EventSink, WireCall};
use crate::event::{Event, ProtocolError};
use crate::framing::json::{JsonScanner, Scan};
use serde::de::IgnoredAny;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Display;
use std::hash::Hash;
use tool_core::ToolCall;

/// The number of calls up to which a call is found without the index.
const UNINDEXED: usize = 8;

/// The calls of a message, by the key that the provider gives their pieces. Unless a call is
/// emitted by itself, calls are emitted in the order in which they began.
///
/// A call is started, which gives it its id, when its name is known and its first arguments have
/// arrived. Before that a name may still come in pieces, and the provider's id may come late.
#[derive(Debug)]
pub(crate) struct PartialCalls<K> {
    calls: Vec<PartialCall<K>>,
    /// The latest call of each key, once there are more than [`UNINDEXED`].
    latest: HashMap<K, usize>,
    /// The number of calls, from the first, that are all emitted.
    emitted: usize,
}

/// A call, as far as it has arrived.
#[derive(Debug)]
pub(crate) struct PartialCall<K> {
    key: K,
    /// The provider's id and the name. Each is empty until it arrives.
    pub(crate) wire: WireCall,
    /// The arguments so far.
    pub(crate) arguments: String,
    /// True once the call is emitted: later pieces are passed over.
    pub(crate) emitted: bool,
    /// True for a call that was taken back.
    discarded: bool,
    /// Our id, once the call is started.
    id: Option<String>,
    too_large: bool,
    /// The part of the arguments that has been looked at for the end of an object.
    scan: ObjectScan,
}

impl<K> Default for PartialCalls<K> {
    fn default() -> Self {
        Self {
            calls: Vec::new(),
            latest: HashMap::new(),
            emitted: 0,
        }
    }
}

impl<K: Clone + Eq + Hash + Display> PartialCalls<K> {
    /// Begins a call. An open call of the same key stays open and gets no more pieces.
    pub(crate) fn begin(&mut self, key: K, wire: WireCall) {
        match self.calls.len() {
            0..UNINDEXED => {}
            UNINDEXED => {
                let keys = self
                    .calls
                    .iter()
                    .map(|call| call.key.clone())
                    .chain([key.clone()]);
                self.latest.extend(keys.zip(0..));
            }
            at => _ = self.latest.insert(key.clone(), at),
        }
        self.calls.push(PartialCall {
            key,
            wire,
            arguments: String::new(),
            emitted: false,
            discarded: false,
            id: None,
            too_large: false,
            scan: ObjectScan::default(),
        });
    }

    /// Returns the latest call of a key.
    pub(crate) fn latest(&self, key: &K) -> Option<&PartialCall<K>> {
        self.calls.get(self.position(key)?)
    }

    /// Adds the id, the name or more of the name to a call that began without. What is known
    /// already stays.
    pub(crate) fn identify(&mut self, key: &K, id: &str, name: &str) {
        let Some(call) = self.latest_mut(key).filter(|call| call.id.is_none()) else {
            return;
        };
        if call.wire.id.is_empty() {
            id.clone_into(&mut call.wire.id);
        }
        if call.wire.name != name && call.arguments.is_empty() || call.wire.name.is_empty() {
            call.wire.name.push_str(name);
        }
    }

    /// Adds a piece of arguments. A piece of an unknown call begins one, whose name has to follow.
    pub(crate) fn append(&mut self, key: &K, piece: Cow<'_, str>, sink: &mut EventSink<'_>) {
        if piece.is_empty() {
            return;
        }
        if self.position(key).is_none() {
            self.begin(key.clone(), WireCall::default());
        }
        if let Some(call) = self.latest_mut(key).filter(|call| !call.emitted) {
            call.append(piece, sink);
        }
    }

    /// Sets the whole arguments, which replace the pieces where they differ. Pieces that are whole
    /// stay if these are not.
    pub(crate) fn set(&mut self, key: &K, arguments: &str, sink: &mut EventSink<'_>) {
        let differs = |call: &&mut PartialCall<K>| !call.emitted && call.arguments != arguments;
        let Some(call) = self
            .latest_mut(key)
            .filter(differs)
            .filter(|_| !arguments.is_empty())
        else {
            return;
        };
        if let Some(rest) = arguments.strip_prefix(&*call.arguments) {
            call.append(Cow::Borrowed(rest), sink);
        } else if is_object(arguments) || !is_object(&call.arguments) {
            arguments.clone_into(&mut call.arguments);
            call.scan = ObjectScan::default();
        }
    }

    /// Sets the id that the provider gives the call at last, under which it is answered.
    pub(crate) fn set_wire_id(&mut self, key: &K, wire_id: &str, sink: &mut EventSink<'_>) {
        let Some(call) = self.latest_mut(key).filter(|call| call.wire.id != wire_id) else {
            return;
        };
        wire_id.clone_into(&mut call.wire.id);
        if let Some(id) = &call.id {
            sink.ids.set_wire_id(id, wire_id);
        }
    }

    /// Returns true if the arguments of the latest call of a key are one whole JSON object.
    pub(crate) fn has_whole_object(&mut self, key: &K) -> bool {
        self.latest_mut(key)
            .is_some_and(|call| call.scan.is_object(&call.arguments))
    }

    /// Emits a whole call.
    pub(crate) fn complete(&mut self, key: &K, sink: &mut EventSink<'_>) {
        if let Some(call) = self.latest_mut(key) {
            call.emit(sink);
        }
    }

    /// Takes back an open call that is none for us to answer. Its beginning may be emitted.
    pub(crate) fn discard(&mut self, key: &K) {
        if let Some(call) = self.latest_mut(key).filter(|call| !call.emitted) {
            call.emitted = true;
            call.discarded = true;
            call.arguments = String::new();
        }
    }

    /// Emits all open calls as whole.
    pub(crate) fn complete_all(&mut self, sink: &mut EventSink<'_>) {
        for call in self.calls.iter_mut().skip(self.emitted) {
            call.emit(sink);
        }
        self.emitted = self.calls.len();
    }

    /// Emits all open calls of a message that was cut off. A call whose arguments are not whole
    /// follows the error that says so.
    pub(crate) fn truncate_all(&mut self, sink: &mut EventSink<'_>) {
        for call in self.calls.iter_mut().skip(self.emitted) {
            call.truncate(sink);
        }
        self.emitted = self.calls.len();
    }

    /// Emits one call of a message that was cut off.
    pub(crate) fn truncate(&mut self, key: &K, sink: &mut EventSink<'_>) {
        if let Some(call) = self.latest_mut(key) {
            call.truncate(sink);
        }
    }

    /// Returns true if the message has no call.
    pub(crate) fn is_empty(&self) -> bool {
        self.calls.iter().all(|call| call.discarded)
    }

    fn latest_mut(&mut self, key: &K) -> Option<&mut PartialCall<K>> {
        let at = self.position(key)?;
        self.calls.get_mut(at)
    }

    fn position(&self, key: &K) -> Option<usize> {
        match self.calls.len() {
            0..=UNINDEXED => self.calls.iter().rposition(|call| call.key == *key),
            _ => self.latest.get(key).copied(),
        }
    }
}

impl<K: Display> PartialCall<K> {
    fn append(&mut self, piece: Cow<'_, str>, sink: &mut EventSink<'_>) {
        if self.wire.name.is_empty() {
            // Emitted with the name.
            sink.append(&mut self.arguments, &piece, &mut self.too_large);
            return;
        }
        self.start(sink);
        if sink.append(&mut self.arguments, &piece, &mut self.too_large) {
            self.emit_piece(piece.into_owned(), sink);
        }
    }

    /// Starts the call, unless it is started; returns false for a call without an id and a name,
    /// which has no answer.
    fn start(&mut self, sink: &mut EventSink<'_>) -> bool {
        if self.id.is_some() {
            return true;
        }
        if self.wire.id.is_empty() && self.wire.name.is_empty() {
            return false;
        }
        let id = sink.assign(self.wire.clone());
        sink.push(Event::CallStarted {
            id: id.clone(),
            name: self.wire.name.clone(),
        });
        self.id = Some(id);
        if !self.arguments.is_empty() {
            self.emit_piece(self.arguments.clone(), sink);
        }
        true
    }

    fn emit_piece(&self, piece: String, sink: &mut EventSink<'_>) {
        sink.arguments(self.id.as_deref().unwrap_or_default(), piece);
    }

    fn truncate(&mut self, sink: &mut EventSink<'_>) {
        if !self.emitted && !is_object(&self.arguments) && self.start(sink) {
            sink.error(ProtocolError::Truncated {
                call_id: self.id.clone(),
            });
            invalidate_if_empty(&mut self.arguments);
        }
        self.emit(sink);
    }

    fn emit(&mut self, sink: &mut EventSink<'_>) {
        if std::mem::replace(&mut self.emitted, true) {
            return;
        }
        if !self.start(sink) {
            return sink.error(ProtocolError::Orphan {
                key: self.key.to_string(),
            });
        }
        let id = self.id.as_deref().unwrap_or_default();
        let mut arguments = self.arguments.clone();
        sink.join(&mut arguments);
        sink.push(Event::Call(ToolCall::new(id, &*self.wire.name, arguments)));
    }
}

/// Makes the arguments of a call that was cut off invalid: without a text they would count as `{}`,
/// and the call would run.
pub(crate) fn invalidate_if_empty(arguments: &mut String) {
    if arguments.trim_ascii().is_empty() {
        "{".clone_into(arguments);
    }
}

/// Returns true for a text that is one whole JSON object.
pub(crate) fn is_object(text: &str) -> bool {
    let trimmed = text.trim_ascii();
    trimmed.starts_with('{')
        && trimmed.ends_with('}')
        && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Looks for the end of an object in a text that grows, and reads no part of it twice. The text is
/// parsed once it has the form of a whole object.
#[derive(Debug, Default)]
struct ObjectScan {
    scanner: JsonScanner,
    /// The length that has been read.
    read: usize,
    /// The length of the text and whether it was an object, once the object has ended.
    ended: Option<(usize, bool)>,
}

impl ObjectScan {
    fn is_object(&mut self, text: &str) -> bool {
        if self.ended.is_none() {
            self.read_on(text);
        }
        let Some((length, was_object)) = self.ended else {
            return false;
        };
        if length == text.len() || !was_object {
            return was_object;
        }
        let follows_blank = text
            .get(length..)
            .is_some_and(|rest| rest.trim_ascii().is_empty());
        self.ended = Some((text.len(), follows_blank));
        follows_blank
    }

    fn read_on(&mut self, text: &str) {
        let rest = text.get(self.read..).unwrap_or_default();
        let rest = if self.read == 0 {
            rest.trim_ascii_start()
        } else {
            rest
        };
        match rest.as_bytes().first() {
            None => return,
            Some(b'{') => {}
            Some(_) if self.read > 0 => {}
            Some(_) => {
                self.ended = Some((text.len(), false));
                return;
            }
        }
        match self.scanner.scan(rest.as_bytes()) {
            Scan::Open => self.read = text.len(),
            Scan::End(_) | Scan::Broken { .. } => self.ended = Some((text.len(), is_object(text))),
        }
    }
}
