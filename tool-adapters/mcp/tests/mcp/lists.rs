//! Lists of tools.

use super::support::{LineClient, server, stateless};
use serde_json::{Value, json};
use std::collections::HashSet;
use tool_adapters::mcp::Server;
use tool_core::session::ToolSearch;
use tool_core::{
    FunctionTool, Policy, RawTool, RunContext, Runtime, ToolContext, ToolError, ToolsetExt, toolset,
};

async fn echo(arguments: Value, _: &RunContext) -> Result<Value, ToolError> {
    Ok(arguments)
}

fn names(page: &Value) -> Vec<String> {
    let tools = page["result"]["tools"].as_array().expect("tools");
    tools
        .iter()
        .map(|tool| tool["name"].as_str().expect("a name").to_owned())
        .collect()
}

#[tokio::test]
async fn lists_schemas_titles_and_annotations() {
    let mut client = LineClient::initialized(&server(), json!({})).await;
    let listed = client.request(json!(1), "tools/list", json!({})).await;
    let add = &listed["result"]["tools"][0];
    assert_eq!(
        (add["name"].as_str(), add["title"].as_str()),
        (Some("add"), Some("Addition"))
    );
    assert_eq!(add["inputSchema"]["required"], json!(["a", "b"]));
    assert_eq!(
        (
            &add["annotations"]["readOnlyHint"],
            &add["annotations"]["idempotentHint"]
        ),
        (&json!(true), &json!(true))
    );
    let erase = listed["result"]["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .find(|tool| tool["name"] == "erase");
    let hints = &erase.expect("erase")["annotations"];
    // Annotations that the tool does not set are not sent.
    assert_eq!(
        hints,
        &json!({"readOnlyHint": false, "destructiveHint": true})
    );
    assert_eq!(
        listed["result"]["tools"][1]["outputSchema"]["type"],
        "object"
    );
}

// R-B3
#[tokio::test]
async fn does_not_list_tools_of_another_mode() {
    let mut client = LineClient::initialized(&server(), json!({})).await;
    let listed = client.request(json!(1), "tools/list", json!({})).await;
    assert!(!names(&listed).contains(&"hum".to_owned()));
    assert_eq!(
        client.call("hum", json!({})).await["result"]["isError"],
        true
    );
}

/// A server whose clients search its tools.
fn searched() -> Server {
    let policy = Policy::text().search_tools(ToolSearch::over_tools(1).always(["add"]));
    Server::new(
        Runtime::builder(super::support::tools())
            .policy(policy)
            .build()
            .expect("a runtime"),
    )
}

// L39
#[tokio::test]
async fn lists_what_a_client_has_found_and_notifies_it() {
    let mut client = LineClient::initialized(&searched(), json!({})).await;
    assert!(
        client.received[0].contains(r#""listChanged":true"#),
        "{:?}",
        client.received
    );
    assert_eq!(
        names(&client.request(json!(1), "tools/list", json!({})).await),
        ["add", "search_tools"]
    );

    let answer = client.call("search_tools", json!({"query": "erase"})).await;
    let text = answer["result"]["content"][0]["text"]
        .as_str()
        .expect("a text");
    assert!(text.contains("- erase: "), "{text}");
    assert!(
        client
            .received
            .iter()
            .any(|line| line.contains("notifications/tools/list_changed"))
    );
    assert_eq!(
        names(&client.request(json!(2), "tools/list", json!({})).await),
        ["add", "erase", "search_tools"]
    );
}

// L39
#[tokio::test]
async fn a_tool_that_was_not_found_is_called() {
    let mut client = LineClient::initialized(&searched(), json!({})).await;
    let answer = client.call("sum", json!({"a": 1, "b": 2})).await;
    assert_eq!(answer["result"]["structuredContent"]["sum"], 3, "{answer}");
    assert!(
        !client
            .received
            .iter()
            .any(|line| line.contains("list_changed\"}"))
    );
}

#[tokio::test]
async fn a_list_without_a_search_does_not_change() {
    let client = LineClient::initialized(&server(), json!({})).await;
    assert!(
        !client.received[0].contains("listChanged"),
        "{:?}",
        client.received
    );
}

struct Hidden(i64);

#[toolset(discover = false)]
impl Hidden {
    /// A hidden tool.
    #[tool]
    fn secret(&self) -> i64 {
        self.0
    }
}

#[tokio::test]
async fn hides_tools_by_predicate_from_lists_and_calls() {
    let tools = ToolContext::builder()
        .with(Hidden(42).dynamic(|_| false))
        .with(super::support::add)
        .build();
    let server = Server::from_tools(tools.expect("tools")).expect("a server");
    let mut client = LineClient::initialized(&server, json!({})).await;
    let listed = client.request(json!(1), "tools/list", json!({})).await;
    assert_eq!(names(&listed), ["add"]);
    assert_eq!(
        client.call("secret", json!({})).await["error"]["code"],
        -32602
    );
}

#[tokio::test]
async fn lists_ten_thousand_tools_in_pages() {
    let mut builder = ToolContext::builder();
    for at in 0..10_000 {
        let declared = RawTool {
            name: format!("tool_{at}"),
            description: format!("Tool number {at}."),
            parameters: json!({"type": "object", "properties": {"text": {"type": "string"}}}),
        };
        builder = builder.with(FunctionTool::raw(declared, echo).validate(true));
    }
    let server = Server::from_tools(builder.build().expect("tools")).expect("a server");
    let mut client = LineClient::initialized(&server, json!({})).await;
    let (mut seen, mut pages, mut params) = (HashSet::new(), 0, json!({}));
    loop {
        let page = client.request(json!(1), "tools/list", params).await;
        let found = names(&page);
        assert!(found.len() <= 1000);
        seen.extend(found);
        pages += 1;
        match page["result"].get("nextCursor") {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => break,
        }
    }
    assert_eq!((seen.len(), pages), (10_000, 10));
    let answer = client.call("tool_9999", json!({"text": "x"})).await;
    assert_eq!(answer["result"]["content"][0]["text"], r#"{"text":"x"}"#);
}

#[tokio::test]
async fn refuses_an_unknown_cursor() {
    let mut client = LineClient::initialized(&server(), json!({})).await;
    for cursor in ["", "-1", "1000000", "7.5", "18446744073709551616", "next"] {
        let answer = client
            .request(json!(1), "tools/list", json!({"cursor": cursor}))
            .await;
        assert_eq!(answer["error"]["code"], -32602, "{cursor}: {answer}");
    }
}

#[tokio::test]
async fn serves_the_newest_revision_without_initialize() {
    let mut client = LineClient::connect(&server());
    let listed = client
        .request(
            json!(1),
            "tools/list",
            json!({"_meta": stateless(&json!({}))}),
        )
        .await;
    assert_eq!(listed["result"]["resultType"], "complete");
    assert_eq!(listed["result"]["cacheScope"], "private");
    assert!(listed["result"]["ttlMs"].is_u64());
    let params =
        json!({"name": "add", "arguments": {"a": 1, "b": 2}, "_meta": stateless(&json!({}))});
    let answer = client.request(json!(2), "tools/call", params).await;
    assert_eq!(
        (
            &answer["result"]["resultType"],
            &answer["result"]["content"][0]["text"]
        ),
        (&json!("complete"), &json!("3"))
    );
}
