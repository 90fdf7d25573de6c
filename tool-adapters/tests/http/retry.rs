//! What is tried again, and when.

use crate::scripts::text;
use crate::server::{Answer, Server};
use crate::support::{chat, model, quick, session};
use std::time::{Duration, Instant};
use tool_adapters::Provider;
use tool_adapters::agent::{AgentLoop, RetryPolicy};
use tool_adapters::transport::http::{HttpModel, Timeouts};
use tool_core::ErrorKind;

fn hello() -> Answer {
    Answer::events(&text(Provider::OpenAiChat, "Hello"))
}

fn error(status: u16, headers: &[(&str, &str)]) -> Answer {
    Answer::new(status, headers, r#"{"error": {"message": "busy"}}"#)
}

#[tokio::test]
async fn a_busy_provider_is_asked_again() {
    for status in [408, 409, 429, 500, 502, 503, 529] {
        let server = Server::start([error(status, &[]), error(status, &[]), hello()]).await;
        let (mut agent, _) = chat(&server).await;
        assert_eq!(agent.say("Hi").await.text.as_deref(), Some("Hello"), "{status}");
        assert_eq!(server.requests().len(), 3);
    }
}

#[tokio::test]
async fn the_time_that_the_provider_asks_for_is_waited() {
    let server = Server::start([error(429, &[("retry-after", "1")]), hello()]).await;
    let (mut agent, _) = chat(&server).await;
    let began = Instant::now();
    assert_eq!(agent.say("Hi").await.text.as_deref(), Some("Hello"));
    assert!(began.elapsed() >= Duration::from_secs(1), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_provider_that_asks_for_too_much_patience_is_not_asked_again_and_the_error_says_when() {
    let server = Server::start([error(429, &[("retry-after", "3600")]), hello()]).await;
    let (mut agent, _) = chat(&server).await;
    let error = agent.say("Hi").await.error.expect("fails");
    assert_eq!((error.kind(), error.message()), {
        (ErrorKind::RateLimit, "the provider answered 429: busy (try again in 3600 s)")
    });
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn after_the_last_attempt_the_providers_error_is_the_replys() {
    let server = Server::start((0..9).map(|_| error(503, &[]))).await;
    let (session, _) = session().await;
    let mut agent =
        AgentLoop::new(session, model(Provider::OpenAiChat, &server).retry(RetryPolicy { attempts: 2, ..quick() }));
    let error = agent.say("Hi").await.error.expect("fails");
    assert_eq!((error.kind(), error.message()), (ErrorKind::Transient, "the provider answered 503: busy"));
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_tried_again_and_then_told_without_a_panic_over_tls_too() {
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("binds");
        listener.local_addr().expect("has an address").port()
    };
    for scheme in ["http", "https"] {
        let (session, _) = session().await;
        let model = HttpModel::new(Provider::OpenAiChat, "m").base_url(format!("{scheme}://127.0.0.1:{port}"));
        let mut agent = AgentLoop::new(session, model.retry(quick()).api_key("sk-canary"));
        let error = agent.say("Hi").await.error.expect("fails");
        assert_eq!(error.kind(), ErrorKind::Transient);
        let told = format!("the provider cannot be reached at 127.0.0.1:{port}: ");
        assert!(error.message().starts_with(&told) && !error.message().contains("canary"), "{error}");
    }
}

#[tokio::test]
async fn a_server_without_tls_is_an_error_of_an_https_address() {
    let server = Server::start([]).await;
    let (session, _) = session().await;
    let url = server.url.replace("http://", "https://");
    let timeouts = Timeouts { connect: Duration::from_millis(200), ..Timeouts::default() };
    let model = HttpModel::new(Provider::OpenAiChat, "m").base_url(url).retry(RetryPolicy::never()).timeouts(timeouts);
    let error = AgentLoop::new(session, model).say("Hi").await.error.expect("fails");
    assert_eq!(error.kind(), ErrorKind::Transient, "{error}");
}

#[tokio::test]
async fn a_provider_that_falls_silent_is_given_up_and_asked_again() {
    let begun = text(Provider::OpenAiChat, "He").split("data: ").take(2).collect::<Vec<_>>().join("data: ");
    let server = Server::start([Answer::events("").hangs(), Answer::events(&begun).hangs(), hello()]).await;
    let (session, _) = session().await;
    let timeouts = Timeouts { idle: Duration::from_millis(100), ..Timeouts::default() };
    let mut agent = AgentLoop::new(session, model(Provider::OpenAiChat, &server).timeouts(timeouts));
    assert_eq!(agent.say("Hi").await.text.as_deref(), Some("Hello"));
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn a_step_ends_when_its_time_is_over_however_often_it_was_tried() {
    let server = Server::start((0..9).map(|_| Answer::events("").hangs())).await;
    let (session, _) = session().await;
    let timeouts = Timeouts { total: Duration::from_millis(200), ..Timeouts::default() };
    let mut agent = AgentLoop::new(session, model(Provider::OpenAiChat, &server).timeouts(timeouts));
    let began = Instant::now();
    let error = agent.say("Hi").await.error.expect("fails");
    assert_eq!((error.kind(), error.message()), (ErrorKind::Transient, "the provider's answer took too long in all"));
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
}
