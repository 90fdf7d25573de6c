//! One trace of two processes, over the standard streams of a server.
#![cfg(unix)]

use super::other;
use super::spans_support::{collector, span};
use super::support::tools;
use serde_json::json;
use tool_adapters::mcp::{McpClient, Server};
use tool_core::trace::{self, DistributedContext};
use tool_core::{Mode, Runtime, ToolCall, ToolContext};

/// Serves in the other process until standard input ends.
#[tokio::test]
#[ignore = "the other tests run it in their own processes"]
async fn serves_on_standard_streams() {
    other::start();
    let server = Server::from_tools(tools())
        .expect("a server")
        .trust_baggage(true);
    let output = tokio::fs::File::from_std(other::output());
    server
        .serve_streams(tokio::io::stdin(), output)
        .await
        .expect("served");
}

// S9
#[tokio::test]
async fn joins_the_spans_of_two_processes() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("spans");
    let command = other::command("processes::serves_on_standard_streams", &file);
    let imported = McpClient::command(command)
        .name("other")
        .prefix("other")
        .connect()
        .await
        .expect("an import");
    let runtime = Runtime::builder(
        ToolContext::builder()
            .with(imported)
            .build()
            .expect("tools"),
    )
    .build();
    let session = runtime
        .expect("a runtime")
        .session("s", Mode::Text)
        .await
        .expect("a session");
    let collector = collector();
    let calls = async {
        let call = |id: &str, a: i64| {
            session.call(ToolCall::new(id, "other_add", json!({"a": a, "b": 2})))
        };
        tokio::join!(call("c1", 1), call("c2", 5))
    };
    let context = DistributedContext::new().customer_id("acme");
    let (one, two) = collector
        .run(trace::import(context, trace::agent("planner", calls)))
        .await;
    assert_eq!(
        (one.data_json(), two.data_json()),
        (Some(r#"{"result":3}"#), Some(r#"{"result":7}"#))
    );

    let agent = span(&collector, "agent:planner");
    let report = collector.report();
    let calls = report
        .spans()
        .iter()
        .filter(|span| span.label() == "tool:other_add")
        .collect::<Vec<_>>();
    assert!(
        calls.len() == 2
            && calls
                .iter()
                .all(|call| call.parent() == Some(agent.span_id()))
    );
    let mut expected = calls
        .iter()
        .map(|call| call.span_id().to_string())
        .collect::<Vec<_>>();
    let theirs = other::spans(&file);
    let mut parents = theirs
        .iter()
        .map(|span| span[3].clone())
        .collect::<Vec<_>>();
    expected.sort();
    parents.sort();
    assert_eq!(parents, expected, "{theirs:?}");
    for span in &theirs {
        assert_eq!(
            (&*span[0], &*span[1], &*span[4]),
            ("tool:add", &*agent.trace_id().to_string(), "acme")
        );
    }
    // The span records the transport.
    let transport = calls[0]
        .attributes()
        .find(|(key, _)| *key == "network.transport");
    assert_eq!(
        transport.map(|(_, value)| value.clone()),
        Some(json!("pipe"))
    );
}
