//! The results and requests.

use crate::providers::codec::{CallIds, ToolAnswer};
use crate::providers::provider::Provider;
use crate::providers::request::{Request, RequestBody, chat_messages, function_call, text_of};
use serde_json::{Value, json};
use std::borrow::Cow;
use tool_core::call::ModelResult;
use tool_core::session::RawTurn;
use tool_core::{Content, ToolCall};

/// Writes one message for each result.
pub(crate) fn encode(answers: &[ToolAnswer<'_>], _ids: &CallIds) -> Value {
    answers.iter().map(|answer| result_message(&answer.wire_id(Cow::Borrowed), &answer.result)).collect()
}

/// Writes the body of a request.
pub(crate) fn request(request: &Request<'_>) -> Value {
    let messages = chat_messages(
        request,
        |text, calls, native| assistant_message(text, calls, native, request),
        |id, _, result| result_message(id, result),
    );
    RequestBody::new(request)
        .with("model", request.model)
        .with("messages", messages)
        .with_tools("NONE", "REQUIRED")
        .with("stream", request.stream)
        .with_some("max_tokens", request.max_tokens)
        .finish()
}

/// Writes the model's message with its plan. Citations are left out, as they point into a text that may have changed.
fn assistant_message(
    text: Option<&str>,
    calls: &[ToolCall],
    native: Option<&RawTurn>,
    request: &Request<'_>,
) -> Option<Value> {
    let mut message = json!({"role": "assistant"});
    if let Some(text) = text {
        message["content"] = text.into();
    }
    if !calls.is_empty() {
        message["tool_calls"] = calls.iter().map(|call| function_call(call.id(), call, request)).collect();
        let native = native.filter(|native| native.provider == Provider::Cohere.id());
        let plan = native.and_then(|native| native.items.iter().find_map(|item| item.get("tool_plan")));
        if let Some(plan) = plan {
            message["tool_plan"] = plan.clone();
        }
    }
    (text.is_some() || !calls.is_empty()).then_some(message)
}

/// Writes a result as text, or as parts of text and documents. There is no mark for an error: its message says so.
fn result_message(id: &str, result: &ModelResult) -> Value {
    let content = match result.content() {
        Some(parts) => parts.iter().map(write_part).collect(),
        None => Value::from(&*result.text),
    };
    json!({"role": "tool", "tool_call_id": id, "content": content})
}

fn write_part(part: &Content) -> Value {
    match part {
        Content::Resource { uri, text: Some(text), .. } => {
            json!({"type": "document", "document": {"id": uri, "data": {"text": text}}})
        }
        part => json!({"type": "text", "text": text_of(part)}),
    }
}
