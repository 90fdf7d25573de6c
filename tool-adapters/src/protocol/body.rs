//! What the bodies of requests share.

use super::Request;
use serde_json::{Map, Value};
use tool_core::runtime::ToolChoice;

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

/// The body with what the declarations and then what the caller says in the provider's own words, at its top level.
pub(super) fn finished(mut body: Map<String, Value>, request: &Request<'_>) -> Value {
    for (key, value) in request.declarations.settings().iter().chain(request.extra) {
        body.insert(key.clone(), value.clone());
    }
    Value::Object(body)
}
