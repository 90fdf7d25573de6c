//! The spans of a client's requests, and bodies that pass through unchanged.

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
    ClientBuilder::new(reqwest::Client::new())
        .with(TraceMiddleware::new())
        .build()
}

/// Sends a request to a model with a plain client.
async fn ask(server: &Server) -> reqwest::Response {
    let url = format!("{}/v1/messages", server.url);
    client()
        .post(url)
        .body(r#"{"model": "the-model"}"#)
        .send()
        .await
        .expect("an answer")
}

/// Starts a server that sends these bytes to every client.
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

/// Returns pseudorandom bytes.
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
async fn opens_a_span_without_the_query_and_the_password() {
    let server = Server::start([Answer::new(200, &[], "[]")]).await;
    let collector = collector();
    let address = server.url.replace("http://", "http://user:canary@");
    let url = format!("{address}/bot123456:canary/things?key=canary#canary");
    let body = collector.run(async {
        client()
            .post(url)
            .body("1")
            .send()
            .await?
            .text()
            .await
            .map_err(Into::into)
    });
    let body: reqwest_middleware::Result<String> = body.await;
    assert_eq!(body.expect("an answer"), "[]");
    let span = span(&collector, "http:POST 127.0.0.1");
    let port = server
        .url
        .rsplit(':')
        .next()
        .expect("a port")
        .parse::<u16>()
        .expect("a number");
    let expected = json!({"http.request.method": "POST", "server.address": "127.0.0.1", "server.port": port,
        "url.path": "/{..}/things", "http.response.status_code": 200});
    assert_eq!(
        (attributes(&span), span.status()),
        (expected, SpanStatus::Ok)
    );
}

// S5
#[tokio::test]
async fn fails_the_span_of_an_error_and_passes_it_on() {
    for (status, kind) in [
        (399, None),
        (404, Some("404")),
        (418, Some("4xx")),
        (500, Some("500")),
        (599, Some("5xx")),
    ] {
        let server = Server::start([Answer::new(status, &[], "no")]).await;
        let collector = collector();
        let answer = collector.run(ask(&server)).await;
        assert_eq!(
            (
                answer.status().as_u16(),
                answer.text().await.expect("a body").as_str()
            ),
            (status, "no")
        );
        assert_eq!(
            span(&collector, "http:POST 127.0.0.1")
                .error()
                .map(|error| error.kind),
            kind
        );
    }
    let unused = TcpListener::bind("127.0.0.1:0").await.expect("binds");
    let url = format!("http://{}", unused.local_addr().expect("has an address"));
    drop(unused);
    let collector = collector();
    let error = collector
        .run(client().post(url).send())
        .await
        .expect_err("no server");
    assert!(error.is_connect());
    assert_eq!(
        span(&collector, "http:POST 127.0.0.1")
            .error()
            .map(|error| error.kind),
        Some("connect")
    );
}

#[tokio::test]
async fn passes_a_body_through_unchanged() {
    let bytes = noise(100_000);
    for (piece, path) in [
        (1 << 20, "/file"),
        (7_919, "/file"),
        (13, "/v1/chat/completions"),
    ] {
        // The last path is a model's, so its body is observed.
        let server = Server::start([Answer::new(200, &[], "")
            .bytes(bytes.clone())
            .in_pieces_of(piece)])
        .await;
        let collector = collector();
        let url = format!("{}{path}", server.url);
        let answer = collector
            .run(client().post(url).body("1").send())
            .await
            .expect("an answer");
        assert_eq!(answer.bytes().await.expect("a body"), bytes);
        assert_eq!(tree(&collector), ["http:POST 127.0.0.1"]);
    }
}

#[tokio::test]
async fn keeps_the_status_headers_and_url_of_the_response() {
    let head = "HTTP/1.1 203 Said\r\ncontent-length: 5\r\nx-one: 1\r\nx-one: 2\r\n\r\nhello";
    let url = format!("{}/path?query#fragment", saying(head.into()).await);
    let (with, without) = (client(), ClientBuilder::new(reqwest::Client::new()).build());
    let ask =
        async |client: ClientWithMiddleware| client.get(&url).send().await.expect("an answer");
    let (with, without) = (ask(with).await, ask(without).await);
    for answer in [&with, &without] {
        assert_eq!(
            (answer.status(), answer.version()),
            (StatusCode::NON_AUTHORITATIVE_INFORMATION, Version::HTTP_11)
        );
        assert_eq!(answer.content_length(), Some(5));
        let ones = answer.headers().get_all("x-one").iter().collect::<Vec<_>>();
        assert_eq!(
            ones,
            [
                &HeaderValue::from_static("1"),
                &HeaderValue::from_static("2")
            ]
        );
    }
    assert_eq!(
        (with.url(), with.remote_addr()),
        (without.url(), without.remote_addr())
    );
    assert_eq!(with.text().await.expect("a body"), "hello");
}

#[tokio::test]
async fn passes_pieces_on_and_cancels_a_dropped_body() {
    let mut server = Server::start([Answer::new(200, &[], "first").hangs()]).await;
    let collector = collector();
    let mut answer = collector.run(ask(&server)).await;
    let piece = timeout(Duration::from_secs(5), answer.chunk())
        .await
        .expect("without waiting for the rest");
    assert_eq!(piece.expect("a piece").as_deref(), Some(&b"first"[..]));
    assert!(tree(&collector).is_empty(), "the span is open");
    drop(answer);
    assert!(server.was_closed().await, "the connection stays open");
    assert_eq!(tree(&collector), ["http:POST 127.0.0.1 cancelled"]);
}

#[tokio::test]
async fn an_unread_body_succeeds_and_a_broken_one_fails() {
    let server = Server::start([
        Answer::new(200, &[], "unread"),
        Answer::new(200, &[], "half").breaks(),
    ])
    .await;
    let collector = collector();
    drop(collector.run(ask(&server)).await);
    let broken = collector
        .run(ask(&server))
        .await
        .bytes()
        .await
        .expect_err("it breaks off");
    assert!(broken.is_decode() || broken.is_body(), "{broken:?}");
    assert_eq!(
        tree(&collector),
        ["http:POST 127.0.0.1", "http:POST 127.0.0.1 error"]
    );
}

#[tokio::test]
async fn an_empty_body_ends_the_span_at_once() {
    let url = saying("HTTP/1.1 204 None\r\n\r\n".into()).await;
    let collector = collector();
    let answer = collector
        .run(client().get(&url).send())
        .await
        .expect("an answer");
    assert_eq!(tree(&collector), ["http:GET 127.0.0.1"]);
    assert_eq!(answer.bytes().await.expect("a body").len(), 0);
}

#[tokio::test]
async fn a_body_of_known_length_ends_with_its_last_byte() {
    let url = saying("HTTP/1.1 200 Said\r\ncontent-length: 5\r\n\r\nhello".into()).await;
    let collector = collector();
    let mut answer = collector
        .run(client().get(&url).send())
        .await
        .expect("an answer");
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
async fn counts_usage_for_the_span_around_the_request() {
    let server = Server::start([hello(), hello()]).await;
    let collector = collector();
    let tool = async {
        let answer = ask(&server).await;
        // In a task without a span.
        tokio::spawn(answer.bytes())
            .await
            .expect("joined")
            .expect("a body")
            .len()
    };
    assert!(collector.run(trace::agent("a", tool)).await > 500);
    assert_eq!(tree(&collector), ["agent:a/http:POST 127.0.0.1", "agent:a"]);
    let totals = collector.report().totals().clone();
    assert_eq!(
        (totals.tracked.uses, totals.tracked.cost),
        (1, Cost::micros(15))
    );
    let [spent] = span(&collector, "agent:a")
        .spent()
        .to_vec()
        .try_into()
        .expect("one");
    let trace::CostEntry { used, observed, .. } = spent;
    assert_eq!(
        (&*used.model, used.provider.as_deref(), observed),
        ("m", Some("anthropic"), true)
    );

    // The same response again is not counted twice.
    collector
        .run(ask(&server))
        .await
        .bytes()
        .await
        .expect("a body");
    assert_eq!(collector.report().totals().total.uses, 1);
}

// S7
#[tokio::test]
async fn counts_usage_as_untracked_without_a_span_around() {
    let server = Server::start([hello()]).await;
    let collector = collector();
    collector
        .run(ask(&server))
        .await
        .bytes()
        .await
        .expect("a body");
    let totals = collector.report().totals().clone();
    assert_eq!(
        (totals.untracked.cost, totals.tracked.uses),
        (Cost::micros(15), 0)
    );
    assert_eq!(
        span(&collector, "http:POST 127.0.0.1").own_cost(),
        Cost::micros(15)
    );
}

// S6
#[tokio::test]
async fn recorded_usage_takes_precedence_over_observed_usage() {
    for recorded_first in [true, false] {
        let server = Server::start([hello()]).await;
        let collector = collector();
        let usage = TokenUsage {
            input: 100,
            output: 1,
            ..TokenUsage::default()
        };
        let record = || trace::record(ModelUsage::new("the-model", usage).response_id("m"));
        let question = trace::llm("the-model", async {
            let answer = ask(&server).await;
            if recorded_first {
                record();
            }
            answer.bytes().await.expect("a body");
            if !recorded_first {
                record();
            }
        });
        collector.run(trace::agent("a", question)).await;
        let total = collector.report().totals().total;
        assert_eq!(
            (total.uses, total.cost),
            (1, Cost::micros(101)),
            "recorded first: {recorded_first}"
        );
    }
}

// S6
#[tokio::test]
async fn each_attempt_has_a_span_and_usage_counts_once() {
    let server = Server::start([Answer::new(503, &[], "{}"), hello()]).await;
    let collector = collector();
    let question = async { while ask(&server).await.error_for_status().is_err() {} };
    collector.run(trace::llm("the-model", question)).await;
    let http = "llm:the-model/http:POST 127.0.0.1";
    assert_eq!(
        tree(&collector),
        [&format!("{http} error"), http, "llm:the-model"]
    );
}

// S6
#[tokio::test]
async fn counts_usage_of_a_dropped_stream() {
    let begun = text(Provider::Anthropic, "Hello")
        .split("event: ")
        .take(5)
        .collect::<Vec<_>>()
        .join("event: ");
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
    assert_eq!(
        tree(&collector),
        [
            "llm:the-model/http:POST 127.0.0.1 cancelled",
            "llm:the-model"
        ]
    );
    let total = collector.report().totals().total;
    assert_eq!((total.usage.input, total.usage.output), (10, 1));
}
