//! Propagation of the trace context through HTTP.

use crate::server::{Answer, Server};
use crate::spans_support::{collector, span};
use http::{HeaderMap, HeaderValue};
use reqwest::redirect::Policy;
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
use tool_adapters::interop::reqwest::{TraceMiddleware, extract, extract_trusted};
use tool_core::trace::{self, Collector, DistributedContext, SpanId, TraceId};

/// Returns the host and the port of a server.
fn host(server: &Server) -> String {
    server.url.replace("http://", "")
}

fn client_for(hosts: impl IntoIterator<Item = String>) -> ClientWithMiddleware {
    TraceMiddleware::new()
        .propagate_to(hosts)
        .client(reqwest::Client::builder())
        .expect("a client")
}

/// Sends a request with a customer in its context. Returns the status.
async fn ask(collector: &Collector, client: &ClientWithMiddleware, server: &Server) -> u16 {
    let context = DistributedContext::new()
        .run_id("run 7")
        .customer_id("canary");
    let asking = async {
        let answer = client
            .post(&server.url)
            .body("1")
            .send()
            .await
            .expect("an answer");
        let status = answer.status().as_u16();
        answer.bytes().await.expect("a body");
        status
    };
    collector
        .run(trace::import(context, trace::agent("a", asking)))
        .await
}

/// Returns the trace headers of a request.
fn carried(server: &Server, at: usize) -> Vec<String> {
    let head = &server.requests()[at].head;
    let ours = |line: &&str| {
        ["traceparent:", "tracestate:", "baggage:"]
            .iter()
            .any(|name| line.starts_with(name))
    };
    head.lines().filter(ours).map(str::to_owned).collect()
}

fn fine() -> Answer {
    Answer::new(200, &[], "{}")
}

fn redirect(to: &Server) -> Answer {
    Answer::new(307, &[("location", &to.url)], "")
}

// S9
#[tokio::test]
async fn propagates_to_named_hosts_only() {
    let (friend, stranger) = (Server::start([fine()]).await, Server::start([fine()]).await);
    let (collector, client) = (collector(), client_for([host(&friend)]));
    assert_eq!(ask(&collector, &client, &friend).await, 200);
    let http = span(&collector, "http:POST 127.0.0.1");
    let parent = format!("traceparent: 00-{}-{}-01", http.trace_id(), http.span_id());
    assert_eq!(
        carried(&friend, 0),
        [
            parent,
            "baggage: run_id=run%207,customer_id=canary".to_owned()
        ]
    );
    assert_eq!(ask(&collector, &client, &stranger).await, 200);
    assert_eq!(carried(&stranger, 0), <[String; 0]>::default());
}

// S9
#[tokio::test]
async fn a_redirect_carries_the_context_to_named_hosts_only() {
    let (friend, stranger) = (Server::start([fine()]).await, Server::start([fine()]).await);
    let first = Server::start([redirect(&friend), redirect(&stranger)]).await;
    let (collector, client) = (collector(), client_for([host(&first), host(&friend)]));
    assert_eq!(ask(&collector, &client, &first).await, 200);
    assert_eq!(carried(&friend, 0), carried(&first, 0));
    assert_eq!(carried(&friend, 0).len(), 2);
    // The client returns the redirect instead of following it.
    assert_eq!(ask(&collector, &client, &first).await, 307);
    assert_eq!(stranger.requests().len(), 0);
}

// S9
#[tokio::test]
async fn follows_redirects_of_other_hosts_without_context() {
    let friend = Server::start([fine()]).await;
    let stranger = Server::start([redirect(&friend)]).await;
    let (collector, client) = (collector(), client_for([host(&friend)]));
    assert_eq!(ask(&collector, &client, &stranger).await, 200);
    assert_eq!(carried(&friend, 0), <[String; 0]>::default());
}

// S9
#[tokio::test]
async fn does_not_propagate_without_the_redirect_policy() {
    let server = Server::start([fine(), fine()]).await;
    let middleware = TraceMiddleware::new().propagate_to([host(&server)]);
    let client = |client| ClientBuilder::new(client).with(middleware.clone()).build();
    let collector = collector();
    ask(&collector, &client(reqwest::Client::new()), &server).await;
    assert_eq!(carried(&server, 0), <[String; 0]>::default());
    let own = reqwest::Client::builder()
        .redirect(middleware.redirect_policy(Policy::none()))
        .build()
        .expect("builds");
    ask(&collector, &client(own), &server).await;
    assert_eq!(carried(&server, 1).len(), 2);
}

// S9
#[tokio::test]
async fn the_policy_of_a_clone_does_not_affect_other_clients() {
    let stranger = Server::start([fine()]).await;
    let server = Server::start([redirect(&stranger), fine()]).await;
    let middleware = TraceMiddleware::new().propagate_to([host(&server)]);
    let guarded = middleware
        .clone()
        .client(reqwest::Client::builder())
        .expect("a client");
    let other = ClientBuilder::new(reqwest::Client::new())
        .with(middleware)
        .build();
    let collector = collector();
    assert_eq!(ask(&collector, &other, &server).await, 200);
    assert_eq!(
        (carried(&server, 0), carried(&stranger, 0)),
        (Vec::new(), Vec::new())
    );
    ask(&collector, &guarded, &server).await;
    assert_eq!(carried(&server, 1).len(), 2);
}

// S9
#[tokio::test]
async fn keeps_a_context_that_the_caller_set() {
    let server = Server::start([fine()]).await;
    let collector = collector();
    let own = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let asking = client_for([host(&server)])
        .post(&server.url)
        .header("traceparent", own)
        .body("1")
        .send();
    collector
        .run(trace::agent("a", asking))
        .await
        .expect("an answer");
    assert_eq!(carried(&server, 0), [format!("traceparent: {own}")]);
}

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let value = |text: &str| HeaderValue::from_str(text).expect("a value");
    pairs
        .iter()
        .map(|(name, text)| (name.parse().expect("a name"), value(text)))
        .collect()
}

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

// S9
#[test]
fn extracts_the_customer_of_trusted_senders_only() {
    let sent = headers(&[
        ("traceparent", PARENT),
        ("tracestate", "v=1"),
        ("baggage", "customer_id=acme"),
    ]);
    let (trace, span) = (
        "4bf92f3577b34da6a3ce929d0e0e4736".parse::<TraceId>(),
        "00f067aa0ba902b7".parse::<SpanId>(),
    );
    for (context, customer) in [
        (extract(&sent), None),
        (extract_trusted(&sent), Some("acme")),
    ] {
        assert_eq!(
            (context.trace_id, context.span_id),
            (trace.clone().ok(), span.clone().ok())
        );
        assert_eq!(
            (
                context.tracestate.as_deref(),
                context.customer_id.as_deref()
            ),
            (Some("v=1"), customer)
        );
    }
    assert!(extract(&HeaderMap::new()).is_empty());
    let broken = headers(&[("traceparent", "00-nonsense"), ("tracestate", "v=1")]);
    assert!(extract(&broken).is_empty(), "{:?}", extract(&broken));
}

// S9
#[test]
fn extracts_a_context_from_a_thousand_headers() {
    let mut sent = headers(&[("traceparent", PARENT)]);
    for at in 0..1_000 {
        let value = |text: String| HeaderValue::from_str(&text).expect("a value");
        sent.append("tracestate", value(format!("k{at}={}", "v".repeat(200))));
        sent.append(
            "baggage",
            value(format!("k{at}={},customer_id=acme", "v".repeat(200))),
        );
    }
    let context = extract_trusted(&sent);
    assert!(
        context.trace_id.is_some(),
        "the other headers do not matter"
    );
    assert_eq!((context.tracestate, context.customer_id), (None, None));
    let mut many = headers(&[("traceparent", PARENT), ("tracestate", "v=1")]);
    for at in 0..1_000 {
        many.append(
            http::HeaderName::try_from(format!("x-{at}")).expect("a name"),
            HeaderValue::from_static("x"),
        );
    }
    assert_eq!(extract(&many).tracestate.as_deref(), Some("v=1"));
}
