//! The results and requests.

use crate::providers::codec::{CallIds, ToolAnswer};
use crate::providers::request::{Request, RequestBody, chat_messages, may_not_call, object_arguments, text_of, tools};
use serde_json::{Value, json};
use tool_core::call::ModelResult;
use tool_core::{Content, ToolCall};

/// Writes one message for each result.
pub(crate) fn encode(answers: &[ToolAnswer<'_>], _ids: &CallIds) -> Value {
    answers.iter().map(|answer| result_message(answer.name(), answer.given_id(), &answer.result)).collect()
}

/// Writes the body of a request.
pub(crate) fn request(request: &Request<'_>) -> Value {
    let messages = chat_messages(
        request,
        |text, calls, _| assistant_message(text, calls, request),
        |_, tool, result| result_message(&request.declarations.written_name(tool), "", result),
    );
    // There is no tool choice. Without tools the model cannot call them.
    let has_tools = !may_not_call(request) && !request.declarations.is_empty();
    RequestBody::new(request)
        .with("model", request.model)
        .with("messages", messages)
        .with_some("tools", has_tools.then(|| tools(request)))
        // The default of the server is to stream.
        .with("stream", request.stream)
        .with_some("options", request.max_tokens.map(|most| json!({"num_predict": most})))
        .finish_merged()
}

fn assistant_message(text: Option<&str>, calls: &[ToolCall], request: &Request<'_>) -> Option<Value> {
    if calls.is_empty() {
        return text.map(|text| json!({"role": "assistant", "content": text}));
    }
    let calls = calls.iter().map(|call| {
        let name = request.declarations.written_name(call.name());
        let arguments = object_arguments(call.arguments(), "invalid_arguments");
        json!({"function": {"name": name, "arguments": arguments}})
    });
    let text = text.unwrap_or_default();
    Some(json!({"role": "assistant", "content": text, "tool_calls": calls.collect::<Value>()}))
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
