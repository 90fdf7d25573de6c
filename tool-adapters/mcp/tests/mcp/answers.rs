//! Answers to calls.

use super::support::{LineClient, server, until};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use tool_adapters::mcp::Server;
use tool_core::call::ContentError;
use tool_core::{Content, RunContext, Runtime, ToolContext, tool};

#[tokio::test]
async fn sends_the_json_of_the_data_as_text() {
    let mut client = LineClient::initialized(&server(), json!({})).await;
    let answer = client.call("add", json!({"a": 1, "b": 2})).await;
    assert_eq!(
        answer["result"]["content"],
        json!([{"type": "text", "text": "3"}])
    );
    assert_ne!(answer["result"]["isError"], json!(true));
}

#[tokio::test]
async fn sends_structured_content_for_an_output_schema() {
    let mut client = LineClient::initialized(&server(), json!({})).await;
    let answer = client.call("sum", json!({"a": 1, "b": 2})).await;
    assert_eq!(answer["result"]["structuredContent"], json!({"sum": 3}));
    assert_eq!(answer["result"]["content"][0]["text"], r#"{"sum":3}"#);
}

#[tokio::test]
async fn sends_parts_as_blocks_of_the_same_kind() {
    let mut client = LineClient::initialized(&server(), json!({})).await;
    let answer = client.call("draw", json!({})).await;
    let content = json!([
        {"type": "text", "text": "a dot"},
        {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"},
        {"type": "resource_link", "uri": "file:///tmp/dot.png", "name": "dot.png"}
    ]);
    assert_eq!(answer["result"]["content"], content);
}

#[tokio::test]
async fn sends_an_embedded_pdf_as_a_blob() {
    /// Read the contract.
    #[tool]
    fn contract() -> Result<Content, ContentError> {
        Content::from_bytes(b"%PDF-1.7")
    }

    let tools = ToolContext::builder()
        .with(contract)
        .build()
        .expect("builds");
    let server = Server::new(Runtime::builder(tools).build().expect("builds"));
    let mut client = LineClient::initialized(&server, json!({})).await;
    let answer = client.call("contract", json!({})).await;
    let resource = &answer["result"]["content"][0]["resource"];
    assert_eq!(
        (&resource["blob"], &resource["mimeType"]),
        (&json!("JVBERi0xLjc="), &json!("application/pdf"))
    );
    assert!(
        resource["uri"]
            .as_str()
            .is_some_and(|uri| uri.starts_with("urn:sha256:")),
        "{answer}"
    );
}

// L19
#[tokio::test]
async fn answers_an_unknown_tool_with_a_protocol_error() {
    let mut client = LineClient::initialized(&server(), json!({})).await;
    let answer = client.call("ad", json!({})).await;
    assert_eq!(answer["error"]["code"], -32602);
    let message = answer["error"]["message"].as_str().expect("a message");
    assert!(
        message.contains("`ad`") && message.contains("did you mean `add`"),
        "{message}"
    );
}

#[tokio::test]
async fn reports_all_invalid_arguments_to_the_model() {
    let mut client = LineClient::initialized(&server(), json!({})).await;
    let answer = client.call("add", json!({"a": "x", "c": 1})).await;
    assert_eq!(answer["result"]["isError"], true);
    let text = answer["result"]["content"][0]["text"]
        .as_str()
        .expect("a text");
    assert!(
        text.contains("/a") && text.contains("/b") && text.contains("/c"),
        "{text}"
    );
}

#[tokio::test]
async fn answers_a_panic_without_its_message() {
    let mut client = LineClient::initialized(&server(), json!({})).await;
    let answer = client.call("fall", json!({})).await;
    assert_eq!(answer["result"]["isError"], true);
    assert_eq!(
        client.call("add", json!({"a": 2, "b": 2})).await["result"]["content"][0]["text"],
        "4"
    );
    assert!(!client.received.join("").contains("canary-of-a-panic"));
}

#[tokio::test]
async fn sends_increasing_progress_before_the_result() {
    let mut client = LineClient::initialized(&server(), json!({})).await;
    let params = json!({"name": "work", "arguments": {}, "_meta": {"progressToken": "p", "traceparent": "00-0-0-00"}});
    let answer = client.request(json!(1), "tools/call", params).await;
    assert_eq!(answer["result"]["content"][0]["text"], "done");
    let sent = client
        .received
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let sent = sent
        .filter(|message| message["method"] == "notifications/progress")
        .collect::<Vec<_>>();
    let percents = sent
        .iter()
        .map(|message| message["params"]["progress"].as_f64().expect("a number"));
    let percents = percents.collect::<Vec<_>>();
    assert_eq!(percents.len(), 5);
    assert!(percents.is_sorted_by(|a, b| a < b), "{percents:?}");
    assert!(
        sent.iter()
            .all(|message| message["params"]["progressToken"] == "p")
    );
}

#[tokio::test]
async fn long_messages_about_progress_are_cut() {
    /// Report a lot.
    #[tool(name = "chatter")]
    fn chatter(ctx: &RunContext) {
        ctx.update("x".repeat(1 << 20));
    }

    let tools = ToolContext::builder()
        .with(chatter)
        .build()
        .expect("a sound tool");
    let mut client =
        LineClient::initialized(&Server::from_tools(tools).expect("a server"), json!({})).await;
    let params = json!({"name": "chatter", "arguments": {}, "_meta": {"progressToken": "p"}});
    client.request(json!(1), "tools/call", params).await;
    let sent = client
        .received
        .iter()
        .find(|line| line.contains("notifications/progress"))
        .expect("progress");
    assert!((16_384..17_000).contains(&sent.len()), "{}", sent.len());
}

#[tokio::test]
async fn progress_without_a_message_has_none() {
    /// Report a half.
    #[tool(name = "halve")]
    fn halve(ctx: &RunContext) {
        ctx.progress().fraction(0.5, "");
    }

    let tools = ToolContext::builder()
        .with(halve)
        .build()
        .expect("a sound tool");
    let mut client =
        LineClient::initialized(&Server::from_tools(tools).expect("a server"), json!({})).await;
    let params = json!({"name": "halve", "arguments": {}, "_meta": {"progressToken": "p"}});
    client.request(json!(1), "tools/call", params).await;
    let sent = client
        .received
        .iter()
        .find(|line| line.contains("notifications/progress"))
        .expect("progress");
    assert!(sent.contains("50") && !sent.contains("message"), "{sent}");
}

#[tokio::test]
async fn sends_no_progress_without_a_token() {
    let mut client = LineClient::initialized(&server(), json!({})).await;
    client.call("work", json!({})).await;
    assert!(!client.received.join("").contains("notifications/progress"));
}

#[tokio::test]
async fn cancels_a_call_and_serves_the_next() {
    let runtime = Runtime::builder(super::support::tools())
        .build()
        .expect("a runtime");
    let mut client = LineClient::initialized(&Server::new(runtime.clone()), json!({})).await;
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "wait", "arguments": {}}});
    client.send(&call).await;
    // Calls begin in order, so the first runs once the second is answered.
    client.call("add", json!({"a": 1, "b": 1})).await;
    assert!(!runtime.metrics().tools.contains_key("wait"), "it runs");
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})).await;
    until(async || runtime.metrics().tools.contains_key("wait")).await;
    assert_eq!(runtime.metrics().tools["wait"].calls, 1, "it has ended");
    assert_eq!(
        client.call("add", json!({"a": 1, "b": 2})).await["result"]["content"][0]["text"],
        "3"
    );
    assert!(
        !client
            .received
            .iter()
            .any(|line| line.contains(r#""id":1,"#)),
        "a cancelled call is not answered"
    );
}

#[tokio::test]
async fn a_call_that_is_cancelled_at_once_does_not_run() {
    static RUNS: AtomicUsize = AtomicUsize::new(0);

    /// Count the calls, and wait.
    #[tool(timeout = "60s")]
    async fn count() {
        RUNS.fetch_add(1, Ordering::Relaxed);
        std::future::pending::<()>().await;
    }

    /// Count the calls, and report it.
    #[tool(timeout = "60s")]
    async fn report(ctx: &RunContext) {
        ctx.update("begun");
        RUNS.fetch_add(1, Ordering::Relaxed);
        std::future::pending::<()>().await;
    }

    let tools = ToolContext::builder()
        .with(count)
        .with(report)
        .build()
        .expect("sound tools");
    let runtime = Runtime::builder(tools).build().expect("a runtime");
    let mut client = LineClient::initialized(&Server::new(runtime.clone()), json!({})).await;
    for id in 0..20 {
        let name = if id % 2 == 0 { "count" } else { "report" };
        let params = json!({"name": name, "arguments": {}, "_meta": {"progressToken": id}});
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
        client
            .send_text(format!("{call}\n{cancel}").as_bytes())
            .await;
    }
    let ended = || {
        runtime
            .metrics()
            .tools
            .values()
            .map(|tool| tool.calls)
            .sum::<u64>()
    };
    until(async || ended() == 20).await;
    assert_eq!(RUNS.load(Ordering::Relaxed), 0);
    client.request(json!("last"), "ping", json!({})).await;
    let answers = client
        .received
        .iter()
        .filter(|line| line.contains("isError"))
        .count();
    assert_eq!(answers, 0, "cancelled calls are not answered");
}

// R-I3
#[tokio::test]
async fn ends_the_session_with_the_connection() {
    let runtime = Runtime::builder(super::support::tools())
        .build()
        .expect("a runtime");
    let server = Server::new(runtime.clone());
    let mut client = LineClient::initialized(&server, json!({})).await;
    client.call("add", json!({"a": 1, "b": 2})).await;
    assert_eq!(runtime.sessions().await.expect("a store"), 1);
    drop(client);
    until(async || runtime.sessions().await.expect("a store") == 0).await;
}

#[tokio::test]
async fn sends_a_truncated_result_as_an_error() {
    use tool_core::{FunctionTool, RawTool, RunContext, ToolError};
    async fn long(_: Value, _: &RunContext) -> Result<Value, ToolError> {
        Ok(json!({"text": "x".repeat(10_000)}))
    }
    let declared = RawTool {
        name: "long".into(),
        description: String::new(),
        parameters: json!({"type": "object"}),
    };
    let schema =
        json!({"type": "object", "properties": {"text": {"type": "string", "minLength": 10_000}}});
    let tool = FunctionTool::raw(declared, long)
        .output_schema(schema)
        .max_output(500);
    let server = Server::from_tools(ToolContext::builder().with(tool).build().expect("tools"))
        .expect("a server");
    let answer = LineClient::initialized(&server, json!({}))
        .await
        .call("long", json!({}))
        .await;
    assert_eq!(answer["result"]["isError"], true);
    assert!(answer["result"].get("structuredContent").is_none());
}
