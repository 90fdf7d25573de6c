//! The reader of Converse answers and stream events, and the members that it reads.
#![allow(clippy::struct_field_names)] // The names are the provider's.

use crate::anthropic::read::MessageUsage;
use crate::codec::{EventSink, MessageReader, ResponseOrigin, WireCall};
use crate::content_blocks::{
    Beginning, BlockIdentity, ContentBlock, ContentBlocks, InputPlace, MessageProgress,
};
use crate::event::{Event, Finish, ProtocolError, malformed, out_of_place};
use crate::json_reader::json_objects;
use crate::lenient::{LenientObject, LenientText, RawJson, ServiceTier, WithRaw, parse_object};
use serde_json::{Value, json};

/// The place of the pieces of a thought in its item.
const THOUGHT: &str = "/reasoningContent/reasoningText";

/// Reads Converse.
#[derive(Debug, Default)]
pub(crate) struct ConverseReader {
    blocks: ContentBlocks,
    progress: MessageProgress,
    /// True if the provider has reported the error that ends the stream.
    failed: bool,
}

impl MessageReader for ConverseReader {
    fn read(
        &mut self,
        _name: &str,
        text: &str,
        sink: &mut EventSink<'_>,
    ) -> serde_json::Result<()> {
        let Some(event) = parse_object::<ConverseEvent<'_>>(text)? else {
            sink.error(malformed("expected an object as an event", text));
            return Ok(());
        };
        let read = self.read_event(text, &event, sink);
        sink.tell(read, text)
    }

    fn finish(&mut self, sink: &mut EventSink<'_>) {
        if self.progress == MessageProgress::Begun && !self.failed {
            sink.error(ProtocolError::Truncated { call_id: None });
        }
        *self = Self::default();
    }
}

impl ConverseReader {
    /// Reads an event; returns false for an unknown one without a part of the answer.
    fn read_event(
        &mut self,
        text: &str,
        event: &ConverseEvent<'_>,
        sink: &mut EventSink<'_>,
    ) -> Result<bool, ProtocolError> {
        if !event.content_block_delta.raw.is_empty() {
            return self.read_delta(event.content_block_delta.required(text)?, text, sink);
        }
        if event.output.0.is_some() {
            self.read_answer(event, text, sink)?;
        } else if event.message_start.0.is_some() {
            self.begin();
        } else if !event.content_block_start.raw.is_empty() {
            self.read_start(event.content_block_start.required(text)?, text, sink)?;
        } else if !event.content_block_stop.raw.is_empty() {
            self.read_stop(event.content_block_stop.required(text)?, text, sink)?;
        } else if !event.message_stop.raw.is_empty() {
            let stop = event.message_stop.required(text)?;
            self.end(stop.stop_reason.as_str(), sink)?;
        } else if let Some(metadata) = event.metadata.object::<ConverseEvent<'_>>() {
            emit_router_model(metadata.trace, sink);
            emit_usage(&metadata, sink);
        } else {
            return self.read_other(text);
        }
        Ok(true)
    }

    fn begin(&mut self) {
        if self.progress == MessageProgress::Nothing {
            self.progress = MessageProgress::Begun;
        }
    }

    /// Notes that a block of the message comes. Fails after the end of the message.
    fn go_on(&mut self, index: usize) -> Result<(), ProtocolError> {
        if self.progress == MessageProgress::Ended {
            return Err(out_of_place(format!(
                "a part of content block {index} came after the end of the message"
            )));
        }
        self.progress = MessageProgress::Begun;
        Ok(())
    }

    fn read_answer(
        &mut self,
        event: &ConverseEvent<'_>,
        text: &str,
        sink: &mut EventSink<'_>,
    ) -> Result<(), ProtocolError> {
        // It may repeat the message of the stream.
        let was_ended =
            std::mem::replace(&mut self.progress, MessageProgress::Begun) == MessageProgress::Ended;
        let content = event.output.member("message").member("content");
        let is_array = content.0.is_some_and(|content| content.starts_with('['));
        if !is_array {
            return Err(malformed(
                "expected an array as the `content` of an answer",
                text,
            ));
        }
        for (index, block) in content.items().into_iter().enumerate() {
            if self.begin_block(index, RawJson(Some(block)), block, sink)? == Beginning::Open {
                return Err(out_of_place(format!(
                    "an answer came before the end of content block {index}"
                )));
            }
            self.complete(index, sink)?;
        }
        emit_router_model(event.trace, sink);
        emit_usage(event, sink);
        if was_ended {
            self.progress = MessageProgress::Ended;
            return Ok(());
        }
        self.end(event.stop_reason.as_str(), sink)
    }

    /// Finds the place of a block that begins.
    fn begin_at(
        &mut self,
        index: usize,
        identity: &BlockIdentity,
        sink: &mut EventSink<'_>,
    ) -> Result<Beginning, ProtocolError> {
        let beginning = self.blocks.begin(index, identity)?;
        if beginning == Beginning::InPlaceOfAnother {
            self.complete(index, sink)?;
            return Ok(Beginning::New);
        }
        Ok(beginning)
    }

    fn read_start(
        &mut self,
        start: &BlockEvent<'_>,
        text: &str,
        sink: &mut EventSink<'_>,
    ) -> Result<(), ProtocolError> {
        let index = start.block_index(text)?;
        self.go_on(index)?;
        self.begin_block(index, start.start, text, sink).map(|_| ())
    }

    /// Reads a whole block or the beginning of one.
    fn begin_block(
        &mut self,
        index: usize,
        block: RawJson<'_>,
        text: &str,
        sink: &mut EventSink<'_>,
    ) -> Result<Beginning, ProtocolError> {
        let Some((wire, mut item)) = block
            .object::<ConverseBlock<'_>>()
            .zip(block.parse::<Value>())
        else {
            return Err(malformed("expected an object as a content block", text));
        };
        wire.check(text)?;
        if !wire.tool_use.raw.is_empty() {
            return self.begin_call(index, wire.tool_use.required(text)?, item, text, sink);
        }
        let identity = identity_of(&item);
        let beginning = self.begin_at(index, &identity, sink)?;
        if beginning == Beginning::Open {
            return Ok(beginning);
        }
        if beginning == Beginning::New {
            emit_texts(&item, sink);
        }
        // The parts of the result of a tool that the provider ran itself follow.
        if let Some(result) = item.get_mut("toolResult").and_then(Value::as_object_mut) {
            result.entry("content").or_insert_with(|| json!([]));
        }
        let is_text = item.get("text").is_some() || item.get("citationsContent").is_some();
        self.blocks.insert(
            index,
            identity,
            if is_text {
                ContentBlock::text(item)
            } else {
                ContentBlock::other(item)
            },
        );
        Ok(beginning)
    }

    fn begin_call(
        &mut self,
        index: usize,
        call: &ToolUse<'_>,
        mut item: Value,
        text: &str,
        sink: &mut EventSink<'_>,
    ) -> Result<Beginning, ProtocolError> {
        let Some(name) = call.name.0.as_deref() else {
            return Err(malformed("expected the `name` of a call", text));
        };
        let id = call.tool_use_id.as_str();
        let identity = BlockIdentity {
            kind: "toolUse".to_owned(),
            id: id.to_owned(),
            name: name.to_owned(),
        };
        let beginning = self.begin_at(index, &identity, sink)?;
        if beginning == Beginning::Open {
            return Ok(beginning);
        }
        if let Some(call) = item.get_mut("toolUse").and_then(Value::as_object_mut) {
            call.entry("input").or_insert_with(|| json!({}));
        }
        let block = ContentBlock::other(item).with_input(
            InputPlace::Object(&["toolUse", "input"]),
            &call.input.text(),
        );
        // A call of another type, such as `server_tool_use`, is one that the provider runs itself.
        let is_ours = matches!(call.kind.as_str(), "" | "tool_use");
        if beginning == Beginning::New && is_ours {
            let wire = WireCall {
                id: id.to_owned(),
                name: name.to_owned(),
                kind: "",
            };
            self.blocks.insert_call(index, identity, block, wire, sink);
            return Ok(beginning);
        }
        if !is_ours {
            self.blocks.note_provider_call();
        }
        self.blocks.insert(index, identity, block);
        Ok(beginning)
    }

    /// Reads a piece of a block; returns false for one of an unknown kind that is no part of a
    /// call.
    fn read_delta(
        &mut self,
        event: &BlockEvent<'_>,
        text: &str,
        sink: &mut EventSink<'_>,
    ) -> Result<bool, ProtocolError> {
        let index = event.block_index(text)?;
        self.go_on(index)?;
        let delta = event.delta.required(text)?;
        delta.check(text)?;
        let Some(block) = self.blocks.open(index) else {
            // Text and thoughts begin with their first piece.
            let first = block_of(delta).filter(|_| !self.blocks.has_had(index));
            let Some(mut block) = first else {
                let is_of_call = !delta.tool_use.raw.is_empty();
                return Err(self.blocks.misplaced_piece(index, is_of_call));
            };
            let identity = identity_of(block.item());
            self.begin_at(index, &identity, sink)?;
            let is_known = append_delta(&mut block, delta, text, sink)?;
            self.blocks.insert(index, identity, block);
            return Ok(is_known);
        };
        // Some models announce a text without saying that it is one.
        if block.is_blank()
            && let Some(first) = block_of(delta)
        {
            *block = first;
        }
        append_delta(block, delta, text, sink)
    }

    fn read_stop(
        &mut self,
        stop: &BlockEvent<'_>,
        text: &str,
        sink: &mut EventSink<'_>,
    ) -> Result<(), ProtocolError> {
        let index = stop.block_index(text)?;
        self.begin();
        self.complete(index, sink)
    }

    /// Ends a block.
    fn complete(&mut self, index: usize, sink: &mut EventSink<'_>) -> Result<(), ProtocolError> {
        let item = self.blocks.complete(index, sink)?;
        sink.events.extend(item.map(Event::Item));
        Ok(())
    }

    fn end(&mut self, reason: &str, sink: &mut EventSink<'_>) -> Result<(), ProtocolError> {
        if std::mem::replace(&mut self.progress, MessageProgress::Ended) == MessageProgress::Ended {
            return Ok(());
        }
        let finish =
            finish_of(reason).ok_or_else(|| out_of_place("the message ended without a reason"))?;
        let is_cut_off = matches!(finish, Finish::Length | Finish::Filtered | Finish::Refused);
        let items = self.blocks.end(is_cut_off, sink)?;
        sink.events.extend(items.into_iter().map(Event::Item));
        sink.end(match finish {
            Finish::Stop if self.blocks.has_calls() => Finish::ToolCalls,
            // The provider has run the calls that it means.
            Finish::ToolCalls if !self.blocks.has_calls() && self.blocks.has_provider_calls() => {
                Finish::Stop
            }
            finish => finish,
        });
        Ok(())
    }

    /// Reads an event of another kind: an error, the answer to a request that was refused, or an
    /// unknown one.
    fn read_other(&mut self, text: &str) -> Result<bool, ProtocolError> {
        let event = serde_json::from_str::<Value>(text).unwrap_or_default();
        let Some(members) = event.as_object() else {
            return Ok(false);
        };
        let exception = members.iter().find(|(name, _)| name.ends_with("Exception"));
        let code = exception
            .map(|(name, _)| name.as_str())
            .or_else(|| members.get("__type")?.as_str());
        let error = exception.map_or(&event, |(_, error)| error);
        let message = error
            .get("message")
            .or_else(|| error.get("Message"))
            .and_then(Value::as_str);
        if code.is_some() || message.is_some() {
            self.failed = true;
            let message = message
                .unwrap_or("the stream ended with an error")
                .to_owned();
            return Err(ProtocolError::of_provider(code.map(str::to_owned), message));
        }
        let is_part = |(name, value): (&String, &Value)| {
            name.starts_with("contentBlock")
                || value.get("delta").is_some()
                || value.get("start").is_some()
        };
        if members.iter().any(is_part) {
            return Err(malformed(
                "an event of an unknown kind has a part of the answer",
                text,
            ));
        }
        Ok(false)
    }
}

/// Returns the identity of a block that is no call.
fn identity_of(item: &Value) -> BlockIdentity {
    let member = item.as_object().and_then(|item| item.iter().next());
    let id = member
        .and_then(|(_, value)| value.get("toolUseId"))
        .and_then(Value::as_str);
    BlockIdentity {
        kind: member.map(|(name, _)| name.clone()).unwrap_or_default(),
        id: id.unwrap_or_default().to_owned(),
        name: String::new(),
    }
}

/// Emits the texts and thoughts with which a block begins.
fn emit_texts(item: &Value, sink: &mut EventSink<'_>) {
    let text_of =
        |text: Option<&Value>| text.and_then(Value::as_str).unwrap_or_default().to_owned();
    sink.reasoning(&text_of(
        item.pointer("/reasoningContent/reasoningText/text"),
    ));
    sink.text(&text_of(item.get("text")));
    for part in item
        .pointer("/citationsContent/content")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        sink.text(&text_of(part.get("text")));
    }
}

/// Returns the block that a piece can begin.
fn block_of(delta: &ConverseBlock<'_>) -> Option<ContentBlock> {
    match &*delta.reasoning_content.value {
        Some(Reasoning {
            redacted_content: LenientText(Some(_)),
            ..
        }) => Some(ContentBlock::other(
            json!({"reasoningContent": {"redactedContent": ""}}),
        )),
        Some(_) => Some(ContentBlock::other(
            json!({"reasoningContent": {"reasoningText": {"text": ""}}}),
        )),
        None if !delta.text.raw.is_empty() || delta.citation.0.is_some() => {
            Some(ContentBlock::text(json!({"text": ""})))
        }
        None => None,
    }
}

/// Adds a piece to a block; returns false for a piece of an unknown kind.
fn append_delta(
    block: &mut ContentBlock,
    delta: &ConverseBlock<'_>,
    text: &str,
    sink: &mut EventSink<'_>,
) -> Result<bool, ProtocolError> {
    let has_input = block.has_input();
    let item = block.item();
    let has = |member: &str| item.get(member).is_some();
    let is_text = has("text") || has("citationsContent");
    let pieces = [
        (!delta.text.raw.is_empty(), is_text),
        (delta.citation.0.is_some(), is_text),
        (!delta.tool_use.raw.is_empty(), has_input),
        (
            !delta.reasoning_content.raw.is_empty(),
            has("reasoningContent"),
        ),
        (delta.tool_result.0.is_some(), has("toolResult")),
    ];
    if pieces.iter().any(|(came, fits)| *came && !fits) {
        return Err(out_of_place(
            "a piece came for a content block of another kind",
        ));
    }
    if !pieces.iter().any(|(came, _)| *came) {
        if has_input {
            return Err(malformed("expected a piece of a call", text));
        }
        return Ok(append_image(block, delta, sink));
    }

    if !delta.text.raw.is_empty() {
        append_text(block, delta.text.value.as_str(), sink);
    }
    if !delta.tool_use.raw.is_empty() {
        let input = delta.tool_use.required(text)?.input;
        if input.0.is_none() {
            return Err(malformed("expected the `input` of a piece of a call", text));
        }
        block.append_input(input.text(), sink);
    }
    if !delta.reasoning_content.raw.is_empty() {
        append_thought(block, delta.reasoning_content.required(text)?, text, sink)?;
    }
    if delta.tool_result.0.is_some() {
        let parts = delta.tool_result.parse::<Vec<Value>>();
        let parts =
            parts.ok_or_else(|| malformed("expected an array as the parts of a result", text))?;
        extend_array(block.item_mut(), "/toolResult/content", parts);
    }
    if let Some(citation) = delta.citation.parse::<Value>() {
        add_citation(block.item_mut(), citation);
    }
    Ok(true)
}

fn append_text(block: &mut ContentBlock, piece: &str, sink: &mut EventSink<'_>) {
    if !block.is_repeated() {
        sink.text(piece);
    }
    let is_cited = block.item().get("citationsContent").is_some();
    block.append(
        if is_cited {
            "/citationsContent/content/0"
        } else {
            ""
        },
        "text",
        piece,
        sink,
    );
}

fn append_thought(
    block: &mut ContentBlock,
    thought: &Reasoning<'_>,
    text: &str,
    sink: &mut EventSink<'_>,
) -> Result<(), ProtocolError> {
    let members = [&thought.text, &thought.signature, &thought.redacted_content];
    if members.iter().all(|member| member.0.is_none()) {
        return Err(malformed("expected a piece of a thought", text));
    }
    if !block.is_repeated() {
        sink.reasoning(thought.text.as_str());
    }
    block.append(THOUGHT, "text", thought.text.as_str(), sink);
    block.append_signature(THOUGHT, thought.signature.as_str(), sink);
    if !append_blob(
        block,
        "/reasoningContent",
        "redactedContent",
        thought.redacted_content.as_str(),
        sink,
    ) {
        return Err(out_of_place("a piece of a thought came after its end"));
    }
    Ok(())
}

/// Adds a piece of an image; returns false if the piece is something else.
fn append_image(
    block: &mut ContentBlock,
    delta: &ConverseBlock<'_>,
    sink: &mut EventSink<'_>,
) -> bool {
    let bytes = delta.image.member("source").member("bytes").string();
    let Some((bytes, image)) = bytes.zip(
        block
            .item_mut()
            .get_mut("image")
            .and_then(Value::as_object_mut),
    ) else {
        return false;
    };
    image.entry("source").or_insert_with(|| json!({}));
    append_blob(block, "/image/source", "bytes", &bytes, sink)
}

/// Appends to bytes in base64, which comes again without harm; returns false if they have ended.
fn append_blob(
    block: &mut ContentBlock,
    pointer: &'static str,
    member: &'static str,
    piece: &str,
    sink: &mut EventSink<'_>,
) -> bool {
    let object = block.item().pointer(pointer);
    let before = object
        .and_then(|object| object.get(member))
        .and_then(Value::as_str)
        .unwrap_or_default();
    if before.ends_with('=') && !piece.is_empty() {
        return before == piece;
    }
    block.append(pointer, member, piece, sink);
    true
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
    let model = trace
        .pointer("/promptRouter/invokedModelId")
        .and_then(Value::as_str);
    ResponseOrigin::default().emit("", model.unwrap_or_default(), sink);
}

fn emit_usage(event: &ConverseEvent<'_>, sink: &mut EventSink<'_>) {
    if let Some(usage) = &*event.usage {
        sink.usage(usage.usage(), &event.service_tier);
    }
}

fn finish_of(reason: &str) -> Option<Finish> {
    Some(match reason {
        "" => return None,
        "end_turn" | "stop_sequence" => Finish::Stop,
        "tool_use" => Finish::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        "guardrail_intervened" | "content_filtered" => Finish::Filtered,
        other => Finish::of_unlisted(other),
    })
}

impl BlockEvent<'_> {
    /// Returns the index of the block that the event is about.
    fn block_index(&self, text: &str) -> Result<usize, ProtocolError> {
        let index = self.content_block_index.as_str().parse();
        index.map_err(|_| malformed("expected the `contentBlockIndex` of a content block", text))
    }
}

impl ConverseBlock<'_> {
    /// Fails for a known member of another type.
    fn check(&self, text: &str) -> Result<(), ProtocolError> {
        if !matches!(self.text.raw.as_bytes().first(), None | Some(b'"' | b'n')) {
            return Err(malformed(
                "expected a text as the `text` of a content block",
                text,
            ));
        }
        for (raw, is_object) in [
            (self.tool_use.raw, self.tool_use.value.is_some()),
            (
                self.reasoning_content.raw,
                self.reasoning_content.value.is_some(),
            ),
        ] {
            if !is_object && !raw.is_empty() {
                return Err(malformed(
                    "expected an object as a member of a content block",
                    text,
                ));
            }
        }
        Ok(())
    }
}

impl<T> WithRaw<'_, LenientObject<T>> {
    /// Returns the object. Fails for another value.
    fn required(&self, text: &str) -> Result<&T, ProtocolError> {
        self.value
            .as_ref()
            .ok_or_else(|| malformed("expected an object as a member of an event", text))
    }
}

json_objects! {
    /// A stream event, a whole answer, or the metadata at the end of a stream.
    struct ConverseEvent<'a> {
        message_start: RawJson<'a> = "messageStart",
        content_block_start: WithRaw<'a, LenientObject<BlockEvent<'a>>> = "contentBlockStart",
        content_block_delta: WithRaw<'a, LenientObject<BlockEvent<'a>>> = "contentBlockDelta",
        content_block_stop: WithRaw<'a, LenientObject<BlockEvent<'a>>> = "contentBlockStop",
        message_stop: WithRaw<'a, LenientObject<BlockEvent<'a>>> = "messageStop",
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
        delta: WithRaw<'a, LenientObject<ConverseBlock<'a>>>,
        /// The reason, of the event that ends the message.
        stop_reason: LenientText<'a> = "stopReason",
    }

    /// A content block, or a piece of one.
    struct ConverseBlock<'a> {
        text: WithRaw<'a, LenientText<'a>>,
        tool_use: WithRaw<'a, LenientObject<ToolUse<'a>>> = "toolUse",
        reasoning_content: WithRaw<'a, LenientObject<Reasoning<'a>>> = "reasoningContent",
        /// Pieces of the result of a tool that the provider ran itself.
        tool_result: RawJson<'a> = "toolResult",
        citation: RawJson<'a>,
        image: RawJson<'a>,
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
