//! A folder with the files of a gateway, and a client over lines.

use crate::child;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, split,
};
use tokio::time::timeout;
use tool_adapters::gateway::{Gateway, GatewayFiles};

/// A folder with `mcp.json` and `policy.toml`.
pub(crate) struct Folder(TempDir);

impl Folder {
    /// Creates a folder with one server, `one`.
    pub(crate) fn new(policy: &str) -> Self {
        let folder = Self(tempfile::tempdir().expect("a folder"));
        folder.servers(&json!({"one": folder.child("one", "v1")}));
        folder.policy(policy);
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Returns the entry of a server with a folder of its own.
    pub(crate) fn child(&self, name: &str, version: &str) -> Value {
        std::fs::create_dir_all(self.path(name)).expect("created");
        child::entry(&self.path(name), version)
    }

    pub(crate) fn servers(&self, servers: &Value) {
        self.write("mcp.json", &json!({"mcpServers": servers}).to_string());
    }

    pub(crate) fn policy(&self, text: &str) {
        self.write("policy.toml", text);
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("written");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("a file")
    }

    pub(crate) fn notes(&self, server: &str) -> Vec<String> {
        child::notes(&self.path(server))
    }

    pub(crate) fn files(&self) -> GatewayFiles {
        GatewayFiles {
            config: self.path("mcp.json"),
            policy: Some(self.path("policy.toml")),
        }
    }

    pub(crate) async fn open(&self) -> Gateway {
        Gateway::open(self.files()).await.expect("a gateway")
    }

    pub(crate) fn as_path(&self) -> &Path {
        self.0.path()
    }
}

/// Starts a gateway with one server, `one`, and a client.
pub(crate) async fn start(policy: &str) -> (Folder, Gateway, Client) {
    start_version(policy, "v1").await
}

/// Starts a gateway with a version of the server `one`, and a client.
pub(crate) async fn start_version(policy: &str, version: &str) -> (Folder, Gateway, Client) {
    let folder = Folder::new(policy);
    folder.servers(&json!({"one": folder.child("one", version)}));
    let gateway = folder.open().await;
    let client = Client::connect(&gateway).await;
    (folder, gateway, client)
}

/// Waits for a condition that another task or process brings about.
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

/// A client over lines, such as of a program that starts the gateway.
pub(crate) struct Client {
    from: Lines<BufReader<ReadHalf<DuplexStream>>>,
    to: WriteHalf<DuplexStream>,
    next: u64,
    answers: HashMap<u64, String>,
    /// The messages that are no answers.
    pub(crate) messages: Vec<Value>,
    /// The answer to questions.
    pub(crate) action: &'static str,
}

impl Client {
    pub(crate) async fn connect(gateway: &Gateway) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (from, to) = split(theirs);
        let gateway = gateway.clone();
        tokio::spawn(async move { gateway.serve_streams(from, to).await });
        let (from, to) = split(ours);
        let (answers, messages) = (HashMap::new(), Vec::new());
        let from = BufReader::new(from).lines();
        let mut client = Self {
            from,
            to,
            next: 0,
            answers,
            messages,
            action: "accept",
        };
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": {"name": "t", "version": "1"}
        });
        let answer = client.request("initialize", params).await;
        assert_eq!(
            answer["result"]["capabilities"]["tools"]["listChanged"],
            true
        );
        client
            .write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await;
        client
    }

    pub(crate) async fn write(&mut self, message: &Value) {
        self.to
            .write_all(format!("{message}\n").as_bytes())
            .await
            .expect("the gateway reads");
    }

    /// Sends a request, and returns its id.
    pub(crate) async fn send(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        self.write(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}))
            .await;
        self.next
    }

    /// Reads one message. A question is answered.
    pub(crate) async fn receive(&mut self) {
        let line = timeout(Duration::from_secs(60), self.from.next_line())
            .await
            .expect("a message in time");
        let line = line
            .expect("the gateway writes")
            .expect("the gateway is connected");
        let message = serde_json::from_str::<Value>(&line).expect("only the protocol");
        match (message["id"].as_u64(), message.get("method")) {
            (Some(id), None) => _ = self.answers.insert(id, line),
            (_, Some(method)) if method == "elicitation/create" => {
                let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": {"action": self.action, "content": {}}});
                self.messages.push(message);
                self.write(&answer).await;
            }
            _ => self.messages.push(message),
        }
    }

    pub(crate) async fn answer(&mut self, id: u64) -> Value {
        serde_json::from_str(&self.answer_text(id).await).expect("JSON")
    }

    async fn answer_text(&mut self, id: u64) -> String {
        loop {
            if let Some(answer) = self.answers.remove(&id) {
                return answer;
            }
            self.receive().await;
        }
    }

    /// Waits until a tool is offered.
    pub(crate) async fn offered(&mut self, tool: &str) {
        until(async || self.tools().await.iter().any(|offered| offered == tool)).await;
    }

    /// Waits for a notification.
    pub(crate) async fn notified(&mut self, method: &str) {
        while self
            .messages
            .iter()
            .all(|message| message["method"] != method)
        {
            self.receive().await;
        }
    }

    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params).await;
        self.answer(id).await
    }

    /// Sends a request, and returns the text of the answer.
    pub(crate) async fn request_text(&mut self, method: &str, params: Value) -> String {
        let id = self.send(method, params).await;
        self.answer_text(id).await
    }

    /// Calls a tool. Returns the text, and true if it is an error.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> (String, bool) {
        let answer = self
            .request("tools/call", json!({"name": tool, "arguments": arguments}))
            .await;
        text(&answer)
    }

    pub(crate) async fn tools(&mut self) -> Vec<String> {
        let answer = self.request("tools/list", json!({})).await;
        let tools = answer["result"]["tools"].as_array().expect("a list");
        tools
            .iter()
            .map(|tool| tool["name"].as_str().expect("a name").to_owned())
            .collect()
    }
}

/// Returns the text of an answer, and true if it is an error.
pub(crate) fn text(answer: &Value) -> (String, bool) {
    if let Some(error) = answer.get("error") {
        return (
            error["message"].as_str().expect("a message").to_owned(),
            true,
        );
    }
    let result = &answer["result"];
    let structured = result["structuredContent"]["result"].as_str();
    let text = structured
        .or_else(|| result["content"][0]["text"].as_str())
        .unwrap_or_default();
    (text.to_owned(), result["isError"] == true)
}
