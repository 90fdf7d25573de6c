//! The content blocks of a message: each begins, grows by pieces and ends under its index.

use crate::codec::{EventSink, WireCall};
use crate::event::{Event, ProtocolError, out_of_place};
use crate::partial_calls::is_object;
use crate::same_json::canonical_json;
use foldhash::fast::FixedState;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;
use tool_core::ToolCall;

/// The places of signatures in the items of thoughts.
const SIGNATURES: [&str; 2] = ["/signature", "/reasoningContent/reasoningText/signature"];

/// The content blocks of a message, in order.
///
/// A block that comes twice counts once. Within an index, a block is the same if its kind and its
/// id are: its second coming has to say what the first one said. Under different indices, calls
/// with the same id, name and input are one call.
#[derive(Debug, Default)]
pub(crate) struct ContentBlocks {
    /// The latest block of each index.
    slots: Vec<Slot>,
    /// The inputs of the calls that are whole and have an id of the provider, by the digest of the
    /// item around them.
    calls: HashMap<u64, SeenInputs>,
    /// Our ids of the calls that have begun.
    call_ids: Vec<String>,
    has_calls: bool,
    has_provider_calls: bool,
}

#[derive(Debug)]
struct Slot {
    identity: BlockIdentity,
    /// The block; `None` after its end.
    open: Option<ContentBlock>,
    /// The contents of the block, after its end.
    sealed: Option<Sealed>,
}

/// The contents of a block that has ended, as far as they are needed to know it again.
#[derive(Debug)]
struct Sealed {
    /// The digest of the item without its input.
    item: u64,
    input: Input,
}

/// The input of a call. It is spelled as it came until it is compared.
#[derive(Clone, Debug)]
struct Input {
    json: String,
    is_canonical: bool,
}

/// The inputs of calls that are the same otherwise.
#[derive(Debug)]
struct SeenInputs {
    first: Input,
    /// The canonical spellings of the others.
    further: HashSet<String>,
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
pub(crate) enum MessageProgress {
    #[default]
    Nothing,
    Begun,
    /// The reason for the end has come, where it comes before the end.
    Ending,
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
    /// Another block is open under this index, and shows that it is whole: some hosts give all
    /// blocks one index. It has to be completed first.
    InPlaceOfAnother,
}

/// A content block while its pieces arrive.
#[derive(Debug)]
pub(crate) struct ContentBlock {
    kind: BlockKind,
    /// The block in the provider's form, without the pieces of [`growing`](Self::growing).
    item: Value,
    growing: Option<GrowingText>,
    /// The number of bytes of all pieces of texts.
    text_size: usize,
    /// The place of the input in the item, if it has one.
    input: Option<InputPlace>,
    /// The input's text, from pieces.
    json: String,
    /// The input with which the block began. It counts if no piece follows.
    first_input: String,
    too_large: bool,
    /// True for a block that has come before.
    is_repeated: bool,
}

/// The pieces of a text that are not in the item yet.
#[derive(Debug)]
struct GrowingText {
    pointer: &'static str,
    member: &'static str,
    pieces: String,
}

/// The place and the form of the input of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum InputPlace {
    /// An object, in the member at this path.
    Object(&'static [&'static str]),
    /// A JSON text, in the member at this path.
    Text(&'static [&'static str]),
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
    /// Returns true if a block that has ended is this one. A call without an id is never known to
    /// be.
    fn is_same(&self, other: &Self) -> bool {
        self == other && (self.name.is_empty() || !self.id.is_empty())
    }
}

impl ContentBlock {
    /// A block of the model's text.
    pub(crate) fn text(item: Value) -> Self {
        Self {
            kind: BlockKind::Text,
            ..Self::other(item)
        }
    }

    /// A block in the provider's own form.
    pub(crate) fn other(item: Value) -> Self {
        Self {
            kind: BlockKind::Other,
            item,
            growing: None,
            text_size: 0,
            input: None,
            json: String::new(),
            first_input: String::new(),
            too_large: false,
            is_repeated: false,
        }
    }

    /// A call, with its input at this place. A call in pieces begins with an empty input.
    pub(crate) fn with_input(mut self, place: InputPlace, first_input: &str) -> Self {
        self.input = Some(place);
        if let InputPlace::Text(_) = place
            && let Some(input) = self.input_mut()
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
        self.is_repeated
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
    pub(crate) fn append(
        &mut self,
        pointer: &'static str,
        member: &'static str,
        piece: &str,
        sink: &mut EventSink<'_>,
    ) {
        if piece.is_empty() || !sink.has_room(self.text_size + piece.len(), &mut self.too_large) {
            return;
        }
        self.text_size += piece.len();
        match &mut self.growing {
            Some(growing) if growing.member == member && growing.pointer == pointer => {
                growing.pieces.push_str(piece);
            }
            _ => {
                self.settle_text();
                self.growing = Some(GrowingText {
                    pointer,
                    member,
                    pieces: piece.to_owned(),
                });
            }
        }
    }

    /// Adds the pieces of a text to the item.
    fn settle_text(&mut self) {
        let Some(GrowingText {
            pointer,
            member,
            pieces,
        }) = self.growing.take()
        else {
            return;
        };
        let Some(Value::Object(object)) = self.item.pointer_mut(pointer) else {
            return;
        };
        match object.get_mut(member) {
            Some(Value::String(text)) => text.push_str(&pieces),
            None | Some(Value::Null) => _ = object.insert(member.to_owned(), Value::String(pieces)),
            Some(_) => {}
        }
    }

    /// Appends a piece of a signature. A signature that comes again, or again with more, counts
    /// once.
    pub(crate) fn append_signature(
        &mut self,
        pointer: &'static str,
        piece: &str,
        sink: &mut EventSink<'_>,
    ) {
        let object = self.item().pointer(pointer);
        let before = object
            .and_then(|object| object.get("signature"))
            .and_then(Value::as_str)
            .unwrap_or_default();
        let rest = piece.strip_prefix(before).unwrap_or(piece);
        self.append(pointer, "signature", rest, sink);
    }

    /// Returns the item with all pieces of text so far.
    pub(crate) fn item(&mut self) -> &Value {
        self.item_mut()
    }

    /// Returns the item, for changes other than pieces of text.
    pub(crate) fn item_mut(&mut self) -> &mut Value {
        self.settle_text();
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
    fn is_whole(&mut self) -> bool {
        self.settle_text();
        match self.kind {
            BlockKind::Text => true,
            _ if self.has_input() => is_object(if self.json.is_empty() {
                &self.first_input
            } else {
                &self.json
            }),
            // A signature is the last piece of a thought.
            _ => SIGNATURES.iter().any(|at| {
                self.item
                    .pointer(at)
                    .and_then(Value::as_str)
                    .is_some_and(|signature| !signature.is_empty())
            }),
        }
    }

    /// Makes the first input the input of a block that no piece has followed. A call without
    /// arguments has an empty one.
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
        self.settle_text();
        sink.join(&mut self.json);
        sink.join_item(&mut self.item);
    }

    /// Returns the place of the input in the item.
    fn input_mut(&mut self) -> Option<&mut Value> {
        let (InputPlace::Object(path) | InputPlace::Text(path)) = self.input?;
        path.iter()
            .try_fold(&mut self.item, |value, member| value.get_mut(member))
    }

    /// Sets the input in the item. Returns the contents by which the block is known when it comes
    /// again.
    fn seal(&mut self) -> Sealed {
        let before = self.input_mut().map(Value::take);
        let item = FixedState::default().hash_one(&self.item);

        let input = match self.input {
            Some(InputPlace::Text(_)) => Some(Value::from(self.json.as_str())),
            _ => serde_json::from_str(&self.json).ok().map(Value::Object),
        };
        if let Some(place) = self.input_mut() {
            *place = input.or(before).unwrap_or_default();
        }
        Sealed {
            item,
            input: Input {
                json: self.json.clone(),
                is_canonical: false,
            },
        }
    }
}

impl Sealed {
    fn is_same(&mut self, other: &Self) -> bool {
        self.item == other.item && self.input.canonical() == canonical_json(&other.input.json)
    }
}

impl Input {
    fn canonical(&mut self) -> &str {
        if !self.is_canonical {
            self.json = canonical_json(&self.json).into_owned();
            self.is_canonical = true;
        }
        &self.json
    }
}

impl SeenInputs {
    /// Adds an input; returns false if it has come before.
    fn add(&mut self, input: &Input) -> bool {
        let canonical = canonical_json(&input.json);
        self.first.canonical() != canonical && self.further.insert(canonical.into_owned())
    }
}

impl ContentBlocks {
    /// Begins a block, which [`insert`](Self::insert) adds unless it is open. Fails for a block
    /// that has no place here.
    pub(crate) fn begin(
        &mut self,
        index: usize,
        identity: &BlockIdentity,
    ) -> Result<Beginning, ProtocolError> {
        let next = self.slots.len();
        if index > next {
            return Err(out_of_place(format!(
                "content block {index} came, but block {next} did not"
            )));
        }
        let Some(slot) = self.slots.get_mut(index) else {
            return Ok(Beginning::New);
        };
        let Some(open) = &mut slot.open else {
            return Ok(if slot.identity.is_same(identity) {
                Beginning::Again
            } else {
                Beginning::New
            });
        };
        if slot.identity == *identity {
            return Ok(Beginning::Open);
        }
        if open.is_repeated() || !open.is_whole() {
            return Err(out_of_place(format!(
                "content block {index} began again before its end"
            )));
        }
        Ok(Beginning::InPlaceOfAnother)
    }

    /// Adds a block that begins.
    pub(crate) fn insert(
        &mut self,
        index: usize,
        identity: BlockIdentity,
        mut block: ContentBlock,
    ) {
        let Some(slot) = self.slots.get_mut(index) else {
            self.slots.push(Slot {
                identity,
                open: Some(block),
                sealed: None,
            });
            return;
        };
        block.is_repeated = slot.identity.is_same(&identity);
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
        sink.push(Event::CallStarted {
            id: id.clone(),
            name,
        });
        self.call_ids.push(id.clone());
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

    /// Returns the kind of the latest block of an index; empty if there is none.
    pub(crate) fn kind(&self, index: usize) -> &str {
        self.slots.get(index).map_or("", |slot| &slot.identity.kind)
    }

    /// Returns true if the index has had a block.
    pub(crate) fn has_had(&self, index: usize) -> bool {
        index < self.slots.len()
    }

    /// Returns the error of a piece of a call, or of another kind of block, that is not open.
    pub(crate) fn misplaced_piece(&self, index: usize, is_of_call: bool) -> ProtocolError {
        if self.has_had(index) {
            out_of_place(format!(
                "a piece of content block {index} came after its end"
            ))
        } else if is_of_call {
            ProtocolError::Orphan {
                key: index.to_string(),
            }
        } else {
            out_of_place(format!(
                "a piece of content block {index} came, but not its beginning"
            ))
        }
    }

    /// Ends the block of an index and emits its call. Returns its item, unless the message has it
    /// already: a block that has ended may end again.
    pub(crate) fn complete(
        &mut self,
        index: usize,
        sink: &mut EventSink<'_>,
    ) -> Result<Option<Value>, ProtocolError> {
        let Some(slot) = self.slots.get_mut(index) else {
            return Err(out_of_place(format!(
                "content block {index} ended, but it did not begin"
            )));
        };
        let Some(mut block) = slot.open.take() else {
            return Ok(None);
        };
        block.settle_input(sink);
        self.emit(index, block, sink)
    }

    /// Ends the blocks that are open at the end of the message, and returns their items.
    ///
    /// In a message that was cut off, a call whose arguments are not whole follows the error that
    /// says so, and a thought without its end is left out, as the provider would not accept it. In
    /// any other message, a block without its end has to show that nothing of it is missing.
    pub(crate) fn end(
        &mut self,
        is_cut_off: bool,
        sink: &mut EventSink<'_>,
    ) -> Result<Vec<Value>, ProtocolError> {
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
                _ if !is_cut_off => {
                    return Err(out_of_place(format!("content block {index} has no end")));
                }
                BlockKind::Call { id, .. } => {
                    sink.error(ProtocolError::Truncated {
                        call_id: Some(id.clone()),
                    });
                    items.extend(self.emit(index, block, sink)?);
                }
                BlockKind::Text | BlockKind::Other => {}
            }
        }
        Ok(items)
    }

    /// Withdraws the calls so far, and ends the blocks that are open: another model goes on with
    /// the message. Returns the items of the blocks of which nothing is missing.
    pub(crate) fn withdraw_calls(
        &mut self,
        sink: &mut EventSink<'_>,
    ) -> Result<Vec<Value>, ProtocolError> {
        let mut items = Vec::new();
        for index in 0..self.slots.len() {
            let open = self.slots.get_mut(index).and_then(|slot| slot.open.take());
            let Some(mut block) = open else { continue };
            if block.is_whole() && !block.has_input() {
                items.extend(self.emit(index, block, sink)?);
            }
        }

        // The other model may make the same call.
        self.calls.clear();
        self.has_calls = false;
        let ids = std::mem::take(&mut self.call_ids);
        for id in &ids {
            sink.halves.arguments.remove(id);
        }
        if !ids.is_empty() {
            sink.push(Event::Cancelled(ids));
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
        let sealed = block.seal();
        let Some(slot) = self.slots.get_mut(index) else {
            return Ok(None);
        };
        if block.is_repeated
            && slot
                .sealed
                .as_mut()
                .is_some_and(|before| !before.is_same(&sealed))
        {
            return Err(out_of_place(format!(
                "content block {index} came twice, with different contents"
            )));
        }
        let sealed = slot.sealed.insert(sealed);
        if block.is_repeated() || block.is_blank() {
            return Ok(None);
        }
        if let BlockKind::Call { id, wire } = block.kind {
            if !wire.id.is_empty() && !is_first_of(&mut self.calls, sealed) {
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

/// Adds a call to those that have come; returns false if it is one of them.
fn is_first_of(calls: &mut HashMap<u64, SeenInputs>, call: &Sealed) -> bool {
    match calls.entry(call.item) {
        Entry::Occupied(mut seen) => seen.get_mut().add(&call.input),
        Entry::Vacant(place) => {
            place.insert(SeenInputs {
                first: call.input.clone(),
                further: HashSet::new(),
            });
            true
        }
    }
}
