//! The program `tool-gateway` as it ends: readiness, running calls, and signals.

use crate::support::{Folder, text, until};
use reqwest::{Client, Response};
use serde_json::{Value, json};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// A gateway over HTTP in a process of its own, and its client.
struct Running {
    process: Child,
    client: HttpClient,
}

/// A client with a session.
#[derive(Clone)]
struct HttpClient {
    http: Client,
    /// The address of the gateway without a path.
    url: String,
    session: String,
}

fn program(folder: &Folder) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tool-gateway"));
    command
        .env("TOOL_GATEWAY_CONFIG", folder.path("mcp.json"))
        .env("TOOL_GATEWAY_POLICY", folder.path("policy.toml"))
        .kill_on_drop(true);
    command
}

/// Sends a signal to a process.
async fn signal(process: &Child, name: &str) {
    let id = process.id().expect("it runs").to_string();
    let sent = Command::new("kill").args([name, &id]).status().await;
    assert!(sent.expect("kill").success());
}

async fn ended(process: &mut Child) -> ExitStatus {
    let ended = timeout(Duration::from_secs(20), process.wait()).await;
    ended.expect("it ends").expect("a status")
}

impl Running {
    async fn start(folder: &Folder) -> Self {
        let mut command = program(folder);
        command.args(["--http", "127.0.0.1:0"]);
        let streams = command.stdin(Stdio::null()).stderr(Stdio::piped());
        let mut process = streams.spawn().expect("started");
        let mut log = BufReader::new(process.stderr.take().expect("piped")).lines();
        let url = loop {
            let line = log.next_line().await.expect("a line").expect("it listens");
            if let Some(url) = line.strip_prefix("listening on ") {
                break url.trim_end_matches("/mcp").to_owned();
            }
        };
        // It goes on writing.
        tokio::spawn(async move { while let Ok(Some(_)) = log.next_line().await {} });
        let mut client = HttpClient {
            http: Client::new(),
            url,
            session: String::new(),
        };
        let answer = client.initialize().await;
        let session = answer.headers()["mcp-session-id"].to_str();
        session.expect("a text").clone_into(&mut client.session);
        Self { process, client }
    }

    /// Tells the gateway to end, and waits until it says that it does.
    async fn terminate(&self) {
        assert_eq!(self.client.readiness().await.0, 200);
        signal(&self.process, "-TERM").await;
        until(async || self.client.readiness().await.0 == 503).await;
    }
}

impl HttpClient {
    /// Asks for a new session.
    async fn initialize(&self) -> Response {
        let initialize = json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        });
        self.post(&initialize).await
    }

    async fn post(&self, message: &Value) -> Response {
        let mut request = self.http.post(format!("{}/mcp", self.url));
        if !self.session.is_empty() {
            request = request.header("mcp-protocol-version", "2025-11-25");
            if message["method"] != "initialize" {
                request = request.header("mcp-session-id", &self.session);
            }
        }
        let accept = "application/json, text/event-stream";
        let request = request.header("accept", accept).json(message);
        request.send().await.expect("an answer")
    }

    /// Begins a call.
    fn begin(&self, id: u64, tool: &str, arguments: &Value) -> JoinHandle<(String, bool)> {
        let call = json!({
            "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}
        });
        let client = self.clone();
        tokio::spawn(async move {
            let answer = client.post(&call).await;
            let body = answer.text().await.expect("a body");
            let is_answer =
                |line: &&str| line.contains(r#""result""#) || line.contains(r#""error""#);
            let line = body.lines().find(is_answer).unwrap_or_default();
            let json = line.strip_prefix("data: ").unwrap_or(line);
            text(&serde_json::from_str(json).expect("JSON"))
        })
    }

    /// Makes a call, and returns its text, and true if it is an error.
    async fn call(&self, id: u64, tool: &str, arguments: &Value) -> (String, bool) {
        self.begin(id, tool, arguments).await.expect("an answer")
    }

    /// Begins a call that waits for the file `release`.
    async fn hold(&self, folder: &Folder) -> JoinHandle<(String, bool)> {
        let held = self.begin(7, "one_hold", &json!({}));
        until(async || folder.notes("one").iter().any(|note| note == "hold")).await;
        held
    }

    async fn readiness(&self) -> (u16, Value) {
        let answer = self.http.get(format!("{}/readyz", self.url)).send().await;
        let answer = answer.expect("an answer");
        let status = answer.status().as_u16();
        (status, answer.json().await.expect("JSON"))
    }
}

fn release(folder: &Folder) {
    std::fs::write(folder.path("one").join("release"), "").expect("written");
}

#[tokio::test]
async fn a_running_call_is_answered_before_the_end() {
    let folder = Folder::new("");
    let mut gateway = Running::start(&folder).await;
    let held = gateway.client.hold(&folder).await;
    gateway.terminate().await;
    let (_, body) = gateway.client.readiness().await;
    assert_eq!(body["draining"], true);
    assert_eq!(body["ready"], false);
    assert_eq!(body["servers"]["one"]["state"], "up");
    // It lives on: a restart would end the call.
    let live = gateway
        .client
        .http
        .get(format!("{}/healthz", gateway.client.url));
    assert_eq!(live.send().await.expect("an answer").status(), 200);

    release(&folder);
    let (text, is_error) = held.await.expect("an answer");
    assert_eq!((text.as_str(), is_error), ("v1 held", false));
    assert_eq!(ended(&mut gateway.process).await.code(), Some(0));
}

#[tokio::test]
async fn a_new_call_is_put_off_while_the_gateway_ends() {
    let folder = Folder::new("");
    let mut gateway = Running::start(&folder).await;
    let held = gateway.client.hold(&folder).await;
    gateway.terminate().await;

    let (text, is_error) = gateway
        .client
        .call(8, "one_write", &json!({"text": "a"}))
        .await;
    assert!(is_error && text.contains("about to end"), "{text}");
    let refused = gateway.client.initialize().await;
    assert_eq!(refused.status(), 503);
    assert_eq!(refused.headers()["retry-after"], "1");
    assert_eq!(refused.headers()["connection"], "close");

    release(&folder);
    assert!(!held.await.expect("an answer").1);
    assert_eq!(ended(&mut gateway.process).await.code(), Some(0));
    assert!(!folder.notes("one").iter().any(|note| note == "write a"));
}

#[tokio::test]
async fn a_call_over_the_limit_is_cancelled_and_answered() {
    let folder = Folder::new("[limits]\ndrain = '300ms'");
    let mut gateway = Running::start(&folder).await;
    let held = gateway.client.hold(&folder).await;
    signal(&gateway.process, "-TERM").await;
    let (text, is_error) = held.await.expect("an answer");
    assert!(is_error && text.contains("cancelled"), "{text}");
    assert_eq!(ended(&mut gateway.process).await.code(), Some(0));
}

#[tokio::test]
async fn a_second_signal_ends_the_gateway_at_once() {
    let folder = Folder::new("[limits]\ndrain = '1h'");
    let mut gateway = Running::start(&folder).await;
    let held = gateway.client.hold(&folder).await;
    gateway.terminate().await;
    signal(&gateway.process, "-TERM").await;
    assert_eq!(ended(&mut gateway.process).await.code(), Some(1));
    held.abort();
}

#[tokio::test]
async fn a_call_that_waits_for_an_operator_does_not_hold_it_up() {
    let folder = Folder::new(
        "[limits]\napproval_wait = '1h'\n[inspector]\nlisten = '127.0.0.1:0'\n[audit]\nfile = 'audit.jsonl'\n\
         [[tools]]\nmatch = '*_write'\nconfirm = true",
    );
    let mut gateway = Running::start(&folder).await;
    let waiting = gateway.client.begin(7, "one_write", &json!({"text": "a"}));
    let audit = folder.path("audit.jsonl");
    until(async || std::fs::metadata(&audit).is_ok_and(|file| file.len() > 0)).await;

    signal(&gateway.process, "-TERM").await;
    let (text, is_error) = waiting.await.expect("an answer");
    assert!(is_error && text.contains("has not run"), "{text}");
    assert_eq!(ended(&mut gateway.process).await.code(), Some(0));
    // No one has decided.
    let records = folder.read("audit.jsonl");
    assert!(records.contains("CONFIRMATION_REQUIRED"), "{records}");
    assert!(!records.contains("DENIED"), "{records}");
}

#[tokio::test]
async fn a_call_over_the_standard_streams_finishes() {
    let folder = Folder::new("");
    let mut command = program(&folder);
    let streams = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut process = streams.spawn().expect("started");
    let mut input = process.stdin.take().expect("piped");
    let mut output = BufReader::new(process.stdout.take().expect("piped")).lines();
    let messages = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "one_hold", "arguments": {}}}),
    ];
    for message in messages {
        let line = format!("{message}\n");
        input.write_all(line.as_bytes()).await.expect("written");
    }
    until(async || folder.notes("one").iter().any(|note| note == "hold")).await;
    signal(&process, "-TERM").await;

    // Calls that come now are answered, and do not run.
    let mut answers = Vec::new();
    for id in 3.. {
        let echo = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "one_echo", "arguments": {"text": "a"}}});
        input
            .write_all(format!("{echo}\n").as_bytes())
            .await
            .expect("written");
        let answer = loop {
            let message = next_message(&mut output).await;
            if message["id"] == id {
                break message;
            }
            answers.push(message);
        };
        if text(&answer).0.contains("about to end") {
            break;
        }
    }
    release(&folder);
    let held = loop {
        let message = next_message(&mut output).await;
        if message["id"] == 2 {
            break message;
        }
    };
    assert!(answers.iter().all(|answer| answer["id"] != 2));
    assert_eq!(text(&held).0, "v1 held");
    assert_eq!(ended(&mut process).await.code(), Some(0));
}

async fn next_message(output: &mut Lines<BufReader<ChildStdout>>) -> Value {
    let line = output.next_line().await.expect("a line");
    serde_json::from_str(&line.expect("a message")).expect("JSON")
}

#[cfg(feature = "redis")]
#[tokio::test]
async fn a_gateway_is_not_ready_without_its_store() {
    use tokio::io::copy_bidirectional;
    use tokio::net::{TcpListener, TcpStream};

    let Ok(redis) = std::env::var("REDIS_URL") else {
        tool_core::testing::skip("there is no REDIS_URL");
        return;
    };
    let redis = redis
        .trim_start_matches("redis://")
        .trim_end_matches('/')
        .to_owned();
    // A way to Redis that can be cut.
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let connect = move |listener: TcpListener| {
        let redis = redis.clone();
        tokio::spawn(async move {
            let mut open = tokio::task::JoinSet::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut to = TcpStream::connect(&redis).await.expect("Redis");
                open.spawn(async move { copy_bidirectional(&mut stream, &mut to).await });
            }
        })
    };
    let way = connect(listener);
    let folder = Folder::new(&format!(
        "[sessions]\nredis = 'redis://{address}/'\nprefix = 'ready-{}'\nsigning_key = '{}'",
        std::process::id(),
        "0a".repeat(32)
    ));
    let mut gateway = Running::start(&folder).await;
    assert_eq!(gateway.client.readiness().await.0, 200);

    way.abort();
    until(async || gateway.client.readiness().await.0 == 503).await;
    let (_, body) = gateway.client.readiness().await;
    assert_eq!(
        (&body["store"], &body["draining"]),
        (&json!("down"), &json!(false))
    );

    let listener = TcpListener::bind(address).await.expect("the same port");
    let way = connect(listener);
    until(async || gateway.client.readiness().await.0 == 200).await;
    signal(&gateway.process, "-TERM").await;
    assert_eq!(ended(&mut gateway.process).await.code(), Some(0));
    way.abort();
}
