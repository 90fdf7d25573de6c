//! A local server that streams scripted answers like Chat Completions.

use axum::Router;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::post;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::net::TcpListener;

/// The messages of the user.
pub(crate) const USER: [&str; 2] = ["What is in my diary on Monday?", "Add lunch with Ada at 12:30."];

/// The answers of the model, one for each request.
const MODEL: [Answer; 5] = [
    Answer::Calls("list_entries", r#"{"day": "monday"}"#),
    Answer::Says("On Monday there are the stand-up at 09:00 and the dentist at 15:30."),
    Answer::Calls("add_entry", r#"{"day": "monday", "time": "12:30", "title": "Lunch with Ada"}"#),
    Answer::Says("I can add lunch with Ada at 12:30 on Monday. Do you agree?"),
    Answer::Says("Lunch with Ada is in your diary."),
];

#[derive(Clone, Copy)]
enum Answer {
    Calls(&'static str, &'static str),
    Says(&'static str),
}

/// Serves on a free local port until the process ends, and returns the address.
pub(crate) async fn start() -> std::io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let base_url = format!("http://{}/v1", listener.local_addr()?);
    let router = Router::new().route("/v1/chat/completions", post(complete)).with_state(Arc::default());
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(base_url)
}

async fn complete(State(asked): State<Arc<AtomicUsize>>) -> impl IntoResponse {
    let number = asked.fetch_add(1, Ordering::Relaxed);
    let answer = MODEL.get(number).copied().unwrap_or(Answer::Says("That is all I know."));
    ([(CONTENT_TYPE, "text/event-stream")], stream(number, answer))
}

/// Returns an answer in small pieces, as providers send it.
fn stream(number: usize, answer: Answer) -> String {
    let (mut deltas, finish) = match answer {
        Answer::Says(text) => (text.split_inclusive(' ').map(|word| json!({"content": word})).collect(), "stop"),
        Answer::Calls(name, arguments) => (call(&format!("call_{number}"), name, arguments), "tool_calls"),
    };
    if let Some(first) = deltas.first_mut() {
        first["role"] = "assistant".into();
    }
    let chunk = |choices: Value, usage: Value| {
        json!({"id": format!("chatcmpl-{number}"), "object": "chat.completion.chunk", "created": 1_790_000_000,
            "model": "local", "choices": choices, "usage": usage})
    };
    let pieces = deltas.into_iter().map(|delta| json!([{"index": 0, "delta": delta, "finish_reason": null}]));
    let end = json!([{"index": 0, "delta": {}, "finish_reason": finish}]);
    let usage = json!({"prompt_tokens": 200, "completion_tokens": 20, "total_tokens": 220});
    let chunks = pieces.chain([end]).map(|choices| chunk(choices, Value::Null)).chain([chunk(json!([]), usage)]);
    chunks.map(|chunk| format!("data: {chunk}\n\n")).chain(["data: [DONE]\n\n".to_owned()]).collect()
}

/// Returns a call with its arguments in two pieces.
fn call(id: &str, name: &str, arguments: &str) -> Vec<Value> {
    let (first, second) = arguments.split_at(arguments.len() / 2);
    let begun = json!({"index": 0, "id": id, "type": "function", "function": {"name": name, "arguments": first}});
    let rest = json!({"index": 0, "function": {"arguments": second}});
    vec![json!({"tool_calls": [begun]}), json!({"tool_calls": [rest]})]
}
