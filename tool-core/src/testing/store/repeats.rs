//! Tests of calls that may ask several times, as an engine makes them again after a crash.

use crate::session::store::session_store::{BudgetLimit, Charge, Refusal, Settlement, Verdict};
use crate::testing::store::driver::{StoreUnderTest, TestCall, TestSession, settled, text};

/// A call of a budget of two, of which two attempts are too many.
fn call() -> TestCall {
    TestCall::within(|limits| (limits.max_calls, limits.repeated) = (Some(2), Some(2)))
}

fn repeatable(id: u128) -> TestCall {
    call().repeatable(id)
}

async fn refund(session: &TestSession, id: u128) {
    session
        .settle(Settlement {
            refund: true,
            repeatable: Some(id),
            ..settled()
        })
        .await;
}

/// A call that asks twice is one attempt.
pub async fn repeated_call_counts_one_attempt(store: &impl StoreUnderTest) {
    let session = text(store).await;
    assert_eq!(session.pass(2, &repeatable(1)).await, 2);
    let another = session.admit(&repeatable(2)).await;
    assert_eq!(another, Verdict::Refused(Refusal::Repeated(2)));
}

/// A call that is held, or does not decode, is one attempt as well.
pub async fn repeated_call_without_a_charge_counts_one_attempt(store: &impl StoreUnderTest) {
    for charge in [Charge::Hold, Charge::Attempt] {
        let session = text(store).await;
        let _ = session.next_turn().await;
        assert_eq!(session.pass(2, &repeatable(1).with(charge)).await, 2);
    }
}

/// A call that asks several times is charged once, also if the budget is spent by then.
pub async fn repeated_call_is_charged_once(store: &impl StoreUnderTest) {
    let session = text(store).await;
    assert_eq!(session.pass(5, &repeatable(1)).await, 5);
    assert!(session.passes(&call().about("one")).await);
    let spent = Refusal::Budget {
        limit: BudgetLimit::Total,
        used: 2,
        of: 2,
    };
    let another = session.admit(&call().about("another")).await;
    assert_eq!(another, Verdict::Refused(spent));
    assert!(session.passes(&repeatable(1)).await, "it is charged");
}

/// An approval that is sent again is charged once.
pub async fn repeated_approval_is_charged_once(store: &impl StoreUnderTest) {
    let session = text(store).await;
    let approved = repeatable(1).with(Charge::Approved);
    assert_eq!(session.pass(3, &approved).await, 3);
    assert!(session.passes(&call().about("one")).await);
    assert!(!session.passes(&call().about("another")).await);
}

/// One of two admissions may have run, so that the call stays charged.
pub async fn repeated_call_stays_charged_while_one_admission_does(store: &impl StoreUnderTest) {
    let session = text(store).await;
    assert_eq!(session.pass(2, &repeatable(1)).await, 2);
    refund(&session, 1).await;
    refund(&session, 7).await;
    assert!(session.passes(&call().about("one")).await);
    assert!(!session.passes(&call().about("another")).await);
}

/// The last refund takes the charge back, once.
pub async fn last_refund_of_a_repeated_call_takes_the_charge_back(store: &impl StoreUnderTest) {
    let session = text(store).await;
    assert!(session.passes(&call().about("one")).await);
    assert_eq!(session.pass(2, &repeatable(1)).await, 2);
    for _ in 0..3 {
        refund(&session, 1).await;
    }
    assert!(session.passes(&call().about("two")).await);
    assert!(!session.passes(&call().about("three")).await);
}

/// A call that gave its charge back is charged when it asks again, and is no new attempt.
pub async fn refunded_call_is_charged_when_it_asks_again(store: &impl StoreUnderTest) {
    let session = text(store).await;
    assert!(session.passes(&repeatable(1)).await);
    refund(&session, 1).await;
    assert!(session.passes(&repeatable(1)).await);
    assert!(session.passes(&call().about("one")).await);
    assert!(!session.passes(&call().about("two")).await);
}

/// A call of a turn that is over is new to the next turn.
pub async fn repeated_calls_are_forgotten_with_their_turn(store: &impl StoreUnderTest) {
    let session = text(store).await;
    assert!(session.passes(&repeatable(1)).await);
    assert!(session.next_turn().await.is_some());
    assert!(session.passes(&repeatable(1)).await);
    assert!(session.passes(&call().about("one")).await);
    assert!(!session.passes(&call().about("two")).await);
}
