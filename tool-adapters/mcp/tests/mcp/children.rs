//! Imports from real processes over their standard streams, and from a real server over HTTP, that answer as servers do in the
//! wild: results that are too large, wrong or of unknown kinds, progress, tasks, and crashes.
#![cfg(unix)]

use super::support::{LineClient, server, until};
use axum::extract::Request;
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, Write};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tool_adapters::mcp::{ImportError, ImportedToolset, McpClient, QuarantineReason};
use tool_core::call::ResultForm;
use tool_core::{
    CancellationToken, Content, ErrorKind, Mode, Progress, RunContext, Runtime, ToolCall,
    ToolContext, ToolResponse, Toolset,
};

/// What the process does, and the file in which it notes its starts and the messages that it gets.
const MODE: &str = "TOOL_ADAPTERS_CHILD";
const FILE: &str = "TOOL_ADAPTERS_CHILD_FILE";

const MIB: usize = 1 << 20;

/// Returns the command of a server.
fn command(mode: &str, file: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", r#"exec "$0" "$@" 3>&1 >&2"#]);
    command.arg(std::env::current_exe().expect("this program"));
    command.args([
        "--ignored",
        "--exact",
        "children::serves",
        "--nocapture",
        "--test-threads=1",
    ]);
    command.env(MODE, mode).env(FILE, file);
    command
}

/// A folder and the file of a server in it.
fn folder() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("notes");
    std::fs::write(&file, "").expect("written");
    (folder, file)
}

fn lines(file: &Path) -> Vec<String> {
    std::fs::read_to_string(file)
        .expect("a file")
        .lines()
        .map(str::to_owned)
        .collect()
}

fn starts(file: &Path) -> usize {
    lines(file)
        .iter()
        .filter(|line| line.starts_with("start "))
        .count()
}

fn process(file: &Path) -> String {
    let lines = lines(file);
    let start = lines
        .iter()
        .rfind(|line| line.starts_with("start "))
        .expect("a start");
    start.trim_start_matches("start ").to_owned()
}

/// Returns true if a process runs. A zombie does not.
fn runs(process: &str) -> bool {
    let output = Command::new("ps")
        .args(["-o", "stat=", "-p", process])
        .output()
        .expect("ps");
    let state = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    !state.is_empty() && !state.starts_with('Z')
}

async fn import(mode: &str, file: &Path) -> ImportedToolset {
    McpClient::command(command(mode, file))
        .name("child")
        .connect()
        .await
        .expect("an import")
}

async fn tools(mode: &str, file: &Path) -> ToolContext {
    ToolContext::builder()
        .with(import(mode, file).await)
        .build()
        .expect("tools")
}

async fn call(tools: &ToolContext, tool: &str) -> ToolResponse {
    tools.call(tool, "{}", &RunContext::detached()).await
}

fn failure(response: &ToolResponse) -> (ErrorKind, &str) {
    let error = response.error().expect("an error");
    (error.kind, &error.message)
}

/// Returns the tools that a server lists.
fn listed(mode: &str, starts: usize) -> Value {
    let object = json!({"type": "object"});
    let items = json!({"type": "object", "properties": {"n": {"type": "integer"}, "text": {"type": "string"}}});
    let output = json!({"type": "object", "properties": {"items": {"type": "array", "items": items}}, "required": ["items"]});
    let plain = [
        "echo", "huge", "deep", "parts", "odd", "slow", "work", "crash", "hidden",
    ];
    let plain = plain
        .iter()
        .filter(|name| mode != "forgetful" || starts == 1 || **name != "echo");
    let mut tools = plain
        .map(|name| json!({"name": name, "inputSchema": object}))
        .collect::<Vec<_>>();
    tools.extend(
        ["big", "wrong", "bare", "shown", "same"]
            .map(|name| json!({"name": name, "inputSchema": object, "outputSchema": output})),
    );
    for (name, more) in [
        (
            "closed",
            json!({"additionalProperties": false, "$schema": "http://json-schema.org/draft-07/schema#"}),
        ),
        ("empty", json!({"required": []})),
        (
            "noted",
            json!({"$id": "urn:x", "x-order": 1, "patternProperties": {}, "unevaluatedProperties": false}),
        ),
    ] {
        let mut schema = json!({"type": "object", "properties": {}});
        schema
            .as_object_mut()
            .expect("an object")
            .extend(more.as_object().cloned().unwrap_or_default());
        tools.push(json!({"name": name, "inputSchema": schema}));
    }
    for (name, hint) in [
        ("read", "readOnlyHint"),
        ("set", "idempotentHint"),
        ("poison", "readOnlyHint"),
    ] {
        tools.push(json!({"name": name, "inputSchema": object, "annotations": {hint: true}}));
    }
    tools.push(
        json!({"name": "task", "inputSchema": object, "execution": {"taskSupport": "required"}}),
    );
    json!({"tools": tools})
}

/// Returns the result of a call.
fn result_of(tool: &str, params: &Value) -> Value {
    let text = |text: &str| json!({"content": [{"type": "text", "text": text}]});
    match tool {
        "big" => {
            let items = (0..30_000)
                .map(|n| json!({"n": n, "text": "x".repeat(50)}))
                .collect::<Vec<_>>();
            json!({"content": [], "structuredContent": {"items": items}})
        }
        "wrong" => json!({"content": [], "structuredContent": {"items": [{"n": 1}, {"n": "two"}]}}),
        "bare" => text("{}"),
        "shown" => json!({"structuredContent": {"items": []}, "content": [
            {"type": "text", "text": "none yet"}, {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
        ]}),
        "same" => {
            json!({"structuredContent": {"items": []}, "content": [{"type": "text", "text": "{ \"items\": [] }"}]})
        }
        "huge" => text(&"x".repeat(17 * MIB)),
        "parts" => json!({"content": [
            {"type": "text", "text": "before"},
            {"type": "hologram", "points": [1, 2]},
            {"type": "resource", "resource": {"uri": "file:///a.pdf", "mimeType": "application/pdf", "blob": "JVBERi0="}},
            {"type": "resource", "resource": {"uri": "file:///a.png", "mimeType": "image/png", "blob": "iVBORw0KGgo="}},
            {"type": "resource_link", "uri": "https://x.example/a", "name": "a", "mimeType": "text/html"},
            {"type": "text", "text": "after"}
        ]}),
        "odd" => {
            json!({"content": [{"type": "text", "text": "fine"}, {"type": "image"}, 7], "newMember": {"a": 1}})
        }
        "task" if params["task"]["ttl"].is_u64() => {
            json!({"task": {"taskId": "t-1", "status": "working", "statusMessage": "begun", "pollInterval": 20}})
        }
        "task" => json!({"isError": true, "content": [{"type": "text", "text": "needs a task"}]}),
        _ => text(&params["arguments"].to_string()),
    }
}

/// Returns the lines that answer a message. None if the server does not answer.
fn answers(message: &Value, mode: &str, starts: usize) -> Vec<String> {
    let (id, params) = (&message["id"], &message["params"]);
    let result =
        |result: Value| vec![json!({"result": result, "jsonrpc": "2.0", "id": id}).to_string()];
    let error = |code: i64, text: &str| {
        vec![
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": text}})
                .to_string(),
        ]
    };
    let tool = params["name"].as_str().unwrap_or_default();
    match message["method"].as_str().unwrap_or_default() {
        "initialize" if mode == "mute" => Vec::new(),
        "initialize" => result(json!({
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "child", "version": "1"}
        })),
        "tools/list" => result(listed(mode, starts)),
        "tools/call" if tool == "slow" => Vec::new(),
        "tools/call" if tool == "hidden" => error(-32602, "Unknown tool"),
        "tools/call" if tool == "deep" => {
            let deep = format!("{}{}", "[".repeat(1_000), "]".repeat(1_000));
            vec![format!(
                r#"{{"result":{{"content":[],"structuredContent":{deep}}},"jsonrpc":"2.0","id":{id}}}"#
            )]
        }
        "tools/call" if tool == "work" => {
            let token = &params["_meta"]["progressToken"];
            let note = |progress: f64, message: &str| {
                let params = json!({"progressToken": token, "progress": progress, "total": 4, "message": message});
                json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
                    .to_string()
            };
            let mut lines = vec![note(1.0, "one"), note(3.0, "\u{1b}[2Kthree")];
            lines.extend(result(result_of("echo", params)));
            lines
        }
        "tools/call" => result(result_of(tool, params)),
        "tasks/get" => result(
            json!({"taskId": "t-1", "status": "completed", "createdAt": "", "lastUpdatedAt": "", "ttl": 1}),
        ),
        "tasks/result" => result(json!({"content": [{"type": "text", "text": params["taskId"]}]})),
        _ if id.is_null() => Vec::new(),
        _ => error(-32601, "Method not found"),
    }
}

#[test]
#[ignore = "the other tests run it in processes of their own"]
fn serves() {
    let (mode, file) = (
        std::env::var(MODE).expect("the other process"),
        std::env::var(FILE).expect("a file"),
    );
    let mut notes = File::options().append(true).open(&file).expect("a file");
    writeln!(notes, "start {}", std::process::id()).expect("written");
    let starts = starts(Path::new(&file));
    if mode == "fails" || (mode == "fails later" && starts > 1) {
        for at in 0..100 {
            eprintln!("line {at}\u{1b}[2K {}", "y".repeat(10_000));
        }
        std::process::exit(3);
    }
    let mut output = File::options()
        .write(true)
        .open("/dev/fd/3")
        .expect("the stream");
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("a line");
        let message = serde_json::from_str::<Value>(&line).expect("JSON");
        writeln!(
            notes,
            "{} {}",
            message["method"].as_str().unwrap_or_default(),
            message["params"]
        )
        .expect("written");
        let loses_task =
            mode == "loses the connection" && message["method"] == "tasks/get" && starts == 1;
        let crashes = match message["params"]["name"].as_str().unwrap_or_default() {
            "crash" | "poison" => true,
            "read" | "set" => starts == 1,
            _ => false,
        };
        if crashes || loses_task {
            eprintln!("boom");
            std::process::exit(7);
        }
        for line in answers(&message, &mode, starts) {
            writeln!(output, "{line}").expect("the client reads");
        }
    }
    if mode == "stubborn" || mode == "mute" {
        loop {
            std::thread::park();
        }
    }
    std::process::exit(0);
}

/// Serves the same over HTTP: events, or one message as JSON.
async fn over_http(in_events: bool) -> ToolContext {
    let app = axum::Router::new().fallback(move |request| answer_http(request, in_events));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("an address");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    tokio::spawn(async move { axum::serve(listener, app).await });
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

async fn answer_http(request: Request, in_events: bool) -> Response {
    if request.method() != Method::POST {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    let body = axum::body::to_bytes(request.into_body(), MIB)
        .await
        .expect("a body");
    let message = serde_json::from_slice::<Value>(&body).expect("JSON");
    let lines = answers(&message, "web", 1);
    match lines.last() {
        None => StatusCode::ACCEPTED.into_response(),
        Some(_) if in_events => {
            let events = lines
                .iter()
                .map(|line| format!("data: {line}\n\n"))
                .collect::<Vec<_>>()
                .concat();
            ([(header::CONTENT_TYPE, "text/event-stream")], events).into_response()
        }
        Some(line) => ([(header::CONTENT_TYPE, "application/json")], line.clone()).into_response(),
    }
}

/// Returns the tools of a process, and of a server over HTTP that answers in both ways.
async fn everywhere(file: &Path) -> [ToolContext; 3] {
    [
        tools("", file).await,
        over_http(true).await,
        over_http(false).await,
    ]
}

// T24
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_result_is_checked_before_it_is_cut() {
    let (_folder, file) = folder();
    for tools in everywhere(&file).await {
        let response = call(&tools, "big").await;
        assert!(response.is_ok(), "{:?}", response.error());
        assert!(response.meta().truncated().is_some());
        assert!(
            response
                .data_json()
                .is_some_and(|text| text.len() > MIB / 2 && text.len() <= MIB + 1_000)
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parts_beside_structured_content_reach_the_model() {
    let (_folder, file) = folder();
    for tools in everywhere(&file).await {
        let response = call(&tools, "shown").await;
        assert_eq!(response.data_json(), Some(r#"{"items":[]}"#));
        let parts = [
            Content::text("none yet"),
            Content::image("iVBORw0KGgo=", "image/png"),
        ];
        assert_eq!(
            response.for_model(ResultForm::Plain).content().as_deref(),
            Some(&parts[..])
        );
        assert_eq!(call(&tools, "same").await.into_text(), r#"{"items":[]}"#);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_result_names_its_place_and_server() {
    let (_folder, file) = folder();
    for (tools, server) in everywhere(&file).await.iter().zip(["child", "web", "web"]) {
        let response = call(tools, "wrong").await;
        let expected = format!(
            "the server `{server}` violates the output schema of its tool: `/items/1/n`: expected an integer, got \"two\""
        );
        assert_eq!(failure(&response), (ErrorKind::Permanent, &*expected));
        let response = call(tools, "bare").await;
        let expected = format!(
            "the server `{server}` violates the output schema of its tool: the result has no `structuredContent`"
        );
        assert_eq!(failure(&response), (ErrorKind::Permanent, &*expected));
    }
}

// T24
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_over_the_cap_fails_its_call_at_once() {
    let (_folder, file) = folder();
    let sizes = [
        format!("got {}", 17 * MIB + 82),
        "got more than 16777216".to_owned(),
        format!("got {}", 17 * MIB + 82),
    ];
    for (tools, size) in everywhere(&file).await.iter().zip(sizes) {
        let response = call(tools, "huge").await;
        let (kind, message) = failure(&response);
        assert_eq!(kind, ErrorKind::Permanent, "{message}");
        assert!(
            message.contains("at most 16777216 bytes") && message.contains(&size),
            "{message}"
        );
        assert!(call(tools, "echo").await.is_ok(), "the connection goes on");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_is_too_deep_fails_its_call_at_once() {
    let (_folder, file) = folder();
    for tools in everywhere(&file).await {
        let response = call(&tools, "deep").await;
        let (kind, message) = failure(&response);
        assert_eq!(kind, ErrorKind::Permanent);
        assert!(
            message.ends_with("does not follow the protocol, or nests deeper than 128"),
            "{message}"
        );
        assert!(call(&tools, "echo").await.is_ok());
    }
}

#[tokio::test]
async fn the_time_limit_holds_for_bare_calls() {
    let (_folder, file) = folder();
    let client = McpClient::command(command("", &file))
        .name("child")
        .timeout(Duration::from_secs(2));
    let tools = ToolContext::builder()
        .with(client.connect().await.expect("an import"))
        .build()
        .expect("tools");
    let response = call(&tools, "slow").await;
    assert_eq!(failure(&response).0, ErrorKind::Timeout);
    until(async || {
        lines(&file)
            .iter()
            .any(|line| line.starts_with("notifications/cancelled"))
    })
    .await;
}

#[tokio::test]
async fn a_cancelled_bare_call_is_cancelled_at_the_server() {
    let (_folder, file) = folder();
    let tools = Arc::new(tools("", &file).await);
    let token = CancellationToken::new();
    let ctx = RunContext::builder().cancellation(token.clone()).build();
    let calling = tokio::spawn({
        let tools = Arc::clone(&tools);
        async move { tools.call("slow", "{}", &ctx).await }
    });
    until(async || lines(&file).iter().any(|line| line.contains("\"slow\""))).await;
    token.cancel();
    let response = calling.await.expect("no panic");
    assert_eq!(failure(&response).0, ErrorKind::Cancelled);
    until(async || {
        lines(&file)
            .iter()
            .any(|line| line.starts_with("notifications/cancelled"))
    })
    .await;
}

#[tokio::test]
async fn a_cancelled_call_of_a_session_is_cancelled_at_the_server() {
    let (_folder, file) = folder();
    let runtime = Runtime::builder(tools("", &file).await)
        .build()
        .expect("a runtime");
    let session = runtime.session("s", Mode::Text).await.expect("a session");
    let calling = tokio::spawn({
        let session = session.clone();
        async move { session.call(ToolCall::new("c1", "slow", "{}")).await }
    });
    until(async || lines(&file).iter().any(|line| line.contains("\"slow\""))).await;
    session.cancel("c1");
    assert_eq!(
        failure(&calling.await.expect("no panic")).0,
        ErrorKind::Cancelled
    );
    until(async || {
        lines(&file)
            .iter()
            .any(|line| line.starts_with("notifications/cancelled"))
    })
    .await;
}

// T24
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parts_of_an_unknown_kind_keep_the_rest() {
    let (_folder, file) = folder();
    for tools in everywhere(&file).await {
        let mut parts = call(&tools, "parts").await.data::<Value>().expect("parts");
        let unknown = parts[1]["text"].take();
        let unknown =
            serde_json::from_str::<Value>(unknown.as_str().expect("a text")).expect("JSON");
        assert_eq!(unknown, json!({"type": "hologram", "points": [1, 2]}));
        assert_eq!(
            parts,
            json!([
                {"type": "text", "text": "before"},
                {"type": "text", "text": null},
                {"type": "resource", "uri": "data:application/pdf;base64,JVBERi0=", "mimeType": "application/pdf"},
                {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"},
                {"type": "resource", "uri": "https://x.example/a", "mimeType": "text/html"},
                {"type": "text", "text": "after"}
            ])
        );
        let odd = call(&tools, "odd").await;
        let texts = json!([
            {"type": "text", "text": "fine"},
            {"type": "text", "text": "{\"type\":\"image\"}"},
            {"type": "text", "text": "7"}
        ]);
        assert_eq!(odd.data::<Value>().expect("parts"), texts);
    }
}

#[tokio::test]
async fn a_task_outlives_the_connection_of_its_call() {
    let (_folder, file) = folder();
    let tools = tools("loses the connection", &file).await;
    let response = call(&tools, "task").await;
    assert_eq!(
        response.data::<Value>().expect("parts"),
        json!([{"type": "text", "text": "t-1"}])
    );
    assert_eq!(starts(&file), 2);
    assert_eq!(calls(&file), 1, "the task is not begun again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_requires_a_task_runs_as_one() {
    let (_folder, file) = folder();
    for tools in everywhere(&file).await {
        let (updates, ctx) = listened();
        let response = tools.call("task", "{}", &ctx).await;
        assert_eq!(
            response.data::<Value>().expect("parts"),
            json!([{"type": "text", "text": "t-1"}])
        );
        assert_eq!(
            *updates.lock().expect("no panic"),
            [("begun".to_owned(), None)]
        );
    }
}

type Updates = Arc<Mutex<Vec<(String, Option<f64>)>>>;

/// Returns the updates of calls with a context, and the context.
fn listened() -> (Updates, RunContext) {
    let updates = Updates::default();
    let progress = Progress::listened({
        let updates = Arc::clone(&updates);
        move |update| {
            updates
                .lock()
                .expect("no panic")
                .push((update.message.clone(), update.fraction));
        }
    });
    (updates, RunContext::builder().progress(progress).build())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn progress_of_a_server_becomes_updates_of_the_call() {
    let (_folder, file) = folder();
    for tools in [tools("", &file).await, over_http(true).await] {
        let (updates, ctx) = listened();
        assert!(tools.call("work", "{}", &ctx).await.is_ok());
        let expected = [
            ("one".to_owned(), Some(0.25)),
            ("\\u{1b}[2Kthree".to_owned(), Some(0.75)),
        ];
        assert_eq!(*updates.lock().expect("no panic"), expected);
    }
}

// T25
#[tokio::test]
async fn a_crashed_server_is_started_again() {
    let (_folder, file) = folder();
    let tools = tools("", &file).await;
    let crashed = call(&tools, "crash").await;
    let message = "the connection to the tool's server is lost (exit status: 7); the call may have had effects";
    assert_eq!(failure(&crashed), (ErrorKind::Unknown, message));
    assert!(
        crashed
            .error()
            .is_some_and(|error| error.partial_side_effects && !error.retryable)
    );
    let calls = (0..20).map(|_| call(&tools, "echo"));
    for response in futures_util::future::join_all(calls).await {
        assert!(response.is_ok(), "{:?}", response.error());
    }
    assert_eq!(starts(&file), 2, "for all 20 calls");
}

// T25
#[tokio::test]
async fn a_server_that_answers_is_started_each_time() {
    const ROUNDS: u32 = 8;
    let (_folder, file) = folder();
    let tools = tools("", &file).await;
    let began = std::time::Instant::now();
    for _ in 0..ROUNDS {
        assert!(call(&tools, "echo").await.is_ok());
        assert_eq!(failure(&call(&tools, "crash").await).0, ErrorKind::Unknown);
    }
    assert!(call(&tools, "echo").await.is_ok());
    assert_eq!(starts(&file), 9);
    assert!(
        began.elapsed() >= Duration::from_millis(250) * (ROUNDS - 1),
        "between two starts"
    );
}

#[tokio::test]
async fn a_call_without_effects_is_sent_once_more() {
    for tool in ["read", "set"] {
        let (_folder, file) = folder();
        let response = call(&tools("", &file).await, tool).await;
        assert!(response.is_ok(), "{:?}", response.error());
        assert_eq!((starts(&file), calls(&file)), (2, 2));
    }
    let (_folder, file) = folder();
    let poisoned = call(&tools("", &file).await, "poison").await;
    assert_eq!(failure(&poisoned).0, ErrorKind::Transient);
    assert!(
        poisoned
            .error()
            .is_some_and(|error| !error.partial_side_effects)
    );
    assert_eq!(
        (starts(&file), calls(&file)),
        (2, 2),
        "it ends the second process too"
    );
}

fn calls(file: &Path) -> usize {
    lines(file)
        .iter()
        .filter(|line| line.starts_with("tools/call"))
        .count()
}

// T25
#[tokio::test]
async fn a_server_that_keeps_crashing_is_left_alone() {
    let (_folder, file) = folder();
    let tools = tools("", &file).await;
    let mut refused = String::new();
    for _ in 0..20 {
        refused = failure(&call(&tools, "crash").await).1.to_owned();
    }
    assert_eq!(starts(&file), 6, "of 20 calls");
    assert!(
        refused.starts_with(
            "the tool's server ended 6 times in a row; the tool can be called again in"
        ),
        "{refused}"
    );
}

#[tokio::test]
async fn a_server_that_does_not_start_again_is_transient() {
    let (_folder, file) = folder();
    let tools = tools("fails later", &file).await;
    call(&tools, "crash").await;
    let response = call(&tools, "echo").await;
    let message = "the tool's server has ended, and could not be started again";
    assert_eq!(failure(&response), (ErrorKind::Transient, message));
}

#[tokio::test]
async fn a_tool_that_is_gone_after_a_restart_is_not_found() {
    let (_folder, file) = folder();
    let tools = tools("forgetful", &file).await;
    assert!(call(&tools, "echo").await.is_ok());
    call(&tools, "crash").await;
    let response = call(&tools, "echo").await;
    assert_eq!(
        failure(&response),
        (
            ErrorKind::NotFound,
            "the server `child` no longer has the tool `echo`"
        )
    );
    assert!(call(&tools, "work").await.is_ok());
}

#[tokio::test]
async fn a_closed_server_is_not_started_again() {
    let (_folder, file) = folder();
    let imported = Arc::new(import("", &file).await);
    let tools = ToolContext::builder()
        .with(imported.clone())
        .build()
        .expect("tools");
    imported.close().await.expect("closed");
    assert!(!runs(&process(&file)));
    assert_eq!(failure(&call(&tools, "echo").await).0, ErrorKind::Transient);
    assert_eq!(starts(&file), 1);
}

#[tokio::test]
async fn a_crash_at_the_start_shows_status_and_last_lines() {
    let (_folder, file) = folder();
    let error = McpClient::command(command("fails", &file))
        .name("child")
        .connect()
        .await
        .expect_err("no server");
    let shown = error.to_string();
    let ImportError::Ended { status, lines } = error else {
        panic!("{error:?}")
    };
    assert_eq!(status, "exit status: 3");
    assert!(
        lines.contains('y') && lines.len() <= 1_100,
        "{} bytes",
        lines.len()
    );
    assert!(!shown.contains(char::is_control), "{shown}");
    assert!(
        shown.starts_with(
            "the server ended at its start (exit status: 3); its standard error ends with: "
        ),
        "{shown}"
    );
}

#[tokio::test]
async fn a_program_that_is_no_server_is_explained() {
    let mut silent = Command::new("sh");
    silent.args(["-c", r"printf 'm\151ssing\033[31mx\n' >&2; exit 127"]);
    let shown = McpClient::command(silent)
        .connect()
        .await
        .expect_err("no server")
        .to_string();
    let expected = "the server ended at its start (exit status: 127); its standard error ends with: missing\\u{1b}[31mx";
    assert_eq!(shown, expected);
    for (script, expected) in [
        (
            "read -r line; echo '{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"tools\":[]}}'; sleep 100",
            "expected an answer to `initialize`",
        ),
        ("kill -9 $$", "signal: 9 (SIGKILL)"),
    ] {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let shown = McpClient::command(command)
            .connect()
            .await
            .expect_err("no server")
            .to_string();
        assert!(shown.contains(expected), "{shown}");
        assert!(!shown.contains("rmcp") && !shown.contains("::"), "{shown}");
    }
    let refused = McpClient::url("http://127.0.0.1:9/mcp")
        .connect()
        .await
        .expect_err("no server")
        .to_string();
    assert!(
        refused.starts_with("failed to connect to the server: ") && refused.contains("refused"),
        "{refused}"
    );
    assert!(
        !refused.contains("rmcp") && !refused.contains("::"),
        "{refused}"
    );
    let missing = McpClient::command(Command::new("no-such-program"))
        .connect()
        .await
        .expect_err("no server")
        .to_string();
    assert!(
        missing.starts_with("failed to start the server: `no-such-program`: "),
        "{missing}"
    );
}

/// Imports a server that stays when its input ends, and drops all without closing it.
#[test]
fn a_child_ends_with_its_importer() {
    let (_folder, file) = folder();
    for mode in ["", "stubborn"] {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let tools = runtime.block_on(tools(mode, &file));
        assert!(runs(&process(&file)));
        drop(runtime);
        drop(tools);
        let ended = || !runs(&process(&file));
        let waiting = std::time::Instant::now();
        while !ended() && waiting.elapsed() < Duration::from_secs(20) {
            std::thread::yield_now();
        }
        assert!(ended(), "{mode}");
    }
}

/// Returns the command of a server that has started a process of its own, which holds its standard streams.
fn with_grandchild(file: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", r#"sleep 1000 & echo "grandchild $!" >>"$TOOL_ADAPTERS_CHILD_FILE"; exec "$0" "$@" 3>&1 >&2"#]);
    command.arg(std::env::current_exe().expect("this program"));
    command.args([
        "--ignored",
        "--exact",
        "children::serves",
        "--nocapture",
        "--test-threads=1",
    ]);
    command.env(MODE, "").env(FILE, file);
    command
}

fn grandchildren(file: &Path) -> Vec<String> {
    lines(file)
        .iter()
        .filter_map(|line| line.strip_prefix("grandchild "))
        .map(str::to_owned)
        .collect()
}

// T25
#[tokio::test]
async fn a_grandchild_does_not_outlive_its_server() {
    let (_folder, file) = folder();
    let imported = McpClient::command(with_grandchild(&file))
        .name("child")
        .connect()
        .await
        .expect("an import");
    let imported = Arc::new(imported);
    let tools = ToolContext::builder()
        .with(imported.clone())
        .build()
        .expect("tools");
    assert!(runs(&grandchildren(&file)[0]));
    // It crashes, and is closed.
    let crashed = call(&tools, "crash").await;
    assert!(
        failure(&crashed).1.contains("exit status: 7"),
        "{crashed:?}"
    );
    until(async || !runs(&grandchildren(&file)[0])).await;
    assert!(call(&tools, "echo").await.is_ok());
    assert!(runs(&grandchildren(&file)[1]));
    imported.close().await.expect("closed");
    until(async || !runs(&grandchildren(&file)[1])).await;
}

#[test]
fn a_grandchild_ends_with_the_importer() {
    let (_folder, file) = folder();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let imported = runtime.block_on(
        McpClient::command(with_grandchild(&file))
            .name("child")
            .connect(),
    );
    assert!(runs(&grandchildren(&file)[0]));
    drop(runtime);
    drop(imported);
    let waiting = std::time::Instant::now();
    while runs(&grandchildren(&file)[0]) && waiting.elapsed() < Duration::from_secs(20) {
        std::thread::yield_now();
    }
    assert!(!runs(&grandchildren(&file)[0]));
}

// T25
#[tokio::test]
async fn a_child_ends_when_its_tools_are_dropped() {
    let (_folder, file) = folder();
    for mode in ["", "stubborn"] {
        drop(tools(mode, &file).await);
        until(async || !runs(&process(&file))).await;
    }
}

#[tokio::test]
async fn a_child_ends_when_its_import_is_given_up() {
    let (_folder, file) = folder();
    let connecting = tokio::spawn(McpClient::command(command("mute", &file)).connect());
    until(async || {
        lines(&file)
            .iter()
            .any(|line| line.starts_with("initialize"))
    })
    .await;
    connecting.abort();
    until(async || !runs(&process(&file))).await;
}

#[tokio::test]
async fn a_removed_tool_is_not_found_and_may_return() {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (from, to) = tokio::io::split(ours);
    let names = Arc::new(Mutex::new(vec!["one", "two"]));
    let served = tokio::spawn(serve_names(theirs, Arc::clone(&names)));
    let imported = Arc::new(
        McpClient::streams("names", from, to)
            .connect()
            .await
            .expect("an import"),
    );
    let tools = ToolContext::builder()
        .with(imported.clone())
        .build()
        .expect("tools");
    // The server answers a call of a tool that it does not list with an error, as it did not notify of the change.
    *names.lock().expect("no panic") = vec!["one"];
    let response = call(&tools, "two").await;
    assert_eq!(
        failure(&response),
        (
            ErrorKind::NotFound,
            "the server `names` no longer has the tool `two`"
        )
    );
    assert!(call(&tools, "one").await.is_ok());
    let quarantined = imported.quarantined();
    assert_eq!(
        quarantined
            .iter()
            .map(|tool| &tool.reason)
            .collect::<Vec<_>>(),
        [&QuarantineReason::Removed]
    );
    *names.lock().expect("no panic") = vec!["one", "two"];
    imported.refresh().await.expect("a list");
    assert!(call(&tools, "two").await.is_ok(), "it is listed as before");
    served.abort();
}

async fn serve_names(stream: tokio::io::DuplexStream, names: Arc<Mutex<Vec<&'static str>>>) {
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    let (from, mut to) = tokio::io::split(stream);
    let mut lines = BufReader::new(from).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let message = serde_json::from_str::<Value>(&line).expect("JSON");
        let names = names.lock().expect("no panic").clone();
        let mut answers = answers(&message, "", 1);
        if message["method"] == "tools/list" {
            let tools = names
                .iter()
                .map(|name| json!({"name": name, "inputSchema": {"type": "object"}}));
            let result = json!({"tools": tools.collect::<Vec<_>>()});
            answers =
                vec![json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string()];
        } else if message["method"] == "tools/call"
            && names.iter().all(|name| message["params"]["name"] != *name)
        {
            let error = json!({"code": -32602, "message": "Unknown tool"});
            answers =
                vec![json!({"jsonrpc": "2.0", "id": message["id"], "error": error}).to_string()];
        }
        for answer in answers {
            to.write_all(format!("{answer}\n").as_bytes())
                .await
                .expect("the client reads");
        }
    }
}

#[tokio::test]
async fn an_error_of_a_listed_tool_stays_as_it_is() {
    let (_folder, file) = folder();
    let tools = tools("", &file).await;
    assert_eq!(
        failure(&call(&tools, "hidden").await),
        (ErrorKind::Permanent, "Unknown tool")
    );
}

// L26
#[tokio::test]
async fn an_imported_tool_without_parameters_ignores_members() {
    let (_folder, file) = folder();
    let tools = tools("", &file).await;
    for name in ["closed", "empty", "noted"] {
        let definition = tools.function_tool(name).expect("there").definition();
        assert_eq!(
            definition.parameters(),
            &json!({"type": "object", "properties": {}}),
            "{name}"
        );
        let response = tools
            .call(name, r#"{"x": 1, "y": {}}"#, &RunContext::detached())
            .await;
        assert_eq!(
            response.data::<Value>().expect("parts")[0]["text"],
            "{}",
            "the server gets none"
        );
        assert_eq!(
            response.meta().coerced(),
            [
                "/x: ignored, as the tool has no parameters",
                "/y: ignored, as the tool has no parameters"
            ]
        );
    }
    let open = tools
        .call("echo", r#"{"x": 1}"#, &RunContext::detached())
        .await;
    assert_eq!(
        open.data::<Value>().expect("parts")[0]["text"],
        r#"{"x":1}"#,
        "it may take any"
    );
}

// L26
#[tokio::test]
async fn a_served_tool_without_parameters_ignores_members() {
    let mut client = LineClient::initialized(&server(), json!({})).await;
    let listed = client.request(json!(1), "tools/list", json!({})).await;
    let work = listed["result"]["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .find(|tool| tool["name"] == "work");
    assert_eq!(
        work.expect("work")["inputSchema"],
        json!({"type": "object", "properties": {}})
    );
    let answer = client.call("work", json!({"x": 1, "y": [2]})).await;
    assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
}
