//! The results and requests.

use crate::chat_steps::{ChatCall, ChatForm, ChatStep, chat_messages};
use crate::codec::{CallIds, ToolAnswer, short_id};
use crate::hosts::Host;
use crate::openai_chat::write::write_call;
use crate::request::{Request, RequestBody, text_of};
use serde_json::{Value, json};
use std::borrow::Cow;
use tool_core::Content;
use tool_core::call::ModelResult;

struct CohereMessages;

/// Writes one message for each result.
pub(crate) fn encode(answers: &[ToolAnswer<'_>], _ids: &CallIds) -> Value {
    answers
        .iter()
        .map(|answer| result_message(&answer.wire_id(short_id), &answer.result))
        .collect()
}

/// Writes the body of a request.
pub(crate) fn request(request: &Request<'_>, host: &Host) -> Value {
    RequestBody::new(request)
        .with("model", request.model)
        .with("messages", chat_messages::<CohereMessages>(request, host))
        .with_tools("NONE", "REQUIRED")
        .with("stream", request.stream)
        .with_some("max_tokens", request.max_tokens)
        .finish()
}

impl ChatForm for CohereMessages {
    /// Writes the model's message with its plan and its thoughts. Citations are left out, as the provider knows none in a
    /// message whose text has changed.
    fn step(step: &ChatStep<'_>, host: &Host) -> Value {
        let mut message = json!({"role": "assistant"});
        if let Some(parts) = step.content_parts(&["text", "thinking"]) {
            message["content"] = parts.into();
        } else if let Some(text) = step.some_text() {
            message["content"] = text.into();
        }
        if !step.calls.is_empty() {
            message["tool_calls"] = step
                .calls
                .iter()
                .map(|call| write_call(call, host))
                .collect();
        }
        // A plan is about calls.
        let plan = step
            .further_members(host)
            .find(|(name, _)| *name == "tool_plan");
        if let Some((name, plan)) = plan.filter(|_| !step.calls.is_empty()) {
            message[name] = plan.clone();
        }
        message
    }

    fn result(call: &ChatCall<'_>, result: &ModelResult, _host: &Host) -> Value {
        result_message(&call.id, result)
    }

    fn conforming_id(id: &str) -> Cow<'_, str> {
        short_id(id)
    }
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
        Content::Resource {
            uri,
            text: Some(text),
            ..
        } => {
            json!({"type": "document", "document": {"id": uri, "data": {"text": text}}})
        }
        part => json!({"type": "text", "text": text_of(part)}),
    }
}
