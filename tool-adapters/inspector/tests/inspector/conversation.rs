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
    let reply = served
        .post(
            "/api/sessions/s/messages",
            json!({"text": "Is there tea?", "script": script}),
        )
        .await;
    assert_eq!(
        (&reply["text"], &reply["steps"]),
        (&json!("There is tea."), &json!(1))
    );
    let from = reply["messages"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|message| message["from"].clone());
    assert_eq!(from.collect::<Vec<_>>(), ["user", "model", "tool", "model"]);
    assert_eq!(
        served.get("/api/sessions/s/messages").await,
        reply["messages"]
    );
}

#[tokio::test]
async fn a_script_may_request_an_approval() {
    let served = served().await;
    served.open("s", Mode::Text).await;
    let script =
        json!([{"calls": [{"name": "delete", "arguments": {"id": 1}}]}, {"says": "Wait."}]);
    served
        .post(
            "/api/sessions/s/messages",
            json!({"text": "Delete it", "script": script}),
        )
        .await;
    assert_eq!(served.get("/api/approvals").await[0]["tool"], "delete");
}

#[tokio::test]
async fn a_script_that_ends_early_is_an_error() {
    let served = served().await;
    served.open("s", Mode::Text).await;
    let reply = served
        .post(
            "/api/sessions/s/messages",
            json!({"text": "Hello", "script": []}),
        )
        .await;
    assert!(
        reply["error"]
            .as_str()
            .expect("an error")
            .contains("the script"),
        "{reply}"
    );
}

#[tokio::test]
async fn without_a_model_a_script_is_needed() {
    let served = served().await;
    served.open("s", Mode::Text).await;
    let message = json!({"text": "Hello"}).to_string();
    let answer = served
        .send("POST", "/api/sessions/s/messages", &message)
        .await;
    assert!(answer.error(400).contains("no model"), "{}", answer.body);
}

#[tokio::test]
async fn the_model_of_the_program_answers() {
    let call = ToolCall::new("call_1", "search", json!({"query": "tea"}));
    let model = ScriptedModel::new().calls([call]).says("Found.");
    let served = served_with(|inspector| inspector.model(model)).await;
    served.open("s", Mode::Text).await;
    assert_ne!(served.get("/api/overview").await["model"], Value::Null);
    let reply = served
        .post("/api/sessions/s/messages", json!({"text": "Tea?"}))
        .await;
    assert_eq!(reply["text"], "Found.");
}

#[tokio::test]
async fn a_result_with_parts_has_them_in_its_message() {
    let served = served().await;
    served.open("s", Mode::Text).await;
    let script = json!([{"calls": [{"name": "draw", "arguments": {}}]}, {"says": "Drawn."}]);
    let reply = served
        .post(
            "/api/sessions/s/messages",
            json!({"text": "Draw", "script": script}),
        )
        .await;
    assert_eq!(
        reply["messages"][2]["content"][0]["mimeType"], "image/gif",
        "{reply}"
    );
    assert_eq!(reply["messages"][3].get("content"), None, "{reply}");
}

// S13
#[tokio::test]
async fn the_spans_of_a_message_are_one_trace() {
    let served = served().await;
    served.open("s", Mode::Text).await;
    let script = json!([{"calls": [{"name": "search", "arguments": {"query": "tea"}}]}, {"says": "There is tea."}]);
    served
        .post(
            "/api/sessions/s/messages",
            json!({"text": "Is there tea?", "script": script}),
        )
        .await;
    let events = served.events_until(0, r#""name":"conversation""#).await;

    let data = events
        .lines()
        .filter_map(|line| line.strip_prefix("data: "));
    let documents = data.filter_map(|text| serde_json::from_str::<Value>(text).ok());
    let spans = documents
        .filter_map(|document| document["spans"].as_array().cloned())
        .flatten()
        .collect::<Vec<_>>();
    let ended = spans
        .iter()
        .filter(|span| span["status"] == "ok")
        .collect::<Vec<_>>();
    let prompt = ended
        .iter()
        .find(|span| span["kind"] == "agent")
        .unwrap_or_else(|| panic!("{events}"));
    let inside = ended
        .iter()
        .filter(|span| span["parent"] == prompt["id"] && span["trace"] == prompt["trace"]);
    assert_eq!(
        inside.map(|span| span["kind"].clone()).collect::<Vec<_>>(),
        ["llm", "tool", "llm"],
        "{events}"
    );
    assert_eq!(prompt["attributes"]["gen_ai.conversation.id"], "s");
}

// S13
#[tokio::test]
async fn a_reply_that_fails_is_a_failed_span() {
    let served = served().await;
    served.open("s", Mode::Text).await;
    served
        .post(
            "/api/sessions/s/messages",
            json!({"text": "Hello", "script": []}),
        )
        .await;
    let events = served.events_until(0, r#""name":"conversation""#).await;
    assert!(events.contains(r#""status":"error""#), "{events}");
}
