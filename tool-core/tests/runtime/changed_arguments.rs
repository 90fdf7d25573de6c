//! A person approves a call with other arguments than the model's.

use crate::support::{Counter, call, kind, message, text, tools};
use futures_util::StreamExt;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use tool_core::call::ResultForm;
use tool_core::session::{AgentStream, CallOutcome, Decision, HookedCall, Reply, decision_note};
use tool_core::trace::Redaction;
use tool_core::{
    Category, ErrorKind, Mode, Policy, Runtime, Session, ToolCall, ToolError, ToolResponse, tool,
    toolset,
};

#[derive(Clone, Default)]
struct Shop(Counter);

#[toolset(discover = false)]
impl Shop {
    /// Refund an order.
    #[tool(category = "action", confirm)]
    fn refund(&self, cents: u32, note: Option<String>, password: Option<String>) -> String {
        self.0.add();
        format!("{cents} {note:?} {}", password.is_some())
    }
}

async fn session(policy: Policy) -> (Session, Counter) {
    let shop = Shop::default();
    let runs = shop.0.clone();
    (text(tools![shop], policy).await, runs)
}

/// Asks for a refund, and returns the token.
async fn ask(session: &Session, arguments: Value) -> String {
    let response = call(session, "refund", arguments).await;
    let confirmation = response.meta().confirmation();
    confirmation.expect("it waits").token.clone()
}

async fn approve(session: &Session, token: &str, arguments: Value) -> ToolResponse {
    let decision = Decision::approve(token).with_arguments(arguments).by("ada");
    session.decide(&decision, None).await
}

// R-C6
#[tokio::test]
async fn hook_after_the_call_reads_the_changed_arguments() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let hook = Arc::clone(&seen);
    let note = async move |_: HookedCall<'_>, response: &mut ToolResponse| {
        let changed = response.meta().changed_arguments().map(str::to_owned);
        hook.lock().expect("no panic").push(changed);
    };
    let runtime = Runtime::builder(tools![Shop::default()])
        .after(note)
        .build();
    let runtime = runtime.expect("a runtime");
    let session = runtime.session("s-1", Mode::Text).await.expect("a session");
    let token = ask(&session, json!({"cents": 90_000})).await;
    let done = approve(&session, &token, json!({"cents": 450})).await;
    assert!(done.is_ok(), "{done:?}");
    let changed = r#"{"cents":450}"#.to_owned();
    assert_eq!(*seen.lock().expect("no panic"), [None, Some(changed)]);
}

// R-C6
#[tokio::test]
async fn changed_arguments_run_in_canonical_form() {
    let (session, runs) = session(Policy::text()).await;
    let token = ask(&session, json!({"cents": 90_000})).await;
    let done = approve(&session, &token, json!({"note": "half", "cents": "450"})).await;
    assert_eq!(done.data_json(), Some(r#""450 Some(\"half\") false""#));
    let run = r#"{"cents":450,"note":"half"}"#;
    assert_eq!(done.meta().changed_arguments(), Some(run));
    assert_eq!(runs.get(), 1);
    let again = approve(&session, &token, json!({"cents": 1})).await;
    assert_eq!((kind(&again), runs.get()), (Some(ErrorKind::NotFound), 1));
}

// R-C6
#[tokio::test]
async fn invalid_change_lists_every_problem_and_waits_on() {
    let (session, runs) = session(Policy::text()).await;
    let token = ask(&session, json!({"cents": 90_000})).await;
    for _ in 0..5 {
        let refused = approve(&session, &token, json!({"cents": -1, "note": 7, "nope": 1})).await;
        let problems = refused.meta().problems().iter();
        let places = problems.map(|problem| &*problem.pointer);
        assert_eq!(places.collect::<Vec<_>>(), ["/cents", "/nope", "/note"]);
        assert_eq!(kind(&refused), Some(ErrorKind::Validation));
    }
    let text = Decision::approve(&token).with_arguments("{");
    let refused = session.decide(&text, None).await;
    assert_eq!(kind(&refused), Some(ErrorKind::Validation));
    assert_eq!(runs.get(), 0);
    assert!(session.approve(&token).await.is_ok());
}

// R-C6
#[tokio::test]
async fn equal_arguments_are_no_change() {
    let (session, _) = session(Policy::text()).await;
    let token = ask(&session, json!({"cents": 5, "note": "a"})).await;
    let done = approve(&session, &token, json!({"note": "a", "cents": 5.0})).await;
    assert!(done.is_ok());
    assert_eq!(done.meta().changed_arguments(), None);
}

// R-C6
#[tokio::test]
async fn changed_arguments_can_still_be_refused() {
    let shop = Shop::default();
    let runs = shop.0.clone();
    let runtime = Runtime::builder(tools![shop])
        .policy(Policy::text().category_budget(Category::Action, Some(1)))
        .before(async |call: HookedCall<'_>| {
            if call.arguments.contains("666") {
                return Err(ToolError::auth("not that many"));
            }
            Ok(())
        });
    let session = runtime.build().expect("a runtime");
    let session = session.session("s", Mode::Text).await.expect("a session");
    let first = ask(&session, json!({"cents": 1})).await;
    let second = ask(&session, json!({"cents": 2})).await;
    let refused = approve(&session, &first, json!({"cents": 666})).await;
    assert_eq!((kind(&refused), runs.get()), (Some(ErrorKind::Auth), 0));
    assert!(approve(&session, &first, json!({"cents": 3})).await.is_ok());
    let refused = approve(&session, &second, json!({"cents": 4})).await;
    assert_eq!(kind(&refused), Some(ErrorKind::BudgetExceeded));
    assert_eq!(runs.get(), 1);
}

// R-C6
#[tokio::test]
async fn audit_has_the_asked_and_the_run_arguments() {
    let policy = Policy::text().redaction(Redaction::new().key("password"));
    let (session, _) = session(policy).await;
    let asked = json!({"cents": 90_000, "password": "canary-1"});
    let response = call(&session, "refund", asked).await;
    let confirmation = response.meta().confirmation().expect("it waits");
    let run = json!({"cents": 900, "password": "canary-2"});
    approve(&session, &confirmation.token, run).await;
    let audit = session.audit().await.expect("the store");
    assert_eq!(audit[1].outcome, CallOutcome::Succeeded);
    let decision = audit[1].decision.as_ref().expect("a decision");
    let change = decision.change.as_ref().expect("a change");
    assert_eq!((decision.approved, &*decision.by), (true, "ada"));
    assert!(change.asked.contains("90000") && change.run.contains("900"));
    assert!(!format!("{change:?}").contains("canary"), "{change:?}");
    assert_eq!(change.asked_digest, confirmation.digest);
    let same = ask(&session, json!({"cents": 900, "password": "canary-2"})).await;
    let same = session.pending_call(&same).await.expect("it waits");
    assert_eq!(change.run_digest, same.digest());
}

// R-C6
#[tokio::test]
async fn kept_call_has_the_arguments_that_ran() {
    let (session, _) = session(Policy::text()).await;
    let token = ask(&session, json!({"cents": 90_000})).await;
    approve(&session, &token, json!({"cents": 900})).await;
    let history = session.history().await.expect("the store");
    let arguments = history[0].calls.iter().map(|call| &*call.arguments);
    assert_eq!(
        arguments.collect::<Vec<_>>(),
        [r#"{"cents":90000}"#, r#"{"cents":900}"#]
    );
}

// R-C6
#[tokio::test]
async fn model_reads_that_its_arguments_were_changed() {
    let (session, _) = session(Policy::text()).await;
    let token = ask(&session, json!({"cents": 90_000})).await;
    let done = approve(&session, &token, json!({"cents": 900})).await;
    let note = decision_note(&done, true, "[decision 1]").expect("a note");
    assert!(
        note.contains(
            r#"A person has approved it after changing its arguments to {"cents":900}, and it has run."#
        ),
        "{note}"
    );
    let envelope = done.for_model(ResultForm::Envelope).text;
    let envelope: Value = serde_json::from_str(&envelope).expect("JSON");
    assert_eq!(envelope["meta"]["changedArguments"], r#"{"cents":900}"#);
}

// R-C6
#[tokio::test]
async fn note_cuts_very_long_arguments() {
    let (session, _) = session(Policy::text()).await;
    let token = ask(&session, json!({"cents": 1})).await;
    let long = "x".repeat(50_000);
    let done = approve(&session, &token, json!({"cents": 1, "note": long})).await;
    let note = done.meta().changed_arguments().expect("a change");
    assert_eq!(note.len(), 50_021);
    let response: ToolResponse = serde_json::from_str(&done.to_json()).expect("an envelope");
    assert_eq!(response.meta().changed_arguments(), Some(note));
    let note = decision_note(&response, true, "[decision 1]").expect("a note");
    assert!(note.contains("(50021 characters)"));
}

// R-C6
#[tokio::test]
async fn stream_shows_the_changed_arguments() {
    let (session, _) = session(Policy::text()).await;
    let token = ask(&session, json!({"cents": 90_000})).await;
    let decision = Decision::approve(&token).with_arguments(json!({"cents": 900}));
    let invalid = Decision::approve(&token).with_arguments(json!({}));
    let session = &session;
    let stream = AgentStream::new(|events| async move {
        let refused = session.decide(&invalid, Some(&events)).await;
        assert!(message(&refused).contains("/cents"));
        session.decide(&decision, Some(&events)).await;
        Reply::default()
    });
    let events = stream.collect::<Vec<_>>().await;
    let shown = serde_json::to_value(&events).expect("JSON");
    assert_eq!(shown[0]["type"], "call_begun");
    assert_eq!(shown[0]["arguments"], r#"{"cents":900}"#);
    let meta = &shown[1]["response"]["meta"];
    assert_eq!(meta["changedArguments"], r#"{"cents":900}"#);
}

// R-C6
#[tokio::test]
async fn denial_ignores_arguments() {
    let (session, runs) = session(Policy::text()).await;
    let token = ask(&session, json!({"cents": 90_000})).await;
    let decision = Decision::deny(&token).with_arguments(json!({"cents": 900}));
    let denied = session.decide(&decision, None).await;
    assert_eq!((kind(&denied), runs.get()), (Some(ErrorKind::Denied), 0));
    let audit = session.audit().await.expect("the store");
    assert_eq!(audit[1].decision.as_ref().expect("it").change, None);
}

// R-C6
#[tokio::test]
async fn person_cannot_approve_another_call_by_a_change() {
    let (session, _) = session(Policy::text()).await;
    let forged = format!("{}.{}", "0".repeat(32), "0".repeat(64));
    let refused = approve(&session, &forged, json!({"cents": 900})).await;
    assert_eq!(kind(&refused), Some(ErrorKind::NotFound));
    let call = ToolCall::new("c", "refund", json!({"cents": 1}));
    assert_eq!(
        kind(&session.call(call).await),
        Some(ErrorKind::ConfirmationRequired)
    );
}
