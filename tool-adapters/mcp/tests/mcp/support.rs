//! A server of a few tools, and a client that writes and reads lines.

use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf, split,
};
use tokio::time::timeout;
use tool_adapters::mcp::Server;
use tool_core::schemars::{self, JsonSchema};
use tool_core::serde::{Deserialize, Serialize};
use tool_core::{CancellationToken, Content, Progress, ToolContext, tool};

/// Waits for what another task does. The time only ends a test that would hang.
pub(crate) async fn until(mut happened: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !happened().await {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(60), waiting)
        .await
        .expect("it happens");
}

/// Runs an ignored test in a process of its own. A subscriber for logs makes the tests beside it record spans.
pub(crate) fn run_alone(test: &str) {
    let mut process = std::process::Command::new(std::env::current_exe().expect("this program"));
    let output = process
        .args(["--ignored", "--exact", test, "--test-threads=1"])
        .output()
        .expect("a process");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && printed.contains("1 passed"),
        "{printed}"
    );
}

/// Add two numbers.
#[tool(category = "retrieval", title = "Addition")]
pub(crate) fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// A sum.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(crate = "tool_core::serde")]
pub(crate) struct Sum {
    /// The sum.
    pub(crate) sum: i64,
}

/// Add two numbers and return a struct.
#[tool]
pub(crate) fn sum(a: i64, b: i64) -> Sum {
    Sum { sum: a + b }
}

/// Draw.
#[tool]
pub(crate) fn draw() -> Vec<Content> {
    vec![
        Content::text("a dot"),
        Content::image("iVBORw0KGgo=", "image/png"),
        Content::resource("file:///tmp/dot.png"),
    ]
}

/// Panic.
#[tool]
pub(crate) fn fall() -> i64 {
    panic!("canary-of-a-panic")
}

/// Report progress.
#[tool]
pub(crate) async fn work(#[context] progress: Progress) -> String {
    progress.message("begun");
    for done in 1..=3_u32 {
        progress.fraction(f64::from(done) / 4.0, format!("{done} of 4"));
    }
    progress.message("nearly");
    "done".to_owned()
}

/// Wait until the call is cancelled.
#[tool(timeout = "60s")]
pub(crate) async fn wait(#[context] cancelled: CancellationToken) -> String {
    cancelled.cancelled().await;
    "cancelled".to_owned()
}

/// Erase everything.
#[tool(category = "action", destructive, confirm)]
pub(crate) fn erase(what: &str) -> String {
    format!("erased {what}")
}

/// Hum, in voice sessions only.
#[tool(modes("voice"))]
pub(crate) fn hum() -> String {
    "hm".to_owned()
}

pub(crate) fn tools() -> ToolContext {
    let builder = ToolContext::builder()
        .with(add)
        .with(sum)
        .with(draw)
        .with(fall)
        .with(work)
        .with(wait);
    builder.with(erase).with(hum).build().expect("sound tools")
}

pub(crate) fn server() -> Server {
    Server::from_tools(tools()).expect("a server")
}

/// A client that sends and receives raw lines.
pub(crate) struct LineClient {
    from: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    to: WriteHalf<DuplexStream>,
    /// Every line that was received.
    pub(crate) received: Vec<String>,
}

impl LineClient {
    /// Connects to a server that runs in a task.
    pub(crate) fn connect(server: &Server) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (from, to) = split(theirs);
        let server = server.clone();
        tokio::spawn(async move { server.serve_streams(from, to).await });
        let (from, to) = split(ours);
        Self {
            from: BufReader::new(from).lines(),
            to,
            received: Vec::new(),
        }
    }

    /// Connects and initializes with these capabilities.
    pub(crate) async fn initialized(server: &Server, capabilities: Value) -> Self {
        let mut client = Self::connect(server);
        let begin = json!({
            "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "test", "version": "1"}
        });
        client.request(json!("begin"), "initialize", begin).await;
        client
            .send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await;
        client
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.send_text(message.to_string().as_bytes()).await;
    }

    pub(crate) async fn send_text(&mut self, line: &[u8]) {
        self.to.write_all(line).await.expect("the server reads");
        self.to.write_all(b"\n").await.expect("the server reads");
    }

    pub(crate) async fn receive(&mut self) -> Value {
        let line = timeout(Duration::from_secs(20), self.from.next_line())
            .await
            .expect("an answer in time");
        let line = line
            .expect("the server writes")
            .expect("the server is connected");
        let message = serde_json::from_str(&line).expect("only the protocol");
        self.received.push(line);
        message
    }

    /// Sends a request and returns its answer.
    pub(crate) async fn request(&mut self, id: Value, method: &str, params: Value) -> Value {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
        loop {
            let message = self.receive().await;
            if message.get("id") == Some(&id) && message.get("method").is_none() {
                return message;
            }
        }
    }

    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request(
            json!(7),
            "tools/call",
            json!({"name": tool, "arguments": arguments}),
        )
        .await
    }
}

/// Returns the `_meta` of a request of revision 2026-07-28.
pub(crate) fn stateless(capabilities: &Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities
    })
}
