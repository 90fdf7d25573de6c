//! rig.

use super::server::{Answer, Server};
use super::{SeenCall, collector, seen, seen_once_ended};
use crate::rig::observe;
use futures_util::StreamExt;
use rig_core::completion::CompletionRequest;
use rig_core::providers::openai::{OpenAI, OpenAIConfig};
use rig_reqwest::ReqwestClient;
use tool_core::trace::{self, SpanStatus};

fn client(server: &Server) -> OpenAI {
    OpenAIConfig::new("sk-canary")
        .with_base_url(&server.url)
        .connect(observe(ReqwestClient::default()))
}

fn request() -> CompletionRequest {
    CompletionRequest::new("Hello")
}

#[tokio::test]
async fn whole_answer_has_its_usage_and_cost() {
    let server = Server::start([Answer::whole()]).await;
    let model = client(&server).chat("gpt-5");
    let collector = collector();
    let asked = async { model.call(request()).await.map(|_| ()) };
    let asked = collector.run(trace::agent("clerk", asked)).await;
    assert!(asked.is_ok(), "{asked:?}");
    assert_eq!(seen(&collector), [SeenCall::complete()]);
    assert_eq!(collector.report().outline(), "agent:clerk > llm");
}

#[tokio::test]
async fn stream_has_its_usage_at_its_end() {
    let server = Server::start([Answer::streamed()]).await;
    let model = client(&server).chat("gpt-5");
    let collector = collector();
    let asked = async {
        let mut stream = model.stream(request()).expect("a stream");
        while let Some(item) = stream.next().await {
            assert!(item.is_ok());
        }
    };
    collector.run(asked).await;
    assert_eq!(seen_once_ended(&collector).await, SeenCall::complete());
}

#[tokio::test]
async fn dropped_stream_is_cancelled_with_what_is_known() {
    let server = Server::start([Answer::hanging()]).await;
    let model = client(&server).chat("gpt-5");
    let collector = collector();
    let asked = async {
        let mut stream = model.stream(request()).expect("a stream");
        assert!(stream.next().await.is_some());
    };
    collector.run(asked).await;
    let expected = SeenCall {
        status: SpanStatus::Cancelled,
        ..SeenCall::complete()
    };
    assert_eq!(seen_once_ended(&collector).await, expected);
}

#[tokio::test]
async fn refused_requests_fail_their_spans() {
    for streams in [false, true] {
        let server = Server::start([Answer::error(401)]).await;
        let model = client(&server).chat("gpt-5");
        let collector = collector();
        let asked = async {
            if streams {
                let stream = model.stream(request()).expect("a stream");
                stream.collect::<Vec<_>>().await;
            } else {
                assert!(model.call(request()).await.is_err());
            }
        };
        collector.run(asked).await;
        let call = seen_once_ended(&collector).await;
        assert_eq!(call.status, SpanStatus::Error, "{streams}");
        assert_eq!(call.error.as_deref(), Some("AUTH"), "{streams}");
        let json = collector.report().to_json();
        assert!(
            json.contains("no such thing") && !json.contains("canary"),
            "{json}"
        );
    }
}
