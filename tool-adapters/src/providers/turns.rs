//! A conversation as turns of two roles that alternate: for Anthropic, Bedrock and Gemini.

use crate::providers::event::Request;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use tool_core::ToolCall;
use tool_core::call::ModelResult;
use tool_core::session::{Message, RawTurn};
use tool_core::tool::ProviderId;

/// What the user says where a conversation has to begin with one and does not.
const OPENING: &str = "The conversation begins.";

/// What the user says where the model has said something and is asked again: it would take its own words for the
/// beginning of the answer, where it takes them at all.
pub(crate) const GO_ON: &str = "Go on.";

/// A provider's words for what turns are made of.
pub(crate) trait Words {
    /// Whose natives are its own.
    const NATIVE: ProviderId;
    /// Whether results stand in a turn of their own.
    const RESULTS_APART: bool = false;
    /// Whether calls have ids of their own where the provider gave none.
    const IDS: bool = true;

    fn text(text: &str) -> Value;

    /// A call, the `nth` of its step.
    fn call(id: &str, name: &str, input: Map<String, Value>, nth: usize) -> Value;

    /// The result of a call, under the id that [`call_id`](Self::call_id) found, or that [`call`](Self::call) was told.
    fn result(id: &str, name: &str, result: &ModelResult) -> Value;

    /// The id of the call that an item of the provider's own is, empty where it has none; `None` where it is no call.
    fn call_id(item: &Value) -> Option<&str>;

    /// Sets the arguments of such an item, and its id where it has one.
    fn set_call(item: &mut Value, id: &str, input: Map<String, Value>);

    /// An item that the provider takes back, as it does.
    fn echo(item: &Value) -> Option<Value>;

    /// Whether an item is text and nothing else.
    fn is_text(item: &Value) -> bool;

    /// An id that the provider takes.
    fn id(id: &str) -> Cow<'_, str>;
}

/// What one side says.
#[derive(Debug, PartialEq)]
pub(crate) struct Turn {
    /// Whether it is the model.
    pub(crate) model: bool,
    pub(crate) content: Vec<Value>,
    /// How many of the content, at its beginning, are results.
    results: usize,
}

/// The turns of a conversation: begun by the user, results before what the user says besides, nothing empty.
pub(crate) fn turns<W: Words>(request: &Request<'_>) -> Vec<Turn> {
    let mut writer = Writer { request, turns: Vec::new(), calls: HashMap::new(), used: HashSet::new() };
    for message in request.history {
        match message {
            Message::User(text) => writer.user::<W>(text),
            Message::Assistant { text, calls, native } => {
                writer.assistant::<W>(text.as_deref().unwrap_or_default(), calls, native.as_ref());
            }
            Message::Result { call_id, tool, result } => writer.result::<W>(call_id, tool, result),
            _ => {}
        }
    }
    let mut turns = writer.turns;
    if turns.first().is_none_or(|turn| turn.model) {
        turns.insert(0, Turn { model: false, content: vec![W::text(OPENING)], results: 0 });
    }
    if turns.last().is_some_and(|turn| turn.model && turn.content.last().is_some_and(W::is_text)) {
        turns.push(Turn { model: false, content: vec![W::text(GO_ON)], results: 0 });
    }
    turns
}

struct Writer<'a> {
    request: &'a Request<'a>,
    turns: Vec<Turn>,
    /// What the calls of the history are called here: the id, and the name.
    calls: HashMap<&'a str, (String, String)>,
    /// The ids that are given away.
    used: HashSet<String>,
}

impl<'a> Writer<'a> {
    fn user<W: Words>(&mut self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        let item = W::text(text);
        match self.turns.last_mut().filter(|turn| !(turn.model || W::RESULTS_APART && turn.results > 0)) {
            Some(turn) => turn.content.push(item),
            None => self.turns.push(Turn { model: false, content: vec![item], results: 0 }),
        }
    }

    fn result<W: Words>(&mut self, call_id: &str, tool: &str, result: &ModelResult) {
        let item = match self.calls.get(call_id) {
            Some((id, name)) => W::result(id, name, result),
            None => W::result(&W::id(if W::IDS { call_id } else { "" }), &self.name(tool), result),
        };
        // Right behind the calls, whatever the user has said since.
        let at = self.turns.iter().rposition(|turn| turn.model).map_or(0, |calls| calls + 1);
        match self.turns.get_mut(at).filter(|turn| !W::RESULTS_APART || turn.results > 0) {
            Some(turn) => {
                turn.content.insert(turn.results, item);
                turn.results += 1;
            }
            None => self.turns.insert(at, Turn { model: false, content: vec![item], results: 1 }),
        }
    }

    fn assistant<W: Words>(&mut self, text: &str, calls: &'a [ToolCall], native: Option<&RawTurn>) {
        let own = native.filter(|native| native.provider == W::NATIVE);
        let own = own.filter(|native| native.items.iter().filter_map(W::call_id).count() == calls.len());
        let content = match own {
            Some(native) => self.echoed::<W>(&native.items, calls),
            None => self.told::<W>(text, calls),
        };
        match self.turns.last_mut().filter(|turn| turn.model) {
            _ if content.is_empty() => {}
            Some(turn) => turn.content.extend(content),
            None => self.turns.push(Turn { model: true, content, results: 0 }),
        }
    }

    /// A step of this provider, item by item, its calls with the arguments of the history.
    fn echoed<W: Words>(&mut self, items: &[Value], calls: &'a [ToolCall]) -> Vec<Value> {
        let mut calls = calls.iter();
        let mut content = Vec::new();
        for item in items {
            let Some(own) = W::call_id(item) else {
                content.extend(W::echo(item));
                continue;
            };
            let (Some(call), Some(mut item)) = (calls.next(), W::echo(item)) else { continue };
            let own = if own.is_empty() && W::IDS { call.id() } else { own };
            let id = self.free_id::<W>(own, call.id());
            W::set_call(&mut item, &id, input(call.arguments()));
            let name = self.name(call.name()).into_owned();
            self.calls.insert(call.id(), (id, name));
            content.push(item);
        }
        content
    }

    /// A step as its text and its calls: another provider's, or one that was never sent.
    fn told<W: Words>(&mut self, text: &str, calls: &'a [ToolCall]) -> Vec<Value> {
        let mut content = Vec::new();
        if !text.trim().is_empty() {
            content.push(W::text(text));
        }
        for (nth, call) in calls.iter().enumerate() {
            let id = self.free_id::<W>(if W::IDS { call.id() } else { "" }, call.id());
            let name = self.name(call.name()).into_owned();
            content.push(W::call(&id, &name, input(call.arguments()), nth));
            self.calls.insert(call.id(), (id, name));
        }
        content
    }

    /// The id that a call has here: its own where no other call of the request has it, otherwise the history's.
    fn free_id<W: Words>(&mut self, own: &str, other: &str) -> String {
        if own.is_empty() && !W::IDS {
            return String::new();
        }
        let own = W::id(own);
        let id = if self.used.contains(&*own) { W::id(other) } else { own }.into_owned();
        self.used.insert(id.clone());
        id
    }

    /// The name that the provider knows a tool by. One that is not declared, and that it would not take, is bent.
    fn name<'n>(&self, tool: &'n str) -> Cow<'n, str>
    where
        'a: 'n,
    {
        self.request.declarations.written_name(tool)
    }
}

/// What is said of a tool that was called before and is not there any more.
pub(crate) const GONE: &str = "Not available any more.";

/// The names of the tools that were called before. Some providers refuse calls and results in a request that declares no
/// tools: where there are none now, these are declared. Should the model call one again, it is told that there is none.
pub(crate) fn called<'a>(request: &Request<'a>) -> BTreeSet<Cow<'a, str>> {
    let mut names = BTreeSet::new();
    for message in request.history {
        if let Message::Assistant { calls, .. } = message {
            names.extend(calls.iter().map(|call| request.declarations.written_name(call.name())));
        }
    }
    names
}

/// Arguments as the object that they have to be. What is none is told as it was sent, so that the model finds what its
/// error speaks of.
pub(crate) fn input(arguments: &str) -> Map<String, Value> {
    match serde_json::from_str(arguments) {
        Ok(Value::Object(object)) => object,
        Ok(Value::Null) => Map::new(),
        _ if arguments.trim().is_empty() => Map::new(),
        _ => Map::from_iter([("INVALID_JSON".to_owned(), arguments.into())]),
    }
}

/// The result's text as a JSON value, where that says the same: whole numbers above `most` would be rounded.
pub(crate) fn exact(text: &str, most: u64) -> Option<Value> {
    let value = serde_json::from_str(text).ok()?;
    digits_hold(text, most).then_some(value)
}

/// Whether no whole number in a JSON text is above `most`.
fn digits_hold(text: &str, most: u64) -> bool {
    let (mut in_text, mut escaped) = (false, false);
    let mut numbers = text.split(|char: char| {
        match char {
            _ if escaped => escaped = false,
            '\\' => escaped = in_text,
            '"' => in_text = !in_text,
            _ => {}
        }
        in_text || !matches!(char, '0'..='9' | '-' | '+' | '.' | 'e' | 'E')
    });
    numbers.all(|number| {
        number.len() < 16
            || number.contains(['.', 'e', 'E'])
            || number.parse::<i64>().map(i64::unsigned_abs).or_else(|_| number.parse()).is_ok_and(|whole| whole <= most)
    })
}
