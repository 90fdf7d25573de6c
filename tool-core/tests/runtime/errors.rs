//! The errors of failed calls, by kind of failure.

use crate::support::{Counter, call, kind, message, text, tools, voice};
use serde_json::{Value, json};
use std::time::Duration;
use tool_core::{ErrorKind, Policy, Session, ToolError, ToolResponse, tool};

/// Break.
#[tool(name = "break_action", category = "action")]
fn break_action() {
    panic!("broken on purpose");
}

/// Break, having read only.
#[tool(name = "break_retrieval", category = "retrieval")]
fn break_retrieval() {
    panic!("broken on purpose");
}

/// Break, after nothing that a second call would not do again.
#[tool(name = "break_idempotent", category = "action", idempotent)]
fn break_idempotent() {
    panic!("broken on purpose");
}

/// Take for ever.
#[tool(name = "wait_action", category = "action")]
async fn wait_action() {
    std::future::pending::<()>().await;
}

/// Take for ever, reading only.
#[tool(name = "wait_retrieval", category = "retrieval")]
async fn wait_retrieval() {
    std::future::pending::<()>().await;
}

/// Fail with the given error.
#[tool(name = "fail", category = "action")]
fn fail(how: &str) -> Result<(), ToolError> {
    Err(match how {
        "transient" => ToolError::transient("the calendar is busy"),
        "half done" => ToolError::permanent("the mail went out, the entry was not made")
            .partial_side_effects(true),
        "conflict" => ToolError::conflict("the room is taken"),
        "auth" => ToolError::auth("no user is signed in"),
        "rate limit" => ToolError::rate_limit("wait a minute"),
        "internal" => ToolError::internal("password hunter2 was refused"),
        _ => ToolError::permanent("no such entry"),
    })
}

/// Speak.
#[tool(name = "speak", modes("voice"), category = "action")]
fn speak() {}

/// Pay.
#[tool(name = "pay", category = "action", confirm)]
fn pay(amount: u32) -> u32 {
    amount
}

async fn session(policy: Policy) -> Session {
    let all = tools![
        break_action,
        break_retrieval,
        break_idempotent,
        wait_action,
        wait_retrieval,
        fail,
        speak,
        pay
    ];
    text(all, policy).await
}

/// Returns `retryable` and `partialSideEffects`.
fn flags(response: &ToolResponse) -> (bool, bool) {
    let error = response.error().expect("an error");
    (error.retryable, error.partial_side_effects)
}

const NOTHING_DONE: (bool, bool) = (false, false);

// R-E1
#[tokio::test]
async fn a_success_has_data_intents_and_meta() {
    let session = session(Policy::text()).await;
    let asked = call(&session, "pay", json!({"amount": 5})).await;
    let token = &asked.meta().confirmation().expect("a confirmation").token;
    let envelope: Value =
        serde_json::from_str(&session.approve(token).await.to_json()).expect("JSON");
    assert_eq!(
        (&envelope["ok"], &envelope["data"], &envelope["intents"]),
        (&json!(true), &json!(5), &json!([]))
    );
    let meta = envelope["meta"].as_object().expect("an object");
    assert_eq!(
        (&meta["schemaVersion"], &meta["tool"]),
        (&json!("1.0.0"), &json!("pay"))
    );
    assert_eq!(
        (&meta["sizeChars"], &meta["tokenEstimate"]),
        (&json!(1), &json!(1))
    );
    assert!(meta.contains_key("callId") && meta.contains_key("durationMs"));
}

// R-E1
#[tokio::test]
async fn a_failure_has_an_error_with_four_members_and_meta() {
    let session = session(Policy::text()).await;
    let failed = call(&session, "fail", json!({"how": "half done"})).await;
    let envelope: Value = serde_json::from_str(&failed.to_json()).expect("JSON");
    let error = json!({
        "type": "PERMANENT",
        "message": "the mail went out, the entry was not made",
        "retryable": false,
        "partialSideEffects": true
    });
    assert_eq!(
        (&envelope["ok"], &envelope["error"]),
        (&json!(false), &error)
    );
    assert_eq!(
        (&envelope["meta"]["tool"], &envelope["meta"]["sizeChars"]),
        (&json!("fail"), &json!(0))
    );
    assert_eq!(envelope.get("data"), None);
}

// R-E2, R-E3
#[tokio::test]
async fn refusal_is_not_retryable_and_has_no_side_effects() {
    let session =
        session(Policy::text().category_budget(tool_core::Category::Action, Some(1))).await;
    let refusals = [
        (
            ErrorKind::NotFound,
            call(&session, "no_such_tool", json!({})).await,
        ),
        (
            ErrorKind::Validation,
            call(&session, "fail", json!({"how": 7})).await,
        ),
        (
            ErrorKind::ModeRestricted,
            call(&session, "speak", json!({})).await,
        ),
        (
            ErrorKind::ConfirmationRequired,
            call(&session, "pay", json!({"amount": 1})).await,
        ),
        (
            ErrorKind::Permanent,
            call(&session, "fail", json!({"how": ""})).await,
        ),
        (
            ErrorKind::BudgetExceeded,
            call(&session, "fail", json!({"how": "again"})).await,
        ),
    ];
    for (expected, response) in &refusals {
        assert_eq!(
            (kind(response), flags(response)),
            (Some(*expected), NOTHING_DONE),
            "{}",
            message(response)
        );
    }
}

// R-E3
#[tokio::test]
async fn loop_is_not_retryable_and_has_no_side_effects() {
    let session = session(Policy::text()).await;
    for _ in 0..2 {
        assert_eq!(
            kind(&call(&session, "fail", json!({"how": ""})).await),
            Some(ErrorKind::Permanent)
        );
    }
    let refused = call(&session, "fail", json!({"how": ""})).await;
    assert_eq!(
        (kind(&refused), flags(&refused)),
        (Some(ErrorKind::LoopDetected), NOTHING_DONE)
    );
}

// R-E3
#[tokio::test]
async fn denied_and_inactive_calls_have_no_side_effects() {
    let session = session(Policy::text()).await;
    let asked = call(&session, "pay", json!({"amount": 5})).await;
    let denied = session
        .deny(&asked.meta().confirmation().expect("a confirmation").token)
        .await;
    assert_eq!(
        (kind(&denied), flags(&denied)),
        (Some(ErrorKind::Denied), NOTHING_DONE)
    );
    session.end().await;
    let late = call(&session, "fail", json!({"how": ""})).await;
    assert_eq!(
        (kind(&late), flags(&late)),
        (Some(ErrorKind::SessionInactive), NOTHING_DONE)
    );
}

// R-E3
#[tokio::test]
async fn domain_error_sets_its_own_flags() {
    let session = session(Policy::text()).await;
    let cases = [
        ("transient", ErrorKind::Transient, (true, false)),
        ("permanent", ErrorKind::Permanent, (false, false)),
        ("half done", ErrorKind::Permanent, (false, true)),
        ("conflict", ErrorKind::Conflict, (false, false)),
        ("auth", ErrorKind::Auth, (false, false)),
        ("rate limit", ErrorKind::RateLimit, (true, false)),
    ];
    for (how, expected, flagged) in cases {
        let response = call(&session, "fail", json!({"how": how})).await;
        assert_eq!(
            (kind(&response), flags(&response)),
            (Some(expected), flagged),
            "{how}"
        );
    }
}

// R-E3
#[tokio::test]
async fn panic_may_have_side_effects_unless_harmless() {
    let session = session(Policy::text()).await;
    for (tool, partial) in [
        ("break_action", true),
        ("break_retrieval", false),
        ("break_idempotent", false),
    ] {
        let response = call(&session, tool, json!({})).await;
        assert_eq!(
            (kind(&response), flags(&response)),
            (Some(ErrorKind::Internal), (false, partial)),
            "{tool}"
        );
    }
}

// R-E3
#[tokio::test(start_paused = true)]
async fn timeout_is_retryable_for_idempotent_tools_only() {
    let session = session(Policy::text().deadline(Duration::from_millis(200))).await;
    for (tool, flagged) in [
        ("wait_action", (false, true)),
        ("wait_retrieval", (true, false)),
    ] {
        let response = call(&session, tool, json!({})).await;
        assert_eq!(
            (kind(&response), flags(&response)),
            (Some(ErrorKind::Timeout), flagged),
            "{tool}"
        );
    }
}

// R-E3
#[tokio::test]
async fn cancelled_call_may_have_side_effects_unless_reading() {
    let session = session(Policy::text()).await;
    for (tool, flagged) in [
        ("wait_action", (false, true)),
        ("wait_retrieval", (false, false)),
    ] {
        let (response, cancelled) = tokio::join!(
            session.call(tool_core::ToolCall::new("c", tool, "{}")),
            async { session.cancel("c") }
        );
        assert!(cancelled);
        assert_eq!(
            (kind(&response), flags(&response)),
            (Some(ErrorKind::Cancelled), flagged),
            "{tool}"
        );
    }
}

// L18, R-E2
#[tokio::test]
async fn internal_error_text_is_hidden_from_the_model() {
    let session = session(Policy::text()).await;
    let response = call(&session, "fail", json!({"how": "internal"})).await;
    assert_eq!(
        (kind(&response), message(&response)),
        (Some(ErrorKind::Internal), "An internal error occurred")
    );
    assert!(!response.to_json().contains("hunter2"));
    let broken = call(&session, "break_action", json!({})).await;
    assert!(
        !broken.to_json().contains("on purpose"),
        "{}",
        broken.to_json()
    );
}

// L19
#[tokio::test]
async fn unknown_tool_error_lists_the_names() {
    let session = voice(
        tools![speak, pay, Counted(Counter::default())],
        Policy::voice(),
    )
    .await;
    let response = call(&session, "speek", json!({})).await;
    assert_eq!(kind(&response), Some(ErrorKind::NotFound));
    for part in ["did you mean `speak`?", "pay", "count"] {
        assert!(message(&response).contains(part), "{}", message(&response));
    }
}

struct Counted(Counter);

#[tool_core::toolset(name = "counted_in_errors")]
impl Counted {
    /// Count.
    #[tool(name = "count")]
    fn count(&self) -> u32 {
        self.0.add()
    }
}
