//! The content blocks of a message: each begins, grows by pieces and ends under its index.

use crate::providers::codec::{EventSink, WireCall};
use crate::providers::event::{Event, ProtocolError, out_of_place};
use crate::providers::partial_calls::is_object;
use crate::providers::same_json::canonical_json;
use foldhash::fast::FixedState;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::{BuildHasher, Hash, Hasher};
use tool_core::ToolCall;

/// The places of signatures in the items of thoughts.
const SIGNATURES: [&str; 2] = ["/signature", "/reasoningContent/reasoningText/signature"];

/// The content blocks of a message, in order.
///
/// A block that comes twice counts once. Within an index, a block is the same if its kind and its id are: its second coming
/// has to say what the first one said. Under different indices, calls with the same id, name and input are one call.
#[derive(Debug, Default)]
pub(crate) struct ContentBlocks {
    /// The latest block of each index.
    slots: Vec<Slot>,
    /// The digests of the calls that are whole and have an id of the provider.
    calls: HashSet<u64>,
    has_calls: bool,
    has_provider_calls: bool,
}

#[derive(Debug)]
struct Slot {
    identity: BlockIdentity,
    /// The block; `None` after its end.
    open: Option<ContentBlock>,
    /// The digest of the block's item, after its end.
    digest: u64,
}

/// The properties by which a block is known when it comes again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockIdentity {
    pub(crate) kind: String,
    /// The provider's id; empty for a block that has none.
    pub(crate) id: String,
    /// The name of a call.
    pub(crate) name: String,
}

/// The part of a message that has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Progress {
    #[default]
    Nothing,
    Begun,
    Ended,
}

/// The effect of an event that begins a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beginning {
    New,
    /// The block is open: the event says nothing new.
    Open,
    /// The block has ended and comes again.
    Again,
    /// Another block is open under this index, and shows that it is whole: some hosts give all blocks one index. It has to be
    /// completed first.
    InPlaceOfAnother,
}

/// A content block while its pieces arrive.
#[derive(Debug)]
pub(crate) struct ContentBlock {
    kind: BlockKind,
    /// The block in the provider's form.
    item: Value,
    /// The place of the input in the item, if it has one.
    input: Option<InputPlace>,
    /// The input's text, from pieces.
    json: String,
    /// The input with which the block began. It counts if no piece follows.
    first_input: String,
    too_large: bool,
    /// The digest of the block that this one repeats.
    repeated: Option<u64>,
}

/// The place and the form of the input of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum InputPlace {
    /// An object at this pointer.
    Object(&'static str),
    /// A JSON text at this pointer.
    Text(&'static str),
}

#[derive(Debug)]
enum BlockKind {
    /// A call of a function tool, under our id.
    Call { id: String, wire: WireCall },
    /// Text, which is kept even if it is cut off.
    Text,
    /// A thought, or a tool that the provider runs itself.
    Other,
}

impl BlockIdentity {
    /// Returns true if a block that has ended is this one. A call without an id is never known to be.
    fn is_same(&self, other: &Self) -> bool {
        self == other && (self.name.is_empty() || !self.id.is_empty())
    }
}

impl ContentBlock {
    /// A block of the model's text.
    pub(crate) fn text(item: Value) -> Self {
        Self { kind: BlockKind::Text, ..Self::other(item) }
    }

    /// A block in the provider's own form.
    pub(crate) fn other(item: Value) -> Self {
        Self {
            kind: BlockKind::Other,
            item,
            input: None,
            json: String::new(),
            first_input: String::new(),
            too_large: false,
            repeated: None,
        }
    }

    /// A call, with its input at this place. A call in pieces begins with an empty input.
    pub(crate) fn with_input(mut self, place: InputPlace, first_input: &str) -> Self {
        self.input = Some(place);
        if let InputPlace::Text(at) = place
            && let Some(input) = self.item.pointer_mut(at)
        {
            *input = Value::from("");
        }
        if !matches!(first_input.trim_ascii(), "" | "{}") {
            first_input.clone_into(&mut self.first_input);
        }
        self
    }

    /// Returns true for a block that has come before: its pieces are only compared.
    pub(crate) fn is_repeated(&self) -> bool {
        self.repeated.is_some()
    }

    /// Returns true for a call, ours or the provider's.
    pub(crate) fn has_input(&self) -> bool {
        self.input.is_some()
    }

    /// Returns true for a block that has begun without saying what it is.
    pub(crate) fn is_blank(&self) -> bool {
        self.item.as_object().is_some_and(Map::is_empty)
    }

    /// Appends to a text member of the object at `pointer`.
    pub(crate) fn append(&mut self, pointer: &str, member: &str, piece: &str, sink: &mut EventSink<'_>) {
        if piece.is_empty() {
            return;
        }
        let object = self.item.pointer_mut(pointer).and_then(Value::as_object_mut);
        let Some(value) = object.map(|object| object.entry(member).or_insert(Value::Null)) else { return };
        if value.is_null() {
            *value = Value::from("");
        }
        if let Value::String(text) = value {
            sink.append(text, piece, &mut self.too_large);
        }
    }

    /// Appends a piece of a signature. A signature that comes again, or again with more, counts once.
    pub(crate) fn append_signature(&mut self, pointer: &str, piece: &str, sink: &mut EventSink<'_>) {
        let object = self.item.pointer(pointer);
        let before = object.and_then(|object| object.get("signature")).and_then(Value::as_str).unwrap_or_default();
        let rest = piece.strip_prefix(before).unwrap_or(piece);
        self.append(pointer, "signature", rest, sink);
    }

    pub(crate) fn item(&self) -> &Value {
        &self.item
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

    /// Returns true if the block shows that nothing of it is missing.
    fn is_whole(&self) -> bool {
        match self.kind {
            BlockKind::Text => true,
            _ if self.has_input() => is_object(if self.json.is_empty() { &self.first_input } else { &self.json }),
            // A signature is the last piece of a thought.
            _ => SIGNATURES
                .iter()
                .any(|at| self.item.pointer(at).and_then(Value::as_str).is_some_and(|signature| !signature.is_empty())),
        }
    }

    /// Makes the first input the input of a block that no piece has followed. A call without arguments has an empty one.
    fn settle_input(&mut self, sink: &mut EventSink<'_>) {
        if !self.json.is_empty() {
            return;
        }
        if self.first_input.is_empty() {
            "{}".clone_into(&mut self.json);
            return;
        }
        self.json = std::mem::take(&mut self.first_input);
        if let BlockKind::Call { id, .. } = &self.kind {
            sink.arguments(id, self.json.clone());
        }
    }

    /// Joins the pieces of the input and of the item.
    fn join(&mut self, sink: &mut EventSink<'_>) {
        sink.join(&mut self.json);
        sink.join_item(&mut self.item);
    }

    /// Sets the input in the item. Returns a number that is the same for blocks with the same contents.
    fn seal(&mut self) -> u64 {
        let mut hasher = FixedState::default().build_hasher();
        match self.input {
            None => self.item.hash(&mut hasher),
            Some(InputPlace::Object(at)) => {
                let object = serde_json::from_str::<Map<_, _>>(&self.json);
                match (self.item.pointer_mut(at), object) {
                    (Some(input), Ok(object)) => *input = Value::Object(object),
                    _ => self.json.hash(&mut hasher),
                }
                self.item.hash(&mut hasher);
            }
            Some(InputPlace::Text(at)) => {
                self.item.hash(&mut hasher);
                canonical_json(&self.json).hash(&mut hasher);
                if let Some(input) = self.item.pointer_mut(at) {
                    *input = Value::from(self.json.as_str());
                }
            }
        }
        hasher.finish()
    }
}

impl ContentBlocks {
    /// Begins a block, which [`insert`](Self::insert) adds unless it is open. Fails for a block that has no place here.
    pub(crate) fn begin(&self, index: usize, identity: &BlockIdentity) -> Result<Beginning, ProtocolError> {
        let next = self.slots.len();
        if index > next {
            return Err(out_of_place(format!("content block {index} came, but block {next} did not")));
        }
        let Some(slot) = self.slots.get(index) else { return Ok(Beginning::New) };
        let Some(open) = &slot.open else {
            return Ok(if slot.identity.is_same(identity) { Beginning::Again } else { Beginning::New });
        };
        if slot.identity == *identity {
            return Ok(Beginning::Open);
        }
        if open.is_repeated() || !open.is_whole() {
            return Err(out_of_place(format!("content block {index} began again before its end")));
        }
        Ok(Beginning::InPlaceOfAnother)
    }

    /// Adds a block that begins.
    pub(crate) fn insert(&mut self, index: usize, identity: BlockIdentity, mut block: ContentBlock) {
        let Some(slot) = self.slots.get_mut(index) else {
            self.slots.push(Slot { identity, open: Some(block), digest: 0 });
            return;
        };
        if slot.identity.is_same(&identity) {
            block.repeated = Some(slot.digest);
        }
        slot.identity = identity;
        slot.open = Some(block);
    }

    /// Adds the block of a call that begins. The block has the arguments as its input.
    pub(crate) fn insert_call(
        &mut self,
        index: usize,
        identity: BlockIdentity,
        mut block: ContentBlock,
        wire: WireCall,
        sink: &mut EventSink<'_>,
    ) {
        let name = wire.name.clone();
        let id = sink.assign(wire.clone());
        sink.push(Event::CallStarted { id: id.clone(), name });
        block.kind = BlockKind::Call { id, wire };
        self.insert(index, identity, block);
    }

    /// Notes that the provider runs a call of the message itself.
    pub(crate) fn note_provider_call(&mut self) {
        self.has_provider_calls = true;
    }

    /// Returns the open block of an index.
    pub(crate) fn open(&mut self, index: usize) -> Option<&mut ContentBlock> {
        self.slots.get_mut(index)?.open.as_mut()
    }

    /// Returns true if the index has had a block.
    pub(crate) fn has_had(&self, index: usize) -> bool {
        index < self.slots.len()
    }

    /// Returns the error of a piece of a call, or of another kind of block, that is not open.
    pub(crate) fn misplaced_piece(&self, index: usize, is_of_call: bool) -> ProtocolError {
        if self.has_had(index) {
            out_of_place(format!("a piece of content block {index} came after its end"))
        } else if is_of_call {
            ProtocolError::Orphan { key: index.to_string() }
        } else {
            out_of_place(format!("a piece of content block {index} came, but not its beginning"))
        }
    }

    /// Ends the block of an index and emits its call. Returns its item, unless the message has it already: a block that has
    /// ended may end again.
    pub(crate) fn complete(&mut self, index: usize, sink: &mut EventSink<'_>) -> Result<Option<Value>, ProtocolError> {
        let Some(slot) = self.slots.get_mut(index) else {
            return Err(out_of_place(format!("content block {index} ended, but it did not begin")));
        };
        let Some(mut block) = slot.open.take() else { return Ok(None) };
        block.settle_input(sink);
        self.emit(index, block, sink)
    }

    /// Ends the blocks that are open at the end of the message, and returns their items.
    ///
    /// In a message that was cut off, a call whose arguments are not whole follows the error that says so, and a thought
    /// without its end is left out, as the provider would not accept it. In any other message, a block without its end
    /// has to show that nothing of it is missing.
    pub(crate) fn end(&mut self, is_cut_off: bool, sink: &mut EventSink<'_>) -> Result<Vec<Value>, ProtocolError> {
        let mut items = Vec::new();
        for index in 0..self.slots.len() {
            let open = self.slots.get_mut(index).and_then(|slot| slot.open.take());
            let Some(mut block) = open else { continue };
            if block.is_whole() && !block.is_repeated() {
                block.settle_input(sink);
                items.extend(self.emit(index, block, sink)?);
                continue;
            }
            match &block.kind {
                _ if !is_cut_off => return Err(out_of_place(format!("content block {index} has no end"))),
                BlockKind::Call { id, .. } => {
                    sink.error(ProtocolError::Truncated { call_id: Some(id.clone()) });
                    items.extend(self.emit(index, block, sink)?);
                }
                BlockKind::Text | BlockKind::Other => {}
            }
        }
        Ok(items)
    }

    /// Emits the call of a block, and returns its item.
    fn emit(
        &mut self,
        index: usize,
        mut block: ContentBlock,
        sink: &mut EventSink<'_>,
    ) -> Result<Option<Value>, ProtocolError> {
        block.join(sink);
        let digest = block.seal();
        if block.repeated.is_some_and(|before| before != digest) {
            return Err(out_of_place(format!("content block {index} came twice, with different contents")));
        }
        if let Some(slot) = self.slots.get_mut(index) {
            slot.digest = digest;
        }
        if block.is_repeated() || block.is_blank() {
            return Ok(None);
        }
        if let BlockKind::Call { id, wire } = block.kind {
            let is_first = wire.id.is_empty() || self.calls.insert(digest);
            if !is_first {
                return Ok(None);
            }
            self.has_calls = true;
            sink.push(Event::Call(ToolCall::new(id, wire.name, block.json)));
        }
        Ok(Some(block.item))
    }

    /// Returns true if the message has a call.
    pub(crate) fn has_calls(&self) -> bool {
        self.has_calls
    }

    /// Returns true if the message has a call that the provider runs itself.
    pub(crate) fn has_provider_calls(&self) -> bool {
        self.has_provider_calls
    }
}
