//! The reader of Converse answers and stream events, and the members that it reads.
#![allow(clippy::struct_field_names)] // The names are the provider's.

use crate::providers::call_ids::WireCall;
use crate::providers::codec::{EventSink, MessageReader, ResponseOrigin};
use crate::providers::content_blocks::{ContentBlock, ContentBlocks};
use crate::providers::event::{Event, Finish, ProtocolError};
use crate::providers::lenient::{LenientCount, LenientObject, LenientText, RawJson};
use serde::Deserialize;
use serde_json::{Value, json};
use tool_core::trace::TokenUsage;

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
        let LenientObject(event) = serde_json::from_str::<LenientObject<ConverseEvent<'_>>>(text)?;
        let Some(event) = event else { return sink.unknown(text) };
        let known = if let Some(output) = &*event.output {
            let content = output.message.as_ref().map_or_else(RawJson::default, |message| message.content);
            self.read_answer(content, &event, sink)
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
        } else if let Some(metadata) = &*event.metadata {
            emit_router_model(&metadata.trace, sink);
            emit_usage(&metadata.usage, sink);
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
    fn read_answer(&mut self, content: RawJson<'_>, event: &ConverseEvent<'_>, sink: &mut EventSink<'_>) -> bool {
        // Open blocks belong to another message.
        self.finish(sink);
        for (index, block) in content.items().into_iter().enumerate() {
            let key = index.to_string();
            self.read_block(&key, RawJson(Some(block)), sink);
            self.blocks.complete(&key, sink);
        }
        emit_router_model(&event.trace, sink);
        emit_usage(&event.usage, sink);
        self.end(event.stop_reason.as_str(), sink)
    }

    fn begin_block(&mut self, start: &BlockStart<'_>, sink: &mut EventSink<'_>) -> bool {
        self.begun = true;
        self.read_block(start.content_block_index.as_str(), start.start, sink)
    }

    /// Reads a whole block or the beginning of one.
    fn read_block(&mut self, key: &str, block: RawJson<'_>, sink: &mut EventSink<'_>) -> bool {
        let Some((wire, mut item)) = block.parse::<WireBlock<'_>>().zip(block.parse::<Value>()) else { return false };
        if let Some(call) = &*wire.tool_use {
            return self.read_call(key, call, item, sink);
        }
        if let Some(thought) = &*wire.reasoning_content {
            sink.reasoning(thought.reasoning_text.as_ref().map_or("", |thought| thought.text.as_str()));
        }
        sink.text(wire.text.as_str());
        let cited = wire.citations_content.as_ref().and_then(|cited| cited.content.parse::<Vec<WireBlock<'_>>>());
        for part in cited.unwrap_or_default() {
            sink.text(part.text.as_str());
        }
        // The parts of the result of a tool that the provider ran itself follow.
        if let Some(result) = item.get_mut("toolResult").and_then(Value::as_object_mut) {
            result.entry("content").or_insert_with(|| json!([]));
        }
        let is_text = wire.text.0.is_some() || wire.citations_content.is_some();
        self.blocks.begin(key, if is_text { ContentBlock::text(item) } else { ContentBlock::other(item) })
    }

    fn read_call(&mut self, key: &str, call: &ToolUse<'_>, mut item: Value, sink: &mut EventSink<'_>) -> bool {
        const INPUT: &str = "/toolUse/input";
        if let Some(call) = item.get_mut("toolUse").and_then(Value::as_object_mut) {
            call.entry("input").or_insert_with(|| json!({}));
        }
        let is_new = if call.kind.as_str() == "server_tool_use" {
            self.blocks.begin(key, ContentBlock::other(item).with_input(INPUT))
        } else {
            let (id, name) = (call.tool_use_id.as_str().to_owned(), call.name.as_str().to_owned());
            self.blocks.begin_call(key, item, INPUT, WireCall { id, name, kind: "" }, sink)
        };
        let input = call.input.text();
        if !matches!(input.trim_ascii(), "" | "{}")
            && let Some(block) = self.blocks.open(key).filter(|_| is_new)
        {
            block.append_input(&input, sink);
        }
        is_new
    }

    fn read_delta(&mut self, key: &str, delta: &Delta<'_>, sink: &mut EventSink<'_>) -> bool {
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
        self.blocks.open(key).is_some_and(|block| append_delta(block, delta, sink))
    }

    fn end(&mut self, reason: &str, sink: &mut EventSink<'_>) -> bool {
        self.blocks.truncate_all(sink);
        if reason.starts_with("malformed_") {
            let message = "the model's answer could not be used".to_owned();
            sink.error(ProtocolError::Provider { code: Some(reason.to_owned()), message });
        }
        sink.push(Event::Finished(match finish_of(reason) {
            Finish::Stop if self.blocks.has_calls() => Finish::ToolCalls,
            finish => finish,
        }));
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
        sink.error(ProtocolError::Provider { code: code.map(str::to_owned), message: message.to_owned() });
        true
    }
}

/// Returns the block that a piece can begin.
fn block_of(delta: &Delta<'_>) -> Option<ContentBlock> {
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
fn append_delta(block: &mut ContentBlock, delta: &Delta<'_>, sink: &mut EventSink<'_>) -> bool {
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
        block.append_input(&call.input.text(), sink);
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
fn emit_router_model(trace: &LenientObject<ConverseTrace<'_>>, sink: &mut EventSink<'_>) {
    let router = trace.as_ref().and_then(|trace| trace.prompt_router.as_ref());
    ResponseOrigin::default().emit("", router.map_or("", |router| router.invoked_model_id.as_str()), sink);
}

fn emit_usage(usage: &LenientObject<ConverseUsage>, sink: &mut EventSink<'_>) {
    sink.events.extend(usage.map(|usage| Event::Usage(usage.usage())));
}

fn finish_of(reason: &str) -> Finish {
    match reason {
        "" | "end_turn" | "stop_sequence" => Finish::Stop,
        "tool_use" => Finish::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        "guardrail_intervened" | "content_filtered" => Finish::Filtered,
        other => Finish::Other(other.to_owned()),
    }
}

/// A stream event or a whole answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct ConverseEvent<'a> {
    pub(crate) message_start: RawJson<'a>,
    pub(crate) content_block_start: LenientObject<BlockStart<'a>>,
    pub(crate) content_block_delta: LenientObject<BlockDelta<'a>>,
    pub(crate) content_block_stop: LenientObject<BlockStop<'a>>,
    pub(crate) message_stop: LenientObject<MessageStop<'a>>,
    pub(crate) metadata: LenientObject<Metadata<'a>>,
    /// The message of a whole answer.
    pub(crate) output: LenientObject<Output<'a>>,
    pub(crate) stop_reason: LenientText<'a>,
    pub(crate) usage: LenientObject<ConverseUsage>,
    pub(crate) trace: LenientObject<ConverseTrace<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct BlockStart<'a> {
    pub(crate) content_block_index: LenientText<'a>,
    pub(crate) start: RawJson<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct BlockDelta<'a> {
    pub(crate) content_block_index: LenientText<'a>,
    pub(crate) delta: LenientObject<Delta<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct BlockStop<'a> {
    pub(crate) content_block_index: LenientText<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct MessageStop<'a> {
    pub(crate) stop_reason: LenientText<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Metadata<'a> {
    pub(crate) usage: LenientObject<ConverseUsage>,
    pub(crate) trace: LenientObject<ConverseTrace<'a>>,
}

/// The route of a request.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct ConverseTrace<'a> {
    pub(crate) prompt_router: LenientObject<PromptRouter<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct PromptRouter<'a> {
    pub(crate) invoked_model_id: LenientText<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Output<'a> {
    pub(crate) message: LenientObject<OutputMessage<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct OutputMessage<'a> {
    pub(crate) content: RawJson<'a>,
}

/// A piece of a block.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct Delta<'a> {
    pub(crate) text: LenientText<'a>,
    pub(crate) tool_use: LenientObject<ToolUse<'a>>,
    pub(crate) reasoning_content: LenientObject<Reasoning<'a>>,
    /// Pieces of the result of a tool that the provider ran itself.
    pub(crate) tool_result: RawJson<'a>,
    pub(crate) citation: RawJson<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct Reasoning<'a> {
    pub(crate) text: LenientText<'a>,
    pub(crate) signature: LenientText<'a>,
    pub(crate) redacted_content: LenientText<'a>,
    /// The reasoning of a whole block.
    pub(crate) reasoning_text: LenientObject<ReasoningText<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct ReasoningText<'a> {
    pub(crate) text: LenientText<'a>,
}

/// A content block, or the beginning of one.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct WireBlock<'a> {
    pub(crate) text: LenientText<'a>,
    pub(crate) tool_use: LenientObject<ToolUse<'a>>,
    pub(crate) reasoning_content: LenientObject<Reasoning<'a>>,
    pub(crate) citations_content: LenientObject<CitedContent<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct ToolUse<'a> {
    pub(crate) tool_use_id: LenientText<'a>,
    pub(crate) name: LenientText<'a>,
    /// An object; in a stream a piece of its text.
    pub(crate) input: RawJson<'a>,
    /// `server_tool_use` for a tool that the provider runs itself.
    #[serde(rename = "type")]
    pub(crate) kind: LenientText<'a>,
}

/// Text with citations.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct CitedContent<'a> {
    pub(crate) content: RawJson<'a>,
}

/// The tokens used. Those of the cache are not part of the input.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ConverseUsage {
    input_tokens: LenientCount,
    output_tokens: LenientCount,
    cache_read_input_tokens: LenientCount,
    cache_write_input_tokens: LenientCount,
}

impl ConverseUsage {
    pub(crate) fn usage(self) -> TokenUsage {
        let (cached, written) = (self.cache_read_input_tokens.0, self.cache_write_input_tokens.0);
        TokenUsage {
            input: self.input_tokens.0.saturating_add(cached).saturating_add(written),
            cached,
            output: self.output_tokens.0,
            cache_written: written,
            reasoning: 0,
        }
    }
}
