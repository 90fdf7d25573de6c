//! Answers over HTTP to the calls of a client.

use axum::Router;
use axum::extract::Request;
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufStream};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tool_adapters::mcp::McpClient;
use tool_core::{ErrorKind, RunContext, ToolContext};

/// Returns a server that answers each call in the same way.
fn app(answer: impl Fn(&Value) -> Response + Clone + Send + Sync + 'static) -> Router {
    Router::new().fallback(move |request: Request| {
        let answer = answer.clone();
        async move {
            if request.method() != Method::POST {
                return StatusCode::METHOD_NOT_ALLOWED.into_response();
            }
            let body = axum::body::to_bytes(request.into_body(), 1 << 20)
                .await
                .expect("a body");
            let message = serde_json::from_slice::<Value>(&body).expect("JSON");
            let result = match message["method"].as_str() {
                Some("initialize") => {
                    json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "s", "version": "1"}})
                }
                Some("tools/list") => {
                    json!({"tools": [{"name": "ask", "inputSchema": {"type": "object"}}]})
                }
                Some("tools/call") => return answer(&message["id"]),
                _ => return StatusCode::ACCEPTED.into_response(),
            };
            axum::Json(json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
                .into_response()
        }
    })
}

async fn import(url: &str) -> ToolContext {
    let imported = McpClient::url(url)
        .name("web")
        .connect()
        .await
        .expect("an import");
    ToolContext::builder()
        .with(imported)
        .build()
        .expect("tools")
}

/// Returns the tools of a server that answers each call in the same way.
async fn answering(
    answer: impl Fn(&Value) -> Response + Clone + Send + Sync + 'static,
) -> ToolContext {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("an address");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    tokio::spawn(async move { axum::serve(listener, app(answer)).await });
    import(&url).await
}

/// Returns the kind and the message of the error of a call.
async fn failed(
    answer: impl Fn(&Value) -> Response + Clone + Send + Sync + 'static,
) -> (ErrorKind, String) {
    let response = answering(answer)
        .await
        .call("ask", "{}", &RunContext::detached())
        .await;
    let error = response.error().expect("an error");
    (error.kind, error.message.clone())
}

fn error_of(id: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": "no coffee"}})
}

#[tokio::test]
async fn an_error_without_an_id_fails_the_call_it_answers() {
    let failed = failed(|_| axum::Json(error_of(&Value::Null)).into_response()).await;
    assert_eq!(failed, (ErrorKind::Permanent, "no coffee".to_owned()));
}

#[tokio::test]
async fn a_refusal_with_an_error_of_the_protocol_shows_it() {
    for status in [StatusCode::BAD_REQUEST, StatusCode::INTERNAL_SERVER_ERROR] {
        let failed = failed(move |id| (status, axum::Json(error_of(id))).into_response()).await;
        assert_eq!(
            failed,
            (ErrorKind::Permanent, "no coffee".to_owned()),
            "{status}"
        );
    }
}

#[tokio::test]
async fn an_answer_to_another_request_is_no_answer() {
    let failed = failed(|_| {
        let result = json!({"content": [{"type": "text", "text": "of another"}]});
        axum::Json(json!({"jsonrpc": "2.0", "id": 1_000_000, "result": result})).into_response()
    });
    let (kind, message) = failed.await;
    assert_eq!(
        (kind, message.as_str()),
        (
            ErrorKind::Permanent,
            "the answer of the tool's server cannot be read"
        )
    );
}

#[tokio::test]
async fn a_number_that_comes_back_as_a_text_is_its_own_id() {
    let tools = answering(|id| {
        let result = json!({"content": [{"type": "text", "text": "fine"}]});
        axum::Json(json!({"jsonrpc": "2.0", "id": id.to_string(), "result": result}))
            .into_response()
    });
    let response = tools.await.call("ask", "{}", &RunContext::detached()).await;
    assert!(response.is_ok(), "{:?}", response.error());
}

#[tokio::test]
async fn a_refusal_without_a_message_names_its_status() {
    let refused =
        async |status: StatusCode| failed(move |_| (status, "<b>no</b>").into_response()).await;
    let cases = [
        (
            StatusCode::FORBIDDEN,
            ErrorKind::Permanent,
            "the tool's server refused the call: HTTP 403 Forbidden: <b>no</b>",
        ),
        (
            StatusCode::TOO_MANY_REQUESTS,
            ErrorKind::Transient,
            "the tool's server takes no more calls for now (HTTP 429)",
        ),
        (
            StatusCode::BAD_GATEWAY,
            ErrorKind::Unknown,
            "the tool's server failed (HTTP 502); the call may have had effects",
        ),
    ];
    for (status, kind, message) in cases {
        assert_eq!(refused(status).await, (kind, message.to_owned()));
    }
}

// G5
#[tokio::test]
async fn a_call_that_is_refused_for_its_key_did_not_begin() {
    for status in [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN] {
        let challenge = [(header::WWW_AUTHENTICATE, "Bearer")];
        let (kind, message) = failed(move |_| (status, challenge.clone()).into_response()).await;
        assert_eq!(kind, ErrorKind::Permanent, "{message}");
        assert!(message.contains(&status.to_string()), "{message}");
    }
}

// G5
#[tokio::test]
async fn a_call_that_reaches_no_server_did_not_begin() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("an address");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    let (stop, stopped) = oneshot::channel::<()>();
    let app = app(|_| StatusCode::OK.into_response());
    let serving = axum::serve(listener, app).with_graceful_shutdown(async move {
        _ = stopped.await;
    });
    let serving = tokio::spawn(serving.into_future());
    let tools = import(&url).await;
    drop(stop);
    serving.await.expect("no panic").expect("an end");

    let response = tools.call("ask", "{}", &RunContext::detached()).await;
    let error = response.error().expect("an error");
    assert_eq!(error.kind, ErrorKind::Transient, "{error:?}");
    assert!(error.message.contains("was not sent"), "{error:?}");
}

#[tokio::test]
async fn an_answer_that_is_no_message_may_have_had_effects() {
    let html = |_: &Value| ([(header::CONTENT_TYPE, "text/html")], "<html></html>").into_response();
    assert_eq!(failed(html).await.0, ErrorKind::Unknown);
}

/// Reads the head and the body of a request, and returns its message.
async fn read_request(stream: &mut BufStream<TcpStream>) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream
            .read_line(&mut line)
            .await
            .ok()
            .filter(|read| *read > 0)?;
        if let Some((name, value)) = line.trim().split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok()?;
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    serde_json::from_slice(&body).ok()
}

/// Serves a connection of a server that never gets past `100 Continue` in the answer to a call.
async fn serve_endless_continues(stream: TcpStream) -> Option<()> {
    let mut stream = BufStream::new(stream);
    loop {
        let message = read_request(&mut stream).await?;
        let result = match message["method"].as_str() {
            Some("initialize") => {
                json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "s", "version": "1"}})
            }
            Some("tools/list") => {
                json!({"tools": [{"name": "ask", "inputSchema": {"type": "object"}}]})
            }
            Some("tools/call") => loop {
                stream
                    .write_all(&b"HTTP/1.1 100 Continue\r\n\r\n".repeat(1_000))
                    .await
                    .ok()?;
                stream.flush().await.ok()?;
            },
            _ => Value::Null,
        };
        let body = json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string();
        let head = match result {
            Value::Null => "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_owned(),
            _ => format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            ),
        };
        stream.write_all(head.as_bytes()).await.ok()?;
        stream.flush().await.ok()?;
    }
}

// T35
#[tokio::test]
async fn endless_interim_answers_end_with_the_deadline() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("an address");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    // The server has a thread of its own, as it never rests.
    let server = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let listener = listener.into_std().expect("a listener");
        runtime.block_on(async move {
            let listener = TcpListener::from_std(listener).expect("a listener");
            loop {
                let (stream, _) = listener.accept().await.expect("a connection");
                tokio::spawn(serve_endless_continues(stream));
            }
        })
    });
    let client = McpClient::url(url)
        .name("web")
        .timeout(Duration::from_millis(500));
    let tools = ToolContext::builder()
        .with(client.connect().await.expect("an import"))
        .build()
        .expect("tools");

    // Both share the test's only thread.
    let ticks = async {
        let mut longest = Duration::ZERO;
        loop {
            let before = Instant::now();
            tokio::time::sleep(Duration::from_millis(1)).await;
            longest = longest.max(before.elapsed());
            if before.elapsed() > Duration::from_secs(10) {
                return longest;
            }
        }
    };
    let response = tokio::select! {
        response = async { tools.call("ask", "{}", &RunContext::detached()).await } => response,
        blocked = ticks => panic!("other tasks waited for {blocked:?}"),
    };
    assert_eq!(
        response.error().map(|error| error.kind),
        Some(ErrorKind::Timeout),
        "{response:?}"
    );
    drop(server);
}
