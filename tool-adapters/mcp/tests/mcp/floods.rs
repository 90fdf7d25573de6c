//! Servers that send too much.

use super::credentials::Logs;
use super::import::{declared, session};
use super::support::run_alone;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, split};
use tokio::sync::Notify;
use tool_adapters::mcp::{McpClient, QuarantineReason};
use tool_core::{ToolCall, ToolContext, Toolset};
use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

/// A server that lists one tool, and a thousand others that are new each time. After the first list it sends
/// notifications, until it is stopped.
#[derive(Clone, Default)]
struct FloodingServer {
    lists: Arc<AtomicUsize>,
    sent: Arc<AtomicUsize>,
    stop: Arc<Notify>,
    /// The notifications of each kind that are sent in a millisecond.
    rate: usize,
}

impl FloodingServer {
    async fn serve(self, stream: DuplexStream) {
        let (from, mut to) = split(stream);
        let mut lines = BufReader::new(from).lines();
        let changed = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n";
        let log = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"error\",\"data\":\"x\"}}\n";
        let flood = format!("{changed}{log}").repeat(self.rate);
        let mut flooding = false;
        loop {
            let line = tokio::select! {
                biased;
                () = self.stop.notified() => { flooding = false; continue }
                line = lines.next_line() => line,
                // The notifications of one millisecond.
                () = tokio::time::sleep(Duration::from_millis(1)), if flooding => {
                    if to.write_all(flood.as_bytes()).await.is_err() { return }
                    self.sent.fetch_add(2 * self.rate, Ordering::Relaxed);
                    continue;
                }
            };
            let Ok(Some(line)) = line else { return };
            let request = serde_json::from_str::<Value>(&line).expect("a message");
            let result = match request["method"].as_str().unwrap_or_default() {
                "initialize" => {
                    let info = json!({"name": "flood", "version": "1"});
                    let can = json!({"tools": {"listChanged": true}, "logging": {}});
                    json!({"protocolVersion": "2025-11-25", "capabilities": can, "serverInfo": info})
                }
                "tools/list" => {
                    let list = self.lists.fetch_add(1, Ordering::Relaxed);
                    flooding = true;
                    let new = (0..1_000).map(|at| declared(&format!("new_{list}_{at}")));
                    let tools = std::iter::once(declared("tool"))
                        .chain(new.filter(|_| list > 0))
                        .collect::<Vec<_>>();
                    json!({"tools": tools})
                }
                "tools/call" => json!({"content": []}),
                _ => continue,
            };
            let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
            if to
                .write_all(format!("{answer}\n").as_bytes())
                .await
                .is_err()
            {
                return;
            }
        }
    }
}

/// Counts the lines that are logged.
#[derive(Clone, Default)]
struct LineCounter(Arc<AtomicUsize>);

impl Visit for LineCounter {
    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}

impl<S: tracing::Subscriber> Layer<S> for LineCounter {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() <= tracing::Level::INFO {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[test]
fn a_flood_of_notifications_is_paused_and_bounded() {
    run_alone("floods::four_hundred_thousand_notifications_are_bounded");
}

#[tokio::test(start_paused = true)]
#[ignore = "the other test runs it in a process of its own"]
async fn four_hundred_thousand_notifications_are_bounded() {
    let lines = LineCounter::default();
    let _guard =
        tracing::subscriber::set_default(tracing_subscriber::registry().with(lines.clone()));
    let server = FloodingServer {
        rate: 100,
        ..FloodingServer::default()
    };
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    tokio::spawn(server.clone().serve(theirs));
    let (from, to) = split(ours);
    let imported = McpClient::streams("flood", from, to)
        .connect()
        .await
        .expect("an import");
    tokio::time::sleep(Duration::from_secs(2)).await;
    let sent = server.sent.load(Ordering::Relaxed);
    assert!(sent > 300_000, "{sent}");
    let kept = imported.quarantined();
    assert_eq!(
        kept.len(),
        1_000,
        "of {} names",
        (server.lists.load(Ordering::Relaxed) - 1) * 1_000
    );
    assert!(
        server.lists.load(Ordering::Relaxed) <= 4,
        "the list is requested once a second at most"
    );
    let logged = lines.0.load(Ordering::Relaxed);
    assert!(logged < 500, "{logged} lines for {sent} notifications");
    server.stop.notify_one();
    let session = session(imported).await;
    assert!(session.call(ToolCall::new("1", "tool", "{}")).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_keeps_changing_is_asked_less_often() {
    let server = FloodingServer {
        rate: 1,
        ..FloodingServer::default()
    };
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    tokio::spawn(server.clone().serve(theirs));
    let (from, to) = split(ours);
    let imported = McpClient::streams("flood", from, to)
        .connect()
        .await
        .expect("an import");
    let tools = ToolContext::builder()
        .with(imported)
        .build()
        .expect("tools");
    // Once a change for each pause is enough.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let early = server.lists.load(Ordering::Relaxed);
    assert!((2..=4).contains(&early), "{early}");
    tokio::time::sleep(Duration::from_secs(8)).await;
    let late = server.lists.load(Ordering::Relaxed) - early;
    assert!(late <= 3, "{late}");
    drop(tools);
}

/// Serves a list and a call. `answer` returns the rest of the answer to each list, and the lines that follow it. Returns what
/// the client answers to requests, when it calls a tool or goes away.
async fn serve_lists(
    stream: DuplexStream,
    mut answer: impl FnMut(usize) -> (Value, String),
) -> Vec<Value> {
    let (from, mut to) = split(stream);
    let (mut lines, mut lists, mut answers) = (BufReader::new(from).lines(), 0, Vec::new());
    while let Ok(Some(line)) = lines.next_line().await {
        let message = serde_json::from_str::<Value>(&line).expect("a message");
        let (mut answer, more) = match message["method"].as_str() {
            Some("initialize") => {
                let info = json!({"name": "lists", "version": "1"});
                let can = json!({"tools": {"listChanged": true}});
                let result = json!({"protocolVersion": "2025-11-25", "capabilities": can, "serverInfo": info});
                (json!({"result": result}), String::new())
            }
            Some("tools/list") => {
                lists += 1;
                answer(lists)
            }
            Some("tools/call") => (json!({"result": {"content": []}}), String::new()),
            Some(_) => continue,
            None => {
                answers.push(message);
                continue;
            }
        };
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = message["id"].clone();
        if to
            .write_all(format!("{answer}\n{more}").as_bytes())
            .await
            .is_err()
            || message["method"] == "tools/call"
        {
            break;
        }
    }
    answers
}

fn one_tool() -> Value {
    json!({"result": {"tools": [declared("tool")]}})
}

/// Imports from a server that sends lines after its list, and calls a tool. Returns what the client answered.
async fn answers_to(lines: String) -> Vec<Value> {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let server = tokio::spawn(serve_lists(theirs, move |_| (one_tool(), lines.clone())));
    let (from, to) = split(ours);
    let session = session(
        McpClient::streams("lists", from, to)
            .connect()
            .await
            .expect("an import"),
    )
    .await;
    assert!(session.call(ToolCall::new("1", "tool", "{}")).await.is_ok());
    server.await.expect("no panic")
}

/// Returns requests of each kind with this id.
fn requests(id: &Value) -> String {
    let ask = json!({"messages": [], "maxTokens": 1});
    let form = json!({"message": "x", "requestedSchema": {"type": "object", "properties": {}}});
    let requests = [
        json!({"jsonrpc": "2.0", "id": id, "method": "ping"}),
        json!({"jsonrpc": "2.0", "id": id, "method": "roots/list"}),
        json!({"jsonrpc": "2.0", "id": id, "method": "sampling/createMessage", "params": ask}),
        json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": form}),
        json!({"jsonrpc": "2.0", "id": id, "method": "other/request", "params": {}}),
    ];
    requests.map(|request| format!("{request}\n")).concat()
}

/// Returns a text with a forged line of a log after each kind of control, in `at` variants.
fn forged(at: usize) -> String {
    let controls = ["\n", "\r\n", "\u{1b}[2K\r\n", "\u{85}\n", "\n\u{202e}\n"];
    format!(
        "x{}2026-11-23 ERROR login: forged {at}",
        controls[at % controls.len()]
    )
}

/// Returns a subscriber for all logs, and the lines that it writes.
fn recorded(level: tracing::Level) -> (Logs, tracing::subscriber::DefaultGuard) {
    let logs = Logs::default();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(logs.clone())
        .with_max_level(level)
        .with_ansi(false);
    (logs, tracing::subscriber::set_default(subscriber.finish()))
}

fn lines_of(logs: &Logs) -> Vec<String> {
    String::from_utf8_lossy(&logs.0.lock().expect("no panic"))
        .lines()
        .map(str::to_owned)
        .collect()
}

fn forged_lines(lines: &[String]) -> usize {
    lines
        .iter()
        .filter(|line| line.trim_start().starts_with("2026-11-23 ERROR"))
        .count()
}

#[tokio::test]
async fn answers_pings_and_refuses_other_requests() {
    let answers = answers_to(requests(&json!(7)) + &requests(&json!("seven"))).await;
    assert_eq!(answers.len(), 10);
    assert_eq!(
        answers
            .iter()
            .filter(|answer| answer["result"] == json!({}))
            .count(),
        2
    );
    assert_eq!(
        answers
            .iter()
            .filter(|answer| answer["error"]["code"] == -32601)
            .count(),
        8
    );
    assert!(
        answers
            .iter()
            .all(|answer| answer["id"] == 7 || answer["id"] == "seven"),
        "{answers:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_ping_after_a_thousand_notifications_is_answered() {
    let params = json!({"progressToken": 1, "progress": 1.0});
    let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
    let ping = json!({"jsonrpc": "2.0", "id": "alive", "method": "ping"});
    let answers = answers_to(format!("{progress}\n").repeat(1_000) + &format!("{ping}\n")).await;
    assert_eq!(
        answers,
        [json!({"jsonrpc": "2.0", "id": "alive", "result": {}})]
    );
}

#[tokio::test(start_paused = true)]
async fn a_ping_after_a_thousand_requests_is_answered() {
    let other = json!({"jsonrpc": "2.0", "id": 1, "method": "other/request", "params": {}});
    let ping = json!({"jsonrpc": "2.0", "id": "alive", "method": "ping"});
    let answers = answers_to(format!("{other}\n").repeat(1_000) + &format!("{ping}\n")).await;
    let alive = json!({"jsonrpc": "2.0", "id": "alive", "result": {}});
    assert!(answers.contains(&alive), "{} answers", answers.len());
}

#[tokio::test(start_paused = true)]
async fn a_request_beyond_the_limit_is_refused() {
    let other = json!({"jsonrpc": "2.0", "id": 1, "method": "other/request", "params": {}});
    let answers = answers_to(format!("{other}\n").repeat(200)).await;
    assert_eq!(answers.len(), 200);
    let last = &answers[199]["error"]["message"];
    assert_eq!(last, "too many requests in a short time; ask again later");
}

#[test]
fn requests_of_a_server_are_bounded() {
    run_alone("floods::a_hundred_thousand_requests_are_bounded");
    run_alone("floods::a_thousand_ids_forge_no_line_of_a_log");
}

#[tokio::test(start_paused = true)]
#[ignore = "the other test runs it in a process of its own"]
async fn a_hundred_thousand_requests_are_bounded() {
    let (logs, _guard) = recorded(tracing::Level::INFO);
    let answers = answers_to((0..20_000).map(|at| requests(&json!(at))).collect()).await;
    let refused = answers.iter().filter(|answer| {
        answer["error"]["message"]
            .as_str()
            .is_some_and(|text| text.starts_with("too many requests"))
    });
    assert_eq!(refused.count(), 800);
    assert_eq!(answers.len(), 1_000, "of 100,000");
    let lines = lines_of(&logs);
    assert!(lines.len() < 20, "{lines:#?}");
}

#[tokio::test(start_paused = true)]
#[ignore = "the other test runs it in a process of its own"]
async fn a_thousand_ids_forge_no_line_of_a_log() {
    let (logs, _guard) = recorded(tracing::Level::TRACE);
    let mut answers = 0;
    for at in (0..1_000).step_by(10) {
        let ids = (at..at + 10).map(|at| {
            json!(if at % 10 == 9 {
                "x".repeat(1_000)
            } else {
                forged(at)
            })
        });
        answers += answers_to(ids.map(|id| requests(&id)).collect())
            .await
            .len();
    }
    let lines = lines_of(&logs);
    assert!(lines.len() > 1_000);
    assert_eq!((forged_lines(&lines), answers), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_reads_no_answers_can_be_closed() {
    let (ours, theirs) = tokio::io::duplex(1 << 10);
    let (from, to) = split(ours);
    let server = tokio::spawn(async move {
        let (read, mut write) = split(theirs);
        let mut lines = BufReader::new(read).lines();
        for answer in ["initialize", "", "tools/list"] {
            let line = lines
                .next_line()
                .await
                .expect("the client writes")
                .expect("a line");
            let result = match answer {
                "initialize" => {
                    json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}})
                }
                "tools/list" => json!({"tools": [declared("tool")]}),
                _ => continue,
            };
            let id = serde_json::from_str::<Value>(&line).expect("a message")["id"].clone();
            let line = format!(
                "{}\n",
                json!({"jsonrpc": "2.0", "id": id, "result": result})
            );
            write
                .write_all(line.as_bytes())
                .await
                .expect("the client reads");
        }
        for at in 0..1_000 {
            write
                .write_all(requests(&json!(at)).as_bytes())
                .await
                .expect("the client reads");
        }
        (lines, write)
    });
    let imported = McpClient::streams("deaf", from, to)
        .connect()
        .await
        .expect("an import");
    let streams = server.await.expect("all requests are read");
    imported.close().await.expect("closed");
    drop(streams);
}

#[test]
fn errors_of_a_list_forge_no_line_of_a_log() {
    run_alone("floods::a_thousand_errors_of_a_list_stay_on_one_line");
}

#[tokio::test(start_paused = true)]
#[ignore = "the other test runs it in a process of its own"]
async fn a_thousand_errors_of_a_list_stay_on_one_line() {
    let (logs, _guard) = recorded(tracing::Level::WARN);
    let error = |at| {
        let long = if at % 100 == 0 {
            "y".repeat(1 << 20)
        } else {
            String::new()
        };
        json!({"error": {"code": -32603, "message": forged(at) + &long}})
    };
    for at in 0..1_000 {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        tokio::spawn(serve_lists(theirs, move |_| (error(at), String::new())));
        let (from, to) = split(ours);
        let shown = McpClient::streams("lists", from, to)
            .connect()
            .await
            .expect_err("no list")
            .to_string();
        assert!(
            shown.contains("forged") && shown.len() < 1_000,
            "{} bytes",
            shown.len()
        );
        assert!(
            !shown.contains(|c: char| c.is_control() || c == '\u{202e}'),
            "{shown}"
        );
    }
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let lists = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&lists);
    tokio::spawn(serve_lists(theirs, move |at| {
        count.store(at, Ordering::Relaxed);
        let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
        (
            if at == 1 { one_tool() } else { error(at) },
            format!("{changed}\n"),
        )
    }));
    let (from, to) = split(ours);
    let imported = McpClient::streams("lists", from, to)
        .connect()
        .await
        .expect("an import");
    while lists.load(Ordering::Relaxed) < 1_001 {
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
    drop(imported);
    let lines = lines_of(&logs);
    assert_eq!(forged_lines(&lines), 0);
    assert!(
        lines.len() >= 1_000 && lines.iter().all(|line| line.len() < 1_000),
        "{}",
        lines.len()
    );
}

#[test]
fn declarations_forge_no_line_of_a_log() {
    run_alone("floods::a_thousand_invalid_tools_stay_on_one_line");
}

#[tokio::test(start_paused = true)]
#[ignore = "the other test runs it in a process of its own"]
async fn a_thousand_invalid_tools_stay_on_one_line() {
    let (logs, _guard) = recorded(tracing::Level::WARN);
    for at in 0..1_000 {
        let mut tool = declared("tool");
        let text = json!(forged(at));
        match at % 4 {
            0 => tool["name"] = text,
            1 => tool["inputSchema"]["type"] = text,
            2 => tool["inputSchema"]["properties"] = json!({forged(at): {"$ref": forged(at)}}),
            _ => {
                tool["inputSchema"]["properties"]["text"] =
                    json!({"type": "string", "pattern": forged(at) + "("});
            }
        }
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let page = json!({"result": {"tools": [tool]}});
        tokio::spawn(serve_lists(theirs, move |_| (page.clone(), String::new())));
        let (from, to) = split(ours);
        let imported = McpClient::streams("lists", from, to)
            .connect()
            .await
            .expect("an import");
        assert_eq!(imported.quarantined().len(), 1, "{at}");
    }
    let lines = lines_of(&logs);
    assert_eq!((forged_lines(&lines), lines.len()), (0, 1_000));
}

#[tokio::test]
async fn a_page_has_at_most_10_000_tools() {
    let tools = |count| {
        (0..count).map(|at| json!({"name": format!("t{at}"), "inputSchema": {"type": "object"}}))
    };
    let page = json!({"result": {"tools": tools(10_001).collect::<Vec<_>>()}});
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    tokio::spawn(serve_lists(theirs, move |_| (page.clone(), String::new())));
    let (from, to) = split(ours);
    let imported = Arc::new(
        McpClient::streams("lists", from, to)
            .connect()
            .await
            .expect("an import"),
    );
    assert_eq!(
        imported
            .quarantined()
            .iter()
            .map(|left_out| &*left_out.name)
            .collect::<Vec<_>>(),
        ["tools/list"]
    );
    assert_eq!(imported.tools().len(), 10_000);
}

#[tokio::test]
async fn a_list_has_at_most_8_mib() {
    for (pages, has_rest) in [(7, false), (8, true)] {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        tokio::spawn(serve_lists(theirs, move |at| {
            let mut tool = declared(&format!("t{at}"));
            tool["description"] = "x".repeat(1 << 20).into();
            let next = (at < pages).then(|| at.to_string());
            (
                json!({"result": {"tools": [tool], "nextCursor": next}}),
                String::new(),
            )
        }));
        let (from, to) = split(ours);
        let imported = Arc::new(
            McpClient::streams("lists", from, to)
                .connect()
                .await
                .expect("an import"),
        );
        assert_eq!(
            (
                imported.quarantined().len(),
                Arc::clone(&imported).tools().len()
            ),
            (usize::from(has_rest), 7)
        );
    }
}

#[tokio::test]
async fn of_tools_that_cannot_be_registered_1_000_are_kept() {
    let tools = (0..3_000)
        .map(|at| declared(&format!("bad\tname {at}")))
        .collect::<Vec<_>>();
    let page = json!({"result": {"tools": tools}});
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    tokio::spawn(serve_lists(theirs, move |_| (page.clone(), String::new())));
    let (from, to) = split(ours);
    let imported = McpClient::streams("lists", from, to)
        .connect()
        .await
        .expect("an import");
    assert_eq!(imported.quarantined().len(), 1_000);
    imported.refresh().await.expect("a list");
    // Those that were left out look like added ones, which have room of their own.
    let quarantined = imported.quarantined();
    let added = quarantined
        .iter()
        .filter(|tool| tool.reason == QuarantineReason::Added);
    assert_eq!((quarantined.len(), added.count()), (2_000, 1_000));
}
