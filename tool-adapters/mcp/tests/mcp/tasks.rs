//! Calls that go on as tasks.

use super::http::{EventReader, HttpClient, by_user, serve};
use super::support::{LineClient, stateless, until};
use axum::body::Body;
use axum::http::Request;
use reqwest::{Method, Response};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::timeout;
use tool_adapters::mcp::{Server, TaskSupport};
use tool_core::{RunContext, Runtime, ToolContext, ToolDefinition, ToolError, UserData, tool};
use tower::ServiceExt;

/// Work until the test says so.
#[tool(timeout = "60s")]
async fn work(#[context] UserData(done): UserData<Notify>, text: String) -> String {
    done.notified().await;
    text
}

/// Waits longer than a call is polled at its beginning.
async fn pause() {
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
}

/// Ask in the middle of the work.
#[tool(timeout = "60s")]
async fn ask_later(ctx: &RunContext) -> Result<bool, ToolError> {
    pause().await;
    ctx.ask::<bool>("Go on?").await?.required()
}

/// Ask, and then work.
#[tool(timeout = "60s")]
async fn ask_first(ctx: &RunContext) -> Result<bool, ToolError> {
    let answer = ctx.ask::<bool>("Go on?").await?.required()?;
    pause().await;
    Ok(answer)
}

/// Work, once the user agrees.
#[tool(confirm, timeout = "60s")]
async fn work_approved(ctx: &RunContext) -> Result<bool, ToolError> {
    pause().await;
    ctx.ask::<bool>("Go on?").await?.required()
}

/// Report, and go on.
#[tool(timeout = "60s")]
async fn report(ctx: &RunContext) {
    ctx.update("half way");
    std::future::pending::<()>().await;
}

/// Report often at once, and then work.
#[tool(timeout = "60s")]
async fn report_often(ctx: &RunContext, #[context] UserData(done): UserData<Notify>) {
    for _ in 0..100 {
        ctx.update("half way");
    }
    pause().await;
    done.notify_one();
}

/// Report, and answer at once.
#[tool]
async fn quick_report(ctx: &RunContext) -> &'static str {
    ctx.update("half way");
    "done"
}

/// Answer at once.
#[tool]
async fn quick() -> &'static str {
    "done"
}

fn support(tool: &ToolDefinition) -> TaskSupport {
    match tool.name() {
        "ask_first" | "work_approved" => TaskSupport::Required,
        _ => TaskSupport::Optional,
    }
}

fn server() -> (Server, Arc<Notify>) {
    let done = Arc::new(Notify::new());
    let tools = ToolContext::builder()
        .with(work)
        .with(ask_later)
        .with(ask_first)
        .with(quick)
        .with(quick_report);
    let tools = tools
        .with(work_approved)
        .with(report)
        .with(report_often)
        .build();
    let runtime = Runtime::builder(tools.expect("sound tools"))
        .policy(Server::policy())
        .build()
        .expect("a runtime");
    let shared = Arc::clone(&done);
    let server = Server::new(runtime).tasks(support);
    (
        server.session(move |builder, _| builder.user_data_shared(Arc::clone(&shared))),
        done,
    )
}

fn with_tasks() -> Value {
    json!({"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}})
}

/// Makes a request of a client with these capabilities.
async fn request(
    line: &mut LineClient,
    capabilities: &Value,
    method: &str,
    params: Value,
) -> Value {
    let mut params = params;
    params["_meta"] = stateless(capabilities);
    line.request(json!(7), method, params).await
}

async fn call(line: &mut LineClient, tool: &str, arguments: Value) -> Value {
    request(
        line,
        &with_tasks(),
        "tools/call",
        json!({"name": tool, "arguments": arguments}),
    )
    .await
}

async fn of_task(line: &mut LineClient, method: &str, id: &Value, more: Value) -> Value {
    let mut params = more;
    params["taskId"] = id.clone();
    request(line, &with_tasks(), method, params).await
}

/// Waits until a task has a status, and returns the task.
async fn wait_for(line: &mut LineClient, id: &Value, status: &str) -> Value {
    loop {
        let task = of_task(line, "tasks/get", id, json!({})).await["result"].clone();
        if task["status"] == status {
            return task;
        }
        assert!(
            matches!(task["status"].as_str(), Some("working" | "input_required")),
            "{task}"
        );
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn call_that_waits_becomes_a_task_with_its_result() {
    let (server, done) = server();
    let mut line = LineClient::connect(&server);
    let created = call(&mut line, "work", json!({"text": "done"})).await["result"].clone();
    assert_eq!(
        (&created["resultType"], &created["status"]),
        (&json!("task"), &json!("working"))
    );
    assert_eq!(created["ttlMs"], 900_000);
    let id = &created["taskId"];
    assert_eq!(wait_for(&mut line, id, "working").await.get("result"), None);
    done.notify_one();
    let task = wait_for(&mut line, id, "completed").await;
    assert_eq!(task["result"]["content"][0]["text"], "done");
    assert_eq!(
        of_task(&mut line, "tasks/cancel", id, json!({})).await["result"],
        json!({"resultType": "complete"})
    );
    assert_eq!(
        wait_for(&mut line, id, "completed").await["taskId"],
        *id,
        "a task that has ended stays as it is"
    );
    assert_eq!(
        call(&mut line, "quick", json!({})).await["result"]["content"][0]["text"],
        "done"
    );
}

#[tokio::test]
async fn call_that_reports_and_returns_becomes_no_task() {
    let (server, _) = server();
    let mut line = LineClient::connect(&server);
    let mut meta = stateless(&with_tasks());
    meta["progressToken"] = json!("p");
    let params = json!({"name": "quick_report", "arguments": {}, "_meta": meta});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    line.send(&call).await;
    let told = line.receive().await;
    assert_eq!(told["params"]["message"], "half way", "{told}");
    let answer = line.receive().await;
    assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
}

#[tokio::test(start_paused = true)]
async fn a_call_goes_on_while_its_client_takes_no_reports() {
    let (server, done) = server();
    let mut meta = stateless(&with_tasks());
    meta["progressToken"] = json!("p");
    let params = json!({"name": "report_often", "arguments": {}, "_meta": meta});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let request = Request::post("/mcp")
        .header("host", "localhost")
        .header("accept", "application/json, text/event-stream")
        .header("content-type", "application/json")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", "report_often")
        .body(Body::from(call.to_string()))
        .expect("a request");

    let answer = server.router().oneshot(request).await.expect("an answer");
    let ended = timeout(Duration::from_secs(20), done.notified()).await;
    ended.expect("the tool ends");
    drop(answer);
}

#[tokio::test]
async fn client_without_tasks_waits_or_is_refused() {
    let (server, done) = server();
    let mut line = LineClient::connect(&server);
    done.notify_one();
    let params = json!({"name": "work", "arguments": {"text": "done"}});
    let answer = request(&mut line, &json!({}), "tools/call", params).await;
    assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
    let required = json!({"name": "ask_first", "arguments": {}});
    let refused = request(
        &mut line,
        &json!({"elicitation": {}}),
        "tools/call",
        required,
    )
    .await;
    assert_eq!(refused["error"]["code"], -32021, "{refused}");
    let mut legacy = LineClient::initialized(&server, with_tasks()).await;
    assert_eq!(
        legacy.call("ask_first", json!({})).await["error"]["code"],
        -32021,
        "an older revision has no tasks"
    );
}

#[tokio::test]
async fn question_of_a_task_waits_in_it() {
    let (server, _) = server();
    let mut line = LineClient::connect(&server);
    let created = call(&mut line, "ask_later", json!({})).await;
    let id = created["result"]["taskId"].clone();
    assert!(id.is_string(), "{created}");
    let task = wait_for(&mut line, &id, "input_required").await;
    assert_eq!(task["inputRequests"]["ask"]["method"], "elicitation/create");
    for (answers, refused) in [(json!({"other": 7}), false), (json!({"ask": 7}), true)] {
        let answer = of_task(
            &mut line,
            "tasks/update",
            &id,
            json!({"inputResponses": answers}),
        )
        .await;
        assert_eq!(answer.get("error").is_some(), refused, "{answer}");
        wait_for(&mut line, &id, "input_required").await;
    }
    let yes = json!({"inputResponses": {"ask": {"action": "accept", "content": {"answer": true}}}});
    of_task(&mut line, "tasks/update", &id, yes).await;
    assert_eq!(
        wait_for(&mut line, &id, "completed").await["result"]["content"][0]["text"],
        "true"
    );
}

#[tokio::test]
async fn question_before_any_work_comes_before_the_task() {
    let (server, _) = server();
    let mut line = LineClient::connect(&server);
    let asked = call(&mut line, "ask_first", json!({})).await["result"].clone();
    assert_eq!(
        (&asked["resultType"], asked.get("taskId")),
        (&json!("input_required"), None)
    );
    let yes = json!({"ask": {"action": "accept", "content": {"answer": true}}});
    let repeated = json!({"name": "ask_first", "arguments": {}, "requestState": asked["requestState"], "inputResponses": yes});
    let created = request(&mut line, &with_tasks(), "tools/call", repeated).await["result"].clone();
    assert_eq!(created["resultType"], "task", "{created}");
    assert_eq!(
        wait_for(&mut line, &created["taskId"], "completed").await["result"]["content"][0]["text"],
        "true"
    );
}

#[tokio::test]
async fn approved_call_becomes_a_task() {
    let (server, _) = server();
    let mut line = LineClient::connect(&server);
    let asked = call(&mut line, "work_approved", json!({})).await["result"].clone();
    assert_eq!(
        asked["inputRequests"]["confirm"]["method"], "elicitation/create",
        "{asked}"
    );
    let yes = json!({"confirm": {"action": "accept", "content": {}}});
    let repeated = json!({"name": "work_approved", "arguments": {}, "requestState": asked["requestState"], "inputResponses": yes});
    let created =
        request(&mut line, &with_tasks(), "tools/call", repeated.clone()).await["result"].clone();
    assert_eq!(
        (&created["resultType"], &created["status"]),
        (&json!("task"), &json!("working")),
        "{created}"
    );
    let id = &created["taskId"];
    wait_for(&mut line, id, "input_required").await;
    let again = request(&mut line, &with_tasks(), "tools/call", repeated).await;
    assert_eq!(again["error"]["code"], -32602, "{again}");
    let answer =
        json!({"inputResponses": {"ask": {"action": "accept", "content": {"answer": true}}}});
    of_task(&mut line, "tasks/update", id, answer).await;
    assert_eq!(
        wait_for(&mut line, id, "completed").await["result"]["content"][0]["text"],
        "true"
    );
}

#[tokio::test]
async fn approved_task_is_cancelled() {
    let (server, _) = server();
    let mut line = LineClient::connect(&server);
    let asked = call(&mut line, "work_approved", json!({})).await["result"].clone();
    let yes = json!({"confirm": {"action": "accept", "content": {}}});
    let repeated = json!({"name": "work_approved", "arguments": {}, "requestState": asked["requestState"], "inputResponses": yes});
    let id =
        request(&mut line, &with_tasks(), "tools/call", repeated).await["result"]["taskId"].clone();
    wait_for(&mut line, &id, "input_required").await;
    of_task(&mut line, "tasks/cancel", &id, json!({})).await;
    wait_for(&mut line, &id, "cancelled").await;
}

#[tokio::test]
async fn cancelled_task_ends_its_call() {
    let (server, _) = server();
    let mut line = LineClient::connect(&server);
    for (tool, arguments, status) in [
        ("work", json!({"text": "x"}), "working"),
        ("ask_later", json!({}), "input_required"),
    ] {
        let id = call(&mut line, tool, arguments).await["result"]["taskId"].clone();
        wait_for(&mut line, &id, status).await;
        of_task(&mut line, "tasks/cancel", &id, json!({})).await;
        assert_eq!(
            wait_for(&mut line, &id, "cancelled").await.get("result"),
            None
        );
    }
}

// T18
#[tokio::test]
async fn task_is_hidden_from_other_clients() {
    let (server, done) = server();
    let http =
        HttpClient::new(&serve(&by_user(server)).await).with("mcp-protocol-version", "2026-07-28");
    let ask = async |user: &str, method: &str, name: &str, params: Value| {
        let mut params = params;
        params["_meta"] = stateless(&with_tasks());
        let client = http
            .with("x-user", user)
            .with("mcp-method", method)
            .with("mcp-name", name);
        let answer = client
            .post(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
            .await;
        let text = answer.text().await.expect("an answer");
        let data = text
            .lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .find(|data| !data.is_empty());
        serde_json::from_str::<Value>(data.unwrap_or(&text)).expect("JSON")
    };
    let created = ask(
        "ada",
        "tools/call",
        "work",
        json!({"name": "work", "arguments": {"text": "secret"}}),
    )
    .await;
    let id = created["result"]["taskId"]
        .as_str()
        .expect("a task")
        .to_owned();
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let params = json!({"taskId": id, "inputResponses": {}});
        let answer = ask("eve", method, &id, params).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    done.notify_one();
    until(async || {
        ask("ada", "tasks/get", &id, json!({"taskId": id})).await["result"]["status"] == "completed"
    })
    .await;
}

// T18
#[tokio::test]
async fn tasks_of_a_client_are_bounded() {
    let (server, done) = server();
    let mut line = LineClient::connect(&server.max_tasks(3));
    let mut refused = 0;
    for _ in 0..1_000 {
        let answer = call(&mut line, "work", json!({"text": "x"})).await;
        refused += usize::from(answer["error"]["code"] == -32600);
    }
    assert_eq!(refused, 997);
    done.notify_one();
    assert_eq!(
        call(&mut line, "quick", json!({})).await["error"]["code"],
        -32600,
        "one that has ended is kept"
    );
}

#[tokio::test(start_paused = true)]
async fn task_is_kept_for_its_time_only() {
    let (server, done) = server();
    let mut line = LineClient::connect(&server.task_ttl(Duration::from_secs(5)));
    let ids = [
        call(&mut line, "work", json!({"text": "x"})).await,
        call(&mut line, "work", json!({"text": "x"})).await,
    ];
    let ids = ids.map(|created| created["result"]["taskId"].clone());
    done.notify_one();
    wait_for(&mut line, &ids[0], "completed").await;
    tokio::time::advance(Duration::from_secs(6)).await;
    for id in &ids {
        while of_task(&mut line, "tasks/get", id, json!({})).await["error"]["code"] != -32602 {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn time_of_a_task_can_be_endless() {
    let (server, done) = server();
    let mut line = LineClient::connect(&server.task_ttl(Duration::MAX));
    let created = call(&mut line, "work", json!({"text": "x"})).await;
    done.notify_one();
    let id = &created["result"]["taskId"];
    let ended = wait_for(&mut line, id, "completed");
    let task = timeout(Duration::from_secs(20), ended).await;
    let task = task.expect("the task ends");
    assert_eq!(task["result"]["content"][0]["text"], "x", "{task}");
}

/// Reads an answer until its text contains a mark.
async fn read_until(mut answer: Response, mark: &str) -> (Response, String) {
    let mut text = String::new();
    while !text.contains(mark) {
        text.push_str(&String::from_utf8_lossy(
            &answer.chunk().await.expect("a body").expect("an event"),
        ));
    }
    (answer, text)
}

fn first_id(events: &str) -> String {
    events
        .lines()
        .find_map(|line| line.strip_prefix("id:"))
        .expect("an id")
        .trim()
        .to_owned()
}

#[tokio::test]
async fn lost_stream_of_a_long_call_is_resumed() {
    let (server, done) = server();
    let url = serve(&server).await;
    let session = HttpClient::new(&url)
        .initialize(&json!({}))
        .await
        .expect("a session");
    let params = json!({"name": "work", "arguments": {"text": "still here"}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let (stream, text) = read_until(session.post(&call).await, "\n\n").await;
    let id = first_id(&text);
    assert!(text.contains("retry:"), "{text}");
    drop(stream);
    let resumed = session
        .with("last-event-id", &id)
        .request(Method::GET)
        .send()
        .await
        .expect("an answer");
    done.notify_one();
    let answer = EventReader::new(resumed).next().await.expect("the answer");
    assert_eq!(answer["result"]["content"][0]["text"], "still here");
}

// T18
#[tokio::test]
async fn cancelled_call_keeps_no_events() {
    let url = serve(&server().0).await;
    let session = HttpClient::new(&url)
        .initialize(&json!({}))
        .await
        .expect("a session");
    let params = json!({"name": "report", "arguments": {}, "_meta": {"progressToken": "p"}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let (stream, text) = read_until(session.post(&call).await, "half way").await;
    drop(stream);
    let resume = async || {
        session
            .with("last-event-id", &first_id(&text))
            .request(Method::GET)
            .send()
            .await
    };
    let mut resumed = EventReader::new(resume().await.expect("an answer"));
    assert_eq!(
        resumed.next().await.expect("an event")["params"]["message"],
        "half way"
    );
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    session.post(&cancel).await;
    let resumed = EventReader::new(resume().await.expect("an answer"))
        .next()
        .await;
    assert_eq!(resumed, None, "the stream ends");
}
