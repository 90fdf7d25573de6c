//! The check of `Host` and `Origin` on every method (RUSTSEC-2026-0189).

use super::support::server;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tool_adapters::mcp::Server;

/// Sends a raw request and returns the status of its answer.
pub(crate) async fn status(address: SocketAddr, head: &[String], body: &str) -> u16 {
    let mut stream = TcpStream::connect(address)
        .await
        .expect("the server listens");
    let length = format!("content-length: {}", body.len());
    let head = [head, &[length, "connection: close".to_owned()]]
        .concat()
        .join("\r\n");
    stream
        .write_all(format!("{head}\r\n\r\n{body}").as_bytes())
        .await
        .expect("the server reads");
    let mut answer = vec![0; 64];
    let read = stream.read(&mut answer).await.expect("the server answers");
    let answer = String::from_utf8_lossy(answer.get(..read).unwrap_or_default()).into_owned();
    answer
        .split(' ')
        .nth(1)
        .and_then(|code| code.parse().ok())
        .unwrap_or_else(|| panic!("no status in {answer:?}"))
}

async fn serving(server: &Server) -> SocketAddr {
    let bound = server
        .bind(([127, 0, 0, 1], 0).into())
        .await
        .expect("an address");
    let address = bound.address().expect("an address");
    tokio::spawn(bound.serve());
    address
}

pub(crate) const BEGIN: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}"#;
pub(crate) const METHODS: [&str; 8] = [
    "POST", "GET", "DELETE", "OPTIONS", "HEAD", "PUT", "PATCH", "TRACE",
];

pub(crate) fn head(method: &str, target: &str, more: &[String]) -> Vec<String> {
    let mut head = vec![
        format!("{method} {target} HTTP/1.1"),
        "accept: application/json, text/event-stream".to_owned(),
        "content-type: application/json".to_owned(),
    ];
    head.extend_from_slice(more);
    head
}

fn hosts(port: u16) -> Vec<(String, bool)> {
    let good = ["localhost", "127.0.0.1", "[::1]", "LOCALHOST"];
    let bad = [
        "evil.example",
        "localhost.evil.example",
        "localhost.",
        "127.0.0.1.nip.io",
        "user@localhost",
        "0.0.0.0",
        "127.1",
        "2130706433",
        "[::ffff:127.0.0.1]",
        "localhost evil",
        "",
    ];
    let good = good
        .iter()
        .flat_map(|host| [((*host).to_owned(), true), (format!("{host}:{port}"), true)]);
    good.chain(bad.iter().map(|host| ((*host).to_owned(), false)))
        .collect()
}

fn origins(port: u16) -> Vec<(Option<String>, bool)> {
    let good = [
        "http://localhost:6274".to_owned(),
        format!("http://127.0.0.1:{port}"),
        "http://[::1]:1".to_owned(),
    ];
    let bad = [
        "null",
        "http://evil.example",
        "https://localhost.evil.example",
        "http://localhost@evil.example",
        "file://",
        "http://127.0.0.1.nip.io",
        "chrome-extension://abc",
        "localhost",
        "",
    ];
    let good = good.into_iter().map(|origin| (Some(origin), true));
    let bad = bad
        .into_iter()
        .map(|origin| (Some(origin.to_owned()), false));
    std::iter::once((None, true))
        .chain(good)
        .chain(bad)
        .collect()
}

#[tokio::test]
async fn serves_known_hosts_and_origins_only_on_every_method() {
    let address = serving(&server()).await;
    let mut checked = 0;
    for (host, host_known) in hosts(address.port()) {
        for (origin, origin_known) in origins(address.port()) {
            for method in METHODS {
                let mut more = vec![format!("host: {host}")];
                more.extend(origin.iter().map(|origin| format!("origin: {origin}")));
                let body = if method == "POST" { BEGIN } else { "" };
                let status = status(address, &head(method, "/mcp", &more), body).await;
                let refused = matches!(status, 400 | 403);
                // A known method without a session is a bad request, but not forbidden.
                let expected = if host_known && origin_known {
                    status != 403
                } else {
                    refused
                };
                assert!(
                    expected,
                    "{method} host {host:?} origin {origin:?}: {status}"
                );
                if method == "POST" {
                    assert_eq!(
                        status == 200,
                        host_known && origin_known,
                        "host {host:?} origin {origin:?}: {status}"
                    );
                }
                checked += 1;
            }
        }
    }
    assert_eq!(checked, 19 * 13 * 8);
}

/// Returns a text with each character replaced, doubled or removed, and with each of the characters before, inside and after.
fn mutants(text: &str) -> Vec<String> {
    let mut mutants = Vec::new();
    for at in 0..=text.len() {
        let (head, tail) = text.split_at(at);
        for more in ["a", "0", ".", "-", "@", "x.", "%", "/", "_"] {
            mutants.push(format!("{head}{more}{tail}"));
            mutants.push(format!("{head}{more}{}", tail.get(1..).unwrap_or_default()));
        }
        mutants.push(format!("{head}{}", tail.get(1..).unwrap_or_default()));
    }
    mutants
}

#[tokio::test]
async fn refuses_mutants_of_hosts_origins_and_content_types() {
    let address = serving(&server()).await;
    let good = ["localhost", "127.0.0.1", "[::1]"];
    let is_host = |host: &str| good.contains(&host);
    let hosts = good
        .iter()
        .flat_map(|good| mutants(good))
        .filter(|host| !is_host(host));
    let origins = good
        .iter()
        .flat_map(|good| mutants(&format!("http://{good}")))
        .filter(|origin| !origin.strip_prefix("http://").is_some_and(is_host));
    let types = mutants("application/json")
        .into_iter()
        .filter(|kind| kind != "application/json");
    let simple = [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "",
    ];
    let types = types.chain(simple.map(str::to_owned));
    let request = |host: &str, origin: &str, kind: &str| {
        [
            "POST /mcp HTTP/1.1",
            "accept: application/json, text/event-stream",
        ]
        .map(str::to_owned)
        .into_iter()
        .chain([
            format!("host: {host}"),
            format!("origin: {origin}"),
            format!("content-type: {kind}"),
        ])
        .collect::<Vec<_>>()
    };
    let (origin, kind) = ("http://localhost", "application/json");
    let heads = (hosts.map(|host| request(&host, origin, kind)))
        .chain(origins.map(|origin| request("localhost", &origin, kind)))
        .map(|head| (head, 403))
        .chain(types.map(|kind| (request("localhost", origin, &kind), 415)))
        .collect::<Vec<_>>();
    assert!(heads.len() > 1_000, "{}", heads.len());
    for (head, expected) in &heads {
        let status = status(address, head, BEGIN).await;
        assert!(status == *expected || status == 400, "{status}: {head:?}");
    }
    assert_eq!(
        status(address, &request("localhost", origin, kind), BEGIN).await,
        200
    );
}

#[tokio::test]
async fn refuses_repeated_or_conflicting_hosts_and_origins() {
    let address = serving(&server()).await;
    let (local, evil) = (
        "host: localhost".to_owned(),
        "host: evil.example".to_owned(),
    );
    let twice = head("POST", "/mcp", &[local.clone(), evil]);
    assert!(matches!(status(address, &twice, BEGIN).await, 400 | 403));
    let origins = [
        "origin: http://localhost:1".to_owned(),
        "origin: http://evil.example".to_owned(),
    ];
    let twice = head(
        "POST",
        "/mcp",
        &[std::slice::from_ref(&local), &origins[..]].concat(),
    );
    assert_eq!(status(address, &twice, BEGIN).await, 403);
    let absolute = head("POST", "http://evil.example/mcp", &[local]);
    assert_eq!(status(address, &absolute, BEGIN).await, 403);
    let missing = head("POST", "/mcp", &[]);
    assert!(matches!(status(address, &missing, BEGIN).await, 400 | 403));
}

#[tokio::test]
async fn allowed_hosts_and_origins_replace_the_loopback_names() {
    let server = server()
        .allow_hosts(["tools.example:8443"])
        .allow_origins(["https://app.example"]);
    let address = serving(&server).await;
    let with = |host: &str, origin: &str| {
        head(
            "POST",
            "/mcp",
            &[format!("host: {host}"), format!("origin: {origin}")],
        )
    };
    assert_eq!(
        status(
            address,
            &with("tools.example:8443", "https://app.example"),
            BEGIN
        )
        .await,
        200
    );
    assert_eq!(
        status(
            address,
            &with("tools.example:8443", "https://app.example:443"),
            BEGIN
        )
        .await,
        200
    );
    for (host, origin) in [
        ("tools.example", "https://app.example"),
        ("tools.example:8443", "http://app.example"),
        ("tools.example:8443", "https://app.example:8443"),
        ("localhost", "https://app.example"),
    ] {
        assert_eq!(
            status(address, &with(host, origin), BEGIN).await,
            403,
            "{host} {origin}"
        );
    }
}

#[tokio::test]
async fn binding_a_public_address_needs_allowed_hosts() {
    let error = server()
        .allow_anonymous(true)
        .bind(([0, 0, 0, 0], 0).into())
        .await
        .expect_err("refused");
    assert!(error.to_string().contains("allow_hosts"), "{error}");
    server()
        .allow_anonymous(true)
        .allow_hosts(["tools.example"])
        .bind(([0, 0, 0, 0], 0).into())
        .await
        .expect("allowed");
}

#[tokio::test]
async fn answers_an_invalid_message_with_bad_request() {
    let address = serving(&server().max_message(4096)).await;
    let head = head("POST", "/mcp", &["host: localhost".to_owned()]);
    for body in [
        "{",
        "[]",
        "7",
        r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
    ] {
        assert_eq!(status(address, &head, body).await, 400, "{body}");
    }
    assert_eq!(
        status(address, &head, &format!("\"{}\"", "x".repeat(5000))).await,
        413
    );
    assert_eq!(status(address, &head, BEGIN).await, 200);
}
