//! Results and requests, in Gemini's form.

use crate::providers::body::merged;
use crate::providers::codec::Answer;
use crate::providers::event::Request;
use crate::providers::provider::Provider;
use crate::providers::turns::{Turn, Words, exact, turns};
use crate::providers::{body, protocol};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use tool_core::Content;
use tool_core::call::ModelResult;
use tool_core::session::ToolChoice;
use tool_core::tool::ProviderId;

/// What stands in the place of the signature of a call that no model of this provider made: newer ones refuse the
/// first call of a step without.
const UNSIGNED: &str = "skip_thought_signature_validator";

struct Parts;

impl Words for Parts {
    const NATIVE: ProviderId = Provider::Gemini.id();
    const RESULTS_APART: bool = true;
    const IDS: bool = false;

    fn text(text: &str) -> Value {
        json!({"text": text})
    }

    fn call(_id: &str, name: &str, input: Map<String, Value>, nth: usize) -> Value {
        let call = json!({"name": name, "args": input});
        match nth {
            0 => json!({"functionCall": call, "thoughtSignature": UNSIGNED}),
            _ => json!({"functionCall": call}),
        }
    }

    fn result(id: &str, name: &str, result: &ModelResult) -> Value {
        json!({"functionResponse": function_response(id, name, result)})
    }

    fn call_id(item: &Value) -> Option<&str> {
        let call = member(item, "functionCall", "function_call")?;
        Some(call.get("id").and_then(Value::as_str).unwrap_or_default())
    }

    fn set_call(item: &mut Value, id: &str, input: Map<String, Value>) {
        let key = if item.get("functionCall").is_some() { "functionCall" } else { "function_call" };
        if let Some(call) = item.get_mut(key).and_then(Value::as_object_mut) {
            call.insert("args".to_owned(), input.into());
            if !id.is_empty() {
                call.insert("id".to_owned(), id.into());
            }
        }
    }

    fn echo(item: &Value) -> Option<Value> {
        let empty = item.as_object()?.is_empty()
            || item.get("text").is_some_and(|text| text == "")
                && member(item, "thoughtSignature", "thought_signature").is_none();
        (!empty).then(|| item.clone())
    }

    fn is_text(item: &Value) -> bool {
        item.get("text").is_some()
    }

    fn id(id: &str) -> Cow<'_, str> {
        Cow::Borrowed(id)
    }
}

fn member<'a>(item: &'a Value, camel: &str, snake: &str) -> Option<&'a Value> {
    item.get(camel).or_else(|| item.get(snake)).filter(|value| !value.is_null())
}

/// One content with all results of a step.
pub(crate) fn results(answers: &[Answer<'_>]) -> Value {
    let results = answers.iter().map(|answer| {
        let id = answer.wire.map(|wire| wire.id.as_str()).unwrap_or_default();
        Parts::result(id, answer.name(), &answer.result)
    });
    json!({"role": "user", "parts": results.collect::<Vec<_>>()})
}

/// The body of a request; the model stands in its address.
pub(crate) fn request(request: &Request<'_>) -> Value {
    let mut body = Map::new();
    body.insert("contents".to_owned(), turns::<Parts>(request).into_iter().map(content).collect());
    body.extend(instruction(request));
    if let Some(most) = request.max_tokens {
        body.insert("generationConfig".to_owned(), json!({"maxOutputTokens": most}));
    }
    if !request.declarations.is_empty() {
        body.insert("tools".to_owned(), body::tools(request));
        let mode = match request.tool_choice {
            ToolChoice::None => Some("NONE"),
            ToolChoice::Required => Some("ANY"),
            _ => None,
        };
        if let Some(mode) = mode.filter(|_| has_functions(request)) {
            body.insert("toolConfig".to_owned(), json!({"functionCallingConfig": {"mode": mode}}));
        }
    }
    merged(body, request)
}

/// The system instruction, where there is one.
pub(crate) fn instruction(request: &Request<'_>) -> Option<(String, Value)> {
    let text = Some(request.instructions).filter(|text| !text.trim().is_empty())?;
    Some(("systemInstruction".to_owned(), json!({"parts": [{"text": text}]})))
}

/// Whether there are functions among the tools: without, there is no choice of them.
fn has_functions(request: &Request<'_>) -> bool {
    request.declarations.report().tools.iter().any(|tool| tool.declared_as.is_some())
}

/// A turn; what the model said in pieces is one text again. Signed pieces stay by themselves.
fn content(turn: Turn) -> Value {
    let mut parts = Vec::<Value>::new();
    for part in turn.content {
        match parts.last_mut().filter(|last| turn.model && goes_on(last, &part)) {
            Some(Value::Object(last)) => {
                let piece = part.get("text").and_then(Value::as_str).unwrap_or_default();
                if let Some(Value::String(text)) = last.get_mut("text") {
                    text.push_str(piece);
                }
            }
            _ => parts.push(part),
        }
    }
    json!({"role": if turn.model { "model" } else { "user" }, "parts": parts})
}

/// Whether both are texts, or both thoughts, and nothing else.
fn goes_on(before: &Value, after: &Value) -> bool {
    let thought = |part: &Value| {
        let part = part.as_object().filter(|part| part.contains_key("text"))?;
        let plain = part.keys().all(|key| key == "text" || key == "thought");
        plain.then(|| part.get("thought").and_then(Value::as_bool).unwrap_or_default())
    };
    thought(before).is_some() && thought(before) == thought(after)
}

// ---- Results, in Gemini's form.

/// The largest whole number that Gemini keeps: its objects hold doubles.
const MOST: u64 = 1 << 53;

/// The media that a result may show.
const MEDIA: [&str; 3] = ["image/png", "image/jpeg", "image/webp"];

/// A result under the id that the provider gave, where it gave one.
pub(crate) fn function_response(id: &str, name: &str, result: &ModelResult) -> Map<String, Value> {
    let mut response = Map::new();
    if !id.is_empty() {
        response.insert("id".to_owned(), id.into());
    }
    response.insert("name".to_owned(), name.into());
    let (media, rest) = match result.content() {
        Some(parts) => parts.into_iter().partition(is_media),
        None => (Vec::new(), Vec::new()),
    };
    let told = if result.parts {
        let texts = rest.iter().map(body::text_of).filter(|text| !text.is_empty());
        Value::from(texts.collect::<Vec<_>>().join(
            "
",
        ))
    } else {
        value(result)
    };
    let member = if result.is_error { "error" } else { "output" };
    response.insert("response".to_owned(), json!({member: told}));
    if !media.is_empty() {
        response.insert("parts".to_owned(), media.into_iter().map(inline).collect());
    }
    response
}

/// The data as a value where it keeps its digits, otherwise as its text. An error's message stays text.
fn value(result: &ModelResult) -> Value {
    let is_data = !result.is_error || result.text.starts_with('{');
    let value = Some(&result.text).filter(|_| is_data).and_then(|text| exact(text, MOST));
    value.map_or_else(|| Value::from(result.text.as_str()), escaped)
}

fn is_media(part: &Content) -> bool {
    matches!(part, Content::Image { mime_type, .. } if MEDIA.contains(&mime_type.as_str()))
}

fn inline(part: Content) -> Value {
    match part {
        Content::Image { data, mime_type } => json!({"inlineData": {"mimeType": mime_type, "data": data}}),
        other => json!({"text": body::text_of(&other)}),
    }
}

/// With one `$` more at keys that are `$ref`: the API takes them for references to media, and refuses them.
fn escaped(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let key = |key: String| {
                if key.trim_start_matches('$') == "ref" && key != "ref" { format!("${key}") } else { key }
            };
            members.into_iter().map(|(name, value)| (key(name), escaped(value))).collect()
        }
        Value::Array(items) => items.into_iter().map(escaped).collect(),
        other => other,
    }
}
