//! The reader of messages and their stream events, and the members that it reads.

use crate::codec::{EventSink, MessageReader, ResponseOrigin, WireCall};
use crate::content_blocks::{
    Beginning, BlockIdentity, ContentBlock, ContentBlocks, InputPlace, MessageProgress,
};
use crate::event::{Event, Finish, ProtocolError, malformed, out_of_place};
use crate::json_reader::{FromJson, JsonReader, json_objects};
use crate::lenient::{
    LenientCount, LenientObject, LenientObjects, LenientText, RawJson, RawObject, RawObjects,
    ServiceTier, WithRaw, parse_object,
};
use crate::repeats::LastEvent;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::HashSet;
use tool_core::trace::TokenUsage;

/// The type of the item that names the container in which code of the model runs. It is our own, as
/// the container is beside the content of a message.
pub(crate) const CONTAINER: &str = "container";

/// The type of the block at which another model takes over from one that was refused.
const FALLBACK: &str = "fallback";

/// The service tier of an answer of which several models have made a part. It has no price.
const SEVERAL_MODELS: &str = "several_models";

/// Reads Messages.
#[derive(Debug, Default)]
pub(crate) struct AnthropicReader {
    blocks: ContentBlocks,
    /// The content with which the message began, as JSON. It counts if the stream does not begin it
    /// anew.
    first_content: String,
    /// The counts of tokens so far. Members that an event leaves out keep their value.
    usage: LenientObject<MessageUsage>,
    /// The message's id.
    id: String,
    origin: ResponseOrigin,
    models: AnsweringModels,
    /// The items since the first call. They wait for the end, as a call is withdrawn if another
    /// model takes over.
    waiting_items: Vec<Value>,
    /// The id of the container in which code of the model runs; empty if none is named.
    container: String,
    progress: MessageProgress,
    /// True if the provider has reported the error that ends the stream.
    failed: bool,
    finish: Option<Finish>,
    /// The index of the block and the kind of the last event's piece.
    last_event: Option<LastEvent<(usize, BlockDelta)>>,
}

/// The models that make an answer.
#[derive(Debug, Default)]
struct AnsweringModels {
    /// The model that has begun it.
    first: String,
    /// The model that ends it.
    last: String,
}

impl AnsweringModels {
    /// Returns true if the model that ends the answer is another one than has begun it.
    fn are_several(&self) -> bool {
        without_date(&self.first) != without_date(&self.last)
    }
}

/// The kind of a piece of a block.
#[derive(Clone, Copy, Debug)]
enum BlockDelta {
    Text,
    Thinking,
    Signature,
    Input,
}

impl BlockDelta {
    /// Returns true if a block of a type has such pieces. Blocks of unknown types may have text.
    fn fits(self, block: &mut ContentBlock) -> bool {
        match block.item().get("type").and_then(Value::as_str) {
            Some("text") => matches!(self, Self::Text),
            Some("thinking") => matches!(self, Self::Thinking | Self::Signature),
            _ => matches!(self, Self::Input) == block.has_input(),
        }
    }
}

impl MessageReader for AnthropicReader {
    fn read(&mut self, name: &str, text: &str, sink: &mut EventSink<'_>) -> serde_json::Result<()> {
        if self.read_repeated(text, sink) {
            return Ok(());
        }
        self.last_event = None;
        let Some(event) = parse_object::<MessageEvent<'_>>(text)? else {
            sink.error(malformed("expected an object as an event", text));
            return Ok(());
        };
        let read = self.read_event(name, text, &event, sink);
        sink.tell(read, text)
    }

    fn finish(&mut self, sink: &mut EventSink<'_>) {
        match self.progress {
            MessageProgress::Begun if !self.failed => {
                sink.error(ProtocolError::Truncated { call_id: None });
            }
            // Some hosts leave `message_stop` out. All of the answer is there by then.
            MessageProgress::Ending if !self.failed => self.end(sink),
            _ => {}
        }
        *self = Self::default();
    }
}

impl AnthropicReader {
    /// Reads an event; returns false for an unknown one without a part of the answer.
    fn read_event(
        &mut self,
        name: &str,
        text: &str,
        event: &MessageEvent<'_>,
        sink: &mut EventSink<'_>,
    ) -> Result<bool, ProtocolError> {
        // Some hosts write the type as the name of the event only.
        match event.kind.0.as_deref().unwrap_or(name) {
            "message" if event.kind.0.is_some() => self.read_answer(text, event, sink)?,
            "message_start" => self.begin(text, event, sink)?,
            "content_block_start" => self.read_start(text, event, sink)?,
            "content_block_delta" => return self.read_delta(text, event, sink),
            "content_block_stop" => self.read_stop(text, event, sink)?,
            "message_delta" => self.read_end(event, sink)?,
            "message_stop" => self.stop(sink),
            "ping" => {}
            "error" => self.read_error(text, sink),
            _ if event.error.0.is_some() => self.read_error(text, sink),
            _ if !(event.delta.raw.is_empty() && event.content_block.raw.is_empty()) => {
                return Err(malformed(
                    "an event of an unknown type has a part of the answer",
                    text,
                ));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Reads a whole answer, which may repeat the message of the stream.
    fn read_answer(
        &mut self,
        text: &str,
        event: &MessageEvent<'_>,
        sink: &mut EventSink<'_>,
    ) -> Result<(), ProtocolError> {
        if self.progress != MessageProgress::Nothing && self.id != event.id.as_str() {
            self.begin_anew(sink);
        }
        let was_ended = self.progress == MessageProgress::Ended;
        self.progress = MessageProgress::Begun;
        event.id.as_str().clone_into(&mut self.id);
        self.first_content.clear();
        self.read_origin(event, sink);
        if event.content.raw.is_empty() {
            return Err(malformed("expected `content` in an answer", text));
        }
        self.read_content(&event.content, sink)?;
        self.read_usage(event.usage, sink);
        self.read_container(event.container);
        if was_ended {
            self.progress = MessageProgress::Ended;
            // What the message before did not have is an error of the gate.
            self.release_items(sink);
            return Ok(());
        }
        self.finish = finish_of(event.stop_reason.as_str());
        self.end(sink);
        Ok(())
    }

    /// Forgets the message before, which has to have ended.
    fn begin_anew(&mut self, sink: &mut EventSink<'_>) {
        if self.progress != MessageProgress::Ended {
            sink.error(out_of_place("a message began before the end of another"));
        }
        *self = Self::default();
    }

    fn begin(
        &mut self,
        text: &str,
        event: &MessageEvent<'_>,
        sink: &mut EventSink<'_>,
    ) -> Result<(), ProtocolError> {
        let Some(message) = event.message.object::<MessageEvent<'_>>() else {
            return Err(malformed(
                "expected an object as the `message` that begins",
                text,
            ));
        };
        if message.content.value.0.is_none() && !matches!(message.content.raw, "" | "null") {
            return Err(malformed(
                "expected an array as the `content` of a message",
                text,
            ));
        }
        let id = message.id.as_str();
        match self.progress {
            // Blocks before the first event of a message belong to it.
            MessageProgress::Begun | MessageProgress::Ending if self.id.is_empty() => {}
            MessageProgress::Begun | MessageProgress::Ending if self.id == id => return Ok(()),
            MessageProgress::Nothing => {}
            _ => self.begin_anew(sink),
        }
        if self.progress == MessageProgress::Nothing {
            self.progress = MessageProgress::Begun;
        }
        id.clone_into(&mut self.id);
        self.read_origin(&message, sink);
        self.read_usage(message.usage, sink);
        self.read_container(message.container);
        self.finish = finish_of(message.stop_reason.as_str()).or(self.finish.take());
        if message
            .content
            .value
            .0
            .as_ref()
            .is_some_and(|content| !content.is_empty())
        {
            message.content.raw.clone_into(&mut self.first_content);
        }
        Ok(())
    }

    /// Reads the id and the model of a message.
    fn read_origin(&mut self, message: &MessageEvent<'_>, sink: &mut EventSink<'_>) {
        let model = message.model.as_str();
        self.origin.emit(message.id.as_str(), model, sink);
        if self.models.last.is_empty() {
            model.clone_into(&mut self.models.first);
            model.clone_into(&mut self.models.last);
        }
    }

    /// Notes the model that ends the answer, and emits it if it is another one. The first name of a
    /// model stays, with its date or without.
    fn set_last_model(&mut self, model: &str, sink: &mut EventSink<'_>) {
        if model.is_empty() || without_date(&self.models.last) == without_date(model) {
            return;
        }
        model.clone_into(&mut self.models.last);
        sink.push(Event::Response {
            id: None,
            model: Some(model.to_owned()),
        });
    }

    /// Reads the block at which another model takes over. The calls before it are not a part of the
    /// turn any more.
    fn take_over(&mut self, block: &Value, sink: &mut EventSink<'_>) -> Result<(), ProtocolError> {
        let refused = block["from"]["model"].as_str().unwrap_or_default();
        // A whole answer may name the model that ends it as its own.
        if !refused.is_empty() && self.models.first == self.models.last {
            refused.clone_into(&mut self.models.first);
        }
        let next = block["to"]["model"].as_str().unwrap_or_default();
        self.set_last_model(next, sink);

        for item in self.blocks.withdraw_calls(sink)? {
            self.add_item(item, sink);
        }
        self.release_answered_items(sink);
        Ok(())
    }

    /// Emits the items that wait, without the calls that have no result among them.
    fn release_answered_items(&mut self, sink: &mut EventSink<'_>) {
        let items = std::mem::take(&mut self.waiting_items);
        let results = items
            .iter()
            .filter_map(|item| item["tool_use_id"].as_str().map(str::to_owned))
            .collect::<HashSet<_>>();
        for item in items {
            let is_answered = item["id"].as_str().is_some_and(|id| results.contains(id));
            if is_answered || !is_call_item(&item) {
                sink.push(Event::Item(item));
            }
        }
    }

    /// Emits the items that wait.
    fn release_items(&mut self, sink: &mut EventSink<'_>) {
        let items = std::mem::take(&mut self.waiting_items);
        sink.events.extend(items.into_iter().map(Event::Item));
    }

    /// Emits an item, or lets it wait behind a call.
    fn add_item(&mut self, item: Value, sink: &mut EventSink<'_>) {
        if self.waiting_items.is_empty() && !is_call_item(&item) {
            sink.push(Event::Item(item));
        } else {
            self.waiting_items.push(item);
        }
    }

    /// Reads the content with which the message began, unless the block of this index begins it
    /// anew.
    fn read_first_content(
        &mut self,
        next: Option<usize>,
        sink: &mut EventSink<'_>,
    ) -> Result<(), ProtocolError> {
        if self.first_content.is_empty() {
            return Ok(());
        }
        let raw = std::mem::take(&mut self.first_content);
        let mut content = WithRaw::<RawObjects<'_, MessageBlock<'_>>>::default();
        let is_read = content.read_json(&mut JsonReader::new(&raw)).is_ok();
        let length = content.value.0.as_ref().map_or(0, Vec::len);
        if is_read && next.is_none_or(|next| next >= length) {
            self.read_content(&content, sink)?;
        }
        Ok(())
    }

    fn read_content(
        &mut self,
        content: &WithRaw<'_, RawObjects<'_, MessageBlock<'_>>>,
        sink: &mut EventSink<'_>,
    ) -> Result<(), ProtocolError> {
        let Some(blocks) = &content.value.0 else {
            let is_null = content.raw == "null";
            return if is_null {
                Ok(())
            } else {
                Err(malformed("expected an array as `content`", content.raw))
            };
        };
        for (index, block) in blocks.iter().enumerate() {
            if self.begin_block(index, block, sink)? == Beginning::Open {
                return Err(out_of_place(format!(
                    "an answer came before the end of content block {index}"
                )));
            }
            self.complete(index, sink)?;
        }
        Ok(())
    }

    /// Ends a block.
    fn complete(&mut self, index: usize, sink: &mut EventSink<'_>) -> Result<(), ProtocolError> {
        if let Some(item) = self.blocks.complete(index, sink)? {
            self.add_item(item, sink);
        }
        Ok(())
    }

    /// Returns the error of a part that comes after the end.
    fn check_open(&self, index: usize) -> Result<(), ProtocolError> {
        match self.progress {
            MessageProgress::Nothing | MessageProgress::Begun => Ok(()),
            MessageProgress::Ending | MessageProgress::Ended => Err(out_of_place(format!(
                "a part of content block {index} came after the end of the message"
            ))),
        }
    }

    fn read_start(
        &mut self,
        text: &str,
        event: &MessageEvent<'_>,
        sink: &mut EventSink<'_>,
    ) -> Result<(), ProtocolError> {
        let index = event.block_index(text)?;
        self.check_open(index)?;
        self.read_first_content(Some(index), sink)?;
        self.progress = MessageProgress::Begun;
        if event.content_block.raw.is_empty() {
            return Err(malformed("expected the `content_block` that begins", text));
        }
        self.begin_block(index, &event.content_block, sink)
            .map(|_| ())
    }

    fn begin_block(
        &mut self,
        index: usize,
        block: &RawObject<'_, MessageBlock<'_>>,
        sink: &mut EventSink<'_>,
    ) -> Result<Beginning, ProtocolError> {
        let item = serde_json::from_str::<Value>(block.raw).ok();
        let Some((wire, mut item)) = block.object.as_ref().zip(item) else {
            return Err(malformed(
                "expected an object as a content block",
                block.raw,
            ));
        };
        let kind = wire.kind.as_str();
        let is_call = kind == "tool_use";
        if kind.is_empty() {
            return Err(malformed(
                "expected the `type` of a content block",
                block.raw,
            ));
        }
        if is_call && wire.name.0.is_none() {
            return Err(malformed("expected the `name` of a call", block.raw));
        }
        let id = wire.id.as_str().to_owned();
        let name = wire.name.as_str().to_owned();
        let identity = BlockIdentity {
            kind: kind.to_owned(),
            id: id.clone(),
            name: if is_call { name.clone() } else { String::new() },
        };
        let beginning = self.blocks.begin(index, &identity)?;
        match beginning {
            Beginning::Open => return Ok(beginning),
            Beginning::InPlaceOfAnother => self.complete(index, sink)?,
            Beginning::New | Beginning::Again => {}
        }
        if kind == FALLBACK && beginning != Beginning::Again {
            self.take_over(&item, sink)?;
        }

        let has_input = kind.ends_with("tool_use") || wire.input.0.is_some();
        if has_input && let Some(members) = item.as_object_mut() {
            members.entry("input").or_insert_with(|| json!({}));
        }
        let block = match kind {
            "text" => ContentBlock::text(item),
            _ if has_input => ContentBlock::other(item)
                .with_input(InputPlace::Object(&["input"]), &wire.input.text()),
            _ => ContentBlock::other(item),
        };
        if beginning == Beginning::Again {
            self.blocks.insert(index, identity, block);
            return Ok(beginning);
        }
        if is_call {
            self.blocks.insert_call(
                index,
                identity,
                block,
                WireCall { id, name, kind: "" },
                sink,
            );
            return Ok(beginning);
        }
        if has_input {
            self.blocks.note_provider_call();
        }
        sink.text(wire.text.as_str());
        sink.reasoning(wire.thinking.as_str());
        self.blocks.insert(index, identity, block);
        Ok(beginning)
    }

    /// Reads a piece of a block; returns false for one of an unknown kind that is no part of a call
    /// or a text.
    fn read_delta(
        &mut self,
        text: &str,
        event: &MessageEvent<'_>,
        sink: &mut EventSink<'_>,
    ) -> Result<bool, ProtocolError> {
        let index = event.block_index(text)?;
        self.check_open(index)?;
        self.read_first_content(None, sink)?;
        self.progress = MessageProgress::Begun;
        let Some(delta) = &event.delta.object else {
            return Err(malformed(
                "expected an object as the `delta` of a content block",
                text,
            ));
        };
        let Some(block) = self.blocks.open(index) else {
            let is_of_call = delta.kind.as_str() == "input_json_delta";
            return Err(self.blocks.misplaced_piece(index, is_of_call));
        };

        let (kind, piece) = match delta.kind.as_str() {
            "text_delta" => (BlockDelta::Text, &delta.text),
            "thinking_delta" => (BlockDelta::Thinking, &delta.thinking),
            "input_json_delta" => (BlockDelta::Input, &delta.partial_json),
            "signature_delta" => (BlockDelta::Signature, &delta.signature),
            "citations_delta" => return add_citation(block, delta, text).map(|()| true),
            "compaction_delta" => {
                replace_members(block, event.delta.raw);
                return Ok(true);
            }
            _ if block.has_input() || delta.has_piece() => {
                return Err(malformed("expected a piece of a known kind", text));
            }
            _ => return Ok(false),
        };
        if !kind.fits(block) {
            return Err(out_of_place(format!(
                "a piece of another kind of block came for content block {index}"
            )));
        }
        match piece.raw.as_bytes().first() {
            Some(b'"') => {}
            Some(b'n') => return Ok(true),
            _ => {
                return Err(malformed(
                    "expected a text as the piece of a content block",
                    text,
                ));
            }
        }
        append(block, kind, Cow::Borrowed(piece.as_str()), sink);
        self.last_event = LastEvent::new(text, [piece.raw], (index, kind));
        Ok(true)
    }

    /// Reads an event that repeats the last one but for its piece; returns false for another one.
    fn read_repeated(&mut self, text: &str, sink: &mut EventSink<'_>) -> bool {
        let Some(((index, kind), piece, [_])) = LastEvent::repeated(self.last_event.as_ref(), text)
        else {
            return false;
        };
        let Some(block) = self.blocks.open(*index) else {
            return false;
        };
        append(block, *kind, piece, sink);
        true
    }

    fn read_stop(
        &mut self,
        text: &str,
        event: &MessageEvent<'_>,
        sink: &mut EventSink<'_>,
    ) -> Result<(), ProtocolError> {
        let index = event.block_index(text)?;
        // Nothing of this message has come: the block belongs to another one.
        if self.progress == MessageProgress::Nothing {
            return Ok(());
        }
        self.read_first_content(None, sink)?;
        self.complete(index, sink)
    }

    fn read_end(
        &mut self,
        event: &MessageEvent<'_>,
        sink: &mut EventSink<'_>,
    ) -> Result<(), ProtocolError> {
        self.read_usage(event.usage, sink);
        if self.progress == MessageProgress::Ended {
            return Ok(());
        }
        if self.progress == MessageProgress::Nothing {
            self.progress = MessageProgress::Begun;
        }
        let raw = event.delta.raw;
        if event.delta.object.is_none() && !matches!(raw, "" | "null") {
            return Err(malformed(
                "expected an object as the `delta` of a message",
                raw,
            ));
        }
        let Some(delta) = RawJson(Some(raw)).object::<MessageEvent<'_>>() else {
            return Ok(());
        };
        self.read_container(delta.container);
        if let Some(reason) = finish_of(delta.stop_reason.as_str()) {
            self.finish = Some(reason);
            self.progress = MessageProgress::Ending;
        }
        Ok(())
    }

    fn read_container(&mut self, container: RawJson<'_>) {
        if let Some(id) = container.member("id").string() {
            self.container = id.into_owned();
        }
    }

    fn stop(&mut self, sink: &mut EventSink<'_>) {
        if matches!(
            self.progress,
            MessageProgress::Begun | MessageProgress::Ending
        ) {
            self.end(sink);
        }
    }

    fn end(&mut self, sink: &mut EventSink<'_>) {
        self.progress = MessageProgress::Ended;
        let finish = self.finish.take();
        let is_cut_off = matches!(
            finish,
            Some(Finish::Length | Finish::Filtered | Finish::Refused)
        );
        let ended = self
            .read_first_content(None, sink)
            .and_then(|()| self.blocks.end(is_cut_off, sink));
        self.release_items(sink);
        match ended {
            Ok(items) => sink.events.extend(items.into_iter().map(Event::Item)),
            Err(error) => return sink.error(error),
        }
        let container = std::mem::take(&mut self.container);
        if !container.is_empty() {
            sink.push(Event::Item(json!({"type": CONTAINER, "id": container})));
        }
        match finish {
            None => sink.error(out_of_place("the message ended without a reason")),
            Some(Finish::Stop) if self.blocks.has_calls() => sink.end(Finish::ToolCalls),
            // The provider has run the calls that it means.
            Some(Finish::ToolCalls)
                if !self.blocks.has_calls() && self.blocks.has_provider_calls() =>
            {
                sink.end(Finish::Stop);
            }
            Some(finish) => sink.end(finish),
        }
    }

    fn read_error(&mut self, text: &str, sink: &mut EventSink<'_>) {
        self.failed = true;
        if !sink.provider_error(text) {
            sink.error(malformed("the provider reports an error", text));
        }
    }

    fn read_usage(&mut self, usage: RawJson<'_>, sink: &mut EventSink<'_>) {
        let Some(counts) = usage.0.filter(|counts| counts.starts_with('{')) else {
            return;
        };
        if self.usage.read_json(&mut JsonReader::new(counts)).is_err() {
            return;
        }
        let last_model = self
            .usage
            .as_ref()
            .and_then(|usage| usage.passes.fallback_model.clone());
        self.set_last_model(&last_model.unwrap_or_default(), sink);
        if let Some(usage) = &*self.usage {
            sink.usage(usage.usage(), &usage.billed_tier(&self.models));
        }
    }
}

/// Returns the name of a model without the date of its version, which some places leave out.
fn without_date(model: &str) -> &str {
    match model.rsplit_once('-') {
        Some((name, date)) if date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit()) => {
            name
        }
        _ => model,
    }
}

/// Returns true for the item of a call, ours or the provider's.
fn is_call_item(item: &Value) -> bool {
    item["type"]
        .as_str()
        .is_some_and(|kind| kind.ends_with("tool_use"))
}

fn append(
    block: &mut ContentBlock,
    kind: BlockDelta,
    piece: Cow<'_, str>,
    sink: &mut EventSink<'_>,
) {
    let is_new = !block.is_repeated();
    match kind {
        BlockDelta::Input => block.append_input(piece, sink),
        BlockDelta::Signature => block.append_signature("", &piece, sink),
        BlockDelta::Text => {
            if is_new {
                sink.text(&piece);
            }
            block.append("", "text", &piece, sink);
        }
        BlockDelta::Thinking => {
            if is_new {
                sink.reasoning(&piece);
            }
            block.append("", "thinking", &piece, sink);
        }
    }
}

/// Takes over the members of a summary of earlier messages, which comes in one piece.
fn replace_members(block: &mut ContentBlock, delta: &str) {
    let members = serde_json::from_str::<Map<String, Value>>(delta).unwrap_or_default();
    if let Some(item) = block.item_mut().as_object_mut() {
        item.extend(members.into_iter().filter(|(name, _)| name != "type"));
    }
}

fn add_citation(
    block: &mut ContentBlock,
    delta: &MessageBlock<'_>,
    text: &str,
) -> Result<(), ProtocolError> {
    let Some(citation) = delta.citation.parse::<Value>() else {
        return Err(malformed("expected the `citation` of a piece", text));
    };
    let Some(item) = block.item_mut().as_object_mut() else {
        return Ok(());
    };
    let citations = item.entry("citations").or_insert(Value::Null);
    match citations {
        Value::Array(citations) => citations.push(citation),
        Value::Null => *citations = Value::Array(vec![citation]),
        _ => {}
    }
    Ok(())
}

fn finish_of(reason: &str) -> Option<Finish> {
    Some(match reason {
        "" => return None,
        "end_turn" | "stop_sequence" => Finish::Stop,
        "tool_use" => Finish::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        "refusal" => Finish::Refused,
        // A summary of earlier messages came, and the answer follows it.
        "pause_turn" | "compaction" => Finish::Paused,
        other => Finish::of_unlisted(other),
    })
}

json_objects! {
    /// A stream event, a whole answer, the message with which a stream begins, or the delta with
    /// which it ends.
    struct MessageEvent<'a> {
        kind: LenientText<'a> = "type",
        id: LenientText<'a>,
        model: LenientText<'a>,
        index: LenientText<'a>,
        content_block: RawObject<'a, MessageBlock<'a>>,
        delta: RawObject<'a, MessageBlock<'a>>,
        /// The message of `message_start`.
        message: RawJson<'a>,
        content: WithRaw<'a, RawObjects<'a, MessageBlock<'a>>>,
        stop_reason: LenientText<'a>,
        usage: RawJson<'a>,
        /// Of a whole answer, of the message of `message_start`, or of the delta of `message_delta`.
        container: RawJson<'a>,
        error: RawJson<'a>,
    }

    /// A content block, or a piece of one.
    struct MessageBlock<'a> {
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

impl MessageEvent<'_> {
    /// Returns the index of the block that the event is about.
    fn block_index(&self, text: &str) -> Result<usize, ProtocolError> {
        let index = self.index.as_str().parse();
        index.map_err(|_| malformed("expected the `index` of a content block", text))
    }
}

impl MessageBlock<'_> {
    /// Returns true if a piece has a member of which answers are made.
    fn has_piece(&self) -> bool {
        [
            self.text.raw,
            self.thinking.raw,
            self.partial_json.raw,
            self.signature.raw,
        ]
        .iter()
        .any(|raw| !raw.is_empty())
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
        passes: Passes = "iterations",
        service_tier: ServiceTier,
        speed: ServiceTier,
        /// The region of the servers, if not all of them may answer.
        inference_geo: InferenceRegion,
    }

    /// One of the requests to a model of which an answer is made.
    struct MessagePass<'a> {
        kind: LenientText<'a> = "type",
        model: LenientText<'a>,
        input_tokens: LenientCount,
        cache_creation_input_tokens: LenientCount,
        cache_read_input_tokens: LenientCount,
        cache_creation: LenientObject<CacheCreation>,
        output_tokens: LenientCount,
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

/// The region of the servers that answer; `None` if any may.
#[derive(Debug, Default)]
struct InferenceRegion(Option<String>);

impl<'json> FromJson<'json> for InferenceRegion {
    fn read_json(&mut self, json: &mut JsonReader<'json>) -> serde_json::Result<()> {
        let mut name = LenientText::default();
        name.read_json(json)?;
        let name = name.as_str().to_lowercase();
        self.0 = (!ANY_REGION.contains(&&*name)).then_some(name);
        Ok(())
    }
}

/// The names of no region.
const ANY_REGION: [&str; 3] = ["", "global", "not_available"];

/// The passes of which an answer is made.
#[derive(Debug, Default)]
struct Passes {
    /// The tokens of all passes. `None` if none of them did anything but answer: then the counts of
    /// the answer have all tokens. They leave out those of a summary or of an adviser.
    all: Option<BilledTokens>,
    /// The input of the last pass that answered.
    last_input: Option<u64>,
    /// The input of the largest pass.
    largest_input: u64,
    /// The model of each pass; empty for one that does not name it.
    models: Vec<String>,
    /// The model that has ended the answer in place of the requested one.
    fallback_model: Option<String>,
}

/// The counts by which tokens are billed.
#[derive(Clone, Copy, Debug, Default)]
struct BilledTokens {
    /// The input that is neither read from the cache nor written to it.
    input: u64,
    cached: u64,
    written: u64,
    written_1h: u64,
    output: u64,
}

impl<'json> FromJson<'json> for Passes {
    fn read_json(&mut self, json: &mut JsonReader<'json>) -> serde_json::Result<()> {
        let mut passes = LenientObjects::<MessagePass<'_>>::default();
        passes.read_json(json)?;
        *self = Self::default();
        let mut sum = BilledTokens::default();
        let mut only_answer = true;
        for pass in passes.iter() {
            let tokens = BilledTokens::of_pass(pass);
            sum.add(tokens);
            self.largest_input = self.largest_input.max(tokens.read());
            self.models.push(pass.model.as_str().to_owned());

            let kind = pass.kind.as_str();
            only_answer &= kind == "message";
            if matches!(kind, "message" | "fallback_message") {
                self.last_input = Some(tokens.read());
            }
            if kind == "fallback_message" {
                self.fallback_model = pass.model.0.as_deref().map(str::to_owned);
            }
        }
        self.all = (!only_answer).then_some(sum);
        Ok(())
    }
}

impl Passes {
    /// Returns true if a model has made a pass that is not the one that ends the answer. Without a
    /// list of passes, the one that has begun the answer has made one.
    fn has_other_model(&self, models: &AnsweringModels) -> bool {
        if self.models.is_empty() {
            return models.are_several();
        }
        let last = without_date(&models.last);
        !last.is_empty()
            && self.models.iter().any(|model| {
                let is_named = !model.is_empty();
                let model = if is_named { model } else { &models.first };
                without_date(model) != last
            })
    }
}

impl BilledTokens {
    /// Returns the tokens that were read, from the cache or not.
    fn read(self) -> u64 {
        self.input
            .saturating_add(self.cached)
            .saturating_add(self.written)
    }

    fn of_pass(pass: &MessagePass<'_>) -> Self {
        let written_1h = pass
            .cache_creation
            .as_ref()
            .map_or(0, |written| written.ephemeral_1h_input_tokens.0);
        Self {
            input: pass.input_tokens.0,
            cached: pass.cache_read_input_tokens.0,
            written: pass.cache_creation_input_tokens.0,
            written_1h,
            output: pass.output_tokens.0,
        }
    }

    fn add(&mut self, pass: Self) {
        for (sum, count) in [
            (&mut self.input, pass.input),
            (&mut self.cached, pass.cached),
            (&mut self.written, pass.written),
            (&mut self.written_1h, pass.written_1h),
            (&mut self.output, pass.output),
        ] {
            *sum = sum.saturating_add(count);
        }
    }
}

impl MessageUsage {
    pub(crate) fn usage(&self) -> TokenUsage {
        let answer = self.tokens_of_answer();
        let tokens = self.passes.all.unwrap_or(answer);
        // What the provider runs itself makes a pass of each step, and all are in the counts.
        let context = self.passes.last_input.unwrap_or(answer.read());
        let input_beside = tokens.read().saturating_sub(context);
        TokenUsage {
            input: tokens.read(),
            input_beside,
            input_at_once: if input_beside == 0 {
                0
            } else {
                self.passes.largest_input
            },
            cached: tokens.cached,
            output: tokens.output,
            reasoning: self
                .output_tokens_details
                .as_ref()
                .map_or(0, |details| details.thinking_tokens.0),
            cache_written: tokens.written,
            cache_written_1h: tokens.written_1h,
            ..TokenUsage::default()
        }
    }

    /// Returns the name under which the tokens of an answer by these models are billed.
    fn billed_tier(&self, models: &AnsweringModels) -> ServiceTier {
        if self.passes.has_other_model(models) {
            return ServiceTier(Some(SEVERAL_MODELS.to_owned()));
        }
        // The fast mode is billed like a tier, and so is a region.
        let speed = self.speed.0.as_deref().or(self.service_tier.0.as_deref());
        let region = self.inference_geo.0.as_deref();
        let names = [speed, region].into_iter().flatten().collect::<Vec<_>>();
        ServiceTier(Some(names.join("-")).filter(|name| !name.is_empty()))
    }

    fn tokens_of_answer(&self) -> BilledTokens {
        let written_1h = self
            .cache_creation
            .as_ref()
            .map_or(self.cache_details.0, |written| {
                written.ephemeral_1h_input_tokens.0
            });
        BilledTokens {
            input: self.input_tokens.0,
            cached: self.cache_read_input_tokens.0,
            written: self.cache_creation_input_tokens.0,
            written_1h,
            output: self.output_tokens.0,
        }
    }
}
