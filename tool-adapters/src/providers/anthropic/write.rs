//! Results and requests, in Anthropic's form.

use crate::providers::body::text_of;
use crate::providers::codec::Answer;
use crate::providers::event::Request;
use crate::providers::provider::Provider;
use crate::providers::turns::{GONE, Turn, Words, called, turns};
use crate::providers::{body, ids};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use tool_core::Content;
use tool_core::call::ModelResult;
use tool_core::session::ToolChoice;
use tool_core::tool::ProviderId;

/// The tokens that an answer may have where the request does not say: it has to.
const MAX_TOKENS: u32 = 8192;

/// The kinds of images that are shown.
const IMAGES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

struct Blocks;

impl Words for Blocks {
    const NATIVE: ProviderId = Provider::Anthropic.id();

    fn text(text: &str) -> Value {
        json!({"type": "text", "text": text})
    }

    fn call(id: &str, name: &str, input: Map<String, Value>, _nth: usize) -> Value {
        json!({"type": "tool_use", "id": id, "name": name, "input": input})
    }

    fn result(id: &str, _name: &str, result: &ModelResult) -> Value {
        tool_result(id, result)
    }

    fn call_id(item: &Value) -> Option<&str> {
        (kind(item) == "tool_use").then(|| item.get("id").and_then(Value::as_str).unwrap_or_default())
    }

    fn set_call(item: &mut Value, id: &str, input: Map<String, Value>) {
        if let Some(item) = item.as_object_mut() {
            item.insert("id".to_owned(), id.into());
            item.insert("input".to_owned(), input.into());
        }
    }

    fn echo(item: &Value) -> Option<Value> {
        let says = |member: &str| item.get(member).and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty());
        match kind(item) {
            "text" if !says("text") => None,
            // Cut off before it was signed: the provider would refuse it.
            "thinking" if !says("signature") => None,
            _ => Some(item.clone()),
        }
    }

    fn is_text(item: &Value) -> bool {
        kind(item) == "text"
    }

    fn id(id: &str) -> Cow<'_, str> {
        ids::anthropic(id)
    }
}

fn kind(item: &Value) -> &str {
    item.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// One message with all results of a step.
pub(crate) fn results(answers: &[Answer<'_>]) -> Value {
    let results = answers.iter().map(|answer| tool_result(&answer.conforming_id(ids::anthropic), &answer.result));
    json!({"role": "user", "content": results.collect::<Vec<_>>()})
}

fn tool_result(id: &str, result: &ModelResult) -> Value {
    let mut block = Map::from_iter([("type".to_owned(), "tool_result".into()), ("tool_use_id".to_owned(), id.into())]);
    let content = match result.content() {
        Some(parts) => parts.iter().filter_map(part).collect::<Vec<_>>().into(),
        // An error has to say something.
        None if result.is_error && result.text.trim().is_empty() => Value::from("The call failed."),
        None => Value::from(result.text.as_str()),
    };
    // Left out rather than empty: blocks without text are refused.
    if content != json!("") && content != json!([]) {
        block.insert("content".to_owned(), content);
    }
    if result.is_error {
        block.insert("is_error".to_owned(), true.into());
    }
    Value::Object(block)
}

fn part(part: &Content) -> Option<Value> {
    let source = |data: &str, mime_type: &str| json!({"type": "base64", "media_type": mime_type, "data": data});
    Some(match part {
        Content::Image { data, mime_type } if IMAGES.contains(&mime_type.as_str()) => {
            json!({"type": "image", "source": source(data, mime_type)})
        }
        Content::Image { data, mime_type } if mime_type == "application/pdf" => {
            json!({"type": "document", "source": source(data, mime_type)})
        }
        Content::Resource { uri, text: Some(text), .. } if !text.trim().is_empty() => {
            let title = uri.chars().take(500).collect::<String>();
            json!({"type": "document", "title": title, "source": {
                "type": "text", "media_type": "text/plain", "data": text,
            }})
        }
        part => Some(text_of(part)).filter(|text| !text.trim().is_empty()).map(|text| Blocks::text(&text))?,
    })
}

/// The body of a request.
pub(crate) fn request(request: &Request<'_>) -> Value {
    let messages = turns::<Blocks>(request).into_iter().map(message).collect::<Vec<_>>();
    let mut body = Map::from_iter([
        ("model".to_owned(), request.model.into()),
        ("max_tokens".to_owned(), request.max_tokens.unwrap_or(MAX_TOKENS).into()),
        ("messages".to_owned(), messages.into()),
    ]);
    if !request.instructions.trim().is_empty() {
        body.insert("system".to_owned(), request.instructions.into());
    }
    if request.stream {
        body.insert("stream".to_owned(), true.into());
    }
    if request.declarations.is_empty() {
        body.extend(tools_of_the_past(request));
    } else {
        body.insert("tools".to_owned(), body::tools(request));
        let choice = match request.tool_choice {
            ToolChoice::None => Some("none"),
            ToolChoice::Required => Some("any"),
            _ => None,
        };
        body.extend(choice.map(|choice| ("tool_choice".to_owned(), json!({"type": choice}))));
    }
    body::finished(body, request)
}

fn message(Turn { model, content, .. }: Turn) -> Value {
    json!({"role": if model { "assistant" } else { "user" }, "content": Value::Array(content)})
}

/// Calls and results are refused without tools.
fn tools_of_the_past(request: &Request<'_>) -> Map<String, Value> {
    let schema = json!({"type": "object", "properties": {}});
    let known = called(request).into_iter();
    let known =
        known.map(|name| json!({"name": name, "description": GONE, "input_schema": schema})).collect::<Vec<_>>();
    if known.is_empty() {
        return Map::new();
    }
    Map::from_iter([("tools".to_owned(), known.into()), ("tool_choice".to_owned(), json!({"type": "none"}))])
}
