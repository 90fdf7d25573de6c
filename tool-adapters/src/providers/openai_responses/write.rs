//! Results and requests.

use crate::providers::body::{add_tools, finished, wire_name};
use crate::providers::codec::Answer;
use crate::providers::event::Request;
use crate::providers::openai_responses::read::{CUSTOM, output_of};
use crate::providers::provider::Provider;
use crate::providers::{body, ids};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use tool_core::call::ModelResult;
use tool_core::session::{Message, RawTurn};
use tool_core::{Content, ToolCall};

/// The items that answer calls.
pub(crate) fn encode(answers: &[Answer<'_>]) -> Value {
    let kind = |answer: &Answer<'_>| answer.wire.map_or("", |wire| wire.kind);
    answers.iter().map(|answer| output(kind(answer), &answer.conforming_id(ids::openai), &answer.result)).collect()
}

/// The body of a request.
pub(crate) fn request(request: &Request<'_>) -> Value {
    let mut body = Map::new();
    body.insert("model".to_owned(), request.model.into());
    if !request.instructions.is_empty() {
        body.insert("instructions".to_owned(), request.instructions.into());
    }
    body.insert("input".to_owned(), input(request).into());
    add_tools(&mut body, request, ("none", "required"));
    if request.stream {
        body.insert("stream".to_owned(), true.into());
    }
    if let Some(most) = request.max_tokens {
        body.insert("max_output_tokens".to_owned(), most.into());
    }
    finished(body, request)
}

fn input(request: &Request<'_>) -> Vec<Value> {
    let mut input = Vec::new();
    // The ids and kinds of the calls that were echoed, by ours.
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
                    None => input.extend(plain(text.as_deref(), calls, request)),
                }
            }
            Message::Result { call_id, result, .. } => input.push(match echoed.get(call_id.as_str()) {
                Some((id, kind)) => output(kind, id, result),
                None => output("", &ids::openai(call_id), result),
            }),
            _ => {}
        }
    }
    input
}

type Echo = (Vec<Value>, Vec<(String, &'static str)>);

/// The items as they came, with the arguments of the history, and the ids of their calls; `None` where they are not
/// the history's calls one for one.
fn echo(native: &RawTurn, calls: &[ToolCall], request: &Request<'_>) -> Option<Echo> {
    let (mut items, mut ids) = (native.items.clone(), Vec::new());
    let mut left = calls.iter();
    for item in &mut items {
        let (kind, member) = match item.get("type").and_then(Value::as_str) {
            Some("function_call") => ("", "arguments"),
            Some(CUSTOM) => (CUSTOM, "input"),
            _ => continue,
        };
        item[member] = left.next()?.arguments().into();
        ids.push((item.get("call_id")?.as_str()?.to_owned(), kind));
    }
    // What the provider does not keep it only knows again by its encrypted content.
    let unkept = request.extra.get("store") == Some(&Value::Bool(false));
    items.retain(|item| !(unkept && item["type"] == "reasoning" && item["encrypted_content"].is_null()));
    (left.next().is_none()).then_some((items, ids))
}

fn plain(text: Option<&str>, calls: &[ToolCall], request: &Request<'_>) -> Vec<Value> {
    let text = text.map(|text| json!({"role": "assistant", "content": text}));
    let calls = calls.iter().map(|call| {
        json!({
            "type": "function_call", "call_id": ids::openai(call.id()),
            "name": wire_name(request, call.name()), "arguments": call.arguments(),
        })
    });
    text.into_iter().chain(calls).collect()
}

/// A result: text, or parts. There is no mark for an error: its message says so.
fn output(kind: &str, id: &str, result: &ModelResult) -> Value {
    let output = match result.content() {
        Some(parts) => parts.iter().map(part).collect(),
        None => Value::from(&*result.text),
    };
    json!({"type": output_of(kind), "call_id": id, "output": output})
}

fn part(part: &Content) -> Value {
    match part {
        Content::Image { data, mime_type } => {
            json!({"type": "input_image", "image_url": body::data_url(mime_type, data), "detail": "auto"})
        }
        Content::Resource { uri, text: None, .. } if uri.starts_with("data:") => {
            json!({"type": "input_file", "filename": "resource", "file_data": uri})
        }
        part => json!({"type": "input_text", "text": body::text_of(part)}),
    }
}
