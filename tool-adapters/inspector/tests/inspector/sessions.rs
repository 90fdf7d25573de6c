//! Sessions, and calls in them.

use crate::support::served;
use serde_json::{Value, json};
use tool_core::{Mode, ToolCall};

fn budget<'a>(session: &'a Value, name: &str) -> &'a Value {
    let budgets = session["budgets"].as_array().expect("a list");
    budgets
        .iter()
        .find(|budget| budget["name"] == name)
        .expect("a budget")
}

#[tokio::test]
async fn a_call_in_a_session_is_charged() {
    let served = served().await;
    served.open("s", Mode::Text).await;
    let answer = served
        .call_in("s", "search", json!({"query": "rust"}))
        .await;
    assert_eq!(answer["response"]["envelope"]["ok"], true);
    let session = &answer["session"];
    assert_eq!(
        budget(session, "all calls"),
        &json!({"name": "all calls", "limit": 5, "used": 1, "left": 4})
    );
    assert_eq!(budget(session, "retrieval")["left"], 4);
    assert_eq!(session["totalCalls"], 1);
    assert_eq!(session["calls"][0]["tool"], "search");
}

#[tokio::test]
async fn a_session_shows_its_loops() {
    let served = served().await;
    served.open("s", Mode::Text).await;
    for _ in 0..3 {
        served
            .call_in("s", "search", json!({"query": "rust"}))
            .await;
    }
    let session = served.get("/api/sessions/s").await;
    assert_eq!(session["loops"]["refusedAttempt"], 3);
    let counts = json!({"calls": 2, "emptyResults": 0, "mostEqualAttempts": 3});
    assert_eq!(session["loops"]["tools"], json!([["search", counts]]));
}

#[tokio::test]
async fn the_next_turn_resets_the_budget() {
    let served = served().await;
    served.open("s", Mode::Text).await;
    served
        .call_in("s", "search", json!({"query": "rust"}))
        .await;
    let next = served.post("/api/sessions/s/turn", Value::Null).await;
    assert_eq!(next["turn"]["number"], 1);
    assert_eq!(budget(&next["session"], "all calls")["left"], 5);
}

#[tokio::test]
async fn intents_are_in_the_audit_log() {
    let served = served().await;
    served.open("s", Mode::Text).await;
    let answer = served.call_in("s", "remind", json!({"text": "tea"})).await;
    let audit = answer["session"]["audit"]
        .as_array()
        .expect("a list")
        .clone();
    assert_eq!((audit.len(), &audit[0]["tool"]), (1, &json!("remind")));
    assert_eq!(answer["session"]["state"]["audioSuppressed"], true);
}

#[tokio::test]
async fn the_mode_of_a_session_can_change() {
    let served = served().await;
    let opened = served.open("s", Mode::Text).await;
    assert_eq!(opened["mode"], "text");
    let restricted = served.call_in("s", "hang_up", json!({})).await;
    assert_eq!(
        restricted["response"]["envelope"]["error"]["type"],
        "MODE_RESTRICTED"
    );
    let voice = served
        .post("/api/sessions/s/mode", json!({"mode": "voice"}))
        .await;
    assert_eq!(voice["mode"], "voice");
    let allowed = served.call_in("s", "hang_up", json!({})).await;
    assert_eq!(allowed["response"]["envelope"]["ok"], true);
}

#[tokio::test]
async fn a_session_of_the_program_is_joined() {
    let served = served().await;
    let session = served
        .runtime
        .session("shared", Mode::Text)
        .principal("user:7")
        .await
        .expect("opens");
    session
        .call(ToolCall::new("1", "search", json!({"query": "x"})))
        .await;
    let joined = served.open("shared", Mode::Text).await;
    assert_eq!(
        (&joined["totalCalls"], &joined["principal"]),
        (&json!(1), &json!("user:7"))
    );
}

#[tokio::test]
async fn a_session_of_another_principal_is_not_joined() {
    let served = served().await;
    let _theirs = served
        .runtime
        .session("theirs", Mode::Text)
        .principal("user:8")
        .await
        .expect("opens");
    let opening = json!({"id": "theirs", "mode": "text", "principal": "user:7"}).to_string();
    let answer = served.send("POST", "/api/sessions", &opening).await;
    assert!(
        answer.error(409).contains("another principal"),
        "{}",
        answer.body
    );
}

#[tokio::test]
async fn an_ended_session_is_gone() {
    let served = served().await;
    served.open("s", Mode::Text).await;
    assert_eq!(
        served.get("/api/sessions").await.as_array().map(Vec::len),
        Some(1)
    );
    assert_eq!(
        served.send("DELETE", "/api/sessions/s", "").await.json()["ended"],
        true
    );
    assert_eq!(served.get("/api/sessions").await, json!([]));
    assert!(
        served
            .send("GET", "/api/sessions/s", "")
            .await
            .error(404)
            .contains("`s`")
    );
}

#[tokio::test]
async fn the_number_of_open_sessions_is_bounded() {
    let served = served().await;
    for number in 0..32 {
        served.open(&format!("s-{number}"), Mode::Text).await;
    }
    let one_more = json!({"id": "one more", "mode": "text"}).to_string();
    let answer = served.send("POST", "/api/sessions", &one_more).await;
    assert!(
        answer.error(409).contains("32 sessions are open"),
        "{}",
        answer.body
    );
    served.open("s-3", Mode::Text).await;
    served.send("DELETE", "/api/sessions/s-0", "").await.json();
    assert_eq!(
        served.send("POST", "/api/sessions", &one_more).await.status,
        200
    );
}

#[tokio::test]
async fn calls_in_unknown_sessions_are_refused() {
    let call = json!({"tool": "search", "arguments": "{}", "session": "none"}).to_string();
    let answer = served().await.send("POST", "/api/call", &call).await;
    assert!(
        answer.error(404).contains("no session `none`"),
        "{}",
        answer.body
    );
}

#[tokio::test]
async fn a_session_shows_its_caps_and_what_is_left() {
    let served = served().await;
    served.open("s", Mode::Text).await;
    let answer = served.call_in("s", "pay", json!({})).await;
    let caps = answer["session"]["caps"]
        .as_array()
        .expect("a list")
        .clone();
    assert_eq!(
        caps[0],
        json!({"scope": "call", "of": "cost", "limit": "0.500000000000", "used": null, "left": null})
    );
    assert_eq!(
        caps[1],
        json!({"scope": "turn", "of": "cost", "limit": "0.050000000000", "used": "0.010000000000", "left": "0.040000000000"})
    );
    assert_eq!(
        (&caps[2]["scope"], &caps[2]["of"], &caps[2]["limit"]),
        (&json!("principal"), &json!("time"), &json!(3600.0))
    );
    assert!(caps[2]["used"].as_f64() > Some(0.0), "{caps:?}");
    let next = served.post("/api/sessions/s/turn", Value::Null).await;
    assert_eq!(next["session"]["caps"][1]["left"], "0.050000000000");
}
