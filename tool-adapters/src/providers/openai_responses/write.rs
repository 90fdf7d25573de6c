//! Results and requests.

use crate::providers::codec::{CallIds, ToolAnswer, short_id};
use crate::providers::openai_responses::items::{CUSTOM_CALL, call_kind};
use crate::providers::provider::Provider;
use crate::providers::request::{Request, RequestBody, argument_text, text_of};
use serde_json::{Value, json};
use std::collections::HashMap;
use tool_core::call::ModelResult;
use tool_core::session::{Message, RawTurn};
use tool_core::{Content, ToolCall};

/// Writes one item for each result.
pub(crate) fn encode(answers: &[ToolAnswer<'_>], _ids: &CallIds) -> Value {
    let kind = |answer: &ToolAnswer<'_>| answer.call.map_or("", |call| call.kind);
    answers.iter().map(|answer| result_item(kind(answer), &answer.wire_id(short_id), &answer.result)).collect()
}

/// Writes the body of a request.
pub(crate) fn request(request: &Request<'_>) -> Value {
    let instructions = Some(request.instructions).filter(|text| !text.is_empty());
    RequestBody::new(request)
        .with("model", request.model)
        .with_some("instructions", instructions)
        .with("input", input_items(request))
        .with_tools("none", "required")
        .with_some("stream", request.stream.then_some(true))
        .with_some("max_output_tokens", request.max_tokens)
        .finish()
}

fn input_items(request: &Request<'_>) -> Vec<Value> {
    let mut input = Vec::new();
    // The provider's ids and kinds of the calls that are written as they came, by our ids.
    let mut echoed = HashMap::<&str, (String, &str)>::new();
    for message in request.history {
        match message {
            Message::User(text) => input.push(json!({"role": "user", "content": text})),
            Message::Assistant { text, calls, native } => {
                let native = native.as_ref().filter(|native| native.provider == Provider::OpenAiResponses.id());
                match native.and_then(|native| echo(native, calls, request)) {
                    Some((items, ids)) => {
                        echoed.extend(calls.iter().map(ToolCall::id).zip(ids));
                        input.extend(items);
                    }
                    None => input.extend(assistant_items(text.as_deref(), calls, request)),
                }
            }
            Message::Result { call_id, result, .. } => input.push(match echoed.get(call_id.as_str()) {
                Some((id, kind)) => result_item(kind, id, result),
                None => result_item("", &short_id(call_id), result),
            }),
            _ => {}
        }
    }
    input
}

/// Items, and the ids and kinds of their calls.
type EchoedItems = (Vec<Value>, Vec<(String, &'static str)>);

/// Returns the items as they came, with the arguments of the history; `None` if their calls are not those of the history.
fn echo(native: &RawTurn, calls: &[ToolCall], request: &Request<'_>) -> Option<EchoedItems> {
    let (mut items, mut ids) = (native.items.clone(), Vec::new());
    let mut left = calls.iter();
    for item in &mut items {
        let text = |member: &str| item.get(member).and_then(Value::as_str).unwrap_or_default();
        let has_output = item.get("output").is_some_and(|output| !output.is_null());
        let Some(kind) = call_kind(text("type")).filter(|_| !has_output) else { continue };
        let arguments = left.next()?.arguments();
        match kind {
            CUSTOM_CALL => item["input"] = arguments.into(),
            _ => item["arguments"] = argument_text(arguments).into(),
        }
        ids.push((item.get("call_id")?.as_str()?.to_owned(), kind));
    }
    // A provider that does not store the response knows reasoning by its encrypted content only.
    let unstored = request.extra.get("store") == Some(&Value::Bool(false));
    items.retain(|item| !(unstored && item["type"] == "reasoning" && item["encrypted_content"].is_null()));
    left.next().is_none().then_some((items, ids))
}

fn assistant_items(text: Option<&str>, calls: &[ToolCall], request: &Request<'_>) -> Vec<Value> {
    let text = text.map(|text| json!({"role": "assistant", "content": text}));
    let calls = calls.iter().map(|call| {
        let name = request.declarations.written_name(call.name());
        let id = short_id(call.id());
        json!({"type": "function_call", "call_id": id, "name": name, "arguments": argument_text(call.arguments())})
    });
    text.into_iter().chain(calls).collect()
}

/// Writes a result as text or parts. There is no mark for an error: its message says so.
fn result_item(kind: &str, id: &str, result: &ModelResult) -> Value {
    let output = match result.content() {
        Some(parts) => parts.iter().map(write_part).collect(),
        None => Value::from(&*result.text),
    };
    let kind = if kind == CUSTOM_CALL { "custom_tool_call_output" } else { "function_call_output" };
    json!({"type": kind, "call_id": id, "output": output})
}

fn write_part(part: &Content) -> Value {
    match part {
        Content::Image { data, mime_type } => {
            json!({"type": "input_image", "image_url": format!("data:{mime_type};base64,{data}"), "detail": "auto"})
        }
        Content::Resource { uri, text: None, .. } if uri.starts_with("data:") => {
            json!({"type": "input_file", "filename": "resource", "file_data": uri})
        }
        part => json!({"type": "input_text", "text": text_of(part)}),
    }
}
