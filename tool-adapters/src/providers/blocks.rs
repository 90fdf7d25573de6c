//! Blocks of a message that come in pieces, by index: Anthropic's and Bedrock's.

use crate::providers::calls::is_object;
use crate::providers::codec::Out;
use crate::providers::event::{Event, ProtocolError};
use crate::providers::framing::MOST;
use crate::providers::ids::Wire;
use serde_json::Value;
use std::collections::HashMap;
use tool_core::ToolCall;

/// The blocks of a message.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    open: Vec<Block>,
    /// What each index has had last: a call's id, or an empty text for another block.
    seen: HashMap<String, String>,
    /// Whether a call was told.
    called: bool,
}

/// A block, while its pieces come.
#[derive(Debug)]
pub(crate) struct Block {
    /// Its index; `None` once another block has taken it.
    key: Option<String>,
    kind: Kind,
    /// As the provider tells it.
    item: Value,
    /// Where the item has its input, if it has one.
    input: Option<&'static str>,
    /// The input's text.
    json: String,
    too_large: bool,
}

#[derive(Debug)]
enum Kind {
    /// A call of ours, under our id.
    Call { id: String, name: String },
    /// Text, which is worth keeping where it was cut off too.
    Text,
    /// A thought, or what the provider runs itself.
    Other,
}

impl Block {
    /// A piece of what the model says.
    pub(crate) fn text(item: Value) -> Self {
        Self::of(Kind::Text, item, None)
    }

    /// A block that stays the provider's own.
    pub(crate) fn other(item: Value) -> Self {
        Self::of(Kind::Other, item, None)
    }

    /// The same, of a call that the provider runs itself: its input is at this pointer.
    pub(crate) fn with_input(mut self, pointer: &'static str) -> Self {
        self.input = Some(pointer);
        self
    }

    fn of(kind: Kind, item: Value, input: Option<&'static str>) -> Self {
        Self { key: None, kind, item, input, json: String::new(), too_large: false }
    }

    /// Adds to the text that a member of the object at `pointer` is, where there is something to add.
    pub(crate) fn append(&mut self, pointer: &str, member: &str, piece: &str, out: &mut Out<'_>) {
        if piece.is_empty() {
            return;
        }
        let object = self.item.pointer_mut(pointer).and_then(Value::as_object_mut);
        let Some(Value::String(text)) = object.map(|object| object.entry(member).or_insert_with(|| Value::from("")))
        else {
            return;
        };
        add(text, piece, &mut self.too_large, out);
    }

    /// The item, for changes that are no pieces of text.
    pub(crate) fn item(&mut self) -> &mut Value {
        &mut self.item
    }

    /// A piece of the input.
    pub(crate) fn add_input(&mut self, piece: &str, out: &mut Out<'_>) {
        if piece.is_empty() || !add(&mut self.json, piece, &mut self.too_large, out) {
            return;
        }
        if let Kind::Call { id, .. } = &self.kind {
            out.push(Event::Arguments { id: id.clone(), delta: piece.to_owned() });
        }
    }

    /// The block is whole.
    fn close(mut self, out: &mut Out<'_>) {
        if self.json.is_empty()
            && let Some(input) = self.input.and_then(|at| self.item.pointer(at))
        {
            self.json = if input.is_null() { "{}".to_owned() } else { input.to_string() };
        }
        self.tell(out);
    }

    /// The message was cut off in it, or ended without ending it.
    fn cut(mut self, out: &mut Out<'_>) {
        match &self.kind {
            Kind::Other => return,
            Kind::Call { id, .. } if !is_object(&self.json) => {
                out.error(ProtocolError::Truncated { call_id: Some(id.clone()) });
                // No text at all would be taken for `{}`, and would run.
                if self.json.trim_ascii().is_empty() {
                    "{".clone_into(&mut self.json);
                }
            }
            _ => {}
        }
        self.tell(out);
    }

    fn tell(mut self, out: &mut Out<'_>) {
        if let Some(input) = self.input.and_then(|at| self.item.pointer_mut(at))
            && let Ok(object) = serde_json::from_str::<serde_json::Map<_, _>>(&self.json)
        {
            *input = Value::Object(object);
        }
        if let Kind::Call { id, name } = self.kind {
            out.push(Event::Call(ToolCall::new(id, name, self.json)));
        }
        out.push(Event::Item(self.item));
    }
}

/// Adds to a text, as far as it is kept.
fn add(text: &mut String, piece: &str, too_large: &mut bool, out: &mut Out<'_>) -> bool {
    if *too_large {
        return false;
    }
    if text.len() + piece.len() > MOST {
        *too_large = true;
        out.error(ProtocolError::TooLarge { most: MOST });
        return false;
    }
    text.push_str(piece);
    true
}

impl Blocks {
    /// A block begins. `false` where its index has had it already: it comes again, and says nothing new.
    pub(crate) fn begin(&mut self, key: &str, block: Block) -> bool {
        self.take_index(key, "") && self.push(key, block)
    }

    /// The same for a call of ours; `input` is where the item has its arguments.
    pub(crate) fn begin_call(
        &mut self,
        key: &str,
        item: Value,
        input: &'static str,
        wire: Wire,
        out: &mut Out<'_>,
    ) -> bool {
        // Without an id it cannot be known for the same.
        if !wire.id.is_empty() && !self.take_index(key, &wire.id) {
            return false;
        }
        let name = wire.name.clone();
        let id = out.assign(wire);
        self.called = true;
        out.push(Event::CallStarted { id: id.clone(), name: name.clone() });
        self.push(key, Block::of(Kind::Call { id, name }, item, Some(input)))
    }

    /// Gives an index to a block; whether it is another than before. One that is open there gets no more pieces.
    fn take_index(&mut self, key: &str, id: &str) -> bool {
        if self.seen.get(key).is_some_and(|before| before == id) {
            return false;
        }
        self.seen.insert(key.to_owned(), id.to_owned());
        if let Some(open) = self.open(key) {
            open.key = None;
        }
        true
    }

    fn push(&mut self, key: &str, mut block: Block) -> bool {
        block.key = Some(key.to_owned());
        self.open.push(block);
        true
    }

    /// The block that is open at an index.
    pub(crate) fn open(&mut self, key: &str) -> Option<&mut Block> {
        self.open.iter_mut().find(|block| block.key.as_deref() == Some(key))
    }

    /// Whether the index has had a block, open or not.
    pub(crate) fn knows(&self, key: &str) -> bool {
        self.seen.contains_key(key) || self.open.iter().any(|block| block.key.as_deref() == Some(key))
    }

    /// The block at an index is whole: it is told. `false` where none is open.
    pub(crate) fn end(&mut self, key: &str, out: &mut Out<'_>) -> bool {
        let at = self.open.iter().position(|block| block.key.as_deref() == Some(key));
        at.map(|at| self.open.remove(at).close(out)).is_some()
    }

    /// The message is over. What its blocks have is told; a call whose arguments are not whole after the error that
    /// says so. A thought without its end is left out: its provider would not take it back.
    pub(crate) fn over(&mut self, out: &mut Out<'_>) {
        for block in self.open.drain(..) {
            block.cut(out);
        }
    }

    /// Whether a call was made.
    pub(crate) fn called(&self) -> bool {
        self.called
    }
}
