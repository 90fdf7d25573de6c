//! API keys from a callback.

use crate::scripts::text;
use crate::server::{Answer, Server};
use crate::support::{model, session};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tool_adapters::Provider;
use tool_adapters::agent::AgentLoop;
use tool_adapters::transport::ProvidedKey;
use tool_adapters::transport::http::HttpModel;
use tool_core::{ErrorKind, ToolError};

/// A model whose callback provides `key-1`, `key-2` and so on, each for so long.
fn rotating(server: &Server, valid_for: Duration) -> HttpModel {
    let asked = Arc::new(AtomicUsize::new(0));
    model(Provider::OpenAiChat, server).api_key_with(move || {
        let n = asked.fetch_add(1, Ordering::SeqCst) + 1;
        async move { Ok(ProvidedKey::new(format!("key-{n}")).valid_for(valid_for)) }
    })
}

fn hello() -> Answer {
    Answer::events(&text(Provider::OpenAiChat, "Hello"))
}

/// Prompts so often, and returns the keys that the server received and the kind of the last error.
async fn keys(answers: Vec<Answer>, valid_for: Duration, prompts: usize) -> (Vec<String>, Option<ErrorKind>) {
    let server = Server::start(answers).await;
    let (session, _) = session().await;
    let mut agent = AgentLoop::new(session, rotating(&server, valid_for));
    let mut error = None;
    for _ in 0..prompts {
        error = agent.prompt("Hi").await.error.map(|error| error.kind());
    }
    let key = |head: &str| head.split("bearer ").nth(1)?.split_whitespace().next().map(str::to_owned);
    (server.requests().iter().filter_map(|request| key(&request.head)).collect(), error)
}

#[tokio::test]
async fn callback_is_asked_for_each_request() {
    let (keys, error) = keys(vec![hello(), hello(), hello()], Duration::ZERO, 3).await;
    assert_eq!((keys, error), (vec!["key-1".into(), "key-2".into(), "key-3".into()], None));
}

#[tokio::test]
async fn valid_key_is_used_again() {
    let (keys, error) = keys(vec![hello(), hello()], Duration::from_hours(1), 2).await;
    assert_eq!((keys, error), (vec!["key-1".into(), "key-1".into()], None));
}

#[tokio::test]
async fn refused_key_is_replaced_once() {
    let refused = || Answer::new(401, &[], "{}");
    let valid_for = Duration::from_hours(1);
    let (one, error) = keys(vec![refused(), hello()], valid_for, 1).await;
    assert_eq!((one, error), (vec!["key-1".into(), "key-2".into()], None));
    let (all, error) = keys((0..9).map(|_| refused()).collect(), valid_for, 1).await;
    assert_eq!((all, error), (vec!["key-1".into(), "key-2".into()], Some(ErrorKind::Auth)));
}

#[tokio::test]
async fn failure_of_the_callback_is_the_answer() {
    let server = Server::start([hello()]).await;
    let (session, _) = session().await;
    let model = model(Provider::OpenAiChat, &server).api_key_with(|| async { Err(ToolError::auth("no credentials")) });
    let error = AgentLoop::new(session, model).prompt("Hi").await.error.expect("fails");
    assert_eq!((error.kind(), error.message()), (ErrorKind::Auth, "no credentials"));
    assert!(server.requests().is_empty());
}
