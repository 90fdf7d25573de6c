//! Retries and their delays.

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
async fn retries_a_busy_provider() {
    for status in [408, 409, 429, 500, 502, 503, 529] {
        let server = Server::start([error(status, &[]), error(status, &[]), hello()]).await;
        let (mut agent, _) = chat(&server).await;
        assert_eq!(
            agent.prompt("Hi").await.text.as_deref(),
            Some("Hello"),
            "{status}"
        );
        assert_eq!(server.requests().len(), 3);
    }
}

#[tokio::test]
async fn waits_for_the_requested_time() {
    let server = Server::start([error(429, &[("retry-after", "1")]), hello()]).await;
    let (mut agent, _) = chat(&server).await;
    let began = Instant::now();
    assert_eq!(agent.prompt("Hi").await.text.as_deref(), Some("Hello"));
    assert!(
        began.elapsed() >= Duration::from_secs(1),
        "{:?}",
        began.elapsed()
    );
}

/// Asks a model whose first answer is an error, and returns the time that it took.
async fn time_with(first: Answer) -> Duration {
    let server = Server::start([first, hello()]).await;
    let (mut agent, _) = chat(&server).await;
    let began = Instant::now();
    assert_eq!(agent.prompt("Hi").await.text.as_deref(), Some("Hello"));
    began.elapsed()
}

// M8
#[tokio::test]
async fn the_body_of_an_error_is_not_waited_for() {
    let stalled = error(503, &[]).hangs();
    let time = time_with(stalled).await;
    assert!(time < Duration::from_secs(30), "{time:?}");
}

// M8
#[tokio::test]
async fn waits_for_the_time_that_the_body_names() {
    let retry_info = r#"{"error": {"code": 429, "message": "Quota", "status": "RESOURCE_EXHAUSTED", "details":
        [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.7s"}]}}"#;
    let message = r#"{"error": {"message": "Rate limit reached. Please try again in 700ms."}}"#;
    for body in [retry_info, message] {
        let took = time_with(Answer::new(429, &[], body)).await;
        assert!(took >= Duration::from_millis(700), "{took:?}");
    }
}

// M8
#[tokio::test]
async fn waits_until_the_limit_is_reset() {
    let headers = [
        ("x-ratelimit-remaining-requests", "99"),
        ("x-ratelimit-limit-requests", "100"),
        ("x-ratelimit-reset-requests", "8m0s"),
        ("x-ratelimit-remaining-tokens", "0"),
        ("x-ratelimit-reset-tokens", "700ms"),
    ];
    let took = time_with(error(429, &headers)).await;
    assert!(took >= Duration::from_millis(700), "{took:?}");
}

// M8
#[tokio::test]
async fn waits_for_the_time_that_an_error_in_a_stream_names() {
    let event =
        r#"{"error": {"code": "rate_limit_exceeded", "message": "Please try again in 0.7s."}}"#;
    let took = time_with(Answer::events(&format!("data: {event}\n\n"))).await;
    assert!(took >= Duration::from_millis(700), "{took:?}");
}

#[tokio::test]
async fn does_not_retry_after_a_long_requested_time() {
    let server = Server::start([error(429, &[("retry-after", "3600")]), hello()]).await;
    let (mut agent, _) = chat(&server).await;
    let error = agent.prompt("Hi").await.error.expect("fails");
    assert_eq!((error.kind, error.message.as_str()), {
        (
            ErrorKind::RateLimit,
            "the provider answered 429: busy (retry after 3600 s)",
        )
    });
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn returns_the_error_of_the_last_attempt() {
    let server = Server::start((0..9).map(|_| error(503, &[]))).await;
    let (session, _) = session().await;
    let mut agent = AgentLoop::new(
        session,
        model(Provider::OpenAiChat, &server).retry(RetryPolicy {
            attempts: 2,
            ..quick()
        }),
    );
    let error = agent.prompt("Hi").await.error.expect("fails");
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ErrorKind::Transient, "the provider answered 503: busy")
    );
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn reports_a_missing_server_over_http_and_https() {
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("binds");
        listener.local_addr().expect("has an address").port()
    };
    for scheme in ["http", "https"] {
        let (session, _) = session().await;
        let model = HttpModel::new(Provider::OpenAiChat, "m")
            .base_url(format!("{scheme}://127.0.0.1:{port}"));
        let mut agent = AgentLoop::new(session, model.retry(quick()).api_key("sk-canary"));
        let error = agent.prompt("Hi").await.error.expect("fails");
        assert_eq!(error.kind, ErrorKind::Transient);
        let expected = format!("failed to reach the provider at 127.0.0.1:{port}: ");
        assert!(
            error.message.starts_with(&expected) && !error.message.contains("canary"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn reports_a_server_without_tls() {
    let server = Server::start([]).await;
    let (session, _) = session().await;
    let url = server.url.replace("http://", "https://");
    let timeouts = Timeouts {
        connect: Duration::from_millis(200),
        ..Timeouts::default()
    };
    let model = HttpModel::new(Provider::OpenAiChat, "m")
        .base_url(url)
        .retry(RetryPolicy::never())
        .timeouts(timeouts);
    let error = AgentLoop::new(session, model)
        .prompt("Hi")
        .await
        .error
        .expect("fails");
    assert_eq!(error.kind, ErrorKind::Transient, "{error}");
}

#[tokio::test]
async fn retries_a_silent_provider() {
    let begun = text(Provider::OpenAiChat, "He")
        .split("data: ")
        .take(2)
        .collect::<Vec<_>>()
        .join("data: ");
    let server = Server::start([
        Answer::events("").hangs(),
        Answer::events(&begun).hangs(),
        hello(),
    ])
    .await;
    let (session, _) = session().await;
    let timeouts = Timeouts {
        idle: Duration::from_millis(100),
        ..Timeouts::default()
    };
    let mut agent = AgentLoop::new(
        session,
        model(Provider::OpenAiChat, &server).timeouts(timeouts),
    );
    assert_eq!(agent.prompt("Hi").await.text.as_deref(), Some("Hello"));
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn time_limits_of_a_model_can_be_endless() {
    let asked = ("retry-after", "1e19");
    let server = Server::start([error(429, &[]), hello(), error(429, &[asked])]).await;
    let max = Duration::MAX;
    let timeouts = Timeouts {
        connect: max,
        idle: max,
        total: max,
    };
    let endless = RetryPolicy {
        max,
        max_retry_after: max,
        ..quick()
    };
    let (session, _) = session().await;
    let mut agent = AgentLoop::new(
        session,
        model(Provider::OpenAiChat, &server)
            .timeouts(timeouts)
            .retry(endless),
    );
    assert_eq!(agent.prompt("Hi").await.text.as_deref(), Some("Hello"));
    assert_eq!(
        agent.prompt("Hi").await.error.expect("too late").kind,
        ErrorKind::RateLimit
    );
}

#[tokio::test]
async fn the_total_time_limit_covers_all_attempts() {
    let server = Server::start((0..9).map(|_| Answer::events("").hangs())).await;
    let (session, _) = session().await;
    let timeouts = Timeouts {
        total: Duration::from_millis(200),
        ..Timeouts::default()
    };
    let mut agent = AgentLoop::new(
        session,
        model(Provider::OpenAiChat, &server).timeouts(timeouts),
    );
    let error = agent.prompt("Hi").await.error.expect("fails");
    assert_eq!(
        (error.kind, error.message.as_str()),
        (
            ErrorKind::Transient,
            "the provider's answer exceeded the total time limit"
        )
    );
    // The first attempt took all of the time.
    assert_eq!(server.requests().len(), 1);
}
