//! Models at Azure and Vertex AI: the paths, the keys and the bodies of requests.

use crate::scripts::text;
use crate::server::{Answer, Request, Server};
use crate::support::session;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tool_adapters::Provider;
use tool_adapters::agent::AgentLoop;
use tool_adapters::transport::ProvidedKey;
use tool_adapters::transport::http::{AzureOpenAi, HttpModel, VertexAi};
use tool_core::session::Reply;

fn says(provider: Provider) -> Answer {
    Answer::events(&text(provider, "Hello"))
}

async fn prompt(model: HttpModel) -> Reply {
    AgentLoop::new(session().await.0, model).prompt("Hi").await
}

/// Asks a model, and returns the one request that it sent.
async fn request_of(server: &Server, model: HttpModel) -> Request {
    let reply = prompt(model).await;
    assert_eq!(reply.text.as_deref(), Some("Hello"), "{reply:?}");
    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    requests[0].clone()
}

fn first_line(request: &Request) -> &str {
    request.head.lines().next().unwrap_or_default()
}

fn has_header(request: &Request, line: &str) -> bool {
    request.head.lines().any(|head| head == line)
}

#[tokio::test]
async fn azure_gets_its_key_and_the_deployment_as_the_model() {
    let server = Server::start([says(Provider::OpenAiChat)]).await;
    let azure = AzureOpenAi::new(format!("{}/", server.url));
    let request = request_of(&server, azure.chat("our-gpt").api_key("0123")).await;
    assert_eq!(
        first_line(&request),
        "post /openai/v1/chat/completions http/1.1"
    );
    assert!(has_header(&request, "api-key: 0123"), "{}", request.head);
    assert!(!request.head.contains("authorization"), "{}", request.head);
    assert_eq!(request.body["model"], "our-gpt");
}

#[tokio::test]
async fn azure_names_the_deployment_of_a_dated_api_in_the_path() {
    let server = Server::start([says(Provider::OpenAiChat)]).await;
    let azure = AzureOpenAi::new(&server.url).api_version("2024-10-21");
    let request = request_of(&server, azure.chat("our gpt").api_key("0123")).await;
    assert_eq!(
        first_line(&request),
        "post /openai/deployments/our%20gpt/chat/completions?api-version=2024-10-21 http/1.1"
    );
}

#[tokio::test]
async fn azure_may_have_a_deployment_with_the_name_of_an_api() {
    let server = Server::start([says(Provider::OpenAiChat)]).await;
    let azure = AzureOpenAi::new(&server.url).api_version("1");
    let request = request_of(&server, azure.chat("chat").api_key("0123")).await;
    assert_eq!(
        first_line(&request),
        "post /openai/deployments/chat/chat/completions?api-version=1 http/1.1"
    );
}

#[tokio::test]
async fn azure_has_responses_in_both_apis() {
    for (version, path) in [
        (None, "/openai/v1/responses"),
        (
            Some("2025-04-01-preview"),
            "/openai/responses?api-version=2025-04-01-preview",
        ),
    ] {
        let server = Server::start([says(Provider::OpenAiResponses)]).await;
        let mut azure = AzureOpenAi::new(&server.url);
        if let Some(version) = version {
            azure = azure.api_version(version);
        }
        let request = request_of(&server, azure.responses("our-gpt").api_key("0123")).await;
        assert_eq!(first_line(&request), format!("post {path} http/1.1"));
    }
}

#[tokio::test]
async fn azure_takes_tokens_of_entra_which_are_renewed() {
    let expired = Answer::new(401, &[], r#"{"error": {"message": "expired"}}"#);
    let server = Server::start([expired, says(Provider::OpenAiChat)]).await;
    let count = Arc::new(AtomicU32::new(0));
    let token = move || {
        let number = count.fetch_add(1, Ordering::Relaxed);
        let token = ProvidedKey::new(format!("token-{number}"));
        async move { Ok(token.valid_for(Duration::from_secs(3_000))) }
    };
    let azure = AzureOpenAi::new(&server.url);
    let reply = prompt(azure.chat("our-gpt").bearer_token_with(token)).await;
    assert_eq!(reply.text.as_deref(), Some("Hello"), "{reply:?}");
    let requests = server.requests();
    for (number, request) in requests.iter().enumerate() {
        let line = format!("authorization: bearer token-{number}");
        assert!(has_header(request, &line), "{}", request.head);
        assert!(!request.head.contains("api-key"), "{}", request.head);
    }
    assert_eq!(requests.len(), 2);
}

fn vertex(server: &Server) -> VertexAi {
    VertexAi::new("our-project", "europe-west1").base_url(&server.url)
}

fn token() -> impl Future<Output = Result<ProvidedKey, tool_core::ToolError>> + Send {
    std::future::ready(Ok(ProvidedKey::new("ya29")))
}

const PLACE: &str = "/v1/projects/our-project/locations/europe-west1";

#[tokio::test]
async fn vertex_has_the_models_of_google() {
    for (streams, method) in [
        (true, "streamgeneratecontent?alt=sse"),
        (false, "generatecontent"),
    ] {
        let server = Server::start([says(Provider::Gemini)]).await;
        let model = vertex(&server).gemini("gemini-3-flash").stream(streams);
        let request = request_of(&server, model.bearer_token_with(token)).await;
        assert_eq!(
            first_line(&request),
            format!("post {PLACE}/publishers/google/models/gemini-3-flash:{method} http/1.1")
        );
        assert!(
            has_header(&request, "authorization: bearer ya29"),
            "{}",
            request.head
        );
    }
}

#[tokio::test]
async fn vertex_has_the_models_of_anthropic() {
    let server = Server::start([says(Provider::Anthropic)]).await;
    let model = vertex(&server).anthropic("claude-sonnet-5");
    let request = request_of(&server, model.bearer_token_with(token)).await;
    assert_eq!(
        first_line(&request),
        format!(
            "post {PLACE}/publishers/anthropic/models/claude-sonnet-5:streamrawpredict http/1.1"
        )
    );
    assert_eq!(request.body.get("model"), None);
    assert_eq!(request.body["anthropic_version"], "vertex-2023-10-16");
    assert_eq!(request.body["stream"], Value::Bool(true));
}

#[tokio::test]
async fn vertex_has_models_by_chat_completions() {
    let server = Server::start([says(Provider::OpenAiChat)]).await;
    let model = vertex(&server).chat("google/gemini-3-flash");
    let request = request_of(&server, model.bearer_token_with(token)).await;
    assert_eq!(
        first_line(&request),
        format!("post {PLACE}/endpoints/openapi/chat/completions http/1.1")
    );
    assert_eq!(request.body["model"], "google/gemini-3-flash");
}
