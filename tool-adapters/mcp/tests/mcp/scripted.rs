//! A server whose messages a test writes itself.

use serde_json::{Value, json};
use std::collections::VecDeque;
use std::time::Duration;
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, split,
};
use tokio::time::timeout;
use tool_adapters::mcp::{ImportedToolset, McpClient};

pub(crate) struct ScriptedServer {
    from: Lines<BufReader<ReadHalf<DuplexStream>>>,
    to: WriteHalf<DuplexStream>,
    /// The parameters of `initialize`.
    pub(crate) begun: Value,
    /// The lists, by the methods that request them.
    pub(crate) lists: Value,
    /// Other messages that came while the client connected.
    early: VecDeque<Value>,
}

impl ScriptedServer {
    /// Connects a client to a server with the tool `work`, named `acme`.
    pub(crate) async fn import(
        configure: impl FnOnce(McpClient) -> McpClient,
    ) -> (Self, ImportedToolset) {
        let tools = json!([
            {"name": "work", "inputSchema": {"type": "object"}},
            {"name": "long", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "optional"}}
        ]);
        Self::import_lists(json!({"tools/list": {"tools": tools}}), configure).await
    }

    /// Connects a client to a server with these lists.
    pub(crate) async fn import_lists(
        lists: Value,
        configure: impl FnOnce(McpClient) -> McpClient,
    ) -> (Self, ImportedToolset) {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (from, to) = split(theirs);
        let mut server = Self {
            from: BufReader::new(from).lines(),
            to,
            begun: Value::Null,
            lists,
            early: VecDeque::new(),
        };
        let (input, output) = split(ours);
        let client = configure(McpClient::streams("acme", input, output));
        let connecting = tokio::spawn(client.connect());
        while !connecting.is_finished() {
            tokio::select! {
                biased;
                line = server.from.next_line() => {
                    let line = line.expect("the client writes").expect("the client is connected");
                    let message = serde_json::from_str(&line).expect("JSON");
                    if !server.answer_list(&message).await {
                        server.early.push_back(message);
                    }
                }
                () = tokio::task::yield_now() => {}
            }
        }
        (
            server,
            connecting.await.expect("no panic").expect("an import"),
        )
    }

    /// Answers the start of a session and requests for lists. Returns false for other messages.
    async fn answer_list(&mut self, message: &Value) -> bool {
        let method = message["method"].as_str().unwrap_or_default();
        let has = |list: &str| {
            self.lists
                .get(list)
                .map(|_| json!({"listChanged": true, "subscribe": true}))
        };
        let result = match method {
            "initialize" => {
                self.begun = message["params"].clone();
                let mut can =
                    json!({"tools": {"listChanged": true}, "logging": {}, "completions": {}});
                for (name, list) in [("prompts", "prompts/list"), ("resources", "resources/list")] {
                    if let Some(declared) = has(list) {
                        can[name] = declared;
                    }
                }
                let info = json!({"name": "scripted", "version": "1"});
                json!({"protocolVersion": "2025-11-25", "capabilities": can, "serverInfo": info})
            }
            "notifications/initialized" => return true,
            "logging/setLevel" => json!({}),
            list => match self.lists.get(list) {
                Some(listed) => listed.clone(),
                None if list == "resources/templates/list" => json!({"resourceTemplates": []}),
                None => return false,
            },
        };
        self.answer(message, result).await;
        true
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.to
            .write_all(format!("{message}\n").as_bytes())
            .await
            .expect("the client reads");
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params}))
            .await;
    }

    pub(crate) async fn request(&mut self, id: Value, method: &str, params: Value) {
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
    }

    pub(crate) async fn answer(&mut self, request: &Value, result: Value) {
        self.send(json!({"jsonrpc": "2.0", "id": request["id"], "result": result}))
            .await;
    }

    /// Answers a call with a text.
    pub(crate) async fn finish(&mut self, call: &Value, text: &str) {
        self.answer(call, json!({"content": [{"type": "text", "text": text}]}))
            .await;
    }

    /// Returns the next message. Requests for lists are answered.
    pub(crate) async fn receive(&mut self) -> Value {
        if let Some(message) = self.early.pop_front() {
            return message;
        }
        loop {
            let line = timeout(Duration::from_secs(20), self.from.next_line())
                .await
                .expect("a message in time");
            let line = line
                .expect("the client writes")
                .expect("the client is connected");
            let message = serde_json::from_str(&line).expect("JSON");
            if !self.answer_list(&message).await {
                return message;
            }
        }
    }

    /// Returns the next message with this method.
    pub(crate) async fn receive_method(&mut self, method: &str) -> Value {
        let message = self.receive().await;
        assert_eq!(message["method"], method, "{message}");
        message
    }
}
