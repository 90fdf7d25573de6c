//! What is told when there is no answer.

use crate::scripts::text;
use crate::server::{Answer, Server};
use crate::support::{chat, model, session};
use tool_adapters::Provider;
use tool_adapters::agent::AgentLoop;
use tool_adapters::transport::http::HttpModel;
use tool_core::{ErrorKind, ToolError};

async fn error_of(answer: Answer) -> (ToolError, usize) {
    let server = Server::start([answer]).await;
    let (mut agent, _) = chat(&server).await;
    let error = agent.say("Hi").await.error.expect("fails");
    (error, server.requests().len())
}

#[tokio::test]
async fn a_wrong_key_is_auth_and_is_in_no_error_nor_debug_form() {
    let body = r#"{"error": {"message": "Incorrect API key provided: sk-canary."}}"#;
    let server = Server::start([Answer::new(401, &[], body)]).await;
    let (mut agent, _) = chat(&server).await;
    let error = agent.say("Hi").await.error.expect("fails");
    assert_eq!((error.kind(), error.message()), {
        (ErrorKind::Auth, "the provider answered 401: Incorrect API key provided: [key].")
    });
    assert!(!format!("{:?}", agent.model_mut()).contains("canary"));
    assert!(server.requests()[0].head.contains("authorization: bearer sk-canary"));
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let other = Server::start([Answer::events(&text(Provider::OpenAiChat, "Hello"))]).await;
    let (error, _) = error_of(Answer::new(307, &[("location", &other.url)], "")).await;
    assert_eq!(error.kind(), ErrorKind::Permanent);
    assert!(error.message().contains("a redirect to 127.0.0.1, which is not followed"), "{error}");
    assert!(other.requests().is_empty());
}

#[tokio::test]
async fn what_a_provider_says_is_short_and_has_no_control_characters() {
    let body = format!("{{\"error\": {{\"message\": \"\\u001b[31m{}\"}}}}", "no ".repeat(1_000));
    let (error, requests) = error_of(Answer::new(400, &[], &body)).await;
    assert_eq!((error.kind(), requests), (ErrorKind::Permanent, 1));
    assert!(error.message().len() < 600 && !error.message().contains('\u{1b}'), "{error}");
}

#[tokio::test]
async fn an_error_in_the_middle_of_a_stream_is_told_by_its_kind() {
    let busy = r#"data: {"error": {"message": "overloaded", "type": "overloaded_error", "code": "overloaded_error"}}"#;
    let server =
        Server::start([Answer::events(&format!("{busy}\n\n")), Answer::events(&text(Provider::OpenAiChat, "Hello"))])
            .await;
    let (mut agent, _) = chat(&server).await;
    assert_eq!(agent.say("Hi").await.text.as_deref(), Some("Hello"));

    let bad = r#"data: {"error": {"message": "no such tool", "type": "invalid_request_error"}}"#;
    let (error, requests) = error_of(Answer::events(&format!("{bad}\n\n"))).await;
    assert_eq!((error.kind(), requests), (ErrorKind::Permanent, 1), "{error}");
    assert!(error.message().contains("no such tool"));
}

#[tokio::test]
async fn another_server_than_a_providers_is_told_as_such() {
    let page = Answer::new(200, &[("content-type", "text/html")], "<html><body>Please log in</body></html>");
    let server = Server::start((0..9).map(|_| page.clone())).await;
    let (mut agent, _) = chat(&server).await;
    let error = agent.say("Hi").await.error.expect("fails");
    assert!(matches!(error.kind(), ErrorKind::Permanent | ErrorKind::Transient), "{error}");
}

#[tokio::test]
async fn an_answer_that_does_not_end_is_given_up_at_the_cap() {
    let server = Server::start([Answer::events(&text(Provider::OpenAiChat, &"x".repeat(200_000))).hangs()]).await;
    let (session, _) = session().await;
    let mut agent = AgentLoop::new(session, model(Provider::OpenAiChat, &server).max_bytes(100_000));
    let error = agent.say("Hi").await.error.expect("fails");
    assert_eq!(error.kind(), ErrorKind::Permanent);
    assert!(error.message().contains("larger than 100000 bytes"), "{error}");
}

#[tokio::test]
async fn a_base_url_keeps_its_path() {
    let server = Server::start([Answer::events(&text(Provider::OpenAiChat, "Hello"))]).await;
    let (session, _) = session().await;
    let url = format!("{}/team/v1/?api-version=7", server.url);
    let mut agent = AgentLoop::new(session, model(Provider::OpenAiChat, &server).base_url(url));
    assert_eq!(agent.say("Hi").await.text.as_deref(), Some("Hello"));
    assert!(server.requests()[0].head.starts_with("post /team/v1/chat/completions?api-version=7 http"));
}

#[tokio::test]
async fn a_provider_that_is_not_spoken_over_http_is_told_without_asking() {
    let (session, _) = session().await;
    let error = AgentLoop::new(session, HttpModel::new(Provider::GeminiLive, "m")).say("Hi").await.error;
    assert_eq!(error.map(|error| error.kind()), Some(ErrorKind::Permanent));
}
