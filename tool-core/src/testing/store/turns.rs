//! Tests of counters that begin again with each turn.

use crate::session::store::session_store::{Settlement, Verdict};
use crate::testing::store::driver::{Ask, StoreUnderTest, settled, text};
use std::collections::HashMap;
use tokio::task::JoinSet;

/// The counters of the total, the category and the tool begin again.
pub async fn counters_begin_again_with_the_next_turn(store: &impl StoreUnderTest) {
    let session = text(store).await;
    let calls = [
        Ask::within(|limits| limits.max_calls = Some(2)),
        Ask::within(|limits| limits.retrieval = Some(2)),
        Ask { max_calls: Some(2), ..Ask::default() },
    ];
    for call in &calls {
        assert_eq!(session.pass(3, call).await, 2);
        assert!(session.next_turn().await.is_some());
    }
}

/// Attempts and empty results are counted within a turn.
pub async fn loop_detection_begins_again_with_the_next_turn(store: &impl StoreUnderTest) {
    let session = text(store).await;
    let call = Ask::within(|limits| (limits.repeated, limits.empty) = (Some(3), Some(2)));
    for _ in 0..2 {
        assert_eq!(session.pass(3, &call).await, 2);
        for _ in 0..2 {
            session.settle(Settlement { empty: true, ..settled() }).await;
        }
        assert!(!session.passes(&call.about("other")).await);
        assert!(session.next_turn().await.is_some());
    }
}

/// Verdicts, the end of a turn and the session have the same number, which is one more each turn.
pub async fn turns_are_counted(store: &impl StoreUnderTest) {
    let session = text(store).await;
    for turn in session.0.turn()..session.0.turn() + 3 {
        assert_eq!(session.admit(&Ask::default()).await, Verdict::Admitted { turn });
        assert_eq!(session.0.turn(), turn);
        assert_eq!(session.next_turn().await, Some(turn + 1));
    }
}

/// A verdict names the turn that was charged.
pub async fn racing_calls_and_turns_never_exceed_the_limit(store: &impl StoreUnderTest) {
    let (session, call) = (text(store).await, Ask::within(|limits| limits.max_calls = Some(7)));
    let mut racers = JoinSet::new();
    for racer in 0..16 {
        let (session, call) = (session.clone(), call.clone());
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
