//! Calls that wait for approval.

use crate::support::{Served, served, served_with};
use serde_json::{Value, json};
use tool_core::trace::Redaction;
use tool_core::{Mode, ToolCall};

/// Requests a call that has to be approved, and returns what the page lists of it.
async fn waiting(served: &Served) -> Value {
    served.open("s", Mode::Text).await;
    let answer = served.call_in("s", "delete", json!({"id": 7})).await;
    assert_eq!(
        answer["response"]["envelope"]["error"]["type"],
        "CONFIRMATION_REQUIRED"
    );
    let waiting = served.get("/api/approvals").await;
    assert_eq!(waiting.as_array().map(Vec::len), Some(1), "{waiting}");
    waiting[0].clone()
}

fn path(approval: &Value, decision: &str) -> String {
    format!(
        "/api/approvals/{}/{decision}",
        approval["id"].as_str().expect("an id")
    )
}

#[tokio::test]
async fn a_waiting_call_is_listed_in_full() {
    let served = served().await;
    let approval = waiting(&served).await;
    assert_eq!(
        (&approval["tool"], &approval["session"]),
        (&json!("delete"), &json!("s"))
    );
    assert_eq!(approval["payload"], r#"delete({"id":7})"#);
    assert!(
        approval["digest"]
            .as_str()
            .expect("a digest")
            .starts_with("sha256:")
    );
}

// R-C7
#[tokio::test]
async fn a_waiting_call_has_a_line_for_each_argument() {
    let served = served().await;
    let approval = waiting(&served).await;
    assert_eq!(approval["arguments"], json!(["id: 7"]));
    let reason = json!({"source": "tool", "text": "it asks before each call"});
    assert_eq!(approval["reasons"], json!([reason]));
    assert_eq!(approval["argumentsJson"], r#"{"id":7}"#);
}

// R-C6
#[tokio::test]
async fn a_call_is_approved_with_other_arguments() {
    let served = served().await;
    let approve = path(&waiting(&served).await, "approve");
    for (given, problem) in [(r#"{"id": "x"}"#, "/id"), ("{", "JSON")] {
        let body = json!({"arguments": given}).to_string();
        let error = served.send("POST", &approve, &body).await.error(422);
        assert!(error.contains(problem), "{error}");
    }
    let waiting = served.get("/api/approvals").await;
    assert_eq!(waiting.as_array().map(Vec::len), Some(1), "it waits on");
    let answer = served
        .post(&approve, json!({"arguments": r#"{"id": 8}"#}))
        .await;
    let envelope = &answer["response"]["envelope"];
    assert_eq!(envelope["data"], 8, "{envelope}");
    assert_eq!(envelope["meta"]["changedArguments"], r#"{"id":8}"#);
}

#[tokio::test]
async fn an_approved_call_runs_once() {
    let served = served().await;
    let approve = path(&waiting(&served).await, "approve");
    let answer = served.post(&approve, Value::Null).await;
    assert_eq!(answer["response"]["envelope"]["data"], 7);
    assert_eq!(served.get("/api/approvals").await, json!([]));
    assert!(
        served
            .send("POST", &approve, "")
            .await
            .error(404)
            .contains("decided or has expired")
    );
}

#[tokio::test]
async fn a_denied_call_does_not_run() {
    let served = served().await;
    let approval = waiting(&served).await;
    let answer = served.post(&path(&approval, "deny"), Value::Null).await;
    assert_eq!(answer["response"]["envelope"]["error"]["type"], "DENIED");
    assert!(
        served
            .send("POST", &path(&approval, "approve"), "")
            .await
            .error(404)
            .contains("decided")
    );
}

#[tokio::test]
async fn another_decision_is_refused() {
    let served = served().await;
    let approval = waiting(&served).await;
    assert!(
        served
            .send("POST", &path(&approval, "maybe"), "")
            .await
            .error(404)
            .contains("`approve` or `deny`")
    );
    assert_eq!(
        served.get("/api/approvals").await.as_array().map(Vec::len),
        Some(1)
    );
}

#[tokio::test]
async fn the_calls_of_an_ended_session_are_not_listed() {
    let served = served().await;
    waiting(&served).await;
    served.send("DELETE", "/api/sessions/s", "").await.json();
    assert_eq!(served.get("/api/approvals").await, json!([]));
}

/// Requests a call in a session of the program, which the page has not opened.
async fn waiting_elsewhere(served: &Served) -> tool_core::Session {
    let session = served
        .runtime
        .session("other", Mode::Text)
        .principal("user:8")
        .await
        .expect("opens");
    session
        .call(ToolCall::new("call_1", "delete", json!({"id": 8})))
        .await;
    session
}

#[tokio::test]
async fn a_call_of_the_program_is_listed_and_approved() {
    let served = served().await;
    let session = waiting_elsewhere(&served).await;
    let waiting = served.get("/api/approvals").await;
    let found =
        ["session", "principal", "tool", "callId", "payload"].map(|name| waiting[0][name].clone());
    assert_eq!(
        found,
        ["other", "user:8", "delete", "call_1", r#"delete({"id":8})"#].map(Value::from)
    );
    assert!(waiting[0]["expiresAtMs"].as_u64() > Some(0));
    let answer = served
        .post(&path(&waiting[0], "approve"), Value::Null)
        .await;
    assert_eq!(
        (&answer["response"]["envelope"]["data"], &answer["session"]),
        (&json!(8), &Value::Null)
    );
    assert_eq!(served.get("/api/approvals").await, json!([]));
    assert_eq!(session.metrics().calls.len(), 2);
}

#[tokio::test]
async fn a_call_of_the_program_is_denied() {
    let served = served().await;
    let _session = waiting_elsewhere(&served).await;
    let waiting = served.get("/api/approvals").await;
    let answer = served.post(&path(&waiting[0], "deny"), Value::Null).await;
    assert_eq!(answer["response"]["envelope"]["error"]["type"], "DENIED");
    assert_eq!(served.get("/api/approvals").await, json!([]));
}

#[tokio::test]
async fn a_decision_of_the_program_reaches_the_page() {
    let served = served().await;
    let session = waiting_elsewhere(&served).await;
    let events = served.events_until(0, "event: sessions").await;
    assert!(events.contains(r#""session":"other""#), "{events}");
    for waiting in served.runtime.waiting_calls().await.expect("in memory") {
        session.deny(&waiting.token).await;
    }
    served.events_until(0, r#""approvals":[]"#).await;
}

#[tokio::test]
async fn the_arguments_of_a_waiting_call_are_redacted() {
    let served =
        served_with(|inspector| inspector.redaction(Redaction::new().pointer("/id"))).await;
    let approval = waiting(&served).await;
    assert_eq!(approval["payload"], r#"delete({"id":"[redacted]"})"#);
    assert_eq!(approval["summary"], r#"delete(id: "[redacted]")"#);
    assert_eq!(approval["isRedacted"], true);
    assert_eq!(approval["arguments"], json!([r#"id: "[redacted]""#]));
    assert_eq!(
        approval["argumentsJson"],
        Value::Null,
        "it cannot be changed"
    );
    let answer = served.post(&path(&approval, "approve"), Value::Null).await;
    assert_eq!(answer["response"]["envelope"]["data"], 7);
}
