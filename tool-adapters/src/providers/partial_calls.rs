//! Calls and content blocks that arrive in pieces.

use crate::providers::codec::{EventSink, WireCall};
use crate::providers::event::{Event, ProtocolError};
use crate::providers::framing::json::{JsonScanner, Scan};
use crate::providers::lenient::RawJson;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Display;
use std::hash::Hash;
use tool_core::ToolCall;

/// The number of calls up to which a call is found without the index.
const UNINDEXED: usize = 8;

/// The calls of a message, by the key that the provider gives their pieces. Unless a call is emitted by itself, calls are
/// emitted in the order in which they began.
///
/// A call is started, which gives it its id, when its name is known and its first arguments have arrived. Before that a
/// name may still come in pieces, and the provider's id may come late.
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
        Self { calls: Vec::new(), latest: HashMap::new(), emitted: 0 }
    }
}

impl<K: Clone + Eq + Hash + Display> PartialCalls<K> {
    /// Begins a call. An open call of the same key stays open and gets no more pieces.
    pub(crate) fn begin(&mut self, key: K, wire: WireCall) {
        match self.calls.len() {
            0..UNINDEXED => {}
            UNINDEXED => {
                let keys = self.calls.iter().map(|call| call.key.clone()).chain([key.clone()]);
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

    /// Adds the id, the name or more of the name to a call that began without. What is known already stays.
    pub(crate) fn identify(&mut self, key: &K, id: &str, name: &str) {
        let Some(call) = self.latest_mut(key).filter(|call| call.id.is_none()) else { return };
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

    /// Sets the whole arguments, which replace the pieces where they differ. Pieces that are whole stay if these are not.
    pub(crate) fn set(&mut self, key: &K, arguments: &str, sink: &mut EventSink<'_>) {
        let differs = |call: &&mut PartialCall<K>| !call.emitted && call.arguments != arguments;
        let Some(call) = self.latest_mut(key).filter(differs).filter(|_| !arguments.is_empty()) else { return };
        if let Some(rest) = arguments.strip_prefix(&*call.arguments) {
            call.append(Cow::Borrowed(rest), sink);
        } else if is_object(arguments) || !is_object(&call.arguments) {
            arguments.clone_into(&mut call.arguments);
            call.scan = ObjectScan::default();
        }
    }

    /// Sets the id that the provider gives the call at last, under which it is answered.
    pub(crate) fn set_wire_id(&mut self, key: &K, wire_id: &str, sink: &mut EventSink<'_>) {
        let Some(call) = self.latest_mut(key).filter(|call| call.wire.id != wire_id) else { return };
        wire_id.clone_into(&mut call.wire.id);
        if let Some(id) = &call.id {
            sink.ids.set_wire_id(id, wire_id);
        }
    }

    /// Returns true if the arguments of the latest call of a key are one whole JSON object.
    pub(crate) fn has_whole_object(&mut self, key: &K) -> bool {
        self.latest_mut(key).is_some_and(|call| call.scan.is_object(&call.arguments))
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

    /// Emits all open calls of a message that was cut off. A call whose arguments are not whole follows the error that
    /// says so.
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

    /// Starts the call, unless it is started; returns false for a call without an id and a name, which has no answer.
    fn start(&mut self, sink: &mut EventSink<'_>) -> bool {
        if self.id.is_some() {
            return true;
        }
        if self.wire.id.is_empty() && self.wire.name.is_empty() {
            return false;
        }
        let id = sink.assign(self.wire.clone());
        sink.push(Event::CallStarted { id: id.clone(), name: self.wire.name.clone() });
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
            sink.error(ProtocolError::Truncated { call_id: self.id.clone() });
            invalidate_if_empty(&mut self.arguments);
        }
        self.emit(sink);
    }

    fn emit(&mut self, sink: &mut EventSink<'_>) {
        if std::mem::replace(&mut self.emitted, true) {
            return;
        }
        if !self.start(sink) {
            return sink.error(ProtocolError::Orphan { key: self.key.to_string() });
        }
        let id = self.id.as_deref().unwrap_or_default();
        let mut arguments = self.arguments.clone();
        sink.join(&mut arguments);
        sink.push(Event::Call(ToolCall::new(id, &*self.wire.name, arguments)));
    }
}

/// Makes the arguments of a call that was cut off invalid: without a text they would count as `{}`, and the call would
/// run.
pub(crate) fn invalidate_if_empty(arguments: &mut String) {
    if arguments.trim_ascii().is_empty() {
        "{".clone_into(arguments);
    }
}

/// Returns true for a text that is one whole JSON object.
pub(crate) fn is_object(text: &str) -> bool {
    let trimmed = text.trim_ascii();
    trimmed.starts_with('{') && trimmed.ends_with('}') && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Looks for the end of an object in a text that grows, and reads no part of it twice. The text is parsed once it has the
/// form of a whole object.
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
        let Some((length, was_object)) = self.ended else { return false };
        if length == text.len() || !was_object {
            return was_object;
        }
        let follows_blank = text.get(length..).is_some_and(|rest| rest.trim_ascii().is_empty());
        self.ended = Some((text.len(), follows_blank));
        follows_blank
    }

    fn read_on(&mut self, text: &str) {
        let rest = text.get(self.read..).unwrap_or_default();
        let rest = if self.read == 0 { rest.trim_ascii_start() } else { rest };
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

/// The content blocks of a message.
#[derive(Debug, Default)]
pub(crate) struct ContentBlocks {
    /// The open blocks, by the number of their beginning.
    open: BTreeMap<usize, ContentBlock>,
    begun: usize,
    /// The latest block of each index.
    latest: HashMap<String, LatestBlock>,
    has_calls: bool,
}

/// The latest block of an index.
#[derive(Debug)]
struct LatestBlock {
    /// A call's id, or an empty text for another block. A call without an id has none.
    id: Option<String>,
    /// The number of its beginning.
    number: usize,
}

/// A content block while its pieces arrive.
#[derive(Debug)]
pub(crate) struct ContentBlock {
    kind: BlockKind,
    /// The block in the provider's form.
    item: Value,
    /// The pointer to the input in the item, if it has one.
    input: Option<&'static str>,
    /// The input's text.
    json: String,
    too_large: bool,
}

#[derive(Debug)]
enum BlockKind {
    /// A call of a function tool, under our id.
    Call { id: String, name: String },
    /// Text, which is kept even if it is cut off.
    Text,
    /// A thought, or a tool that the provider runs itself.
    Other,
}

impl ContentBlock {
    /// A block of the model's text.
    pub(crate) fn text(item: Value) -> Self {
        Self { kind: BlockKind::Text, ..Self::other(item) }
    }

    /// A block in the provider's own form.
    pub(crate) fn other(item: Value) -> Self {
        Self { kind: BlockKind::Other, item, input: None, json: String::new(), too_large: false }
    }

    /// A call that the provider runs itself, with its input at this pointer.
    pub(crate) fn with_input(mut self, pointer: &'static str) -> Self {
        self.input = Some(pointer);
        self
    }

    /// Appends to a text member of the object at `pointer`.
    pub(crate) fn append(&mut self, pointer: &str, member: &str, piece: &str, sink: &mut EventSink<'_>) {
        if piece.is_empty() {
            return;
        }
        let object = self.item.pointer_mut(pointer).and_then(Value::as_object_mut);
        let text = object.map(|object| object.entry(member).or_insert_with(|| Value::from("")));
        if let Some(Value::String(text)) = text {
            sink.append(text, piece, &mut self.too_large);
        }
    }

    /// Returns the item, for changes other than pieces of text.
    pub(crate) fn item_mut(&mut self) -> &mut Value {
        &mut self.item
    }

    /// Adds a piece of the input.
    pub(crate) fn append_input(&mut self, piece: Cow<'_, str>, sink: &mut EventSink<'_>) {
        if piece.is_empty() || !sink.append(&mut self.json, &piece, &mut self.too_large) {
            return;
        }
        if let BlockKind::Call { id, .. } = &self.kind {
            sink.arguments(id, piece.into_owned());
        }
    }

    /// Emits a whole block.
    fn complete(mut self, sink: &mut EventSink<'_>) {
        if self.json.is_empty()
            && let Some(input) = self.input.and_then(|at| self.item.pointer(at))
        {
            self.json = if input.is_null() { "{}".to_owned() } else { input.to_string() };
        }
        self.emit(sink);
    }

    /// Emits the block of a message that was cut off.
    fn truncate(mut self, sink: &mut EventSink<'_>) {
        match &self.kind {
            BlockKind::Other => return,
            BlockKind::Call { id, .. } if !is_object(&self.json) => {
                sink.error(ProtocolError::Truncated { call_id: Some(id.clone()) });
                invalidate_if_empty(&mut self.json);
            }
            _ => {}
        }
        self.emit(sink);
    }

    fn emit(mut self, sink: &mut EventSink<'_>) {
        sink.join(&mut self.json);
        sink.join_item(&mut self.item);
        if let Some(input) = self.input.and_then(|at| self.item.pointer_mut(at))
            && let Ok(object) = serde_json::from_str::<Map<_, _>>(&self.json)
        {
            *input = Value::Object(object);
        }
        if let BlockKind::Call { id, name } = self.kind {
            sink.push(Event::Call(ToolCall::new(id, name, self.json)));
        }
        sink.push(Event::Item(self.item));
    }
}

impl ContentBlocks {
    /// Begins a block; returns false if its index has had it already, so that it says nothing new.
    pub(crate) fn begin(&mut self, key: &str, block: ContentBlock) -> bool {
        self.push(key, Some(""), block)
    }

    /// Begins the block of a call, which has the arguments as its input.
    pub(crate) fn begin_call(
        &mut self,
        key: &str,
        mut block: ContentBlock,
        call: WireCall,
        sink: &mut EventSink<'_>,
    ) -> bool {
        // A call without an id is never known to be the same.
        let wire_id = Some(call.id.clone()).filter(|id| !id.is_empty());
        if wire_id.is_some() && self.is_latest(key, wire_id.as_deref()) {
            return false;
        }
        let name = call.name.clone();
        let id = sink.assign(call);
        self.has_calls = true;
        sink.push(Event::CallStarted { id: id.clone(), name: name.clone() });
        block.kind = BlockKind::Call { id, name };
        self.push(key, wire_id.as_deref(), block)
    }

    fn is_latest(&self, key: &str, id: Option<&str>) -> bool {
        self.latest.get(key).is_some_and(|latest| latest.id.is_some() && latest.id.as_deref() == id)
    }

    /// Gives an index to a block; returns false if it has it. An open block of that index gets no more pieces.
    fn push(&mut self, key: &str, id: Option<&str>, block: ContentBlock) -> bool {
        if self.is_latest(key, id) {
            return false;
        }
        let number = self.begun;
        self.begun += 1;
        self.latest.insert(key.to_owned(), LatestBlock { id: id.map(str::to_owned), number });
        self.open.insert(number, block);
        true
    }

    /// Appends the input that a block has from the beginning. A streamed block begins with `{}`.
    pub(crate) fn append_whole_input(&mut self, key: &str, input: RawJson<'_>, sink: &mut EventSink<'_>) {
        let input = input.text();
        if !matches!(input.trim_ascii(), "" | "{}")
            && let Some((_, block)) = self.open(key)
        {
            block.append_input(input, sink);
        }
    }

    /// Returns the number and the open block of an index.
    pub(crate) fn open(&mut self, key: &str) -> Option<(usize, &mut ContentBlock)> {
        let number = self.latest.get(key)?.number;
        Some((number, self.open_at(number)?))
    }

    /// Returns the open block of a number.
    pub(crate) fn open_at(&mut self, number: usize) -> Option<&mut ContentBlock> {
        self.open.get_mut(&number)
    }

    /// Returns true if the index has had a block.
    pub(crate) fn has_had(&self, key: &str) -> bool {
        self.latest.contains_key(key)
    }

    /// Emits the block of an index as whole; returns false if none is open.
    pub(crate) fn complete(&mut self, key: &str, sink: &mut EventSink<'_>) -> bool {
        let block = self.latest.get(key).and_then(|latest| self.open.remove(&latest.number));
        block.map(|block| block.complete(sink)).is_some()
    }

    /// Emits the open blocks at the end of the message. A call whose arguments are not whole follows the error that says
    /// so. A thought without its end is left out, as the provider would not accept it.
    pub(crate) fn truncate_all(&mut self, sink: &mut EventSink<'_>) {
        for block in std::mem::take(&mut self.open).into_values() {
            block.truncate(sink);
        }
    }

    /// Returns true if the message has a call.
    pub(crate) fn has_calls(&self) -> bool {
        self.has_calls
    }
}
