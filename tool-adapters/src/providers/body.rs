//! What the bodies of requests share.

use crate::providers::event::Request;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use tool_core::call::ModelResult;
use tool_core::session::ToolChoice;
use tool_core::{Content, ToolCall};

/// The tools, as a value.
pub(crate) fn tools(request: &Request<'_>) -> Value {
    serde_json::from_str(request.declarations.json().get()).unwrap_or_default()
}

/// Adds the tools under `tools`, and under `tool_choice` whether to call them, in the provider's `words` for none and
/// required. No tools: neither.
pub(crate) fn add_tools(body: &mut Map<String, Value>, request: &Request<'_>, words: (&str, &str)) {
    if request.declarations.is_empty() {
        return;
    }
    body.insert("tools".to_owned(), tools(request));
    let choice = match request.tool_choice {
        ToolChoice::None => words.0,
        ToolChoice::Required => words.1,
        _ => return,
    };
    body.insert("tool_choice".to_owned(), choice.into());
}

/// The system instruction as the message that most providers take it as.
pub(crate) fn system(request: &Request<'_>) -> Option<Value> {
    let text = Some(request.instructions).filter(|text| !text.is_empty())?;
    Some(json!({"role": "system", "content": text}))
}

/// The name that the provider knows a tool by, or one that it takes: a name that a model made up would be refused.
pub(crate) fn wire_name<'a>(request: &Request<'a>, tool: &'a str) -> Cow<'a, str> {
    request.declarations.written_name(tool)
}

/// A call of the history in the form of Chat Completions, which others took over.
pub(crate) fn function_call(id: &str, call: &ToolCall, request: &Request<'_>) -> Value {
    let name = wire_name(request, call.name());
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": call.arguments()}})
}

/// Arguments for providers that take an object. What the model sent instead of one stands in one, so that it can be
/// told what was wrong with it.
pub(crate) fn object_arguments(arguments: &str) -> Value {
    match serde_json::from_str(arguments) {
        Ok(Value::Object(arguments)) => Value::Object(arguments),
        _ if arguments.trim_ascii().is_empty() => json!({}),
        _ => json!({"invalid_arguments": arguments}),
    }
}

/// The body with what the declarations and then what the caller says in the provider's own words, at its top level.
pub(crate) fn finished(mut body: Map<String, Value>, request: &Request<'_>) -> Value {
    for (key, value) in request.declarations.settings().iter().chain(request.extra) {
        body.insert(key.clone(), value.clone());
    }
    Value::Object(body)
}

// ---- Settings laid over the body of a request whose settings are nested.

/// The body with what the declarations and then what the caller says in the provider's own words. Objects are merged,
/// member by member: what comes later wins.
pub(crate) fn merged(mut body: Map<String, Value>, request: &Request<'_>) -> Value {
    merge(&mut body, request.declarations.settings());
    merge(&mut body, request.extra);
    Value::Object(body)
}

fn merge(into: &mut Map<String, Value>, from: &Map<String, Value>) {
    for (key, value) in from {
        match (into.get_mut(key), value) {
            (Some(Value::Object(into)), Value::Object(from)) => merge(into, from),
            _ => {
                into.insert(key.clone(), value.clone());
            }
        }
    }
}

// ---- Results, as providers take them that know text only.

/// A result as texts: one for each part, or the whole. What is no text is named, never left out in silence.
pub(crate) fn texts(result: &ModelResult) -> Vec<String> {
    match result.content() {
        Some(parts) => parts.iter().map(text_of).collect(),
        None => vec![result.text.clone()],
    }
}

/// A result as one text.
pub(crate) fn text(result: &ModelResult) -> String {
    match result.content() {
        Some(parts) => parts.iter().map(text_of).collect::<Vec<_>>().join("\n"),
        None => result.text.clone(),
    }
}

/// A part as text.
pub(crate) fn text_of(part: &Content) -> String {
    match part {
        Content::Text { text } | Content::Resource { text: Some(text), .. } => text.clone(),
        Content::Resource { uri, mime_type: Some(mime_type), .. } => format!("[resource {uri} ({mime_type})]"),
        Content::Resource { uri, .. } => format!("[resource {uri}]"),
        part => left_out(part),
    }
}

/// What stands in the place of a part that cannot be shown.
pub(crate) fn left_out(part: &Content) -> String {
    let (kind, mime_type) = match part {
        Content::Image { mime_type, .. } => ("image", mime_type.as_str()),
        Content::Audio { mime_type, .. } => ("audio", mime_type.as_str()),
        _ => return "[a part that cannot be shown was left out]".to_owned(),
    };
    format!("[{kind} ({mime_type}) left out: it cannot be shown here]")
}

/// A data URL.
pub(crate) fn data_url(mime_type: &str, base64: &str) -> String {
    format!("data:{mime_type};base64,{base64}")
}
