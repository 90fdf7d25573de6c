//! The results and requests.

use crate::chat_steps::{ChatCall, ChatForm, ChatStep, chat_messages};
use crate::codec::{CallIds, ToolAnswer, short_id};
use crate::hosts::Host;
use crate::request::{Request, RequestBody, may_not_call, object_arguments, text_of, tools};
use serde_json::{Value, json};
use std::borrow::Cow;
use tool_core::Content;
use tool_core::call::ModelResult;

struct OllamaMessages;

/// Writes one message for each result.
pub(crate) fn encode(answers: &[ToolAnswer<'_>], _ids: &CallIds) -> Value {
    answers
        .iter()
        .map(|answer| result_message(&answer.name(), answer.given_id(), &answer.result))
        .collect()
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

    fn result(call: &ChatCall<'_>, result: &ModelResult, _host: &Host) -> Value {
        let id = if call.given_id().is_empty() {
            ""
        } else {
            &call.id
        };
        result_message(&call.name, id, result)
    }

    fn conforming_id(id: &str) -> Cow<'_, str> {
        short_id(id)
    }
}

/// Writes a call, under its id if the server gave one, with the members that the server sent beside it.
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

/// Writes a result under the tool's name, and under the call's id if the server gave one. Images stand beside the text.
fn result_message(name: &str, id: &str, result: &ModelResult) -> Value {
    let (mut texts, mut images) = (Vec::new(), Vec::new());
    match result.content() {
        None => texts.push(result.text.clone()),
        Some(parts) => parts.into_iter().for_each(|part| match part {
            Content::Image { data, .. } => images.push(data),
            part => texts.push(text_of(&part)),
        }),
    }
    let mut message = json!({"role": "tool", "tool_name": name, "content": texts.join("\n")});
    if !id.is_empty() {
        message["tool_call_id"] = id.into();
    }
    if !images.is_empty() {
        message["images"] = images.into();
    }
    message
}
