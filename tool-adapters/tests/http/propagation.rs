//! The trace context on its way through HTTP: to whom it goes, and what is believed of it.

use crate::server::{Answer, Server};
use crate::spans_support::{collector, span};
use http::{HeaderMap, HeaderValue};
use reqwest::redirect::Policy;
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
use tool_adapters::interop::reqwest::{TraceMiddleware, received, received_from_trusted};
use tool_core::trace::{self, Collector, DistributedContext, SpanId, TraceId};

/// Host and port of a server.
fn host(server: &Server) -> String {
    server.url.replace("http://", "")
}

fn told(hosts: impl IntoIterator<Item = String>) -> ClientWithMiddleware {
    TraceMiddleware::new().propagate_to(hosts).client(reqwest::Client::builder()).expect("a client")
}

/// Asks for a customer, and for the status of the answer.
async fn ask(collector: &Collector, client: &ClientWithMiddleware, server: &Server) -> u16 {
    let context = DistributedContext::new().run_id("run 7").customer_id("canary");
    let asking = async {
        let answer = client.post(&server.url).body("1").send().await.expect("an answer");
        let status = answer.status().as_u16();
        answer.bytes().await.expect("a body");
        status
    };
    collector.run(trace::import(context, trace::agent("a", asking))).await
}

/// The headers of a request that are the trace's.
fn carried(server: &Server, at: usize) -> Vec<String> {
    let head = &server.requests()[at].head;
    let ours = |line: &&str| ["traceparent:", "tracestate:", "baggage:"].iter().any(|name| line.starts_with(name));
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
async fn the_context_goes_to_the_hosts_that_were_named_and_to_no_other() {
    let (friend, stranger) = (Server::start([fine()]).await, Server::start([fine()]).await);
    let (collector, client) = (collector(), told([host(&friend)]));
    assert_eq!(ask(&collector, &client, &friend).await, 200);
    let http = span(&collector, "http:POST 127.0.0.1");
    let parent = format!("traceparent: 00-{}-{}-01", http.trace_id(), http.span_id());
    assert_eq!(carried(&friend, 0), [parent, "baggage: run_id=run%207,customer_id=canary".to_owned()]);
    assert_eq!(ask(&collector, &client, &stranger).await, 200);
    assert_eq!(carried(&stranger, 0), <[String; 0]>::default());
}

// S9
#[tokio::test]
async fn a_redirect_takes_the_context_to_friends_only() {
    let (friend, stranger) = (Server::start([fine()]).await, Server::start([fine()]).await);
    let first = Server::start([redirect(&friend), redirect(&stranger)]).await;
    let (collector, client) = (collector(), told([host(&first), host(&friend)]));
    assert_eq!(ask(&collector, &client, &first).await, 200);
    assert_eq!(carried(&friend, 0), carried(&first, 0));
    assert_eq!(carried(&friend, 0).len(), 2);
    // The answer is the redirect: the headers would have gone along.
    assert_eq!(ask(&collector, &client, &first).await, 307);
    assert_eq!(stranger.requests().len(), 0);
}

// S9
#[tokio::test]
async fn a_stranger_is_redirected_as_ever_and_tells_nobody() {
    let friend = Server::start([fine()]).await;
    let stranger = Server::start([redirect(&friend)]).await;
    let (collector, client) = (collector(), told([host(&friend)]));
    assert_eq!(ask(&collector, &client, &stranger).await, 200);
    assert_eq!(carried(&friend, 0), <[String; 0]>::default());
}

// S9
#[tokio::test]
async fn a_client_that_would_carry_it_anywhere_is_given_nothing() {
    let server = Server::start([fine(), fine()]).await;
    let middleware = TraceMiddleware::new().propagate_to([host(&server)]);
    let client = |client| ClientBuilder::new(client).with(middleware.clone()).build();
    let collector = collector();
    ask(&collector, &client(reqwest::Client::new()), &server).await;
    assert_eq!(carried(&server, 0), <[String; 0]>::default());
    let own = reqwest::Client::builder().redirect(middleware.redirect_policy(Policy::none())).build().expect("builds");
    ask(&collector, &client(own), &server).await;
    assert_eq!(carried(&server, 1).len(), 2);
}

// S9
#[tokio::test]
async fn a_clone_that_has_made_a_client_says_nothing_of_another_client() {
    let stranger = Server::start([fine()]).await;
    let server = Server::start([redirect(&stranger), fine()]).await;
    let middleware = TraceMiddleware::new().propagate_to([host(&server)]);
    let guarded = middleware.clone().client(reqwest::Client::builder()).expect("a client");
    let other = ClientBuilder::new(reqwest::Client::new()).with(middleware).build();
    let collector = collector();
    assert_eq!(ask(&collector, &other, &server).await, 200);
    assert_eq!((carried(&server, 0), carried(&stranger, 0)), (Vec::new(), Vec::new()));
    ask(&collector, &guarded, &server).await;
    assert_eq!(carried(&server, 1).len(), 2);
}

// S9
#[tokio::test]
async fn a_context_that_the_caller_has_set_stays() {
    let server = Server::start([fine()]).await;
    let collector = collector();
    let own = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let asking = told([host(&server)]).post(&server.url).header("traceparent", own).body("1").send();
    collector.run(trace::agent("a", asking)).await.expect("an answer");
    assert_eq!(carried(&server, 0), [format!("traceparent: {own}")]);
}

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let value = |text: &str| HeaderValue::from_str(text).expect("a value");
    pairs.iter().map(|(name, text)| (name.parse().expect("a name"), value(text))).collect()
}

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

// S9
#[test]
fn a_server_believes_the_span_of_anybody_and_the_customer_of_those_it_trusts() {
    let sent = headers(&[("traceparent", PARENT), ("tracestate", "v=1"), ("baggage", "customer_id=acme")]);
    let (trace, span) = ("4bf92f3577b34da6a3ce929d0e0e4736".parse::<TraceId>(), "00f067aa0ba902b7".parse::<SpanId>());
    for (context, customer) in [(received(&sent), None), (received_from_trusted(&sent), Some("acme"))] {
        assert_eq!((context.trace_id, context.span_id), (trace.clone().ok(), span.clone().ok()));
        assert_eq!((context.tracestate.as_deref(), context.customer_id.as_deref()), (Some("v=1"), customer));
    }
    assert!(received(&HeaderMap::new()).is_empty());
    let broken = headers(&[("traceparent", "00-nonsense"), ("tracestate", "v=1")]);
    assert!(received(&broken).is_empty(), "{:?}", received(&broken));
}

// S9
#[test]
fn a_thousand_headers_are_read_within_bounds() {
    let mut sent = headers(&[("traceparent", PARENT)]);
    for at in 0..1_000 {
        let value = |text: String| HeaderValue::from_str(&text).expect("a value");
        sent.append("tracestate", value(format!("k{at}={}", "v".repeat(200))));
        sent.append("baggage", value(format!("k{at}={},customer_id=acme", "v".repeat(200))));
    }
    let context = received_from_trusted(&sent);
    assert!(context.trace_id.is_some(), "the rest does not spoil it");
    assert_eq!((context.tracestate, context.customer_id), (None, None));
    let mut many = headers(&[("traceparent", PARENT), ("tracestate", "v=1")]);
    for at in 0..1_000 {
        many.append(http::HeaderName::try_from(format!("x-{at}")).expect("a name"), HeaderValue::from_static("x"));
    }
    assert_eq!(received(&many).tracestate.as_deref(), Some("v=1"));
}
