//! What calls are answered.

use super::support::{Lines, server};
use serde_json::{Value, json};
use std::time::Duration;
use tool_adapters::mcp::Server;
use tool_core::{Runtime, ToolContext};

#[tokio::test]
async fn a_result_is_the_json_of_its_data() {
    let mut client = Lines::begun(&server(), json!({})).await;
    let answer = client.call("add", json!({"a": 1, "b": 2})).await;
    assert_eq!(answer["result"]["content"], json!([{"type": "text", "text": "3"}]));
    assert_ne!(answer["result"]["isError"], json!(true));
}

#[tokio::test]
async fn a_promised_object_is_structured_content() {
    let mut client = Lines::begun(&server(), json!({})).await;
    let answer = client.call("sum", json!({"a": 1, "b": 2})).await;
    assert_eq!(answer["result"]["structuredContent"], json!({"sum": 3}));
    assert_eq!(answer["result"]["content"][0]["text"], r#"{"sum":3}"#);
}

#[tokio::test]
async fn parts_are_shown_as_what_they_are() {
    let mut client = Lines::begun(&server(), json!({})).await;
    let answer = client.call("draw", json!({})).await;
    let content = json!([
        {"type": "text", "text": "a dot"},
        {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"},
        {"type": "resource_link", "uri": "file:///tmp/dot.png", "name": "dot.png"}
    ]);
    assert_eq!(answer["result"]["content"], content);
}

// L19
#[tokio::test]
async fn a_tool_that_does_not_exist_is_an_error_of_the_protocol() {
    let mut client = Lines::begun(&server(), json!({})).await;
    let answer = client.call("ad", json!({})).await;
    assert_eq!(answer["error"]["code"], -32602);
    let message = answer["error"]["message"].as_str().expect("a message");
    assert!(message.contains("`ad`") && message.contains("did you mean `add`"), "{message}");
}

#[tokio::test]
async fn bad_arguments_are_an_error_for_the_model_with_all_problems() {
    let mut client = Lines::begun(&server(), json!({})).await;
    let answer = client.call("add", json!({"a": "x", "c": 1})).await;
    assert_eq!(answer["result"]["isError"], true);
    let text = answer["result"]["content"][0]["text"].as_str().expect("a text");
    assert!(text.contains("/a") && text.contains("/b") && text.contains("/c"), "{text}");
}

#[tokio::test]
async fn a_panic_is_answered_and_told_to_nobody() {
    let mut client = Lines::begun(&server(), json!({})).await;
    let answer = client.call("fall", json!({})).await;
    assert_eq!(answer["result"]["isError"], true);
    assert_eq!(client.call("add", json!({"a": 2, "b": 2})).await["result"]["content"][0]["text"], "4");
    assert!(!client.heard.join("").contains("canary-of-a-panic"));
}

#[tokio::test]
async fn updates_come_before_the_result_and_grow() {
    let mut client = Lines::begun(&server(), json!({})).await;
    let params = json!({"name": "work", "arguments": {}, "_meta": {"progressToken": "p", "traceparent": "00-0-0-00"}});
    let answer = client.request(json!(1), "tools/call", params).await;
    assert_eq!(answer["result"]["content"][0]["text"], r#""done""#);
    let told = client.heard.iter().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let told = told.filter(|message| message["method"] == "notifications/progress").collect::<Vec<_>>();
    let reached = told.iter().map(|message| message["params"]["progress"].as_f64().expect("a number"));
    let reached = reached.collect::<Vec<_>>();
    assert_eq!(reached.len(), 5);
    assert!(reached.is_sorted_by(|a, b| a < b), "{reached:?}");
    assert!(told.iter().all(|message| message["params"]["progressToken"] == "p"));
}

#[tokio::test]
async fn nobody_is_told_who_did_not_ask() {
    let mut client = Lines::begun(&server(), json!({})).await;
    client.call("work", json!({})).await;
    assert!(!client.heard.join("").contains("notifications/progress"));
}

#[tokio::test]
async fn a_cancelled_call_ends_and_the_next_one_works() {
    let runtime = Runtime::builder(super::support::tools()).build().expect("a runtime");
    let mut client = Lines::begun(&Server::new(runtime.clone()), json!({})).await;
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "wait", "arguments": {}}});
    client.send(&call).await;
    // It runs by the time that the other is answered, as calls are begun in their order.
    client.call("add", json!({"a": 1, "b": 1})).await;
    assert_eq!(runtime.tally("wait").map(|tally| tally.calls), Some(0), "it runs");
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})).await;
    for _ in 0..500 {
        if runtime.tally("wait").is_some_and(|tally| tally.calls > 0) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(runtime.tally("wait").map(|tally| tally.calls), Some(1), "it has ended");
    assert_eq!(client.call("add", json!({"a": 1, "b": 2})).await["result"]["content"][0]["text"], "3");
    assert!(!client.heard.iter().any(|line| line.contains(r#""id":1,"#)), "a cancelled call is not answered");
}

// R-I3
#[tokio::test]
async fn the_session_ends_with_the_connection() {
    let runtime = Runtime::builder(super::support::tools()).build().expect("a runtime");
    let server = Server::new(runtime.clone());
    let mut client = Lines::begun(&server, json!({})).await;
    client.call("add", json!({"a": 1, "b": 2})).await;
    assert_eq!(runtime.sessions().await.expect("a store"), 1);
    drop(client);
    for _ in 0..100 {
        if runtime.sessions().await.expect("a store") == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the session goes on");
}

#[tokio::test]
async fn a_result_that_was_cut_is_not_passed_off_as_what_was_promised() {
    use tool_core::{FunctionTool, RawTool, RunContext, ToolError};
    async fn long(_: Value, _: &RunContext) -> Result<Value, ToolError> {
        Ok(json!({"text": "x".repeat(10_000)}))
    }
    let declared = RawTool { name: "long".into(), description: String::new(), parameters: json!({"type": "object"}) };
    let schema = json!({"type": "object", "properties": {"text": {"type": "string", "minLength": 10_000}}});
    let tool = FunctionTool::raw(declared, long).output_schema(schema).max_output(500);
    let server = Server::of_tools(ToolContext::builder().with(tool).build().expect("tools")).expect("a server");
    let answer = Lines::begun(&server, json!({})).await.call("long", json!({})).await;
    assert_eq!(answer["result"]["isError"], true);
    assert!(answer["result"].get("structuredContent").is_none());
}
