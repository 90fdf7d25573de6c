//! Tests of charges and refunds.

use crate::session::store::session_store::{BudgetLimit, Charge, Refusal, Settlement, Verdict};
use crate::testing::store::driver::{StoreUnderTest, TestCall, settled, text};

/// Limits of one call and two attempts.
fn tight() -> TestCall {
    TestCall::within(|limits| (limits.max_calls, limits.repeated) = (Some(1), Some(3)))
}

fn repeated(count: u32) -> Verdict {
    Verdict::Refused(Refusal::Repeated(count))
}

fn spent(used: u32) -> Verdict {
    Verdict::Refused(Refusal::Budget {
        limit: BudgetLimit::Total,
        used,
        of: 1,
    })
}

/// A call that waits for approval spends no budget, and its attempts count.
pub async fn waiting_call_counts_an_attempt_and_no_budget(store: &impl StoreUnderTest) {
    let session = text(store).await;
    let hold = tight().with(Charge::Hold);
    assert_eq!(session.pass(2, &hold).await, 2);
    assert_eq!(session.admit(&hold).await, repeated(3));
    assert!(
        session.passes(&tight().about("other")).await,
        "no budget was spent"
    );
}

/// A call that could not run now is refused before a person is asked.
pub async fn waiting_call_is_refused_when_the_budget_is_spent(store: &impl StoreUnderTest) {
    let session = text(store).await;
    assert!(session.passes(&tight()).await);
    assert_eq!(
        session
            .admit(&tight().with(Charge::Hold).about("other"))
            .await,
        spent(1)
    );
}

/// An approved call is charged to the turn in which it runs. Its attempt was counted when it was
/// made.
pub async fn approved_call_is_charged_and_counts_no_attempt(store: &impl StoreUnderTest) {
    let session = text(store).await;
    let attempt = tight().with(Charge::Attempt);
    assert_eq!(session.pass(3, &attempt).await, 2);
    assert!(
        session.passes(&tight().with(Charge::Approved)).await,
        "attempts do not hold it"
    );
    assert_eq!(session.admit(&attempt).await, repeated(4));
    assert_eq!(session.admit(&tight().about("other")).await, spent(1));
}

/// An approval does not bypass a budget.
pub async fn approved_call_is_refused_when_the_budget_is_spent(store: &impl StoreUnderTest) {
    let session = text(store).await;
    assert!(session.passes(&tight()).await);
    assert_eq!(
        session.admit(&tight().with(Charge::Approved)).await,
        spent(1)
    );
}

/// A call with invalid arguments never runs, whatever the budget.
pub async fn invalid_arguments_count_an_attempt_and_no_budget(store: &impl StoreUnderTest) {
    let session = text(store).await;
    let attempt = tight().with(Charge::Attempt);
    assert!(session.passes(&attempt).await);
    assert!(
        session.passes(&tight().about("other")).await,
        "no budget was spent"
    );
    assert!(
        session.passes(&attempt).await,
        "a budget that is spent does not matter"
    );
    assert_eq!(session.admit(&attempt).await, repeated(3));
}

/// A call of a control tool only requires an open session.
pub async fn control_tools_count_nothing(store: &impl StoreUnderTest) {
    let session = text(store).await;
    let free = tight().with(Charge::Free);
    assert_eq!(session.pass(10, &free).await, 10);
    assert!(session.passes(&tight()).await);
    assert_eq!(session.pass(10, &free).await, 10);
    assert_eq!(
        session.admit(&tight()).await,
        spent(1),
        "the second attempt, of which none was free"
    );
}

/// A call that was admitted and did not run is refunded to the tool, the category and the total.
pub async fn refund_restores_one_call(store: &impl StoreUnderTest) {
    let session = text(store).await;
    let budgets =
        TestCall::within(|limits| (limits.max_calls, limits.retrieval) = (Some(2), Some(2)));
    let call = TestCall {
        max_calls: Some(2),
        ..budgets
    };
    assert_eq!(session.pass(3, &call).await, 2);
    session
        .settle(Settlement {
            refund: true,
            ..settled()
        })
        .await;
    assert_eq!(session.pass(3, &call).await, 1);
}

/// Refunds do not make a budget larger.
pub async fn refunds_never_exceed_the_charges(store: &impl StoreUnderTest) {
    let session = text(store).await;
    let call = TestCall::within(|limits| limits.max_calls = Some(2));
    assert!(session.passes(&call).await);
    for _ in 0..3 {
        session
            .settle(Settlement {
                refund: true,
                ..settled()
            })
            .await;
    }
    assert_eq!(session.pass(5, &call).await, 2);
}

/// A refund for a turn that is over changes nothing.
pub async fn refund_for_an_earlier_turn_changes_nothing(store: &impl StoreUnderTest) {
    let session = text(store).await;
    let call = TestCall::within(|limits| limits.max_calls = Some(1));
    let Verdict::Admitted { turn } = session.admit(&call).await else {
        panic!("the first call passes")
    };
    assert!(session.next_turn().await.is_some());
    assert!(session.passes(&call).await);
    session
        .settle(Settlement {
            refund: true,
            turn,
            ..settled()
        })
        .await;
    assert!(!session.passes(&call).await);
}
