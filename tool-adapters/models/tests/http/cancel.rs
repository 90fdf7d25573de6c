//! Dropped and interrupted replies close the connection.

use crate::scripts::text;
use crate::server::{Answer, Server};
use crate::support::{EventRecorder, model, session};
use futures_util::StreamExt;
use tool_adapters::Provider;
use tool_adapters::agent::{AgentEvent, AgentLoop};

fn begun() -> Answer {
    let begun = text(Provider::OpenAiChat, "Well,")
        .split("data: ")
        .take(2)
        .collect::<Vec<_>>()
        .join("data: ");
    Answer::events(&begun).hangs()
}

#[tokio::test]
async fn dropping_a_reply_closes_the_connection() {
    let hello = Answer::events(&text(Provider::OpenAiChat, "Hello"));
    let mut server = Server::start([begun(), hello]).await;
    let shown = EventRecorder::default();
    let model = model(Provider::OpenAiChat, &server).on_event(shown.listener());
    let mut agent = AgentLoop::new(session().await.0, model);
    tokio::select! {
        _ = agent.prompt("Hi") => panic!("it hangs"),
        () = shown.wait_for_text() => {}
    }
    assert!(server.was_closed().await, "the connection stays open");
    assert_eq!(
        agent.prompt("Hi again").await.text.as_deref(),
        Some("Hello")
    );
}

#[tokio::test]
async fn interrupting_a_reply_closes_the_connection() {
    let mut server = Server::start([begun()]).await;
    let (session, _) = session().await;
    let shown = EventRecorder::default();
    let mut agent = AgentLoop::new(
        session,
        model(Provider::OpenAiChat, &server).on_event(shown.listener()),
    );
    let interrupter = agent.interrupt_handle();
    let reply = tokio::spawn(async move { agent.prompt("Hi").await });
    shown.wait_for_text().await;
    interrupter.interrupt();
    let reply = reply.await.expect("ends");
    assert!(reply.interrupted && reply.error.is_none(), "{reply:?}");
    assert!(server.was_closed().await, "the connection stays open");
}

#[tokio::test]
async fn dropping_a_stream_closes_the_connection() {
    let hello = Answer::events(&text(Provider::OpenAiChat, "Hello"));
    let mut server = Server::start([begun(), hello]).await;
    let model = model(Provider::OpenAiChat, &server);
    let mut agent = AgentLoop::new(session().await.0, model);
    let mut events = agent.stream("Hi");
    while !matches!(events.next().await, Some(AgentEvent::Text { .. })) {}
    drop(events);
    assert!(server.was_closed().await, "the connection stays open");
    let reply = agent.prompt("Hi again").await;
    assert_eq!(reply.text.as_deref(), Some("Hello"));
}
