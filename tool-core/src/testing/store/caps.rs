//! Tests of caps on cost and time: the calls that pass, and the amounts that count.

use crate::call::mode::Mode;
use crate::session::caps::{Allowance, CapAmount, CapScope, Spending, SpendingCaps, UsedCap};
use crate::session::store::OpenRequest;
use crate::session::store::session_store::{BudgetLimit, Charge, Refusal, Settlement, Verdict};
use crate::testing::store::driver::{
    HOUR, StoreUnderTest, TestCall, TestSession, open, opening, settled,
};
use crate::trace::cost::Cost;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::task::JoinSet;

const UNIT: Spending = Spending {
    cost: Cost::micros(1),
    time: Duration::from_millis(1),
};

fn capped(set: impl FnOnce(&mut SpendingCaps)) -> TestCall {
    let mut caps = SpendingCaps::default();
    set(&mut caps);
    TestCall {
        caps: Some(caps),
        ..TestCall::default()
    }
}

fn cost_of(scope: CapScope, units: u64) -> TestCall {
    capped(|caps| caps.set_cost(scope, Some(Cost::micros(units))))
}

fn time_of(scope: CapScope, units: u64) -> TestCall {
    capped(|caps| caps.set_time(scope, Some(Duration::from_millis(units))))
}

async fn spend(session: &TestSession, call: &TestCall, spent: Spending) {
    session
        .settle(Settlement {
            spent,
            caps: call.caps.as_ref(),
            ..settled()
        })
        .await;
}

/// Makes calls of one unit each, and returns the number that pass.
async fn pass(session: &TestSession, calls: u64, call: &TestCall) -> u64 {
    let mut passed = 0;
    for _ in 0..calls {
        if session.passes(call).await {
            spend(session, call, UNIT).await;
            passed += 1;
        }
    }
    passed
}

async fn of_principal(store: &impl StoreUnderTest, id: &str, principal: &str) -> TestSession {
    let request = OpenRequest {
        principal: principal.into(),
        ..opening(id, Mode::Text)
    };
    open(&store.handle().await, &request)
        .await
        .expect("the session opens")
}

/// One after another, exactly as many calls pass as the cap of any scope allows, and the refusal
/// names the figures.
pub async fn exactly_the_cap_of_each_scope_passes(store: &impl StoreUnderTest) {
    for (number, scope) in CapScope::STORED.into_iter().enumerate() {
        for (call, amount) in [
            (cost_of(scope, 50), (CapAmount::Cost(Cost::micros(50)))),
            (
                time_of(scope, 50),
                (CapAmount::Time(Duration::from_millis(50))),
            ),
        ] {
            let session =
                of_principal(store, "session", &format!("user:{number}:{amount:?}")).await;
            assert_eq!(pass(&session, 100, &call).await, 50, "{scope:?} {amount:?}");
            let Verdict::Refused(Refusal::Cap(mut used)) = session.admit(&call).await else {
                panic!("a used cap")
            };
            assert_eq!(
                used.resets_in.take().is_some(),
                scope == CapScope::Principal
            );
            assert_eq!(
                *used,
                UsedCap {
                    scope,
                    used: amount,
                    of: amount,
                    resets_in: None
                }
            );
            session.end().await;
        }
    }
}

/// Of many calls that race over several handles, as many pass as the cap allows, and at most one
/// more for each that ran when it was reached. Once it is reached, none does.
pub async fn racing_calls_overshoot_a_cap_by_those_that_run(store: &impl StoreUnderTest) {
    for (number, scope) in CapScope::STORED.into_iter().enumerate() {
        let call = cost_of(scope, 100);
        let principal = format!("racer:{number}");
        let sessions = [
            of_principal(store, "s", &principal).await,
            of_principal(store, "s", &principal).await,
        ];
        let running = Arc::new(AtomicU64::new(0));
        let racers_at_once = 16;
        let mut racers = JoinSet::new();
        for racer in 0..racers_at_once {
            let session = sessions[racer % 2].clone();
            let call = call.clone();
            let running = Arc::clone(&running);
            racers.spawn(async move {
                let mut passed = 0;
                for _ in 0..64 {
                    if session.passes(&call).await {
                        running.fetch_add(1, Ordering::SeqCst);
                        tokio::task::yield_now().await;
                        spend(&session, &call, UNIT).await;
                        passed += 1;
                    }
                }
                passed
            });
        }
        let passed = racers.join_all().await.into_iter().sum::<u64>();
        assert!(
            (100..100 + racers_at_once as u64).contains(&passed),
            "{scope:?}: {passed} of 1,024"
        );
        assert_eq!(passed, running.load(Ordering::SeqCst));
        assert_eq!(pass(&sessions[0], 10, &call).await, 0);
        sessions[0].end().await;
    }
}

/// The amounts of a turn begin again with the next, those of a session with the next session, those
/// of a principal do not.
pub async fn amounts_begin_again_with_their_scope(store: &impl StoreUnderTest) {
    let session = of_principal(store, "s", "ada").await;
    let [turn, in_session, principal] = CapScope::STORED.map(|scope| cost_of(scope, 3));
    assert_eq!(pass(&session, 5, &turn).await, 3);
    assert!(session.next_turn().await.is_some());
    assert_eq!(pass(&session, 5, &turn).await, 3);
    assert!(!session.passes(&in_session).await && !session.passes(&principal).await);
    session.end().await;
    let next = of_principal(store, "s", "ada").await;
    assert_eq!(pass(&next, 5, &in_session).await, 3);
    assert!(!next.passes(&principal).await);
}

/// Principals do not spend for each other, and an absent one is a principal as any other.
pub async fn principals_have_amounts_of_their_own(store: &impl StoreUnderTest) {
    let call = cost_of(CapScope::Principal, 3);
    for principal in [
        "ada",
        "",
        "Ada",
        "ada ",
        "a:da",
        "{ada}",
        "ada:session",
        "s",
        "session",
    ] {
        let first = of_principal(store, "one", principal).await;
        assert_eq!(pass(&first, 2, &call).await, 2, "{principal:?}");
        let other = of_principal(store, &format!("two {principal}"), principal).await;
        assert_eq!(pass(&other, 2, &call).await, 1, "{principal:?}");
        first.end().await;
    }
}

/// What a call has spent after its session ended counts for the principal.
pub async fn late_amounts_count_for_the_principal(store: &impl StoreUnderTest) {
    let call = cost_of(CapScope::Principal, 1);
    let session = of_principal(store, "s", "late").await;
    assert!(session.passes(&call).await);
    session.end().await;
    spend(&session, &call, UNIT).await;
    assert!(!of_principal(store, "s", "late").await.passes(&call).await);
}

/// The part of a cost that a session inside the call paid counts for the call's session, and not
/// for the principal again.
pub async fn cost_paid_inside_counts_for_the_session_only(store: &impl StoreUnderTest) {
    let session = of_principal(store, "s", "payer").await;
    let [_, in_session, principal] = CapScope::STORED.map(|scope| cost_of(scope, 3));
    let spent = Spending {
        cost: Cost::micros(3),
        ..Spending::default()
    };
    let caps = principal.caps.as_ref();
    session
        .settle(Settlement {
            spent,
            paid_inside: Cost::micros(1),
            caps,
            ..settled()
        })
        .await;
    assert!(!session.passes(&in_session).await && session.passes(&principal).await);
    spend(&session, &principal, UNIT).await;
    assert!(!session.passes(&principal).await);
}

/// An amount of a turn that is over counts for the session.
pub async fn late_amounts_do_not_count_for_the_next_turn(store: &impl StoreUnderTest) {
    let session = of_principal(store, "s", "ada").await;
    let [turn, in_session, _] = CapScope::STORED.map(|scope| cost_of(scope, 1));
    let Verdict::Capped { turn: first, .. } = session.admit(&turn).await else {
        panic!("the first call passes")
    };
    assert!(session.next_turn().await.is_some());
    session
        .settle(Settlement {
            turn: first,
            spent: UNIT,
            caps: turn.caps.as_ref(),
            ..settled()
        })
        .await;
    assert!(session.passes(&turn).await && !session.passes(&in_session).await);
}

/// The verdict has the least that is left of all scopes.
pub async fn verdict_names_what_is_left(store: &impl StoreUnderTest) {
    let session = of_principal(store, "s", "ada").await;
    let all = capped(|caps| {
        for (scope, units) in CapScope::STORED.into_iter().zip([9, 7, 8]) {
            caps.set_cost(scope, Some(Cost::micros(units)));
            caps.set_time(scope, Some(Duration::from_millis(20 - units)));
        }
    });
    spend(&session, &all, UNIT).await;
    let cost = Some(Cost::micros(6));
    let principal_cost = Some(Cost::micros(7));
    let left = Allowance {
        cost,
        time: Some(Duration::from_millis(10)),
        principal_cost,
    };
    assert_eq!(
        session.admit(&all).await,
        Verdict::Capped {
            turn: 0,
            left: Box::new(left)
        }
    );
    let none = Verdict::Capped {
        turn: 0,
        left: Box::default(),
    };
    assert_eq!(session.admit(&capped(|_| ())).await, none);
    let zero = cost_of(CapScope::Turn, 0);
    assert!(!session.passes(&zero).await, "zero is a cap");
}

/// A call that a cap refuses spends no budget. Attempts and control tools are not held by caps.
pub async fn refusal_by_a_cap_spends_no_budget(store: &impl StoreUnderTest) {
    let session = of_principal(store, "s", "ada").await;
    let mut call = cost_of(CapScope::Turn, 1);
    call.limits.max_calls = Some(2);
    assert_eq!(pass(&session, 5, &call).await, 1);
    for charge in [Charge::Attempt, Charge::Free] {
        assert!(session.passes(&call.clone().with(charge)).await);
    }
    assert!(
        !session.passes(&call.clone().with(Charge::Hold)).await && !session.passes(&call).await
    );
    call.caps = None;
    assert_eq!(session.pass(5, &call).await, 1, "one of two calls is left");
    let spent = Refusal::Budget {
        limit: BudgetLimit::Total,
        used: 2,
        of: 2,
    };
    assert_eq!(session.admit(&call).await, Verdict::Refused(spent));
}

/// Amounts do not overflow.
pub async fn greatest_amounts_saturate(store: &impl StoreUnderTest) {
    let session = of_principal(store, "s", "ada").await;
    let call = cost_of(CapScope::Principal, 1);
    let most = Spending {
        cost: Cost::pico(u64::MAX),
        time: Duration::MAX,
    };
    for _ in 0..3 {
        spend(&session, &call, most).await;
        assert!(!session.passes(&call).await);
    }
    assert!(!session.passes(&time_of(CapScope::Session, 1_000_000)).await);
}

/// The amounts of a principal begin again after the window that the first of them began.
pub async fn principals_begin_again_after_the_window<T: StoreUnderTest>(store: &T) {
    let mut call = cost_of(CapScope::Principal, 1);
    call.caps.as_mut().expect("caps").window = T::TICK * 4;
    let request = OpenRequest {
        idle_timeout: HOUR,
        ..opening("s", Mode::Text)
    };
    let session = open(&store.handle().await, &request)
        .await
        .expect("the session opens");
    assert_eq!(pass(&session, 3, &call).await, 1);
    store.pass(T::TICK * 2).await;
    spend(&session, &call, UNIT).await;
    assert!(
        !session.passes(&call).await,
        "the window does not begin again"
    );
    store.pass(T::TICK * 3).await;
    assert_eq!(pass(&session, 3, &call).await, 1);
}
