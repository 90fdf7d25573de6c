//! Answers and their events, to ours.

use crate::providers::anthropic::wire::{Content, Counts, Delta, Event};
use crate::providers::blocks::{Block, Blocks};
use crate::providers::codec::Out;
use crate::providers::event;
use crate::providers::event::{Finish, Origin, ProtocolError, provider_error};
use crate::providers::fields::{Json, Object};
use crate::providers::ids::Wire;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The message that is being read.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    blocks: Blocks,
    counts: Counts,
    /// The message's id.
    id: String,
    origin: Origin,
    begun: bool,
    /// The provider has said why the stream ends early.
    failed: bool,
    finish: Option<Finish>,
}

impl Reader {
    pub(crate) fn read(&mut self, name: &str, text: &str, out: &mut Out<'_>) {
        let Some(Object(event)) = out.parse::<Object<Event<'_>>>(text) else { return };
        let Some(event) = event else { return out.unknown(text) };
        let known = match event.kind.or_empty() {
            "message" => self.whole(&event, out),
            "message_start" => self.start(&event, out),
            "content_block_start" => self.begin(event.index.or_empty(), event.content_block, out),
            "content_block_delta" => self.delta(&event, out),
            "content_block_stop" => self.blocks.end(event.index.or_empty(), out),
            "message_delta" => self.end(&event, out),
            "message_stop" => self.stop(out),
            "ping" => true,
            "error" => self.fail(text, out),
            "" if name == "error" => self.fail(text, out),
            _ => false,
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
            if let Some(finish) = self.finish.take() {
                out.push(event::Event::Finished(finish));
            }
        }
        *self = Self::default();
    }

    fn whole(&mut self, event: &Event<'_>, out: &mut Out<'_>) -> bool {
        // Whatever was open belongs to another message.
        self.finish(out);
        self.origin.tell(event.id.or_empty(), event.model.or_empty(), out);
        self.content(event.content, out);
        self.finish = finish_of(event.stop_reason.or_empty());
        self.count(&event.usage, out);
        self.stop_message(out);
        true
    }

    fn start(&mut self, event: &Event<'_>, out: &mut Out<'_>) -> bool {
        let message = event.message.read::<Event<'_>>();
        let id = message.as_ref().map_or("", |message| message.id.or_empty());
        if self.begun && self.id == id {
            return false;
        }
        // Where it comes late, what came before it is its own.
        if !self.id.is_empty() {
            self.finish(out);
        }
        self.begun = true;
        id.clone_into(&mut self.id);
        if let Some(message) = &message {
            self.origin.tell(id, message.model.or_empty(), out);
            self.content(message.content, out);
            self.count(&message.usage, out);
        }
        true
    }

    fn content(&mut self, content: Json<'_>, out: &mut Out<'_>) {
        for (index, block) in content.read::<Vec<&RawValue>>().unwrap_or_default().into_iter().enumerate() {
            let key = index.to_string();
            self.begin(&key, Json(Some(block)), out);
            self.blocks.end(&key, out);
        }
    }

    fn begin(&mut self, key: &str, block: Json<'_>, out: &mut Out<'_>) -> bool {
        let Some((content, item)) = block.read::<Content<'_>>().zip(block.read::<Value>()) else { return false };
        self.begun = true;
        let begun = match content.kind.or_empty() {
            "tool_use" => {
                let wire = Wire {
                    id: content.id.or_empty().to_owned(),
                    name: content.name.or_empty().to_owned(),
                    ..Wire::default()
                };
                self.blocks.begin_call(key, item, "/input", wire, out)
            }
            "text" => self.blocks.begin(key, Block::text(item)),
            // Whatever has an input: the calls that the provider runs itself.
            _ if content.input.0.is_some() => self.blocks.begin(key, Block::other(item).with_input("/input")),
            _ => self.blocks.begin(key, Block::other(item)),
        };
        if begun {
            out.text(content.text.or_empty());
            out.reasoning(content.thinking.or_empty());
            self.given(key, &content, out);
        }
        begun
    }

    /// The input of a block that is whole as it begins, digit by digit. One of a stream begins with `{}`.
    fn given(&mut self, key: &str, content: &Content<'_>, out: &mut Out<'_>) {
        let input = content.input.text();
        if !matches!(input.trim_ascii(), "" | "{}")
            && let Some(block) = self.blocks.open(key)
        {
            block.add_input(&input, out);
        }
    }

    fn delta(&mut self, event: &Event<'_>, out: &mut Out<'_>) -> bool {
        let Some(delta) = event.delta.read::<Delta<'_>>() else { return false };
        let key = event.index.or_empty();
        let Some(block) = self.blocks.open(key) else {
            if delta.kind.or_empty() != "input_json_delta" || self.blocks.knows(key) {
                return false;
            }
            out.error(ProtocolError::Orphan { key: key.to_owned() });
            return true;
        };
        if delta.kind.or_empty() == "compaction_delta" {
            return compact(block, event.delta);
        }
        piece(block, &delta, out)
    }

    fn end(&mut self, event: &Event<'_>, out: &mut Out<'_>) -> bool {
        self.begun = true;
        let delta = event.delta.read::<Delta<'_>>();
        let reason = delta.and_then(|delta| finish_of(delta.stop_reason.or_empty()));
        self.finish = reason.or(self.finish.take());
        self.count(&event.usage, out);
        true
    }

    fn stop(&mut self, out: &mut Out<'_>) -> bool {
        let begun = self.begun;
        if begun {
            self.stop_message(out);
        }
        begun
    }

    fn stop_message(&mut self, out: &mut Out<'_>) {
        self.blocks.over(out);
        let finish = match self.finish.take() {
            None | Some(Finish::Stop) if self.blocks.called() => Finish::ToolCalls,
            finish => finish.unwrap_or(Finish::Stop),
        };
        out.push(event::Event::Finished(finish));
        *self = Self::default();
    }

    fn fail(&mut self, text: &str, out: &mut Out<'_>) -> bool {
        let error = serde_json::from_str(text).ok().as_ref().and_then(provider_error);
        self.failed |= error.is_some();
        error.map(|error| out.error(error)).is_some()
    }

    fn count(&mut self, usage: &Object<Counts>, out: &mut Out<'_>) {
        if let Some(counts) = &**usage {
            self.counts.update(counts);
            out.push(event::Event::Usage(self.counts.usage()));
        }
    }
}

/// A piece of a block; `false` where it is of an unknown kind.
fn piece(block: &mut Block, delta: &Delta<'_>, out: &mut Out<'_>) -> bool {
    match delta.kind.or_empty() {
        "text_delta" => {
            out.text(delta.text.or_empty());
            block.append("", "text", delta.text.or_empty(), out);
        }
        "thinking_delta" => {
            out.reasoning(delta.thinking.or_empty());
            block.append("", "thinking", delta.thinking.or_empty(), out);
        }
        "signature_delta" => block.append("", "signature", delta.signature.or_empty(), out),
        "input_json_delta" => block.add_input(delta.partial_json.or_empty(), out),
        "citations_delta" => cite(block, delta),
        _ => return false,
    }
    true
}

/// What earlier messages were made shorter to comes at once.
fn compact(block: &mut Block, delta: Json<'_>) -> bool {
    let members = delta.read::<Map<String, Value>>().unwrap_or_default();
    if let Some(item) = block.item().as_object_mut() {
        item.extend(members.into_iter().filter(|(key, _)| key != "type"));
    }
    true
}

fn cite(block: &mut Block, delta: &Delta<'_>) {
    let Some(citation) = delta.citation.and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok()) else { return };
    let Some(item) = block.item().as_object_mut() else { return };
    let citations = item.entry("citations").or_insert_with(|| Value::Array(Vec::new()));
    if citations.is_null() {
        *citations = Value::Array(Vec::new());
    }
    if let Some(citations) = citations.as_array_mut() {
        citations.push(citation);
    }
}

fn finish_of(reason: &str) -> Option<Finish> {
    Some(match reason {
        "" => return None,
        "end_turn" | "stop_sequence" => Finish::Stop,
        "tool_use" => Finish::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        "refusal" => Finish::Filtered,
        other => Finish::Other(other.to_owned()),
    })
}
