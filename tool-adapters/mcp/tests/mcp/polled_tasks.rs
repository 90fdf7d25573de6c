//! Tools that a client runs as tasks: the requests for a task, and what becomes of those that fail.

use super::scripted::ScriptedServer;
use super::support::until;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpListener;
use tool_adapters::mcp::{McpClient, ServerChange};
use tool_core::{ErrorKind, RunContext, ToolContext, ToolResponse};

/// A server over HTTP whose tool `work` runs as a task.
#[derive(Default)]
struct TaskServer {
    /// The status with which requests of a method fail, and how many of them.
    faults: Mutex<HashMap<&'static str, (StatusCode, usize)>>,
    /// The sessions that are forgotten after one request for the task each.
    short_sessions: usize,
    sessions: AtomicUsize,
    /// The requests for the task in the last session.
    polls: AtomicUsize,
    calls: AtomicUsize,
    cancelled: AtomicUsize,
}

impl TaskServer {
    /// Returns the status with which a request fails.
    fn fault(&self, method: &str) -> Option<StatusCode> {
        let mut faults = self.faults.lock().expect("no panic");
        let (status, left) = faults.get_mut(method)?;
        *left = left.checked_sub(1)?;
        Some(*status)
    }

    /// Returns the state of the task, or the end of a short session.
    fn state(&self) -> Result<Value, StatusCode> {
        if self.sessions.load(Ordering::SeqCst) > self.short_sessions {
            return Ok(json!({"taskId": "t-1", "status": "completed"}));
        }
        if self.polls.fetch_add(1, Ordering::SeqCst) > 0 {
            return Err(StatusCode::NOT_FOUND);
        }
        Ok(json!({"taskId": "t-1", "status": "working", "pollInterval": 20}))
    }

    fn result(&self, method: &str) -> Result<Value, StatusCode> {
        Ok(match method {
            "initialize" => {
                self.sessions.fetch_add(1, Ordering::SeqCst);
                self.polls.store(0, Ordering::SeqCst);
                let info = json!({"name": "tasks", "version": "1"});
                json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info})
            }
            "tools/list" => {
                let schema = json!({"type": "object"});
                let execution = json!({"taskSupport": "required"});
                json!({"tools": [{"name": "work", "inputSchema": schema, "execution": execution}]})
            }
            "tools/call" => {
                self.calls.fetch_add(1, Ordering::SeqCst);
                json!({"task": {"taskId": "t-1", "status": "working", "pollInterval": 20}})
            }
            "tasks/get" => self.state()?,
            "tasks/result" => json!({"content": [{"type": "text", "text": "done"}]}),
            "tasks/cancel" => {
                self.cancelled.fetch_add(1, Ordering::SeqCst);
                json!({})
            }
            _ => return Err(StatusCode::ACCEPTED),
        })
    }
}

async fn answer(State(server): State<Arc<TaskServer>>, request: Request) -> Response {
    if request.method() != Method::POST {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    let body = axum::body::to_bytes(request.into_body(), 1 << 20).await;
    let message = serde_json::from_slice::<Value>(&body.expect("a body")).expect("JSON");
    let method = message["method"].as_str().unwrap_or_default();
    if let Some(status) = server.fault(method) {
        return status.into_response();
    }
    match server.result(method) {
        Ok(result) => {
            let session = format!("s{}", server.sessions.load(Ordering::SeqCst));
            let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
            ([("mcp-session-id", session)], axum::Json(answer)).into_response()
        }
        Err(status) => status.into_response(),
    }
}

/// Returns the tool of a server.
async fn import(server: &Arc<TaskServer>) -> ToolContext {
    let app = axum::Router::new()
        .fallback(answer)
        .with_state(Arc::clone(server));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("an address");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    tokio::spawn(async move { axum::serve(listener, app).await });
    // The clock of a test stands still, so that a limit would be over at once.
    let client = McpClient::url(url)
        .name("tasks")
        .timeout(Duration::from_secs(1_000_000));
    let imported = client.connect().await.expect("an import");
    let tools = ToolContext::builder().with(imported).build();
    tools.expect("tools")
}

async fn call(tools: &ToolContext) -> ToolResponse {
    tools.call("work", "{}", &RunContext::detached()).await
}

#[tokio::test(start_paused = true)]
async fn a_task_goes_on_after_failed_requests_for_it() {
    for status in [429, 502, 503] {
        let status = StatusCode::from_u16(status).expect("a status");
        let server = Arc::<TaskServer>::default();
        let faults = [("tasks/get", (status, 2)), ("tasks/result", (status, 1))];
        server.faults.lock().expect("no panic").extend(faults);

        let tools = import(&server).await;
        let response = call(&tools).await;
        assert!(response.is_ok(), "{status}: {response:?}");
        let cancelled = server.cancelled.load(Ordering::SeqCst);
        assert_eq!(cancelled, 0, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_cannot_be_requested_is_cancelled() {
    let server = Arc::<TaskServer>::default();
    let faults = [("tasks/get", (StatusCode::TOO_MANY_REQUESTS, usize::MAX))];
    server.faults.lock().expect("no panic").extend(faults);

    // The task is cancelled over the connection of its tools.
    let tools = import(&server).await;
    let response = call(&tools).await;
    let kind = response.error().map(|error| error.kind);
    assert_eq!(kind, Some(ErrorKind::Unknown), "{response:?}");
    assert_eq!(server.calls.load(Ordering::SeqCst), 1);
    until(async || server.cancelled.load(Ordering::SeqCst) == 1).await;
    drop(tools);
}

// G5
#[tokio::test(start_paused = true)]
async fn a_task_outlives_any_number_of_sessions() {
    let server = Arc::new(TaskServer {
        short_sessions: 8,
        ..TaskServer::default()
    });
    let response = call(&import(&server).await).await;
    assert!(response.is_ok(), "{response:?}");
    assert_eq!(server.sessions.load(Ordering::SeqCst), 9);
    assert_eq!(server.calls.load(Ordering::SeqCst), 1);
}

// G5
#[tokio::test(start_paused = true)]
async fn a_task_that_is_refused_for_its_key_did_not_begin() {
    let server = Arc::<TaskServer>::default();
    let faults = [("tools/call", (StatusCode::UNAUTHORIZED, usize::MAX))];
    server.faults.lock().expect("no panic").extend(faults);

    let response = call(&import(&server).await).await;
    let kind = response.error().map(|error| error.kind);
    assert_eq!(kind, Some(ErrorKind::Permanent), "{response:?}");
}

#[tokio::test]
async fn a_tool_that_needs_no_task_any_more_is_called_plainly() {
    let schema = json!({"type": "object"});
    let needs_task =
        json!({"name": "work", "inputSchema": schema, "execution": {"taskSupport": "required"}});
    let lists = json!({"tools/list": {"tools": [needs_task]}});
    let (mut server, imported) = ScriptedServer::import_lists(lists, |client| client).await;
    let mut changes = imported.changes();
    server.lists["tools/list"] = json!({"tools": [{"name": "work", "inputSchema": schema}]});
    server
        .notify("notifications/tools/list_changed", json!({}))
        .await;
    tokio::select! {
        change = changes.next() => assert_eq!(change, Some(ServerChange::Tools)),
        message = server.receive() => panic!("{message}"),
    }

    let tools = ToolContext::builder().with(imported).build();
    let tools = tools.expect("tools");
    let ctx = RunContext::detached();
    let serve = async {
        let call = server.receive_method("tools/call").await;
        assert_eq!(call["params"].get("task"), None, "{call}");
        server.finish(&call, "done").await;
    };
    let (response, ()) = tokio::join!(tools.call("work", "{}", &ctx), serve);
    assert!(response.is_ok(), "{response:?}");
}
