//! The results and requests.

use crate::accepted_parts::AcceptedParts;
use crate::chat_steps::{ChatCall, ChatForm, ChatStep, chat_messages, encode_results};
use crate::codec::{CallIds, ToolAnswer, short_id};
use crate::hosts::Host;
use crate::message_parts::MediaPart;
use crate::part_form::{PartForm, write_parts};
use crate::request::{Request, RequestBody, may_not_call, object_arguments, tools};
use crate::result_files::SplitResult;
use serde_json::{Value, json};
use std::borrow::Cow;
use tool_core::Content;
use tool_core::call::ModelResult;

pub(crate) struct OllamaMessages;

/// Writes one message for each result, and one with their images.
pub(crate) fn encode(answers: &[ToolAnswer<'_>], _ids: &CallIds, host: &Host) -> Value {
    let accepted = host.accepted_parts();
    let message = |answer: &ToolAnswer<'_>| {
        let id = answer.given_id();
        result_message(&answer.name(), id, &answer.result, accepted)
    };
    let results = answers.iter().map(message).collect();
    encode_results::<OllamaMessages>(results, answers, accepted, false)
}

/// The parts before they are joined: texts, and images as objects.
impl PartForm for OllamaMessages {
    fn text(text: &str) -> Value {
        Value::from(text)
    }

    fn image(image: &MediaPart<'_>) -> Option<Value> {
        Some(json!({"image": image.base64()?}))
    }
}

/// Writes the body of a request.
pub(crate) fn request(request: &Request<'_>, host: &Host) -> Value {
    // There is no tool choice. Without tools the model cannot call them.
    let has_tools = !may_not_call(request) && !request.declarations.is_empty();
    RequestBody::new(request)
        .with("model", request.model)
        .with("messages", chat_messages::<OllamaMessages>(request, host))
        .with_some("tools", has_tools.then(|| tools(request)))
        // The default of the server is to stream.
        .with("stream", request.stream)
        .with_some(
            "options",
            request.max_tokens.map(|most| json!({"num_predict": most})),
        )
        .finish_merged()
}

impl ChatForm for OllamaMessages {
    /// Writes the texts as one, and the images beside it.
    fn user(parts: &[Content], accepted: &AcceptedParts) -> Option<Value> {
        let mut texts = Vec::new();
        let mut images = Vec::new();
        for mut part in write_parts::<Self>(parts, accepted) {
            match part.get_mut("image") {
                Some(image) => images.push(image.take()),
                None => texts.extend(part.as_str().map(str::to_owned)),
            }
        }
        if texts.is_empty() && images.is_empty() {
            return None;
        }
        let mut message = json!({"role": "user", "content": texts.join("\n")});
        if !images.is_empty() {
            message["images"] = images.into();
        }
        Some(message)
    }

    fn step(step: &ChatStep<'_>, host: &Host) -> Value {
        let mut message = json!({"role": "assistant", "content": step.text});
        for (name, value) in step.further_members(host) {
            message[name] = value.clone();
        }
        if !step.calls.is_empty() {
            message["tool_calls"] = step.calls.iter().map(write_call).collect();
        }
        message
    }

    fn result(call: &ChatCall<'_>, result: &ModelResult, host: &Host) -> Value {
        let id = if call.given_id().is_empty() {
            ""
        } else {
            &call.id
        };
        result_message(&call.name, id, result, host.accepted_parts())
    }

    fn conforming_id(id: &str) -> Cow<'_, str> {
        short_id(id)
    }
}

/// Writes a call, under its id if the server gave one, with the members that the server sent beside
/// it.
fn write_call(call: &ChatCall<'_>) -> Value {
    let mut written = call.native.clone().unwrap_or_default();
    if !call.given_id().is_empty() {
        written.insert("id".to_owned(), call.id.as_str().into());
    }
    let mut function =
        json!({"name": call.name, "arguments": object_arguments(call.call.arguments())});
    let further = written
        .get("function")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    for (name, value) in further {
        if function.get(&name).is_none() {
            function[name] = value;
        }
    }
    written.insert("function".to_owned(), function);
    written.into()
}

/// Writes a result under the tool's name, and under the call's id if the server gave one.
fn result_message(name: &str, id: &str, result: &ModelResult, accepted: &AcceptedParts) -> Value {
    let content = SplitResult::of(result, accepted).text();
    let mut message = json!({"role": "tool", "tool_name": name, "content": content});
    if !id.is_empty() {
        message["tool_call_id"] = id.into();
    }
    message
}
