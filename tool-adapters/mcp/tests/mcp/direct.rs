//! Calls over HTTP that are answered at once, and those that are handed to rmcp's session.

use super::http::{EventReader, HttpClient, serve};
use super::support::{server, stateless, tools, until};
use axum::body::Body;
use axum::http::Request;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tool_adapters::mcp::Server;
use tool_core::session::HookedCall;
use tool_core::{
    Category, FunctionTool, Policy, RawTool, RunContext, Runtime, ToolContext, ToolError,
    ToolResponse,
};
use tower::ServiceExt;

fn call(tool: &str, arguments: &Value, more: &Value) -> Value {
    let mut params = json!({"name": tool, "arguments": arguments});
    params
        .as_object_mut()
        .expect("an object")
        .extend(more.as_object().cloned().unwrap_or_default());
    json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params})
}

async fn session(url: &str) -> HttpClient {
    HttpClient::new(url)
        .initialize(&json!({"elicitation": {}}))
        .await
        .expect("a session")
}

/// Returns a client of the newest revision that calls a tool.
fn sessionless(url: &str, tool: &str) -> HttpClient {
    let client = HttpClient::new(url).with("mcp-protocol-version", "2026-07-28");
    client
        .with("mcp-method", "tools/call")
        .with("mcp-name", tool)
}

/// Returns true if an answer is one JSON message, and the message.
async fn read(answer: reqwest::Response) -> (bool, Value) {
    assert_eq!(answer.status(), StatusCode::OK);
    let is_json = answer.headers()["content-type"] == "application/json";
    (
        is_json,
        EventReader::new(answer).next().await.expect("an answer"),
    )
}

#[tokio::test]
async fn answers_alike_at_once_and_in_events() {
    let url = serve(&server()).await;
    let calls = [
        ("add", json!({"a": 1, "b": 2})),
        ("sum", json!({"a": 1, "b": 2})),
        ("draw", json!({})),
        ("work", json!({})),
        ("fall", json!({})),
        ("add", json!({"a": "x", "c": 1})),
        ("ad", json!({})),
        ("hum", json!({})),
    ];
    for (tool, arguments) in &calls {
        let meta = json!({"_meta": stateless(&json!({}))});
        for (client, more) in [
            (session(&url).await, json!({})),
            (sessionless(&url, tool), meta),
        ] {
            let call = call(tool, arguments, &more);
            // A ranked list of types is left to rmcp.
            let ranked = client.with("accept", "text/event-stream;q=1, application/json");
            let (is_other_json, in_events) = read(ranked.post(&call).await).await;
            let (is_json, at_once) = read(client.post(&call).await).await;
            assert_eq!((is_json, is_other_json), (true, false), "{tool}");
            assert_eq!(
                (&at_once, &at_once["id"]),
                (&in_events, &json!(7)),
                "{tool}"
            );
        }
    }
}

#[tokio::test]
async fn opens_and_lists_alike_at_once_and_in_events() {
    let url = serve(&server().instructions("Add.").announce_tool_changes(true)).await;
    for version in ["2025-11-25", "2025-03-26", "2026-07-28", "1999-01-01"] {
        let info = json!({"name": "test", "version": "1"});
        let params =
            json!({"protocolVersion": version, "capabilities": {"roots": {}}, "clientInfo": info});
        let opening =
            json!({"jsonrpc": "2.0", "id": "x", "method": "initialize", "params": params});
        let mut answers = Vec::new();
        // A ranked list of types is left to rmcp.
        let ranked =
            HttpClient::new(&url).with("accept", "text/event-stream;q=1, application/json");
        for (client, is_json) in [(ranked, false), (HttpClient::new(&url), true)] {
            let opened = client.post(&opening).await;
            let id = opened.headers()["mcp-session-id"]
                .to_str()
                .expect("an id")
                .to_owned();
            let (is_opened_by_json, opened) = read(opened).await;
            let revision = opened["result"]["protocolVersion"]
                .as_str()
                .expect("a revision");
            let client = client
                .with("mcp-session-id", &id)
                .with("mcp-protocol-version", revision);
            let done = client
                .post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
                .await;
            assert_eq!(done.status(), StatusCode::ACCEPTED);
            let list = |cursor| json!({"jsonrpc": "2.0", "id": 8, "method": "tools/list", "params": {"cursor": cursor}});
            let (is_listed_by_json, listed) = read(client.post(&list(Value::Null)).await).await;
            let (_, invalid) = read(client.post(&list(json!("nowhere"))).await).await;
            assert_eq!(
                (is_opened_by_json, is_listed_by_json),
                (is_json, is_json),
                "{opened} {listed}"
            );
            assert!(
                listed["result"]["tools"].is_array() && invalid["error"]["code"] == -32602,
                "{listed} {invalid}"
            );
            answers.push((opened, listed, invalid));
            assert_eq!(
                client
                    .request(Method::DELETE)
                    .send()
                    .await
                    .expect("an answer")
                    .status(),
                StatusCode::NO_CONTENT
            );
            assert_eq!(
                client.post(&list(Value::Null)).await.status(),
                StatusCode::NOT_FOUND
            );
        }
        assert_eq!(answers[0], answers[1]);
    }
}

#[tokio::test]
async fn a_session_that_only_listens_gets_notifications() {
    let server = server().announce_tool_changes(true);
    let client = session(&serve(&server).await).await;
    let mut own = EventReader::new(client.request(Method::GET).send().await.expect("a stream"));
    for _ in 0..20 {
        server.refresh().await;
        assert_eq!(
            own.next().await.expect("a notification")["method"],
            "notifications/tools/list_changed"
        );
    }
}

#[tokio::test]
async fn a_call_that_waits_can_be_cancelled() {
    let runtime = Runtime::builder(tools()).build().expect("a runtime");
    let client = session(&serve(&Server::new(runtime.clone())).await).await;
    let mut waiting = EventReader::new(client.post(&call("wait", &json!({}), &json!({}))).await);
    let (is_json, answer) = read(
        client
            .post(&call("add", &json!({"a": 1, "b": 2}), &json!({})))
            .await,
    )
    .await;
    assert!(
        is_json && answer["result"]["content"][0]["text"] == "3",
        "{answer}"
    );
    assert!(!runtime.metrics().tools.contains_key("wait"), "it runs");
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    assert_eq!(client.post(&cancel).await.status(), StatusCode::ACCEPTED);
    until(async || runtime.metrics().tools.contains_key("wait")).await;
    assert_eq!(runtime.metrics().tools["wait"].calls, 1);
    assert_eq!(
        waiting.next().await,
        None,
        "a cancelled call is not answered"
    );
}

#[tokio::test]
async fn a_call_that_is_handed_over_runs_once() {
    let raw = RawTool {
        name: "pause".into(),
        description: String::new(),
        parameters: json!({"type": "object"}),
    };
    let runs = Arc::new(AtomicUsize::new(0));
    let count = async |runs: &Arc<AtomicUsize>, _: Value, ctx: &RunContext| {
        runs.fetch_add(1, Ordering::Relaxed);
        tokio::task::yield_now().await;
        ctx.update("half");
        tokio::task::yield_now().await;
        Ok::<_, ToolError>(json!("done"))
    };
    let tools = ToolContext::builder()
        .with(FunctionTool::raw_with(raw, Arc::clone(&runs), count))
        .build();
    let client =
        session(&serve(&Server::from_tools(tools.expect("tools")).expect("a server")).await).await;
    for at in 0..10 {
        let call = call(
            "pause",
            &json!({"at": at}),
            &json!({"_meta": {"progressToken": at}}),
        );
        let mut events = EventReader::new(client.post(&call).await);
        let (update, answer) = (
            events.next().await.expect("an update"),
            events.next().await.expect("an answer"),
        );
        assert_eq!(
            (
                &update["params"]["message"],
                &update["params"]["progressToken"]
            ),
            (&json!("half"), &json!(at))
        );
        assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
    }
    assert_eq!(runs.load(Ordering::Relaxed), 10);
}

/// The tool `wait`, which ends once it may or is cancelled.
struct Gate {
    open: Semaphore,
    started: AtomicUsize,
    /// The texts with which it ended.
    ends: Mutex<Vec<&'static str>>,
}

impl Gate {
    fn new() -> (Arc<Self>, ToolContext) {
        let gate = Self {
            open: Semaphore::new(0),
            started: AtomicUsize::new(0),
            ends: Mutex::default(),
        };
        let raw = RawTool {
            name: "wait".into(),
            description: String::new(),
            parameters: json!({"type": "object"}),
        };
        let wait = async |gate: &Arc<Self>, _: Value, ctx: &RunContext| {
            gate.started.fetch_add(1, Ordering::Relaxed);
            let passed = ctx
                .cancellation()
                .run_until_cancelled(gate.open.acquire())
                .await;
            let end = match passed {
                Some(permit) => {
                    permit.expect("an open gate").forget();
                    "done"
                }
                None => "cancelled",
            };
            gate.ends.lock().expect("the ends").push(end);
            Ok::<_, ToolError>(json!(end))
        };
        let gate = Arc::new(gate);
        let tools =
            ToolContext::builder().with(FunctionTool::raw_with(raw, Arc::clone(&gate), wait));
        (gate, tools.build().expect("tools"))
    }

    /// Sends a call, and returns its request once the tool runs.
    async fn start(&self, client: &HttpClient, call: &Value) -> JoinHandle<reqwest::Response> {
        let (client, call, before) = (
            client.clone(),
            call.clone(),
            self.started.load(Ordering::Relaxed),
        );
        let sent = tokio::spawn(async move { client.post(&call).await });
        until(async || self.started.load(Ordering::Relaxed) > before).await;
        sent
    }

    async fn end(&self) -> &'static str {
        until(async || !self.ends.lock().expect("the ends").is_empty()).await;
        self.ends.lock().expect("the ends").remove(0)
    }
}

#[tokio::test]
async fn a_short_wait_is_answered_with_one_message() {
    let (gate, tools) = Gate::new();
    let url = serve(&Server::from_tools(tools).expect("a server")).await;
    let meta = json!({"_meta": stateless(&json!({}))});
    for (client, more) in [
        (session(&url).await, json!({})),
        (sessionless(&url, "wait"), meta),
    ] {
        let call = call("wait", &json!({}), &more);
        // The first call opens the session.
        gate.open.add_permits(1);
        client.post(&call).await;
        let sent = gate.start(&client, &call).await;
        gate.open.add_permits(1);
        let (is_json, answer) = read(sent.await.expect("an answer")).await;
        assert!(
            is_json && answer["result"]["content"][0]["text"] == "done",
            "{answer}"
        );
    }
}

#[tokio::test]
async fn a_cancelled_short_wait_has_no_answer() {
    let (gate, tools) = Gate::new();
    let client = session(&serve(&Server::from_tools(tools).expect("a server")).await).await;
    let sent = gate
        .start(&client, &call("wait", &json!({}), &json!({})))
        .await;
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    assert_eq!(client.post(&cancel).await.status(), StatusCode::ACCEPTED);
    assert_eq!(gate.end().await, "cancelled");
    assert_eq!(
        EventReader::new(sent.await.expect("an answer"))
            .next()
            .await,
        None
    );
}

#[tokio::test]
async fn a_cancelled_call_reaches_the_end_of_its_hooks() {
    let (gate, tools) = Gate::new();
    let ended = Arc::new(AtomicUsize::new(0));
    let of_hook = Arc::clone(&ended);
    // It ends after the second in which an answer may come without a stream.
    let record = async move |_: HookedCall<'_>, _: &mut ToolResponse| {
        sleep(Duration::from_millis(800)).await;
        of_hook.fetch_add(1, Ordering::Relaxed);
    };
    let runtime = Runtime::builder(tools).after(record).build();
    let server = Server::new(runtime.expect("a runtime"));
    let client = session(&serve(&server).await).await;
    let sent = gate
        .start(&client, &call("wait", &json!({}), &json!({})))
        .await;
    sleep(Duration::from_millis(500)).await;
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    client.post(&cancel).await;
    until(async || ended.load(Ordering::Relaxed) == 1).await;
    drop(sent);
}

#[tokio::test]
async fn a_call_in_a_session_outlives_its_connection() {
    let (gate, tools) = Gate::new();
    let client = session(&serve(&Server::from_tools(tools).expect("a server")).await).await;
    gate.start(&client, &call("wait", &json!({}), &json!({})))
        .await
        .abort();
    // A cancellation would come before the answer to a later request over the same address.
    read(
        client
            .post(&json!({"jsonrpc": "2.0", "id": 8, "method": "ping"}))
            .await,
    )
    .await;
    gate.open.add_permits(1);
    assert_eq!(gate.end().await, "done");
}

#[tokio::test]
async fn a_call_without_a_session_ends_with_its_connection() {
    let (gate, tools) = Gate::new();
    let client = sessionless(
        &serve(&Server::from_tools(tools).expect("a server")).await,
        "wait",
    );
    let call = call("wait", &json!({}), &json!({"_meta": stateless(&json!({}))}));
    // The first call opens the session.
    gate.open.add_permits(1);
    client.post(&call).await;
    assert_eq!(gate.end().await, "done");
    gate.start(&client, &call).await.abort();
    assert_eq!(gate.end().await, "cancelled");
}

#[tokio::test]
async fn a_call_that_needs_approval_asks_once() {
    let runtime = Runtime::builder(tools()).build().expect("a runtime");
    let client = session(&serve(&Server::new(runtime.clone())).await).await;
    let mut events = EventReader::new(
        client
            .post(&call("erase", &json!({"what": "disk"}), &json!({})))
            .await,
    );
    let question = events.next().await.expect("a question");
    assert_eq!(question["method"], "elicitation/create");
    let accept = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {}}});
    assert_eq!(client.post(&accept).await.status(), StatusCode::ACCEPTED);
    let answer = events.next().await.expect("an answer");
    assert_eq!(
        answer["result"]["content"][0]["text"], "erased disk",
        "{answer}"
    );
    assert_eq!(
        runtime.metrics().tools["erase"].calls,
        2,
        "it asked, and ran"
    );
}

#[tokio::test]
async fn unusual_requests_are_not_answered_at_once() {
    let url = serve(&server()).await;
    let (client, newest, sum) = (
        session(&url).await,
        sessionless(&url, "add"),
        json!({"a": 1, "b": 2}),
    );
    let (plain, meta) = (json!({}), json!({"_meta": stateless(&json!({}))}));
    for (client, more) in [
        (client.with("accept", "text/event-stream"), &plain),
        (client.with("accept", "application/json"), &plain),
        (client.with("accept", "*/*"), &plain),
        (client.with("mcp-protocol-version", "2025-06-18"), &plain),
        (client.with("mcp-protocol-version", "2025-11-26"), &plain),
        (
            client.clone(),
            &json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2025-11-25"}}),
        ),
        (client.clone(), &json!({"_meta": 7})),
        (client.clone(), &json!({"requestState": "x"})),
        (newest.clone(), &plain),
        (newest.with("mcp-name", "sum"), &meta),
        (newest.with("mcp-method", "tools/list"), &meta),
        (
            HttpClient::new(&url).with("mcp-protocol-version", "2026-07-28"),
            &meta,
        ),
        (HttpClient::new(&url), &meta),
        (HttpClient::new(&url), &plain),
    ] {
        let answer = client.post(&call("add", &sum, more)).await;
        let (status, is_json) = (
            answer.status(),
            answer.headers().get("content-type").cloned(),
        );
        let text = answer.text().await.expect("a text");
        // rmcp refuses the request or answers it in events.
        let is_event = is_json
            .as_ref()
            .is_some_and(|kind| kind == "text/event-stream");
        assert!(
            is_event || !text.contains("\"result\""),
            "{status} {more} {text}"
        );
    }
}

/// Makes 1,000 calls in a session that begins a turn after 50 s without one. Returns the numbers of those that ran and those
/// that were refused.
async fn calls_with_pauses(idle: Duration, pause: impl Fn(u64) -> Duration) -> [u64; 2] {
    let policy = Policy::text().category_budget(Category::Retrieval, Some(30));
    let runtime = Runtime::builder(tools())
        .policy(policy)
        .build()
        .expect("a runtime");
    let app = Server::new(runtime)
        .idle_timeout(idle)
        .turn_after(Duration::from_secs(50))
        .router();
    let post = async |id: &str, message: &Value| {
        let request = Request::post("/mcp")
            .header("host", "localhost")
            .header("content-type", "application/json");
        let request = request.header("accept", "application/json, text/event-stream");
        let headers = [
            ("mcp-session-id", id),
            ("mcp-protocol-version", "2025-11-25"),
        ];
        let headers = headers.into_iter().filter(|_| !id.is_empty());
        let request = headers.fold(request, |request, (name, value)| {
            request.header(name, value)
        });
        let answer = app.clone().oneshot(
            request
                .body(Body::from(message.to_string()))
                .expect("a request"),
        );
        answer.await.expect("an answer")
    };
    let info = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
    let opened = post(
        "",
        &json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}),
    )
    .await;
    let id = opened.headers()["mcp-session-id"]
        .to_str()
        .expect("a text")
        .to_owned();
    let mut answered = [0, 0];
    for at in 0..1_000 {
        let answer = post(&id, &call("add", &json!({"a": at, "b": 1}), &json!({}))).await;
        assert_eq!(answer.status(), StatusCode::OK, "{at}");
        let body = axum::body::to_bytes(answer.into_body(), 1 << 20)
            .await
            .expect("a body");
        answered[usize::from(String::from_utf8_lossy(&body).contains("isError\":true"))] += 1;
        sleep(pause(at)).await;
    }
    answered
}

#[tokio::test(start_paused = true)]
async fn a_session_does_not_end_while_calls_are_made() {
    let answered =
        calls_with_pauses(Duration::from_secs(100), |_| Duration::from_millis(900)).await;
    assert_eq!(answered, [30, 970], "the budget of one turn");
}

#[tokio::test(start_paused = true)]
async fn a_pause_between_calls_begins_a_turn() {
    let pause = |at| Duration::from_millis(if at % 40 == 39 { 60_000 } else { 10 });
    let answered = calls_with_pauses(Duration::from_secs(10 * 3_600), pause).await;
    assert_eq!(answered, [750, 250], "30 of each 40");
}
