//! The parts of a message so far, by which parts that come again are known.

use crate::gemini::wire::{FunctionCall, WirePart};
use crate::lenient::RawObject;
use crate::same_json::is_same_json;
use std::collections::HashMap;

/// The parts of a message so far.
///
/// One step runs a call once. A call that has the id, the name and the arguments of an earlier one
/// is that call. Many calls have no id, and some servers send a chunk twice, or one with all parts
/// so far, such as the whole candidate at the end. A chunk with a call repeats the message if it
/// has the parts of the chunk before, or begins with every part that has come. Two equal calls in
/// one chunk are two, and so are those between which another part came.
#[derive(Debug, Default)]
pub(crate) struct SeenParts {
    parts: Vec<SeenPart>,
    /// The numbers of the calls with an id among the parts, by their ids.
    by_id: HashMap<String, Vec<usize>>,
    /// The JSON of the parts of the last chunk, if it has a call.
    last_chunk: Vec<String>,
    has_calls: bool,
}

#[derive(Debug)]
enum SeenPart {
    /// Pieces of text that follow each other.
    Text {
        is_thought: bool,
        text: String,
    },
    Call(SeenPartCall),
    /// The JSON of another part.
    Other(String),
}

#[derive(Debug)]
struct SeenPartCall {
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
            Some(SeenPart::Text {
                is_thought: last,
                text,
            }) if *last == is_thought => text.push_str(piece),
            _ => self.parts.push(SeenPart::Text {
                is_thought,
                text: piece.to_owned(),
            }),
        }
    }

    /// Adds a call; returns false if the message has it already.
    pub(crate) fn add_call(
        &mut self,
        id: &str,
        name: &str,
        arguments: &str,
        signature: &str,
    ) -> bool {
        if !id.is_empty() {
            let numbers = self.by_id.entry(id.to_owned()).or_default();
            let mut seen = numbers.iter().filter_map(|number| self.parts.get(*number));
            if seen.any(|part| matches!(part, SeenPart::Call(seen) if seen.says(name, arguments))) {
                return false;
            }
            numbers.push(self.parts.len());
        }
        let call = SeenPartCall {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
            signature: signature.to_owned(),
        };
        self.has_calls = true;
        self.parts.push(SeenPart::Call(call));
        true
    }

    pub(crate) fn add_other(&mut self, json: &str) {
        self.parts.push(SeenPart::Other(json.to_owned()));
    }

    /// Returns what is new in a chunk.
    pub(crate) fn new_parts(&mut self, chunk: &[RawObject<'_, WirePart<'_>>]) -> NewParts {
        let has_call = chunk
            .iter()
            .any(|part| part.object.as_ref().is_some_and(|part| part.has_call()));
        if !has_call {
            self.last_chunk.clear();
            return NewParts::default();
        }
        let is_repeated = self.last_chunk.len() == chunk.len()
            && self
                .last_chunk
                .iter()
                .zip(chunk)
                .all(|(last, part)| last == part.raw);
        if is_repeated {
            return NewParts {
                from: chunk.len(),
                text_from: 0,
            };
        }
        self.last_chunk = chunk.iter().map(|part| part.raw.to_owned()).collect();
        let rest = if self.has_calls {
            self.rest_of(chunk)
        } else {
            None
        };
        rest.unwrap_or_default()
    }

    /// Returns the rest of a chunk that begins with all parts of the message; `None` for another
    /// chunk.
    fn rest_of(&self, chunk: &[RawObject<'_, WirePart<'_>>]) -> Option<NewParts> {
        let mut seen = self.parts.iter();
        let mut next = seen.next();
        // The part of the next text that has been found.
        let mut found = 0;
        for (at, part) in chunk.iter().enumerate() {
            let Some(expected) = next else {
                return Some(NewParts {
                    from: at,
                    text_from: 0,
                });
            };
            let wire = part.object.as_ref()?;
            if let Some(piece) = wire.piece() {
                if piece.is_empty() {
                    continue;
                }
                let SeenPart::Text { is_thought, text } = expected else {
                    return None;
                };
                let rest = text
                    .get(found..)
                    .filter(|_| *is_thought == wire.thought.is_true())?;
                if let Some(left) = rest.strip_prefix(piece) {
                    found = text.len() - left.len();
                    if left.is_empty() {
                        next = seen.next();
                        found = 0;
                    }
                    continue;
                }
                let is_last = piece.starts_with(rest) && seen.next().is_none();
                return is_last.then_some(NewParts {
                    from: at,
                    text_from: rest.len(),
                });
            }
            let is_same = match (expected, &*wire.function_call.value) {
                (SeenPart::Call(seen), Some(call)) => seen.may_be(call, wire.signature()),
                (SeenPart::Other(json), None) => is_same_json(json, part.raw),
                _ => false,
            };
            if !is_same {
                return None;
            }
            next = seen.next();
        }
        next.is_none().then_some(NewParts {
            from: chunk.len(),
            text_from: 0,
        })
    }
}

impl SeenPartCall {
    fn says(&self, name: &str, arguments: &str) -> bool {
        self.name == name && is_same_json(&self.arguments, arguments)
    }

    /// Returns true for a call with the same signature, name and arguments, and no other id.
    fn may_be(&self, call: &FunctionCall<'_>, signature: &str) -> bool {
        let id = call.id.as_str();
        let has_other_id = !self.id.is_empty() && !id.is_empty() && self.id != id;
        !has_other_id
            && self.signature == signature
            && self.says(call.name.as_str(), &call.args.text())
    }
}

impl WirePart<'_> {
    /// Returns true for a whole call. Pieces of one are no repetition.
    fn has_call(&self) -> bool {
        self.function_call
            .value
            .as_ref()
            .is_some_and(|call| !call.is_partial())
    }

    /// Returns the text of a part that is a text.
    fn piece(&self) -> Option<&str> {
        self.text
            .value
            .0
            .as_deref()
            .filter(|_| self.function_call.value.is_none())
    }
}
