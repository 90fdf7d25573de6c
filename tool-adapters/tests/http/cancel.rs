//! Who has heard enough closes the connection.

use crate::scripts::text;
use crate::server::{Answer, Server};
use crate::support::{Shown, chat, model, session};
use std::time::Duration;
use tokio::time::{sleep, timeout};
use tool_adapters::Provider;
use tool_adapters::agent::AgentLoop;

fn begun() -> Answer {
    let begun = text(Provider::OpenAiChat, "Well,").split("data: ").take(2).collect::<Vec<_>>().join("data: ");
    Answer::events(&begun).hangs()
}

#[tokio::test]
async fn dropping_a_reply_closes_the_connection_and_leaves_the_history_whole() {
    let hello = Answer::events(&text(Provider::OpenAiChat, "Hello"));
    let mut server = Server::start([begun(), hello]).await;
    let (mut agent, _) = chat(&server).await;
    assert!(timeout(Duration::from_millis(200), agent.say("Hi")).await.is_err());
    assert!(server.was_left().await, "the connection stays open");
    assert_eq!(agent.say("Hi again").await.text.as_deref(), Some("Hello"));
}

#[tokio::test]
async fn an_interruption_closes_the_connection_too() {
    let mut server = Server::start([begun()]).await;
    let (session, _) = session().await;
    let shown = Shown::default();
    let mut agent = AgentLoop::new(session, model(Provider::OpenAiChat, &server).on_event(shown.listener()));
    let interrupter = agent.interrupter();
    let reply = tokio::spawn(async move { agent.say("Hi").await });
    while shown.is_empty() {
        sleep(Duration::from_millis(5)).await;
    }
    interrupter.interrupt();
    let reply = reply.await.expect("ends");
    assert!(reply.interrupted && reply.error.is_none(), "{reply:?}");
    assert!(server.was_left().await, "the connection stays open");
}
