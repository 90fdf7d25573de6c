//! The reader of Converse answers and stream events, and the members that it reads.
#![allow(clippy::struct_field_names)] // The names are the provider's.

use crate::providers::anthropic::read::MessageUsage;
use crate::providers::codec::{EventSink, MessageReader, ResponseOrigin, WireCall};
use crate::providers::event::{Finish, ProtocolError};
use crate::providers::json_reader::json_objects;
use crate::providers::lenient::{LenientObject, LenientText, RawJson, ServiceTier, parse_object};
use crate::providers::partial_calls::{ContentBlock, ContentBlocks};
use serde_json::{Value, json};

/// The events that report an error.
const EXCEPTIONS: [&str; 5] = [
    "internalServerException",
    "modelStreamErrorException",
    "validationException",
    "throttlingException",
    "serviceUnavailableException",
];

/// Reads Converse.
#[derive(Debug, Default)]
pub(crate) struct ConverseReader {
    blocks: ContentBlocks,
    begun: bool,
    /// True if the provider has reported the error that ends the stream.
    failed: bool,
}

impl MessageReader for ConverseReader {
    fn read(&mut self, _name: &str, text: &str, sink: &mut EventSink<'_>) -> serde_json::Result<()> {
        let Some(event) = parse_object::<ConverseEvent<'_>>(text)? else { return sink.unknown(text) };
        let known = if event.output.0.is_some() {
            self.read_answer(&event, sink)
        } else if event.message_start.0.is_some() {
            !std::mem::replace(&mut self.begun, true)
        } else if let Some(start) = &*event.content_block_start {
            self.begin_block(start, sink)
        } else if let Some(piece) = &*event.content_block_delta {
            piece.delta.as_ref().is_some_and(|delta| self.read_delta(piece.content_block_index.as_str(), delta, sink))
        } else if let Some(stop) = &*event.content_block_stop {
            self.blocks.complete(stop.content_block_index.as_str(), sink)
        } else if let Some(stop) = &*event.message_stop {
            self.begun && self.end(stop.stop_reason.as_str(), sink)
        } else if let Some(metadata) = event.metadata.object::<ConverseEvent<'_>>() {
            emit_router_model(metadata.trace, sink);
            emit_usage(&metadata, sink);
            true
        } else {
            self.read_error(text, sink)
        };
        if known { Ok(()) } else { sink.unknown(text) }
    }

    fn finish(&mut self, sink: &mut EventSink<'_>) {
        if self.begun {
            self.blocks.truncate_all(sink);
            if !self.failed {
                sink.error(ProtocolError::Truncated { call_id: None });
            }
        }
        *self = Self::default();
    }
}

/// Each method returns false for an event that it does not know.
impl ConverseReader {
    fn read_answer(&mut self, event: &ConverseEvent<'_>, sink: &mut EventSink<'_>) -> bool {
        // Open blocks belong to another message.
        self.finish(sink);
        let content = event.output.member("message").member("content");
        for (index, block) in content.items().into_iter().enumerate() {
            let key = index.to_string();
            self.read_block(&key, RawJson(Some(block)), sink);
            self.blocks.complete(&key, sink);
        }
        emit_router_model(event.trace, sink);
        emit_usage(event, sink);
        self.end(event.stop_reason.as_str(), sink)
    }

    fn begin_block(&mut self, start: &BlockEvent<'_>, sink: &mut EventSink<'_>) -> bool {
        self.begun = true;
        self.read_block(start.content_block_index.as_str(), start.start, sink)
    }

    /// Reads a whole block or the beginning of one.
    fn read_block(&mut self, key: &str, block: RawJson<'_>, sink: &mut EventSink<'_>) -> bool {
        let Some((wire, mut item)) = block.object::<WireBlock<'_>>().zip(block.parse::<Value>()) else { return false };
        if let Some(call) = &*wire.tool_use {
            return self.read_call(key, call, item, sink);
        }
        let text_of = |text: Option<&Value>| text.and_then(Value::as_str).unwrap_or_default().to_owned();
        sink.reasoning(&text_of(item.pointer("/reasoningContent/reasoningText/text")));
        sink.text(wire.text.as_str());
        for part in item.pointer("/citationsContent/content").and_then(Value::as_array).into_iter().flatten() {
            sink.text(&text_of(part.get("text")));
        }
        // The parts of the result of a tool that the provider ran itself follow.
        if let Some(result) = item.get_mut("toolResult").and_then(Value::as_object_mut) {
            result.entry("content").or_insert_with(|| json!([]));
        }
        let is_text = wire.text.0.is_some() || item.get("citationsContent").is_some_and(Value::is_object);
        self.blocks.begin(key, if is_text { ContentBlock::text(item) } else { ContentBlock::other(item) })
    }

    fn read_call(&mut self, key: &str, call: &ToolUse<'_>, mut item: Value, sink: &mut EventSink<'_>) -> bool {
        if let Some(call) = item.get_mut("toolUse").and_then(Value::as_object_mut) {
            call.entry("input").or_insert_with(|| json!({}));
        }
        let block = ContentBlock::other(item).with_input("/toolUse/input");
        let is_new = if call.kind.as_str() == "server_tool_use" {
            self.blocks.begin(key, block)
        } else {
            let (id, name) = (call.tool_use_id.as_str().to_owned(), call.name.as_str().to_owned());
            self.blocks.begin_call(key, block, WireCall { id, name, kind: "" }, sink)
        };
        if is_new {
            self.blocks.append_whole_input(key, call.input, sink);
        }
        is_new
    }

    fn read_delta(&mut self, key: &str, delta: &WireBlock<'_>, sink: &mut EventSink<'_>) -> bool {
        self.begun = true;
        if self.blocks.open(key).is_none() {
            if self.blocks.has_had(key) {
                return false;
            }
            // Text and thoughts begin with their first piece.
            let Some(block) = block_of(delta) else {
                sink.error(ProtocolError::Orphan { key: key.to_owned() });
                return true;
            };
            self.blocks.begin(key, block);
        }
        self.blocks.open(key).is_some_and(|(_, block)| append_delta(block, delta, sink))
    }

    fn end(&mut self, reason: &str, sink: &mut EventSink<'_>) -> bool {
        self.blocks.truncate_all(sink);
        if reason.starts_with("malformed_") {
            let message = "the model's answer could not be used".to_owned();
            sink.error(ProtocolError::of_provider(Some(reason.to_owned()), message));
        }
        sink.end(match finish_of(reason) {
            Finish::Stop if self.blocks.has_calls() => Finish::ToolCalls,
            finish => finish,
        });
        *self = Self::default();
        true
    }

    /// Reads an error: an event, or the answer to a request that was refused.
    fn read_error(&mut self, text: &str, sink: &mut EventSink<'_>) -> bool {
        let event = serde_json::from_str::<Value>(text).unwrap_or_default();
        let exception = EXCEPTIONS.iter().find_map(|name| Some((Some(*name), event.get(name)?)));
        let (code, error) = exception.unwrap_or((event.get("__type").and_then(Value::as_str), &event));
        let Some(message) = error.get("message").or_else(|| error.get("Message")).and_then(Value::as_str) else {
            return false;
        };
        self.failed = true;
        sink.error(ProtocolError::of_provider(code.map(str::to_owned), message));
        true
    }
}

/// Returns the block that a piece can begin.
fn block_of(delta: &WireBlock<'_>) -> Option<ContentBlock> {
    match &*delta.reasoning_content {
        Some(Reasoning { redacted_content: LenientText(Some(_)), .. }) => {
            Some(ContentBlock::other(json!({"reasoningContent": {"redactedContent": ""}})))
        }
        Some(_) => Some(ContentBlock::other(json!({"reasoningContent": {"reasoningText": {"text": ""}}}))),
        None if delta.text.0.is_some() || delta.citation.0.is_some() => Some(ContentBlock::text(json!({"text": ""}))),
        None => None,
    }
}

/// Adds a piece to a block; returns false for a piece of an unknown kind.
fn append_delta(block: &mut ContentBlock, delta: &WireBlock<'_>, sink: &mut EventSink<'_>) -> bool {
    const THOUGHT: &str = "/reasoningContent/reasoningText";
    let mut known = false;
    if let Some(text) = delta.text.0.as_deref() {
        known = true;
        sink.text(text);
        let is_cited = block.item_mut().get("citationsContent").is_some();
        block.append(if is_cited { "/citationsContent/content/0" } else { "" }, "text", text, sink);
    }
    if let Some(call) = &*delta.tool_use {
        known = true;
        block.append_input(call.input.text(), sink);
    }
    if let Some(thought) = &*delta.reasoning_content {
        known = true;
        sink.reasoning(thought.text.as_str());
        block.append(THOUGHT, "text", thought.text.as_str(), sink);
        block.append(THOUGHT, "signature", thought.signature.as_str(), sink);
        block.append("/reasoningContent", "redactedContent", thought.redacted_content.as_str(), sink);
    }
    if let Some(parts) = delta.tool_result.parse::<Vec<Value>>() {
        known = true;
        extend_array(block.item_mut(), "/toolResult/content", parts);
    }
    if let Some(citation) = delta.citation.parse::<Value>().filter(|citation| !citation.is_null()) {
        known = true;
        add_citation(block.item_mut(), citation);
    }
    known
}

/// Adds a citation. Text becomes cited text with its first one.
fn add_citation(item: &mut Value, citation: Value) {
    if let Some(text) = item.get("text").cloned() {
        *item = json!({"citationsContent": {"content": [{"text": text}], "citations": []}});
    }
    extend_array(item, "/citationsContent/citations", vec![citation]);
}

fn extend_array(item: &mut Value, pointer: &str, more: Vec<Value>) {
    if let Some(array) = item.pointer_mut(pointer).and_then(Value::as_array_mut) {
        array.extend(more);
    }
}

/// Emits the model that a router chose. Without a router nothing names it.
fn emit_router_model(trace: RawJson<'_>, sink: &mut EventSink<'_>) {
    let trace = trace.parse::<Value>().unwrap_or_default();
    let model = trace.pointer("/promptRouter/invokedModelId").and_then(Value::as_str);
    ResponseOrigin::default().emit("", model.unwrap_or_default(), sink);
}

fn emit_usage(event: &ConverseEvent<'_>, sink: &mut EventSink<'_>) {
    if let Some(usage) = &*event.usage {
        sink.usage(usage.usage(), &event.service_tier);
    }
}

fn finish_of(reason: &str) -> Finish {
    match reason {
        "" | "end_turn" | "stop_sequence" => Finish::Stop,
        "tool_use" => Finish::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        "guardrail_intervened" | "content_filtered" => Finish::Filtered,
        other => Finish::of_unlisted(other),
    }
}

json_objects! {
    /// A stream event, a whole answer, or the metadata at the end of a stream.
    struct ConverseEvent<'a> {
        message_start: RawJson<'a> = "messageStart",
        content_block_start: LenientObject<BlockEvent<'a>> = "contentBlockStart",
        content_block_delta: LenientObject<BlockEvent<'a>> = "contentBlockDelta",
        content_block_stop: LenientObject<BlockEvent<'a>> = "contentBlockStop",
        message_stop: LenientObject<BlockEvent<'a>> = "messageStop",
        metadata: RawJson<'a>,
        /// The `message` of a whole answer.
        output: RawJson<'a>,
        stop_reason: LenientText<'a> = "stopReason",
        usage: LenientObject<MessageUsage>,
        service_tier: ServiceTier = "serviceTier",
        trace: RawJson<'a>,
    }

    struct BlockEvent<'a> {
        content_block_index: LenientText<'a> = "contentBlockIndex",
        /// The first piece, of the event that begins a block.
        start: RawJson<'a>,
        delta: LenientObject<WireBlock<'a>>,
        /// The reason, of the event that ends the message.
        stop_reason: LenientText<'a> = "stopReason",
    }

    /// A content block, or a piece of one.
    struct WireBlock<'a> {
        text: LenientText<'a>,
        tool_use: LenientObject<ToolUse<'a>> = "toolUse",
        reasoning_content: LenientObject<Reasoning<'a>> = "reasoningContent",
        /// Pieces of the result of a tool that the provider ran itself.
        tool_result: RawJson<'a> = "toolResult",
        citation: RawJson<'a>,
    }

    struct Reasoning<'a> {
        text: LenientText<'a>,
        signature: LenientText<'a>,
        redacted_content: LenientText<'a> = "redactedContent",
    }

    struct ToolUse<'a> {
        tool_use_id: LenientText<'a> = "toolUseId",
        name: LenientText<'a>,
        /// An object; in a stream a piece of its text.
        input: RawJson<'a>,
        /// `server_tool_use` for a tool that the provider runs itself.
        kind: LenientText<'a> = "type",
    }
}
