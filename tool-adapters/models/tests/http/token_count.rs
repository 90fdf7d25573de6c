//! Tokens that are counted before a request is sent.

use crate::server::{Answer, Server};
use crate::support::{model, session};
use serde_json::{Value, json};
use tool_adapters::Provider;
use tool_adapters::providers::AcceptedParts;
use tool_adapters::transport::http::{HttpModel, TokenCount};
use tool_core::session::{Message, ModelRequest, ToolChoice, UserMessage};
use tool_core::{ErrorKind, ToolError};

async fn count(model: &mut HttpModel) -> Result<TokenCount, ToolError> {
    count_history(model, &[Message::User("1 + 2?".into())]).await
}

async fn count_history(
    model: &mut HttpModel,
    history: &[Message],
) -> Result<TokenCount, ToolError> {
    let (session, _) = session().await;
    let request = ModelRequest {
        instructions: "Be brief.",
        history,
        tools: &session.definitions(),
        searchable: &[],
        provider_tools: &[],
        tool_choice: ToolChoice::Auto,
        events: None,
    };
    model.count_tokens(request).await
}

fn json_answer(body: &Value) -> Answer {
    Answer::new(
        200,
        &[("content-type", "application/json")],
        &body.to_string(),
    )
}

/// A provider that counts: the path, the pointer to what it is asked, the members of that, and its answer.
struct Counter {
    provider: Provider,
    path: &'static str,
    asked: &'static str,
    members: &'static [&'static str],
    answer: &'static str,
}

const COUNTERS: [Counter; 4] = [
    Counter {
        provider: Provider::Anthropic,
        path: "/v1/messages/count_tokens",
        asked: "",
        members: &["messages", "model", "system", "tools"],
        answer: r#"{"input_tokens": 403}"#,
    },
    Counter {
        provider: Provider::OpenAiResponses,
        path: "/responses/input_tokens",
        asked: "",
        members: &["input", "instructions", "model", "tools"],
        answer: r#"{"object": "response.input_tokens", "input_tokens": 403}"#,
    },
    Counter {
        provider: Provider::Gemini,
        path: "/v1beta/models/the-model:counttokens",
        asked: "/generateContentRequest",
        members: &[
            "contents",
            "generationConfig",
            "model",
            "systemInstruction",
            "tools",
        ],
        answer: r#"{"totalTokens": 403}"#,
    },
    Counter {
        provider: Provider::Bedrock,
        path: "/model/the-model/count-tokens",
        asked: "/input/converse",
        members: &["messages", "system", "toolConfig"],
        answer: r#"{"inputTokens": 403}"#,
    },
];

#[tokio::test]
async fn providers_with_an_endpoint_count() {
    for counter in COUNTERS {
        let provider = counter.provider;
        let answer = serde_json::from_str(counter.answer).expect("JSON");
        let server = Server::start([json_answer(&answer)]).await;
        let counted = count(&mut model(provider, &server).max_tokens(100)).await;
        assert_eq!(counted, Ok(TokenCount::Counted(403)), "{provider}");

        let requests = server.requests();
        let head = &requests[0].head;
        assert!(
            head.starts_with(&format!("post {} ", counter.path)),
            "{head}"
        );
        assert!(head.contains("sk-canary"), "{head}");
        let asked = requests[0].body.pointer(counter.asked).expect("a request");
        let mut members = asked
            .as_object()
            .expect("an object")
            .keys()
            .collect::<Vec<_>>();
        members.sort();
        assert_eq!(members, counter.members, "{provider}");
    }
}

#[tokio::test]
async fn other_providers_get_an_estimate_without_a_request() {
    for provider in [Provider::OpenAiChat, Provider::Mistral, Provider::Ollama] {
        let server = Server::start([]).await;
        let counted = count(&mut model(provider, &server))
            .await
            .expect("an estimate");
        assert!(
            matches!(counted, TokenCount::Estimated(40..200)),
            "{counted:?}"
        );
        assert!(server.requests().is_empty());
    }
}

#[tokio::test]
async fn a_server_without_the_endpoint_gets_an_estimate() {
    let server = Server::start([Answer::new(404, &[], "no such path")]).await;
    let counted = count(&mut model(Provider::OpenAiResponses, &server)).await;
    assert!(
        matches!(counted, Ok(TokenCount::Estimated(_))),
        "{counted:?}"
    );
}

#[tokio::test]
async fn a_refused_key_is_an_error_and_no_estimate() {
    let body = r#"{"error": {"message": "bad key sk-canary"}}"#;
    let server = Server::start([Answer::new(401, &[], body)]).await;
    let error = count(&mut model(Provider::Anthropic, &server))
        .await
        .expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::Auth);
    assert!(!error.message().contains("canary"), "{error}");
}

#[tokio::test]
async fn a_missing_setting_is_an_error_of_the_count() {
    let server = Server::start([]).await;
    let error = count(&mut model(Provider::Bedrock, &server).seed(1)).await;
    assert!(error.is_err());
    assert!(server.requests().is_empty());
}

fn image() -> Message {
    Message::user(UserMessage::new("What is this?").image("aW1hZ2U=", "image/png"))
}

// M14
#[tokio::test]
async fn a_file_that_is_not_taken_is_not_counted() {
    let server = Server::start([]).await;
    let mut model = model(Provider::Anthropic, &server).accept_parts(AcceptedParts::TEXT);
    let error = count_history(&mut model, &[image()])
        .await
        .expect_err("refused");
    assert!(error.message().contains("it takes no images"), "{error}");
    assert!(server.requests().is_empty());
}

// M14
#[tokio::test]
async fn what_the_server_refuses_of_older_files_is_not_counted() {
    let refusal = Answer::new(400, &[], r#"{"error": {"message": "no images"}}"#);
    let counted = json_answer(&json!({"input_tokens": 403}));
    let server = Server::start([refusal, counted]).await;
    let mut model = model(Provider::Anthropic, &server);
    let history = [image(), Message::user("Never mind.")];
    let counted = count_history(&mut model, &history).await;
    assert_eq!(counted, Ok(TokenCount::Counted(403)));

    let second = server.requests()[1].body.to_string();
    assert!(second.contains("[image image/png left out]"), "{second}");
}
