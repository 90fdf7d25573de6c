//! Calls whose arguments come in pieces, each with its place in them.
//!
//! The pieces come where a request sets `streamFunctionCallArguments`. A call that the stream does
//! not end has arguments that are not JSON, so that no tool runs with a part of them.

use crate::codec::{EventSink, WireCall};
use crate::event::{Event, ProtocolError, malformed, out_of_place};
use crate::framing::frame::MAX_EVENT_BYTES;
use crate::gemini::wire::{FunctionCall, PartItems, PartialArgument};
use serde_json::{Map, Number, Value, json};
use std::collections::HashSet;
use std::str::FromStr;
use tool_core::ToolCall;

/// The maximum depth of a place.
const MAX_STEPS: usize = 64;

/// The calls whose pieces arrive, in the order of their latest pieces.
#[derive(Debug, Default)]
pub(crate) struct CallPieces(Vec<OpenCall>);

#[derive(Debug, Default)]
struct OpenCall {
    wire: WireCall,
    /// Our id.
    id: String,
    arguments: Value,
    /// The places of texts that go on.
    open_texts: HashSet<String>,
    /// The part of the message with its signature, to be sent back.
    part: Map<String, Value>,
    /// The bytes of the pieces.
    size: usize,
    is_too_large: bool,
}

/// A call that is whole.
#[derive(Debug)]
pub(crate) struct PiecedCall {
    pub(crate) wire: WireCall,
    /// The arguments as JSON.
    pub(crate) arguments: String,
    id: String,
    part: Map<String, Value>,
}

/// A step to a place in arguments.
#[derive(Debug, PartialEq)]
enum PathStep {
    Name(String),
    Index(usize),
}

impl CallPieces {
    /// Returns true for a piece of a call, and false for a call that comes whole.
    pub(crate) fn takes(&self, piece: &FunctionCall<'_>) -> bool {
        piece.is_partial() || self.0.iter().any(|open| open.continues_with(piece))
    }

    /// Reads a piece of a call: of the open call that it names or, without a name, of the one whose
    /// piece came last. Returns the call if it is whole. `raw` is the part that has the piece.
    pub(crate) fn read(
        &mut self,
        piece: &FunctionCall<'_>,
        raw: &str,
        sink: &mut EventSink<'_>,
    ) -> Result<Option<PiecedCall>, ProtocolError> {
        let found = self.0.iter().rposition(|open| open.continues_with(piece));
        let mut open = match found {
            Some(at) => self.0.remove(at),
            None => OpenCall::begin(piece, sink)?,
        };
        open.add(piece, raw)?;
        if piece.will_continue.is_true() {
            self.0.push(open);
            return Ok(None);
        }
        open.complete(sink).map(Some)
    }

    /// Ends a message in which calls may be open.
    pub(crate) fn truncate(&mut self, sink: &mut EventSink<'_>) {
        for open in std::mem::take(&mut self.0) {
            sink.error(ProtocolError::Truncated {
                call_id: Some(open.id.clone()),
            });
            let mut text = open.object().to_string();
            sink.join(&mut text);
            // Without its last brace it is not JSON.
            text.pop();
            sink.push(Event::Arguments {
                id: open.id.clone(),
                delta: text.clone(),
            });
            sink.push(Event::Call(ToolCall::new(open.id, open.wire.name, text)));
        }
    }
}

impl FunctionCall<'_> {
    pub(crate) fn is_partial(&self) -> bool {
        !matches!(self.partial_args.raw, "" | "null") || self.will_continue.is_true()
    }

    /// Fails for a known member of another type.
    pub(crate) fn check(&self, raw: &str) -> Result<(), ProtocolError> {
        if self.partial_args.value.has_others() {
            return Err(malformed(
                "expected objects as the `partialArgs` of a call",
                raw,
            ));
        }
        Ok(())
    }
}

impl OpenCall {
    /// Begins a call, which has to have a name.
    fn begin(piece: &FunctionCall<'_>, sink: &mut EventSink<'_>) -> Result<Self, ProtocolError> {
        let name = piece.name.as_str().to_owned();
        if name.is_empty() {
            return Err(ProtocolError::Orphan {
                key: "functionCall".to_owned(),
            });
        }
        let wire = WireCall {
            id: piece.id.as_str().to_owned(),
            name: name.clone(),
            kind: "",
        };
        let id = sink.assign(wire.clone());
        sink.push(Event::CallStarted {
            id: id.clone(),
            name,
        });
        Ok(Self {
            wire,
            id,
            ..Self::default()
        })
    }

    /// Returns true for a piece of this call. One with a name and without arguments begins another,
    /// unless it has this id.
    fn continues_with(&self, piece: &FunctionCall<'_>) -> bool {
        let id = piece.id.as_str();
        let name = piece.name.as_str();
        let has_same_name = name.is_empty() || self.wire.name == name;
        if !id.is_empty() {
            return has_same_name && self.wire.id == id;
        }
        has_same_name && (name.is_empty() || !matches!(piece.partial_args.raw, "" | "null"))
    }

    fn add(&mut self, piece: &FunctionCall<'_>, raw: &str) -> Result<(), ProtocolError> {
        self.size += raw.len();
        if self.size > MAX_EVENT_BYTES {
            if std::mem::replace(&mut self.is_too_large, true) {
                return Ok(());
            }
            return Err(ProtocolError::TooLarge {
                most: MAX_EVENT_BYTES,
            });
        }
        if let Ok(Value::Object(mut part)) = serde_json::from_str(raw) {
            part.retain(|name, _| !matches!(name.as_str(), "functionCall" | "function_call"));
            self.part.extend(part);
        }
        if let Some(whole) = piece
            .args
            .parse::<Map<String, Value>>()
            .filter(|whole| !whole.is_empty())
        {
            let whole = Value::Object(whole);
            if !self.arguments.is_null() && self.arguments != whole {
                return Err(out_of_place(
                    "the arguments of a call are others than their pieces",
                ));
            }
            self.arguments = whole;
        }
        for argument in piece.partial_args.value.iter() {
            self.set(argument).map_err(|problem| {
                let path = argument.json_path.as_str();
                malformed(
                    format!("{problem} `{path}` of the arguments of a call"),
                    raw,
                )
            })?;
        }
        Ok(())
    }

    /// Sets a value, or goes on with a text. Returns the problem of a value that has no place.
    fn set(&mut self, argument: &PartialArgument<'_>) -> Result<(), &'static str> {
        let path = argument.json_path.as_str();
        let steps = steps_of(path).ok_or("expected a path instead of")?;
        let place = place_at(&mut self.arguments, &steps).ok_or("no place")?;
        let goes_on = argument.will_continue.is_true();
        let is_open = self.open_texts.contains(path);
        let Some(value) = argument.value(goes_on || is_open) else {
            return Err("expected a value at");
        };
        match (place, value) {
            (Value::String(text), Value::String(piece)) if is_open => text.push_str(&piece),
            (place, value) if place.is_null() => *place = value,
            (place, value) if !is_open && *place == value => {}
            _ => return Err("another value came before at"),
        }
        if goes_on {
            self.open_texts.insert(path.to_owned());
        } else {
            self.open_texts.remove(path);
        }
        Ok(())
    }

    fn object(&self) -> Value {
        if self.arguments.is_null() {
            json!({})
        } else {
            self.arguments.clone()
        }
    }

    /// Returns the call. Fails if one of its texts goes on.
    fn complete(self, sink: &mut EventSink<'_>) -> Result<PiecedCall, ProtocolError> {
        if let Some(path) = self.open_texts.iter().next() {
            return Err(out_of_place(format!(
                "the text `{path}` of the arguments of a call has no end"
            )));
        }
        let mut arguments = self.object().to_string();
        sink.join(&mut arguments);
        let Self { wire, id, part, .. } = self;
        Ok(PiecedCall {
            wire,
            arguments,
            id,
            part,
        })
    }
}

impl PartialArgument<'_> {
    /// Returns the value. A piece of a text may have none.
    fn value(&self, is_text: bool) -> Option<Value> {
        if let Some(text) = self.string_value.string() {
            return Some(Value::from(text));
        }
        if self.string_value.0.is_some() {
            return None;
        }
        if self.number_value.0.is_some() {
            return self.number_value.parse::<Number>().map(Value::Number);
        }
        if self.bool_value.0.is_some() {
            return self.bool_value.parse::<bool>().map(Value::Bool);
        }
        if !self.null_value.raw.is_empty() {
            return Some(Value::Null);
        }
        is_text.then(|| Value::from(""))
    }
}

impl PiecedCall {
    /// Returns the signature of the part.
    pub(crate) fn signature(&self) -> &str {
        let signature = self
            .part
            .get("thoughtSignature")
            .or_else(|| self.part.get("thought_signature"));
        signature.and_then(Value::as_str).unwrap_or_default()
    }

    /// Emits the call, and the part of the message that it is.
    pub(crate) fn emit(self, items: PartItems, sink: &mut EventSink<'_>) {
        let Self {
            wire,
            arguments,
            id,
            mut part,
        } = self;
        sink.push(Event::Arguments {
            id: id.clone(),
            delta: arguments.clone(),
        });
        sink.push(Event::Call(ToolCall::new(id, &*wire.name, &*arguments)));
        if items == PartItems::Other {
            return;
        }
        let arguments = serde_json::from_str::<Value>(&arguments).unwrap_or_default();
        let mut call = Map::from_iter([
            ("name".to_owned(), Value::from(wire.name)),
            ("args".to_owned(), arguments),
        ]);
        if !wire.id.is_empty() {
            call.insert("id".to_owned(), wire.id.into());
        }
        part.insert("functionCall".to_owned(), call.into());
        sink.push(Event::Item(part.into()));
    }
}

/// Returns the place in arguments, which is made where it is absent; `None` if another value is in
/// the way. An array grows by one element at a time.
fn place_at<'v>(root: &'v mut Value, steps: &[PathStep]) -> Option<&'v mut Value> {
    let mut place = root;
    for step in steps {
        if place.is_null() {
            *place = if matches!(step, PathStep::Name(_)) {
                json!({})
            } else {
                json!([])
            };
        }
        place = match (step, place) {
            (PathStep::Name(name), Value::Object(members)) => {
                members.entry(name.as_str()).or_insert(Value::Null)
            }
            (PathStep::Index(index), Value::Array(items)) => {
                if *index == items.len() {
                    items.push(Value::Null);
                }
                items.get_mut(*index)?
            }
            _ => return None,
        };
    }
    Some(place)
}

/// Returns the steps of a path such as `$.a['b c'][0]`; `None` for any other, and for the root.
fn steps_of(path: &str) -> Option<Vec<PathStep>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        let step = if let Some(named) = rest.strip_prefix('.') {
            let end = named.find(['.', '[']).unwrap_or(named.len());
            let (name, after) = named
                .split_at_checked(end)
                .filter(|(name, _)| !name.is_empty())?;
            rest = after;
            PathStep::Name(name.to_owned())
        } else {
            let inner = rest.strip_prefix('[')?;
            let quote = inner
                .chars()
                .next()
                .filter(|quote| matches!(quote, '\'' | '"'));
            let (step, after) = if let Some(quote) = quote {
                quoted_step(inner.get(1..)?, quote)?
            } else {
                let (index, after) = inner.split_once(']')?;
                (PathStep::Index(usize::from_str(index).ok()?), after)
            };
            rest = after;
            step
        };
        steps.push(step);
    }
    (1..=MAX_STEPS).contains(&steps.len()).then_some(steps)
}

/// Reads a quoted name up to its bracket, and returns the text behind it.
fn quoted_step(text: &str, quote: char) -> Option<(PathStep, &str)> {
    let mut name = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => name.push(letters.next()?.1),
            letter if letter == quote => {
                let after = text.get(at + 1..)?.strip_prefix(']')?;
                return Some((PathStep::Name(name), after));
            }
            letter => name.push(letter),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_paths_as_json_path_has_them() {
        let name = |name: &str| PathStep::Name(name.to_owned());
        for (path, steps) in [
            ("$.a", Some(vec![name("a")])),
            (
                "$.foo.bar[0].data",
                Some(vec![
                    name("foo"),
                    name("bar"),
                    PathStep::Index(0),
                    name("data"),
                ]),
            ),
            (
                r#"$['a b']["c.d"]['e\'f']"#,
                Some(vec![name("a b"), name("c.d"), name("e'f")]),
            ),
        ] {
            assert_eq!(steps_of(path), steps, "{path}");
        }
        for path in [
            "",
            "$",
            "a",
            "$.",
            "$..a",
            "$[",
            "$[-1]",
            "$[*]",
            "$['a",
            "$['a'",
            &format!("${}", ".a".repeat(65)),
        ] {
            assert_eq!(steps_of(path), None, "{path}");
        }
    }

    #[test]
    fn an_array_grows_by_one_element() {
        let mut root = json!({});
        assert!(place_at(&mut root, &steps_of("$.a[0]").expect("steps")).is_some());
        assert!(place_at(&mut root, &steps_of("$.a[4000000000]").expect("steps")).is_none());
        assert_eq!(root, json!({"a": [null]}));
    }
}
