//! Conversations in which the provider's own search finds the tool.

use crate::server::{Answer, Server};
use crate::support::{model, searched_session};
use serde_json::{Value, json};
use tool_adapters::agent::AgentLoop;
use tool_adapters::{DeclareOptions, Provider};

/// The items by which a provider searches and then calls `add`.
fn searched(provider: Provider) -> Vec<Value> {
    if provider == Provider::Anthropic {
        let found = json!({"type": "tool_search_tool_search_result", "tool_references": [{"type": "tool_reference", "tool_name": "add"}]});
        return vec![
            json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "tool_search_tool_bm25", "input": {"query": "add"}}),
            json!({"type": "tool_search_tool_result", "tool_use_id": "srvtoolu_1", "content": found}),
            json!({"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1, "b": 2}}),
        ];
    }
    let tools = json!([{"type": "function", "name": "add", "defer_loading": true, "parameters": {"type": "object"}}]);
    vec![
        json!({"type": "tool_search_call", "id": "tsc_1", "execution": "server", "status": "completed", "call_id": null, "arguments": {"paths": ["add"]}}),
        json!({"type": "tool_search_output", "id": "tso_1", "execution": "server", "status": "completed", "call_id": null, "tools": tools}),
        json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "add", "arguments": r#"{"a":1,"b":2}"#, "status": "completed", "namespace": "add"}),
    ]
}

fn answer(provider: Provider, items: &[Value], stop: &str) -> Answer {
    let whole = if provider == Provider::Anthropic {
        json!({"type": "message", "id": "m", "role": "assistant", "model": "m", "content": items, "stop_reason": stop,
            "usage": {"input_tokens": 10, "output_tokens": 5}})
    } else {
        json!({"id": "r", "object": "response", "status": "completed", "output": items})
    };
    Answer::new(
        200,
        &[("content-type", "application/json")],
        &whole.to_string(),
    )
}

fn said(provider: Provider) -> Value {
    if provider == Provider::Anthropic {
        return json!({"type": "text", "text": "It is 3."});
    }
    json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": "It is 3.", "annotations": []}]})
}

// L39
#[tokio::test]
async fn the_providers_search_stays_in_the_history() {
    for provider in [Provider::Anthropic, Provider::OpenAiResponses] {
        let items = searched(provider);
        let end = answer(provider, &[said(provider)], "end_turn");
        let server = Server::start([answer(provider, &items, "tool_use"), end]).await;
        let model = model(provider, &server).stream(false);
        let model = model.declare_options(DeclareOptions {
            defer: true,
            ..DeclareOptions::default()
        });
        let (session, runs) = searched_session().await;
        let reply = AgentLoop::new(session.clone(), model)
            .prompt("1 + 2?")
            .await;
        assert_eq!(
            (reply.text.as_deref(), runs.count()),
            (Some("It is 3."), 1),
            "{provider}: {reply:?}"
        );

        let requests = server.requests();
        let (first, second) = (&requests[0].body, &requests[1].body);
        // The tool that was called is declared by the session, and the provider's list stays the same.
        assert_eq!(session.definitions().len(), 2);
        assert_eq!(first["tools"], second["tools"], "{provider}");
        assert_eq!(first["tools"][0]["defer_loading"], true);
        let sent = if provider == Provider::Anthropic {
            &second["messages"][1]["content"]
        } else {
            &second["input"]
        };
        let sent = sent.as_array().expect("items");
        assert!(
            items.iter().all(|item| sent.contains(item)),
            "{provider}: {sent:?}"
        );
    }
}
