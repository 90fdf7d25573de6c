//! Clients that open more than they use, and clients that neither send nor read.

use super::http::{HttpClient, by_user, serve};
use super::support::{LineClient, server, stateless, tools, until};
use axum::body::Body;
use axum::http::{Request, StatusCode};
use futures_util::stream;
use reqwest::Method;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Instant, advance, timeout};
use tool_adapters::mcp::Server;
use tool_core::session::{Hook, HookFuture, HookedRequest};
use tool_core::tool::{Resource, ResourceContents, ResourceDefinition, ResourceRequest};
use tool_core::{RunContext, Runtime, ToolContext, ToolError, tool};
use tower::ServiceExt;

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

#[tokio::test]
async fn sessions_are_capped_by_client_and_in_all() {
    let url = serve(
        &by_user(server())
            .max_sessions(50)
            .max_sessions_per_client(10),
    )
    .await;
    let client = HttpClient::new(&url);
    let (mut opened, mut refused) = (Vec::new(), [0, 0]);
    for at in 0..1_000 {
        // The first half of the attempts comes from one client, the rest from a hundred.
        let user = if at < 500 {
            "alice".to_owned()
        } else {
            format!("user {}", at % 100)
        };
        match client.with("x-user", &user).initialize(&json!({})).await {
            Ok(session) => opened.push(session),
            Err(answer) => {
                let status = answer.status();
                let error = answer.json::<Value>().await.expect("an error");
                assert!(
                    error["error"]["message"]
                        .as_str()
                        .is_some_and(|text| text.contains("sessions open")),
                    "{error}"
                );
                refused[usize::from(status == StatusCode::SERVICE_UNAVAILABLE)] += 1;
                assert!(matches!(status.as_u16(), 429 | 503), "{status}");
            }
        }
    }
    assert_eq!((opened.len(), refused), (50, [490, 460]));
    let list = serde_json::from_str::<Value>(LIST).expect("JSON");
    for session in &opened {
        assert_eq!(
            session.post(&list).await.status(),
            StatusCode::OK,
            "no session was closed to make room"
        );
    }
    let ended = opened[0]
        .request(Method::DELETE)
        .send()
        .await
        .expect("an answer");
    assert_eq!(ended.status(), StatusCode::NO_CONTENT);
    client
        .with("x-user", "alice")
        .initialize(&json!({}))
        .await
        .expect("the place is free again");
}

#[tokio::test]
async fn clients_without_a_session_are_capped() {
    let url = serve(&by_user(server()).max_sessions(50)).await;
    let client = HttpClient::new(&url);
    let (mut answered, mut refused) = (0, 0);
    for at in 0..1_000 {
        let client = client.with("x-user", &format!("user {at}"));
        let answer = client
            .call_stateless(1, "add", &json!({"a": 1, "b": 2}), json!({}))
            .await;
        answered += usize::from(answer["result"]["content"][0]["text"] == "3");
        refused += usize::from(
            answer["error"]["message"]
                .as_str()
                .is_some_and(|text| text.contains("50 sessions")),
        );
    }
    assert_eq!((answered, refused), (50, 950));
}

#[tokio::test(start_paused = true)]
async fn calls_of_clients_that_are_gone_are_bounded() {
    let app = server().router();
    let opened = app
        .clone()
        .oneshot(post("", &[], &initialize()))
        .await
        .expect("an answer");
    let session = opened.headers()["mcp-session-id"].to_str().expect("an id");
    let headers = [
        ("mcp-session-id", session),
        ("mcp-protocol-version", "2025-11-25"),
    ];
    let mut begun = 0;
    for id in 0..60 {
        let params =
            json!({"name": "wait", "arguments": {}, "_meta": {"more": "x".repeat(3 << 20)}});
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        // Clients go before a call is answered by a stream, which it is after a second, and while it has one.
        let patience = Duration::from_millis(10 + 2_000 * (id % 2));
        let answer = timeout(patience, app.clone().oneshot(post("", &headers, &call))).await;
        begun += usize::from(
            answer.is_err()
                || answer.is_ok_and(|answer| answer.expect("an answer").status() == StatusCode::OK),
        );
    }
    assert_eq!(begun, 21, "64 MiB of bodies at most");
}

/// Print a long page.
#[tool]
fn print() -> String {
    "x".repeat(100_000)
}

// T15
#[tokio::test(start_paused = true)]
async fn calls_on_lines_wait_until_their_client_reads() {
    const CALLS: u64 = 400;
    let tools = ToolContext::builder().with(print).build().expect("tools");
    let runtime = Runtime::builder(tools).policy(Server::policy()).build();
    let runtime = runtime.expect("a runtime");
    let server = Server::new(runtime.clone());
    let mut client = LineClient::initialized(&server, json!({})).await;
    for id in 0..CALLS {
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "print"}});
        client.send(&call).await;
    }
    // The clock moves once nothing else does.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let made = runtime.metrics().tools["print"].calls;
    // An answer has the page twice, as text and as structured content.
    assert!((60..120).contains(&made), "{made} answers of 200,000 bytes");

    for _ in 0..CALLS {
        let answer = client.receive().await;
        assert!(answer["result"].is_object(), "{answer}");
    }
    assert_eq!(runtime.metrics().tools["print"].calls, CALLS);
}

/// Returns a server whose sessions expire after a minute.
fn brief() -> Server {
    let policy = Server::policy().idle_timeout(Duration::from_secs(60));
    Server::new(
        Runtime::builder(tools())
            .policy(policy)
            .build()
            .expect("a runtime"),
    )
}

#[tokio::test(start_paused = true)]
async fn a_client_over_lines_that_was_idle_goes_on() {
    let mut client = LineClient::initialized(&brief(), json!({})).await;
    for _ in 0..3 {
        let answer = client.call("add", json!({"a": 1, "b": 2})).await;
        assert_eq!(answer["result"]["content"][0]["text"], "3", "{answer}");
        advance(Duration::from_secs(61)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_over_http_that_only_listed_opens_another_session() {
    let app = brief().router();
    let (initialize, list) = (
        initialize(),
        serde_json::from_str::<Value>(LIST).expect("JSON"),
    );
    let add = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "add", "arguments": {"a": 1, "b": 2}}});
    for _ in 0..3 {
        let opened = app
            .clone()
            .oneshot(post("", &[], &initialize))
            .await
            .expect("an answer");
        let session = opened.headers()["mcp-session-id"].to_str().expect("an id");
        let headers = [
            ("mcp-session-id", session),
            ("mcp-protocol-version", "2025-11-25"),
        ];
        let answer = app
            .clone()
            .oneshot(post("", &headers, &add))
            .await
            .expect("an answer");
        assert_eq!(answer.status(), StatusCode::OK);

        // Lists keep the session of the protocol, and not the one in the store.
        for _ in 0..3 {
            advance(Duration::from_secs(30)).await;
            let answer = app
                .clone()
                .oneshot(post("", &headers, &list))
                .await
                .expect("an answer");
            assert_eq!(answer.status(), StatusCode::OK);
        }
        let answer = app
            .clone()
            .oneshot(post("", &headers, &add))
            .await
            .expect("an answer");
        assert_eq!(
            answer.status(),
            StatusCode::NOT_FOUND,
            "the client opens another"
        );
    }
}

fn initialize() -> Value {
    let info = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
}

fn post(user: &str, headers: &[(&str, &str)], message: &Value) -> Request<Body> {
    let request = Request::post("/mcp")
        .header("host", "localhost")
        .header("x-user", user);
    let request = request.header("accept", "application/json, text/event-stream");
    let request = request.header("content-type", "application/json");
    let request = headers.iter().fold(request, |request, (name, value)| {
        request.header(*name, *value)
    });
    request
        .body(Body::from(message.to_string()))
        .expect("a request")
}

/// Returns a request in whose body something happens before its end.
fn post_slowly(
    headers: &[(&str, &str)],
    message: &Value,
    happens: impl FnOnce() + Send + 'static,
) -> Request<Body> {
    let message = message.to_string();
    let chunk = async move {
        happens();
        Ok::<_, Infallible>(message)
    };
    post("ada", headers, &Value::Null).map(|_| Body::from_stream(stream::once(chunk)))
}

/// The header of a request that needs no session.
const WITHOUT_SESSION: (&str, &str) = ("mcp-protocol-version", "2026-07-28");

// T26
#[tokio::test]
async fn a_client_revoked_during_its_body_is_refused() {
    let is_known = Arc::new(AtomicBool::new(true));
    let known = Arc::clone(&is_known);
    let server = server().principal(move |_| {
        let is_known = known.load(Ordering::Relaxed);
        is_known.then(|| "ada".to_owned())
    });
    let params =
        json!({"name": "add", "arguments": {"a": 1, "b": 2}, "_meta": stateless(&json!({}))});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let headers = [
        WITHOUT_SESSION,
        ("mcp-method", "tools/call"),
        ("mcp-name", "add"),
    ];
    let request = post_slowly(&headers, &call, move || {
        is_known.store(false, Ordering::Relaxed);
    });

    let answer = server.router().oneshot(request).await.expect("an answer");
    assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
}

// T26
#[tokio::test]
async fn a_session_ended_during_a_body_is_unknown() {
    let server = by_user(server());
    let app = server.router();
    let opened = app.clone().oneshot(post("ada", &[], &initialize())).await;
    let opened = opened.expect("an answer");
    let session = opened.headers()["mcp-session-id"].to_str().expect("an id");
    let headers = [
        ("mcp-session-id", session),
        ("mcp-protocol-version", "2025-11-25"),
    ];
    let params = json!({"name": "add", "arguments": {"a": 1, "b": 2}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let request = post_slowly(&headers, &call, move || {
        server.end_sessions_of(|name| name == "ada");
    });

    let answer = app.oneshot(request).await.expect("an answer");
    assert_eq!(answer.status(), StatusCode::NOT_FOUND);
}

// T26
#[tokio::test(start_paused = true)]
async fn a_stream_of_a_client_revoked_as_it_opens_ends() {
    let looks = AtomicUsize::new(0);
    // Known when the request begins and when its body has come.
    let server = server()
        .announce_tool_changes(true)
        .principal(move |_| (looks.fetch_add(1, Ordering::Relaxed) < 2).then(|| "ada".to_owned()));
    let params =
        json!({"notifications": {"toolsListChanged": true}, "_meta": stateless(&json!({}))});
    let listen =
        json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params});
    let headers = [WITHOUT_SESSION, ("mcp-method", "subscriptions/listen")];
    let request = post("ada", &headers, &listen);

    let answer = server.router().oneshot(request).await.expect("an answer");
    assert_eq!(answer.status(), StatusCode::OK);
    let body = axum::body::to_bytes(answer.into_body(), 1 << 20);
    let ended = timeout(Duration::from_secs(60), body).await;
    ended.expect("it ends").expect("a body");
}

/// A hook that waits without end, and tells that it does.
struct Waiting(Arc<Notify>);

impl Hook for Waiting {
    fn around_request<'a>(
        &'a self,
        _: &'a HookedRequest<'a>,
        _: HookFuture<'a, Result<(), ToolError>>,
    ) -> HookFuture<'a, Result<(), ToolError>> {
        self.0.notify_one();
        Box::pin(std::future::pending())
    }
}

// T26
#[tokio::test(start_paused = true)]
async fn no_hook_holds_the_stream_of_a_revoked_client() {
    let read = async |_: ResourceRequest, _: RunContext| Ok(vec![ResourceContents::text("a note")]);
    let definition = ResourceDefinition::new("notes://7", "note").expect("a resource");
    let tools = ToolContext::builder().with_resource(Resource::new(definition, read));
    let waits = Arc::new(Notify::new());
    let runtime = Runtime::builder(tools.build().expect("tools")).hook(Waiting(Arc::clone(&waits)));
    let server = by_user(Server::new(runtime.build().expect("a runtime")));
    let app = server.router();
    let filter = json!({"resourceSubscriptions": ["notes://7"]});
    let params = json!({"notifications": filter, "_meta": stateless(&json!({}))});
    let listen =
        json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params});
    let headers = [WITHOUT_SESSION, ("mcp-method", "subscriptions/listen")];
    let answer = app.clone().oneshot(post("ada", &headers, &listen)).await;
    waits.notified().await;

    server.end_sessions_of(|name| name == "ada");
    let body = axum::body::to_bytes(answer.expect("an answer").into_body(), 1 << 20);
    let ended = timeout(Duration::from_secs(5), body).await;
    ended.expect("it ends").expect("a body");
}

#[tokio::test(start_paused = true)]
async fn idle_sessions_expire_and_make_room() {
    let idle = Duration::from_secs(100);
    let app = by_user(server())
        .max_sessions(20)
        .idle_timeout(idle)
        .router();
    let initialize = initialize();
    let list = json!({"jsonrpc": "2.0", "id": 0, "method": "tools/list", "params": {"_meta": stateless(&json!({}))}});
    let version = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/list"),
    ];
    let mut opened = [0, 0];
    for round in 0..50 {
        for at in 0..10 {
            let answer = app
                .clone()
                .oneshot(post(&format!("a {round} {at}"), &[], &initialize))
                .await;
            opened[0] += usize::from(
                answer
                    .expect("an answer")
                    .headers()
                    .contains_key("mcp-session-id"),
            );
            let answer = app
                .clone()
                .oneshot(post(&format!("b {round} {at}"), &version, &list))
                .await;
            let body = axum::body::to_bytes(answer.expect("an answer").into_body(), 1 << 20)
                .await
                .expect("a body");
            opened[1] += usize::from(String::from_utf8_lossy(&body).contains("\"tools\""));
        }
        let full = app
            .clone()
            .oneshot(post("late", &[], &initialize))
            .await
            .expect("an answer");
        assert_eq!(full.status(), StatusCode::SERVICE_UNAVAILABLE);
        tokio::time::sleep(idle + Duration::from_secs(1)).await;
    }
    assert_eq!(opened, [500, 500]);
}

/// Rest for ten seconds. After a few more the stream of a call has comments, which know no paused clock.
#[tool(timeout = "10m")]
async fn rest() -> &'static str {
    tokio::time::sleep(Duration::from_secs(10)).await;
    "rested"
}

#[tokio::test(start_paused = true)]
async fn session_lives_as_long_as_its_call() {
    let tools = ToolContext::builder().with(rest).build().expect("tools");
    let server = Server::from_tools(tools).expect("a server");
    let app = server.idle_timeout(Duration::from_secs(3)).router();
    let opened = app.clone().oneshot(post("", &[], &initialize())).await;
    let opened = opened.expect("an answer");
    let session = opened.headers()["mcp-session-id"].to_str().expect("an id");
    let headers = [
        ("mcp-session-id", session),
        ("mcp-protocol-version", "2025-11-25"),
    ];
    let params = json!({"name": "rest", "arguments": {}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let answer = app.clone().oneshot(post("", &headers, &call)).await;
    let body = answer.expect("an answer").into_body();
    let body = axum::body::to_bytes(body, 1 << 20).await.expect("a body");
    let text = String::from_utf8_lossy(&body);
    assert!(text.contains("rested"), "{text}");
}

async fn connect(url: &str) -> TcpStream {
    let address = url.trim_start_matches("http://").trim_end_matches("/mcp");
    TcpStream::connect(address.parse::<SocketAddr>().expect("an address"))
        .await
        .expect("the server listens")
}

fn request(body: &str) -> String {
    let head =
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\naccept: application/json, text/event-stream\r\n";
    format!(
        "{head}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Waits until the server has accepted the connections so far, and read what they sent. A paused clock moves on while bytes are
/// still under way.
async fn settle(url: &str) {
    for _ in 0..3 {
        // The server answers in the order in which the system reports connections and bytes.
        let mut stream = connect(url).await;
        stream
            .write_all(request(LIST).as_bytes())
            .await
            .expect("the server reads");
        stream.read_exact(&mut [0; 12]).await.expect("an answer");
    }
}

/// Sends the beginnings of requests, and returns the answers of those whose connections the server closes, with the time
/// after which it did. The clock moves whenever all tasks wait.
async fn closed(url: &str, beginnings: impl Iterator<Item = Vec<u8>>) -> Vec<(String, Duration)> {
    let mut streams = Vec::new();
    for beginning in beginnings {
        let mut stream = connect(url).await;
        stream
            .write_all(&beginning)
            .await
            .expect("the server reads");
        streams.push(stream);
    }
    settle(url).await;
    tokio::time::pause();
    let began = Instant::now();
    let mut reading = JoinSet::new();
    for mut stream in streams {
        reading.spawn(async move {
            let mut answer = Vec::new();
            let read = timeout(Duration::from_secs(3_600), stream.read_to_end(&mut answer))
                .await
                .ok()?;
            read.expect("the connection is not reset, as all bytes were read");
            Some((String::from_utf8(answer).expect("a text"), began.elapsed()))
        });
    }
    let closed = reading.join_all().await.into_iter().flatten().collect();
    tokio::time::resume();
    closed
}

#[tokio::test]
async fn heads_and_bodies_that_never_end_are_closed() {
    let url = serve(&server()).await;
    let text = format!("[{}]", " ".repeat(2_000));
    let whole = request(&text);
    let body = whole.len() - text.len();
    let (heads, bodies) = (
        (0..600).map(|at| at * body / 600),
        (0..600).map(|at| body + at * (text.len() - 1) / 600),
    );
    for (cuts, status, limit) in [
        (heads.collect::<Vec<_>>(), "", 30),
        (bodies.collect(), "HTTP/1.1 408", 20),
    ] {
        let (mut closings, limit) = (Vec::new(), Duration::from_secs(limit));
        for cuts in cuts.chunks(200) {
            closings
                .extend(closed(&url, cuts.iter().map(|at| whole.as_bytes()[..*at].to_vec())).await);
        }
        assert_eq!(closings.len(), 600, "{status}");
        for (answer, after) in closings {
            assert_eq!(answer.get(..12).unwrap_or_default(), status, "{answer}");
            let longest = limit + Duration::from_secs(3);
            assert!(
                after >= limit.saturating_sub(Duration::from_secs(1)) && after <= longest,
                "{after:?}"
            );
        }
    }
    HttpClient::new(&url)
        .initialize(&json!({}))
        .await
        .expect("others are served");
}

#[tokio::test]
async fn bytes_after_a_body_of_two_lengths_are_no_request() {
    let url = serve(&server()).await;
    let chunked = format!("{:x}\r\n{LIST}\r\n0\r\n\r\n", LIST.len());
    let lengths = |body: &str| {
        let length = format!("content-length: {}\r\n", body.len());
        let chunked = "transfer-encoding: chunked\r\n".to_owned();
        [
            [length.clone(), chunked.clone()].concat(),
            [chunked, length].concat(),
        ]
    };
    for both in lengths(&chunked).into_iter().chain(lengths("")) {
        let head = "POST /mcp HTTP/1.1\r\nhost: localhost\r\naccept: application/json, text/event-stream\r\n";
        let first = format!("{head}content-type: application/json\r\n{both}\r\n{chunked}");

        let mut stream = connect(&url).await;
        stream
            .write_all(format!("{first}{}", request(LIST)).as_bytes())
            .await
            .expect("the server reads");
        let mut answers = Vec::new();
        _ = timeout(Duration::from_secs(10), stream.read_to_end(&mut answers))
            .await
            .expect("the connection is closed");
        let answers = String::from_utf8_lossy(&answers);
        assert_eq!(answers.matches("HTTP/1.1 ").count(), 1, "{both}: {answers}");
    }
}

#[tokio::test]
async fn an_address_has_a_share_of_the_connections() {
    let url = serve(&server().max_connections_per_address(20)).await;
    let (mut open, mut refused) = (Vec::new(), 0);
    for _ in 0..1_020 {
        let mut stream = connect(&url).await;
        if open.len() < 20 {
            stream
                .write_all(request(LIST).as_bytes())
                .await
                .expect("the server reads");
            let mut answer = [0; 12];
            stream.read_exact(&mut answer).await.expect("an answer");
            assert_eq!(&answer, b"HTTP/1.1 400");
            open.push(stream);
            continue;
        }
        let mut answer = String::new();
        let read = timeout(Duration::from_secs(60), stream.read_to_string(&mut answer)).await;
        read.expect("the connection is closed").expect("an answer");
        refused += usize::from(
            answer.starts_with("HTTP/1.1 503") && answer.contains("too many connections"),
        );
    }
    assert_eq!((open.len(), refused), (20, 1_000));
    let socket = TcpSocket::new_v4().expect("a socket");
    match socket.bind(([127, 0, 0, 2], 0).into()) {
        Ok(()) => {
            let address = url
                .trim_start_matches("http://")
                .trim_end_matches("/mcp")
                .parse()
                .expect("an address");
            let mut other = socket.connect(address).await.expect("the server listens");
            other
                .write_all(request(LIST).as_bytes())
                .await
                .expect("the server reads");
            other
                .read_exact(&mut [0; 12])
                .await
                .expect("another address is served");
        }
        Err(error) => {
            eprintln!(
                "skipped: a client at another address, as 127.0.0.2 cannot be bound: {error}"
            );
        }
    }
    drop(open);
    until(async || HttpClient::new(&url).initialize(&json!({})).await.is_ok()).await;
}

#[tokio::test]
async fn readers_that_never_read_are_closed() {
    let url = serve(&server()).await;
    let client = HttpClient::new(&url)
        .initialize(&json!({}))
        .await
        .expect("a session");
    let id = client
        .request(Method::GET)
        .build()
        .expect("a request")
        .headers()["mcp-session-id"]
        .clone();
    let id = id.to_str().expect("a text").to_owned();
    let mut stream = connect(&url).await;
    settle(&url).await;
    let list = request(LIST).replace("\r\n\r\n", &format!("\r\nmcp-session-id: {id}\r\n\r\n"));
    tokio::time::pause();
    // The answers fill the buffers, as this client only writes.
    let mut sent = 0;
    while stream.write_all(list.as_bytes()).await.is_ok() {
        sent += 1;
        assert!(
            sent < 1_000_000,
            "the server answers a client that does not read"
        );
    }
    assert!(
        sent > 100,
        "the server closed the connection before its buffers were full: {sent}"
    );
    tokio::time::resume();
    assert_eq!(
        client
            .post(&serde_json::from_str(LIST).expect("JSON"))
            .await
            .status(),
        StatusCode::OK
    );
}

#[tokio::test]
async fn shutdown_ends_within_its_grace_with_slow_clients() {
    let server = server().shutdown_grace(Duration::from_secs(7));
    let bound = server
        .bind(([127, 0, 0, 1], 0).into())
        .await
        .expect("an address");
    let url = bound.url().expect("an address");
    let serving = tokio::spawn(bound.serve());
    let (mut streams, mut readers, whole) = (Vec::new(), Vec::new(), request(LIST));
    for at in 0..200 {
        let mut stream = connect(&url).await;
        stream
            .write_all(&whole.as_bytes()[..at % whole.len()])
            .await
            .expect("the server reads");
        streams.push(stream);
    }
    for _ in 0..20 {
        let client = HttpClient::new(&url)
            .initialize(&json!({}))
            .await
            .expect("a session");
        readers.push(client.request(Method::GET).send().await.expect("a stream"));
    }
    settle(&url).await;
    tokio::time::pause();
    let began = Instant::now();
    server.shutdown().await;
    serving.await.expect("no panic").expect("served");
    assert!(
        began.elapsed() <= Duration::from_secs(8),
        "{:?}",
        began.elapsed()
    );
    drop((streams, readers));
}
