//! Gemini's answers, results and requests.

pub(crate) mod read;
pub(crate) mod write;

use serde_json::{Value, json};

fn chunk(parts: &Value, reason: &str) -> Value {
    let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
    if !reason.is_empty() {
        candidate["finishReason"] = reason.into();
    }
    json!({"candidates": [candidate], "modelVersion": "m", "usageMetadata": {"promptTokenCount": 10}})
}

fn call(id: &str, args: &Value) -> Value {
    match id {
        "" => json!({"name": "look", "args": args}),
        id => json!({"id": id, "name": "look", "args": args}),
    }
}

/// A thought, text in two pieces, code that the provider ran, three calls in parallel, and a signature in a text of its
/// own.
fn step() -> Vec<Value> {
    let usage = json!({"promptTokenCount": 100, "cachedContentTokenCount": 80, "candidatesTokenCount": 20,
        "thoughtsTokenCount": 5, "toolUsePromptTokenCount": 7, "totalTokenCount": 132});
    let mut last = chunk(
        &json!([{"text": "", "thoughtSignature": "bGFzdA=="}]),
        "STOP",
    );
    last["usageMetadata"] = usage;
    vec![
        chunk(&json!([{"text": "Where ü?", "thought": true}]), ""),
        chunk(&json!([{"text": "Le"}]), ""),
        chunk(
            &json!([{"text": "ft."}, {"executableCode": {"language": "PYTHON", "code": "1"}}]),
            "",
        ),
        chunk(
            &json!([{"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}]),
            "",
        ),
        chunk(
            &json!([
                {"functionCall": call("", &json!({"place": "left"})), "thoughtSignature": "c2ln"},
                {"functionCall": call("abc", &json!({"n": 1}))},
                {"functionCall": {"name": "look"}},
            ]),
            "",
        ),
        last,
    ]
}
