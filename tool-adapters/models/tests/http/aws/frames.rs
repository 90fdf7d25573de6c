//! Streams of Converse, in AWS's binary frames.

use crate::server::Answer;
use serde_json::{Value, json};

/// Returns a frame with headers of texts.
pub(super) fn frame(headers: &[(&str, &str)], payload: &Value) -> Vec<u8> {
    let mut head = Vec::new();
    for (name, value) in headers {
        head.push(u8::try_from(name.len()).expect("short"));
        head.extend(name.as_bytes());
        head.push(7);
        head.extend(u16::try_from(value.len()).expect("short").to_be_bytes());
        head.extend(value.as_bytes());
    }
    let payload = payload.to_string();
    let mut frame = Vec::new();
    for length in [16 + head.len() + payload.len(), head.len()] {
        frame.extend(u32::try_from(length).expect("short").to_be_bytes());
    }
    frame.extend(crc32fast::hash(&frame).to_be_bytes());
    frame.extend(&head);
    frame.extend(payload.as_bytes());
    frame.extend(crc32fast::hash(&frame).to_be_bytes());
    frame
}

pub(super) fn event(name: &str, payload: &Value) -> Vec<u8> {
    let headers = [
        (":event-type", name),
        (":content-type", "application/json"),
        (":message-type", "event"),
    ];
    frame(&headers, payload)
}

pub(super) fn exception(name: &str) -> Vec<u8> {
    let headers = [
        (":exception-type", name),
        (":content-type", "application/json"),
        (":message-type", "exception"),
    ];
    frame(&headers, &json!({"message": "it went wrong"}))
}

/// Returns the frames of an answer with a block, from its start to its usage.
fn answer(start: Option<&Value>, delta: &Value, stop: &str) -> Vec<u8> {
    let mut frames = event("messageStart", &json!({"role": "assistant"}));
    if let Some(start) = start {
        frames.extend(event(
            "contentBlockStart",
            &json!({"contentBlockIndex": 0, "start": start}),
        ));
    }
    let usage = json!({"inputTokens": 10, "outputTokens": 5, "totalTokens": 15});
    frames.extend(event(
        "contentBlockDelta",
        &json!({"contentBlockIndex": 0, "delta": delta}),
    ));
    frames.extend(event("contentBlockStop", &json!({"contentBlockIndex": 0})));
    frames.extend(event("messageStop", &json!({"stopReason": stop})));
    frames.extend(event("metadata", &json!({"usage": usage})));
    frames
}

pub(super) fn text(text: &str) -> Vec<u8> {
    answer(None, &json!({"text": text}), "end_turn")
}

pub(super) fn call(arguments: &Value) -> Vec<u8> {
    let start = json!({"toolUse": {"toolUseId": "tooluse_1", "name": "add"}});
    let delta = json!({"toolUse": {"input": arguments.to_string()}});
    answer(Some(&start), &delta, "tool_use")
}

/// Answers with frames.
pub(super) fn stream(frames: Vec<u8>) -> Answer {
    let kind = [("content-type", "application/vnd.amazon.eventstream")];
    Answer::new(200, &kind, "").bytes(frames)
}
