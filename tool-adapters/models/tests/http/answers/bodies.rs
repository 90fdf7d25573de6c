//! The bodies of answers, event by event.

use crate::server::Answer;
use serde_json::{Value, json};
use tool_adapters::Provider;

/// The arguments of the calls, in the pieces in which they come.
pub(super) const PIECES: [&str; 3] = [r#"{"path":"/data/"#, "scratch/", r#""}"#];

/// The path in the arguments.
pub(super) const PATH: &str = "/data/scratch/";

/// The text of the answers, in its pieces.
pub(super) const TEXT: [&str; 3] = ["The folder", " is", " empty."];

/// An answer in events, of which each is one JSON text. A whole answer is one event.
#[derive(Clone, Debug)]
pub(super) struct Body {
    provider: Provider,
    pub(super) events: Vec<String>,
    /// True after the last event of a stream that has a mark for its end.
    has_mark: bool,
    is_stream: bool,
}

impl Body {
    fn stream(provider: Provider, events: Vec<Value>) -> Self {
        let events = events.into_iter().map(|event| event.to_string()).collect();
        let has_mark = matches!(provider, Provider::OpenAiChat | Provider::Mistral);
        Self {
            provider,
            events,
            has_mark,
            is_stream: true,
        }
    }

    /// Returns an answer that is one JSON text.
    pub(super) fn whole(provider: Provider, answer: &Value) -> Self {
        Self {
            provider,
            events: vec![answer.to_string()],
            has_mark: false,
            is_stream: false,
        }
    }

    /// Replaces an event by a text that may be no JSON.
    pub(super) fn with_event(mut self, at: usize, event: &str) -> Self {
        event.clone_into(&mut self.events[at]);
        self
    }

    /// Returns the bytes of the body.
    pub(super) fn bytes(&self) -> Vec<u8> {
        if !self.is_stream {
            return self.events.concat().into_bytes();
        }
        let mut bytes = Vec::new();
        for event in &self.events {
            bytes.extend(self.framed(event).into_bytes());
        }
        if self.has_mark {
            bytes.extend(b"data: [DONE]\n\n");
        }
        bytes
    }

    fn framed(&self, event: &str) -> String {
        match self.provider {
            Provider::Ollama => format!("{event}\n"),
            Provider::Anthropic | Provider::OpenAiResponses => {
                let kind = serde_json::from_str::<Value>(event).unwrap_or_default();
                let name = kind["type"].as_str().unwrap_or("event").to_owned();
                format!("event: {name}\ndata: {event}\n\n")
            }
            _ => format!("data: {event}\n\n"),
        }
    }

    pub(super) fn answer(&self) -> Answer {
        let kind = match (self.is_stream, self.provider) {
            (true, Provider::Ollama) => "application/x-ndjson",
            (true, _) => "text/event-stream",
            (false, _) => "application/json",
        };
        Answer::new(200, &[("content-type", kind)], "").bytes(self.bytes())
    }
}

/// An answer of one call, whose arguments come in pieces where the protocol has pieces.
pub(super) fn call(provider: Provider) -> Body {
    calls(provider, &["call_1"])
}

/// An answer of calls with the same arguments, one after another.
pub(super) fn calls(provider: Provider, ids: &[&str]) -> Body {
    let whole = || PIECES.concat();
    match provider {
        Provider::OpenAiChat | Provider::Mistral => {
            let mut events = vec![chat_chunk(
                &json!({"role": "assistant", "content": ""}),
                None,
            )];
            for (index, id) in ids.iter().enumerate() {
                let begins = json!({"index": index, "id": id, "type": "function", "function": {"name": "delete_path", "arguments": ""}});
                events.push(chat_chunk(&json!({"tool_calls": [begins]}), None));
                for piece in PIECES {
                    let entry = json!({"index": index, "function": {"arguments": piece}});
                    events.push(chat_chunk(&json!({"tool_calls": [entry]}), None));
                }
            }
            events.push(chat_chunk(&json!({}), Some("tool_calls")));
            Body::stream(provider, events)
        }
        Provider::OpenAiResponses => {
            let mut events = vec![
                json!({"type": "response.created", "response": {"id": "r", "status": "in_progress", "output": []}}),
            ];
            let mut output = Vec::new();
            for (index, id) in ids.iter().enumerate() {
                let item_id = format!("fc_{id}");
                let item = |arguments: &str, status: &str| json!({"type": "function_call", "id": item_id, "call_id": id, "name": "delete_path", "arguments": arguments, "status": status});
                events.push(json!({"type": "response.output_item.added", "output_index": index, "item": item("", "in_progress")}));
                for piece in PIECES {
                    events.push(json!({"type": "response.function_call_arguments.delta", "item_id": item_id, "output_index": index, "delta": piece}));
                }
                events.push(json!({"type": "response.function_call_arguments.done", "item_id": item_id, "output_index": index, "arguments": whole()}));
                events.push(json!({"type": "response.output_item.done", "output_index": index, "item": item(&whole(), "completed")}));
                output.push(item(&whole(), "completed"));
            }
            events.push(
                json!({"type": "response.completed", "response": {"id": "r", "status": "completed", "output": output}}),
            );
            Body::stream(provider, events)
        }
        Provider::Anthropic => {
            let blocks = ids.iter().map(|id| AnthropicBlock {
                start: json!({"type": "tool_use", "id": id, "name": "delete_path", "input": {}}),
                deltas: PIECES
                    .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}))
                    .to_vec(),
            });
            anthropic(&blocks.collect::<Vec<_>>(), "tool_use")
        }
        Provider::Gemini | Provider::GeminiJsonSchema => {
            let call = |id: &&str| json!({"functionCall": {"id": id, "name": "delete_path", "args": {"path": PATH}}});
            let mut events = vec![gemini(&[json!({"text": "Let me see."})], None)];
            events.extend(ids.iter().map(|id| gemini(&[call(id)], None)));
            events.push(gemini(&[], Some("STOP")));
            Body::stream(provider, events)
        }
        Provider::Cohere => {
            let mut events = vec![
                json!({"type": "message-start", "id": "m", "delta": {"message": {"role": "assistant"}}}),
            ];
            for (index, id) in ids.iter().enumerate() {
                let entry = json!({"id": id, "type": "function", "function": {"name": "delete_path", "arguments": ""}});
                events.push(
                    json!({"type": "tool-call-start", "index": index, "delta": {"message": {"tool_calls": entry}}}),
                );
                for piece in PIECES {
                    let piece = json!({"function": {"arguments": piece}});
                    events.push(
                        json!({"type": "tool-call-delta", "index": index, "delta": {"message": {"tool_calls": piece}}}),
                    );
                }
                events.push(json!({"type": "tool-call-end", "index": index}));
            }
            events.push(json!({"type": "message-end", "delta": {"finish_reason": "TOOL_CALL"}}));
            Body::stream(provider, events)
        }
        Provider::Ollama => {
            let call = |id: &&str| json!({"id": id, "function": {"name": "delete_path", "arguments": {"path": PATH}}});
            let mut events = vec![ollama("Let me see.")];
            for id in ids {
                events.push(json!({"model": "m", "message": {"role": "assistant", "content": "", "tool_calls": [call(id)]}, "done": false}));
            }
            events.push(json!({"model": "m", "message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop"}));
            Body::stream(provider, events)
        }
        Provider::Bedrock => {
            let content = ids
                .iter()
                .map(|id| json!({"toolUse": {"toolUseId": id, "name": "delete_path", "input": {"path": PATH}}}));
            bedrock(&content.collect::<Vec<_>>(), "tool_use")
        }
        other => panic!("{other} is not spoken over HTTP"),
    }
}

/// An answer of text.
pub(super) fn text(provider: Provider) -> Body {
    match provider {
        Provider::OpenAiChat | Provider::Mistral => {
            let mut events = vec![chat_chunk(
                &json!({"role": "assistant", "content": ""}),
                None,
            )];
            events.extend(
                TEXT.iter()
                    .map(|piece| chat_chunk(&json!({"content": piece}), None)),
            );
            events.push(chat_chunk(&json!({}), Some("stop")));
            Body::stream(provider, events)
        }
        Provider::OpenAiResponses => {
            let item = |content: Value| json!({"type": "message", "id": "msg_1", "role": "assistant", "content": content});
            let content =
                json!([{"type": "output_text", "text": TEXT.concat(), "annotations": []}]);
            let mut events = vec![
                json!({"type": "response.created", "response": {"id": "r", "status": "in_progress", "output": []}}),
                json!({"type": "response.output_item.added", "output_index": 0, "item": item(json!([]))}),
            ];
            events.extend(TEXT.iter().map(|piece| {
                json!({"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": piece})
            }));
            events.push(json!({"type": "response.output_item.done", "output_index": 0, "item": item(content.clone())}));
            events.push(json!({"type": "response.completed", "response": {"id": "r", "status": "completed", "output": [item(content)]}}));
            Body::stream(provider, events)
        }
        Provider::Anthropic => {
            let deltas = TEXT
                .map(|piece| json!({"type": "text_delta", "text": piece}))
                .to_vec();
            anthropic(
                &[AnthropicBlock {
                    start: json!({"type": "text", "text": ""}),
                    deltas,
                }],
                "end_turn",
            )
        }
        Provider::Gemini | Provider::GeminiJsonSchema => {
            let mut events = TEXT
                .iter()
                .map(|piece| gemini(&[json!({"text": piece})], None))
                .collect::<Vec<_>>();
            events.push(gemini(&[], Some("STOP")));
            Body::stream(provider, events)
        }
        Provider::Cohere => {
            let mut events = vec![
                json!({"type": "message-start", "id": "m", "delta": {"message": {"role": "assistant"}}}),
                json!({"type": "content-start", "index": 0, "delta": {"message": {"content": {"type": "text", "text": ""}}}}),
            ];
            events.extend(TEXT.iter().map(|piece| {
                json!({"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": piece}}}})
            }));
            events.push(json!({"type": "content-end", "index": 0}));
            events.push(json!({"type": "message-end", "delta": {"finish_reason": "COMPLETE"}}));
            Body::stream(provider, events)
        }
        Provider::Ollama => {
            let mut events = TEXT.iter().map(|piece| ollama(piece)).collect::<Vec<_>>();
            events.push(json!({"model": "m", "message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop"}));
            Body::stream(provider, events)
        }
        Provider::Bedrock => bedrock(&[json!({"text": TEXT.concat()})], "end_turn"),
        other => panic!("{other} is not spoken over HTTP"),
    }
}

/// A chunk of Chat Completions.
pub(super) fn chat_chunk(delta: &Value, finish: Option<&str>) -> Value {
    json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
}

/// A content block of Messages, in its pieces.
pub(super) struct AnthropicBlock {
    pub(super) start: Value,
    pub(super) deltas: Vec<Value>,
}

/// A stream of Messages.
pub(super) fn anthropic(blocks: &[AnthropicBlock], stop: &str) -> Body {
    let message = json!({"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": null,
        "usage": {"input_tokens": 10, "output_tokens": 1}});
    let mut events = vec![json!({"type": "message_start", "message": message})];
    for (index, block) in blocks.iter().enumerate() {
        events.push(
            json!({"type": "content_block_start", "index": index, "content_block": block.start}),
        );
        events.push(json!({"type": "ping"}));
        events.extend(
            block.deltas.iter().map(
                |delta| json!({"type": "content_block_delta", "index": index, "delta": delta}),
            ),
        );
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null}, "usage": {"output_tokens": 5}}));
    events.push(json!({"type": "message_stop"}));
    Body::stream(Provider::Anthropic, events)
}

/// A chunk of generateContent.
pub(super) fn gemini(parts: &[Value], finish: Option<&str>) -> Value {
    let mut candidate = json!({"index": 0, "content": {"role": "model", "parts": parts}});
    if let Some(finish) = finish {
        candidate["finishReason"] = finish.into();
    }
    json!({"candidates": [candidate], "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}})
}

fn ollama(piece: &str) -> Value {
    json!({"model": "m", "message": {"role": "assistant", "content": piece}, "done": false})
}

/// An answer of Converse.
pub(super) fn bedrock(content: &[Value], stop: &str) -> Body {
    let answer = json!({"output": {"message": {"role": "assistant", "content": content}}, "stopReason": stop,
        "usage": {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}});
    Body::whole(Provider::Bedrock, &answer)
}
