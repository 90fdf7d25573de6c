//! A local server that streams scripted answers like a reasoning model behind Chat Completions.
//!
//! It is as strict as real ones: it refuses a request that does not bring the reasoning of the turn's earlier steps back. One
//! of its answers is cut off at the limit of tokens, and one loses a part on its way.

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::net::TcpListener;

/// The messages of the user.
pub(crate) const USER: [&str; 2] = [
    "What is in my diary on Monday?",
    "Add lunch with Ada at 12:30.",
];

const MONDAY: &str = "On Monday there are the stand-up at 09:00 and the dentist at 15:30.";
const LUNCH: &str = r#"{"day": "monday", "time": "12:30", "title": "Lunch with Ada"}"#;

/// The answers of the model, one for each request.
const MODEL: [Answer; 7] = [
    Answer {
        thought: "I have to look.",
        part: Part::Calls("list_entries", r#"{"day": "monday"}"#),
        fate: Fate::Arrives,
    },
    Answer {
        thought: "Two entries.",
        part: Part::Says(MONDAY),
        fate: Fate::LosesAnEvent,
    },
    Answer {
        thought: "Two entries.",
        part: Part::Says(MONDAY),
        fate: Fate::Arrives,
    },
    Answer {
        thought: "It is free.",
        part: Part::Calls("add_entry", LUNCH),
        fate: Fate::IsCutOff,
    },
    Answer {
        thought: "Once more.",
        part: Part::Calls("add_entry", LUNCH),
        fate: Fate::Arrives,
    },
    Answer {
        thought: "",
        part: Part::Says("I can add lunch with Ada at 12:30. Do you agree?"),
        fate: Fate::Arrives,
    },
    Answer {
        thought: "",
        part: Part::Says("Lunch with Ada is in your diary."),
        fate: Fate::Arrives,
    },
];

const OVER: Answer = Answer {
    thought: "",
    part: Part::Says("That is all I know."),
    fate: Fate::Arrives,
};

/// A step of the model.
#[derive(Clone, Copy)]
struct Answer {
    /// What the model thinks first.
    thought: &'static str,
    part: Part,
    fate: Fate,
}

#[derive(Clone, Copy)]
enum Part {
    /// A tool and its arguments.
    Calls(&'static str, &'static str),
    Says(&'static str),
}

/// What becomes of an answer.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Arrives,
    /// One of its events is not JSON when it arrives.
    LosesAnEvent,
    /// It reaches the limit of tokens in the middle.
    IsCutOff,
}

/// Serves on a free local port until the process ends, and returns the address.
pub(crate) async fn start() -> std::io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let base_url = format!("http://{}/v1", listener.local_addr()?);
    let router = Router::new()
        .route("/v1/chat/completions", post(complete))
        .with_state(Arc::default());
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(base_url)
}

async fn complete(State(asked): State<Arc<AtomicUsize>>, Json(request): Json<Value>) -> Response {
    if lacks_reasoning(&request) {
        let message = "Missing `reasoning_content` in the assistant message of a tool call";
        let error = json!({"error": {"message": message, "type": "invalid_request_error"}});
        return (StatusCode::BAD_REQUEST, Json(error)).into_response();
    }
    let number = asked.fetch_add(1, Ordering::Relaxed);
    let answer = MODEL.get(number).copied().unwrap_or(OVER);
    (
        [(CONTENT_TYPE, "text/event-stream")],
        stream(number, answer),
    )
        .into_response()
}

/// Returns true if a step of the model comes back without what the model thought in it.
fn lacks_reasoning(request: &Value) -> bool {
    let messages = request["messages"].as_array().cloned().unwrap_or_default();
    messages.iter().any(|message| {
        message.get("tool_calls").is_some() && message["reasoning_content"].is_null()
    })
}

/// Returns an answer in small pieces, as providers send it.
fn stream(number: usize, answer: Answer) -> String {
    let mut deltas = Vec::new();
    if !answer.thought.is_empty() {
        deltas.push(json!({"role": "assistant", "reasoning_content": answer.thought}));
    }
    let finish = match answer.part {
        Part::Says(text) => {
            deltas.extend(
                text.split_inclusive(' ')
                    .map(|word| json!({"content": word})),
            );
            "stop"
        }
        Part::Calls(name, arguments) => {
            deltas.extend(call(&format!("call_{number}"), name, arguments));
            "tool_calls"
        }
    };
    let is_cut_off = answer.fate == Fate::IsCutOff;
    if is_cut_off {
        deltas.pop();
    }
    let mut events = deltas
        .iter()
        .map(|delta| event(number, delta, None))
        .collect::<Vec<_>>();
    if answer.fate == Fate::LosesAnEvent {
        let damaged = events[3].replace("null", "nul");
        events[3] = damaged;
    }
    events.push(event(
        number,
        &json!({}),
        Some(if is_cut_off { "length" } else { finish }),
    ));
    events.push(usage(number));
    events.push("data: [DONE]\n\n".to_owned());
    events.concat()
}

fn event(number: usize, delta: &Value, finish: Option<&str>) -> String {
    let choices = json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
    let chunk = json!({"id": format!("chatcmpl-{number}"), "object": "chat.completion.chunk", "created": 1_790_000_000,
        "model": "local", "choices": choices});
    format!("data: {chunk}\n\n")
}

fn usage(number: usize) -> String {
    let usage = json!({"prompt_tokens": 200, "completion_tokens": 20, "total_tokens": 220});
    let chunk = json!({"id": format!("chatcmpl-{number}"), "object": "chat.completion.chunk", "created": 1_790_000_000,
        "model": "local", "choices": [], "usage": usage});
    format!("data: {chunk}\n\n")
}

/// Returns a call with its arguments in two pieces.
fn call(id: &str, name: &str, arguments: &str) -> [Value; 2] {
    let (first, second) = arguments.split_at(arguments.len() / 2);
    let begun = json!({"index": 0, "id": id, "type": "function", "function": {"name": name, "arguments": first}});
    let rest = json!({"index": 0, "function": {"arguments": second}});
    [
        json!({"tool_calls": [begun]}),
        json!({"tool_calls": [rest]}),
    ]
}
