//! A client over HTTP that sends what it likes.

use super::support::stateless;
use reqwest::{Client, Method, RequestBuilder, Response};
use serde_json::{Value, json};
use tool_adapters::mcp::Server;

/// Serves in a task, and returns the URL.
pub(crate) async fn serve(server: &Server) -> String {
    let bound = server
        .bind(([127, 0, 0, 1], 0).into())
        .await
        .expect("an address");
    let url = bound.url().expect("an address");
    tokio::spawn(bound.serve());
    url
}

/// Returns a server that takes the principal from the header `x-user`.
pub(crate) fn by_user(server: Server) -> Server {
    server.principal(|parts| {
        parts
            .headers
            .get("x-user")?
            .to_str()
            .ok()
            .map(str::to_owned)
    })
}

/// Sends requests with some headers.
#[derive(Clone)]
pub(crate) struct HttpClient {
    url: String,
    http: Client,
    headers: Vec<(String, String)>,
}

impl HttpClient {
    pub(crate) fn new(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            http: Client::new(),
            headers: Vec::new(),
        }
    }

    /// Adds or replaces a header.
    pub(crate) fn with(&self, name: &str, value: &str) -> Self {
        let mut client = self.clone();
        client.headers.retain(|(known, _)| known != name);
        client.headers.push((name.to_owned(), value.to_owned()));
        client
    }

    pub(crate) fn request(&self, method: Method) -> RequestBuilder {
        let request = self
            .http
            .request(method, &self.url)
            .header("accept", "application/json, text/event-stream");
        self.headers.iter().fold(request, |request, (name, value)| {
            request.header(name, value)
        })
    }

    pub(crate) async fn post(&self, message: &Value) -> Response {
        let request = self
            .request(Method::POST)
            .header("content-type", "application/json");
        request
            .body(message.to_string())
            .send()
            .await
            .expect("an answer")
    }

    /// Opens a session, and returns the client that sends its id.
    pub(crate) async fn initialize(&self, capabilities: &Value) -> Result<Self, Response> {
        let info = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info});
        let answer = self
            .post(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}))
            .await;
        match answer
            .headers()
            .get("mcp-session-id")
            .and_then(|id| id.to_str().ok())
        {
            Some(id) => Ok(self
                .with("mcp-session-id", id)
                .with("mcp-protocol-version", "2025-11-25")),
            None => Err(answer),
        }
    }

    /// Calls a tool in revision 2026-07-28, and returns the answer.
    pub(crate) async fn call_stateless(
        &self,
        id: u64,
        tool: &str,
        arguments: &Value,
        more: Value,
    ) -> Value {
        let mut params = json!({"name": tool, "arguments": arguments, "_meta": stateless(&json!({"elicitation": {}}))});
        params
            .as_object_mut()
            .expect("an object")
            .extend(more.as_object().cloned().unwrap_or_default());
        let client = self
            .with("mcp-protocol-version", "2026-07-28")
            .with("mcp-method", "tools/call")
            .with("mcp-name", tool);
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        EventReader::new(client.post(&call).await)
            .next()
            .await
            .expect("an answer")
    }
}

/// Reads the messages of a response: events, or one message as JSON.
pub(crate) struct EventReader {
    response: Response,
    text: String,
}

impl EventReader {
    pub(crate) fn new(response: Response) -> Self {
        Self {
            response,
            text: String::new(),
        }
    }

    /// Returns the next message. Returns `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let data = event
                    .lines()
                    .filter_map(|line| line.strip_prefix("data:"))
                    .collect::<String>();
                let message = serde_json::from_str(&data).ok();
                self.text = rest.into();
                if message.is_some() {
                    return message;
                }
                continue;
            }
            match self.response.chunk().await.expect("a body") {
                Some(chunk) => self.text.push_str(&String::from_utf8_lossy(&chunk)),
                None => return serde_json::from_str(&std::mem::take(&mut self.text)).ok(),
            }
        }
    }
}
