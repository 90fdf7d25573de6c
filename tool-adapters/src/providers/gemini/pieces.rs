//! Calls whose arguments come in pieces, each with its place in them.
//!
//! The pieces come where a request sets `streamFunctionCallArguments`. A call that the stream does not end has arguments
//! that are not JSON, so that no tool runs with a part of them.

use crate::providers::codec::{EventSink, WireCall};
use crate::providers::event::{Event, ProtocolError, malformed};
use crate::providers::framing::frame::MAX_EVENT_BYTES;
use crate::providers::json_reader::json_objects;
use crate::providers::lenient::{LenientText, RawJson};
use serde_json::{Map, Value, json};
use std::str::FromStr;
use tool_core::ToolCall;

/// The maximum depth of a place.
const MAX_STEPS: usize = 64;

/// The call whose pieces arrive.
#[derive(Debug, Default)]
pub(crate) struct CallPieces(Option<Box<OpenCall>>);

#[derive(Debug, Default)]
struct OpenCall {
    wire: WireCall,
    /// Our id, once the name is known.
    id: Option<String>,
    arguments: Value,
    /// The place of a text that goes on.
    open_text: Option<String>,
    /// The part of the message with its signature, to be sent back.
    part: Map<String, Value>,
    /// The bytes of the pieces.
    size: usize,
    /// True for a call with pieces that have no place in it.
    is_broken: bool,
}

json_objects! {
    pub(crate) struct FunctionCall<'a> {
        pub(crate) id: LenientText<'a>,
        pub(crate) name: LenientText<'a>,
        pub(crate) args: RawJson<'a>,
        /// Pieces of arguments, if the request asks for them.
        pub(crate) partial_args: RawJson<'a> = "partialArgs" | "partial_args",
        pub(crate) will_continue: LenientText<'a> = "willContinue" | "will_continue",
    }

    /// One value, or a piece of a text.
    struct PartialArgument<'a> {
        json_path: LenientText<'a> = "jsonPath" | "json_path",
        string_value: RawJson<'a> = "stringValue" | "string_value",
        number_value: RawJson<'a> = "numberValue" | "number_value",
        bool_value: RawJson<'a> = "boolValue" | "bool_value",
        will_continue: LenientText<'a> = "willContinue" | "will_continue",
    }
}

/// The parts that become items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartItems {
    /// Every part, for a conversation that the client keeps.
    All,
    /// Parts other than text, calls and audio, for a conversation that the server keeps. Audio is an event.
    Other,
}

/// A step to a place in arguments.
#[derive(Debug, PartialEq)]
enum PathStep {
    Name(String),
    Index(usize),
}

impl CallPieces {
    /// Reads a piece of a call; returns false for a call that comes whole. `raw` is the part that has it.
    pub(crate) fn read(
        &mut self,
        piece: &FunctionCall<'_>,
        raw: &str,
        items: PartItems,
        sink: &mut EventSink<'_>,
    ) -> bool {
        if !self.0.as_ref().is_some_and(|open| open.continues_with(piece)) {
            self.truncate(sink);
            if !piece.is_partial() {
                return false;
            }
        }
        let open = self.0.get_or_insert_default();
        open.add(piece, raw, sink);
        if !piece.will_continue.is_true()
            && let Some(open) = self.0.take()
        {
            open.complete(items, sink);
        }
        true
    }

    /// Ends a message in which the call may be open.
    pub(crate) fn truncate(&mut self, sink: &mut EventSink<'_>) {
        if let Some(mut open) = self.0.take() {
            sink.error(ProtocolError::Truncated { call_id: open.id.clone() });
            open.is_broken = true;
            open.complete(PartItems::Other, sink);
        }
    }
}

impl FunctionCall<'_> {
    fn is_partial(&self) -> bool {
        self.partial_args.0.is_some() || self.will_continue.is_true()
    }
}

impl OpenCall {
    /// Returns true for a piece of this call. One with a name and without arguments begins another.
    fn continues_with(&self, piece: &FunctionCall<'_>) -> bool {
        let same = |ours: &str, given: &str| ours.is_empty() || given.is_empty() || ours == given;
        let begins = !piece.name.as_str().is_empty() && !self.wire.name.is_empty() && piece.partial_args.0.is_none();
        same(&self.wire.id, piece.id.as_str()) && same(&self.wire.name, piece.name.as_str()) && !begins
    }

    fn add(&mut self, piece: &FunctionCall<'_>, raw: &str, sink: &mut EventSink<'_>) {
        if self.wire.id.is_empty() {
            piece.id.as_str().clone_into(&mut self.wire.id);
        }
        if self.wire.name.is_empty() {
            piece.name.as_str().clone_into(&mut self.wire.name);
        }
        if self.id.is_none() && !self.wire.name.is_empty() {
            let id = sink.assign(self.wire.clone());
            sink.push(Event::CallStarted { id: id.clone(), name: self.wire.name.clone() });
            self.id = Some(id);
        }
        self.size += raw.len();
        if self.size > MAX_EVENT_BYTES {
            return self.break_off(ProtocolError::TooLarge { most: MAX_EVENT_BYTES }, sink);
        }
        if let Ok(Value::Object(mut part)) = serde_json::from_str(raw) {
            part.retain(|name, _| !matches!(name.as_str(), "functionCall" | "function_call"));
            self.part.extend(part);
        }
        if let Some(whole) =
            piece.args.parse::<Value>().filter(|whole| whole.as_object().is_some_and(|it| !it.is_empty()))
        {
            self.arguments = whole;
        }
        for argument in piece.partial_args.objects::<PartialArgument<'_>>().iter() {
            if self.set(argument).is_none() {
                let message = format!("no place `{}` in the arguments of a call", argument.json_path.as_str());
                return self.break_off(malformed(message, raw), sink);
            }
        }
    }

    /// Sets a value, or goes on with a text; `None` if it has no place.
    fn set(&mut self, argument: &PartialArgument<'_>) -> Option<()> {
        let path = argument.json_path.as_str();
        let place = place_at(&mut self.arguments, &steps_of(path)?)?;
        let goes_on = argument.will_continue.is_true();
        match (argument.string_value.string(), place) {
            (Some(piece), Value::String(text)) if self.open_text.as_deref() == Some(path) => text.push_str(&piece),
            (Some(piece), place) => *place = Value::from(piece),
            // A text may go on without a piece.
            (None, Value::String(_)) if self.open_text.as_deref() == Some(path) => {}
            (None, place) if goes_on => *place = Value::from(""),
            (None, place) => {
                let other = argument.number_value.parse().or_else(|| argument.bool_value.parse());
                *place = other.unwrap_or(Value::Null);
            }
        }
        self.open_text = goes_on.then(|| path.to_owned());
        Some(())
    }

    fn break_off(&mut self, error: ProtocolError, sink: &mut EventSink<'_>) {
        if !std::mem::replace(&mut self.is_broken, true) {
            sink.error(error);
        }
        self.arguments = Value::Null;
    }

    /// Emits the call. One without a name has no answer.
    fn complete(self, items: PartItems, sink: &mut EventSink<'_>) {
        let Self { wire, id, arguments, mut part, is_broken, .. } = self;
        let Some(id) = id else {
            return sink.error(ProtocolError::Orphan { key: "functionCall".to_owned() });
        };
        let arguments = if arguments.is_null() { json!({}) } else { arguments };
        let mut text = arguments.to_string();
        sink.join(&mut text);
        let arguments = serde_json::from_str(&text).unwrap_or(arguments);
        if is_broken {
            // Without its last brace it is not JSON.
            text.pop();
        }
        sink.push(Event::Arguments { id: id.clone(), delta: text.clone() });
        sink.push(Event::Call(ToolCall::new(id, &*wire.name, text)));
        if items == PartItems::All {
            let mut call =
                Map::from_iter([("name".to_owned(), Value::from(wire.name)), ("args".to_owned(), arguments)]);
            if !wire.id.is_empty() {
                call.insert("id".to_owned(), wire.id.into());
            }
            part.insert("functionCall".to_owned(), call.into());
            sink.push(Event::Item(part.into()));
        }
    }
}

/// Returns the place in arguments, which is made where it is absent; `None` if another value is in the way. An array grows
/// by one element at a time.
fn place_at<'v>(root: &'v mut Value, steps: &[PathStep]) -> Option<&'v mut Value> {
    let mut place = root;
    for step in steps {
        if place.is_null() {
            *place = if matches!(step, PathStep::Name(_)) { json!({}) } else { json!([]) };
        }
        place = match (step, place) {
            (PathStep::Name(name), Value::Object(members)) => members.entry(name.as_str()).or_insert(Value::Null),
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
            let (name, after) = named.split_at_checked(end).filter(|(name, _)| !name.is_empty())?;
            rest = after;
            PathStep::Name(name.to_owned())
        } else {
            let inner = rest.strip_prefix('[')?;
            let quote = inner.chars().next().filter(|quote| matches!(quote, '\'' | '"'));
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
            ("$.foo.bar[0].data", Some(vec![name("foo"), name("bar"), PathStep::Index(0), name("data")])),
            (r#"$['a b']["c.d"]['e\'f']"#, Some(vec![name("a b"), name("c.d"), name("e'f")])),
        ] {
            assert_eq!(steps_of(path), steps, "{path}");
        }
        for path in
            ["", "$", "a", "$.", "$..a", "$[", "$[-1]", "$[*]", "$['a", "$['a'", &format!("${}", ".a".repeat(65))]
        {
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
