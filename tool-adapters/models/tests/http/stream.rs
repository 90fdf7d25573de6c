//! Answers in pieces, whole answers, and broken ones.

use crate::scripts::{call, chat_call_begins, text};
use crate::server::{Answer, Server};
use crate::support::{EventRecorder, chat, model, session};
use serde_json::json;
use std::time::Duration;
use tokio::time::timeout;
use tool_adapters::Provider;
use tool_adapters::agent::AgentLoop;
use tool_core::call::ErrorBody;
use tool_core::trace::TokenUsage;
use tool_core::{ErrorKind, ToolError};

const CHAT: Provider = Provider::OpenAiChat;

fn adds() -> String {
    call(CHAT, "call_1", &json!({"a": 1, "b": 2}))
}

#[tokio::test]
async fn reads_a_stream_in_any_pieces() {
    for piece in [1, 2, 3, 7, 64, 1_000] {
        let said = Answer::events(&text(CHAT, "It is 3 – naïvely. 👍")).in_pieces_of(piece);
        let server = Server::start([Answer::events(&adds()).in_pieces_of(piece), said]).await;
        let (mut agent, runs) = chat(&server).await;
        let reply = agent.prompt("1 + 2?").await;
        assert_eq!(
            reply.text.as_deref(),
            Some("It is 3 – naïvely. 👍"),
            "{piece}: {reply:?}"
        );
        assert_eq!(runs.count(), 1);
        assert_eq!(
            reply.usage,
            TokenUsage {
                input: 10,
                output: 5,
                ..TokenUsage::default()
            }
        );
    }
}

// M8
#[tokio::test]
async fn an_answer_that_has_ended_waits_for_no_more() {
    let server = Server::start([
        Answer::events(&adds()).hangs(),
        Answer::events(&text(CHAT, "It is 3.")).hangs(),
    ])
    .await;
    let (mut agent, runs) = chat(&server).await;
    let reply = timeout(Duration::from_secs(60), agent.prompt("1 + 2?")).await;
    let reply = reply.expect("an answer before the time limit of the model");
    assert_eq!(reply.text.as_deref(), Some("It is 3."), "{reply:?}");
    assert_eq!(runs.count(), 1);
}

#[tokio::test]
async fn shows_events_as_they_arrive() {
    let server = Server::start([
        Answer::events(&adds()),
        Answer::events(&text(CHAT, "It is 3.")),
    ])
    .await;
    let (session, _) = session().await;
    let shown = EventRecorder::default();
    let mut agent = AgentLoop::new(session, model(CHAT, &server).on_event(shown.listener()));
    let reply = agent.prompt("1 + 2?").await;
    assert_eq!(
        (reply.text.as_deref(), shown.text().as_str()),
        (Some("It is 3."), "It is 3.")
    );
}

#[tokio::test]
async fn reads_an_answer_without_streaming() {
    let message = json!({"role": "assistant", "content": "Hello"});
    let body = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
    let server = Server::start([Answer::new(
        200,
        &[("content-type", "application/json")],
        &body.to_string(),
    )])
    .await;
    let (session, _) = session().await;
    let mut agent = AgentLoop::new(session, model(CHAT, &server).stream(false));
    assert_eq!(agent.prompt("Hi").await.text.as_deref(), Some("Hello"));
    assert_ne!(server.requests()[0].body["stream"], json!(true));
}

#[tokio::test]
async fn retries_a_stream_that_breaks_within_a_call() {
    let half = chat_call_begins("call_1", 0, r#"{"a": 1, "#);
    let server = Server::start([
        Answer::events(&half).breaks(),
        Answer::events(&adds()),
        Answer::events(&text(CHAT, "3")),
    ])
    .await;
    let (mut agent, runs) = chat(&server).await;
    let reply = agent.prompt("1 + 2?").await;
    assert_eq!(
        (reply.text.as_deref(), runs.count(), server.requests().len()),
        (Some("3"), 1, 3),
        "{reply:?}"
    );
    assert_eq!(reply.responses[0].meta().call_id(), Some("call_1"));
}

#[tokio::test]
async fn retries_a_stream_that_ends_within_a_call() {
    let half = chat_call_begins("call_1", 0, "");
    let server = Server::start([Answer::events(&half), Answer::events(&text(CHAT, "Sorry"))]).await;
    let (mut agent, runs) = chat(&server).await;
    assert_eq!(agent.prompt("1 + 2?").await.text.as_deref(), Some("Sorry"));
    assert_eq!(runs.count(), 0, "a call without its arguments does not run");
}

// M1
#[tokio::test]
async fn runs_no_call_of_a_broken_stream() {
    let anthropic = Provider::Anthropic;
    let whole = call(anthropic, "toolu_1", &json!({"a": 1, "b": 2}));
    let (cut, _) = whole.split_once("event: message_delta").expect("ends");
    let first = Answer::events(cut).breaks();
    let server = Server::start([
        first,
        Answer::events(&whole),
        Answer::events(&text(anthropic, "It is 3.")),
    ])
    .await;
    let (session, runs) = session().await;
    let mut agent = AgentLoop::new(session, model(anthropic, &server));
    let reply = agent.prompt("1 + 2?").await;
    assert_eq!(
        (reply.text.as_deref(), runs.count()),
        (Some("It is 3."), 1),
        "{reply:?}"
    );
    assert_eq!((reply.responses.len(), server.requests().len()), (1, 3));
}

#[tokio::test]
async fn does_not_retry_an_answer_that_was_shown() {
    let cut = text(CHAT, "It is ")
        .split("data: ")
        .take(2)
        .collect::<Vec<_>>()
        .join("data: ");
    let server = Server::start([
        Answer::events(&cut).breaks(),
        Answer::events(&text(CHAT, "It is 3.")),
    ])
    .await;
    let (session, _) = session().await;
    let shown = EventRecorder::default();
    let mut agent = AgentLoop::new(session, model(CHAT, &server).on_event(shown.listener()));
    let reply = agent.prompt("1 + 2?").await;
    assert_eq!(
        reply.error.map(|error| error.kind),
        Some(ErrorKind::Transient)
    );
    assert_eq!(
        (shown.text().as_str(), server.requests().len()),
        ("It is ", 1)
    );
    // The next prompt works.
    assert_eq!(
        agent.prompt("Again?").await.text.as_deref(),
        Some("It is 3.")
    );
}

// M1
#[tokio::test]
async fn tries_again_after_an_event_that_is_not_json() {
    let broken = format!("{}data: {{oops\n\n", text(CHAT, "Hel")).replace("data: [DONE]\n\n", "");
    let server = Server::start([
        Answer::events(&broken),
        Answer::events(&text(CHAT, "Hello")),
    ])
    .await;
    let (mut agent, _) = chat(&server).await;
    let reply = agent.prompt("Hi").await;
    assert_eq!(
        (reply.text.as_deref(), server.requests().len()),
        (Some("Hello"), 2),
        "{reply:?}"
    );
}

// M1
#[tokio::test]
async fn says_what_was_lost_and_where() {
    let broken = || Answer::events(&format!("data: {{oops\n\n{}", text(CHAT, "Hello")));
    let server = Server::start((0..9).map(|_| broken())).await;
    let (mut agent, _) = chat(&server).await;
    let error = agent.prompt("Hi").await.error.expect("fails");
    assert_eq!(
        error,
        ErrorBody::from(ToolError::transient(error.message.clone())),
        "it may be tried again"
    );
    assert!(
        error.message.contains("event 1 of the answer") && error.message.contains("{oops"),
        "{error}"
    );
}

#[tokio::test]
async fn runs_a_repeated_call_once() {
    let twice = adds().replace("data: [DONE]\n\n", "") + &adds();
    let server = Server::start([Answer::events(&twice), Answer::events(&text(CHAT, "3"))]).await;
    let (mut agent, runs) = chat(&server).await;
    let reply = agent.prompt("1 + 2?").await;
    assert_eq!(
        (reply.text.as_deref(), runs.count()),
        (Some("3"), 1),
        "{reply:?}"
    );
}
