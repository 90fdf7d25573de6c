//! A local server that answers like Chat Completions, so that the examples run offline.
//!
//! It answers a question with two calls of `find_order`, and results with their texts.

use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// Serves on a free local port until the process ends, and returns the base URL.
pub(crate) async fn start() -> std::io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let base_url = format!("http://{}/v1", listener.local_addr()?);
    let router = Router::new().route("/v1/chat/completions", post(answer));
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(base_url)
}

async fn answer(Json(request): Json<Value>) -> Json<Value> {
    let messages = request["messages"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let told = messages
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| text(&message["content"]));
    let told = told.collect::<Vec<_>>();
    let (message, finish) = match told.as_slice() {
        [] => (
            json!({"role": "assistant", "content": null, "tool_calls": [call("a", 7), call("b", 8)]}),
            "tool_calls",
        ),
        told => (
            json!({"role": "assistant", "content": format!("I was told: {}", told.join(" / "))}),
            "stop",
        ),
    };
    Json(json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1_700_000_000, "model": request["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": null}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18},
    }))
}

fn call(id: &str, number: u32) -> Value {
    let arguments = json!({"number": number}).to_string();
    json!({"id": format!("call_{id}"), "type": "function", "function": {"name": "find_order", "arguments": arguments}})
}

/// Returns the text of a tool message, which is a text or a list of parts.
fn text(content: &Value) -> String {
    let parts = content.as_array().map(|parts| {
        parts
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect()
    });
    parts.unwrap_or_else(|| content.as_str().unwrap_or_default().to_owned())
}
