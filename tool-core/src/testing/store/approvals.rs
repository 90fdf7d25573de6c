//! Tests of calls that wait for approval.

use crate::call::mode::Mode;
use crate::testing::store::driver::{HOUR, StoreUnderTest, open, opening, text, waiting};
use tokio::task::JoinSet;

/// Reading a pending call leaves it in the store.
pub async fn pending_call_comes_back_as_it_was(store: &impl StoreUnderTest) {
    let session = text(store).await;
    let call = waiting(1);
    session.mint(&call, HOUR).await;
    for _ in 0..2 {
        assert_eq!(session.pending(&call.id).await.as_ref(), Some(&call));
    }
    assert!(session.consume(&call.id).await);
    assert_eq!(session.pending(&call.id).await, None);
}

/// The store decides which of many callers consumes a pending call.
pub async fn pending_call_is_consumed_once(store: &impl StoreUnderTest) {
    let sessions = [text(store).await, text(store).await];
    for round in 0..10 {
        sessions[0].mint(&waiting(round), HOUR).await;
        let mut racers = JoinSet::new();
        for racer in 0..64 {
            let session = sessions[racer % 2].clone();
            racers.spawn(async move { u32::from(session.consume(&waiting(round).id).await) });
        }
        assert_eq!(racers.join_all().await.into_iter().sum::<u32>(), 1);
    }
}

/// Another process can resume a pending call in a later turn.
pub async fn pending_call_outlives_its_handle_and_its_turn(store: &impl StoreUnderTest) {
    let first = text(store).await;
    first.mint(&waiting(1), HOUR).await;
    assert!(first.next_turn().await.is_some());
    drop(first);
    let later = text(store).await;
    assert_eq!(later.pending(&waiting(1).id).await, Some(waiting(1)));
    assert!(later.consume(&waiting(1).id).await);
    assert!(!later.consume(&waiting(1).id).await);
}

/// An id finds nothing in another session.
pub async fn pending_call_belongs_to_its_session(store: &impl StoreUnderTest) {
    let session = text(store).await;
    let other = open(&store.handle().await, &opening("other", Mode::Text)).await.expect("the session opens");
    session.mint(&waiting(1), HOUR).await;
    assert_eq!(other.pending(&waiting(1).id).await, None);
    assert!(!other.consume(&waiting(1).id).await);
    assert!(session.consume(&waiting(1).id).await);
}

/// A call of a session that is over cannot be approved, also not in a later session of the same id.
pub async fn pending_call_ends_with_its_session(store: &impl StoreUnderTest) {
    let session = text(store).await;
    session.mint(&waiting(1), HOUR).await;
    session.end().await;
    assert_eq!(session.pending(&waiting(1).id).await, None);
    assert!(!session.consume(&waiting(1).id).await);
    let later = text(store).await;
    assert_eq!(later.pending(&waiting(1).id).await, None);
    assert!(!later.consume(&waiting(1).id).await);
}

/// Ids that were made up find no pending call.
pub async fn unknown_ids_find_no_pending_call(store: &impl StoreUnderTest) {
    let session = text(store).await;
    session.mint(&waiting(1), HOUR).await;
    for id in ["", "*", "session", &"0".repeat(32), &"x".repeat(100_000), "\u{0}"] {
        assert_eq!(session.pending(id).await, None);
        assert!(!session.consume(id).await);
    }
    assert!(session.consume(&waiting(1).id).await);
}

/// A store may bound the pending calls of a session, to no fewer than 100, so that a model cannot fill it.
pub async fn latest_pending_calls_are_kept(store: &impl StoreUnderTest) {
    let session = text(store).await;
    for number in 0..300 {
        session.mint(&waiting(number), HOUR + std::time::Duration::from_millis(number.into())).await;
    }
    for number in 200..300 {
        assert!(session.consume(&waiting(number).id).await, "call {number} still waits");
    }
}
