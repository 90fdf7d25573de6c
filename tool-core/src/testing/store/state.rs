//! Tests of a session's state and its audit log.

use crate::call::intent::Intent;
use crate::call::mode::Mode;
use crate::json::nested::MAX_STORED_DEPTH;
use crate::session::audit::{AuditEntry, AuditedIntent};
use crate::session::state::{SessionState, StateChange};
use crate::session::store::session_store::Settlement;
use crate::testing::store::driver::{
    HOUR, StoreUnderTest, answered, entry, session, settled, text, waiting,
};
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

fn value(name: &str, value: Value) -> StateChange {
    StateChange::Value(name.to_owned(), value)
}

/// Returns a value that nests as deep as a session lets it.
fn deepest() -> Value {
    (0..MAX_STORED_DEPTH).fold(Value::Null, |inner, _| Value::Array(vec![inner]))
}

fn message(text: &str) -> StateChange {
    StateChange::PendingMessage(Some(text.to_owned()))
}

/// One change of each kind.
fn all() -> Vec<StateChange> {
    vec![
        StateChange::AudioSuppressed(true),
        StateChange::TranscriptSuppressed(true),
        message("later"),
        value("acme.cart", json!([1, 2])),
    ]
}

fn all_set() -> SessionState {
    let mut state = SessionState::default();
    for change in &all() {
        state.apply(change);
    }
    state
}

/// The last change of a value takes effect, within one step and across steps, by calls and by the
/// program.
pub async fn changes_are_applied_in_order(store: &impl StoreUnderTest) {
    let session = text(store).await;
    let changes = [
        message("first"),
        value("a", json!(1)),
        message("second"),
        value("b", json!(2)),
    ];
    session
        .settle(Settlement {
            changes: &changes,
            ..settled()
        })
        .await;
    let seen = session.0.state();
    assert_eq!(seen.pending_message.as_deref(), Some("second"));
    assert_eq!(Value::from(seen.values.clone()), json!({"a": 1, "b": 2}));
    session
        .change(&[
            value("a", Value::Null),
            StateChange::PendingMessage(None),
            value("b", json!(3)),
        ])
        .await;
    let seen = session.0.state();
    assert_eq!(seen.pending_message, None);
    assert_eq!(Value::from(seen.values.clone()), json!({"b": 3}));
    session.change(&all()).await;
    session.change(&[value("b", Value::Null)]).await;
    assert_eq!(*session.0.state(), all_set());
    let back = [
        StateChange::AudioSuppressed(false),
        StateChange::TranscriptSuppressed(false),
    ];
    session.change(&back).await;
    assert!(!session.0.state().audio_suppressed && !session.0.state().transcript_suppressed);
}

/// A store does not interpret values: exact integers, empty lists and odd names come back.
pub async fn values_come_back_as_they_were(store: &impl StoreUnderTest) {
    let session = text(store).await;
    let values = json!({
        "": "an empty name", "a:b": false, "numbers": [9_007_199_254_740_993_u64, u64::MAX, i64::MIN, 1.5, 1e300, 0],
        "empty": {"list": [], "object": {}, "text": ""}, "text": "\u{0} \r\n \"ü\" \u{1F980}", "{tag}": [[[[]]]],
        "deep": deepest(),
    });
    let Value::Object(values) = values else {
        panic!("an object")
    };
    let changes = values
        .iter()
        .map(|(name, to)| value(name, to.clone()))
        .collect::<Vec<_>>();
    session.change(&changes).await;
    session
        .change(&[StateChange::PendingMessage(Some(String::new()))])
        .await;
    session.refresh().await;
    let other = text(store).await.0.state();
    assert_eq!(*session.0.state(), *other);
    assert_eq!(other.values, values);
    assert_eq!(
        other.pending_message.as_deref(),
        Some(""),
        "nothing to say is not the same as no message"
    );
}

/// A call may end after its turn. Its changes are made and logged.
pub async fn late_call_changes_the_state(store: &impl StoreUnderTest) {
    let session = session(store, Mode::Voice).await;
    let turn = session.0.turn();
    assert!(session.next_turn().await.is_some());
    session
        .settle(Settlement {
            turn,
            changes: &[message("late")],
            audit: &[entry(1)],
            ..settled()
        })
        .await;
    assert_eq!(session.0.state().pending_message.as_deref(), Some("late"));
    assert_eq!(session.audit().await, [entry(1)]);
}

/// In text mode the state is emptied after each turn, with the pending message.
pub async fn text_state_ends_with_its_turn(store: &impl StoreUnderTest) {
    let session = text(store).await;
    session.change(&all()).await;
    assert_eq!(*session.0.state(), all_set());
    assert!(session.next_turn().await.is_some());
    assert_eq!(*session.0.state(), SessionState::default());
    assert_eq!(*text(store).await.0.state(), SessionState::default());
}

/// In voice mode the state is kept, with the pending message.
pub async fn voice_state_outlives_its_turn(store: &impl StoreUnderTest) {
    let voice = session(store, Mode::Voice).await;
    voice
        .settle(Settlement {
            changes: &all(),
            ..settled()
        })
        .await;
    assert!(voice.next_turn().await.is_some());
    assert_eq!(*voice.0.state(), all_set());
    assert_eq!(*session(store, Mode::Voice).await.0.state(), all_set());
}

/// Entries are in order within a call and across calls, also in text mode.
pub async fn audit_log_is_in_order_and_outlives_the_turn(store: &impl StoreUnderTest) {
    let session = text(store).await;
    session
        .settle(Settlement {
            audit: &[entry(0), entry(1)],
            ..settled()
        })
        .await;
    assert!(session.next_turn().await.is_some());
    session
        .settle(Settlement {
            audit: &[entry(2)],
            ..settled()
        })
        .await;
    let deep = Intent::Custom {
        name: "acme.deep".to_owned(),
        payload: deepest(),
    };
    let deep = AuditEntry {
        intents: vec![AuditedIntent::new(deep, "applied")],
        ..entry(3)
    };
    session
        .settle(Settlement {
            audit: std::slice::from_ref(&deep),
            ..settled()
        })
        .await;
    let all = [entry(0), entry(1), entry(2), deep];
    assert_eq!(session.audit().await, all);
    assert_eq!(text(store).await.audit().await, all);
}

/// An entry that comes with an answered call is in the log, also without the call, and after the
/// session's end.
pub async fn entries_of_kept_calls_are_in_the_audit_log(store: &impl StoreUnderTest) {
    let session = text(store).await;
    session
        .settle(Settlement {
            audit: &[entry(0)],
            ..settled()
        })
        .await;
    session.audit_call(Some(&answered(1)), &entry(1)).await;
    session.audit_call(None, &entry(2)).await;
    assert_eq!(session.audit().await, [0, 1, 2].map(entry));
    assert_eq!(session.calls().await, [answered(1)]);
    session.end().await;
    session.audit_call(None, &entry(3)).await;
    assert_eq!(session.audit().await, [0, 1, 2, 3].map(entry));
}

/// The oldest entries are removed.
pub async fn audit_log_keeps_the_last_thousand_entries(store: &impl StoreUnderTest) {
    let session = text(store).await;
    for ten in 0..103 {
        let entries = (ten * 10..ten * 10 + 10).map(entry).collect::<Vec<_>>();
        session
            .settle(Settlement {
                audit: &entries,
                ..settled()
            })
            .await;
    }
    let last = (30..1030).map(entry).collect::<Vec<_>>();
    assert_eq!(session.audit().await, last);
    assert_eq!(text(store).await.audit().await, last);
}

/// Each entry is in the log once, in the same order over all handles.
pub async fn racing_entries_are_all_in_the_audit_log(store: &impl StoreUnderTest) {
    let sessions = [text(store).await, text(store).await];
    let mut racers = JoinSet::new();
    for racer in 0..20 {
        let session = sessions[racer % 2].clone();
        racers.spawn(async move {
            for number in 0..20 {
                session
                    .settle(Settlement {
                        audit: &[entry(racer * 20 + number)],
                        ..settled()
                    })
                    .await;
            }
        });
    }
    racers.join_all().await;
    let [one, other] = &sessions;
    one.refresh().await;
    other.refresh().await;
    assert_eq!(one.audit().await, other.audit().await);
    let mut ids = one
        .audit()
        .await
        .into_iter()
        .map(|entry| entry.call_id)
        .collect::<Vec<_>>();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 400);
}

/// After a refresh a handle has the other's turn, state, log, pending calls and end.
pub async fn handles_see_each_others_changes(store: &impl StoreUnderTest) {
    let here = session(store, Mode::Voice).await;
    let there = session(store, Mode::Voice).await;
    here.settle(Settlement {
        changes: &all(),
        audit: &[entry(1)],
        ..settled()
    })
    .await;
    let turn = here.next_turn().await;
    there.refresh().await;
    assert_eq!(Some(there.0.turn()), turn);
    assert_eq!(*there.0.state(), all_set());
    assert_eq!(there.audit().await, [entry(1)]);
    there
        .settle(Settlement {
            changes: &[value("acme.cart", json!([3]))],
            audit: &[entry(2)],
            ..settled()
        })
        .await;
    there.mint(&waiting(1), HOUR).await;
    here.refresh().await;
    let mut cart = Map::new();
    cart.insert("acme.cart".to_owned(), json!([3]));
    assert_eq!(here.0.state().values, cart);
    assert_eq!(here.audit().await, [entry(1), entry(2)]);
    assert!(here.pending(&waiting(1).id).await.is_some());
    there.end().await;
    here.refresh().await;
    assert!(here.0.state().ended);
    assert_eq!(here.audit().await, [entry(1), entry(2)]);
}
