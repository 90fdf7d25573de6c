//! Calls that wait for a person. R-C1, R-C2, R-C3

use crate::call::mode::Mode;
use crate::testing::store::StoreUnderTest;
use crate::testing::store::driver::{HOUR, open, opening, text, waiting};
use tokio::task::JoinSet;

/// Reading it leaves it where it is.
pub async fn a_pending_call_comes_back_as_it_was(store: &impl StoreUnderTest) {
    let session = text(store).await;
    let call = waiting(1);
    session.mint(&call, HOUR).await;
    for _ in 0..2 {
        assert_eq!(session.pending(&call.id).await.as_ref(), Some(&call));
    }
    assert!(session.consume(&call.id).await);
    assert_eq!(session.pending(&call.id).await, None);
}

/// R-C2: single use, decided by the store.
pub async fn one_of_many_who_take_a_pending_call_gets_it(store: &impl StoreUnderTest) {
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

/// R-C3: another process can resume it, in a later turn.
pub async fn a_pending_call_outlives_the_handle_and_the_turn_in_which_it_was_made(store: &impl StoreUnderTest) {
    let first = text(store).await;
    first.mint(&waiting(1), HOUR).await;
    assert!(first.next_turn().await.is_some());
    drop(first);
    let later = text(store).await;
    assert_eq!(later.pending(&waiting(1).id).await, Some(waiting(1)));
    assert!(later.consume(&waiting(1).id).await);
    assert!(!later.consume(&waiting(1).id).await);
}

/// An id alone is of no use elsewhere.
pub async fn a_pending_call_is_taken_from_its_own_session_only(store: &impl StoreUnderTest) {
    let session = text(store).await;
    let other = open(&store.handle().await, &opening("other", Mode::Text)).await.expect("the session opens");
    session.mint(&waiting(1), HOUR).await;
    assert_eq!(other.pending(&waiting(1).id).await, None);
    assert!(!other.consume(&waiting(1).id).await);
    assert!(session.consume(&waiting(1).id).await);
}

/// Nobody approves a call of a session that is over, nor of a later one under the same id.
pub async fn a_pending_call_ends_with_its_session(store: &impl StoreUnderTest) {
    let session = text(store).await;
    session.mint(&waiting(1), HOUR).await;
    session.end().await;
    assert_eq!(session.pending(&waiting(1).id).await, None);
    assert!(!session.consume(&waiting(1).id).await);
    let later = text(store).await;
    assert_eq!(later.pending(&waiting(1).id).await, None);
    assert!(!later.consume(&waiting(1).id).await);
}

/// Ids may be made up.
pub async fn what_was_never_minted_is_not_there(store: &impl StoreUnderTest) {
    let session = text(store).await;
    session.mint(&waiting(1), HOUR).await;
    for id in ["", "*", "session", &"0".repeat(32), &"x".repeat(100_000), "\u{0}"] {
        assert_eq!(session.pending(id).await, None);
        assert!(!session.consume(id).await);
    }
    assert!(session.consume(&waiting(1).id).await);
}

/// A model that asks and asks does not fill the store: it may bound them, to no fewer than a hundred.
pub async fn so_many_pending_calls_are_kept_and_the_latest_is_among_them(store: &impl StoreUnderTest) {
    let session = text(store).await;
    for number in 0..300 {
        session.mint(&waiting(number), HOUR + std::time::Duration::from_millis(number.into())).await;
    }
    for number in 200..300 {
        assert!(session.consume(&waiting(number).id).await, "call {number} still waits");
    }
}
