//! The reader of answers and chunks, and the results and requests.

use crate::providers::chat_steps::{ChatCall, ChatForm, ChatStep, chat_messages};
use crate::providers::codec::{CallIds, EventSink, MessageReader, ResponseOrigin, ToolAnswer, WireCall, short_id};
use crate::providers::event::{Event, Finish, ProtocolError};
use crate::providers::hosts::Host;
use crate::providers::json_reader::json_objects;
use crate::providers::lenient::{LenientCount, LenientObject, LenientObjects, LenientText, parse_object};
use crate::providers::openai_chat::messages::CallEntry;
use crate::providers::partial_calls::PartialCalls;
use crate::providers::request::{Request, RequestBody, may_not_call, object_arguments, text_of, tools};
use serde_json::{Value, json};
use std::borrow::Cow;
use tool_core::Content;
use tool_core::call::ModelResult;
use tool_core::trace::TokenUsage;

/// Reads Ollama's chat.
#[derive(Debug, Default)]
pub(crate) struct OllamaReader {
    calls: PartialCalls<usize>,
    /// The number of calls in the message.
    count: usize,
    origin: ResponseOrigin,
    begun: bool,
}

json_objects! {
    struct Line<'a> {
        model: LenientText<'a>,
        message: LenientObject<LineMessage<'a>>,
        done: LenientText<'a>,
        done_reason: LenientText<'a>,
        prompt_eval_count: LenientCount,
        eval_count: LenientCount,
    }

    struct LineMessage<'a> {
        content: LenientText<'a>,
        thinking: LenientText<'a>,
        tool_calls: LenientObjects<CallEntry<'a>>,
    }
}

impl MessageReader for OllamaReader {
    fn read(&mut self, _name: &str, text: &str, sink: &mut EventSink<'_>) -> serde_json::Result<()> {
        let Some(line) = parse_object::<Line<'_>>(text)?.filter(|line| line.message.is_some() || line.done.is_true())
        else {
            return sink.error_or_unknown(text);
        };
        self.begun = true;
        self.origin.emit("", line.model.as_str(), sink);
        if let Some(message) = &*line.message {
            sink.reasoning(message.thinking.as_str());
            sink.text(message.content.as_str());
            for entry in message.tool_calls.iter() {
                self.read_call(entry, sink);
            }
        }
        if line.done.is_true() {
            self.end(&line, sink);
        }
        Ok(())
    }

    fn finish(&mut self, sink: &mut EventSink<'_>) {
        if std::mem::take(self).begun {
            sink.error(ProtocolError::Truncated { call_id: None });
        }
    }
}

impl OllamaReader {
    fn read_call(&mut self, entry: &CallEntry<'_>, sink: &mut EventSink<'_>) {
        let Some(function) = &*entry.function else { return };
        let key = self.count;
        self.count += 1;
        let (id, name) = (entry.id.as_str().to_owned(), function.name.as_str().to_owned());
        self.calls.begin(key, WireCall { id, name, kind: "" });
        self.calls.append(&key, function.arguments.text(), sink);
        self.calls.complete(&key, sink);
    }

    fn end(&mut self, line: &Line<'_>, sink: &mut EventSink<'_>) {
        let (input, output) = (line.prompt_eval_count.0, line.eval_count.0);
        sink.push(Event::Usage(TokenUsage { input, output, ..TokenUsage::default() }));
        sink.end(match line.done_reason.as_str() {
            "stop" | "" if self.count > 0 => Finish::ToolCalls,
            "stop" | "" => Finish::Stop,
            "length" => Finish::Length,
            other => Finish::of_unlisted(other),
        });
        *self = Self::default();
    }
}

struct OllamaMessages;

/// Writes one message for each result.
pub(crate) fn encode(answers: &[ToolAnswer<'_>], _ids: &CallIds) -> Value {
    answers.iter().map(|answer| result_message(&answer.name(), answer.given_id(), &answer.result)).collect()
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
        .with_some("options", request.max_tokens.map(|most| json!({"num_predict": most})))
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
        let id = if call.given_id().is_empty() { "" } else { &call.id };
        result_message(&call.name, id, result)
    }

    fn conforming_id(id: &str) -> Cow<'_, str> {
        short_id(id)
    }
}

/// Writes a call, under its id if the server gave one.
fn write_call(call: &ChatCall<'_>) -> Value {
    let function = json!({"name": call.name, "arguments": object_arguments(call.call.arguments())});
    let mut written = json!({"function": function});
    if !call.given_id().is_empty() {
        written["id"] = call.id.as_str().into();
    }
    written
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
