//! The events of replies over HTTP: pieces as they arrive, a slow reader, and a broken answer.

use crate::scripts::{call, text};
use crate::server::{Answer, Server};
use crate::support::{chat, model, session};
use futures_util::{Stream, StreamExt};
use serde_json::json;
use std::time::Duration;
use tokio::time::timeout;
use tool_adapters::Provider;
use tool_adapters::agent::{AgentEvent, AgentLoop};
use tool_core::session::ReplyFinish;

const CHAT: Provider = Provider::OpenAiChat;

fn piece(delta: &serde_json::Value) -> String {
    let chunk = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
    format!("data: {chunk}\n\n")
}

fn said(words: &str) -> String {
    piece(&json!({"content": words}))
}

async fn texts(events: impl Stream<Item = AgentEvent>) -> Vec<String> {
    let texts = events.filter_map(async |event| match event {
        AgentEvent::Text { delta } => Some(delta),
        _ => None,
    });
    texts.collect().await
}

#[tokio::test]
async fn pieces_come_before_the_answer_has_ended() {
    let begun = piece(&json!({"reasoning_content": "Three."})) + &said("It is");
    let server = Server::start([Answer::events(&begun).hangs()]).await;
    let (mut agent, _) = chat(&server).await;
    let mut events = agent.stream("1 + 2?");
    let mut shown = Vec::new();
    while shown.len() < 3 {
        let next = timeout(Duration::from_secs(10), events.next()).await;
        shown.push(next.expect("a piece").expect("an event"));
    }
    let reasoning = AgentEvent::Reasoning {
        delta: "Three.".into(),
    };
    let text = AgentEvent::Text {
        delta: "It is".into(),
    };
    assert_eq!(shown[1..], [reasoning, text]);
}

#[tokio::test]
async fn each_model_streams_its_text() {
    for provider in [
        Provider::OpenAiChat,
        Provider::OpenAiResponses,
        Provider::Anthropic,
        Provider::Gemini,
    ] {
        let server = Server::start([Answer::events(&text(provider, "It is 3."))]).await;
        let (session, _) = session().await;
        let mut agent = AgentLoop::new(session, model(provider, &server));
        assert_eq!(
            texts(agent.stream("1 + 2?")).await,
            ["It is 3."],
            "{provider}"
        );
    }
}

#[tokio::test]
async fn an_answer_that_was_shown_is_not_asked_for_again() {
    let broken = Answer::events(&said("It is")).breaks();
    let server = Server::start([broken, Answer::events(&text(CHAT, "It is 3."))]).await;
    let (mut agent, _) = chat(&server).await;
    let events = agent.stream("1 + 2?").collect::<Vec<_>>().await;
    let Some(AgentEvent::Finished { reply }) = events.last() else {
        panic!("no end: {events:?}");
    };
    assert_eq!(reply.finish, ReplyFinish::Failed);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn an_answer_that_breaks_unseen_is_asked_for_again() {
    let broken = Answer::events("").breaks();
    let server = Server::start([broken, Answer::events(&text(CHAT, "It is 3."))]).await;
    let (mut agent, _) = chat(&server).await;
    assert_eq!(texts(agent.stream("1 + 2?")).await, ["It is 3."]);
}

#[tokio::test]
async fn a_slow_reader_is_sent_pieces_of_bounded_size() {
    let words = said("0123456789").repeat(20_000);
    let answer = Answer::events(&(words + &text(CHAT, "end")));
    let server = Server::start([answer]).await;
    let (mut agent, _) = chat(&server).await;
    let texts = texts(agent.stream("Count").then(async |event| {
        tokio::task::yield_now().await;
        event
    }))
    .await;
    let total = texts.iter().map(String::len).sum::<usize>();
    assert_eq!(total, 20_000 * 10 + 3);
    let longest = texts.iter().map(String::len).max();
    assert!(longest < Some(16 * 1024), "{longest:?}");
}

#[tokio::test]
async fn a_call_runs_between_two_answers() {
    let adds = call(CHAT, "call_1", &json!({"a": 1, "b": 2}));
    let server = Server::start([
        Answer::events(&adds),
        Answer::events(&text(CHAT, "It is 3.")),
    ])
    .await;
    let (mut agent, runs) = chat(&server).await;
    let events = agent.stream("1 + 2?").collect::<Vec<_>>().await;
    let kinds = events.iter().map(|event| {
        let json = serde_json::to_value(event).expect("serialises");
        json["type"].as_str().unwrap_or_default().to_owned()
    });
    let wanted = [
        "started",
        "usage",
        "call_begun",
        "call_result",
        "text",
        "usage",
        "finished",
    ];
    assert_eq!(kinds.collect::<Vec<_>>(), wanted);
    assert_eq!(runs.count(), 1);
}
