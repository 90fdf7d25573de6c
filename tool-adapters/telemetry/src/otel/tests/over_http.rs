//! The real exporter, within tokio, against a local server.

use crate::otel::Otel;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;
use tool_core::trace;
use tool_core::trace::Collector;

/// The head of a request and its body.
type Request = (String, Vec<u8>);

fn read(stream: &mut TcpStream) -> Request {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4_096];
    loop {
        let count = stream.read(&mut chunk).expect("read");
        bytes.extend_from_slice(&chunk[..count]);
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .expect("a length");
        if bytes.len() == end + 4 + length.parse::<usize>().expect("a number") {
            return (head, bytes.split_off(end + 4));
        }
    }
}

/// Starts a server that answers a number of requests with a status.
fn receiver(requests: usize, status: &'static str) -> (String, JoinHandle<Vec<Request>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    let serve = move || {
        let mut seen = Vec::new();
        while seen.len() < requests {
            let (mut stream, _) = listener.accept().expect("a connection");
            seen.push(read(&mut stream));
            let answer =
                format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            stream.write_all(answer.as_bytes()).expect("written");
        }
        seen
    };
    (url, std::thread::spawn(serve))
}

#[tokio::test(flavor = "current_thread")]
async fn exports_protobuf_over_http_from_within_tokio() {
    let (url, receiver) = receiver(2, "200 OK");
    let otel = Otel::otlp()
        .endpoint(url)
        .header("x-key", "secret")
        .service_name("concierge")
        .resource("deployment.environment.name", "test")
        .timeout(Duration::MAX)
        .metrics_every(Duration::MAX)
        .build()
        .expect("an exporter");
    let collector = Collector::builder().sink(otel.clone()).build();
    let context = collector
        .run(trace::agent(
            "planner",
            trace::llm("m", async { trace::export() }),
        ))
        .await;
    otel.shutdown().expect("sent");
    let seen = receiver.join().expect("no panic");
    let paths = seen
        .iter()
        .map(|(head, _)| head.lines().next().unwrap_or_default())
        .collect::<Vec<_>>();
    assert_eq!(
        paths,
        ["post /v1/traces http/1.1", "post /v1/metrics http/1.1"]
    );
    for (head, body) in &seen {
        assert!(
            head.contains("content-type: application/x-protobuf") && head.contains("x-key: secret"),
            "{head}"
        );
        assert!(body.windows(9).any(|window| window == b"concierge"));
    }
    let id = context.span_id.expect("a span").to_bytes();
    assert!(seen[0].1.windows(8).any(|window| window == id));
    assert_eq!(otel.dropped(), 0);
}

// S5
#[tokio::test(flavor = "current_thread")]
async fn a_missing_receiver_loses_only_the_spans() {
    let (refusing, receiver) = receiver(1, "403 Forbidden");
    let unused = TcpListener::bind("127.0.0.1:0")
        .expect("a port")
        .local_addr()
        .expect("an address");
    for url in [refusing, format!("http://{unused}")] {
        let otel = Otel::otlp()
            .endpoint(url)
            .timeout(Duration::from_secs(30))
            .build()
            .expect("an exporter");
        let collector = Collector::builder().sink(otel.clone()).build();
        assert_eq!(collector.run(trace::section("part", async { 7 })).await, 7);
        assert!(otel.shutdown().is_err());
        assert_eq!(otel.dropped(), 1);
    }
    receiver.join().expect("no panic");
}

#[test]
fn refuses_an_invalid_endpoint_without_repeating_it() {
    for wrong in [
        "localhost:4318",
        "",
        "grpc://user:secret@host",
        "http://user:secret@ho st",
    ] {
        let error = Otel::otlp().endpoint(wrong).build().err().expect(wrong);
        assert!(error.to_string().contains("endpoint"), "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
