//! Results and requests.

use crate::providers::codec::{CallIds, ToolAnswer, short_id};
use crate::providers::request::{self, Request, RequestBody, chat_messages, function_call};
use serde_json::{Value, json};
use tool_core::ToolCall;
use tool_core::call::ModelResult;

/// Writes one message for each result.
pub(crate) fn encode(answers: &[ToolAnswer<'_>], _ids: &CallIds) -> Value {
    answers.iter().map(|answer| result_message(&answer.wire_id(short_id), &answer.result)).collect()
}

/// Writes the body of a request.
pub(crate) fn request(request: &Request<'_>) -> Value {
    let messages = chat_messages(
        request,
        |text, calls, _| assistant_message(text, calls, request),
        |id, _, result| result_message(&short_id(id), result),
    );
    // Without the option a stream does not report its usage.
    let stream_options = request.stream.then(|| json!({"include_usage": true}));
    RequestBody::new(request)
        .with("model", request.model)
        .with("messages", messages)
        .with_tools("none", "required")
        .with_some("stream", request.stream.then_some(true))
        .with_some("stream_options", stream_options)
        .with_some("max_completion_tokens", request.max_tokens)
        .finish()
}

fn assistant_message(text: Option<&str>, calls: &[ToolCall], request: &Request<'_>) -> Option<Value> {
    if calls.is_empty() {
        return text.map(|text| json!({"role": "assistant", "content": text}));
    }
    let calls = calls.iter().map(|call| function_call(&short_id(call.id()), call, request));
    Some(json!({"role": "assistant", "content": text, "tool_calls": calls.collect::<Value>()}))
}

/// Writes a result as text or text parts. There is no mark for an error: its message says so.
fn result_message(id: &str, result: &ModelResult) -> Value {
    let content = match result.content() {
        Some(_) => request::texts(result).into_iter().map(|text| json!({"type": "text", "text": text})).collect(),
        None => Value::from(&*result.text),
    };
    json!({"role": "tool", "tool_call_id": id, "content": content})
}
