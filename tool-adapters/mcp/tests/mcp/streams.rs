//! The answers to calls of the client over HTTP, in all the ways in which servers send them.

use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;
use tool_adapters::mcp::{ImportedToolset, McpClient, ServerChange};
use tool_core::{Mode, RunContext, Runtime, ToolCall, ToolContext, ToolResponse};

const TOOLS: [&str; 7] = [
    "plain", "told", "resumed", "broken", "expired", "later", "other",
];

#[derive(Default)]
struct Peer {
    sessions: AtomicUsize,
    /// Sessions after the first are opened once this has room.
    may_open: Option<Semaphore>,
    /// True once the tools have other descriptions.
    has_changed: AtomicBool,
    /// True once the first session is not known any more.
    has_forgotten: AtomicBool,
    subscribed: AtomicUsize,
    calls: AtomicUsize,
    resumed: AtomicUsize,
    /// The requests for the rest of a stream that fail, and their status.
    faults: AtomicUsize,
    fault: AtomicU16,
    /// The times that the rest of a stream ends without the answer.
    ends: AtomicUsize,
    /// The stream of the session.
    common: Mutex<Option<UnboundedSender<String>>>,
}

fn event(message: &Value) -> String {
    format!("data: {message}\n\n")
}

fn result(id: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": "done"}]}})
}

fn events(text: String) -> Response {
    ([(header::CONTENT_TYPE, "text/event-stream")], text).into_response()
}

fn forever(messages: UnboundedReceiver<String>) -> Response {
    let messages = stream::unfold(messages, async |mut messages| {
        Some((messages.recv().await?, messages))
    });
    let body = axum::body::Body::from_stream(messages.map(Ok::<_, Infallible>));
    ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
}

async fn answer(State(peer): State<Arc<Peer>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    if parts.method == Method::GET {
        // The rest of a call's stream, whose event is its id, or the stream of the session.
        if let Some(event_id) = parts.headers.get("last-event-id") {
            peer.resumed.fetch_add(1, Ordering::Relaxed);
            let is_left = |faults: usize| faults.checked_sub(1);
            let fault = (peer.faults).fetch_update(Ordering::Relaxed, Ordering::Relaxed, is_left);
            if fault.is_ok() {
                let status = StatusCode::from_u16(peer.fault.load(Ordering::Relaxed));
                return status.expect("a status").into_response();
            }
            let id = serde_json::from_slice::<Value>(event_id.as_bytes());
            let id = id.expect("the id of a call");
            let ends = (peer.ends).fetch_update(Ordering::Relaxed, Ordering::Relaxed, is_left);
            if ends.is_ok() {
                return events(format!("id: {id}\nretry: 1\ndata:\n\n"));
            }
            return events(event(&result(&id)));
        }
        let session = parts.headers.get("mcp-session-id");
        let is_first = session.is_some_and(|session| session == "s0");
        if is_first && peer.has_forgotten.load(Ordering::Relaxed) {
            return StatusCode::NOT_FOUND.into_response();
        }
        let (sender, messages) = unbounded_channel();
        *peer.common.lock().expect("the stream") = Some(sender);
        return forever(messages);
    }
    let body = axum::body::to_bytes(body, 1 << 20).await.expect("a body");
    let Ok(message) = serde_json::from_slice::<Value>(&body) else {
        return StatusCode::OK.into_response();
    };
    let session = parts.headers.get("mcp-session-id");
    if peer.has_forgotten.load(Ordering::Relaxed) && session.is_some_and(|session| session == "s0")
    {
        return StatusCode::NOT_FOUND.into_response();
    }
    let answer = |result: Value| json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    match message["method"].as_str().unwrap_or_default() {
        "initialize" => {
            let opened = peer.sessions.fetch_add(1, Ordering::Relaxed);
            if let Some(may_open) = peer.may_open.as_ref().filter(|_| opened > 0) {
                may_open.acquire().await.expect("open").forget();
            }
            let session = format!("s{opened}");
            let info = json!({"name": "peer", "version": "1"});
            let capabilities = json!({"tools": {}, "resources": {"subscribe": true}});
            let result = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info});
            ([("mcp-session-id", session)], axum::Json(answer(result))).into_response()
        }
        "tools/list" => {
            let has_changed = peer.has_changed.load(Ordering::Relaxed);
            let text = if has_changed { "Another." } else { "It." };
            let schema = json!({"type": "object"});
            let tool = |name| json!({"name": name, "description": text, "inputSchema": schema});
            axum::Json(answer(json!({"tools": TOOLS.map(tool)}))).into_response()
        }
        "resources/list" => axum::Json(answer(json!({"resources": []}))).into_response(),
        "resources/templates/list" => {
            axum::Json(answer(json!({"resourceTemplates": []}))).into_response()
        }
        "resources/read" => {
            let contents = json!([{"uri": "a:x", "text": "x"}]);
            axum::Json(answer(json!({"contents": contents}))).into_response()
        }
        "resources/subscribe" => {
            peer.subscribed.fetch_add(1, Ordering::Relaxed);
            let session = parts.headers["mcp-session-id"].to_str().expect("a text");
            if message["params"]["uri"] == "a:refused" && session != "s0" {
                let error = json!({"code": -32602, "message": "no such resource"});
                let id = &message["id"];
                return axum::Json(json!({"jsonrpc": "2.0", "id": id, "error": error}))
                    .into_response();
            }
            axum::Json(answer(json!({}))).into_response()
        }
        "tools/call" => {
            peer.calls.fetch_add(1, Ordering::Relaxed);
            answer_call(
                &peer,
                &message,
                parts.headers["mcp-session-id"].to_str().expect("a text"),
            )
        }
        _ => StatusCode::ACCEPTED.into_response(),
    }
}

fn answer_call(peer: &Peer, message: &Value, session: &str) -> Response {
    let (id, token) = (&message["id"], &message["params"]["_meta"]["progressToken"]);
    match message["params"]["name"].as_str().expect("a name") {
        "told" => {
            let update = |n: u32| {
                let params =
                    json!({"progressToken": token, "progress": n, "message": format!("step {n}")});
                event(
                    &json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}),
                )
            };
            events((1..=20).map(update).chain([event(&result(id))]).collect())
        }
        "resumed" => events(format!("id: {id}\nretry: 1\ndata:\n\n")),
        "broken" => events("data:\n\n".to_owned()),
        "expired" if session == "s0" => StatusCode::NOT_FOUND.into_response(),
        "later" => {
            let common = peer.common.lock().expect("the stream");
            common
                .as_ref()
                .expect("a stream")
                .send(event(&result(id)))
                .expect("a client");
            StatusCode::ACCEPTED.into_response()
        }
        "other" => axum::Json(result(&json!(1))).into_response(),
        _ => axum::Json(result(id)).into_response(),
    }
}

async fn connect() -> (Arc<Peer>, ToolContext) {
    let (peer, imported) = import(Peer::default()).await;
    let tools = ToolContext::builder().with(imported).build();
    (peer, tools.expect("tools"))
}

async fn import(peer: Peer) -> (Arc<Peer>, Arc<ImportedToolset>) {
    let peer = Arc::new(peer);
    let app = axum::Router::new()
        .fallback(answer)
        .with_state(Arc::clone(&peer));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("an address");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    tokio::spawn(async move { axum::serve(listener, app).await });
    let imported = McpClient::url(url)
        .name("peer")
        .connect()
        .await
        .expect("an import");
    (peer, Arc::new(imported))
}

fn context(imported: &Arc<ImportedToolset>) -> ToolContext {
    let tools = ToolContext::builder().with(Arc::clone(imported)).build();
    tools.expect("tools")
}

async fn call(tools: &ToolContext, tool: &str) -> ToolResponse {
    tools.call(tool, "{}", &RunContext::detached()).await
}

fn assert_done(response: &ToolResponse) {
    assert!(
        response.is_ok() && format!("{response:?}").contains("done"),
        "{response:?}"
    );
}

#[tokio::test]
async fn updates_in_a_stream_come_before_its_answer() {
    let (_peer, tools) = connect().await;
    let updates = Arc::<Mutex<Vec<String>>>::default();
    let seen = Arc::clone(&updates);
    let call = ToolCall::new("1", "told", "{}")
        .on_update(move |update| seen.lock().expect("updates").push(update.message.clone()));
    let session = Runtime::builder(tools)
        .build()
        .expect("a runtime")
        .session("s", Mode::Text)
        .await;
    assert_done(&session.expect("a session").call(call).await);
    let expected = (1..=20).map(|n| format!("step {n}")).collect::<Vec<_>>();
    assert_eq!(*updates.lock().expect("updates"), expected);
}

#[tokio::test]
async fn a_stream_that_ends_early_is_requested_again() {
    let (peer, tools) = connect().await;
    assert_done(&call(&tools, "resumed").await);
    let counts = (
        peer.calls.load(Ordering::Relaxed),
        peer.resumed.load(Ordering::Relaxed),
    );
    assert_eq!(counts, (1, 1), "the call was made once");
}

#[tokio::test]
async fn a_stream_is_requested_again_after_a_fault() {
    let (peer, tools) = connect().await;
    peer.faults.store(2, Ordering::Relaxed);
    peer.fault.store(503, Ordering::Relaxed);
    assert_done(&call(&tools, "resumed").await);
    assert_eq!(peer.resumed.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn a_stream_may_end_often_if_it_brings_events() {
    let (peer, tools) = connect().await;
    peer.ends.store(7, Ordering::Relaxed);
    assert_done(&call(&tools, "resumed").await);
    assert_eq!(peer.resumed.load(Ordering::Relaxed), 8);
}

/// Waits for the stream of the session.
async fn common_stream(peer: &Peer) -> UnboundedSender<String> {
    let common = || peer.common.lock().expect("the stream");
    super::support::until(async || common().is_some()).await;
    let sender = common().take();
    sender.expect("a stream")
}

/// Ends a stream, which is requested again at once.
fn end_stream(stream: UnboundedSender<String>) {
    let retry = "retry: 1\ndata:\n\n".to_owned();
    stream.send(retry).expect("a client");
    drop(stream);
}

#[tokio::test]
async fn a_lost_stream_of_a_session_may_have_had_changes() {
    let (peer, imported) = import(Peer::default()).await;
    let mut changes = imported.changes();
    end_stream(common_stream(&peer).await);
    let change = timeout(Duration::from_secs(20), changes.next()).await;
    assert_eq!(change, Ok(Some(ServerChange::Missed)));
    let change = timeout(Duration::from_secs(20), changes.next()).await;
    assert_eq!(change, Ok(Some(ServerChange::Tools)));
}

// T34
#[tokio::test]
async fn a_stream_of_an_unknown_session_ends_its_connection() {
    let (peer, imported) = import(Peer::default()).await;
    let stream = common_stream(&peer).await;
    peer.has_forgotten.store(true, Ordering::Relaxed);
    end_stream(stream);
    super::support::until(async || !imported.is_connected()).await;
}

#[tokio::test]
async fn a_refused_stream_is_not_requested_again() {
    for status in [401, 404, 405] {
        let (peer, tools) = connect().await;
        peer.faults.store(usize::MAX, Ordering::Relaxed);
        peer.fault.store(status, Ordering::Relaxed);
        let response = call(&tools, "resumed").await;
        assert!(response.error().is_some(), "{response:?}");
        assert_eq!(peer.resumed.load(Ordering::Relaxed), 1, "{status}");
    }
}

#[tokio::test]
async fn a_stream_without_an_answer_fails_its_call() {
    let (peer, tools) = connect().await;
    let response = call(&tools, "broken").await;
    assert!(
        response
            .error()
            .is_some_and(|error| error.message.contains("lost")),
        "{response:?}"
    );
    assert_done(&call(&tools, "plain").await);
    assert_eq!(peer.calls.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn an_expired_session_is_opened_again() {
    let (peer, tools) = connect().await;
    assert_done(&call(&tools, "expired").await);
    assert_eq!(peer.sessions.load(Ordering::Relaxed), 2);
    // The next call is made in the new session at once.
    let before = peer.calls.load(Ordering::Relaxed);
    assert_done(&call(&tools, "expired").await);
    assert_eq!(peer.calls.load(Ordering::Relaxed), before + 1);
}

// T25
#[tokio::test]
async fn a_new_session_is_checked_before_a_call() {
    let (peer, tools) = connect().await;
    peer.has_changed.store(true, Ordering::Relaxed);
    let response = call(&tools, "expired").await;
    assert!(
        response
            .error()
            .is_some_and(|error| error.message.contains("has changed")),
        "{response:?}"
    );
    assert_eq!(peer.calls.load(Ordering::Relaxed), 1, "in the old session");
}

/// Imports from a server that has lost its session since.
async fn import_and_forget() -> (Arc<Peer>, Arc<ImportedToolset>) {
    let (peer, imported) = import(Peer::default()).await;
    peer.has_forgotten.store(true, Ordering::Relaxed);
    (peer, imported)
}

// T34
#[tokio::test]
async fn a_subscription_without_its_session_is_made_in_another() {
    let (peer, imported) = import_and_forget().await;
    imported.subscribe("a:x").await.expect("a subscription");
    assert_eq!(peer.subscribed.load(Ordering::Relaxed), 1);
}

// T34
#[tokio::test]
async fn a_list_without_its_session_is_requested_in_another() {
    let (peer, imported) = import_and_forget().await;
    imported.refresh().await.expect("a list");
    assert_eq!(peer.sessions.load(Ordering::Relaxed), 2);
}

// T34
#[tokio::test]
async fn a_resource_without_its_session_is_read_in_another() {
    let (_peer, imported) = import_and_forget().await;
    let contents = imported.read_resource("a:x").await.expect("contents");
    assert_eq!(contents[0].as_text(), Some("x"));
}

#[tokio::test]
async fn a_new_session_renews_its_subscriptions() {
    let (peer, imported) = import(Peer::default()).await;
    imported.subscribe("a:x").await.expect("a subscription");
    assert_done(&call(&context(&imported), "expired").await);
    super::support::until(async || peer.subscribed.load(Ordering::Relaxed) == 2).await;
}

#[tokio::test]
async fn a_refused_subscription_costs_no_other_one() {
    let (peer, imported) = import(Peer::default()).await;
    for uri in ["a:1", "a:refused", "a:z"] {
        imported.subscribe(uri).await.expect("a subscription");
    }
    assert_eq!(peer.subscribed.load(Ordering::Relaxed), 3);
    assert_done(&call(&context(&imported), "expired").await);
    super::support::until(async || peer.subscribed.load(Ordering::Relaxed) == 6).await;
}

// T25
#[tokio::test]
async fn a_new_connection_outlives_the_call_that_began_it() {
    let peer = Peer {
        may_open: Some(Semaphore::new(0)),
        ..Peer::default()
    };
    let (peer, imported) = import(peer).await;
    let tools = Arc::new(context(&imported));
    let own = Arc::clone(&tools);
    let given_up = tokio::spawn(async move { call(&own, "expired").await });
    super::support::until(async || peer.sessions.load(Ordering::Relaxed) == 2).await;
    given_up.abort();
    _ = given_up.await;

    peer.may_open.as_ref().expect("a limit").add_permits(10);
    assert_done(&call(&tools, "plain").await);
    assert_eq!(peer.sessions.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn an_answer_in_the_stream_of_the_session_counts() {
    let (peer, tools) = connect().await;
    super::support::until(async || peer.common.lock().expect("the stream").is_some()).await;
    assert_done(&call(&tools, "later").await);
}

#[tokio::test]
async fn an_answer_to_another_request_is_refused() {
    let (_peer, tools) = connect().await;
    let response = call(&tools, "other").await;
    assert!(
        response
            .error()
            .is_some_and(|error| error.message.contains("cannot be read")),
        "{response:?}"
    );
}
