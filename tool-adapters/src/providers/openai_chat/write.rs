//! Results and requests.

use crate::providers::body::{add_tools, finished, function_call, system};
use crate::providers::codec::Answer;
use crate::providers::event::Request;
use crate::providers::{body, ids};
use serde_json::{Map, Value, json};
use tool_core::ToolCall;
use tool_core::call::ModelResult;
use tool_core::session::Message;

/// The messages that answer calls.
pub(crate) fn encode(answers: &[Answer<'_>]) -> Value {
    answers.iter().map(|answer| result(&answer.conforming_id(ids::openai), &answer.result)).collect()
}

/// The body of a request.
pub(crate) fn request(request: &Request<'_>) -> Value {
    let mut body = Map::new();
    body.insert("model".to_owned(), request.model.into());
    body.insert("messages".to_owned(), messages(request).into());
    add_tools(&mut body, request, ("none", "required"));
    if request.stream {
        body.insert("stream".to_owned(), true.into());
        // Without it a stream does not say what was used.
        body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    }
    if let Some(most) = request.max_tokens {
        body.insert("max_completion_tokens".to_owned(), most.into());
    }
    finished(body, request)
}

fn messages(request: &Request<'_>) -> Vec<Value> {
    let history = request.history.iter().filter_map(|message| match message {
        Message::User(text) => Some(json!({"role": "user", "content": text})),
        Message::Assistant { text, calls, .. } => assistant(text.as_deref(), calls, request),
        Message::Result { call_id, result: told, .. } => Some(result(&ids::openai(call_id), told)),
        _ => None,
    });
    system(request).into_iter().chain(history).collect()
}

fn assistant(text: Option<&str>, calls: &[ToolCall], request: &Request<'_>) -> Option<Value> {
    if calls.is_empty() {
        return text.map(|text| json!({"role": "assistant", "content": text}));
    }
    let calls = calls.iter().map(|call| function_call(&ids::openai(call.id()), call, request));
    Some(json!({"role": "assistant", "content": text, "tool_calls": calls.collect::<Value>()}))
}

/// A result: text, or text parts. There is no mark for an error: its message says so.
fn result(id: &str, result: &ModelResult) -> Value {
    let content = match result.content() {
        Some(_) => {
            let parts = body::texts(result).into_iter().map(|text| json!({"type": "text", "text": text}));
            parts.collect::<Value>()
        }
        None => Value::from(&*result.text),
    };
    json!({"role": "tool", "tool_call_id": id, "content": content})
}
