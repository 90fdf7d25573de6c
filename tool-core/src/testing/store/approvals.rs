//! Tests of calls that wait for approval.

use crate::call::mode::Mode;
use crate::session::approvals::{
    ApprovalLimit, ApprovalLimits, ApprovalRequest, ApprovalVerdict, PendingCall,
};
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
    let other = open(&store.handle().await, &opening("other", Mode::Text))
        .await
        .expect("the session opens");
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
    for id in [
        "",
        "*",
        "session",
        &"0".repeat(32),
        &"x".repeat(100_000),
        "\u{0}",
    ] {
        assert_eq!(session.pending(id).await, None);
        assert!(!session.consume(id).await);
    }
    assert!(session.consume(&waiting(1).id).await);
}

/// The calls that wait are bounded for each session and turn, also over several handles. Those that
/// wait are kept.
pub async fn pending_calls_are_bounded(store: &impl StoreUnderTest) {
    let sessions = [text(store).await, text(store).await];
    let limits = ApprovalLimits {
        session: 7,
        turn: 5,
        ..ApprovalLimits::default()
    };
    let mut verdicts = JoinSet::new();
    for number in 0..40 {
        let session = sessions[number as usize % 2].clone();
        let call = waiting(number);
        verdicts.spawn(async move {
            (
                number,
                session
                    .asks(&ApprovalRequest::new(&call, HOUR).limits(limits))
                    .await,
            )
        });
    }
    let verdicts = verdicts.join_all().await;
    let kept = verdicts
        .iter()
        .filter(|(_, verdict)| *verdict == ApprovalVerdict::Waits)
        .map(|(number, _)| *number);
    let kept = kept.collect::<Vec<_>>();
    assert_eq!(kept.len(), 5);
    assert_eq!(
        verdicts
            .iter()
            .filter(|(_, of)| *of == ApprovalVerdict::Full(ApprovalLimit::Turn))
            .count(),
        35
    );
    for (number, verdict) in [
        (50, ApprovalVerdict::Waits),
        (51, ApprovalVerdict::Waits),
        (52, ApprovalVerdict::Full(ApprovalLimit::Session)),
    ] {
        let later = PendingCall {
            turn: 1,
            ..waiting(number)
        };
        assert_eq!(
            sessions[0]
                .asks(&ApprovalRequest::new(&later, HOUR).limits(limits))
                .await,
            verdict
        );
    }
    for number in kept {
        assert!(
            sessions[1].consume(&waiting(number).id).await,
            "call {number} still waits"
        );
    }
    let last = waiting(60);
    let freed = ApprovalRequest::new(&last, HOUR).limits(limits);
    assert_eq!(sessions[0].asks(&freed).await, ApprovalVerdict::Waits);
}

/// The bytes of the calls that wait are bounded, to the byte.
pub async fn bytes_of_pending_calls_are_bounded(store: &impl StoreUnderTest) {
    let session = text(store).await;
    let one = waiting(1);
    let other = waiting(2);
    let limits = |bytes| ApprovalLimits {
        bytes,
        ..ApprovalLimits::default()
    };
    let bytes = one.size() + other.size();
    assert_eq!(
        session
            .asks(&ApprovalRequest::new(&one, HOUR).limits(limits(bytes)))
            .await,
        ApprovalVerdict::Waits
    );
    let full = ApprovalVerdict::Full(ApprovalLimit::Bytes);
    assert_eq!(
        session
            .asks(&ApprovalRequest::new(&other, HOUR).limits(limits(bytes - 1)))
            .await,
        full
    );
    assert_eq!(
        session
            .asks(&ApprovalRequest::new(&other, HOUR).limits(limits(bytes)))
            .await,
        ApprovalVerdict::Waits
    );
    assert!(session.consume(&one.id).await);
    let third = ApprovalRequest::new(&one, HOUR).limits(limits(bytes));
    assert_eq!(
        session.asks(&third).await,
        ApprovalVerdict::Waits,
        "the bytes are free again"
    );
}
