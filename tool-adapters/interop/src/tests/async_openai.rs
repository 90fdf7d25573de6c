//! Conversions to async-openai's types.

use crate::async_openai::{
    chat_calls, chat_results, chat_tools, response_calls, response_results, response_tools,
};
use crate::tests::convert::{session, tools as desk};
use async_openai::types::chat::ChatCompletionResponseMessage;
use async_openai::types::responses::{FunctionCallOutput, InputItem, Item, OutputItem};
use serde_json::{Value, json};
use tool_adapters_providers::{DeclareOptions, Provider, declare, declare_with};
use tool_core::ToolCall;

const STRICT: DeclareOptions = DeclareOptions {
    strict: true,
    only_single_type: false,
    model_mixes: false,
    defer: false,
};

fn message(calls: &Value) -> ChatCompletionResponseMessage {
    serde_json::from_value(json!({"role": "assistant", "tool_calls": calls})).expect("a message")
}

fn function(id: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "book", "arguments": arguments}})
}

#[test]
fn chat_tools_equal_the_declarations() {
    for options in [DeclareOptions::default(), STRICT] {
        let declared = declare_with(Provider::OpenAiChat, &desk(), options);
        let written = serde_json::to_value(chat_tools(&declared).expect("tools")).expect("JSON");
        assert_eq!(
            written,
            serde_json::from_str::<Value>(declared.json().get()).expect("JSON")
        );
    }
}

#[test]
fn response_tools_equal_the_declarations() {
    for options in [DeclareOptions::default(), STRICT] {
        let declared = declare_with(Provider::OpenAiResponses, &desk(), options);
        let written =
            serde_json::to_value(response_tools(&declared).expect("tools")).expect("JSON");
        assert_eq!(
            written,
            serde_json::from_str::<Value>(declared.json().get()).expect("JSON")
        );
    }
}

#[test]
fn refuses_declarations_for_another_provider() {
    let error = chat_tools(&declare(Provider::Anthropic, &desk()))
        .expect_err("unsupported")
        .to_string();
    assert_eq!(
        error,
        "expected declarations for openai-chat, got declarations for anthropic"
    );
}

// L18
#[tokio::test]
async fn converts_chat_calls_and_results_with_their_ids() {
    let session = session().await;
    let declared = declare_with(Provider::OpenAiChat, session.tools(), STRICT);
    let requested = [
        function("a", r#"{"guests": 2, "name": "Ada"}"#),
        function("b", r#"{"guests": 2, "name": null}"#),
    ];
    let calls = chat_calls(&declared, &message(&json!(requested)));
    assert_eq!(
        calls.iter().map(ToolCall::id).collect::<Vec<_>>(),
        ["a", "b"]
    );
    let results = chat_results(&session.call_all(calls).await).expect("messages");
    let results = serde_json::to_value(results).expect("JSON");
    assert_eq!(
        (&results[0]["role"], &results[0]["tool_call_id"]),
        (&json!("tool"), &json!("a"))
    );
    assert_eq!(results[0]["content"], json!("2 for Ada"));
    assert_eq!(results[1]["content"], json!("the book is open elsewhere"));
}

#[tokio::test]
async fn answers_calls_with_invalid_json() {
    let session = session().await;
    let declared = declare(Provider::OpenAiChat, session.tools());
    let calls = chat_calls(
        &declared,
        &message(&json!([function("a", "{\"guests\": ")])),
    );
    let answer = session.call(calls[0].clone()).await;
    assert!(
        answer.error().expect("an error").message.contains("JSON"),
        "{answer:?}"
    );
}

#[tokio::test]
async fn converts_response_calls_and_results_with_their_ids() {
    let session = session().await;
    let declared = declare(Provider::OpenAiResponses, session.tools());
    let output: Vec<OutputItem> = serde_json::from_value(json!([
        {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "book", "arguments": "{\"guests\":2,\"name\":\"Ada\"}"},
    ]))
    .expect("items");
    let results = response_results(&session.call_all(response_calls(&declared, &output)).await)
        .expect("items");
    let [InputItem::Item(Item::FunctionCallOutput(result))] = results.as_slice() else {
        panic!("{results:?}")
    };
    assert_eq!(result.call_id.as_deref(), Some("a"));
    assert_eq!(
        result.output,
        FunctionCallOutput::Text("2 for Ada".to_owned())
    );
}
