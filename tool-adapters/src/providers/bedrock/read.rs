//! Answers and their events, to ours.

use crate::providers::bedrock::wire::{
    Block as Content, Counts, Delta, Event as Wire, Reasoning, Start, ToolUse, Trace,
};
use crate::providers::blocks::{Block, Blocks};
use crate::providers::codec::Out;
use crate::providers::event::{Event, Finish, Origin, ProtocolError};
use crate::providers::fields::{Json, Object, Text};
use crate::providers::ids;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The events that say that something went wrong.
const FAILURES: [&str; 5] = [
    "internalServerException",
    "modelStreamErrorException",
    "validationException",
    "throttlingException",
    "serviceUnavailableException",
];

/// The message that is being read.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    blocks: Blocks,
    begun: bool,
    /// The provider has said why the stream ends early.
    failed: bool,
}

impl Reader {
    pub(crate) fn read(&mut self, text: &str, out: &mut Out<'_>) {
        let Some(Object(event)) = out.parse::<Object<Wire<'_>>>(text) else { return };
        let Some(event) = event else { return out.unknown(text) };
        let known = if let Some(output) = &*event.output {
            self.whole(output.message.as_ref().map_or_else(Json::default, |message| message.content), &event, out)
        } else if event.message_start.0.is_some() {
            !std::mem::replace(&mut self.begun, true)
        } else if let Some(start) = &*event.content_block_start {
            self.begin(start, out)
        } else if let Some(piece) = &*event.content_block_delta {
            piece.delta.as_ref().is_some_and(|delta| self.delta(piece.content_block_index.or_empty(), delta, out))
        } else if let Some(stop) = &*event.content_block_stop {
            self.blocks.end(stop.content_block_index.or_empty(), out)
        } else if let Some(stop) = &*event.message_stop {
            self.begun && self.stop(stop.stop_reason.or_empty(), out)
        } else if let Some(metadata) = &*event.metadata {
            chosen(&metadata.trace, out);
            count(&metadata.usage, out);
            true
        } else {
            self.fail(text, out)
        };
        if !known {
            out.unknown(text);
        }
    }

    /// The bytes are over: a message that has not said so was cut off.
    pub(crate) fn finish(&mut self, out: &mut Out<'_>) {
        if self.begun {
            self.blocks.over(out);
            if !self.failed {
                out.error(ProtocolError::Truncated { call_id: None });
            }
        }
        *self = Self::default();
    }

    fn whole(&mut self, content: Json<'_>, event: &Wire<'_>, out: &mut Out<'_>) -> bool {
        // Whatever was open belongs to another message.
        self.finish(out);
        for (index, block) in content.read::<Vec<&RawValue>>().unwrap_or_default().into_iter().enumerate() {
            let key = index.to_string();
            self.block(&key, Json(Some(block)), out);
            self.blocks.end(&key, out);
        }
        chosen(&event.trace, out);
        count(&event.usage, out);
        self.stop(event.stop_reason.or_empty(), out)
    }

    fn begin(&mut self, start: &Start<'_>, out: &mut Out<'_>) -> bool {
        self.begun = true;
        self.block(start.content_block_index.or_empty(), start.start, out)
    }

    /// A block that is whole, or how one starts.
    fn block(&mut self, key: &str, block: Json<'_>, out: &mut Out<'_>) -> bool {
        let Some((content, mut item)) = block.read::<Content<'_>>().zip(block.read::<Value>()) else { return false };
        if let Some(call) = &*content.tool_use {
            return self.call(key, call, item, out);
        }
        if let Some(thought) = &*content.reasoning_content {
            out.reasoning(thought.reasoning_text.as_ref().map_or("", |thought| thought.text.or_empty()));
        }
        out.text(content.text.or_empty());
        let cited = content.citations_content.as_ref().and_then(|cited| cited.content.read::<Vec<Content<'_>>>());
        for part in cited.unwrap_or_default() {
            out.text(part.text.or_empty());
        }
        // A result that the provider made itself, whose parts are to come.
        if let Some(result) = item.get_mut("toolResult").and_then(Value::as_object_mut) {
            result.entry("content").or_insert_with(|| json!([]));
        }
        let is_text = content.text.0.is_some() || content.citations_content.is_some();
        self.blocks.begin(key, if is_text { Block::text(item) } else { Block::other(item) })
    }

    fn call(&mut self, key: &str, call: &ToolUse<'_>, mut item: Value, out: &mut Out<'_>) -> bool {
        const INPUT: &str = "/toolUse/input";
        if let Some(call) = item.get_mut("toolUse").and_then(Value::as_object_mut) {
            call.entry("input").or_insert_with(|| json!({}));
        }
        let owned = |text: &Text<'_>| text.or_empty().to_owned();
        let begun = if call.kind.or_empty() == "server_tool_use" {
            self.blocks.begin(key, Block::other(item).with_input(INPUT))
        } else {
            let wire = ids::Wire { id: owned(&call.tool_use_id), name: owned(&call.name), ..ids::Wire::default() };
            self.blocks.begin_call(key, item, INPUT, wire, out)
        };
        let input = call.input.text();
        if !matches!(input.trim_ascii(), "" | "{}")
            && let Some(block) = self.blocks.open(key).filter(|_| begun)
        {
            block.add_input(&input, out);
        }
        begun
    }

    fn delta(&mut self, key: &str, delta: &Delta<'_>, out: &mut Out<'_>) -> bool {
        self.begun = true;
        if self.blocks.open(key).is_none() {
            if self.blocks.knows(key) {
                return false;
            }
            // Text and thoughts begin with their first piece.
            let Some(block) = opened_by(delta) else {
                out.error(ProtocolError::Orphan { key: key.to_owned() });
                return true;
            };
            self.blocks.begin(key, block);
        }
        let Some(block) = self.blocks.open(key) else { return false };
        piece(block, delta, out)
    }

    fn stop(&mut self, reason: &str, out: &mut Out<'_>) -> bool {
        self.blocks.over(out);
        if reason.starts_with("malformed_") {
            let message = "the model's answer could not be used".to_owned();
            out.error(ProtocolError::Provider { code: Some(reason.to_owned()), message });
        }
        out.push(Event::Finished(match finish_of(reason) {
            Finish::Stop if self.blocks.called() => Finish::ToolCalls,
            finish => finish,
        }));
        *self = Self::default();
        true
    }

    /// An error: an event of its own, or the answer to a request that was refused.
    fn fail(&mut self, text: &str, out: &mut Out<'_>) -> bool {
        let event = serde_json::from_str::<Value>(text).unwrap_or_default();
        let failure = FAILURES.iter().find_map(|name| Some((Some(*name), event.get(name)?)));
        let (code, error) = failure.unwrap_or((event.get("__type").and_then(Value::as_str), &event));
        let Some(message) = error.get("message").or_else(|| error.get("Message")).and_then(Value::as_str) else {
            return false;
        };
        self.failed = true;
        out.error(ProtocolError::Provider { code: code.map(str::to_owned), message: message.to_owned() });
        true
    }
}

/// The block that a piece begins, where it can.
fn opened_by(delta: &Delta<'_>) -> Option<Block> {
    match &*delta.reasoning_content {
        Some(Reasoning { redacted_content: Text(Some(_)), .. }) => {
            Some(Block::other(json!({"reasoningContent": {"redactedContent": ""}})))
        }
        Some(_) => Some(Block::other(json!({"reasoningContent": {"reasoningText": {"text": ""}}}))),
        None if delta.text.0.is_some() || delta.citation.0.is_some() => Some(Block::text(json!({"text": ""}))),
        None => None,
    }
}

/// A piece of a block; `false` where it is of an unknown kind.
fn piece(block: &mut Block, delta: &Delta<'_>, out: &mut Out<'_>) -> bool {
    const THOUGHT: &str = "/reasoningContent/reasoningText";
    let mut known = false;
    if let Some(text) = delta.text.0.as_deref() {
        known = true;
        out.text(text);
        let cited = block.item().get("citationsContent").is_some();
        block.append(if cited { "/citationsContent/content/0" } else { "" }, "text", text, out);
    }
    if let Some(call) = &*delta.tool_use {
        known = true;
        block.add_input(&call.input.text(), out);
    }
    if let Some(thought) = &*delta.reasoning_content {
        known = true;
        out.reasoning(thought.text.or_empty());
        block.append(THOUGHT, "text", thought.text.or_empty(), out);
        block.append(THOUGHT, "signature", thought.signature.or_empty(), out);
        block.append("/reasoningContent", "redactedContent", thought.redacted_content.or_empty(), out);
    }
    if let Some(parts) = delta.tool_result.read::<Vec<Value>>() {
        known = true;
        extend(block.item().pointer_mut("/toolResult/content"), parts);
    }
    if let Some(citation) = delta.citation.read::<Value>().filter(|citation| !citation.is_null()) {
        known = true;
        cite(block.item(), citation);
    }
    known
}

/// Text becomes cited text with its first citation.
fn cite(item: &mut Value, citation: Value) {
    if let Some(text) = item.get("text").cloned() {
        *item = json!({"citationsContent": {"content": [{"text": text}], "citations": []}});
    }
    extend(item.pointer_mut("/citationsContent/citations"), vec![citation]);
}

fn extend(array: Option<&mut Value>, more: Vec<Value>) {
    if let Some(array) = array.and_then(Value::as_array_mut) {
        array.extend(more);
    }
}

/// The model that a router chose: else nothing says which it is.
fn chosen(trace: &Object<Trace<'_>>, out: &mut Out<'_>) {
    let router = trace.as_ref().and_then(|trace| trace.prompt_router.as_ref());
    Origin::default().tell("", router.map_or("", |router| router.invoked_model_id.or_empty()), out);
}

fn count(usage: &Object<Counts>, out: &mut Out<'_>) {
    out.events.extend(usage.map(|counts| Event::Usage(counts.usage())));
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
