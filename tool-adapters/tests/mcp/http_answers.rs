//! Answers over HTTP to the calls of a client.

use axum::extract::Request;
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tool_adapters::mcp::McpClient;
use tool_core::{ErrorKind, RunContext, ToolContext};

/// Returns the tools of a server that answers each call in the same way.
async fn answering(answer: impl Fn(&Value) -> Response + Clone + Send + Sync + 'static) -> ToolContext {
    let app = axum::Router::new().fallback(move |request: Request| {
        let answer = answer.clone();
        async move {
            if request.method() != Method::POST {
                return StatusCode::METHOD_NOT_ALLOWED.into_response();
            }
            let body = axum::body::to_bytes(request.into_body(), 1 << 20).await.expect("a body");
            let message = serde_json::from_slice::<Value>(&body).expect("JSON");
            let result = match message["method"].as_str() {
                Some("initialize") => json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "s", "version": "1"}}),
                Some("tools/list") => json!({"tools": [{"name": "ask", "inputSchema": {"type": "object"}}]}),
                Some("tools/call") => return answer(&message["id"]),
                _ => return StatusCode::ACCEPTED.into_response(),
            };
            axum::Json(json!({"jsonrpc": "2.0", "id": message["id"], "result": result})).into_response()
        }
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("an address");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    tokio::spawn(async move { axum::serve(listener, app).await });
    let imported = McpClient::url(url).name("web").connect().await.expect("an import");
    ToolContext::builder().with(imported).build().expect("tools")
}

/// Returns the kind and the message of the error of a call.
async fn failed(answer: impl Fn(&Value) -> Response + Clone + Send + Sync + 'static) -> (ErrorKind, String) {
    let response = answering(answer).await.call("ask", "{}", &RunContext::detached()).await;
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
        assert_eq!(failed, (ErrorKind::Permanent, "no coffee".to_owned()), "{status}");
    }
}

#[tokio::test]
async fn an_answer_to_another_request_is_no_answer() {
    let failed = failed(|_| {
        let result = json!({"content": [{"type": "text", "text": "of another"}]});
        axum::Json(json!({"jsonrpc": "2.0", "id": 1_000_000, "result": result})).into_response()
    });
    let (kind, message) = failed.await;
    assert_eq!((kind, message.as_str()), (ErrorKind::Permanent, "the answer of the tool's server cannot be read"));
}

#[tokio::test]
async fn a_number_that_comes_back_as_a_text_is_its_own_id() {
    let tools = answering(|id| {
        let result = json!({"content": [{"type": "text", "text": "fine"}]});
        axum::Json(json!({"jsonrpc": "2.0", "id": id.to_string(), "result": result})).into_response()
    });
    let response = tools.await.call("ask", "{}", &RunContext::detached()).await;
    assert!(response.is_ok(), "{:?}", response.error());
}

#[tokio::test]
async fn a_refusal_without_a_message_names_its_status() {
    let refused = async |status: StatusCode| failed(move |_| (status, "<b>no</b>").into_response()).await;
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

#[tokio::test]
async fn an_answer_that_is_no_message_may_have_had_effects() {
    let html = |_: &Value| ([(header::CONTENT_TYPE, "text/html")], "<html></html>").into_response();
    assert_eq!(failed(html).await.0, ErrorKind::Unknown);
}
