//! async-openai.

use super::server::{Answer, Server};
use super::{SeenCall, collector, seen, seen_once_ended};
use crate::async_openai::{observe, observe_over};
use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::error::OpenAIError;
use async_openai::types::chat::{
    ChatCompletionRequestUserMessageArgs, CreateChatCompletionRequest,
    CreateChatCompletionRequestArgs,
};
use futures_util::StreamExt;
use tool_core::trace::{self, SpanStatus};

fn client(server: &Server) -> Client<OpenAIConfig> {
    let config = OpenAIConfig::new()
        .with_api_base(&server.url)
        .with_api_key("sk-canary");
    observe(Client::with_config(config))
}

fn request() -> CreateChatCompletionRequest {
    let message = ChatCompletionRequestUserMessageArgs::default()
        .content("Hello")
        .build()
        .expect("a message");
    CreateChatCompletionRequestArgs::default()
        .model("gpt-5")
        .messages([message.into()])
        .build()
        .expect("a request")
}

/// Reads a stream to its end, and returns its text and its last error.
async fn read(client: &Client<OpenAIConfig>) -> (String, Option<OpenAIError>) {
    let mut stream = client
        .chat()
        .create_stream(request())
        .await
        .expect("a stream");
    let mut text = String::new();
    let mut error = None;
    while let Some(chunk) = stream.next().await {
        match chunk {
            Ok(chunk) => {
                let deltas = chunk.choices.iter();
                text.extend(deltas.filter_map(|choice| choice.delta.content.as_deref()));
            }
            Err(failure) => error = Some(failure),
        }
    }
    (text, error)
}

#[tokio::test]
async fn whole_answer_has_its_usage_and_cost() {
    let server = Server::start([Answer::whole()]).await;
    let client = client(&server);
    let collector = collector();
    let chat = client.chat();
    let asking = trace::agent("clerk", chat.create(request()));
    let answer = collector.run(asking).await.expect("an answer");
    assert_eq!(answer.choices[0].message.content.as_deref(), Some("Hi"));
    assert_eq!(seen(&collector), [SeenCall::complete()]);
    let outline = collector.report().outline();
    assert_eq!(outline, "agent:clerk > llm");
    assert_eq!(collector.totals().agents["clerk"].usage.input, 9);
}

#[tokio::test]
async fn stream_has_its_usage_at_its_end() {
    let server = Server::start([Answer::streamed()]).await;
    let client = client(&server);
    let collector = collector();
    let (text, error) = collector.run(read(&client)).await;
    assert!(text == "Hi" && error.is_none(), "{text} {error:?}");
    assert_eq!(seen_once_ended(&collector).await, SeenCall::complete());
}

#[tokio::test]
async fn dropped_stream_is_cancelled_with_what_is_known() {
    let server = Server::start([Answer::hanging()]).await;
    let client = client(&server);
    let collector = collector();
    let asking = async {
        let chat = client.chat();
        let mut stream = chat.create_stream(request()).await.expect("a stream");
        assert!(stream.next().await.is_some());
    };
    collector.run(asking).await;
    let expected = SeenCall {
        status: SpanStatus::Cancelled,
        ..SeenCall::complete()
    };
    assert_eq!(seen_once_ended(&collector).await, expected);
}

#[tokio::test]
async fn refused_request_fails_its_span() {
    let server = Server::start([Answer::error(401)]).await;
    let client = client(&server);
    let collector = collector();
    let answer = collector.run(client.chat().create(request())).await;
    assert!(
        matches!(answer, Err(OpenAIError::ApiError(_))),
        "{answer:?}"
    );
    let call = seen(&collector).remove(0);
    assert_eq!(call.status, SpanStatus::Error);
    assert_eq!(call.error.as_deref(), Some("AUTH"));
    let json = collector.report().to_json();
    let message = "the provider answered 401: no such thing";
    assert!(json.contains(message) && !json.contains("canary"), "{json}");
}

#[tokio::test]
async fn error_inside_a_stream_fails_its_span() {
    let server = Server::start([Answer::failing()]).await;
    let client = client(&server);
    let collector = collector();
    let (_, error) = collector.run(read(&client)).await;
    assert!(error.is_some());
    let call = seen_once_ended(&collector).await;
    assert_eq!(call.status, SpanStatus::Error);
    assert_eq!(call.error.as_deref(), Some("TRANSIENT"));
}

#[tokio::test]
async fn unreachable_server_fails_its_span() {
    let config = OpenAIConfig::new().with_api_base("http://127.0.0.1:9/v1");
    let service = crate::async_openai::ObservedService::new(
        async_openai::middleware::ReqwestService::new(reqwest::Client::new()),
    );
    let client = Client::with_config(config).with_http_service(service);
    let collector = collector();
    let answer = collector.run(client.chat().create(request())).await;
    assert!(answer.is_err());
    let call = seen(&collector).remove(0);
    assert_eq!(call.error.as_deref(), Some("TRANSIENT"));
}

#[tokio::test]
async fn repeated_request_is_one_call() {
    let server = Server::start([Answer::error(503), Answer::whole()]).await;
    let client = client(&server);
    let collector = collector();
    let answer = collector.run(client.chat().create(request())).await;
    assert!(answer.is_ok(), "{answer:?}");
    assert_eq!(server.requests().len(), 2);
    assert_eq!(seen(&collector), [SeenCall::complete()]);
}

#[tokio::test]
async fn client_works_where_no_spans_are_collected() {
    let server = Server::start([Answer::streamed()]).await;
    let config = OpenAIConfig::new().with_api_base(&server.url);
    let client = observe_over(Client::with_config(config), reqwest::Client::new());
    let (text, error) = read(&client).await;
    assert!(text == "Hi" && error.is_none(), "{text} {error:?}");
}
