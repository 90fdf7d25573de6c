//! The audit log: each answered call with its outcome, its intents, and the person who decided on it. R-I1

use crate::support::{asked, call, kind, message, open, runtime, text, tools};
use crate::support_b::{answer, begin};
use jiff::Timestamp;
use serde_json::json;
use std::time::Duration;
use tool_core::session::{AuditEntry, CallDecision, CallOutcome, HookedCall};
use tool_core::{
    ErrorKind, Intent, Mode, Policy, RunContext, Runtime, Session, ToolCall, ToolContext,
    ToolError, ToolOutput, tool,
};
use tower::limit::ConcurrencyLimitLayer;
use tower::load_shed::LoadShedLayer;
use tower::timeout::TimeoutLayer;

/// Greet.
#[tool]
fn greet(name: String) -> String {
    format!("hello {name}")
}

/// Fail.
#[tool]
fn fail() -> Result<u8, ToolError> {
    Err(ToolError::conflict("taken"))
}

/// Pay once a person agrees.
#[tool(category = "action", confirm)]
fn pay(cents: u32) -> ToolOutput {
    ToolOutput::new(cents).intent(Intent::SuppressAudio)
}

/// Rest for a minute.
#[tool]
async fn rest() {
    tokio::time::sleep(Duration::from_secs(20)).await;
}

/// Greet by another tool.
#[tool]
async fn delegate(ctx: &RunContext) -> bool {
    ctx.call("greet", r#"{"name":"Bob"}"#).await.is_ok()
}

fn all() -> ToolContext {
    tools![greet, fail, pay, delegate]
}

fn free() -> Policy {
    Policy::text().repeated_calls(None)
}

async fn session() -> Session {
    runtime(all(), free())
        .session("s-1", Mode::Text)
        .principal("user:7")
        .await
        .expect("a session")
}

/// The id, the tool and the outcome of each entry.
fn told(audit: &[AuditEntry]) -> Vec<(&str, &str, CallOutcome)> {
    audit
        .iter()
        .map(|entry| (&*entry.call_id, &*entry.tool, entry.outcome))
        .collect()
}

fn by(entry: &AuditEntry) -> Option<(bool, &str)> {
    entry
        .decision
        .as_ref()
        .map(|decision| (decision.approved, &*decision.by))
}

// R-I1
#[tokio::test]
async fn every_answered_call_has_an_entry() {
    let session = session().await;
    let before = Timestamp::now();
    session
        .call(ToolCall::new("c1", "greet", r#"{"name":"Ada"}"#))
        .await;
    session.call(ToolCall::new("c2", "fail", "{}")).await;
    session
        .call(ToolCall::new("c3", "greet", r#"{"name":7}"#))
        .await;
    session.call(ToolCall::new("c4", "greeet", "{}")).await;
    session.next_turn().await;
    session.call(ToolCall::new("c5", "delegate", "{}")).await;
    session.end().await;
    session.call(ToolCall::new("c6", "greet", "{}")).await;
    let audit = session.audit().await.expect("kept");
    let expected = [
        ("c1", "greet", CallOutcome::Succeeded),
        ("c2", "fail", CallOutcome::Failed(ErrorKind::Conflict)),
        ("c3", "greet", CallOutcome::Refused(ErrorKind::Validation)),
        ("c4", "greeet", CallOutcome::Refused(ErrorKind::NotFound)),
        ("c5.1", "greet", CallOutcome::Succeeded),
        ("c5", "delegate", CallOutcome::Succeeded),
        (
            "c6",
            "greet",
            CallOutcome::Refused(ErrorKind::SessionInactive),
        ),
    ];
    assert_eq!(told(&audit), expected);
    assert_eq!(
        audit.iter().map(|entry| entry.turn).collect::<Vec<_>>(),
        [0, 0, 0, 0, 1, 1, 1]
    );
    assert!(
        audit
            .iter()
            .all(|entry| entry.principal == "user:7" && entry.decision.is_none())
    );
    let second = Duration::from_secs(1);
    assert!(
        audit
            .iter()
            .all(|entry| entry.at.0 >= before - second && entry.at.0 <= Timestamp::now() + second)
    );
    assert_eq!(
        audit,
        session.audit().await.expect("kept"),
        "reading changes nothing"
    );
}

// R-I1, R-C1
#[tokio::test]
async fn approval_names_the_person_who_gave_it() {
    let session = session().await;
    let ask = async |cents: u32| {
        let asked = session
            .call(ToolCall::new(
                format!("c{cents}"),
                "pay",
                json!({"cents": cents}),
            ))
            .await;
        asked
            .meta()
            .confirmation()
            .expect("a person is asked")
            .token
            .clone()
    };
    let tokens = [ask(1).await, ask(2).await, ask(3).await, ask(4).await];
    assert!(session.approve(&tokens[0]).await.is_ok());
    assert!(session.approve_by(&tokens[1], "operator:ada").await.is_ok());
    assert_eq!(
        kind(&session.deny(&tokens[2]).await),
        Some(ErrorKind::Denied)
    );
    assert_eq!(
        kind(&session.deny_by(&tokens[3], "operator:bob").await),
        Some(ErrorKind::Denied)
    );
    let audit = session.audit().await.expect("kept");
    let (waits, denied) = (ErrorKind::ConfirmationRequired, ErrorKind::Denied);
    let expected = [
        ("c1", "pay", CallOutcome::Refused(waits)),
        ("c2", "pay", CallOutcome::Refused(waits)),
        ("c3", "pay", CallOutcome::Refused(waits)),
        ("c4", "pay", CallOutcome::Refused(waits)),
        ("c1", "pay", CallOutcome::Succeeded),
        ("c2", "pay", CallOutcome::Succeeded),
        ("c3", "pay", CallOutcome::Refused(denied)),
        ("c4", "pay", CallOutcome::Refused(denied)),
    ];
    assert_eq!(told(&audit), expected);
    let decisions = audit.iter().map(by).collect::<Vec<_>>();
    let decided = [
        (true, "user:7"),
        (true, "operator:ada"),
        (false, "user:7"),
        (false, "operator:bob"),
    ]
    .map(Some);
    assert_eq!(decisions, [[None; 4], decided].concat());
    assert_eq!(audit[4].intents[0].intent, Intent::SuppressAudio);
}

// R-I1, R-C1
#[tokio::test]
async fn token_that_was_used_is_no_decision() {
    let session = session().await;
    let asked = call(&session, "pay", json!({"cents": 1})).await;
    let token = &asked
        .meta()
        .confirmation()
        .expect("a person is asked")
        .token;
    assert!(session.approve(token).await.is_ok());
    session.approve_by(token, "mallory").await;
    session.deny_by(token, "mallory").await;
    assert_eq!(session.audit().await.expect("kept").len(), 2);
}

// R-I1
#[tokio::test]
async fn calls_that_a_hook_or_a_layer_refuses_have_entries() {
    let busy = async |call: HookedCall<'_>| {
        if call.call_id == "c1" {
            Err(ToolError::rate_limit("later"))
        } else {
            Ok(())
        }
    };
    let slow = async |_: HookedCall<'_>, _: &mut tool_core::ToolResponse| ();
    let builder = Runtime::builder(all())
        .policy(free())
        .before(busy)
        .after(slow);
    let runtime = builder
        .layer(ConcurrencyLimitLayer::new(9))
        .build()
        .expect("a runtime");
    let session = open(&runtime, "s", Mode::Text).await;
    session
        .call(ToolCall::new("c1", "greet", r#"{"name":"Ada"}"#))
        .await;
    session
        .call(ToolCall::new("c2", "greet", r#"{"name":"Ada"}"#))
        .await;
    let expected = [
        ("c1", "greet", CallOutcome::Refused(ErrorKind::RateLimit)),
        ("c2", "greet", CallOutcome::Succeeded),
    ];
    assert_eq!(told(&session.audit().await.expect("kept")), expected);
}

// R-I1
#[tokio::test]
async fn audit_log_keeps_the_last_1000_calls() {
    let session = session().await;
    for n in 0..1_100 {
        let tool = ["greet", "fail", "made_up"][n % 3];
        session
            .call(ToolCall::new(format!("c{n}"), tool, r#"{"name":"Ada"}"#))
            .await;
    }
    let audit = session.audit().await.expect("kept");
    let ids = audit
        .iter()
        .map(|entry| entry.call_id.as_str())
        .collect::<Vec<_>>();
    assert_eq!(
        ids,
        (100..1_100).map(|n| format!("c{n}")).collect::<Vec<_>>()
    );
}

// R-I1, T12
#[tokio::test]
async fn entries_have_bounded_texts() {
    let session = session().await;
    session
        .call(ToolCall::new(
            "i".repeat(100_000),
            "n".repeat(100_000),
            "{}",
        ))
        .await;
    session
        .call(ToolCall::new(
            "é".repeat(100_000),
            "greet",
            r#"{"name":"Ada"}"#,
        ))
        .await;
    let audit = session.audit().await.expect("kept");
    assert!(
        audit
            .iter()
            .all(|entry| entry.call_id.len() <= 128 && entry.tool.len() <= 140),
        "{audit:?}"
    );
}

/// Leave a message and a value for the session.
#[tool]
fn leave(message: String) -> ToolOutput {
    let value = Intent::custom("acme.left", json!({"text": message}));
    ToolOutput::new(())
        .intent(Intent::SetPendingMessage(message))
        .intent(value.expect("a namespace"))
}

/// Show a page many times.
#[tool]
fn show_pages(length: usize) -> ToolOutput {
    let page = "p".repeat(length);
    (0..900).fold(ToolOutput::new(()), |output, _| {
        output.intent(Intent::Navigate(page.clone()))
    })
}

// R-I1, T12
#[tokio::test]
async fn entries_have_bounded_intents() {
    let session = text(tools![leave, show_pages], free()).await;
    let message = "m".repeat(100_000);
    call(&session, "leave", json!({"message": message})).await;
    call(&session, "show_pages", json!({"length": 1_500})).await;
    assert_eq!(session.state().pending_message, Some(message.clone()));
    assert_eq!(session.state().values["acme.left"]["text"], message);

    let audit = session.audit().await.expect("kept");
    assert_eq!(audit[0].intents.len(), 2);
    for (entry, most) in audit.iter().zip([5_000, 100_000]) {
        let json = serde_json::to_string(entry).expect("serialises");
        assert!(json.len() < most, "{}", json.len());
        assert_eq!(
            serde_json::from_str::<AuditEntry>(&json).expect("reads"),
            *entry
        );
    }
}

// R-I1, T1
#[tokio::test]
async fn intents_in_entries_are_redacted() {
    let session = text(tools![leave], free()).await;
    call(&session, "leave", json!({"message": "password=canary"})).await;
    let audit = session.audit().await.expect("kept");
    assert_eq!(audit[0].intents.len(), 2);
    assert!(!format!("{audit:?}").contains("canary"), "{audit:?}");
}

// R-I1, T1
#[tokio::test]
async fn entries_have_no_arguments_and_no_results() {
    let session = session().await;
    call(&session, "greet", json!({"name": "canary"})).await;
    call(&session, "greet", json!({"name": ["canary"]})).await;
    let audit = session.audit().await.expect("kept");
    let shown = format!(
        "{audit:?} {}",
        serde_json::to_string(&audit).expect("serialises")
    );
    assert!(!shown.contains("canary"), "{shown}");
}

// R-I1
#[tokio::test]
async fn entries_can_be_read_back_from_json() {
    let session = session().await;
    let asked = call(&session, "pay", json!({"cents": 7})).await;
    let token = &asked
        .meta()
        .confirmation()
        .expect("a person is asked")
        .token;
    session.approve_by(token, "operator:ada").await;
    call(&session, "fail", json!({})).await;
    let audit = session.audit().await.expect("kept");
    let document = serde_json::to_value(&audit).expect("serialises");
    assert_eq!(
        document[0]["outcome"],
        json!({"is": "refused", "error": "CONFIRMATION_REQUIRED"})
    );
    assert_eq!(document[1]["outcome"], json!({"is": "succeeded"}));
    assert_eq!(
        document[1]["decision"],
        json!({"approved": true, "by": "operator:ada"})
    );
    assert_eq!(document[1]["intents"][0]["effect"], "audio is suppressed");
    assert_eq!(
        document[2]["outcome"],
        json!({"is": "failed", "error": "CONFLICT"})
    );
    assert_eq!(
        serde_json::from_value::<Vec<AuditEntry>>(document).expect("reads"),
        audit
    );
}

// R-I1, R-I5
#[tokio::test]
async fn later_handle_reads_the_log_of_its_session_only() {
    let runtime = runtime(all(), free());
    let first = open(&runtime, "s", Mode::Text).await;
    call(&first, "fail", json!({})).await;
    drop(first);
    let again = open(&runtime, "s", Mode::Text).await;
    assert_eq!(again.audit().await.expect("kept").len(), 1);
    again.end().await;
    let later = open(&runtime, "s", Mode::Text).await;
    assert!(later.audit().await.expect("kept").is_empty());
}

// R-I1
#[tokio::test(start_paused = true)]
async fn times_follow_the_clock_of_calls() {
    let session = text(all(), free()).await;
    let mut calls = Vec::new();
    for _ in 0..5 {
        calls.push(session.call(asked("fail", json!({}))).await);
        tokio::time::advance(Duration::from_secs(40)).await;
    }
    assert!(calls.iter().all(|response| message(response) == "taken"));
    let audit = session.audit().await.expect("kept");
    // The system's clock, which is not paused, is read again after a minute.
    let since = |at: usize| audit[at].at.0.duration_since(audit[0].at.0).as_secs_f64();
    assert!((since(1) - 40.0).abs() < 1.0, "{}", since(1));
    assert_eq!(audit[0].decision, None::<CallDecision>);
}

// R-I1, R-C1
#[tokio::test]
async fn call_on_which_no_person_decided_has_no_decision() {
    let session = session().await;
    let asked = call(&session, "pay", json!({"cents": 1})).await;
    let token = &asked
        .meta()
        .confirmation()
        .expect("a person is asked")
        .token;
    assert_eq!(
        kind(&session.deny_undecided(token).await),
        Some(ErrorKind::Denied)
    );
    let audit = session.audit().await.expect("kept");
    assert_eq!((audit.len(), by(&audit[1])), (2, None));
}

// R-I1
#[tokio::test]
async fn call_that_the_host_refuses_is_recorded_and_counted() {
    let session = session().await;
    let asked = ToolCall::new("c1", "greet", r#"{"name":"Ada"}"#);
    session.refuse(&asked, ToolError::transient("a part is lost"));
    session.refuse_step(&asked);
    let expected = [
        ("c1", "greet", CallOutcome::Refused(ErrorKind::Transient)),
        (
            "c1",
            "greet",
            CallOutcome::Refused(ErrorKind::BudgetExceeded),
        ),
    ];
    assert_eq!(told(&session.audit().await.expect("kept")), expected);
}

// R-I1
#[tokio::test(start_paused = true)]
async fn running_call_whose_caller_goes_away_has_an_entry() {
    let runtime = runtime(tools![rest], free());
    let session = open(&runtime, "s", Mode::Text).await;
    let asked = session.call(ToolCall::new("c1", "rest", "{}"));
    assert!(
        tokio::time::timeout(Duration::from_millis(10), asked)
            .await
            .is_err(),
        "the caller goes away"
    );
    assert_eq!(
        told(&session.audit().await.expect("kept")),
        [("c1", "rest", CallOutcome::Failed(ErrorKind::Cancelled))]
    );
}

/// Returns a session whose calls have 50 ms in a layer.
async fn hurried() -> Session {
    let hurry = TimeoutLayer::new(Duration::from_millis(50));
    let runtime = Runtime::builder(tools![rest]).layer(hurry).build();
    open(&runtime.expect("a runtime"), "s", Mode::Text).await
}

// R-I1
#[tokio::test(start_paused = true)]
async fn running_call_that_a_layer_ends_has_one_entry() {
    let session = hurried().await;
    session.call(ToolCall::new("c1", "rest", "{}")).await;
    assert_eq!(
        told(&session.audit().await.expect("kept")),
        [("c1", "rest", CallOutcome::Failed(ErrorKind::Timeout))]
    );
}

// R-I1
#[tokio::test(start_paused = true)]
async fn call_in_layers_whose_caller_goes_away_has_an_entry() {
    let session = hurried().await;
    let asked = session.call(ToolCall::new("c1", "rest", "{}"));
    let answered = tokio::time::timeout(Duration::from_millis(10), asked).await;
    assert!(answered.is_err(), "the caller goes away");
    assert_eq!(
        told(&session.audit().await.expect("kept")),
        [("c1", "rest", CallOutcome::Failed(ErrorKind::Cancelled))]
    );
}

// R-I1
#[tokio::test(start_paused = true)]
async fn call_that_a_layer_sheds_is_a_refusal() {
    let builder = Runtime::builder(tools![rest]).layer(LoadShedLayer::new());
    let builder = builder.layer(ConcurrencyLimitLayer::new(1));
    let session = open(&builder.build().expect("a runtime"), "s", Mode::Text).await;
    let running = begin(&session, "c1", "rest", "{}").await;
    session.call(ToolCall::new("c2", "rest", "{}")).await;
    assert!(answer(running).await.is_ok());
    let expected = [
        ("c2", "rest", CallOutcome::Refused(ErrorKind::RateLimit)),
        ("c1", "rest", CallOutcome::Succeeded),
    ];
    assert_eq!(told(&session.audit().await.expect("kept")), expected);
}

// R-I1, R-C1
#[tokio::test]
async fn denied_call_of_a_removed_tool_has_an_entry() {
    let runtime = runtime(all(), free());
    let session = open(&runtime, "s", Mode::Text).await;
    let asked = session
        .call(ToolCall::new("c1", "pay", json!({"cents": 1})))
        .await;
    let token = &asked.meta().confirmation().expect("asks").token;
    runtime.update_tools(tools![greet]).expect("sound tools");
    let renewed = runtime.session("s", Mode::Text).renewed().await;
    let renewed = renewed.expect("a session");
    let denied = renewed.deny_by(token, "operator:bob").await;
    assert_eq!(kind(&denied), Some(ErrorKind::Denied));

    let audit = renewed.audit().await.expect("kept");
    let last = audit.last().expect("an entry");
    assert_eq!(last.outcome, CallOutcome::Refused(ErrorKind::Denied));
    assert_eq!(
        (&*last.tool, by(last)),
        ("pay", Some((false, "operator:bob")))
    );
}
