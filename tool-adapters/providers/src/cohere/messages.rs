//! The results and requests.

use crate::accepted_parts::AcceptedParts;
use crate::chat_steps::{ChatCall, ChatForm, ChatStep, chat_messages, encode_results};
use crate::codec::{CallIds, ToolAnswer, short_id};
use crate::hosts::Host;
use crate::message_parts::{MediaPart, MessagePart, read_result_part};
use crate::openai_chat::write::write_call;
use crate::part_form::PartForm;
use crate::request::{Request, RequestBody};
use crate::result_files::pointer;
use serde_json::{Value, json};
use std::borrow::Cow;
use tool_core::Content;
use tool_core::call::ModelResult;

pub(crate) struct CohereMessages;

/// Writes one message for each result, and one with their images.
pub(crate) fn encode(answers: &[ToolAnswer<'_>], _ids: &CallIds, host: &Host) -> Value {
    let accepted = host.accepted_parts();
    let message = |answer: &ToolAnswer<'_>| {
        let id = answer.wire_id(short_id);
        result_message(&id, &answer.result, accepted)
    };
    let results = answers.iter().map(message).collect();
    encode_results::<CohereMessages>(results, answers, accepted, false)
}

impl PartForm for CohereMessages {
    fn text(text: &str) -> Value {
        json!({"type": "text", "text": text})
    }

    fn image(image: &MediaPart<'_>) -> Option<Value> {
        Some(json!({"type": "image_url", "image_url": {"url": image.url()}}))
    }
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
    /// Writes the model's message with its plan and its thoughts. Citations are left out, as the
    /// provider knows none in a message whose text has changed.
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

    fn result(call: &ChatCall<'_>, result: &ModelResult, host: &Host) -> Value {
        result_message(&call.id, result, host.accepted_parts())
    }

    fn conforming_id(id: &str) -> Cow<'_, str> {
        short_id(id)
    }
}

/// Writes a result as text, or as parts of text and documents. There is no mark for an error: its
/// message says so.
fn result_message(id: &str, result: &ModelResult, accepted: &AcceptedParts) -> Value {
    let content = match result.content() {
        // An empty list of parts is refused.
        Some(parts) if parts.is_empty() => Value::from(""),
        Some(parts) => parts
            .iter()
            .map(|part| write_part(part, accepted))
            .collect(),
        None => Value::from(&*result.text),
    };
    json!({"role": "tool", "tool_call_id": id, "content": content})
}

fn write_part(part: &Content, accepted: &AcceptedParts) -> Value {
    match read_result_part(part, accepted) {
        MessagePart::TextFile(file) => {
            json!({"type": "document", "document": {"id": file.name, "data": {"text": file.text}}})
        }
        MessagePart::Text(text) => CohereMessages::text(&text),
        MessagePart::Media(media) => CohereMessages::text(&pointer(&media)),
    }
}
