//! Turns: what begins anew with each.

use crate::session::store::session_store::{Settlement, Verdict};
use crate::testing::store::StoreUnderTest;
use crate::testing::store::driver::{Ask, settled, text};
use std::collections::HashMap;
use tokio::task::JoinSet;

/// R-B2: of the turn, the category and the tool.
pub async fn counters_begin_anew_with_the_next_turn(store: &impl StoreUnderTest) {
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

/// R-L1, R-L2: loops are of a turn.
pub async fn attempts_and_empty_results_begin_anew_with_the_next_turn(store: &impl StoreUnderTest) {
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

/// Verdicts, the end of a turn and the session tell the same number, one more each turn.
pub async fn turns_are_counted(store: &impl StoreUnderTest) {
    let session = text(store).await;
    for turn in session.0.turn()..session.0.turn() + 3 {
        assert_eq!(session.admit(&Ask::default()).await, Verdict::Admitted { turn });
        assert_eq!(session.0.turn(), turn);
        assert_eq!(session.next_turn().await, Some(turn + 1));
    }
}

/// The turn that a verdict names is the one that was charged.
pub async fn racing_calls_and_turns_never_pass_more_than_the_limit_in_a_turn(store: &impl StoreUnderTest) {
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
