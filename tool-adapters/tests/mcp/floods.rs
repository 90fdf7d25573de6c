//! Servers that notify all the time.

use super::import::{declared, session};
use super::support::run_alone;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, split};
use tokio::sync::Notify;
use tool_adapters::mcp::McpClient;
use tool_core::{ToolCall, ToolContext};
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
                    let tools = std::iter::once(declared("tool")).chain(new.filter(|_| list > 0)).collect::<Vec<_>>();
                    json!({"tools": tools})
                }
                "tools/call" => json!({"content": []}),
                _ => continue,
            };
            let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
            if to.write_all(format!("{answer}\n").as_bytes()).await.is_err() {
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
    let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(lines.clone()));
    let server = FloodingServer { rate: 100, ..FloodingServer::default() };
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    tokio::spawn(server.clone().serve(theirs));
    let (from, to) = split(ours);
    let imported = McpClient::streams("flood", from, to).connect().await.expect("an import");
    tokio::time::sleep(Duration::from_secs(2)).await;
    let sent = server.sent.load(Ordering::Relaxed);
    assert!(sent > 300_000, "{sent}");
    let kept = imported.quarantined();
    assert_eq!(kept.len(), 1_000, "of {} names", (server.lists.load(Ordering::Relaxed) - 1) * 1_000);
    assert!(server.lists.load(Ordering::Relaxed) <= 4, "the list is requested once a second at most");
    let logged = lines.0.load(Ordering::Relaxed);
    assert!(logged < 500, "{logged} lines for {sent} notifications");
    server.stop.notify_one();
    let session = session(imported).await;
    assert!(session.call(ToolCall::new("1", "tool", "{}")).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_keeps_changing_is_asked_less_often() {
    let server = FloodingServer { rate: 1, ..FloodingServer::default() };
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    tokio::spawn(server.clone().serve(theirs));
    let (from, to) = split(ours);
    let imported = McpClient::streams("flood", from, to).connect().await.expect("an import");
    let tools = ToolContext::builder().with(imported).build().expect("tools");
    // Once a change for each pause is enough.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let early = server.lists.load(Ordering::Relaxed);
    assert!((2..=4).contains(&early), "{early}");
    tokio::time::sleep(Duration::from_secs(8)).await;
    let late = server.lists.load(Ordering::Relaxed) - early;
    assert!(late <= 3, "{late}");
    drop(tools);
}
