//! Tests of counters that begin again with each turn.

use crate::call::mode::Mode;
use crate::session::state::StateChange;
use crate::session::store::session_store::{Settlement, Verdict};
use crate::testing::store::driver::{
    StoreUnderTest, TestCall, TestSession, session, settled, settlement, text,
};
use std::collections::HashMap;
use tokio::task::JoinSet;

/// The counters of the total, the category and the tool begin again.
pub async fn counters_begin_again_with_the_next_turn(store: &impl StoreUnderTest) {
    let session = text(store).await;
    let calls = [
        TestCall::within(|limits| limits.max_calls = Some(2)),
        TestCall::within(|limits| limits.retrieval = Some(2)),
        TestCall {
            max_calls: Some(2),
            ..TestCall::default()
        },
    ];
    for call in &calls {
        assert_eq!(session.pass(3, call).await, 2);
        assert!(session.next_turn().await.is_some());
    }
}

/// Attempts and empty results are counted within a turn.
pub async fn loop_detection_begins_again_with_the_next_turn(store: &impl StoreUnderTest) {
    let session = text(store).await;
    let call = TestCall::within(|limits| (limits.repeated, limits.empty) = (Some(3), Some(2)));
    for _ in 0..2 {
        assert_eq!(session.pass(3, &call).await, 2);
        for _ in 0..2 {
            session
                .settle(Settlement {
                    empty: true,
                    ..settled()
                })
                .await;
        }
        assert!(!session.passes(&call.about("other")).await);
        assert!(session.next_turn().await.is_some());
    }
}

/// Verdicts, the end of a turn and the session have the same number, which is one more each turn.
pub async fn turns_are_counted(store: &impl StoreUnderTest) {
    let session = text(store).await;
    for turn in session.0.turn()..session.0.turn() + 3 {
        assert_eq!(
            session.admit(&TestCall::default()).await,
            Verdict::Admitted { turn }
        );
        assert_eq!(session.0.turn(), turn);
        assert_eq!(session.next_turn().await, Some(turn + 1));
    }
}

/// Of many turns that end at once, over several handles, one gets the message.
pub async fn one_of_racing_turns_gets_the_pending_message(store: &impl StoreUnderTest) {
    for mode in [Mode::Voice, Mode::Text] {
        let sessions = [session(store, mode).await, session(store, mode).await];
        for round in 0..20 {
            let message = format!("message {round}");
            sessions[0]
                .settle(settlement(
                    &[StateChange::PendingMessage(Some(message.clone()))],
                    &[],
                ))
                .await;
            let mut racers = JoinSet::new();
            for racer in 0..32 {
                let session = sessions[racer % 2].clone();
                racers.spawn(async move { session.turn().await.pending_message });
            }
            let got = racers
                .join_all()
                .await
                .into_iter()
                .flatten()
                .collect::<Vec<_>>();
            assert_eq!(got, [message], "round {round}");
        }
        sessions[0].end().await;
    }
}

/// In voice the state shows a message during the turn that gets it. A message that is set again is
/// delivered again, and the last turn of a session gets one too.
pub async fn pending_message_is_delivered_once(store: &impl StoreUnderTest) {
    for mode in [Mode::Voice, Mode::Text] {
        let session = session(store, mode).await;
        let set = [StateChange::PendingMessage(Some("soon".to_owned()))];
        let shown = |session: &TestSession| session.state().pending_message.is_some();
        for _ in 0..2 {
            session.change(&set).await;
            assert_eq!(
                session.turn().await.pending_message.as_deref(),
                Some("soon")
            );
            assert_eq!(shown(&session), mode == Mode::Voice);
        }
        assert_eq!(
            (session.turn().await.pending_message, shown(&session)),
            (None, false)
        );
        session.change(&set).await;
        session.change(&[StateChange::PendingMessage(None)]).await;
        assert_eq!(session.turn().await.pending_message, None);
        session
            .settle(settlement(
                &[set[0].clone(), StateChange::Ending(true)],
                &[],
            ))
            .await;
        let last = session.turn().await;
        assert_eq!(
            (last.pending_message.as_deref(), last.ended),
            (Some("soon"), true)
        );
        assert_eq!(session.turn().await.pending_message, None);
    }
}

/// A verdict names the turn that was charged.
pub async fn racing_calls_and_turns_never_exceed_the_limit(store: &impl StoreUnderTest) {
    let session = text(store).await;
    let call = TestCall::within(|limits| limits.max_calls = Some(7));
    let mut racers = JoinSet::new();
    for racer in 0..16 {
        let session = session.clone();
        let call = call.clone();
        racers.spawn(async move {
            let mut turns = Vec::new();
            for step in 0..40 {
                if racer == 0 && step % 4 == 0 {
                    assert!(session.next_turn().await.is_some());
                }
                if let Verdict::Admitted { turn } = session.admit(&call).await {
                    turns.push(turn);
                }
            }
            turns
        });
    }
    let mut passed = HashMap::<u64, u32>::new();
    for turn in racers.join_all().await.into_iter().flatten() {
        *passed.entry(turn).or_default() += 1;
    }
    assert!(passed.values().all(|calls| *calls <= 7), "{passed:?}");
}
