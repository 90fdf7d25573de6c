//! What the bodies of requests share.

use super::Request;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use tool_core::ToolCall;
use tool_core::session::ToolChoice;

/// The tools, as a value.
pub(super) fn tools(request: &Request<'_>) -> Value {
    serde_json::from_str(request.declarations.json().get()).unwrap_or_default()
}

/// Adds the tools under `tools`, and under `tool_choice` whether to call them, in the provider's `words` for none and
/// required. No tools: neither.
pub(super) fn add_tools(body: &mut Map<String, Value>, request: &Request<'_>, words: (&str, &str)) {
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
pub(super) fn system(request: &Request<'_>) -> Option<Value> {
    let text = Some(request.instructions).filter(|text| !text.is_empty())?;
    Some(json!({"role": "system", "content": text}))
}

/// The name that the provider knows a tool by, or one that it takes: a name that a model made up would be refused.
pub(super) fn wire_name<'a>(request: &Request<'a>, tool: &'a str) -> Cow<'a, str> {
    request.declarations.written_name(tool)
}

/// A call of the history in the form of Chat Completions, which others took over.
pub(super) fn function_call(id: &str, call: &ToolCall, request: &Request<'_>) -> Value {
    let name = wire_name(request, call.name());
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": call.arguments()}})
}

/// Arguments for providers that take an object. What the model sent instead of one stands in one, so that it can be
/// told what was wrong with it.
pub(super) fn object_arguments(arguments: &str) -> Value {
    match serde_json::from_str(arguments) {
        Ok(Value::Object(arguments)) => Value::Object(arguments),
        _ if arguments.trim_ascii().is_empty() => json!({}),
        _ => json!({"invalid_arguments": arguments}),
    }
}

/// The body with what the declarations and then what the caller says in the provider's own words, at its top level.
pub(super) fn finished(mut body: Map<String, Value>, request: &Request<'_>) -> Value {
    for (key, value) in request.declarations.settings().iter().chain(request.extra) {
        body.insert(key.clone(), value.clone());
    }
    Value::Object(body)
}
