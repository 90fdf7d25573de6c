//! Converse's events, answers, results and requests.

#![allow(clippy::needless_pass_by_value)] // fixtures are passed by value

pub(crate) mod read;
pub(crate) mod write;

use crate::tests::fixtures::lines;
use serde_json::{Value, json};

fn start(index: u32, start: Value) -> Value {
    json!({"contentBlockStart": {"contentBlockIndex": index, "start": start}})
}

fn delta(index: u32, delta: Value) -> Value {
    json!({"contentBlockDelta": {"contentBlockIndex": index, "delta": delta}})
}

fn input(index: u32, piece: &str) -> Value {
    delta(index, json!({"toolUse": {"input": piece}}))
}

fn stop(index: u32) -> Value {
    json!({"contentBlockStop": {"contentBlockIndex": index}})
}

fn tool_use(id: &str) -> Value {
    json!({"toolUse": {"toolUseId": id, "name": "look"}})
}

fn end(reason: &str) -> [Value; 2] {
    let usage = json!({"inputTokens": 10, "outputTokens": 4, "totalTokens": 29, "cacheReadInputTokens": 12, "cacheWriteInputTokens": 3});
    [
        json!({"messageStop": {"stopReason": reason}}),
        json!({"metadata": {"usage": usage, "metrics": {"latencyMs": 1}}}),
    ]
}

fn message(blocks: &[Value], reason: &str) -> String {
    lines(
        &[
            &[json!({"messageStart": {"role": "assistant"}})],
            blocks,
            &end(reason),
        ]
        .concat(),
    )
}

/// A thought, text with a citation, a tool that the provider runs, and two calls.
fn step() -> String {
    let blocks = [
        delta(0, json!({"reasoningContent": {"text": "Where "}})),
        delta(0, json!({"reasoningContent": {"text": "ü?"}})),
        delta(0, json!({"reasoningContent": {"signature": "c2ln"}})),
        stop(0),
        delta(1, json!({"reasoningContent": {"redactedContent": "cmVk"}})),
        stop(1),
        delta(2, json!({"text": "Left, "})),
        delta(2, json!({"text": "then right."})),
        stop(2),
        start(
            3,
            json!({"toolUse": {"toolUseId": "s1", "name": "web", "type": "server_tool_use"}}),
        ),
        input(3, r#"{"q":1}"#),
        stop(3),
        start(
            4,
            json!({"toolResult": {"toolUseId": "s1", "status": "success"}}),
        ),
        delta(4, json!({"toolResult": [{"text": "found"}]})),
        stop(4),
        delta(5, json!({"text": "It says"})),
        delta(5, json!({"citation": {"title": "T"}})),
        delta(5, json!({"text": " so."})),
        stop(5),
        start(6, tool_use("t1")),
        input(6, r#"{"place": "le"#),
        input(6, r#"ft", "n": 123456789012345678901}"#),
        stop(6),
        start(7, tool_use("t2")),
        stop(7),
    ];
    message(&blocks, "tool_use")
}
