//! The schemas of imported tools.

use super::scripted::ScriptedServer;
use serde_json::{Value, json};
use tool_core::{RunContext, ToolContext};

fn declared() -> Value {
    let input = json!({"type": "object", "properties": {
        "at": {"type": "string", "format": "date-time"}, "count": {"type": "integer"}, "note": {"type": "string"},
    }});
    let output =
        json!({"type": "object", "properties": {"at": {"type": "string", "format": "date-time"}}});
    json!({"tools/list": {"tools": [{"name": "book", "inputSchema": input, "outputSchema": output}]}})
}

// V7
#[tokio::test]
async fn formats_are_left_to_the_server() {
    let (mut server, imported) = ScriptedServer::import_lists(declared(), |client| client).await;
    let tools = ToolContext::builder()
        .with(imported)
        .build()
        .expect("sound tools");
    let arguments = r#"{"at":"2026-01-05T10:00:00"}"#;
    let (response, ()) = tokio::join!(
        async { tools.call("book", arguments, &RunContext::detached()).await },
        async {
            let call = server.receive_method("tools/call").await;
            assert_eq!(call["params"]["arguments"]["at"], "2026-01-05T10:00:00");
            let booked = json!({"at": "2026-01-05T10:00:00"});
            server
                .answer(&call, json!({"content": [], "structuredContent": booked}))
                .await;
        }
    );
    assert_eq!(
        response.data_json(),
        Some(arguments),
        "{}",
        response.to_json()
    );
}

// V3
#[tokio::test]
async fn arguments_are_coerced_like_those_of_own_tools() {
    let (mut server, imported) = ScriptedServer::import_lists(declared(), |client| client).await;
    let tools = ToolContext::builder()
        .with(imported)
        .build()
        .expect("sound tools");
    let ctx = RunContext::detached();
    let call = async {
        tools
            .call("book", r#"{"count": "5", "note": "7"}"#, &ctx)
            .await
    };
    let (response, ()) = tokio::join!(call, async {
        let call = server.receive_method("tools/call").await;
        assert_eq!(
            call["params"]["arguments"],
            json!({"count": 5, "note": "7"})
        );
        server
            .answer(&call, json!({"content": [], "structuredContent": {}}))
            .await;
    });
    assert_eq!(response.meta().coerced(), ["/count: text to integer"]);
    // A number is no text, as it has lost its spelling: `1.10` is `1.1`.
    let refused = tools.call("book", r#"{"note": 7}"#, &ctx).await;
    assert!(
        refused.error().expect("an error").message.contains("/note"),
        "{}",
        refused.to_json()
    );
}

// T22
#[tokio::test]
async fn tools_with_one_schema_share_it() {
    let properties = (0..1_000).map(|at| (format!("property_{at}"), json!({"type": "string"})));
    let schema =
        json!({"type": "object", "properties": properties.collect::<serde_json::Map<_, _>>()});
    let tools = (0..20).map(
        |at| json!({"name": format!("tool_{at}"), "inputSchema": schema, "outputSchema": schema}),
    );
    let lists = json!({"tools/list": {"tools": tools.collect::<Vec<_>>()}});
    let (_server, imported) = ScriptedServer::import_lists(lists, |client| client).await;
    let tools = ToolContext::builder()
        .with(imported)
        .build()
        .expect("sound tools");
    let schemas = tools
        .definitions()
        .map(|tool| (std::ptr::from_ref(tool.parameters()), tool.output()));
    let schemas = schemas
        .map(|(input, output)| (input, output.map(std::ptr::from_ref)))
        .collect::<Vec<_>>();
    assert_eq!(schemas.len(), 20);
    assert!(schemas.iter().all(|schema| schema == &schemas[0]));
}
