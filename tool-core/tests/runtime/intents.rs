//! Intents of responses, and the state of a session.

use crate::support::{asked, call, kind, text, tools, voice};
use jiff::Timestamp;
use serde_json::{Value, json};
use tool_core::call::StateKey;
use tool_core::session::SessionState;
use tool_core::session::StateChange;
use tool_core::{
    ErrorKind, Intent, Policy, RunContext, Session, ToolContext, ToolError, ToolOutput, tool,
};

/// Returns the intent with this name.
fn intent(name: &str) -> Intent {
    match name {
        "end" => Intent::EndVoiceSession,
        "audio" => Intent::SuppressAudio,
        "transcript" => Intent::SuppressTranscript,
        "voice" => Intent::StartVoiceSession,
        "booking" => Intent::Navigate("/bookings/7".to_owned()),
        "cart" => Intent::custom("acme.cart", json!({"items": 2})).expect("a namespace"),
        "empty cart" => Intent::custom("acme.cart", Value::Null).expect("a namespace"),
        message => Intent::SetPendingMessage(message.to_owned()),
    }
}

/// Ask for things beside the result.
#[tool(name = "ask")]
fn ask(intents: Vec<String>) -> ToolOutput {
    intents
        .iter()
        .fold(ToolOutput::new(intents.len()), |output, name| {
            output.intent(intent(name))
        })
}

/// Ask for one thing while running, and for another with the result.
#[tool(name = "emit")]
fn emit(ctx: &RunContext, first: &str, then: &str) -> ToolOutput {
    ctx.emit(intent(first));
    ToolOutput::new(()).intent(intent(then))
}

/// Ask for something, and fail.
#[tool(name = "emit_and_fail")]
fn emit_and_fail(ctx: &RunContext, how: &str) -> Result<(), String> {
    ctx.emit(intent("audio"));
    ctx.emit(intent("hello"));
    assert!(how != "panic", "broken on purpose");
    Err("it failed".to_owned())
}

/// Read what the session remembers.
#[tool(name = "read")]
fn read(ctx: &RunContext, key: &str) -> Value {
    ctx.state().get(key).cloned().unwrap_or_default()
}

fn all() -> ToolContext {
    tools![ask, emit, emit_and_fail, read]
}

async fn in_voice() -> Session {
    voice(all(), Policy::voice().max_calls(None)).await
}

async fn in_text() -> Session {
    text(all(), Policy::text()).await
}

async fn want(session: &Session, intents: &[&str]) {
    assert!(
        call(session, "ask", json!({"intents": intents}))
            .await
            .is_ok()
    );
}

/// Returns the intents that the log has.
async fn log(session: &Session) -> Vec<Intent> {
    session.intents().await.expect("the log")
}

// R-I1
#[tokio::test]
async fn session_applies_intents_of_a_response_in_order() {
    let session = in_voice().await;
    let response = call(
        &session,
        "ask",
        json!({"intents": ["audio", "one", "two", "cart"]}),
    )
    .await;
    let expected = ["audio", "one", "two", "cart"].map(intent);
    assert_eq!(
        (response.intents(), log(&session).await),
        (&expected[..], expected.to_vec())
    );
    let state = session.state();
    assert!(
        state.audio_suppressed && !state.transcript_suppressed && !state.ending && !state.ended
    );
    assert_eq!(
        state.pending_message.as_deref(),
        Some("two"),
        "the later one wins"
    );
    assert_eq!(state.values["acme.cart"], json!({"items": 2}));
}

// R-I1
#[tokio::test]
async fn intents_for_the_host_change_no_state() {
    let session = in_voice().await;
    let before = session.state();
    let response = call(&session, "ask", json!({"intents": ["voice", "booking"]})).await;
    let sent = serde_json::to_value(response.intents()).expect("serialises");
    assert_eq!(
        sent,
        json!([{"type": "START_VOICE_SESSION"}, {"type": "NAVIGATE", "to": "/bookings/7"}])
    );
    assert_eq!(
        serde_json::from_value::<Vec<Intent>>(sent).expect("reads"),
        ["voice", "booking"].map(intent)
    );
    assert_eq!((session.state(), log(&session).await.len()), (before, 2));
}

// R-I1
#[tokio::test]
async fn emitted_intents_precede_returned_ones() {
    let session = in_voice().await;
    call(&session, "emit", json!({"first": "one", "then": "two"})).await;
    assert_eq!(log(&session).await, ["one", "two"].map(intent));
    assert_eq!(session.state().pending_message.as_deref(), Some("two"));
}

// R-I1
#[tokio::test]
async fn audit_log_has_the_intents_of_calls_and_their_effects() {
    let session = in_text().await;
    let before = Timestamp::now();
    for (id, name) in [("call_1", "audio"), ("call_2", "end"), ("call_3", "cart")] {
        session
            .call(tool_core::ToolCall::new(
                id,
                "ask",
                json!({"intents": [name]}),
            ))
            .await;
    }
    let audit = session.audit().await.expect("kept");
    let told = audit.iter().map(|entry| {
        let [audited] = entry.intents.as_slice() else {
            panic!("{entry:?}")
        };
        (
            &*entry.tool,
            &*entry.call_id,
            audited.intent.name(),
            &*audited.effect,
        )
    });
    let expected = [
        ("ask", "call_1", "SUPPRESS_AUDIO", "audio is suppressed"),
        (
            "ask",
            "call_2",
            "END_VOICE_SESSION",
            "none: this is not a voice session",
        ),
        (
            "ask",
            "call_3",
            "acme.cart",
            "the session's `acme.cart` was set",
        ),
    ];
    assert_eq!(told.collect::<Vec<_>>(), expected);
    assert!(
        audit
            .iter()
            .all(|entry| entry.at.0 >= before && entry.at.0 <= Timestamp::now())
    );
}

// R-I1
#[tokio::test]
async fn intents_of_failed_calls_are_not_applied() {
    let session = in_voice().await;
    for (how, expected) in [
        ("error", ErrorKind::Permanent),
        ("panic", ErrorKind::Internal),
    ] {
        assert_eq!(
            kind(&call(&session, "emit_and_fail", json!({"how": how})).await),
            Some(expected)
        );
    }
    assert_eq!(
        (&*session.state(), log(&session).await),
        (&SessionState::default(), vec![])
    );
}

// R-I1
#[tokio::test]
async fn intents_of_refused_calls_are_not_applied() {
    let session = voice(all(), Policy::voice().max_calls(Some(1))).await;
    want(&session, &["one"]).await;
    let refused = call(&session, "ask", json!({"intents": ["two"]})).await;
    assert_eq!(kind(&refused), Some(ErrorKind::BudgetExceeded));
    assert_eq!(log(&session).await, [intent("one")]);
}

// R-I1
#[tokio::test]
async fn custom_intent_without_payload_removes_its_value() {
    let session = in_voice().await;
    want(&session, &["cart", "empty cart"]).await;
    assert!(session.state().values.is_empty());
    assert_eq!(log(&session).await.len(), 2);
}

// R-I1
#[test]
fn custom_intent_needs_a_namespace() {
    for name in ["", "cart", ".cart", "acme.", "acme..cart"] {
        assert!(Intent::custom(name, Value::Null).is_err(), "{name}");
    }
}

// R-I1, R-I2
#[tokio::test]
async fn voice_session_ends_after_its_turn() {
    let session = in_voice().await;
    want(&session, &["end", "goodbye"]).await;
    assert!(session.state().ending && !session.state().ended);
    want(&session, &["audio"]).await;
    let turn = session.next_turn().await;
    assert!(turn.ended);
    assert_eq!(turn.pending_message.as_deref(), Some("goodbye"));
    assert!(session.state().ended);
    assert_eq!(
        kind(&call(&session, "read", json!({"key": "x"})).await),
        Some(ErrorKind::SessionInactive)
    );
    assert_eq!(log(&session).await.len(), 3, "the log is still there");
}

// R-I1
#[tokio::test]
async fn text_session_ignores_end_of_voice() {
    let session = in_text().await;
    want(&session, &["end"]).await;
    assert!(!session.state().ending);
    assert!(!session.next_turn().await.ended);
    assert!(call(&session, "read", json!({"key": "x"})).await.is_ok());
}

// R-I2
#[tokio::test]
async fn voice_state_lasts_until_the_host_changes_it() {
    let session = in_voice().await;
    want(&session, &["audio", "transcript", "cart"]).await;
    session.next_turn().await;
    session.next_turn().await;
    let state = session.state();
    assert!(
        state.audio_suppressed
            && state.transcript_suppressed
            && state.values.contains_key("acme.cart")
    );
    let changes = [
        StateChange::AudioSuppressed(false),
        StateChange::TranscriptSuppressed(false),
        StateChange::Value("acme.cart".to_owned(), Value::Null),
    ];
    session.change(&changes).await.expect("a store in memory");
    assert_eq!(*session.state(), SessionState::default());
}

// R-I2
#[tokio::test]
async fn text_state_ends_with_the_turn() {
    let session = in_text().await;
    want(&session, &["audio", "transcript", "cart", "hello"]).await;
    assert!(session.state().audio_suppressed);
    assert_eq!(
        session.next_turn().await.pending_message.as_deref(),
        Some("hello")
    );
    assert_eq!(*session.state(), SessionState::default());
    assert_eq!(session.next_turn().await.pending_message, None);
}

// R-I1, R-I2
#[tokio::test]
async fn pending_message_is_delivered_once() {
    let session = in_voice().await;
    want(&session, &["hello"]).await;
    let mut said = Vec::new();
    for _ in 0..3 {
        said.push(session.next_turn().await.pending_message);
    }
    assert_eq!(said, [Some("hello".to_owned()), None, None]);
    assert_eq!(session.state().pending_message, None);
}

// R-I1
#[tokio::test]
async fn message_set_again_is_delivered_again() {
    let session = in_voice().await;
    for _ in 0..3 {
        want(&session, &["hello"]).await;
        assert_eq!(
            session.next_turn().await.pending_message.as_deref(),
            Some("hello")
        );
    }
    session
        .change(&[StateChange::PendingMessage(None)])
        .await
        .expect("a store in memory");
    assert_eq!(session.next_turn().await.pending_message, None);
}

// R-I2
#[tokio::test]
async fn tool_reads_the_state_at_the_time_of_its_call() {
    let session = in_voice().await;
    assert_eq!(
        call(&session, "read", json!({"key": "audioSuppressed"}))
            .await
            .data_json(),
        Some("false")
    );
    want(&session, &["audio"]).await;
    session.next_turn().await;
    assert_eq!(
        call(&session, "read", json!({"key": "audioSuppressed"}))
            .await
            .data_json(),
        Some("true")
    );
    let values = [StateChange::Value("host".to_owned(), json!({"user": 7}))];
    session.change(&values).await.expect("a store in memory");
    let read = call(&session, "read", json!({"key": "values"})).await;
    assert_eq!(read.data_json(), Some(r#"{"host":{"user":7}}"#));
}

// R-I1
#[tokio::test]
async fn entry_keeps_the_last_1000_intents_of_its_call() {
    let session = text(all(), Policy::text().repeated_calls(None)).await;
    let many = (0..1100).map(|n| n.to_string()).collect::<Vec<_>>();
    assert!(
        session
            .call(asked("ask", json!({"intents": many})))
            .await
            .is_ok()
    );
    let intents = log(&session).await;
    assert_eq!(
        (intents.len(), &intents[0], &intents[999]),
        (1000, &intent("100"), &intent("1099"))
    );
    assert_eq!(
        session.state().pending_message.as_deref(),
        Some("1099"),
        "all of them are carried out"
    );
}

const CART: StateKey<Vec<String>> = StateKey::new("shop.cart");

/// Put something into the cart, and read it.
#[tool(name = "add_to_cart", sequential)]
fn add_to_cart(ctx: &RunContext, item: String) -> Result<Vec<String>, ToolError> {
    let mut cart = ctx.get_state(CART)?.unwrap_or_default();
    cart.push(item.clone());
    ctx.set_state(CART, &cart)?;
    let cart = ctx.get_state(CART)?.unwrap_or_default();
    if item == "bomb" {
        Err(ToolError::permanent("not that"))
    } else {
        Ok(cart)
    }
}

/// Empty the cart.
#[tool(name = "empty_cart")]
fn empty_cart(ctx: &RunContext) -> Result<bool, ToolError> {
    ctx.remove_state(CART);
    Ok(ctx.get_state(CART)?.is_none())
}

async fn shop() -> Session {
    voice(
        tools![add_to_cart, empty_cart],
        Policy::voice().max_calls(None),
    )
    .await
}

// R-I1, R-I2
#[tokio::test]
async fn tools_read_and_set_values_of_the_state() {
    let session = shop().await;
    assert_eq!(
        call(&session, "add_to_cart", json!({"item": "tea"}))
            .await
            .data_json(),
        Some(r#"["tea"]"#)
    );
    assert_eq!(
        call(&session, "add_to_cart", json!({"item": "rice"}))
            .await
            .data_json(),
        Some(r#"["tea","rice"]"#)
    );
    assert_eq!(
        session.state().get(CART).expect("reads"),
        Some(vec!["tea".to_owned(), "rice".to_owned()])
    );
    let audit = session.audit().await.expect("kept");
    let audited = audit.last().and_then(|entry| entry.intents.last());
    assert_eq!(
        audited.map(|audited| &*audited.effect),
        Some("the session's `shop.cart` was set")
    );
    assert_eq!(
        call(&session, "empty_cart", json!({})).await.data_json(),
        Some("true")
    );
    assert_eq!(session.state().get(CART).expect("reads"), None);
}

// R-I1
#[tokio::test]
async fn a_call_that_fails_sets_no_value() {
    let session = shop().await;
    assert!(
        !call(&session, "add_to_cart", json!({"item": "bomb"}))
            .await
            .is_ok()
    );
    assert_eq!(session.state().get(CART).expect("reads"), None);
}

#[tokio::test]
async fn a_value_of_another_type_is_an_error() {
    let session = shop().await;
    session
        .change(&[StateChange::Value("shop.cart".into(), json!(7))])
        .await
        .expect("changes");
    assert!(session.state().get(CART).is_err());
    let response = call(&session, "add_to_cart", json!({"item": "tea"})).await;
    assert_eq!(kind(&response), Some(ErrorKind::Internal));
}

#[tokio::test]
async fn the_host_sets_values_that_tools_read() {
    let session = shop().await;
    session
        .change(&[StateChange::set(CART, &vec!["salt".to_owned()]).expect("sets")])
        .await
        .expect("changes");
    assert_eq!(
        call(&session, "add_to_cart", json!({"item": "tea"}))
            .await
            .data_json(),
        Some(r#"["salt","tea"]"#)
    );
}
