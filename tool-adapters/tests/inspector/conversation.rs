//! Conversations with a script, and with the model of the program.

use crate::support::{served, served_with};
use serde_json::{Value, json};
use tool_core::testing::ScriptedModel;
use tool_core::{Mode, ToolCall};

#[tokio::test]
async fn a_script_calls_tools_and_answers() {
    let served = served().await;
    served.open("s", Mode::Text).await;
    let script = json!([
        {"calls": [{"name": "search", "arguments": {"query": "tea"}}]},
        {"says": "There is tea."},
    ]);
    let reply = served.post("/api/sessions/s/messages", json!({"text": "Is there tea?", "script": script})).await;
    assert_eq!((&reply["text"], &reply["steps"]), (&json!("There is tea."), &json!(1)));
    let from = reply["messages"].as_array().expect("a list").iter().map(|message| message["from"].clone());
    assert_eq!(from.collect::<Vec<_>>(), ["user", "model", "tool", "model"]);
    assert_eq!(served.get("/api/sessions/s/messages").await, reply["messages"]);
}

#[tokio::test]
async fn a_script_may_request_an_approval() {
    let served = served().await;
    served.open("s", Mode::Text).await;
    let script = json!([{"calls": [{"name": "delete", "arguments": {"id": 1}}]}, {"says": "Wait."}]);
    served.post("/api/sessions/s/messages", json!({"text": "Delete it", "script": script})).await;
    assert_eq!(served.get("/api/approvals").await[0]["tool"], "delete");
}

#[tokio::test]
async fn a_script_that_ends_early_is_an_error() {
    let served = served().await;
    served.open("s", Mode::Text).await;
    let reply = served.post("/api/sessions/s/messages", json!({"text": "Hello", "script": []})).await;
    assert!(reply["error"].as_str().expect("an error").contains("the script"), "{reply}");
}

#[tokio::test]
async fn without_a_model_a_script_is_needed() {
    let served = served().await;
    served.open("s", Mode::Text).await;
    let message = json!({"text": "Hello"}).to_string();
    let answer = served.send("POST", "/api/sessions/s/messages", &message).await;
    assert!(answer.error(400).contains("no model"), "{}", answer.body);
}

#[tokio::test]
async fn the_model_of_the_program_answers() {
    let call = ToolCall::new("call_1", "search", json!({"query": "tea"}));
    let model = ScriptedModel::new().calls([call]).says("Found.");
    let served = served_with(|inspector| inspector.model(model)).await;
    served.open("s", Mode::Text).await;
    assert_ne!(served.get("/api/overview").await["model"], Value::Null);
    let reply = served.post("/api/sessions/s/messages", json!({"text": "Tea?"})).await;
    assert_eq!(reply["text"], "Found.");
}
