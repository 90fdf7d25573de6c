//! A server of Chat Completions that answers with a script.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::Response;
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

/// An answer to a request.
#[derive(Clone)]
pub(super) struct Answer {
    status: u16,
    content_type: &'static str,
    body: String,
    hangs: bool,
}

impl Answer {
    pub(super) fn error(status: u16) -> Self {
        Self {
            status,
            content_type: "application/json",
            body: json!({"error": {"message": "no such thing", "type": "x"}}).to_string(),
            hangs: false,
        }
    }

    /// A whole answer.
    pub(super) fn whole() -> Self {
        let message = json!({"role": "assistant", "content": "Hi", "refusal": null});
        let body = json!({
            "id": "r-1", "object": "chat.completion", "created": 1, "model": "gpt-5-2025",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": null}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
        });
        Self {
            status: 200,
            content_type: "application/json",
            body: body.to_string(),
            hangs: false,
        }
    }

    fn stream(events: &[Value]) -> Self {
        let lines = events.iter().map(|event| format!("data: {event}\n\n"));
        Self {
            status: 200,
            content_type: "text/event-stream",
            body: lines.collect::<Vec<_>>().concat(),
            hangs: false,
        }
    }

    /// A stream from its first text to its usage.
    pub(super) fn streamed() -> Self {
        let mut answer = Self::stream(&[text(), stop(), usage()]);
        answer.body.push_str("data: [DONE]\n\n");
        answer
    }

    /// A stream that reports its usage with the first text, and then nothing more.
    pub(super) fn hanging() -> Self {
        Self {
            hangs: true,
            ..Self::stream(&[usage(), text()])
        }
    }

    /// A stream that breaks off with an error of the provider.
    pub(super) fn failing() -> Self {
        let error =
            json!({"error": {"message": "busy", "type": "server_error", "code": "overloaded"}});
        Self::stream(&[text(), error])
    }

    fn response(self) -> Response {
        let first = stream::iter([Ok::<_, Infallible>(Bytes::from(self.body))]);
        let body = if self.hangs {
            Body::from_stream(first.chain(stream::pending()))
        } else {
            Body::from_stream(first)
        };
        Response::builder()
            .status(self.status)
            .header("content-type", self.content_type)
            .body(body)
            .expect("a response")
    }
}

fn chunk(delta: &Value, finish: Option<&str>) -> Value {
    json!({"id": "r-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-5-2025",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
}

fn text() -> Value {
    chunk(&json!({"role": "assistant", "content": "Hi"}), None)
}

fn stop() -> Value {
    chunk(&json!({}), Some("stop"))
}

fn usage() -> Value {
    json!({"id": "r-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-5-2025", "choices": [],
        "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}})
}

type Script = Arc<Mutex<VecDeque<Answer>>>;

/// A running server, and the bodies that it received.
pub(super) struct Server {
    /// The base URL, with `/v1`.
    pub(super) url: String,
    requests: Arc<Mutex<Vec<Value>>>,
}

#[derive(Clone)]
struct Served {
    script: Script,
    requests: Arc<Mutex<Vec<Value>>>,
}

async fn answer(State(served): State<Served>, body: Bytes) -> Response {
    let request = serde_json::from_slice(&body).unwrap_or_default();
    served.requests.lock().expect("not poisoned").push(request);
    let next = served.script.lock().expect("not poisoned").pop_front();
    next.unwrap_or_else(|| Answer::error(418)).response()
}

impl Server {
    /// Plays one answer for each request.
    pub(super) async fn start(answers: impl IntoIterator<Item = Answer>) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("binds");
        let address = listener.local_addr().expect("an address");
        let served = Served {
            script: Arc::new(Mutex::new(answers.into_iter().collect())),
            requests: Arc::default(),
        };
        let requests = Arc::clone(&served.requests);
        let router = Router::new().fallback(answer).with_state(served);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self {
            url: format!("http://{address}/v1"),
            requests,
        }
    }

    pub(super) fn requests(&self) -> Vec<Value> {
        self.requests.lock().expect("not poisoned").clone()
    }
}
