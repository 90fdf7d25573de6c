//! The parts of a message so far, by which parts that come again are known.

use crate::providers::gemini::parts::WirePart;
use crate::providers::gemini::pieces::FunctionCall;
use crate::providers::lenient::RawObject;
use crate::providers::same_json::canonical_json;

/// The parts of a message so far.
///
/// One step runs a call once. A call that has the id, the name and the arguments of an earlier one is that call. Many calls
/// have no id, and some servers send a chunk twice, or one with all parts so far, such as the whole candidate at the end. A
/// chunk with a call repeats the message if it has the parts of the chunk before, or begins with every part that has come.
/// Two equal calls in one chunk are two, and so are those between which another part came.
#[derive(Debug, Default)]
pub(crate) struct SeenParts {
    parts: Vec<SeenPart>,
    /// The parts of the last chunk, if it has a call.
    last_chunk: Vec<SeenPart>,
    has_calls: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum SeenPart {
    /// Pieces of text that follow each other.
    Text {
        is_thought: bool,
        text: String,
    },
    Call(SeenCall),
    /// The JSON of another part.
    Other(String),
}

#[derive(Debug, PartialEq, Eq)]
struct SeenCall {
    id: String,
    name: String,
    arguments: String,
    /// The signature of the part: of calls in parallel the first one has it.
    signature: String,
}

/// The part of a chunk that does not repeat the message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NewParts {
    /// The number of the first part.
    pub(crate) from: usize,
    /// The length of the text of that part that repeats the message, in bytes.
    pub(crate) text_from: usize,
}

impl SeenParts {
    pub(crate) fn add_text(&mut self, is_thought: bool, piece: &str) {
        if piece.is_empty() {
            return;
        }
        match self.parts.last_mut() {
            Some(SeenPart::Text { is_thought: last, text }) if *last == is_thought => text.push_str(piece),
            _ => self.parts.push(SeenPart::Text { is_thought, text: piece.to_owned() }),
        }
    }

    /// Adds a call; returns false if the message has it already.
    pub(crate) fn add_call(&mut self, id: &str, name: &str, arguments: &str, signature: &str) -> bool {
        let call = SeenCall::new(id, name, arguments, signature);
        let is_same =
            |part: &SeenPart| matches!(part, SeenPart::Call(seen) if !id.is_empty() && seen.has_same_id(&call));
        if self.parts.iter().any(is_same) {
            return false;
        }
        self.has_calls = true;
        self.parts.push(SeenPart::Call(call));
        true
    }

    pub(crate) fn add_other(&mut self, json: &str) {
        self.parts.push(SeenPart::Other(canonical_json(json).into_owned()));
    }

    /// Returns what is new in a chunk.
    pub(crate) fn new_parts(&mut self, chunk: &[RawObject<'_, WirePart<'_>>]) -> NewParts {
        let has_call = chunk.iter().any(|part| part.object.as_ref().is_some_and(|part| part.has_call()));
        if !has_call {
            self.last_chunk.clear();
            return NewParts::default();
        }
        let mut described = Self::default();
        chunk.iter().for_each(|part| described.add(part));
        let is_repeated = described.parts == self.last_chunk;
        self.last_chunk = described.parts;
        if is_repeated {
            return NewParts { from: chunk.len(), text_from: 0 };
        }
        let rest = if self.has_calls { self.rest_of(chunk) } else { None };
        rest.unwrap_or_default()
    }

    /// Adds a part of any kind.
    fn add(&mut self, part: &RawObject<'_, WirePart<'_>>) {
        let Some(wire) = &part.object else { return self.add_other(part.raw) };
        match (wire.piece(), &*wire.function_call.value) {
            (Some(piece), _) => self.add_text(wire.thought.is_true(), piece),
            (None, Some(call)) => self.parts.push(SeenPart::Call(SeenCall::of(call, wire.signature()))),
            (None, None) => self.add_other(part.raw),
        }
    }

    /// Returns the rest of a chunk that begins with all parts of the message; `None` for another chunk.
    fn rest_of(&self, chunk: &[RawObject<'_, WirePart<'_>>]) -> Option<NewParts> {
        let mut seen = self.parts.iter();
        let mut next = seen.next();
        // The part of the next text that has been found.
        let mut found = 0;
        for (at, part) in chunk.iter().enumerate() {
            let Some(expected) = next else { return Some(NewParts { from: at, text_from: 0 }) };
            let wire = part.object.as_ref()?;
            if let Some(piece) = wire.piece() {
                if piece.is_empty() {
                    continue;
                }
                let SeenPart::Text { is_thought, text } = expected else { return None };
                let rest = text.get(found..).filter(|_| *is_thought == wire.thought.is_true())?;
                if let Some(left) = rest.strip_prefix(piece) {
                    found = text.len() - left.len();
                    if left.is_empty() {
                        next = seen.next();
                        found = 0;
                    }
                    continue;
                }
                let is_last = piece.starts_with(rest) && seen.next().is_none();
                return is_last.then_some(NewParts { from: at, text_from: rest.len() });
            }
            let is_same = match (expected, &*wire.function_call.value) {
                (SeenPart::Call(seen), Some(call)) => seen.may_be(&SeenCall::of(call, wire.signature())),
                (SeenPart::Other(json), None) => *json == canonical_json(part.raw),
                _ => false,
            };
            if !is_same {
                return None;
            }
            next = seen.next();
        }
        next.is_none().then_some(NewParts { from: chunk.len(), text_from: 0 })
    }
}

impl SeenCall {
    fn new(id: &str, name: &str, arguments: &str, signature: &str) -> Self {
        Self {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: canonical_json(arguments).into_owned(),
            signature: signature.to_owned(),
        }
    }

    fn of(call: &FunctionCall<'_>, signature: &str) -> Self {
        Self::new(call.id.as_str(), call.name.as_str(), &call.args.text(), signature)
    }

    fn has_same_id(&self, other: &Self) -> bool {
        self.id == other.id && self.name == other.name && self.arguments == other.arguments
    }

    /// Returns true for a call with the same signature, name and arguments, and no other id.
    fn may_be(&self, other: &Self) -> bool {
        let has_other_id = !self.id.is_empty() && !other.id.is_empty() && self.id != other.id;
        let is_same = self.name == other.name && self.arguments == other.arguments;
        is_same && !has_other_id && self.signature == other.signature
    }
}

impl WirePart<'_> {
    /// Returns true for a whole call. Pieces of one are no repetition.
    fn has_call(&self) -> bool {
        self.function_call.value.as_ref().is_some_and(|call| !call.is_partial())
    }

    /// Returns the text of a part that is a text.
    fn piece(&self) -> Option<&str> {
        self.text.value.0.as_deref().filter(|_| self.function_call.value.is_none())
    }
}
