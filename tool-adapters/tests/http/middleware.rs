//! The spans of a plain client's requests, and that a body passes through as it is.

use crate::scripts::text;
use crate::server::{Answer, Server};
use crate::spans_support::{collector, span, tree};
use crate::support::attributes;
use http::{HeaderValue, Version};
use reqwest::StatusCode;
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
use serde_json::json;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::timeout;
use tool_adapters::Provider;
use tool_adapters::interop::reqwest::TraceMiddleware;
use tool_core::trace::{self, Cost, ModelUsage, SpanStatus, TokenUsage};

fn client() -> ClientWithMiddleware {
    ClientBuilder::new(reqwest::Client::new()).with(TraceMiddleware::new()).build()
}

/// The client's request to a provider of models, without a library of ours.
async fn ask(server: &Server) -> reqwest::Response {
    let url = format!("{}/v1/messages", server.url);
    client().post(url).body(r#"{"model": "the-model"}"#).send().await.expect("an answer")
}

/// A server that says these bytes to everybody.
async fn saying(answer: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("binds");
    let url = format!("http://{}", listener.local_addr().expect("has an address"));
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 8192]).await;
            let _ = stream.write_all(&answer).await;
        }
    });
    url
}

/// Bytes of every value, in no order that repeats.
fn noise(count: usize) -> Vec<u8> {
    let mut seed = 0x9e37_79b9_u32;
    std::iter::repeat_with(|| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        seed.to_be_bytes()[0]
    })
    .take(count)
    .collect()
}

// S1
#[tokio::test]
async fn a_request_is_a_span_that_tells_neither_its_query_nor_a_password() {
    let server = Server::start([Answer::new(200, &[], "[]")]).await;
    let collector = collector();
    let address = server.url.replace("http://", "http://user:canary@");
    let url = format!("{address}/bot123456:canary/things?key=canary#canary");
    let body = collector.run(async { client().post(url).body("1").send().await?.text().await.map_err(Into::into) });
    let body: reqwest_middleware::Result<String> = body.await;
    assert_eq!(body.expect("an answer"), "[]");
    let span = span(&collector, "http:POST 127.0.0.1");
    let port = server.url.rsplit(':').next().expect("a port").parse::<u16>().expect("a number");
    let expected = json!({"http.request.method": "POST", "server.address": "127.0.0.1", "server.port": port,
        "url.path": "/{..}/things", "http.response.status_code": 200});
    assert_eq!((attributes(&span), span.status()), (expected, SpanStatus::Ok));
}

// S5
#[tokio::test]
async fn an_answer_of_400_and_more_and_a_server_that_is_not_there_are_errors_and_come_as_they_are() {
    for (status, kind) in [(399, None), (404, Some("404")), (418, Some("4xx")), (500, Some("500")), (599, Some("5xx"))]
    {
        let server = Server::start([Answer::new(status, &[], "no")]).await;
        let collector = collector();
        let answer = collector.run(ask(&server)).await;
        assert_eq!((answer.status().as_u16(), answer.text().await.expect("a body").as_str()), (status, "no"));
        assert_eq!(span(&collector, "http:POST 127.0.0.1").error().map(|error| error.kind), kind);
    }
    let nobody = TcpListener::bind("127.0.0.1:0").await.expect("binds");
    let url = format!("http://{}", nobody.local_addr().expect("has an address"));
    drop(nobody);
    let collector = collector();
    let error = collector.run(client().post(url).send()).await.expect_err("nobody is there");
    assert!(error.is_connect());
    assert_eq!(span(&collector, "http:POST 127.0.0.1").error().map(|error| error.kind), Some("connect"));
}

#[tokio::test]
async fn a_body_passes_through_byte_for_byte_whatever_its_pieces() {
    let bytes = noise(100_000);
    for (piece, path) in [(1 << 20, "/file"), (7_919, "/file"), (13, "/v1/chat/completions")] {
        // The last path is read along, and makes nothing of it.
        let server = Server::start([Answer::new(200, &[], "").bytes(bytes.clone()).in_pieces_of(piece)]).await;
        let collector = collector();
        let url = format!("{}{path}", server.url);
        let answer = collector.run(client().post(url).body("1").send()).await.expect("an answer");
        assert_eq!(answer.bytes().await.expect("a body"), bytes);
        assert_eq!(tree(&collector), ["http:POST 127.0.0.1"]);
    }
}

#[tokio::test]
async fn the_answer_keeps_all_that_it_is() {
    let head = "HTTP/1.1 203 Said\r\ncontent-length: 5\r\nx-one: 1\r\nx-one: 2\r\n\r\nhello";
    let url = format!("{}/path?query#fragment", saying(head.into()).await);
    let (with, without) = (client(), ClientBuilder::new(reqwest::Client::new()).build());
    let ask = async |client: ClientWithMiddleware| client.get(&url).send().await.expect("an answer");
    let (with, without) = (ask(with).await, ask(without).await);
    for answer in [&with, &without] {
        assert_eq!((answer.status(), answer.version()), (StatusCode::NON_AUTHORITATIVE_INFORMATION, Version::HTTP_11));
        assert_eq!(answer.content_length(), Some(5));
        let ones = answer.headers().get_all("x-one").iter().collect::<Vec<_>>();
        assert_eq!(ones, [&HeaderValue::from_static("1"), &HeaderValue::from_static("2")]);
    }
    assert_eq!((with.url(), with.remote_addr()), (without.url(), without.remote_addr()));
    assert_eq!(with.text().await.expect("a body"), "hello");
}

#[tokio::test]
async fn pieces_pass_through_as_they_come_and_a_body_that_is_left_is_cancelled() {
    let mut server = Server::start([Answer::new(200, &[], "first").hangs()]).await;
    let collector = collector();
    let mut answer = collector.run(ask(&server)).await;
    let piece = timeout(Duration::from_secs(5), answer.chunk()).await.expect("it does not wait for the rest");
    assert_eq!(piece.expect("a piece").as_deref(), Some(&b"first"[..]));
    assert!(tree(&collector).is_empty(), "it goes on");
    drop(answer);
    assert!(server.was_left().await, "the connection stays open");
    assert_eq!(tree(&collector), ["http:POST 127.0.0.1 cancelled"]);
}

#[tokio::test]
async fn a_body_that_nobody_reads_is_no_failure_and_one_that_breaks_off_is() {
    let server = Server::start([Answer::new(200, &[], "unread"), Answer::new(200, &[], "half").breaks()]).await;
    let collector = collector();
    drop(collector.run(ask(&server)).await);
    let broken = collector.run(ask(&server)).await.bytes().await.expect_err("it breaks off");
    assert!(broken.is_decode() || broken.is_body(), "{broken:?}");
    assert_eq!(tree(&collector), ["http:POST 127.0.0.1", "http:POST 127.0.0.1 error"]);
}

#[tokio::test]
async fn a_body_that_is_known_to_be_empty_ends_with_the_head() {
    let url = saying("HTTP/1.1 204 None\r\n\r\n".into()).await;
    let collector = collector();
    let answer = collector.run(client().get(&url).send()).await.expect("an answer");
    assert_eq!(tree(&collector), ["http:GET 127.0.0.1"]);
    assert_eq!(answer.bytes().await.expect("a body").len(), 0);
}

#[tokio::test]
async fn a_body_of_known_length_ends_with_its_last_byte() {
    let url = saying("HTTP/1.1 200 Said\r\ncontent-length: 5\r\n\r\nhello".into()).await;
    let collector = collector();
    let mut answer = collector.run(client().get(&url).send()).await.expect("an answer");
    let mut read = 0;
    while read < 5 {
        read += answer.chunk().await.expect("a piece").expect("more").len();
    }
    drop(answer);
    assert_eq!(tree(&collector), ["http:GET 127.0.0.1"]);
}

fn hello() -> Answer {
    Answer::events(&text(Provider::Anthropic, "Hello")).in_pieces_of(11)
}

// S6, S7
#[tokio::test]
async fn what_a_providers_answer_says_of_its_use_counts_for_the_span_around_the_request_wherever_it_is_read() {
    let server = Server::start([hello(), hello()]).await;
    let collector = collector();
    let tool = async {
        let answer = ask(&server).await;
        // In a task that knows nothing of spans.
        tokio::spawn(answer.bytes()).await.expect("joined").expect("a body").len()
    };
    assert!(collector.run(trace::agent("a", tool)).await > 500);
    assert_eq!(tree(&collector), ["agent:a/http:POST 127.0.0.1", "agent:a"]);
    let totals = collector.report().totals().clone();
    assert_eq!((totals.tracked.uses, totals.tracked.cost), (1, Cost::micros(15)));
    let [spent] = span(&collector, "agent:a").spent().to_vec().try_into().expect("one");
    let trace::CostEntry { used, observed, .. } = spent;
    assert_eq!((&*used.model, used.provider.as_deref(), observed), ("m", Some("anthropic"), true));

    // The same response once more, with nobody around it: it is not another use.
    collector.run(ask(&server)).await.bytes().await.expect("a body");
    assert_eq!(collector.report().totals().total.uses, 1);
}

// S7
#[tokio::test]
async fn with_no_span_around_it_a_request_has_its_own_cost_untracked() {
    let server = Server::start([hello()]).await;
    let collector = collector();
    collector.run(ask(&server)).await.bytes().await.expect("a body");
    let totals = collector.report().totals().clone();
    assert_eq!((totals.untracked.cost, totals.tracked.uses), (Cost::micros(15), 0));
    assert_eq!(span(&collector, "http:POST 127.0.0.1").own_cost(), Cost::micros(15));
}

// S6
#[tokio::test]
async fn what_the_question_is_told_beats_what_is_seen_of_it_whichever_comes_first() {
    for told_first in [true, false] {
        let server = Server::start([hello()]).await;
        let collector = collector();
        let usage = TokenUsage { input: 100, output: 1, ..TokenUsage::default() };
        let told = || trace::record(ModelUsage::new("the-model", usage).response_id("m"));
        let question = trace::llm("the-model", async {
            let answer = ask(&server).await;
            if told_first {
                told();
            }
            answer.bytes().await.expect("a body");
            if !told_first {
                told();
            }
        });
        collector.run(trace::agent("a", question)).await;
        let total = collector.report().totals().total;
        assert_eq!((total.uses, total.cost), (1, Cost::micros(101)), "told first: {told_first}");
    }
}

// S6
#[tokio::test]
async fn a_question_that_is_tried_again_behind_the_middleware_costs_once_and_each_attempt_is_a_span() {
    let server = Server::start([Answer::new(503, &[], "{}"), hello()]).await;
    let collector = collector();
    let question = async { while ask(&server).await.error_for_status().is_err() {} };
    collector.run(trace::llm("the-model", question)).await;
    let http = "llm:the-model/http:POST 127.0.0.1";
    assert_eq!(tree(&collector), [&format!("{http} error"), http, "llm:the-model"]);
}

// S6
#[tokio::test]
async fn what_was_used_until_a_stream_is_left_counts() {
    let begun = text(Provider::Anthropic, "Hello").split("event: ").take(5).collect::<Vec<_>>().join("event: ");
    let server = Server::start([Answer::events(&begun).hangs()]).await;
    let collector = collector();
    let question = async {
        let mut answer = ask(&server).await;
        let mut read = 0;
        while read < begun.len() {
            read += answer.chunk().await.expect("a piece").expect("more").len();
        }
    };
    collector.run(trace::llm("the-model", question)).await;
    assert_eq!(tree(&collector), ["llm:the-model/http:POST 127.0.0.1 cancelled", "llm:the-model"]);
    let total = collector.report().totals().total;
    assert_eq!((total.usage.input, total.usage.output), (10, 1));
}
