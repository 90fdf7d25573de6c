//! Tests of budgets: the calls that pass a limit, and the contents of refusals.

use crate::session::policy::TurnLimits;
use crate::session::store::session_store::{BudgetLimit, Refusal, Settlement, Verdict};
use crate::testing::store::driver::{StoreUnderTest, TestCall, race, settled, text};
use crate::tool::options::Category;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio::task::JoinSet;

fn refused(limit: BudgetLimit, used: u32, of: u32) -> Verdict {
    Verdict::Refused(Refusal::Budget { limit, used, of })
}

/// Of many calls that race over a limit of 100 on all, 100 pass.
pub async fn racing_calls_pass_up_to_the_limit_of_a_turn(store: &impl StoreUnderTest) {
    let call = TestCall::within(|limits| limits.max_calls = Some(100));
    assert_eq!(race(store, 32, 20, &call).await, 100);
}

/// Of many calls that race over a limit of 100 on retrieval, 100 pass.
pub async fn racing_calls_pass_up_to_the_limit_of_a_category(store: &impl StoreUnderTest) {
    let call = TestCall::within(|limits| limits.retrieval = Some(100));
    assert_eq!(race(store, 32, 20, &call).await, 100);
}

/// Of many calls that race over a limit of 100 on a tool, 100 pass.
pub async fn racing_calls_pass_up_to_the_limit_of_a_tool(store: &impl StoreUnderTest) {
    let call = TestCall {
        max_calls: Some(100),
        ..TestCall::default()
    };
    assert_eq!(race(store, 32, 20, &call).await, 100);
}

/// While calls are refunded and others ask, no more run at once than the limit.
pub async fn racing_refunds_never_exceed_the_limit(store: &impl StoreUnderTest) {
    let session = text(store).await;
    let running = Arc::new(AtomicU32::new(0));
    let call = TestCall::within(|limits| limits.max_calls = Some(3));
    let mut racers = JoinSet::new();
    for _ in 0..16 {
        let session = session.clone();
        let call = call.clone();
        let running = Arc::clone(&running);
        racers.spawn(async move {
            for _ in 0..10 {
                if session.passes(&call).await {
                    assert!(
                        running.fetch_add(1, Ordering::SeqCst) < 3,
                        "more than three run at once"
                    );
                    tokio::task::yield_now().await;
                    running.fetch_sub(1, Ordering::SeqCst);
                    session
                        .settle(Settlement {
                            refund: true,
                            ..settled()
                        })
                        .await;
                }
            }
        });
    }
    racers.join_all().await;
    assert_eq!(
        session.pass(5, &call).await,
        3,
        "all that was given back is there again"
    );
}

/// A missing limit refuses nothing.
pub async fn without_limits_every_call_passes(store: &impl StoreUnderTest) {
    assert_eq!(text(store).await.pass(200, &TestCall::default()).await, 200);
}

/// Zero is a limit.
pub async fn limit_of_zero_admits_nothing(store: &impl StoreUnderTest) {
    let session = text(store).await;
    let none = TestCall::within(|limits| limits.max_calls = Some(0));
    assert_eq!(
        session.admit(&none).await,
        refused(BudgetLimit::Total, 0, 0)
    );
}

/// A refusal names the budget, its use and its limit, also when it is repeated.
pub async fn refusal_names_the_budget_and_its_use(store: &impl StoreUnderTest) {
    let session = text(store).await;
    assert_eq!(session.pass(2, &TestCall::default()).await, 2);
    let total = TestCall::within(|limits| limits.max_calls = Some(2));
    let category = TestCall::within(|limits| limits.retrieval = Some(1));
    let tool = TestCall {
        max_calls: Some(2),
        ..TestCall::default()
    };
    for _ in 0..2 {
        assert_eq!(
            session.admit(&total).await,
            refused(BudgetLimit::Total, 2, 2)
        );
        assert_eq!(
            session.admit(&category).await,
            refused(BudgetLimit::Category(Category::Retrieval), 2, 1)
        );
        assert_eq!(session.admit(&tool).await, refused(BudgetLimit::Tool, 2, 2));
    }
}

/// If several budgets are spent, the tool's is reported first, then the category's.
pub async fn narrowest_budget_is_reported_first(store: &impl StoreUnderTest) {
    let session = text(store).await;
    let both = TestCall::within(|limits| (limits.max_calls, limits.retrieval) = (Some(1), Some(1)));
    let all = TestCall {
        max_calls: Some(1),
        ..both.clone()
    };
    assert!(session.passes(&all).await);
    assert_eq!(session.admit(&all).await, refused(BudgetLimit::Tool, 1, 1));
    assert_eq!(
        session.admit(&both).await,
        refused(BudgetLimit::Category(Category::Retrieval), 1, 1)
    );
}

/// The use of one category or tool does not count for another. All count for the total.
pub async fn categories_and_tools_have_separate_budgets(store: &impl StoreUnderTest) {
    let session = text(store).await;
    let limits = |limits: &mut TurnLimits| {
        (
            limits.retrieval,
            limits.action,
            limits.utility,
            limits.max_calls,
        ) = (Some(2), Some(2), Some(2), Some(5));
    };
    let call = |tool, category| TestCall {
        max_calls: Some(1),
        ..TestCall::within(limits).of(tool, category)
    };
    assert!(session.passes(&call("search", Category::Retrieval)).await);
    assert_eq!(
        session.admit(&call("search", Category::Retrieval)).await,
        refused(BudgetLimit::Tool, 1, 1)
    );
    assert!(session.passes(&call("get", Category::Retrieval)).await);
    let spent = refused(BudgetLimit::Category(Category::Retrieval), 2, 2);
    assert_eq!(
        session.admit(&call("list", Category::Retrieval)).await,
        spent
    );
    assert!(session.passes(&call("delete", Category::Action)).await);
    assert!(session.passes(&call("add", Category::Utility)).await);
    assert!(session.passes(&call("round", Category::Utility)).await);
    assert_eq!(
        session.admit(&call("create", Category::Action)).await,
        refused(BudgetLimit::Total, 5, 5)
    );
}
