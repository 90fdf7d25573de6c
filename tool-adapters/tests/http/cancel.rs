//! Who has heard enough closes the connection.

use crate::scripts::text;
use crate::server::{Answer, Server};
use crate::support::{Shown, model, session};
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
    let shown = Shown::default();
    let model = model(Provider::OpenAiChat, &server).on_event(shown.listener());
    let mut agent = AgentLoop::new(session().await.0, model);
    tokio::select! {
        _ = agent.say("Hi") => panic!("it hangs"),
        () = shown.begins() => {}
    }
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
    shown.begins().await;
    interrupter.interrupt();
    let reply = reply.await.expect("ends");
    assert!(reply.interrupted && reply.error.is_none(), "{reply:?}");
    assert!(server.was_left().await, "the connection stays open");
}
