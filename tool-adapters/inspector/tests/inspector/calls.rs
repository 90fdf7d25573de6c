//! Calls without a session.

use crate::support::served;
use serde_json::{Value, json};

async fn bare(tool: &str, arguments: &str) -> Value {
    let call = json!({"tool": tool, "arguments": arguments, "mode": "text"});
    served().await.post("/api/call", call).await
}

#[tokio::test]
async fn a_bare_call_returns_the_envelope_and_the_models_text() {
    let answer = bare("search", r#"{"query": "rust"}"#).await;
    let envelope = &answer["response"]["envelope"];
    assert_eq!(
        (&envelope["ok"], &envelope["data"]),
        (&json!(true), &json!(["rust 0", "rust 1"]))
    );
    assert_eq!(answer["response"]["model"], r#"["rust 0","rust 1"]"#);
    assert_eq!(answer.get("session"), None);
}

#[tokio::test]
async fn every_problem_has_its_pointer() {
    let answer = bare("search", r#"{"limit": 0, "order": "newest"}"#).await;
    let problems = answer["response"]["envelope"]["meta"]["problems"]
        .as_array()
        .expect("problems")
        .clone();
    let mut pointers = problems
        .iter()
        .map(|problem| problem["pointer"].as_str().expect("text"))
        .collect::<Vec<_>>();
    pointers.sort_unstable();
    assert_eq!(pointers, ["/limit", "/order", "/query"]);
    assert_eq!(
        answer["response"]["envelope"]["error"]["type"],
        "VALIDATION"
    );
}

#[tokio::test]
async fn arguments_that_are_not_json_are_answered() {
    let answer = bare("search", "{query").await;
    assert_eq!(
        answer["response"]["envelope"]["error"]["type"],
        "VALIDATION"
    );
}

#[tokio::test]
async fn warnings_and_intents_are_in_the_envelope() {
    let envelope = bare("remind", r#"{"text": "tea"}"#).await["response"]["envelope"].clone();
    assert_eq!(envelope["meta"]["warnings"], json!(["nothing is spoken"]));
    assert_eq!(
        envelope["intents"].as_array().map(Vec::len),
        Some(1),
        "{envelope}"
    );
}

#[tokio::test]
async fn calls_of_unknown_tools_are_answered() {
    let envelope = bare("invented", "{}").await["response"]["envelope"].clone();
    assert_eq!(envelope["error"]["type"], "NOT_FOUND");
}

#[tokio::test]
async fn numbers_stay_as_they_were_sent() {
    let answer = served().await;
    let call = json!({"tool": "delete", "arguments": r#"{"id": 4294967295}"#});
    let text = answer
        .send("POST", "/api/call", &call.to_string())
        .await
        .body;
    assert!(text.contains(r#""data":4294967295"#), "{text}");
}

#[tokio::test]
async fn the_parts_of_a_result_are_beside_the_envelope() {
    let response = bare("draw", "{}").await["response"].clone();
    let picture = json!({"type": "image", "data": "R0lGODlhAQABAAAAADs=", "mimeType": "image/gif"});
    assert_eq!(
        response["content"],
        json!([picture, {"type": "text", "text": "a dot"}])
    );
}

#[tokio::test]
async fn a_result_without_parts_has_no_content() {
    let response = bare("search", r#"{"query": "rust"}"#).await["response"].clone();
    assert_eq!(response.get("content"), None, "{response}");
}
