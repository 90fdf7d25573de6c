//! Shared by the tests: a runtime with tools, its inspector, and raw requests.

use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tool_adapters::inspector::Inspector;
use tool_core::session::{CapScope, CircuitBreaker, LimitScope};
use tool_core::trace::Cost;
use tool_core::{
    Content, Intent, Mode, Policy, RunContext, Runtime, ToolContext, ToolError, ToolOutput, tool,
};

pub(crate) const TOKEN: &str = "correct-horse-battery-staple";

/// Search the notes.
#[tool(category = "retrieval")]
pub(crate) fn search(query: &str, #[arg(default = 10, range(1..=50))] limit: u32) -> Vec<String> {
    (0..limit.min(2)).map(|n| format!("{query} {n}")).collect()
}

/// Delete a note.
#[tool(category = "action", confirm)]
pub(crate) fn delete(id: u32) -> u32 {
    id
}

/// Speak to the user at the next turn.
#[tool]
pub(crate) fn remind(text: &str) -> ToolOutput {
    ToolOutput::new(text)
        .intent(Intent::SuppressAudio)
        .warning("nothing is spoken")
}

/// Sign in.
#[tool]
pub(crate) fn sign_in(user: &str, password: &str) -> Result<String, ToolError> {
    if password.len() < 3 {
        Err(ToolError::auth(format!("not {user}")))
    } else {
        Ok(format!("welcome, {user}"))
    }
}

/// Import rows, a part at a time. It ends when its `slot` is released.
#[tool]
pub(crate) async fn import(slot: usize, ctx: &RunContext) -> usize {
    ctx.progress().fraction(
        0.5,
        "half of it with Bearer sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789",
    );
    ctx.update("almost done");
    let released = RELEASED[slot].acquire().await;
    released.expect("not closed").forget();
    slot
}

pub(crate) static RELEASED: [Semaphore; 4] = [const { Semaphore::const_new(0) }; 4];

/// Draw a dot. The answer is a picture and a text.
#[tool]
pub(crate) fn draw() -> Vec<Content> {
    vec![
        Content::image("R0lGODlhAQABAAAAADs=", "image/gif"),
        Content::text("a dot"),
    ]
}

/// Pay a cent.
#[tool]
pub(crate) fn pay(ctx: &RunContext) {
    ctx.record_cost("bank", Cost::micros(10_000));
}

/// Hang up.
#[tool(modes = "voice")]
pub(crate) fn hang_up() {}

pub(crate) fn runtime() -> Runtime {
    let tools = ToolContext::builder()
        .with(search)
        .with(delete)
        .with(remind)
        .with(sign_in)
        .with(hang_up);
    let tools = tools.with(import).with(pay).with(draw);
    let policy = Policy::text()
        .max_calls(Some(5))
        .max_cost(CapScope::Call, Some(Cost::micros(500_000)));
    let policy = policy.max_cost(CapScope::Turn, Some(Cost::micros(50_000)));
    let policy = policy.max_time(CapScope::Principal, Some(Duration::from_secs(3_600)));
    let policy = policy.circuit_breaker(LimitScope::tool("search"), CircuitBreaker::new(3));
    Runtime::builder(tools.build().expect("sound"))
        .policy(policy)
        .build()
        .expect("sound")
}

/// An inspector that is served.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    pub(crate) runtime: Runtime,
}

pub(crate) async fn served() -> Served {
    served_with(|inspector| inspector).await
}

pub(crate) async fn served_with(change: impl FnOnce(Inspector) -> Inspector) -> Served {
    let runtime = runtime();
    let inspector = change(Inspector::new(&runtime).token(TOKEN));
    let bound = inspector
        .bind(([127, 0, 0, 1], 0).into())
        .await
        .expect("an address");
    let address = bound.address().expect("an address");
    tokio::spawn(bound.serve());
    Served { address, runtime }
}

/// The answer to a request.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.body);
        serde_json::from_str(&self.body).expect("JSON")
    }

    #[track_caller]
    pub(crate) fn error(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{}", self.body);
        let document = serde_json::from_str::<Value>(&self.body).expect("JSON");
        document["error"].as_str().expect("a message").to_owned()
    }
}

impl Served {
    /// Sends a request with these lines as its head.
    pub(crate) async fn raw(&self, head: &[&str], body: &str) -> Answer {
        let mut stream = TcpStream::connect(self.address)
            .await
            .expect("the server listens");
        let head = format!(
            "{}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            head.join("\r\n"),
            body.len()
        );
        stream
            .write_all(head.as_bytes())
            .await
            .expect("the server reads");
        // A refused request is answered before its body was read.
        _ = stream.write_all(body.as_bytes()).await;
        let mut answer = Vec::new();
        _ = stream.read_to_end(&mut answer).await;
        let answer = String::from_utf8(answer).expect("text");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        Answer {
            status: status.expect("a status"),
            head: head.to_ascii_lowercase(),
            body: body.to_owned(),
        }
    }

    pub(crate) async fn send(&self, method: &str, path: &str, body: &str) -> Answer {
        let (line, host) = (
            format!("{method} {path} HTTP/1.1"),
            format!("host: {}", self.address),
        );
        let token = format!("authorization: Bearer {TOKEN}");
        self.raw(&[&line, &host, &token], body).await
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        self.send("GET", path, "").await.json()
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Value {
        self.send("POST", path, &body.to_string()).await.json()
    }

    pub(crate) async fn open(&self, id: &str, mode: Mode) -> Value {
        self.post(
            "/api/sessions",
            json!({"id": id, "mode": mode, "principal": "user:7"}),
        )
        .await
    }

    /// Calls a tool in a session, and returns the answer.
    pub(crate) async fn call_in(&self, session: &str, tool: &str, arguments: Value) -> Value {
        let call = json!({"tool": tool, "arguments": arguments.to_string(), "session": session});
        self.post("/api/call", call).await
    }

    /// Reads the events from a span on, until the text appears in them.
    pub(crate) async fn events_until(&self, after: u64, text: &str) -> String {
        let mut stream = self.event_stream(after).await;
        let (mut read, mut buffer) = (String::new(), [0; 4096]);
        while !read.contains(text) {
            let bytes = stream.read(&mut buffer).await.expect("the server sends");
            assert!(bytes > 0, "the stream ended before `{text}`: {read}");
            read.push_str(&String::from_utf8_lossy(&buffer[..bytes]));
        }
        read
    }

    pub(crate) async fn event_stream(&self, after: u64) -> TcpStream {
        let mut stream = TcpStream::connect(self.address)
            .await
            .expect("the server listens");
        let (line, host) = (format!("GET /api/events/{after} HTTP/1.1"), self.address);
        let head = format!("{line}\r\nhost: {host}\r\nauthorization: Bearer {TOKEN}\r\n\r\n");
        stream
            .write_all(head.as_bytes())
            .await
            .expect("the server reads");
        stream
    }
}

impl Served {
    /// Opens a stream of events and returns its status.
    pub(crate) async fn event_stream_status(&self) -> u16 {
        let (mut stream, mut head) = (self.event_stream(0).await, [0; 12]);
        stream.read_exact(&mut head).await.expect("an answer");
        String::from_utf8_lossy(&head[9..])
            .parse()
            .expect("a status")
    }
}
