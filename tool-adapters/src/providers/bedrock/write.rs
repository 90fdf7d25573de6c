//! Results and requests, in Converse's form.

use crate::providers::body::merged;
use crate::providers::body::text_of;
use crate::providers::codec::Answer;
use crate::providers::event::Request;
use crate::providers::provider::Provider;
use crate::providers::turns::{GONE, Turn, Words, called, exact, turns};
use crate::providers::{body, ids};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use tool_core::Content;
use tool_core::call::ModelResult;
use tool_core::session::ToolChoice;
use tool_core::tool::ProviderId;

struct Blocks;

impl Words for Blocks {
    const NATIVE: ProviderId = Provider::Bedrock.id();

    fn text(text: &str) -> Value {
        json!({"text": text})
    }

    fn call(id: &str, name: &str, input: Map<String, Value>, _nth: usize) -> Value {
        json!({"toolUse": {"toolUseId": id, "name": name, "input": input}})
    }

    fn result(id: &str, _name: &str, result: &ModelResult) -> Value {
        tool_result(id, result)
    }

    fn call_id(item: &Value) -> Option<&str> {
        let call = item.get("toolUse").filter(|call| call.get("type").is_none_or(Value::is_null))?;
        Some(call.get("toolUseId").and_then(Value::as_str).unwrap_or_default())
    }

    fn set_call(item: &mut Value, id: &str, input: Map<String, Value>) {
        if let Some(call) = item.get_mut("toolUse").and_then(Value::as_object_mut) {
            call.insert("toolUseId".to_owned(), id.into());
            call.insert("input".to_owned(), input.into());
        }
    }

    fn echo(item: &Value) -> Option<Value> {
        let blank = |text: &Value| text.as_str().is_some_and(|text| text.trim().is_empty());
        (!item.get("text").is_some_and(blank)).then(|| item.clone())
    }

    fn is_text(item: &Value) -> bool {
        item.get("text").is_some()
    }

    fn id(id: &str) -> Cow<'_, str> {
        // Its models are pickier than it is: no `.`, no `:`.
        ids::anthropic(id)
    }
}

/// One message with all results of a step.
pub(crate) fn results(answers: &[Answer<'_>]) -> Value {
    let results = answers.iter().map(|answer| tool_result(&answer.conforming_id(ids::anthropic), &answer.result));
    json!({"role": "user", "content": results.collect::<Vec<_>>()})
}

fn tool_result(id: &str, result: &ModelResult) -> Value {
    let content = match result.content() {
        Some(parts) => parts.iter().filter_map(part).collect(),
        None => data(result).into_iter().collect::<Vec<_>>(),
    };
    // Blank texts are refused, and so is nothing at all.
    let content = if content.is_empty() { vec![json!({"json": {}})] } else { content };
    let mut block = json!({"toolUseId": id, "content": content});
    if let (true, Some(block)) = (result.is_error, block.as_object_mut()) {
        block.insert("status".to_owned(), "error".into());
    }
    json!({"toolResult": block})
}

/// Objects as they are, all else as its text.
fn data(result: &ModelResult) -> Option<Value> {
    if result.text.trim().is_empty() {
        return None;
    }
    let object = exact(&result.text, u64::MAX).filter(Value::is_object);
    Some(object.map_or_else(|| json!({"text": result.text}), |object| json!({"json": object})))
}

fn part(part: &Content) -> Option<Value> {
    if let Content::Image { data, mime_type } = part
        && let Some(format) = format(mime_type)
    {
        return Some(json!({"image": {"format": format, "source": {"bytes": data}}}));
    }
    Some(text_of(part)).filter(|text| !text.trim().is_empty()).map(|text| json!({"text": text}))
}

fn format(mime_type: &str) -> Option<&str> {
    let format = mime_type.strip_prefix("image/")?;
    ["png", "jpeg", "gif", "webp"].contains(&format).then_some(format)
}

/// The body of a request; the model stands in its address. There is no word for "no calls": those that come
/// nevertheless are ignored. L19
pub(crate) fn request(request: &Request<'_>) -> Value {
    let mut body = Map::new();
    body.insert("messages".to_owned(), turns::<Blocks>(request).into_iter().map(message).collect());
    if !request.instructions.trim().is_empty() {
        body.insert("system".to_owned(), json!([{"text": request.instructions}]));
    }
    if let Some(most) = request.max_tokens {
        body.insert("inferenceConfig".to_owned(), json!({"maxTokens": most}));
    }
    body.extend(tools(request).map(|config| ("toolConfig".to_owned(), config)));
    merged(body, request)
}

fn message(Turn { model, content, .. }: Turn) -> Value {
    json!({"role": if model { "assistant" } else { "user" }, "content": Value::Array(content)})
}

/// Calls and results are refused without a `toolConfig`, so the tools of the past are in it where there are none now.
fn tools(request: &Request<'_>) -> Option<Value> {
    if request.declarations.is_empty() {
        let schema = json!({"json": {"type": "object", "properties": {}}});
        let known = called(request).into_iter();
        let known = known.map(|name| json!({"toolSpec": {"name": name, "description": GONE, "inputSchema": schema}}));
        let known = known.collect::<Vec<_>>();
        return (!known.is_empty()).then(|| json!({"tools": known}));
    }
    let mut config = json!({"tools": body::tools(request)});
    if let (ToolChoice::Required, Some(config)) = (request.tool_choice, config.as_object_mut()) {
        config.insert("toolChoice".to_owned(), json!({"any": {}}));
    }
    Some(config)
}
