//! Tests of calls that may ask again, as an engine makes them again after a crash.

use crate::session::store::session_store::{
    BudgetLimit, CallRun, Charge, Refusal, Settlement, Verdict,
};
use crate::testing::store::driver::{StoreUnderTest, TestCall, TestSession, settled, text};

/// A call of a budget of two and a loop limit of two attempts.
fn call() -> TestCall {
    TestCall::within(|limits| (limits.max_calls, limits.repeated) = (Some(2), Some(2)))
}

/// A run of the call `call`.
fn run_of(call: u128, run: u128) -> TestCall {
    self::call().run(CallRun { call, run })
}

async fn refund(session: &TestSession, run: Option<CallRun>) {
    session
        .settle(Settlement {
            refund: true,
            run,
            ..settled()
        })
        .await;
}

/// Two runs of a call are one attempt.
pub async fn runs_of_a_call_count_one_attempt(store: &impl StoreUnderTest) {
    let session = text(store).await;
    assert!(session.passes(&run_of(1, 1)).await);
    assert!(session.passes(&run_of(1, 2)).await);
    let another = session.admit(&run_of(2, 3)).await;
    assert_eq!(another, Verdict::Refused(Refusal::Repeated(2)));
}

/// Runs of a call that is held, or does not decode, are one attempt as well.
pub async fn runs_without_a_charge_count_one_attempt(store: &impl StoreUnderTest) {
    for charge in [Charge::Hold, Charge::Attempt] {
        let session = text(store).await;
        let _ = session.next_turn().await;
        assert!(session.passes(&run_of(1, 1).with(charge)).await);
        assert!(session.passes(&run_of(1, 2).with(charge)).await);
    }
}

/// Two runs of a call are charged as one.
pub async fn runs_of_a_call_are_charged_once(store: &impl StoreUnderTest) {
    let session = text(store).await;
    for run in 1..=5 {
        assert!(session.passes(&run_of(1, run)).await);
    }
    assert!(session.passes(&call().about("one")).await);
    let spent = Refusal::Budget {
        limit: BudgetLimit::Total,
        used: 2,
        of: 2,
    };
    let another = session.admit(&call().about("another")).await;
    assert_eq!(another, Verdict::Refused(spent));
    assert!(session.passes(&run_of(1, 6)).await, "it is charged");
}

/// An approval that is sent again is charged once, and its attempt was counted before.
pub async fn approved_runs_are_charged_once(store: &impl StoreUnderTest) {
    let session = text(store).await;
    for run in 1..=3 {
        let approved = run_of(1, run).with(Charge::Approved);
        assert!(session.passes(&approved).await);
    }
    assert_eq!(session.pass(2, &call().about("other")).await, 1);
}

/// A run that was not charged has nothing to give back.
pub async fn refund_of_a_later_run_changes_nothing(store: &impl StoreUnderTest) {
    let session = text(store).await;
    assert!(session.passes(&run_of(1, 1)).await);
    assert!(session.passes(&run_of(1, 2)).await);
    refund(&session, Some(CallRun { call: 1, run: 2 })).await;
    refund(&session, Some(CallRun { call: 7, run: 1 })).await;
    assert!(session.passes(&call().about("one")).await);
    assert!(!session.passes(&call().about("another")).await);
}

/// The run that was charged gives its charge back once. The next run is charged again.
pub async fn refund_of_the_charged_run_takes_it_back_once(store: &impl StoreUnderTest) {
    let session = text(store).await;
    assert!(session.passes(&call().about("one")).await);
    let run = CallRun { call: 1, run: 1 };
    assert!(session.passes(&call().run(run)).await);
    refund(&session, Some(run)).await;
    refund(&session, Some(run)).await;
    assert!(session.passes(&run_of(1, 2)).await);
    assert!(!session.passes(&call().about("another")).await);
}

/// A run of a turn that is over is new to the next turn.
pub async fn runs_are_forgotten_with_their_turn(store: &impl StoreUnderTest) {
    let session = text(store).await;
    assert!(session.passes(&run_of(1, 1)).await);
    assert!(session.next_turn().await.is_some());
    assert!(session.passes(&run_of(1, 2)).await);
    assert_eq!(session.pass(2, &call().about("other")).await, 1);
}
