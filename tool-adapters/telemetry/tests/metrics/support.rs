//! Shared by the tests: a runtime with metrics, and raw requests.

use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tool_adapters::telemetry::prometheus::MetricsRouter;
use tool_core::{Mode, Runtime, ToolCall, ToolContext, tool};

/// Say it again.
#[tool]
fn echo(text: String) -> String {
    text
}

pub(crate) async fn runtime() -> Runtime {
    let tools = ToolContext::builder().with(echo).build().expect("sound");
    let runtime = Runtime::builder(tools).build().expect("sound");
    let session = runtime.session("s", Mode::Text).await.expect("opens");
    session
        .call(ToolCall::new("1", "echo", r#"{"text": "hello"}"#))
        .await;
    session.call(ToolCall::new("2", "invented", "{}")).await;
    runtime
}

pub(crate) async fn serving(router: MetricsRouter) -> SocketAddr {
    let bound = router
        .bind(([127, 0, 0, 1], 0).into())
        .await
        .expect("an address");
    let address = bound.address().expect("an address");
    tokio::spawn(bound.serve());
    address
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

/// The answer to a raw request, of which these are the lines of the head.
pub(crate) async fn ask(address: SocketAddr, head: &[String]) -> Answer {
    let mut stream = TcpStream::connect(address)
        .await
        .expect("the server listens");
    let head = format!("{}\r\nconnection: close\r\n\r\n", head.join("\r\n"));
    stream
        .write_all(head.as_bytes())
        .await
        .expect("the server reads");
    let mut answer = Vec::new();
    stream
        .read_to_end(&mut answer)
        .await
        .expect("the server answers");
    let answer = String::from_utf8(answer).expect("text");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    Answer {
        status: status.expect("a status"),
        head: head.to_ascii_lowercase(),
        body: body.to_owned(),
    }
}

pub(crate) fn request(method: &str, target: &str, more: &[&str]) -> Vec<String> {
    let first = format!("{method} {target} HTTP/1.1");
    std::iter::once(first)
        .chain(more.iter().map(|line| (*line).to_owned()))
        .collect()
}
