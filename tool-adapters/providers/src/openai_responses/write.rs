//! Results and requests.

use crate::accepted_parts::AcceptedParts;
use crate::chat_steps::user_message;
use crate::codec::{CallIds, ToolAnswer, short_id};
use crate::hosts::Host;
use crate::message_parts::{MediaPart, MediaSource};
use crate::openai_responses::items::{CUSTOM_CALL, call_kind};
use crate::part_form::{PartForm, write_content, write_result_parts};
use crate::request::{Request, RequestBody, argument_text};
use crate::step_model::{MODEL, is_of_model};
use crate::turns::OPENING;
use crate::turns::begin_of_turn;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use tool_core::ToolCall;
use tool_core::call::ModelResult;
use tool_core::session::Message;

/// The kinds of calls that a client answers, but for functions and tools of free text. The server
/// refuses each later request with one of them and without its output.
const CLIENT_CALLS: [&str; 4] = [
    "computer_call",
    "shell_call",
    "local_shell_call",
    "apply_patch_call",
];

pub(crate) struct ResponsesInput;

impl PartForm for ResponsesInput {
    fn text(text: &str) -> Value {
        json!({"type": "input_text", "text": text})
    }

    fn image(image: &MediaPart<'_>) -> Option<Value> {
        Some(json!({"type": "input_image", "image_url": image.url(), "detail": "auto"}))
    }

    fn document(document: &MediaPart<'_>) -> Option<Value> {
        Some(match document.source {
            MediaSource::Url(url) => json!({"type": "input_file", "file_url": url}),
            MediaSource::Base64(_) => {
                json!({"type": "input_file", "filename": document.file_name(), "file_data": document.url()})
            }
        })
    }
}

/// Writes one item for each result.
pub(crate) fn encode(answers: &[ToolAnswer<'_>], _ids: &CallIds, host: &Host) -> Value {
    let accepted = host.accepted_parts();
    let kind = |answer: &ToolAnswer<'_>| answer.call.map_or("", |call| call.kind);
    answers
        .iter()
        .map(|answer| {
            let id = answer.wire_id(short_id);
            result_item(kind(answer), &id, &answer.result, accepted)
        })
        .collect()
}

/// Writes the body of a request.
pub(crate) fn request(request: &Request<'_>, host: &Host) -> Value {
    let instructions = Some(request.instructions).filter(|text| !text.is_empty());
    RequestBody::new(request)
        .with("model", request.model)
        .with_some("instructions", instructions)
        .with("input", input_items(request, host))
        .with_tools("none", "required")
        .with_some("stream", request.stream.then_some(true))
        .with_some("max_output_tokens", request.max_tokens)
        .finish()
}

fn input_items(request: &Request<'_>, host: &Host) -> Vec<Value> {
    let mut writer = InputWriter {
        request,
        accepted: host.accepted_parts(),
        input: Vec::new(),
        calls: HashMap::new(),
        used: HashSet::new(),
    };
    let turn_begins = begin_of_turn(request.history);
    for (place, message) in request.history.iter().enumerate() {
        match message {
            Message::User(said) => {
                let content = write_content::<ResponsesInput>(said.parts(), writer.accepted);
                let message = content.map(|content| json!({"role": "user", "content": content}));
                writer.input.extend(message);
            }
            Message::Assistant {
                text,
                calls,
                native,
            } => {
                let native = host.native(native.as_ref(), place > turn_begins);
                let echoed = native.is_some_and(|items| writer.echo(items, calls));
                if !echoed {
                    writer.add_step(text.as_deref().unwrap_or_default(), calls);
                }
            }
            Message::Result {
                call_id, result, ..
            } => writer.add_result(call_id, result),
            _ => {}
        }
    }
    if writer.input.is_empty() {
        writer.input.push(user_message(OPENING));
    }
    writer.input
}

struct InputWriter<'a> {
    request: &'a Request<'a>,
    accepted: &'a AcceptedParts,
    input: Vec<Value>,
    /// The calls so far, by the ids of the history.
    calls: HashMap<&'a str, WrittenCall>,
    /// The ids in use.
    used: HashSet<String>,
}

/// A call in the request.
struct WrittenCall {
    id: String,
    kind: &'static str,
}

impl<'a> InputWriter<'a> {
    fn add_result(&mut self, call_id: &str, result: &ModelResult) {
        if let Some(call) = self.calls.get(call_id) {
            let item = result_item(call.kind, &call.id, result, self.accepted);
            self.input.push(item);
        }
    }

    /// Writes a step as text and calls.
    fn add_step(&mut self, text: &str, calls: &'a [ToolCall]) {
        if !text.trim().is_empty() {
            self.input
                .push(json!({"role": "assistant", "content": text}));
        }
        for call in calls {
            let id = self.add_call("", "", call);
            let name = self.request.declarations.written_name(call.name());
            let arguments = argument_text(call.arguments());
            self.input.push(json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments}));
        }
    }

    /// Writes the items of a step as they came, with the calls of the history. Returns false if
    /// their calls are not those of the history.
    fn echo(&mut self, items: &[Value], calls: &'a [ToolCall]) -> bool {
        let Some(paired) = self.pair(items, calls) else {
            return false;
        };
        let is_kept = items
            .iter()
            .zip(&paired)
            .map(|(item, call)| call.is_some() || self.keeps(item, items));
        let mut is_kept = is_kept.collect::<Vec<_>>();
        let mut loses_reasoning = drop_lone_reasoning(items, &mut is_kept);
        while drop_lost_outputs(items, &mut is_kept) {
            loses_reasoning = drop_lone_reasoning(items, &mut is_kept);
        }
        for (place, item) in items.iter().enumerate() {
            let mut item = item.clone();
            if let Some(call) = paired[place] {
                self.set_call(&mut item, call);
            } else if !is_kept[place] {
                continue;
            }
            if loses_reasoning[place] {
                // The server looks for the reasoning of an item by its id.
                item.as_object_mut().map(|item| item.remove("id"));
            }
            self.input.push(item);
        }
        true
    }

    /// Returns the call of the history that each item is: by name and in order, or else by order
    /// alone, as the history may have other names. `None` if a call of the history is not there.
    fn pair(&self, items: &[Value], calls: &'a [ToolCall]) -> Option<Vec<Option<&'a ToolCall>>> {
        pair_by(items, calls, |item, call| self.has_name(item, call)).or_else(|| {
            // The server runs custom tools of its own too. Its functions are never among the items.
            let is_own = |item: &Value, call: &ToolCall| {
                item["type"] != CUSTOM_CALL || self.has_name(item, call)
            };
            pair_by(items, calls, is_own)
        })
    }

    fn has_name(&self, item: &Value, call: &ToolCall) -> bool {
        let name = text_member(item, "name");
        name == call.name() || name == self.request.declarations.written_name(call.name())
    }

    /// Returns true for an item without a call of the history that the server takes back. `items` are
    /// all of its step.
    fn keeps(&self, item: &Value, items: &[Value]) -> bool {
        match text_member(item, "type") {
            "function_call" => has_output(item),
            CUSTOM_CALL => has_output(item) || !self.is_own_custom_tool(text_member(item, "name")),
            "message" => has_text(item),
            kind if CLIENT_CALLS.contains(&kind) => {
                items.iter().any(|output| is_output(output, item))
            }
            // A model that does not reason refuses the reasoning of another one. A provider that
            // does not store the response knows reasoning by its encrypted content only.
            "reasoning" => {
                let is_stored = self.request.extra.get("store") != Some(&Value::Bool(false));
                let is_known = is_stored || !item["encrypted_content"].is_null();
                is_known && is_of_model(items, self.request.model)
            }
            MODEL => false,
            _ => true,
        }
    }

    /// Returns true for a tool of free text that the request declares.
    fn is_own_custom_tool(&self, name: &str) -> bool {
        let declared = serde_json::from_str::<Vec<Value>>(self.request.declarations.json().get())
            .unwrap_or_default();
        let set = self.request.extra.get("tools").and_then(Value::as_array);
        let mut tools = declared.iter().chain(set.into_iter().flatten());
        tools.any(|tool| tool["type"] == "custom" && tool["name"] == name)
    }

    fn set_call(&mut self, item: &mut Value, call: &'a ToolCall) {
        let kind = call_kind(text_member(item, "type")).unwrap_or_default();
        item["call_id"] = self
            .add_call(text_member(item, "call_id"), kind, call)
            .into();
        item["name"] = self.request.declarations.written_name(call.name()).into();
        if kind == CUSTOM_CALL {
            item["input"] = call.arguments().into();
        } else {
            item["arguments"] = argument_text(call.arguments()).into();
        }
    }

    /// Returns the id of a call: the server's own, or the history's if there is none or another
    /// call has it.
    fn add_call(&mut self, given: &str, kind: &'static str, call: &'a ToolCall) -> String {
        let given = Some(given)
            .filter(|given| !given.is_empty())
            .unwrap_or(call.id());
        let further = (2..).map(|number| format!("{}_{number}", call.id()));
        let mut ids = [given.to_owned(), call.id().to_owned()]
            .into_iter()
            .chain(further);
        let unused = ids.find_map(|id| {
            let id = short_id(&id).into_owned();
            self.used.insert(id.clone()).then_some(id)
        });
        let id = unused.unwrap_or_default();
        self.calls.insert(
            call.id(),
            WrittenCall {
                id: id.clone(),
                kind,
            },
        );
        id
    }
}

/// Returns the call that each item is, in order. `None` if a call is none of the items.
fn pair_by<'a>(
    items: &[Value],
    calls: &'a [ToolCall],
    is_call: impl Fn(&Value, &ToolCall) -> bool,
) -> Option<Vec<Option<&'a ToolCall>>> {
    let mut left = calls.iter().peekable();
    let paired = items.iter().map(|item| {
        call_kind(text_member(item, "type")).filter(|_| !has_output(item))?;
        left.next_if(|call| is_call(item, call))
    });
    let paired = paired.collect::<Vec<_>>();
    left.peek().is_none().then_some(paired)
}

/// Drops reasoning whose next item is not written, as the server refuses one without the other.
/// Returns the items that are written without their reasoning.
fn drop_lone_reasoning(items: &[Value], is_kept: &mut [bool]) -> Vec<bool> {
    let mut loses_reasoning = vec![false; items.len()];
    let is_reasoning = |item: &Value| item["type"] == "reasoning";
    let mut begin = 0;
    while begin < items.len() {
        let length = items[begin..]
            .iter()
            .take_while(|item| is_reasoning(item))
            .count();
        let next = begin + length;
        let has_next = is_kept.get(next).copied().unwrap_or_default();
        if !has_next {
            is_kept[begin..next].fill(false);
        } else if length > 0 && !is_kept[begin..next].contains(&true) {
            loses_reasoning[next] = true;
            // Calls of the server's own tools have to keep their ids.
            is_kept[next] = matches!(
                text_member(&items[next], "type"),
                "message" | "function_call" | CUSTOM_CALL
            );
        }
        begin = next + 1;
    }
    loses_reasoning
}

/// Drops the outputs of calls that are not written: the server refuses an output without its call.
/// Returns true if there was one.
fn drop_lost_outputs(items: &[Value], is_kept: &mut [bool]) -> bool {
    let mut has_dropped = false;
    for call in 0..items.len() {
        if is_kept[call] {
            continue;
        }
        if let Some(output) = place_of_output(items, call) {
            has_dropped |= is_kept[output];
            is_kept[output] = false;
        }
    }
    has_dropped
}

/// Returns the place of the output of a call. A search over tools that the server has run has no
/// id: its output is found by the order of the searches.
fn place_of_output(items: &[Value], call: usize) -> Option<usize> {
    let is_search =
        |item: &Value, kind: &str| item["type"] == kind && item["call_id"].as_str().is_none();
    if !is_search(&items[call], "tool_search_call") {
        return items
            .iter()
            .position(|output| is_output(output, &items[call]));
    }
    let before = items[..call].iter();
    let number = before
        .filter(|item| is_search(item, "tool_search_call"))
        .count();
    let mut outputs =
        (0..items.len()).filter(|output| is_search(&items[*output], "tool_search_output"));
    outputs.nth(number)
}

fn has_output(item: &Value) -> bool {
    item.get("output").is_some_and(|output| !output.is_null())
}

/// Returns true for the item with the output of a call.
fn is_output(item: &Value, call: &Value) -> bool {
    let Some(kind) = text_member(item, "type").strip_suffix("_output") else {
        return false;
    };
    let call_kind = text_member(call, "type");
    let is_of_kind = kind == call_kind || call_kind.strip_suffix("_call") == Some(kind);
    // The output of a local shell has the call's id as its own.
    let ids = ["call_id", "id"].map(|name| text_member(item, name));
    is_of_kind && ids.contains(&text_member(call, "call_id"))
}

/// Returns true for a message that says something.
fn has_text(item: &Value) -> bool {
    let parts = item["content"].as_array().map_or(&[][..], Vec::as_slice);
    let text_of = |part: &Value| {
        ["text", "refusal"]
            .iter()
            .any(|name| !text_member(part, name).trim().is_empty())
    };
    parts.iter().any(text_of) || !text_member(item, "content").trim().is_empty()
}

fn text_member<'v>(item: &'v Value, name: &str) -> &'v str {
    item.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Writes a result as text or parts. There is no mark for an error: its message says so.
fn result_item(kind: &str, id: &str, result: &ModelResult, accepted: &AcceptedParts) -> Value {
    let output = match result.content() {
        Some(parts) => match write_result_parts::<ResponsesInput>(&parts, accepted) {
            written if written.is_empty() => Value::from(""),
            written => written.into(),
        },
        None => Value::from(&*result.text),
    };
    let kind = if kind == CUSTOM_CALL {
        "custom_tool_call_output"
    } else {
        "function_call_output"
    };
    json!({"type": kind, "call_id": id, "output": output})
}
