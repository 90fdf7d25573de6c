//! Cancellations that come before their call, at each moment of its way, and after its answer.

use super::support::{LineClient, tools, until};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, Response, StatusCode};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task;
use tokio::time::timeout;
use tool_adapters::mcp::Server;
use tool_core::{RunContext, Runtime, ToolContext, UserData, tool};
use tower::ServiceExt;

/// The steps of the runtime after a call at which it is cancelled, each in a test of its own. The call is on its way for fewer.
const MOMENTS: usize = 40;

/// Report progress, and wait.
#[tool(timeout = "60s")]
async fn report(ctx: &RunContext) {
    task::yield_now().await;
    ctx.update("begun");
    std::future::pending::<()>().await;
}

/// Delete a note, if the user agrees.
#[tool(category = "action", confirm)]
async fn delete(id: u32) -> u32 {
    id
}

/// The beginning and the end of a call.
#[derive(Default)]
struct CallMarks {
    begun: Notify,
    ended: Notify,
}

/// Marks the end of a call when it is dropped.
struct MarkEnd(Arc<CallMarks>);

impl Drop for MarkEnd {
    fn drop(&mut self) {
        self.0.ended.notify_one();
    }
}

/// Empty the archive, if the user agrees, which takes long.
#[tool(category = "action", confirm, timeout = "10m")]
async fn empty(#[context] UserData(marks): UserData<CallMarks>) {
    let _end = MarkEnd(Arc::clone(&marks));
    marks.begun.notify_one();
    std::future::pending::<()>().await;
}

fn runtime() -> Runtime {
    let tools = ToolContext::builder()
        .with(report)
        .with(delete)
        .with(empty)
        .build();
    let runtime = Runtime::builder(tools.expect("sound tools")).policy(Server::policy());
    runtime.build().expect("a runtime")
}

fn call(id: u64, tool: &str, arguments: &Value) -> Value {
    let params =
        json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": "progress"}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

fn add() -> Value {
    call(7, "add", &json!({"a": 1, "b": 2}))
}

fn cancellation(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
}

/// A session over HTTP.
struct HttpSession {
    app: Router,
    id: String,
}

impl HttpSession {
    async fn open(runtime: Runtime) -> Self {
        let info = json!({"name": "test", "version": "1"});
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
        let mut session = Self {
            app: Server::new(runtime).router(),
            id: String::new(),
        };
        let opening = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let opened = session.post(&opening).await;
        let id = opened.headers()["mcp-session-id"].to_str();
        id.expect("a text").clone_into(&mut session.id);
        session
    }

    async fn post(&self, message: &Value) -> Response<Body> {
        let mut request = Request::post("/mcp")
            .header("host", "localhost")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        if !self.id.is_empty() {
            request = request.header("mcp-session-id", &self.id);
            request = request.header("mcp-protocol-version", "2025-11-25");
        }
        let request = request.body(Body::from(message.to_string()));
        let answer = self.app.clone().oneshot(request.expect("a request"));
        answer.await.expect("an answer")
    }

    /// Posts a message, and returns the text of its answer once it has ended.
    async fn ask(&self, message: &Value) -> String {
        let answer = self.post(message).await;
        assert_eq!(answer.status(), StatusCode::OK);
        let body = to_bytes(answer.into_body(), 1 << 20).await;
        String::from_utf8(body.expect("a body").to_vec()).expect("a text")
    }
}

async fn pass(moments: usize) {
    for _ in 0..moments {
        task::yield_now().await;
    }
}

// T23
#[tokio::test]
async fn cancellation_before_its_call_on_lines_is_ignored() {
    let runtime = Runtime::builder(tools()).build().expect("a runtime");
    let mut client = LineClient::initialized(&Server::new(runtime), json!({})).await;
    client.send(&cancellation(7)).await;
    let answer = client.call("add", json!({"a": 1, "b": 2})).await;
    assert_eq!(answer["result"]["content"][0]["text"], "3", "{answer}");
}

// T23
#[tokio::test]
async fn cancellation_before_its_call_over_http_is_ignored() {
    let runtime = Runtime::builder(tools()).build().expect("a runtime");
    let session = HttpSession::open(runtime).await;
    let cancelled = session.post(&cancellation(7)).await;
    assert_eq!(cancelled.status(), StatusCode::ACCEPTED);
    let answer = session.ask(&add()).await;
    assert!(answer.contains(r#""text":"3""#), "{answer}");
}

// T23
#[tokio::test]
async fn no_moment_of_a_call_on_lines_loses_its_cancellation() {
    for moment in 0..MOMENTS {
        let runtime = runtime();
        let server = Server::new(runtime.clone());
        let mut client = LineClient::initialized(&server, json!({})).await;
        client.send(&call(7, "report", &json!({}))).await;
        pass(moment).await;
        client.send(&cancellation(7)).await;
        until(async || runtime.metrics().tools.contains_key("report")).await;
        client.request(json!("last"), "ping", json!({})).await;
        let answered = client.received.iter().any(|line| line.contains("\"id\":7"));
        assert!(!answered, "{moment}: {:?}", client.received);
    }
}

// T23: rmcp takes the call over once it needs an approval.
#[tokio::test]
async fn no_moment_of_an_approval_loses_its_cancellation() {
    let capabilities = json!({"elicitation": {"form": {}}});
    let mut asked = 0;
    for moment in 0..MOMENTS {
        let server = Server::new(runtime());
        let mut client = LineClient::initialized(&server, capabilities.clone()).await;
        client.send(&call(7, "delete", &json!({"id": 3}))).await;
        pass(moment).await;
        client.send(&cancellation(7)).await;
        client.request(json!("last"), "ping", json!({})).await;
        let question = |line: &String| line.contains("elicitation/create");
        if client.received.iter().any(question) {
            asked += 1;
            while !client.received.join("").contains("notifications/cancelled") {
                client.receive().await;
            }
        }
        let answered = client.received.iter().any(|line| line.contains("\"id\":7"));
        assert!(!answered, "{moment}: {:?}", client.received);
    }
    assert!((1..MOMENTS).contains(&asked), "{asked}");
}

// T23
#[tokio::test]
async fn a_call_is_cancelled_after_its_approval() {
    let marks = Arc::<CallMarks>::default();
    let shared = Arc::clone(&marks);
    let server = Server::new(runtime())
        .session(move |builder, _| builder.user_data_shared(Arc::clone(&shared)));
    let capabilities = json!({"elicitation": {"form": {}}});
    let mut client = LineClient::initialized(&server, capabilities).await;
    client.send(&call(7, "empty", &json!({}))).await;
    let question = client.receive().await;
    let accepted = json!({"action": "accept", "content": {}});
    let accepted = json!({"jsonrpc": "2.0", "id": question["id"], "result": accepted});
    client.send(&accepted).await;
    marks.begun.notified().await;

    client.send(&cancellation(7)).await;
    let ended = timeout(Duration::from_secs(20), marks.ended.notified()).await;
    ended.expect("the call ends");
}

// T23
#[tokio::test]
async fn no_moment_of_a_call_over_http_loses_its_cancellation() {
    for moment in 0..MOMENTS {
        let session = HttpSession::open(runtime()).await;
        let cancelled = async {
            pass(moment).await;
            session.post(&cancellation(7)).await
        };
        let waiting = call(7, "report", &json!({}));
        let (answer, cancelled) = tokio::join!(session.ask(&waiting), cancelled);
        assert_eq!(cancelled.status(), StatusCode::ACCEPTED);
        let answered = answer.contains("\"result\"") || answer.contains("\"error\"");
        assert!(!answered, "{moment}: {answer}");
    }
}

// T23
#[tokio::test]
async fn cancellation_after_its_answer_on_lines_is_ignored() {
    let runtime = Runtime::builder(tools()).build().expect("a runtime");
    let mut client = LineClient::initialized(&Server::new(runtime), json!({})).await;
    for _ in 0..2 {
        let answer = client.call("add", json!({"a": 1, "b": 2})).await;
        assert_eq!(answer["result"]["content"][0]["text"], "3", "{answer}");
        client.send(&cancellation(7)).await;
    }
}

// T23
#[tokio::test]
async fn cancellation_after_its_answer_over_http_is_ignored() {
    let runtime = Runtime::builder(tools()).build().expect("a runtime");
    let session = HttpSession::open(runtime).await;
    for _ in 0..2 {
        let answer = session.ask(&add()).await;
        assert!(answer.contains(r#""text":"3""#), "{answer}");
        let cancelled = session.post(&cancellation(7)).await;
        assert_eq!(cancelled.status(), StatusCode::ACCEPTED);
    }
}
