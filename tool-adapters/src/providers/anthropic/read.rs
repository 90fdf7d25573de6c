//! The reader of messages and their stream events, and the members that it reads.

use crate::providers::codec::{EventSink, MessageReader, ResponseOrigin, WireCall};
use crate::providers::event::{Finish, ProtocolError};
use crate::providers::json_reader::{FromJson, JsonReader, json_objects};
use crate::providers::lenient::{
    LenientCount, LenientObject, LenientObjects, LenientText, RawJson, RawObject, RawObjects, ServiceTier, WithRaw,
    parse_object,
};
use crate::providers::partial_calls::{ContentBlock, ContentBlocks};
use crate::providers::repeats::LastEvent;
use serde_json::{Map, Value};
use std::borrow::Cow;
use tool_core::trace::TokenUsage;

/// Reads Messages.
#[derive(Debug, Default)]
pub(crate) struct AnthropicReader {
    blocks: ContentBlocks,
    /// The counts of tokens so far. Members that an event leaves out keep their value.
    usage: LenientObject<MessageUsage>,
    /// The message's id.
    id: String,
    origin: ResponseOrigin,
    begun: bool,
    /// True if the provider has reported the error that ends the stream.
    failed: bool,
    finish: Option<Finish>,
    /// The number of the block and the kind of the last event's piece.
    last_event: Option<LastEvent<(usize, PieceKind)>>,
}

/// The kind of a piece of a block.
#[derive(Clone, Copy, Debug)]
enum PieceKind {
    Text,
    Thinking,
    Signature,
    Input,
}

impl MessageReader for AnthropicReader {
    fn read(&mut self, name: &str, text: &str, sink: &mut EventSink<'_>) -> serde_json::Result<()> {
        if self.read_repeated(text, sink) {
            return Ok(());
        }
        self.last_event = None;
        let Some(event) = parse_object::<MessageEvent<'_>>(text)? else { return sink.unknown(text) };
        let known = match event.kind.as_str() {
            "message" => self.read_answer(&event, sink),
            "message_start" => self.begin(&event, sink),
            "content_block_start" => self.begin_block(event.index.as_str(), &event.content_block, sink),
            "content_block_delta" => self.read_delta(text, &event, sink),
            "content_block_stop" => self.blocks.complete(event.index.as_str(), sink),
            "message_delta" => self.read_end(&event, sink),
            "message_stop" => self.stop(sink),
            "ping" => true,
            "error" => self.read_error(text, sink),
            "" if name == "error" => self.read_error(text, sink),
            _ => false,
        };
        if known { Ok(()) } else { sink.unknown(text) }
    }

    fn finish(&mut self, sink: &mut EventSink<'_>) {
        if self.begun {
            self.blocks.truncate_all(sink);
            if !self.failed {
                sink.error(ProtocolError::Truncated { call_id: None });
            }
            if let Some(finish) = self.finish.take() {
                sink.end(finish);
            }
        }
        *self = Self::default();
    }
}

/// Each method returns false for an event that it does not know.
impl AnthropicReader {
    fn read_answer(&mut self, event: &MessageEvent<'_>, sink: &mut EventSink<'_>) -> bool {
        // Open blocks belong to another message.
        self.finish(sink);
        self.origin.emit(event.id.as_str(), event.model.as_str(), sink);
        self.read_content(&event.content, sink);
        self.finish = finish_of(event.stop_reason.as_str());
        self.read_usage(event.usage, sink);
        self.end(sink);
        true
    }

    fn begin(&mut self, event: &MessageEvent<'_>, sink: &mut EventSink<'_>) -> bool {
        let message = event.message.object::<MessageEvent<'_>>();
        let id = message.as_ref().map_or("", |message| message.id.as_str());
        if self.begun && self.id == id {
            return false;
        }
        // Blocks before the first event of a message belong to it.
        if !self.id.is_empty() {
            self.finish(sink);
        }
        self.begun = true;
        id.clone_into(&mut self.id);
        if let Some(message) = &message {
            self.origin.emit(id, message.model.as_str(), sink);
            self.read_content(&message.content, sink);
            self.read_usage(message.usage, sink);
        }
        true
    }

    fn read_content(&mut self, content: &RawObjects<'_, WireBlock<'_>>, sink: &mut EventSink<'_>) {
        for (index, block) in content.0.iter().flatten().enumerate() {
            let key = index.to_string();
            self.begin_block(&key, block, sink);
            self.blocks.complete(&key, sink);
        }
    }

    fn begin_block(&mut self, key: &str, block: &RawObject<'_, WireBlock<'_>>, sink: &mut EventSink<'_>) -> bool {
        let Some(wire) = &block.object else { return false };
        let Ok(item) = serde_json::from_str::<Value>(block.raw) else { return false };
        self.begun = true;
        let is_new = match wire.kind.as_str() {
            "tool_use" => {
                let (id, name) = (wire.id.as_str().to_owned(), wire.name.as_str().to_owned());
                let block = ContentBlock::other(item).with_input("/input");
                self.blocks.begin_call(key, block, WireCall { id, name, kind: "" }, sink)
            }
            "text" => self.blocks.begin(key, ContentBlock::text(item)),
            // A tool that the provider runs itself.
            _ if wire.input.0.is_some() => self.blocks.begin(key, ContentBlock::other(item).with_input("/input")),
            _ => self.blocks.begin(key, ContentBlock::other(item)),
        };
        if is_new {
            sink.text(wire.text.as_str());
            sink.reasoning(wire.thinking.as_str());
            self.blocks.append_whole_input(key, wire.input, sink);
        }
        is_new
    }

    fn read_delta(&mut self, text: &str, event: &MessageEvent<'_>, sink: &mut EventSink<'_>) -> bool {
        let Some(delta) = &event.delta.object else { return false };
        let key = event.index.as_str();
        let Some((number, block)) = self.blocks.open(key) else {
            if delta.kind.as_str() != "input_json_delta" || self.blocks.has_had(key) {
                return false;
            }
            sink.error(ProtocolError::Orphan { key: key.to_owned() });
            return true;
        };
        let (kind, piece) = match delta.kind.as_str() {
            "text_delta" => (PieceKind::Text, &delta.text),
            "thinking_delta" => (PieceKind::Thinking, &delta.thinking),
            "input_json_delta" => (PieceKind::Input, &delta.partial_json),
            "signature_delta" => (PieceKind::Signature, &delta.signature),
            "citations_delta" => {
                add_citation(block, delta);
                return true;
            }
            "compaction_delta" => {
                replace_members(block, event.delta.raw);
                return true;
            }
            _ => return false,
        };
        append(block, kind, Cow::Borrowed(piece.as_str()), sink);
        self.last_event = LastEvent::new(text, [piece.raw], (number, kind));
        true
    }

    /// Reads an event that repeats the last one but for its piece; returns false for another one.
    fn read_repeated(&mut self, text: &str, sink: &mut EventSink<'_>) -> bool {
        let Some(((number, kind), piece, [_])) = LastEvent::repeated(self.last_event.as_ref(), text) else {
            return false;
        };
        let Some(block) = self.blocks.open_at(*number) else { return false };
        append(block, *kind, piece, sink);
        true
    }

    fn read_end(&mut self, event: &MessageEvent<'_>, sink: &mut EventSink<'_>) -> bool {
        self.begun = true;
        let delta = RawJson(Some(event.delta.raw)).object::<MessageEvent<'_>>();
        let reason = delta.and_then(|delta| finish_of(delta.stop_reason.as_str()));
        self.finish = reason.or(self.finish.take());
        self.read_usage(event.usage, sink);
        true
    }

    fn stop(&mut self, sink: &mut EventSink<'_>) -> bool {
        let begun = self.begun;
        if begun {
            self.end(sink);
        }
        begun
    }

    fn end(&mut self, sink: &mut EventSink<'_>) {
        self.blocks.truncate_all(sink);
        let finish = match self.finish.take() {
            None | Some(Finish::Stop) if self.blocks.has_calls() => Finish::ToolCalls,
            finish => finish.unwrap_or(Finish::Stop),
        };
        sink.end(finish);
        *self = Self::default();
    }

    fn read_error(&mut self, text: &str, sink: &mut EventSink<'_>) -> bool {
        let found = sink.provider_error(text);
        self.failed |= found;
        found
    }

    fn read_usage(&mut self, usage: RawJson<'_>, sink: &mut EventSink<'_>) {
        let Some(counts) = usage.0.filter(|counts| counts.starts_with('{')) else { return };
        if self.usage.read_json(&mut JsonReader::new(counts)).is_ok()
            && let Some(usage) = &*self.usage
        {
            // The fast mode is billed like a tier.
            sink.usage(usage.usage(), if usage.speed.0.is_some() { &usage.speed } else { &usage.service_tier });
        }
    }
}

fn append(block: &mut ContentBlock, kind: PieceKind, piece: Cow<'_, str>, sink: &mut EventSink<'_>) {
    let member = match kind {
        PieceKind::Input => return block.append_input(piece, sink),
        PieceKind::Signature => "signature",
        PieceKind::Text => {
            sink.text(&piece);
            "text"
        }
        PieceKind::Thinking => {
            sink.reasoning(&piece);
            "thinking"
        }
    };
    block.append("", member, &piece, sink);
}

/// Takes over the members of a summary of earlier messages, which comes in one piece.
fn replace_members(block: &mut ContentBlock, delta: &str) {
    let members = serde_json::from_str::<Map<String, Value>>(delta).unwrap_or_default();
    if let Some(item) = block.item_mut().as_object_mut() {
        item.extend(members.into_iter().filter(|(name, _)| name != "type"));
    }
}

fn add_citation(block: &mut ContentBlock, delta: &WireBlock<'_>) {
    let Some(citation) = delta.citation.parse::<Value>() else { return };
    let Some(item) = block.item_mut().as_object_mut() else { return };
    let citations = item.entry("citations").or_insert(Value::Null);
    match citations {
        Value::Array(citations) => citations.push(citation),
        Value::Null => *citations = Value::Array(vec![citation]),
        _ => {}
    }
}

fn finish_of(reason: &str) -> Option<Finish> {
    Some(match reason {
        "" => return None,
        "end_turn" | "stop_sequence" => Finish::Stop,
        "tool_use" => Finish::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        "refusal" => Finish::Refused,
        "pause_turn" => Finish::Paused,
        other => Finish::of_unlisted(other),
    })
}

json_objects! {
    /// A stream event, a whole answer, the message with which a stream begins, or the delta with which it ends.
    struct MessageEvent<'a> {
        kind: LenientText<'a> = "type",
        id: LenientText<'a>,
        model: LenientText<'a>,
        index: LenientText<'a>,
        content_block: RawObject<'a, WireBlock<'a>>,
        delta: RawObject<'a, WireBlock<'a>>,
        /// The message of `message_start`.
        message: RawJson<'a>,
        content: RawObjects<'a, WireBlock<'a>>,
        stop_reason: LenientText<'a>,
        usage: RawJson<'a>,
    }

    /// A content block, or a piece of one.
    struct WireBlock<'a> {
        kind: LenientText<'a> = "type",
        id: LenientText<'a>,
        name: LenientText<'a>,
        text: WithRaw<'a, LenientText<'a>>,
        thinking: WithRaw<'a, LenientText<'a>>,
        input: RawJson<'a>,
        signature: WithRaw<'a, LenientText<'a>>,
        partial_json: WithRaw<'a, LenientText<'a>>,
        citation: RawJson<'a>,
    }
}

json_objects! {
    /// The tokens used. Bedrock counts in the same way and writes the names in camel case.
    pub(crate) struct MessageUsage {
        input_tokens: LenientCount = "input_tokens" | "inputTokens",
        cache_creation_input_tokens: LenientCount = "cache_creation_input_tokens" | "cacheWriteInputTokens",
        cache_read_input_tokens: LenientCount = "cache_read_input_tokens" | "cacheReadInputTokens",
        cache_creation: LenientObject<CacheCreation>,
        /// Bedrock's form of `cache_creation`.
        cache_details: HourWrites = "cacheDetails",
        output_tokens: LenientCount = "output_tokens" | "outputTokens",
        output_tokens_details: LenientObject<OutputDetails>,
        service_tier: ServiceTier,
        speed: ServiceTier,
    }

    /// The written tokens by the time for which the cache keeps them.
    struct CacheCreation {
        ephemeral_1h_input_tokens: LenientCount,
    }

    struct CacheDetail<'a> {
        ttl: LenientText<'a>,
        input_tokens: LenientCount = "inputTokens",
    }

    struct OutputDetails {
        thinking_tokens: LenientCount,
    }
}

/// The tokens in Bedrock's list that the cache keeps for an hour.
#[derive(Debug, Default)]
struct HourWrites(u64);

impl<'json> FromJson<'json> for HourWrites {
    fn read_json(&mut self, json: &mut JsonReader<'json>) -> serde_json::Result<()> {
        let mut details = LenientObjects::<CacheDetail<'_>>::default();
        details.read_json(json)?;
        let hour = details.iter().filter(|detail| detail.ttl.as_str() == "1h");
        self.0 = hour.fold(0, |sum, detail| sum.saturating_add(detail.input_tokens.0));
        Ok(())
    }
}

impl MessageUsage {
    pub(crate) fn usage(&self) -> TokenUsage {
        let (cached, written) = (self.cache_read_input_tokens.0, self.cache_creation_input_tokens.0);
        TokenUsage {
            input: self.input_tokens.0.saturating_add(cached).saturating_add(written),
            cached,
            output: self.output_tokens.0,
            reasoning: self.output_tokens_details.as_ref().map_or(0, |details| details.thinking_tokens.0),
            cache_written: written,
            cache_written_1h: self
                .cache_creation
                .as_ref()
                .map_or(self.cache_details.0, |written| written.ephemeral_1h_input_tokens.0),
            ..TokenUsage::default()
        }
    }
}
