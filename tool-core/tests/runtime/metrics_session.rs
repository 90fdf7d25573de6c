//! The metrics of one session. R-M5

use super::support::{call, open, runtime, text, tools};
use super::support_log::logged;
use serde_json::{Value, json};
use std::time::Duration;
use tool_core::session::{SessionMetrics, SpeechEvent};
use tool_core::trace::Redaction;
use tool_core::{ErrorKind, Mode, Policy, RunContext, ToolCall, ToolError, tool};
use tracing::Level;

/// Sign in.
#[tool]
async fn sign_in(
    user: &str,
    password: &str,
    #[arg(default)] note: String,
) -> Result<usize, ToolError> {
    tokio::time::sleep(Duration::from_millis(25)).await;
    if user == "nobody" {
        Err(ToolError::auth("no"))
    } else {
        Ok(password.len() + note.len())
    }
}

/// Look at the run.
#[tool]
fn look(ctx: &RunContext, secret: u32) -> u32 {
    assert!(ctx.session().is_some());
    secret
}

fn open_policy() -> Policy {
    Policy::text().repeated_calls(None)
}

fn shown(metrics: &SessionMetrics) -> Value {
    serde_json::to_value(metrics).expect("serialises")
}

// R-M5
#[tokio::test(start_paused = true)]
async fn session_report_has_redacted_calls_and_outcomes() {
    let session = text(tools![sign_in, look], open_policy()).await;
    call(
        &session,
        "sign_in",
        json!({"user": "ann", "password": "canary"}),
    )
    .await;
    session.next_turn().await;
    call(
        &session,
        "sign_in",
        json!({"user": "nobody", "password": "canary"}),
    )
    .await;
    call(&session, "look", json!({"secret": 7})).await;
    call(&session, "canary_tool", json!({"a": 1})).await;
    session
        .call(ToolCall::new("c", "look", "{\"secret\": canary"))
        .await;
    tokio::time::advance(Duration::from_millis(50)).await;
    let metrics = session.metrics();
    let mut document = shown(&metrics);
    document
        .as_object_mut()
        .expect("an object")
        .remove("context");
    let unreadable = "[17 characters that are not JSON]";
    assert_eq!(
        document,
        json!({
            "calls": [
                {"tool": "sign_in", "turn": 0, "arguments": {"user": "ann", "password": "[redacted]"}, "durationMs": 25.0, "ok": true},
                {"tool": "sign_in", "turn": 1, "arguments": {"user": "nobody", "password": "[redacted]"}, "durationMs": 25.0, "ok": false, "error": "AUTH"},
                {"tool": "look", "turn": 1, "arguments": {"secret": "[redacted]"}, "durationMs": 0.0, "ok": true},
                {"tool": "unknown", "turn": 1, "arguments": {"a": 1}, "durationMs": 0.0, "ok": false, "error": "NOT_FOUND"},
                {"tool": "look", "turn": 1, "arguments": unreadable, "durationMs": 0.0, "ok": false, "error": "VALIDATION"},
            ],
            "totalCalls": 5, "totalErrors": 3, "turns": 2, "durationMs": 100.0,
        })
    );
    assert!(!format!("{metrics:?}").contains("canary"));
}

// R-M5
#[tokio::test(start_paused = true)]
async fn session_duration_stops_at_its_end() {
    let session = text(tools![look], open_policy()).await;
    tokio::time::advance(Duration::from_secs(3)).await;
    session.end().await;
    tokio::time::advance(Duration::from_secs(5)).await;
    assert_eq!(session.metrics().duration, Duration::from_secs(3));
}

// R-M5
#[tokio::test]
async fn policy_sets_redaction_and_kept_calls() {
    let policy = open_policy().redaction(Redaction::new().pointer("/note"));
    let session = text(tools![sign_in], policy.clone()).await;
    call(
        &session,
        "sign_in",
        json!({"user": "ann", "password": "canary", "note": "canary"}),
    )
    .await;
    let hidden = r#"{"user":"ann","password":"[redacted]","note":"[redacted]"}"#;
    assert_eq!(session.metrics().calls[0].arguments, hidden);

    let session = text(tools![sign_in], policy.call_history(0)).await;
    call(
        &session,
        "sign_in",
        json!({"user": "ann", "password": "canary"}),
    )
    .await;
    let metrics = session.metrics();
    assert!(metrics.calls.is_empty() && metrics.total_calls == 1);
}

// R-M5, T1: arguments are redacted before they are cut
#[tokio::test]
async fn cut_arguments_contain_no_partial_secret() {
    let session = text(tools![sign_in], open_policy().call_history(1_024)).await;
    for length in 150..260 {
        let arguments = json!({"user": "x".repeat(length), "password": "canary".repeat(20), "note": "canary?".repeat(100)});
        call(&session, "sign_in", arguments).await;
        let metrics = session.metrics();
        let last = &metrics.calls.last().expect("kept").arguments;
        let beginning = serde_json::from_str::<String>(last).expect("a text");
        assert!(
            beginning.ends_with("...") && beginning.starts_with('{'),
            "{beginning}"
        );
        assert!(!beginning.contains("canary"), "{beginning}");
    }
    let metrics = session.metrics();
    assert!(
        (1..8).contains(&metrics.calls.len()) && metrics.total_calls == 110,
        "{}",
        metrics.calls.len()
    );
}

// R-L4
#[tokio::test]
async fn history_has_the_calls_of_the_last_five_turns() {
    let runtime = runtime(tools![look], open_policy());
    let (session, other) = (
        open(&runtime, "1", Mode::Text).await,
        open(&runtime, "2", Mode::Text).await,
    );
    for turn in 0..9 {
        for _ in 0..2 {
            call(&session, "look", json!({"secret": turn})).await;
        }
        call(&session, "look", json!({})).await;
        session.next_turn().await;
    }
    call(&session, "look", json!({"secret": 9})).await;
    let history = session.history().await.expect("kept");
    assert_eq!(
        history.iter().map(|turn| turn.turn).collect::<Vec<_>>(),
        [5, 6, 7, 8, 9]
    );
    assert_eq!(
        history
            .iter()
            .map(|turn| turn.calls.len())
            .collect::<Vec<_>>(),
        [3, 3, 3, 3, 1]
    );
    let [first, .., refused] = history[0].calls.as_slice() else {
        panic!("three calls")
    };
    assert_eq!(
        (first.tool.as_str(), first.turn, first.arguments.as_str()),
        ("look", 5, r#"{"secret":"[redacted]"}"#)
    );
    assert!(first.ok && refused.error == Some(ErrorKind::Validation));
    assert!(other.history().await.expect("kept").is_empty());
    // The store keeps the history for later handles of the session.
    drop(session);
    let again = open(&runtime, "1", Mode::Text).await;
    assert_eq!(again.history().await.expect("kept"), history);
}

// R-M5
#[tokio::test(start_paused = true)]
async fn calls_can_be_read_after_the_session() {
    let runtime = runtime(
        tools![look],
        open_policy().keep_calls_for(Duration::from_secs(5 * 60)),
    );
    let session = open(&runtime, "1", Mode::Text).await;
    for n in 0..300 {
        call(&session, "look", json!({"secret": n})).await;
    }
    session.end().await;
    drop(session);
    let calls = runtime.calls("1").await.expect("kept");
    assert_eq!(calls.len(), 300);
    assert!(
        calls
            .iter()
            .all(|call| call.ok && call.arguments == r#"{"secret":"[redacted]"}"#)
    );
    tokio::time::advance(Duration::from_secs(5 * 60)).await;
    assert!(runtime.calls("1").await.expect("read").is_empty());
    assert!(
        runtime
            .calls("never opened")
            .await
            .expect("read")
            .is_empty()
    );
}

// R-M5: the store in memory keeps few of very many sessions.
#[tokio::test]
async fn calls_of_the_latest_ended_sessions_are_kept() {
    let runtime = runtime(tools![look], open_policy());
    for n in 0..1_000 {
        let session = open(&runtime, &n.to_string(), Mode::Text).await;
        call(&session, "look", json!({"secret": n})).await;
        session.end().await;
    }
    let mut kept = Vec::new();
    for n in 0..1_000 {
        if !runtime.calls(n.to_string()).await.expect("read").is_empty() {
            kept.push(n);
        }
    }
    assert_eq!(kept, (744..1_000).collect::<Vec<_>>());
}

// R-B1
#[test]
fn slow_calls_are_counted_and_logged() {
    let policy = open_policy().warn_after(Some(Duration::from_millis(20)));
    let runtime = runtime(tools![sign_in, look], policy);
    let lines = logged(Level::WARN, async {
        let session = open(&runtime, "1", Mode::Text).await;
        call(
            &session,
            "sign_in",
            json!({"user": "ann", "password": "canary"}),
        )
        .await;
        call(&session, "look", json!({"secret": 7})).await;
    });
    let metrics = runtime.metrics();
    assert_eq!(
        (
            metrics.tools["sign_in"].slow_calls,
            metrics.tools["look"].slow_calls
        ),
        (1, 0)
    );
    assert!(
        metrics
            .prometheus()
            .contains(r#"tool_slow_calls_total{tool="sign_in"} 1"#)
    );
    let [line] = lines.as_slice() else {
        panic!("{lines:?}")
    };
    assert!(
        line.message
            .starts_with("`sign_in` took 25 ms; in text a call should take at most 20 ms"),
        "{line:?}"
    );
    assert_eq!(
        (line.level.as_str(), line.target.as_str()),
        ("WARN", "tool_core::metrics")
    );
}

// R-M5
#[tokio::test]
async fn sessions_are_measured_separately() {
    let runtime = runtime(tools![look], open_policy());
    let (one, two) = (
        open(&runtime, "1", Mode::Text).await,
        open(&runtime, "2", Mode::Text).await,
    );
    for n in 0..1_000 {
        one.call(ToolCall::new(
            n.to_string(),
            "look",
            format!("{{\"secret\":{n}}}"),
        ))
        .await;
    }
    assert_eq!(
        (one.metrics().total_calls, two.metrics().total_calls),
        (1_000, 0)
    );
    assert!(one.metrics().calls.len() >= 15 && two.metrics().calls.is_empty());
}

// R-M5
#[tokio::test]
async fn session_report_has_the_speech() {
    let session = text(tools![look], open_policy()).await;
    assert!(
        shown(&session.metrics()).get("speech").is_none(),
        "none was measured"
    );
    let (second, millisecond) = (Duration::from_secs(1), Duration::from_millis(1));
    for event in [
        SpeechEvent::Heard(second),
        SpeechEvent::Heard(second / 2),
        SpeechEvent::Spoken(second * 7200),
        SpeechEvent::Interrupted,
        SpeechEvent::FirstAudio(millisecond * 300),
        SpeechEvent::FirstAudio(millisecond * 100),
        SpeechEvent::FirstAudio(millisecond * 200),
    ] {
        session.observe_speech(event);
    }
    assert_eq!(
        shown(&session.metrics())["speech"],
        json!({
            "heardSeconds": 1.5, "spokenSeconds": 7200.0, "interruptions": 1,
            "firstAudioMs": {"p50": 200.0, "p95": 300.0, "p99": 300.0},
        })
    );
}

// R-M5
#[tokio::test(start_paused = true)]
async fn session_report_has_long_durations() {
    let session = text(tools![look], open_policy()).await;
    tokio::time::advance(Duration::from_secs(2 * 3_600)).await;
    assert_eq!(shown(&session.metrics())["durationMs"], json!(7_200_000.0));
}
