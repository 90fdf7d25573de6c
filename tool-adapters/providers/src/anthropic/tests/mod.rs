//! Anthropic's events, answers, results and requests.

#![allow(clippy::needless_pass_by_value)] // fixtures are passed by value

pub(crate) mod read;
pub(crate) mod write;

use crate::tests::fixtures::sse;
use serde_json::{Value, json};

fn start(index: u32, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u32, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn input(index: u32, piece: &str) -> Value {
    delta(
        index,
        json!({"type": "input_json_delta", "partial_json": piece}),
    )
}

fn text(index: u32, piece: &str) -> Value {
    delta(index, json!({"type": "text_delta", "text": piece}))
}

fn thinking(index: u32, piece: &str) -> Value {
    delta(index, json!({"type": "thinking_delta", "thinking": piece}))
}

fn stop(index: u32) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn begin() -> Value {
    json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "content": [],
        "usage": {"input_tokens": 25, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 1}}})
}

fn end(reason: &str) -> [Value; 2] {
    let delta = json!({"stop_reason": reason, "stop_sequence": null});
    let usage = json!({"output_tokens": 89, "output_tokens_details": {"thinking_tokens": 30}});
    [
        json!({"type": "message_delta", "delta": delta, "usage": usage}),
        json!({"type": "message_stop"}),
    ]
}

fn tool_use(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "look", "input": {}})
}

fn message(blocks: &[Value], reason: &str) -> String {
    sse(&[&[begin()], blocks, &end(reason)].concat())
}

/// A thought, text, a tool that the provider runs, and two calls.
fn step() -> String {
    let blocks = [
        start(
            0,
            json!({"type": "thinking", "thinking": "", "signature": ""}),
        ),
        json!({"type": "ping"}),
        delta(0, json!({"type": "thinking_delta", "thinking": "Where ü"})),
        delta(
            0,
            json!({"type": "thinking_delta", "thinking": " to look?"}),
        ),
        delta(0, json!({"type": "signature_delta", "signature": "c2ln"})),
        stop(0),
        start(
            1,
            json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}),
        ),
        input(1, ""),
        input(1, r#"{"query":"#),
        input(1, r#" "doors"}"#),
        stop(1),
        start(
            2,
            json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"url": "u"}]}),
        ),
        stop(2),
        start(3, json!({"type": "text", "text": "", "citations": null})),
        delta(
            3,
            json!({"type": "citations_delta", "citation": {"url": "u"}}),
        ),
        delta(3, json!({"type": "text_delta", "text": "Left, "})),
        delta(3, json!({"type": "text_delta", "text": "then right."})),
        stop(3),
        start(4, tool_use("toolu_1")),
        input(4, ""),
        input(4, r#"{"place": "le"#),
        input(4, r#"ft", "n": 123456789012345678901}"#),
        stop(4),
        start(5, tool_use("toolu_2")),
        stop(5),
    ];
    message(&blocks, "tool_use")
}
