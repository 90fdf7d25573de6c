//! The streams of providers with a text or a call of `add`.

use serde_json::{Value, json};
use tool_adapters::Provider;

fn data(events: &[Value]) -> String {
    events
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect::<Vec<_>>()
        .concat()
}

fn named(events: &[Value]) -> String {
    let name = |event: &Value| event["type"].as_str().unwrap_or_default().to_owned();
    events
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", name(event)))
        .collect::<Vec<_>>()
        .concat()
}

fn chunk(delta: &Value, finish: Option<&str>) -> Value {
    json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
}

/// Returns the beginning of a call in Chat Completions.
pub(crate) fn chat_call_begins(id: &str, index: u32, arguments: &str) -> String {
    let function = json!({"name": "add", "arguments": arguments});
    data(&[chunk(
        &json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]}),
        None,
    )])
}

fn chat_call_ends() -> String {
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}});
    data(&[chunk(&json!({}), Some("tool_calls")), usage]) + "data: [DONE]\n\n"
}

pub(crate) fn text(provider: Provider, text: &str) -> String {
    match provider {
        Provider::OpenAiResponses => {
            let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
            let item = json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content});
            named(&[
                json!({"type": "response.output_item.added", "output_index": 0,
                    "item": {"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress", "content": []}}),
                json!({"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": text}),
                json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
                json!({"type": "response.completed", "response": {"id": "r", "status": "completed", "output": [item],
                    "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}}}),
            ])
        }
        Provider::Anthropic => anthropic(
            &json!({"type": "text", "text": ""}),
            &json!({"type": "text_delta", "text": text}),
            "end_turn",
        ),
        Provider::Gemini => data(&[gemini(&json!({"text": text}))]),
        _ => {
            data(&[
                chunk(&json!({"role": "assistant", "content": text}), None),
                chunk(&json!({}), Some("stop")),
            ]) + "data: [DONE]\n\n"
        }
    }
}

pub(crate) fn call(provider: Provider, id: &str, arguments: &Value) -> String {
    match provider {
        Provider::OpenAiResponses => {
            let item = |arguments: &str, status: &str| {
                json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": "add",
                    "arguments": arguments, "status": status})
            };
            let text = arguments.to_string();
            let done = item(&text, "completed");
            named(&[
                json!({"type": "response.output_item.added", "output_index": 0, "item": item("", "in_progress")}),
                json!({"type": "response.function_call_arguments.delta", "item_id": format!("fc_{id}"), "output_index": 0, "delta": text}),
                json!({"type": "response.function_call_arguments.done", "item_id": format!("fc_{id}"), "output_index": 0, "arguments": text}),
                json!({"type": "response.output_item.done", "output_index": 0, "item": done}),
                json!({"type": "response.completed", "response": {"id": "r", "status": "completed", "output": [done],
                    "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}}}),
            ])
        }
        Provider::Anthropic => anthropic(
            &json!({"type": "tool_use", "id": id, "name": "add", "input": {}}),
            &json!({"type": "input_json_delta", "partial_json": arguments.to_string()}),
            "tool_use",
        ),
        Provider::Gemini => {
            let call = json!({"functionCall": {"id": id, "name": "add", "args": arguments}, "thoughtSignature": "c2lnbmVk"});
            data(&[gemini(&call)])
        }
        _ => {
            let text = arguments.to_string();
            let (first, second) = text.split_at(text.len() / 2);
            let rest = json!({"tool_calls": [{"index": 0, "function": {"arguments": second}}]});
            chat_call_begins(id, 0, first) + &data(&[chunk(&rest, None)]) + &chat_call_ends()
        }
    }
}

fn anthropic(block: &Value, delta: &Value, stop: &str) -> String {
    named(&[
        json!({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "model": "m",
            "content": [], "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 10, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "ping"}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null}, "usage": {"output_tokens": 5}}),
        json!({"type": "message_stop"}),
    ])
}

fn gemini(part: &Value) -> Value {
    json!({"candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}})
}
