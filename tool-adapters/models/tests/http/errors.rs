//! Errors of requests without an answer.

use crate::scripts::text;
use crate::server::{Answer, Server};
use crate::support::{chat, model, session};
use tool_adapters::Provider;
use tool_adapters::agent::AgentLoop;
use tool_adapters::transport::http::HttpModel;
use tool_core::ErrorKind;
use tool_core::call::ErrorBody;

async fn error_of(answer: Answer) -> (ErrorBody, usize) {
    let server = Server::start([answer]).await;
    let (mut agent, _) = chat(&server).await;
    let error = agent.prompt("Hi").await.error.expect("fails");
    (error, server.requests().len())
}

#[tokio::test]
async fn reports_a_wrong_key_as_auth_without_the_key() {
    let body = r#"{"error": {"message": "Incorrect API key provided: sk-canary."}}"#;
    let server = Server::start([Answer::new(401, &[], body)]).await;
    let (mut agent, _) = chat(&server).await;
    let error = agent.prompt("Hi").await.error.expect("fails");
    assert_eq!((error.kind, error.message.as_str()), {
        (
            ErrorKind::Auth,
            "the provider answered 401: Incorrect API key provided: [key].",
        )
    });
    assert!(!format!("{:?}", agent.model_mut()).contains("canary"));
    assert!(
        server.requests()[0]
            .head
            .contains("authorization: bearer sk-canary")
    );
}

#[tokio::test]
async fn does_not_follow_a_redirect() {
    let other = Server::start([Answer::events(&text(Provider::OpenAiChat, "Hello"))]).await;
    let (error, _) = error_of(Answer::new(307, &[("location", &other.url)], "")).await;
    assert_eq!(error.kind, ErrorKind::Permanent);
    assert!(
        error
            .message
            .contains("a redirect to 127.0.0.1 was not followed"),
        "{error}"
    );
    assert!(other.requests().is_empty());
}

#[tokio::test]
async fn cuts_and_escapes_the_message_of_a_provider() {
    let body = format!(
        "{{\"error\": {{\"message\": \"\\u001b[31m{}\"}}}}",
        "no ".repeat(1_000)
    );
    let (error, requests) = error_of(Answer::new(400, &[], &body)).await;
    assert_eq!((error.kind, requests), (ErrorKind::Permanent, 1));
    assert!(
        error.message.len() < 600 && !error.message.contains('\u{1b}'),
        "{error}"
    );
}

#[tokio::test]
async fn converts_an_error_in_a_stream() {
    let busy = r#"data: {"error": {"message": "overloaded", "type": "overloaded_error", "code": "overloaded_error"}}"#;
    let server = Server::start([
        Answer::events(&format!("{busy}\n\n")),
        Answer::events(&text(Provider::OpenAiChat, "Hello")),
    ])
    .await;
    let (mut agent, _) = chat(&server).await;
    assert_eq!(agent.prompt("Hi").await.text.as_deref(), Some("Hello"));

    let bad = r#"data: {"error": {"message": "no such tool", "type": "invalid_request_error"}}"#;
    let (error, requests) = error_of(Answer::events(&format!("{bad}\n\n"))).await;
    assert_eq!((error.kind, requests), (ErrorKind::Permanent, 1), "{error}");
    assert!(error.message.contains("no such tool"));
}

#[tokio::test]
async fn reports_an_answer_that_is_not_a_models() {
    let page = Answer::new(
        200,
        &[("content-type", "text/html")],
        "<html><body>Please log in</body></html>",
    );
    let server = Server::start((0..9).map(|_| page.clone())).await;
    let (mut agent, _) = chat(&server).await;
    let error = agent.prompt("Hi").await.error.expect("fails");
    assert!(
        matches!(error.kind, ErrorKind::Permanent | ErrorKind::Transient),
        "{error}"
    );
}

#[tokio::test]
async fn fails_on_an_oversized_answer() {
    let server =
        Server::start([Answer::events(&text(Provider::OpenAiChat, &"x".repeat(200_000))).hangs()])
            .await;
    let (session, _) = session().await;
    let mut agent = AgentLoop::new(
        session,
        model(Provider::OpenAiChat, &server).max_bytes(100_000),
    );
    let error = agent.prompt("Hi").await.error.expect("fails");
    assert_eq!(error.kind, ErrorKind::Permanent);
    assert!(
        error.message.contains("larger than 100000 bytes"),
        "{error}"
    );
}

#[tokio::test]
async fn keeps_the_path_of_the_base_url() {
    let server = Server::start([Answer::events(&text(Provider::OpenAiChat, "Hello"))]).await;
    let (session, _) = session().await;
    let url = format!("{}/team/v1/?api-version=7", server.url);
    let mut agent = AgentLoop::new(session, model(Provider::OpenAiChat, &server).base_url(url));
    assert_eq!(agent.prompt("Hi").await.text.as_deref(), Some("Hello"));
    assert!(
        server.requests()[0]
            .head
            .starts_with("post /team/v1/chat/completions?api-version=7 http")
    );
}

#[tokio::test]
async fn refuses_a_provider_without_an_http_api() {
    let (session, _) = session().await;
    let error = AgentLoop::new(session, HttpModel::new(Provider::GeminiLive, "m"))
        .prompt("Hi")
        .await
        .error;
    assert_eq!(error.map(|error| error.kind), Some(ErrorKind::Permanent));
}
