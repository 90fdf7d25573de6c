//! Servers that differ from the protocol: what can be read of them is served.

use super::import::{declared, session};
use super::support::until;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, split};
use tool_adapters::mcp::{ImportedToolset, McpClient};
use tool_core::{Tool, ToolCall, Toolset};

/// Imports from a server over lines that answers each method so: with `result` or `error`. A method without an answer is unknown.
async fn import(
    capabilities: Value,
    mut answer: impl FnMut(&str, &Value) -> Option<Value> + Send + 'static,
) -> Arc<ImportedToolset> {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    tokio::spawn(async move {
        let (from, mut to) = split(theirs);
        let mut lines = BufReader::new(from).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let message = serde_json::from_str::<Value>(&line).expect("a message");
            let Some(method) = message["method"]
                .as_str()
                .filter(|_| !message["id"].is_null())
            else {
                continue;
            };
            let info = json!({"name": "odd", "version": "1"});
            let begun = json!({"result": {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info}});
            let own = if method == "initialize" {
                Some(begun)
            } else {
                answer(method, &message["params"])
            };
            let mut answered = own
                .unwrap_or_else(|| json!({"error": {"code": -32601, "message": "unknown method"}}));
            answered["jsonrpc"] = json!("2.0");
            answered["id"] = message["id"].clone();
            to.write_all(format!("{answered}\n").as_bytes())
                .await
                .expect("the client reads");
        }
    });
    let (from, to) = split(ours);
    Arc::new(
        McpClient::streams("odd", from, to)
            .connect()
            .await
            .expect("an import"),
    )
}

fn tools(imported: &Arc<ImportedToolset>) -> Vec<String> {
    let tools = Arc::clone(imported).tools();
    let names = tools.iter().filter_map(|tool| match tool {
        Tool::Function(tool) => Some(tool.name().to_owned()),
        _ => None,
    });
    names.collect()
}

fn left_out(imported: &ImportedToolset) -> Vec<String> {
    imported
        .quarantined()
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[tokio::test]
async fn a_server_with_prompts_only_is_served() {
    let imported = import(json!({"prompts": {}}), |method, _| {
        (method == "prompts/list").then(|| json!({"result": {"prompts": [{"name": "greet"}]}}))
    })
    .await;
    assert_eq!(ImportedToolset::prompts(&imported).len(), 1);
    assert!(tools(&imported).is_empty() && imported.quarantined().is_empty());
}

// T33
#[tokio::test]
async fn a_list_that_fails_at_the_import_is_requested_again() {
    let mut requests = 0;
    let imported = import(json!({"prompts": {}}), move |method, _| {
        if method != "prompts/list" {
            return None;
        }
        requests += 1;
        Some(match requests {
            1 => json!({"error": {"code": -32603, "message": "overloaded"}}),
            _ => json!({"result": {"prompts": [{"name": "greet"}]}}),
        })
    })
    .await;
    assert!(ImportedToolset::prompts(&imported).is_empty());
    until(async || {
        let left_out = left_out(&imported);
        left_out.iter().any(|text| text.contains("greet"))
    })
    .await;
}

#[tokio::test]
async fn one_bad_tool_does_not_cost_the_others() {
    let listed = json!([
        declared("one"),
        {"name": "two", "description": "Without a schema."},
        {"name": "three", "inputSchema": null},
        {"name": "four", "inputSchema": true},
        {"name": "five", "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}, "required": null}},
        {"name": "six", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": "yes"}, "title": 7},
        {"inputSchema": {"type": "object"}},
        "seven",
        {"name": 8, "inputSchema": {}},
    ]);
    let imported = import(json!({"tools": {}}), move |method, _| {
        (method == "tools/list").then(|| json!({"result": {"tools": listed, "nextCursor": ""}}))
    })
    .await;
    assert_eq!(
        tools(&imported),
        ["one", "two", "three", "four", "five", "six"]
    );
    let left_out = left_out(&imported);
    assert_eq!(left_out.len(), 3, "{left_out:?}");
    assert!(
        left_out[1].starts_with("`tools 7` cannot be read: "),
        "{left_out:?}"
    );
    let session = session(Arc::into_inner(imported).expect("one owner")).await;
    assert!(
        session
            .definitions()
            .iter()
            .any(|tool| tool.name() == "five")
    );
}

#[tokio::test]
async fn the_pages_of_an_endless_list_are_served() {
    for cursor in [
        |_: usize| "again".to_owned(),
        |page: usize| page.to_string(),
    ] {
        let pages = Arc::new(AtomicUsize::new(0));
        let imported = import(json!({"tools": {}}), move |method, _| {
            let page = (method == "tools/list").then(|| pages.fetch_add(1, Ordering::Relaxed))?;
            let listed = if page < 2 {
                vec![declared(&format!("t{page}"))]
            } else {
                Vec::new()
            };
            Some(json!({"result": {"tools": listed, "nextCursor": cursor(page)}}))
        })
        .await;
        assert_eq!(tools(&imported), ["t0", "t1"]);
        let left_out = left_out(&imported);
        assert!(
            left_out.len() == 1 && left_out[0].starts_with("`tools/list` has no end"),
            "{left_out:?}"
        );
    }
}

#[tokio::test]
async fn one_bad_resource_does_not_cost_the_others() {
    let imported = import(json!({"resources": {}, "prompts": {}}), |method, _| match method {
        "resources/list" => {
            let listed =
                json!([{"uri": "a:1", "name": "one", "size": "big"}, {"name": "two"}, {"uri": "a:3", "name": "three"}]);
            Some(json!({"result": {"resources": listed}}))
        }
        "prompts/list" => {
            Some(json!({"result": {"prompts": [{"name": "greet", "arguments": "none"}, {"title": "x"}]}}))
        }
        _ => None,
    })
    .await;
    assert_eq!(
        (
            ImportedToolset::resources(&imported).len(),
            ImportedToolset::prompts(&imported).len()
        ),
        (2, 1)
    );
    assert_eq!(imported.quarantined().len(), 2);
}

#[tokio::test]
async fn an_answer_of_very_many_values_fails_its_call_only() {
    let imported = import(json!({"tools": {}}), |method, params| match method {
        "tools/list" => Some(json!({"result": {"tools": [declared("one")]}})),
        _ if params["arguments"]["text"] == "many" => {
            let parts = vec![json!({}); 200_000];
            Some(json!({"result": {"content": parts}}))
        }
        _ => Some(json!({"result": {"content": [{"type": "text", "text": "few"}]}})),
    })
    .await;
    let session = session(Arc::into_inner(imported).expect("one owner")).await;
    let many = session
        .call(ToolCall::new("1", "one", r#"{"text": "many"}"#))
        .await;
    assert!(
        many.error()
            .is_some_and(|error| error.message.contains("fewer values")),
        "{many:?}"
    );
    assert!(
        session
            .call(ToolCall::new("2", "one", r#"{"text": "few"}"#))
            .await
            .is_ok()
    );
}

/// A server over HTTP with one session, which it forgets when it is told to.
#[derive(Default)]
struct Forgetful {
    known: Mutex<Option<String>>,
    opened: AtomicUsize,
    calls: AtomicUsize,
}

/// Serves, and refuses requests in an unknown session so.
async fn serve(server: Arc<Forgetful>, refusal: (StatusCode, &'static str)) -> String {
    let app = axum::Router::new().fallback(move |headers: HeaderMap, body: String| {
        let server = Arc::clone(&server);
        async move {
            let Ok(message) = serde_json::from_str::<Value>(&body) else {
                return StatusCode::METHOD_NOT_ALLOWED.into_response();
            };
            let session = headers.get("mcp-session-id").map(|id| id.to_str().expect("text").to_owned());
            let id = message["id"].clone();
            let answer = |result: Value| axum::Json(json!({"jsonrpc": "2.0", "id": id, "result": result}));
            if message["method"] == "initialize" {
                let session = format!("s{}", server.opened.fetch_add(1, Ordering::Relaxed));
                *server.known.lock().expect("no panic") = Some(session.clone());
                let info = json!({"name": "forgetful", "version": "1"});
                let begun = json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info});
                return ([("mcp-session-id", session)], answer(begun)).into_response();
            }
            if session.is_none() || session != *server.known.lock().expect("no panic") {
                let kind = if refusal.1.starts_with('{') { "application/json" } else { "text/plain" };
                return (refusal.0, [(header::CONTENT_TYPE, kind)], refusal.1).into_response();
            }
            match message["method"].as_str() {
                Some("tools/list") => answer(json!({"tools": [declared("one")]})).into_response(),
                Some("tools/call") => {
                    let calls = server.calls.fetch_add(1, Ordering::Relaxed) + 1;
                    answer(json!({"content": [{"type": "text", "text": calls.to_string()}]})).into_response()
                }
                _ => StatusCode::ACCEPTED.into_response(),
            }
        }
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("bound");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, app).await });
    format!("http://{address}/mcp")
}

#[tokio::test]
async fn a_lost_session_is_opened_again_in_whatever_words() {
    const NO_VALID: &str = r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}"#;
    const NOT_FOUND: &str =
        r#"{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}"#;
    const NOT_INITIALIZED: &str = r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Server not initialized"},"id":null}"#;
    for refusal in [
        (StatusCode::BAD_REQUEST, NO_VALID),
        (StatusCode::NOT_FOUND, NOT_FOUND),
        (StatusCode::NOT_FOUND, ""),
        (StatusCode::BAD_REQUEST, NOT_INITIALIZED),
        (StatusCode::BAD_REQUEST, "Invalid session ID"),
        (StatusCode::BAD_REQUEST, "Mcp-Session-Id not found"),
        (StatusCode::UNAUTHORIZED, "Unauthorized: Session not found"),
        (StatusCode::GONE, ""),
    ] {
        let server = Arc::<Forgetful>::default();
        let url = serve(Arc::clone(&server), refusal).await;
        let session = session(McpClient::url(url).connect().await.expect("an import")).await;
        for call in 1..=3 {
            let arguments = json!({"text": call.to_string()}).to_string();
            let response = session.call(ToolCall::new("", "one", arguments)).await;
            assert!(response.is_ok(), "{refusal:?} {call}: {response:?}");
            *server.known.lock().expect("no panic") = None;
        }
        assert_eq!(
            (
                server.opened.load(Ordering::Relaxed),
                server.calls.load(Ordering::Relaxed)
            ),
            (3, 3),
            "{refusal:?}"
        );
    }
}

#[tokio::test]
async fn a_refused_call_opens_no_session() {
    let server = Arc::<Forgetful>::default();
    let url = serve(
        Arc::clone(&server),
        (StatusCode::BAD_REQUEST, "the text is too long"),
    )
    .await;
    let session = session(McpClient::url(url).connect().await.expect("an import")).await;
    *server.known.lock().expect("no panic") = None;
    assert!(!session.call(ToolCall::new("", "one", "{}")).await.is_ok());
    assert_eq!(server.opened.load(Ordering::Relaxed), 1);
}
