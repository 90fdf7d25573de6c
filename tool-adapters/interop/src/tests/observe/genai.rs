//! genai.

use super::server::{Answer, Server};
use super::{SeenCall, collector, seen};
use crate::genai::{ObservedClient, observe};
use futures_util::StreamExt;
use genai::adapter::AdapterKind;
use genai::chat::{ChatOptions, ChatRequest, ChatStreamEvent};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, ModelIden, ServiceTarget};
use tool_core::trace::{self, SpanStatus};

fn client() -> ObservedClient {
    observe(Client::new().expect("a client"))
}

fn target(server: &Server) -> ServiceTarget {
    ServiceTarget {
        endpoint: Endpoint::from_owned(format!("{}/", server.url)),
        auth: AuthData::from_single("sk-canary"),
        model: ModelIden::new(AdapterKind::OpenAI, "gpt-5"),
    }
}

fn request() -> ChatRequest {
    ChatRequest::from_user("Hello")
}

#[tokio::test]
async fn whole_answer_has_its_usage_and_cost() {
    let server = Server::start([Answer::whole()]).await;
    let client = client();
    let collector = collector();
    let asked = client.exec_chat(target(&server), request(), None);
    let answer = collector.run(trace::agent("clerk", asked)).await;
    assert_eq!(answer.expect("an answer").first_text(), Some("Hi"));
    let expected = SeenCall {
        provider: Some("openai".to_owned()),
        ..SeenCall::complete()
    };
    assert_eq!(seen(&collector), [expected]);
    assert_eq!(collector.report().outline(), "agent:clerk > llm");
}

/// The model of a stream is that of the request, as genai tells no other.
fn streamed() -> SeenCall {
    SeenCall {
        model: Some("gpt-5".to_owned()),
        provider: Some("openai".to_owned()),
        ..SeenCall::complete()
    }
}

#[tokio::test]
async fn stream_has_its_usage_at_its_end() {
    let server = Server::start([Answer::streamed()]).await;
    let client = client();
    let collector = collector();
    let asked = async {
        let options = ChatOptions::default().with_temperature(0.5);
        let answer = client
            .exec_chat_stream(target(&server), request(), Some(&options))
            .await;
        let mut stream = answer.expect("a stream").stream;
        let mut text = String::new();
        while let Some(event) = stream.next().await {
            if let ChatStreamEvent::Chunk(chunk) = event.expect("an event") {
                text.push_str(&chunk.content);
            }
        }
        text
    };
    assert_eq!(collector.run(asked).await, "Hi");
    assert_eq!(seen(&collector), [streamed()]);
    let body = &server.requests()[0];
    assert_eq!(body["stream_options"]["include_usage"], true);
    assert_eq!(body["temperature"], 0.5);
}

#[tokio::test]
async fn dropped_stream_is_cancelled() {
    let server = Server::start([Answer::hanging()]).await;
    let client = client();
    let collector = collector();
    let asked = async {
        let answer = client
            .exec_chat_stream(target(&server), request(), None)
            .await;
        let mut stream = answer.expect("a stream").stream;
        assert!(stream.next().await.is_some());
    };
    collector.run(asked).await;
    let call = seen(&collector).remove(0);
    assert_eq!(call.status, SpanStatus::Cancelled);
}

#[tokio::test]
async fn refused_request_fails_its_span() {
    let server = Server::start([Answer::error(429)]).await;
    let client = client();
    let collector = collector();
    let asked = client.exec_chat(target(&server), request(), None);
    assert!(collector.run(asked).await.is_err());
    let call = seen(&collector).remove(0);
    assert_eq!(call.status, SpanStatus::Error);
    assert_eq!(call.error.as_deref(), Some("RATE_LIMIT"));
    let json = collector.report().to_json();
    assert!(
        json.contains("no such thing") && !json.contains("canary"),
        "{json}"
    );
}

#[tokio::test]
async fn refused_stream_fails_its_span() {
    let server = Server::start([Answer::error(401)]).await;
    let client = client();
    let collector = collector();
    let asked = async {
        let answer = client
            .exec_chat_stream(target(&server), request(), None)
            .await;
        if let Ok(answer) = answer {
            answer.stream.collect::<Vec<_>>().await;
        }
    };
    collector.run(asked).await;
    let call = seen(&collector).remove(0);
    assert_eq!(call.status, SpanStatus::Error);
    assert_eq!(call.error.as_deref(), Some("AUTH"));
}

#[tokio::test]
async fn other_methods_are_those_of_the_client() {
    let model = client().default_model("gpt-4o-mini").expect("a model");
    assert_eq!(model.adapter_kind, AdapterKind::OpenAI);
}
