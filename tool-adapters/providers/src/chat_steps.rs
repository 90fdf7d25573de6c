//! A conversation as messages of the roles `user`, `assistant` and `tool`: for Chat Completions,
//! Mistral, Cohere and Ollama.

use crate::accepted_parts::AcceptedParts;
use crate::codec::ToolAnswer;
use crate::hosts::Host;
use crate::part_form::{PartForm, write_content};
use crate::request::Request;
use crate::result_files::FilesOfResults;
use crate::step_model::{is_model_item, is_of_model};
use crate::turns::{ACKNOWLEDGEMENT, CONTINUE, OPENING, begin_of_turn};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use tool_core::call::ModelResult;
use tool_core::session::Message;
use tool_core::{Content, ToolCall};

/// A provider's form of messages. The images and files of results follow them in a message of the
/// user.
pub(crate) trait ChatForm: PartForm + Sized {
    /// Writes a message of the user; `None` for one without content. Defaults to `content` as a
    /// text or as parts.
    fn user(parts: &[Content], accepted: &AcceptedParts) -> Option<Value> {
        let content = write_content::<Self>(parts, accepted)?;
        Some(json!({"role": "user", "content": content}))
    }

    /// Writes a message of the model.
    fn step(step: &ChatStep<'_>, host: &Host) -> Value;

    /// Writes the result of a call.
    fn result(call: &ChatCall<'_>, result: &ModelResult, host: &Host) -> Value;

    /// Returns an id of a call that the provider accepts.
    fn conforming_id(id: &str) -> Cow<'_, str>;
}

/// A message of the model that has a text or calls.
pub(crate) struct ChatStep<'a> {
    /// The text. Empty if it is blank.
    pub(crate) text: &'a str,
    pub(crate) calls: Vec<ChatCall<'a>>,
    /// The message as the server sent it.
    pub(crate) native: Option<Map<String, Value>>,
}

/// A call under its id and its name in the request.
#[derive(Clone)]
pub(crate) struct ChatCall<'a> {
    pub(crate) id: String,
    pub(crate) name: Cow<'a, str>,
    pub(crate) call: &'a ToolCall,
    /// The call as the server sent it.
    pub(crate) native: Option<Map<String, Value>>,
}

impl ChatCall<'_> {
    /// Returns the id that the server gave; empty if it gave none.
    pub(crate) fn given_id(&self) -> &str {
        self.native
            .as_ref()
            .map_or("", |native| text_member(native, "id"))
    }
}

impl ChatStep<'_> {
    /// Returns the text; `None` if it is blank.
    pub(crate) fn some_text(&self) -> Option<&str> {
        Some(self.text).filter(|text| !text.is_empty())
    }

    /// Returns the parts of the content as the server sent them, without blank texts. `None` if
    /// they are no more than a text, or have none of the kinds.
    pub(crate) fn content_parts(&self, kinds: &[&str]) -> Option<Vec<Value>> {
        let parts = self.native.as_ref()?.get("content")?.as_array()?;
        let is_kept = |part: &&Value| {
            let kind = part["type"].as_str().unwrap_or_default();
            let is_blank = kind == "text"
                && part["text"]
                    .as_str()
                    .is_none_or(|text| text.trim().is_empty());
            !is_blank && (kinds.is_empty() || kinds.contains(&kind))
        };
        let parts = parts.iter().filter(is_kept).cloned().collect::<Vec<_>>();
        let has_more_than_text = parts.iter().any(|part| part["type"] != "text");
        has_more_than_text.then_some(parts)
    }

    /// Returns the members of the server's message that are neither its role, its content nor its
    /// calls.
    pub(crate) fn further_members<'s>(
        &'s self,
        host: &'s Host,
    ) -> impl Iterator<Item = (&'s String, &'s Value)> {
        let members = self.native.iter().flatten();
        let is_known = |name: &str| matches!(name, "role" | "content" | "tool_calls");
        members.filter(move |(name, value)| {
            !is_known(name) && !value.is_null() && host.rules.takes_member(name)
        })
    }
}

/// Returns the system instruction and the history as messages.
///
/// The user begins and has the last word, unless a result has. No text is blank, and each result
/// follows its call.
pub(crate) fn chat_messages<F: ChatForm>(request: &Request<'_>, host: &Host) -> Vec<Value> {
    let mut writer = MessageWriter {
        request,
        host,
        messages: Vec::new(),
        calls: HashMap::new(),
        used: HashSet::new(),
        files: FilesOfResults::default(),
    };
    let turn_begins = begin_of_turn(request.history);
    for (place, message) in request.history.iter().enumerate() {
        if !matches!(message, Message::Result { .. }) {
            writer.add_files::<F>();
        }
        match message {
            Message::User(said) => writer.add_user::<F>(said.parts()),
            Message::Assistant {
                text,
                calls,
                native,
            } => {
                let native = host.native(native.as_ref(), place > turn_begins);
                writer.add_step::<F>(text.as_deref().unwrap_or_default(), calls, native);
            }
            Message::Result {
                call_id, result, ..
            } => {
                let Some(call) = writer.calls.get(call_id.as_str()) else {
                    continue;
                };
                writer.messages.push(F::result(call, result, host));
                let accepted = host.accepted_parts();
                writer.files.add(&call.name, result, accepted);
            }
            _ => {}
        }
    }
    writer.add_files::<F>();

    let mut messages = writer.messages;
    if messages.first().is_none_or(|first| first["role"] != "user") {
        messages.insert(0, user_message(OPENING));
    }
    if messages
        .last()
        .is_some_and(|last| last["role"] == "assistant")
    {
        messages.push(user_message(CONTINUE));
    }
    if !request.instructions.trim().is_empty() {
        messages.insert(
            0,
            json!({"role": "system", "content": request.instructions}),
        );
    }
    messages
}

/// Writes what the model says between results and the user's next message.
fn acknowledgement() -> Value {
    json!({"role": "assistant", "content": ACKNOWLEDGEMENT})
}

/// Writes the messages that answer calls: the results, and one of the user with their files. With
/// `acknowledged`, the model speaks between them.
pub(crate) fn encode_results<F: ChatForm>(
    results: Vec<Value>,
    answers: &[ToolAnswer<'_>],
    accepted: &AcceptedParts,
    acknowledged: bool,
) -> Value {
    let mut messages = results;
    let mut files = FilesOfResults::default();
    for answer in answers {
        files.add(&answer.name(), &answer.result, accepted);
    }
    if let Some(message) = F::user(&files.take(), accepted) {
        messages.extend(acknowledged.then(acknowledgement));
        messages.push(message);
    }
    messages.into()
}

/// Adds a message of the user to another.
fn append_content<F: PartForm>(before: &mut Value, mut after: Value) {
    let after = after["content"].take();
    let content = &mut before["content"];
    if let (Value::String(text), Value::String(further)) = (&mut *content, &after) {
        text.push_str("\n\n");
        text.push_str(further);
        return;
    }
    let parts = [content.take(), after]
        .into_iter()
        .flat_map(|content| match content {
            Value::String(text) => vec![F::text(&text)],
            Value::Array(parts) => parts,
            _ => Vec::new(),
        });
    *content = parts.collect();
}

pub(crate) fn user_message(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

struct MessageWriter<'a> {
    request: &'a Request<'a>,
    host: &'a Host,
    messages: Vec<Value>,
    /// The calls so far, by the ids of the history.
    calls: HashMap<&'a str, ChatCall<'a>>,
    /// The ids in use.
    used: HashSet<String>,
    /// The files of the results since the last step.
    files: FilesOfResults,
}

impl<'a> MessageWriter<'a> {
    /// Adds the files of the last results as a message of the user.
    fn add_files<F: ChatForm>(&mut self) {
        let files = self.files.take();
        self.add_user::<F>(&files);
    }

    fn add_user<F: ChatForm>(&mut self, parts: &[Content]) {
        let Some(message) = F::user(parts, self.host.accepted_parts()) else {
            return;
        };
        let rules = &self.host.rules;
        if (rules.is_mistral || rules.alternates) && self.last_is("tool") {
            self.messages.push(acknowledgement());
        }
        let last = self
            .messages
            .last_mut()
            .filter(|last| rules.alternates && last["role"] == "user");
        match last {
            Some(last) => append_content::<F>(last, message),
            None => self.messages.push(message),
        }
    }

    fn last_is(&self, role: &str) -> bool {
        self.messages
            .last()
            .is_some_and(|last| last["role"] == role)
    }

    fn add_step<F: ChatForm>(
        &mut self,
        text: &'a str,
        calls: &'a [ToolCall],
        native: Option<&[Value]>,
    ) {
        let text = if text.trim().is_empty() { "" } else { text };
        if text.is_empty() && calls.is_empty() {
            return;
        }
        let native = native.map(|items| self.native_message(items));
        let native_calls = native
            .as_ref()
            .map(|native| native_calls(native, calls, self.request))
            .unwrap_or_default();
        let mut written = Vec::with_capacity(calls.len());
        for (place, call) in calls.iter().enumerate() {
            let native = native_calls.get(place).cloned().flatten();
            let given = native
                .as_ref()
                .map_or("", |native| text_member(native, "id"));
            let id = self.unused_id::<F>(given, call);
            let name = self.request.declarations.written_name(call.name());
            written.push(ChatCall {
                id,
                name,
                call,
                native,
            });
        }
        if self.host.rules.alternates && self.last_is("assistant") {
            self.messages.push(user_message(CONTINUE));
        }
        let step = ChatStep {
            text,
            calls: written,
            native,
        };
        self.messages.push(F::step(&step, self.host));
        self.calls
            .extend(step.calls.into_iter().map(|call| (call.call.id(), call)));
    }

    /// Returns the message of a step as the server sent it, without the reasoning of another model.
    fn native_message(&self, items: &[Value]) -> Map<String, Value> {
        let mut message = message_of(items);
        if !is_of_model(items, self.request.model) {
            drop_reasoning(&mut message);
        }
        message
    }

    /// Returns the id of a call: the server's own, or the history's if there is none or another
    /// call has it.
    fn unused_id<F: ChatForm>(&mut self, given: &str, call: &ToolCall) -> String {
        let given = Some(given)
            .filter(|given| !given.is_empty())
            .unwrap_or(call.id());
        let further = (2..).map(|number| format!("{}_{number}", call.id()));
        let mut ids = [given.to_owned(), call.id().to_owned()]
            .into_iter()
            .chain(further);
        let conforming = ids.find_map(|id| {
            let id = F::conforming_id(&id).into_owned();
            self.used.insert(id.clone()).then_some(id)
        });
        conforming.unwrap_or_default()
    }
}

/// The members of a message that hold reasoning.
const REASONING: [&str; 3] = ["reasoning", "reasoning_content", "reasoning_details"];

/// Returns true for a message with reasoning. Another model of the server may refuse it.
pub(crate) fn has_reasoning(message: &Value) -> bool {
    let parts = message["content"].as_array();
    let has_thought = parts.into_iter().flatten().any(is_thought);
    let has_member = |name: &&str| message.get(*name).is_some_and(|value| !value.is_null());
    has_thought || REASONING.iter().any(has_member)
}

fn is_thought(part: &Value) -> bool {
    part["type"] == "thinking"
}

fn drop_reasoning(message: &mut Map<String, Value>) {
    message.retain(|name, _| !REASONING.contains(&name.as_str()));
    if let Some(Value::Array(parts)) = message.get_mut("content") {
        parts.retain(|part| !is_thought(part));
    }
}

/// Joins the items of a step to one message. Older histories have a member an item.
fn message_of(items: &[Value]) -> Map<String, Value> {
    let mut message = Map::new();
    let sent = items.iter().filter(|item| !is_model_item(item));
    for item in sent.filter_map(Value::as_object) {
        message.extend(
            item.iter()
                .map(|(name, value)| (name.clone(), value.clone())),
        );
    }
    message
}

/// Returns the server's form of each call of a step.
fn native_calls(
    native: &Map<String, Value>,
    calls: &[ToolCall],
    request: &Request<'_>,
) -> Vec<Option<Map<String, Value>>> {
    let sent = native
        .get("tool_calls")
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    if sent.len() == calls.len() {
        return sent.iter().map(|sent| sent.as_object().cloned()).collect();
    }
    // The history has been cut: the calls that are left are found by their names and order.
    let mut after = 0;
    let mut found = Vec::with_capacity(calls.len());
    for call in calls {
        let written = request.declarations.written_name(call.name());
        let is_call = |sent: &Value| {
            let of_kind = |kind: &str| sent[kind]["name"].as_str();
            let name = of_kind("function").or(of_kind("custom"));
            name.is_some_and(|name| name == written || name == call.name())
        };
        let rest = sent.get(after..).unwrap_or_default();
        let place = rest.iter().position(is_call);
        found.push(place.and_then(|place| rest.get(place)?.as_object().cloned()));
        after += place.map_or(0, |place| place + 1);
    }
    found
}

fn text_member<'v>(value: &'v Map<String, Value>, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}
