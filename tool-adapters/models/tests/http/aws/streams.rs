//! Streams of Converse.

use super::{ANN, MODEL, bedrock, frames, hello, prompt, strict_server};
use crate::support::{EventRecorder, quick, session};
use serde_json::json;
use tool_adapters::agent::AgentLoop;
use tool_core::ErrorKind;

#[tokio::test]
async fn call_of_a_stream_runs() {
    let call = frames::stream(frames::call(&json!({"a": 1, "b": 2})));
    let server = strict_server(&[ANN], vec![call.in_pieces_of(7), hello()]).await;
    let (session, runs) = session().await;
    let model = bedrock(&server, ANN).converse(MODEL);
    let reply = AgentLoop::new(session, model).prompt("1 + 2?").await;
    assert_eq!(reply.text.as_deref(), Some("Hello"), "{reply:?}");
    assert_eq!(runs.count(), 1);
    let result = server.requests()[1].body["messages"][2]["content"][0]["toolResult"].clone();
    assert_eq!(result["toolUseId"], "tooluse_1");
}

#[tokio::test]
async fn text_is_shown_as_it_comes() {
    let mut frames = frames::event("messageStart", &json!({"role": "assistant"}));
    let delta = json!({"contentBlockIndex": 0, "delta": {"text": "Hel"}});
    frames.extend(frames::event("contentBlockDelta", &delta));
    let answer = frames::stream(frames).hangs();
    let server = strict_server(&[ANN], vec![answer]).await;
    let recorder = EventRecorder::default();
    let model = bedrock(&server, ANN).converse(MODEL);
    let model = model.on_event(recorder.listener());
    tokio::select! {
        reply = prompt(model) => panic!("the stream hangs: {reply:?}"),
        () = recorder.wait_for_text() => {}
    }
    assert_eq!(recorder.text(), "Hel");
}

#[tokio::test]
async fn damaged_frame_repeats_the_request() {
    let mut damaged = frames::text("Hello");
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    let server = strict_server(&[ANN], vec![frames::stream(damaged), hello()]).await;
    let reply = prompt(bedrock(&server, ANN).converse(MODEL)).await;
    assert_eq!(reply.text.as_deref(), Some("Hello"), "{reply:?}");
    assert_eq!(server.requests().len(), 2);
}

/// Returns the kind of the error and the number of requests, if each stream ends with an exception.
async fn after(exception: &str) -> (Option<ErrorKind>, usize) {
    let answer = || {
        let mut frames = frames::event("messageStart", &json!({"role": "assistant"}));
        frames.extend(frames::exception(exception));
        frames::stream(frames)
    };
    let answers = (0..9).map(|_| answer()).collect();
    let server = strict_server(&[ANN], answers).await;
    let (session, _) = session().await;
    let mut retry = quick();
    retry.attempts = 2;
    let model = bedrock(&server, ANN).converse(MODEL).retry(retry);
    let error = AgentLoop::new(session, model).prompt("Hi").await.error;
    (error.map(|error| error.kind), server.requests().len())
}

#[tokio::test]
async fn exceptions_inside_a_stream_are_errors() {
    for (exception, kind, requests) in [
        ("throttlingException", ErrorKind::RateLimit, 2),
        ("internalServerException", ErrorKind::Transient, 2),
        ("modelStreamErrorException", ErrorKind::Transient, 2),
        ("modelTimeoutException", ErrorKind::Transient, 2),
        ("serviceUnavailableException", ErrorKind::Transient, 2),
        ("validationException", ErrorKind::Permanent, 1),
        ("accessDeniedException", ErrorKind::Auth, 1),
    ] {
        let seen = after(exception).await;
        assert_eq!(seen, (Some(kind), requests), "{exception}");
    }
}
