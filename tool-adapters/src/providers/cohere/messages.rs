//! The reader of answers and stream events, and the results and requests.

use crate::providers::codec::{CallIds, EventSink, MessageReader, ResponseOrigin, ToolAnswer, WireCall};
use crate::providers::event::{Event, Finish, ProtocolError};
use crate::providers::json_reader::json_objects;
use crate::providers::lenient::{LenientCount, LenientObject, LenientObjects, LenientText, RawJson, parse_object};
use crate::providers::openai_chat::messages::{CallEntry, read_content};
use crate::providers::partial_calls::PartialCalls;
use crate::providers::provider::Provider;
use crate::providers::request::{Request, RequestBody, chat_messages, function_call, text_of};
use serde_json::{Value, json};
use std::borrow::Cow;
use tool_core::call::ModelResult;
use tool_core::session::RawTurn;
use tool_core::trace::TokenUsage;
use tool_core::{Content, ToolCall};

/// Reads Cohere's chat.
#[derive(Debug, Default)]
pub(crate) struct CohereReader {
    calls: PartialCalls<u64>,
    plan: String,
    origin: ResponseOrigin,
    begun: bool,
}

json_objects! {
    /// A stream event, its delta, or a whole answer.
    struct CohereEvent<'a> {
        kind: LenientText<'a> = "type",
        id: LenientText<'a>,
        index: LenientCount,
        delta: RawJson<'a>,
        message: LenientObject<CohereMessage<'a>>,
        finish_reason: LenientText<'a>,
        usage: LenientObject<CohereUsage>,
        error: RawJson<'a>,
    }

    struct CohereMessage<'a> {
        content: RawJson<'a>,
        tool_plan: LenientText<'a>,
        /// An array in an answer, a single call in a stream.
        tool_calls: LenientObjects<CallEntry<'a>>,
        citations: RawJson<'a>,
    }

    struct CohereUsage {
        tokens: LenientObject<TokenCounts>,
        billed_units: LenientObject<TokenCounts>,
        cached_tokens: LenientCount,
    }

    #[derive(Clone, Copy, PartialEq)]
    struct TokenCounts {
        input_tokens: LenientCount,
        output_tokens: LenientCount,
    }
}

impl MessageReader for CohereReader {
    fn read(&mut self, _name: &str, text: &str, sink: &mut EventSink<'_>) -> serde_json::Result<()> {
        let Some(event) = parse_object::<CohereEvent<'_>>(text)? else { return sink.unknown(text) };
        let delta = event.delta.object::<CohereEvent<'_>>();
        let message = delta.as_ref().and_then(|delta| delta.message.as_ref());
        self.begun |= event.kind.0.is_some();
        match (event.kind.as_str(), message) {
            ("content-start" | "content-delta" | "tool-plan-delta" | "citation-start", Some(message)) => {
                return self.read_text(message, sink);
            }
            ("tool-call-start", Some(message)) => self.read_calls(event.index.0, message, true, sink),
            ("tool-call-delta", Some(message)) => self.read_calls(event.index.0, message, false, sink),
            ("tool-call-end", _) => self.calls.complete(&event.index.0, sink),
            ("message-end", _) => self.read_end(delta.as_ref(), sink),
            ("message-start", _) => self.origin.emit(event.id.as_str(), "", sink),
            ("content-end" | "citation-end", _) => {}
            ("", _) => return self.read_answer(&event, text, sink),
            _ => return sink.unknown(text),
        }
        Ok(())
    }

    fn finish(&mut self, sink: &mut EventSink<'_>) {
        if self.begun {
            self.calls.truncate_all(sink);
            sink.error(ProtocolError::Truncated { call_id: None });
        }
        *self = Self::default();
    }
}

impl CohereReader {
    /// Reads a whole answer, or an error instead of one.
    fn read_answer(&mut self, event: &CohereEvent<'_>, text: &str, sink: &mut EventSink<'_>) -> serde_json::Result<()> {
        let Some(message) = &*event.message else {
            self.begun = false;
            return sink.error_or_unknown(text);
        };
        self.origin.emit(event.id.as_str(), "", sink);
        self.read_text(message, sink)?;
        for (key, call) in (0..).zip(message.tool_calls.iter()) {
            self.begin_call(key, call);
            self.append(key, call, sink);
        }
        self.end(event.finish_reason.as_str(), event.usage.as_ref(), sink);
        Ok(())
    }

    fn read_text(&mut self, message: &CohereMessage<'_>, sink: &mut EventSink<'_>) -> serde_json::Result<()> {
        // The plan is not part of the text. It goes back to the provider with the message, as an item.
        sink.reasoning(message.tool_plan.as_str());
        self.plan.push_str(message.tool_plan.as_str());
        read_content(message.content, sink);
        match message.citations.0 {
            Some(citations) => sink.item(&format!("{{\"citations\":{citations}}}")),
            None => Ok(()),
        }
    }

    fn read_calls(&mut self, key: u64, message: &CohereMessage<'_>, begins: bool, sink: &mut EventSink<'_>) {
        for call in message.tool_calls.iter() {
            if begins {
                self.begin_call(key, call);
            }
            self.append(key, call, sink);
        }
    }

    fn begin_call(&mut self, key: u64, entry: &CallEntry<'_>) {
        let name = entry.function.as_ref().map_or("", |function| function.name.as_str());
        let id = entry.id.as_str();
        match self.calls.latest(&key) {
            // Its pieces came before it, or it comes twice.
            Some(call) if call.wire.id.is_empty() && !call.emitted || !id.is_empty() && call.wire.id == id => {
                self.calls.identify(&key, id, name);
            }
            _ => self.calls.begin(key, WireCall { id: id.to_owned(), name: name.to_owned(), kind: "" }),
        }
    }

    fn append(&mut self, key: u64, entry: &CallEntry<'_>, sink: &mut EventSink<'_>) {
        if let Some(function) = &*entry.function {
            self.calls.append(&key, function.arguments.text(), sink);
        }
    }

    fn read_end(&mut self, delta: Option<&CohereEvent<'_>>, sink: &mut EventSink<'_>) {
        let error = delta.map(|delta| delta.error.text()).filter(|error| !error.is_empty());
        if let Some(message) = error {
            sink.error(ProtocolError::of_provider(None, message));
        }
        let reason = delta.map_or("", |delta| delta.finish_reason.as_str());
        self.end(reason, delta.and_then(|delta| delta.usage.as_ref()), sink);
    }

    fn end(&mut self, reason: &str, usage: Option<&CohereUsage>, sink: &mut EventSink<'_>) {
        let finish = match reason {
            "COMPLETE" | "STOP_SEQUENCE" | "" if !self.calls.is_empty() => Finish::ToolCalls,
            "COMPLETE" | "STOP_SEQUENCE" | "" => Finish::Stop,
            "TOOL_CALL" => Finish::ToolCalls,
            "MAX_TOKENS" => Finish::Length,
            "ERROR_TOXIC" => Finish::Filtered,
            other => Finish::of_unlisted(other),
        };
        match finish {
            Finish::Stop | Finish::ToolCalls => self.calls.complete_all(sink),
            _ => self.calls.truncate_all(sink),
        }
        if !self.plan.is_empty() {
            sink.push(Event::Item(json!({"tool_plan": self.plan})));
        }
        if let Some(usage) = usage {
            sink.push(Event::Usage(usage.usage()));
        }
        sink.end(finish);
        *self = Self::default();
    }
}

impl CohereUsage {
    /// Returns the billed tokens where they are given: those of the provider's own instructions are not billed.
    fn usage(&self) -> TokenUsage {
        let billed = self.billed_units.as_ref().filter(|billed| **billed != TokenCounts::default());
        let counts = billed.or(self.tokens.as_ref()).copied().unwrap_or_default();
        TokenUsage {
            input: counts.input_tokens.0,
            // Tokens that are not billed may be cached too.
            cached: self.cached_tokens.0.min(counts.input_tokens.0),
            output: counts.output_tokens.0,
            ..TokenUsage::default()
        }
    }
}

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
