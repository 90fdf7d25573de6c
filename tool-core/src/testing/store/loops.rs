//! Tests of loop detection: repeated attempts and empty results.

use crate::session::store::session_store::{BudgetLimit, Refusal, Settlement, Verdict};
use crate::testing::store::driver::{StoreUnderTest, TestCall, race, settled, text};
use crate::tool::options::Category;

fn thrice() -> TestCall {
    TestCall::within(|limits| limits.repeated = Some(3))
}

fn twice_empty() -> TestCall {
    TestCall::within(|limits| limits.empty = Some(2))
}

fn repeated(count: u32) -> Verdict {
    Verdict::Refused(Refusal::Repeated(count))
}

/// Refused attempts count too, so that the next refusal has the next number.
pub async fn third_identical_attempt_is_refused(store: &impl StoreUnderTest) {
    let session = text(store).await;
    assert_eq!(session.pass(2, &thrice()).await, 2);
    assert_eq!(session.admit(&thrice()).await, repeated(3));
    assert_eq!(session.admit(&thrice()).await, repeated(4));
}

/// Attempts are counted when they are admitted, also when many race.
pub async fn racing_identical_attempts_pass_exactly_twice(store: &impl StoreUnderTest) {
    assert_eq!(race(store, 16, 10, &thrice()).await, 2);
    assert_eq!(text(store).await.admit(&thrice()).await, repeated(161));
}

/// Attempts are identical if the tool and the arguments are.
pub async fn other_arguments_and_other_tools_count_apart(store: &impl StoreUnderTest) {
    let session = text(store).await;
    let calls = [
        thrice(),
        thrice().about(r#"{"q":1}"#),
        thrice().of("get", Category::Retrieval),
    ];
    for call in &calls {
        assert_eq!(session.pass(2, call).await, 2);
    }
    for call in &calls {
        assert_eq!(session.admit(call).await, repeated(3));
    }
}

/// Attempts that the budget refuses count as attempts.
pub async fn attempts_refused_by_the_budget_count(store: &impl StoreUnderTest) {
    let session = text(store).await;
    let none = TestCall::within(|limits| (limits.max_calls, limits.repeated) = (Some(0), Some(3)));
    assert_eq!(session.pass(2, &none).await, 0);
    assert_eq!(session.admit(&none).await, repeated(3));
}

/// A store may bound the attempts that it remembers in a turn, to no fewer than 1,000.
pub async fn latest_attempts_of_a_long_turn_are_known(store: &impl StoreUnderTest) {
    let session = text(store).await;
    for number in 0..2_100 {
        assert!(session.passes(&thrice().about(number.to_string())).await);
    }
    for latest in ["1102", "2099"] {
        assert!(session.passes(&thrice().about(latest)).await);
        assert_eq!(session.admit(&thrice().about(latest)).await, repeated(3));
    }
}

/// After two empty results a tool is refused, and other tools are not.
pub async fn empty_results_are_counted_by_tool(store: &impl StoreUnderTest) {
    let session = text(store).await;
    let empty = Verdict::Refused(Refusal::Empty(2));
    session
        .settle(Settlement {
            empty: true,
            ..settled()
        })
        .await;
    assert!(session.passes(&twice_empty()).await);
    session
        .settle(Settlement {
            empty: true,
            ..settled()
        })
        .await;
    assert_eq!(session.admit(&twice_empty()).await, empty);
    assert_eq!(
        session.admit(&twice_empty().about("other arguments")).await,
        empty
    );
    assert!(
        session
            .passes(&twice_empty().of("get", Category::Retrieval))
            .await
    );
}

/// An empty result of an earlier turn does not count in the current turn.
pub async fn empty_result_of_an_earlier_turn_does_not_count(store: &impl StoreUnderTest) {
    let session = text(store).await;
    let turn = session.0.turn();
    assert!(session.next_turn().await.is_some());
    for _ in 0..2 {
        session
            .settle(Settlement {
                empty: true,
                turn,
                ..settled()
            })
            .await;
    }
    assert!(session.passes(&twice_empty()).await);
}

/// The problem that a model can solve is reported first.
pub async fn loop_is_reported_before_the_budget(store: &impl StoreUnderTest) {
    let session = text(store).await;
    let call = TestCall::within(|limits| {
        (limits.max_calls, limits.repeated, limits.empty) = (Some(1), Some(3), Some(2));
    });
    assert!(session.passes(&call).await);
    let spent = Verdict::Refused(Refusal::Budget {
        limit: BudgetLimit::Total,
        used: 1,
        of: 1,
    });
    assert_eq!(session.admit(&call).await, spent);
    assert_eq!(session.admit(&call).await, repeated(3));
    for _ in 0..2 {
        session
            .settle(Settlement {
                empty: true,
                ..settled()
            })
            .await;
    }
    assert_eq!(
        session.admit(&call.about("other")).await,
        Verdict::Refused(Refusal::Empty(2))
    );
}
