//! Loops in turns with many attempts.

use serde_json::json;
use tool_core::{
    ErrorKind, Mode, Policy, Runtime, Session, ToolCall, ToolContext, ToolResponse, tool,
};

/// Repeat a number.
#[tool]
fn repeat(number: i64, #[arg(default = "plain")] how: String) -> String {
    format!("{number} {how}")
}

async fn session() -> Session {
    let tools = ToolContext::builder()
        .with(repeat)
        .build()
        .expect("sound tools");
    let runtime = Runtime::builder(tools)
        .policy(Policy::text())
        .build()
        .expect("a runtime");
    runtime.session("s", Mode::Text).await.expect("it opens")
}

async fn call(session: &Session, arguments: String) -> ToolResponse {
    session.call(ToolCall::new("c", "repeat", arguments)).await
}

fn is_loop(response: &ToolResponse) -> bool {
    response
        .error()
        .is_some_and(|error| error.kind == ErrorKind::LoopDetected)
}

// R-L1, R-L3
#[tokio::test]
async fn every_attempt_of_a_long_turn_is_recognised() {
    let session = session().await;
    for number in 0..50 {
        assert!(
            call(&session, json!({ "number": number }).to_string())
                .await
                .is_ok()
        );
    }
    for number in [0, 1, 8, 9, 10, 49] {
        let again = format!(r#"{{"how":"pl\u0061in", "number":{number}.0}}"#);
        assert!(
            call(&session, again).await.is_ok(),
            "the second attempt at {number}"
        );
        let third = call(
            &session,
            json!({"number": number, "how": "plain"}).to_string(),
        )
        .await;
        assert!(is_loop(&third), "the third attempt at {number}: {third}");
    }
}

// R-L1
#[tokio::test]
async fn invalid_attempts_are_recognised_among_many() {
    let session = session().await;
    for number in 0..20 {
        call(&session, json!({ "number": number }).to_string()).await;
        if number % 5 == 0 {
            let refused = call(&session, "{".to_owned()).await;
            assert_eq!(is_loop(&refused), number >= 10, "{number}");
        }
    }
}

// R-L1
#[tokio::test]
async fn new_turn_forgets_many_attempts() {
    let session = session().await;
    for _ in 0..3 {
        for number in [1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11] {
            assert!(
                call(&session, json!({ "number": number }).to_string())
                    .await
                    .is_ok()
            );
        }
        session.next_turn().await;
    }
}
