//! Tests of sessions: joining, ending, and their greatest number.

use crate::call::mode::Mode;
use crate::session::approvals::{ApprovalRequest, ApprovalVerdict};
use crate::session::state::{SessionState, StateChange};
use crate::session::store::session_store::{Settlement, Verdict};
use crate::session::store::{OpenError, OpenRequest, SessionStore};
use crate::testing::store::driver::{
    HOUR, StoreUnderTest, TestCall, TestSession, entry, open, opening, session, settled, text,
    waiting,
};
use std::sync::Arc;
use tokio::task::JoinSet;

/// Opens a session with a limit of `max_sessions`.
async fn capped(
    store: &impl SessionStore,
    id: &str,
    max_sessions: u64,
) -> Result<TestSession, OpenError> {
    open(
        store,
        &OpenRequest {
            max_sessions,
            ..opening(id, Mode::Text)
        },
    )
    .await
}

/// All handles of a session share its budget.
pub async fn open_session_is_joined(store: &impl StoreUnderTest) {
    let one = text(store).await;
    let other = text(store).await;
    let call = TestCall::within(|limits| limits.max_calls = Some(3));
    assert_eq!(one.pass(2, &call).await, 2);
    assert_eq!(other.pass(2, &call).await, 1);
    assert_eq!(store.handle().await.sessions().await, Ok(1));
}

/// A session that was handed over keeps its state and its counters, and is joined in its new mode
/// only.
pub async fn handed_over_session_is_joined_in_its_new_mode(store: &impl StoreUnderTest) {
    let one = text(store).await;
    let other = text(store).await;
    let call = TestCall::within(|limits| limits.max_calls = Some(3));
    assert_eq!(one.pass(2, &call).await, 2);
    one.change(&[StateChange::AudioSuppressed(true)]).await;
    one.0
        .switch_mode(Mode::Voice)
        .await
        .expect("the store switches");
    assert_eq!(one.0.mode(), Mode::Voice);
    let handle = store.handle().await;
    let refused = open(&handle, &opening("session", Mode::Text)).await.err();
    assert_eq!(
        refused,
        Some(OpenError::OtherMode {
            id: "session".into(),
            open: Mode::Voice
        })
    );
    let joined = session(store, Mode::Voice).await;
    assert_eq!(joined.pass(2, &call).await, 1, "the turn goes on");
    other.refresh().await;
    assert_eq!(
        (other.0.mode(), joined.0.mode()),
        (Mode::Voice, Mode::Voice)
    );
    joined.next_turn().await;
    assert!(
        joined.state().audio_suppressed,
        "the state lives as in voice"
    );
}

/// A session that has ended keeps its mode.
pub async fn ended_session_is_not_handed_over(store: &impl StoreUnderTest) {
    let session = text(store).await;
    session.end().await;
    session
        .0
        .switch_mode(Mode::Voice)
        .await
        .expect("the store answers");
    assert_eq!(session.0.mode(), Mode::Text);
}

/// A session keeps its mode.
pub async fn session_is_not_joined_in_another_mode(store: &impl StoreUnderTest) {
    for (id, mode, other) in [
        ("a", Mode::Text, Mode::Voice),
        ("b", Mode::Voice, Mode::Text),
    ] {
        let handle = store.handle().await;
        let first = open(&handle, &opening(id, mode))
            .await
            .expect("the session opens");
        let refused = open(&handle, &opening(id, other)).await.err();
        assert_eq!(
            refused,
            Some(OpenError::OtherMode {
                id: id.into(),
                open: mode
            })
        );
        assert!(
            first.passes(&TestCall::default()).await,
            "the session goes on"
        );
        first.end().await;
        assert!(
            open(&handle, &opening(id, other)).await.is_ok(),
            "after its end the id is free"
        );
    }
}

/// A session that is ending is over after the current turn.
pub async fn ending_session_is_over_at_the_next_turn(store: &impl StoreUnderTest) {
    for mode in [Mode::Voice, Mode::Text] {
        let session = session(store, mode).await;
        session
            .settle(Settlement {
                changes: &[StateChange::Ending(true)],
                ..settled()
            })
            .await;
        assert!(session.0.state().ending && !session.0.state().ended);
        assert!(
            session.passes(&TestCall::default()).await,
            "the turn goes on"
        );
        let other = self::session(store, mode).await;
        let turn = session.turn().await;
        assert!(turn.ended && turn.ended_now, "{turn:?}");
        for again in [session.turn().await, other.turn().await] {
            assert!(again.ended && !again.ended_now, "{again:?}");
        }
        session.assert_over().await;
        assert_eq!(store.handle().await.sessions().await, Ok(0));
    }
}

/// A session that ended is inactive over every handle.
pub async fn ended_session_is_inactive_over_all_handles(store: &impl StoreUnderTest) {
    let one = text(store).await;
    let other = text(store).await;
    one.end().await;
    one.assert_over().await;
    other.assert_over().await;
    assert_eq!(store.handle().await.sessions().await, Ok(0));
}

/// Ending again succeeds and does nothing.
pub async fn ending_twice_succeeds(store: &impl StoreUnderTest) {
    let one = text(store).await;
    let other = text(store).await;
    assert!(one.end().await, "it was open");
    assert!(!one.end().await, "it has ended");
    assert!(!other.end().await, "it has ended over another handle");
    let next = text(store).await;
    assert!(!one.end().await, "it has ended");
    assert!(
        next.passes(&TestCall::default()).await,
        "a later session of the same id is another"
    );
}

/// The state of an ended session can be read and stays unchanged.
pub async fn ended_session_does_not_change(store: &impl StoreUnderTest) {
    let session = session(store, Mode::Voice).await;
    let message = StateChange::PendingMessage(Some("last".to_owned()));
    session
        .settle(Settlement {
            changes: &[message],
            audit: &[entry(1)],
            ..settled()
        })
        .await;
    session.end().await;
    let state = session.0.state();
    assert!(state.ended);
    session
        .settle(Settlement {
            refund: true,
            changes: &[StateChange::AudioSuppressed(true)],
            ..settled()
        })
        .await;
    session.change(&[StateChange::AudioSuppressed(true)]).await;
    assert_eq!(
        session.asks(&ApprovalRequest::new(&waiting(1), HOUR)).await,
        ApprovalVerdict::Inactive
    );
    assert_eq!(session.next_turn().await, None);
    assert_eq!(session.pending(&waiting(1).id).await, None);
    session.refresh().await;
    assert_eq!(*session.0.state(), *state);
    assert_eq!(session.audit().await, [entry(1)]);
    session.assert_over().await;
}

/// The new session has nothing of the earlier one, which stays over.
pub async fn id_of_an_ended_session_opens_a_new_one(store: &impl StoreUnderTest) {
    let call = TestCall::within(|limits| limits.max_calls = Some(1));
    let before = session(store, Mode::Voice).await;
    assert!(before.passes(&call).await);
    let changes = [StateChange::AudioSuppressed(true)];
    before
        .settle(Settlement {
            changes: &changes,
            audit: &[entry(1)],
            ..settled()
        })
        .await;
    assert!(before.next_turn().await.is_some());
    before.end().await;
    let after = session(store, Mode::Voice).await;
    assert_eq!(*after.0.state(), SessionState::default());
    assert_eq!(after.audit().await, []);
    assert_eq!(
        after.admit(&call).await,
        Verdict::Admitted {
            turn: before.0.turn() - 1
        }
    );
    before.assert_over().await;
    before.change(&[StateChange::AudioSuppressed(true)]).await;
    after.refresh().await;
    assert_eq!(*after.0.state(), SessionState::default());
}

/// Sessions are isolated, however similar their ids.
pub async fn sessions_are_isolated(store: &impl StoreUnderTest) {
    let ids = [
        "a",
        "A",
        "",
        "a ",
        "a:b",
        "{a}",
        "}a",
        "a}:session",
        "a\u{0}",
        "*",
        "ä",
        "a/../b",
        "%7Ba%7D",
    ];
    let handle = store.handle().await;
    let call = TestCall::within(|limits| limits.max_calls = Some(1));
    let mut sessions = Vec::new();
    for id in ids {
        sessions.push(
            open(&handle, &opening(id, Mode::Voice))
                .await
                .expect("the session opens"),
        );
    }
    for (number, session) in sessions.iter().enumerate() {
        assert!(
            session.passes(&call).await,
            "session {number} has a budget of its own"
        );
        session
            .settle(Settlement {
                audit: &[entry(number)],
                ..settled()
            })
            .await;
    }
    for (number, session) in sessions.iter().enumerate() {
        session.refresh().await;
        assert_eq!(session.audit().await, [entry(number)]);
    }
    assert_eq!(handle.sessions().await, Ok(ids.len() as u64));
}

/// Open sessions continue and can be joined.
pub async fn full_store_opens_no_session_and_closes_none(store: &impl StoreUnderTest) {
    let handle = store.handle().await;
    let one = capped(&handle, "one", 2).await.expect("there is room");
    let two = capped(&handle, "two", 2).await.expect("there is room");
    for id in ["three", "four"] {
        assert_eq!(
            capped(&handle, id, 2).await.err(),
            Some(OpenError::Full { limit: 2 })
        );
    }
    assert!(one.passes(&TestCall::default()).await && two.passes(&TestCall::default()).await);
    assert!(
        capped(&handle, "one", 2).await.is_ok(),
        "one that is open is joined"
    );
    assert_eq!(handle.sessions().await, Ok(2));
}

/// An ended session makes room at once, also one that ended with its turn.
pub async fn ended_sessions_make_room(store: &impl StoreUnderTest) {
    let handle = store.handle().await;
    let first = capped(&handle, "0", 1).await.expect("there is room");
    first.end().await;
    let second = capped(&handle, "1", 1).await.expect("the first made room");
    second.change(&[StateChange::Ending(true)]).await;
    assert_eq!(second.next_turn().await, None);
    first.end().await;
    let third = capped(&handle, "2", 1).await.expect("the second made room");
    assert!(
        capped(&handle, "3", 1).await.is_err(),
        "ending twice makes room once"
    );
    assert!(third.passes(&TestCall::default()).await);
}

/// The limit holds when many sessions are opened at once.
pub async fn racing_openings_pass_up_to_the_limit(store: &impl StoreUnderTest) {
    let handles = [
        Arc::new(store.handle().await),
        Arc::new(store.handle().await),
    ];
    let mut racers = JoinSet::new();
    for racer in 0..64 {
        let handle = Arc::clone(&handles[racer % 2]);
        racers
            .spawn(async move { u32::from(capped(&handle, &racer.to_string(), 10).await.is_ok()) });
    }
    assert_eq!(racers.join_all().await.into_iter().sum::<u32>(), 10);
    assert_eq!(handles[0].sessions().await, Ok(10));
}

/// All callers get the same session, which counts once.
pub async fn racing_openings_of_one_id_share_one_session(store: &impl StoreUnderTest) {
    let handles = [
        Arc::new(store.handle().await),
        Arc::new(store.handle().await),
    ];
    let mut racers = JoinSet::new();
    for racer in 0..32 {
        let handle = Arc::clone(&handles[racer % 2]);
        racers.spawn(async move {
            open(&handle, &opening("one", Mode::Text))
                .await
                .expect("it opens")
        });
    }
    let call = TestCall::within(|limits| limits.max_calls = Some(5));
    let mut passed = 0;
    for session in racers.join_all().await {
        passed += session.pass(1, &call).await;
    }
    assert_eq!(passed, 5);
    assert_eq!(handles[0].sessions().await, Ok(1));
}
