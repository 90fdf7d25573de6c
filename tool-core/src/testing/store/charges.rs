//! What a call is charged for, and what is given back.

use crate::session::store::session_store::{BudgetLimit, Charge, Refusal, Settlement, Verdict};
use crate::testing::store::StoreUnderTest;
use crate::testing::store::driver::{Ask, settled, text};

/// One call in all, and no third attempt.
fn tight() -> Ask {
    Ask::within(|limits| (limits.max_calls, limits.repeated) = (Some(1), Some(3)))
}

fn repeated(count: u32) -> Verdict {
    Verdict::Refused(Refusal::Repeated(count))
}

fn spent(used: u32) -> Verdict {
    Verdict::Refused(Refusal::Budget { limit: BudgetLimit::Total, used, of: 1 })
}

/// R-C1: the refused call gives its budget back; its attempts are attempts.
pub async fn a_call_that_waits_for_a_person_counts_its_attempt_and_spends_no_budget(store: &impl StoreUnderTest) {
    let session = text(store).await;
    let hold = tight().with(Charge::Hold);
    assert_eq!(session.pass(2, &hold).await, 2);
    assert_eq!(session.admit(&hold).await, repeated(3));
    assert!(session.passes(&tight().about("other")).await, "no budget was spent");
}

/// It could not run now, so nobody is asked.
pub async fn a_call_that_waits_for_a_person_is_refused_when_the_budget_is_spent(store: &impl StoreUnderTest) {
    let session = text(store).await;
    assert!(session.passes(&tight()).await);
    assert_eq!(session.admit(&tight().with(Charge::Hold).about("other")).await, spent(1));
}

/// R-C1: the approved run is charged to the turn in which it runs; its attempt was counted when it was made.
pub async fn an_approved_call_counts_no_attempt_and_is_charged(store: &impl StoreUnderTest) {
    let session = text(store).await;
    let attempt = tight().with(Charge::Attempt);
    assert_eq!(session.pass(3, &attempt).await, 2);
    assert!(session.passes(&tight().with(Charge::Approved)).await, "attempts do not hold it");
    assert_eq!(session.admit(&attempt).await, repeated(4));
    assert_eq!(session.admit(&tight().about("other")).await, spent(1));
}

/// An approval is no way around a budget.
pub async fn an_approved_call_is_refused_when_the_budget_is_spent(store: &impl StoreUnderTest) {
    let session = text(store).await;
    assert!(session.passes(&tight()).await);
    assert_eq!(session.admit(&tight().with(Charge::Approved)).await, spent(1));
}

/// They never run, whatever the budget says.
pub async fn arguments_that_do_not_decode_count_an_attempt_and_are_charged_nothing(store: &impl StoreUnderTest) {
    let session = text(store).await;
    let attempt = tight().with(Charge::Attempt);
    assert!(session.passes(&attempt).await);
    assert!(session.passes(&tight().about("other")).await, "no budget was spent");
    assert!(session.passes(&attempt).await, "a budget that is spent does not matter");
    assert_eq!(session.admit(&attempt).await, repeated(3));
}

/// It asks only whether the session is open.
pub async fn a_tool_of_the_runtimes_own_counts_nothing(store: &impl StoreUnderTest) {
    let session = text(store).await;
    let free = tight().with(Charge::Free);
    assert_eq!(session.pass(10, &free).await, 10);
    assert!(session.passes(&tight()).await);
    assert_eq!(session.pass(10, &free).await, 10);
    assert_eq!(session.admit(&tight()).await, spent(1), "the second attempt, of which none was free");
}

/// A call that was admitted and did not run gives its place to another: of the tool, the category and all.
pub async fn a_refund_gives_one_call_back(store: &impl StoreUnderTest) {
    let session = text(store).await;
    let budgets = Ask::within(|limits| (limits.max_calls, limits.retrieval) = (Some(2), Some(2)));
    let call = Ask { max_calls: Some(2), ..budgets };
    assert_eq!(session.pass(3, &call).await, 2);
    session.settle(Settlement { refund: true, ..settled() }).await;
    assert_eq!(session.pass(3, &call).await, 1);
}

/// No budget grows by refunds.
pub async fn refunds_give_back_no_more_than_was_charged(store: &impl StoreUnderTest) {
    let session = text(store).await;
    let call = Ask::within(|limits| limits.max_calls = Some(2));
    assert!(session.passes(&call).await);
    for _ in 0..3 {
        session.settle(Settlement { refund: true, ..settled() }).await;
    }
    assert_eq!(session.pass(5, &call).await, 2);
}

/// The budget of that turn is of no use to anyone.
pub async fn a_refund_for_a_turn_that_is_over_gives_nothing_back(store: &impl StoreUnderTest) {
    let session = text(store).await;
    let call = Ask::within(|limits| limits.max_calls = Some(1));
    let Verdict::Admitted { turn } = session.admit(&call).await else { panic!("the first call passes") };
    assert!(session.next_turn().await.is_some());
    assert!(session.passes(&call).await);
    session.settle(Settlement { refund: true, turn, ..settled() }).await;
    assert!(!session.passes(&call).await);
}
