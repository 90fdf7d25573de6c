//! Content blocks that arrive in pieces, by index: those of Anthropic and Bedrock.

use crate::providers::codec::{EventSink, WireCall};
use crate::providers::event::{Event, ProtocolError};
use crate::providers::partial_calls::{invalidate_if_empty, is_object};
use serde_json::{Map, Value};
use std::collections::HashMap;
use tool_core::ToolCall;

/// The content blocks of a message.
#[derive(Debug, Default)]
pub(crate) struct ContentBlocks {
    open: Vec<ContentBlock>,
    /// The latest block of each index: a call's id, or an empty text for another block.
    latest: HashMap<String, String>,
    has_calls: bool,
}

/// A content block while its pieces arrive.
#[derive(Debug)]
pub(crate) struct ContentBlock {
    /// The index; `None` once another block has taken it.
    key: Option<String>,
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
        Self::new(BlockKind::Text, item, None)
    }

    /// A block in the provider's own form.
    pub(crate) fn other(item: Value) -> Self {
        Self::new(BlockKind::Other, item, None)
    }

    /// A call that the provider runs itself, with its input at this pointer.
    pub(crate) fn with_input(mut self, pointer: &'static str) -> Self {
        self.input = Some(pointer);
        self
    }

    fn new(kind: BlockKind, item: Value, input: Option<&'static str>) -> Self {
        Self { key: None, kind, item, input, json: String::new(), too_large: false }
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
    pub(crate) fn append_input(&mut self, piece: &str, sink: &mut EventSink<'_>) {
        if piece.is_empty() || !sink.append(&mut self.json, piece, &mut self.too_large) {
            return;
        }
        if let BlockKind::Call { id, .. } = &self.kind {
            sink.push(Event::Arguments { id: id.clone(), delta: piece.to_owned() });
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
        self.take_index(key, "") && self.push(key, block)
    }

    /// Begins the block of a call. `input` is the pointer to the arguments in the item.
    pub(crate) fn begin_call(
        &mut self,
        key: &str,
        item: Value,
        input: &'static str,
        call: WireCall,
        sink: &mut EventSink<'_>,
    ) -> bool {
        // A call without an id is never known to be the same.
        if !call.id.is_empty() && !self.take_index(key, &call.id) {
            return false;
        }
        let name = call.name.clone();
        let id = sink.assign(call);
        self.has_calls = true;
        sink.push(Event::CallStarted { id: id.clone(), name: name.clone() });
        self.push(key, ContentBlock::new(BlockKind::Call { id, name }, item, Some(input)))
    }

    /// Gives an index to a block; returns false if it has it. An open block of that index gets no more pieces.
    fn take_index(&mut self, key: &str, id: &str) -> bool {
        if self.latest.get(key).is_some_and(|before| before == id) {
            return false;
        }
        self.latest.insert(key.to_owned(), id.to_owned());
        if let Some(open) = self.open(key) {
            open.key = None;
        }
        true
    }

    fn push(&mut self, key: &str, mut block: ContentBlock) -> bool {
        block.key = Some(key.to_owned());
        self.open.push(block);
        true
    }

    /// Returns the open block of an index.
    pub(crate) fn open(&mut self, key: &str) -> Option<&mut ContentBlock> {
        self.open.iter_mut().find(|block| block.key.as_deref() == Some(key))
    }

    /// Returns true if the index has had a block.
    pub(crate) fn has_had(&self, key: &str) -> bool {
        self.latest.contains_key(key) || self.open.iter().any(|block| block.key.as_deref() == Some(key))
    }

    /// Emits the block of an index as whole; returns false if none is open.
    pub(crate) fn complete(&mut self, key: &str, sink: &mut EventSink<'_>) -> bool {
        let at = self.open.iter().position(|block| block.key.as_deref() == Some(key));
        at.map(|at| self.open.remove(at).complete(sink)).is_some()
    }

    /// Emits the open blocks at the end of the message. A call whose arguments are not whole follows the error that says
    /// so. A thought without its end is left out, as the provider would not accept it.
    pub(crate) fn truncate_all(&mut self, sink: &mut EventSink<'_>) {
        for block in self.open.drain(..) {
            block.truncate(sink);
        }
    }

    /// Returns true if the message has a call.
    pub(crate) fn has_calls(&self) -> bool {
        self.has_calls
    }
}
