//! A client that prints its calls. It answers the gateway's questions as a person would.

use crate::tour::Outcome;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, duplex,
    split,
};
use tool_adapters::gateway::Gateway;

pub(crate) struct Client {
    from: Lines<BufReader<ReadHalf<DuplexStream>>>,
    to: WriteHalf<DuplexStream>,
    requests: u64,
    /// The person's answer to the next questions.
    pub(crate) accepts: bool,
}

impl Client {
    pub(crate) async fn connect(gateway: &Gateway) -> Outcome<Self> {
        let (ours, theirs) = duplex(64 * 1024);
        let gateway = gateway.clone();
        tokio::spawn(async move {
            let (input, output) = split(theirs);
            gateway.serve_streams(input, output).await
        });
        let (from, to) = split(ours);
        let mut client = Self {
            from: BufReader::new(from).lines(),
            to,
            requests: 0,
            accepts: true,
        };
        let info = json!({"name": "example", "version": "1.0.0"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": info});
        client.request("initialize", params).await?;
        client
            .write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await?;
        Ok(client)
    }

    async fn write(&mut self, message: &Value) -> Outcome<()> {
        Ok(self.to.write_all(format!("{message}\n").as_bytes()).await?)
    }

    async fn request(&mut self, method: &str, params: Value) -> Outcome<Value> {
        self.requests += 1;
        let id = self.requests;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await?;
        loop {
            let line = self
                .from
                .next_line()
                .await?
                .ok_or("the gateway has ended")?;
            let message = serde_json::from_str::<Value>(&line)?;
            if message["method"] == "elicitation/create" {
                let question = message["params"]["message"].as_str().unwrap_or_default();
                let action = if self.accepts { "accept" } else { "decline" };
                println!("  asked: {} -> {action}", question.replace("\n\n", " "));
                let result = json!({"action": action, "content": {}});
                self.write(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
                    .await?;
            } else if message["id"] == id {
                return Ok(message);
            }
        }
    }

    async fn list(&mut self) -> Outcome<Vec<Value>> {
        let answer = self.request("tools/list", json!({})).await?;
        Ok(answer["result"]["tools"]
            .as_array()
            .cloned()
            .ok_or("no list")?)
    }

    pub(crate) async fn tools(&mut self) -> Outcome<Vec<String>> {
        let tools = self.list().await?;
        Ok(tools
            .iter()
            .filter_map(|tool| tool["name"].as_str().map(str::to_owned))
            .collect())
    }

    /// Calls a tool of an MCP App, and reads the page on which a host shows the result.
    pub(crate) async fn show_page(&mut self, tool: &str) -> Outcome<()> {
        let tools = self.list().await?;
        let declared = tools
            .iter()
            .find(|declared| declared["name"] == tool)
            .ok_or("the tool is not offered")?;
        let uri = declared["_meta"]["ui"]["resourceUri"]
            .as_str()
            .ok_or("the tool has no page")?;

        let result = self
            .request("tools/call", json!({"name": tool, "arguments": {}}))
            .await?;
        let data = &result["result"]["structuredContent"];
        println!(
            "  {tool}: {} bytes of structured content",
            data.to_string().len()
        );

        let page = self.request("resources/read", json!({"uri": uri})).await?;
        let page = &page["result"]["contents"][0];
        let size = page["text"].as_str().map_or(0, str::len);
        println!(
            "  {uri}: {}, {size} bytes",
            page["mimeType"].as_str().unwrap_or_default()
        );
        Ok(())
    }

    /// Reads a resource and prints the answer.
    pub(crate) async fn read(&mut self, uri: &str) -> Outcome<()> {
        let answer = self.request("resources/read", json!({"uri": uri})).await?;
        let text = answer["result"]["contents"][0]["text"]
            .as_str()
            .or(answer["error"]["message"].as_str());
        println!("  {uri}: {}", text.unwrap_or_default());
        Ok(())
    }

    /// Calls a tool and prints the answer.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Outcome<()> {
        let answer = self
            .request("tools/call", json!({"name": tool, "arguments": arguments}))
            .await?;
        let text = answer["result"]["content"][0]["text"]
            .as_str()
            .or(answer["error"]["message"].as_str());
        println!("  {tool} {arguments}: {}", text.unwrap_or_default());
        Ok(())
    }
}
