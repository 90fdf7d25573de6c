//! Tests of actions that wait for approval.

use crate::session::approvals::{ApprovalLimit, ApprovalLimits, ApprovalVerdict, PendingCall};
use crate::testing::agents::driver::{AgentStoreUnderTest, Driver};
use crate::testing::store::driver::waiting;
use std::time::Duration;
use tokio::task::JoinSet;

const HOUR: Duration = Duration::from_secs(3_600);

async fn keeps(
    driver: &Driver,
    agent: &str,
    number: u32,
    limits: ApprovalLimits,
) -> ApprovalVerdict {
    driver
        .0
        .keep_action(agent, &waiting(number), HOUR, limits)
        .await
        .expect("the store answers")
}

async fn waits(driver: &Driver, agent: &str, number: u32) {
    assert_eq!(
        keeps(driver, agent, number, ApprovalLimits::default()).await,
        ApprovalVerdict::Waits
    );
}

async fn finds(driver: &Driver, agent: &str, id: &str) -> Option<PendingCall> {
    driver.0.action(agent, id).await.expect("the store reads")
}

async fn takes(driver: &Driver, agent: &str, id: &str) -> bool {
    driver
        .0
        .take_action(agent, id)
        .await
        .expect("the store takes")
        .is_some()
}

/// Reading an action leaves it in the store, for every handle, also of an agent without records.
pub async fn action_comes_back_as_it_was(store: &impl AgentStoreUnderTest) {
    let driver = Driver::of(store).await;
    let other = Driver::of(store).await;
    waits(&driver, "alice", 1).await;
    for driver in [&other, &driver] {
        assert_eq!(
            finds(driver, "alice", &waiting(1).id).await,
            Some(waiting(1))
        );
    }
    assert!(takes(&other, "alice", &waiting(1).id).await);
    assert_eq!(finds(&driver, "alice", &waiting(1).id).await, None);
    assert_eq!(
        (driver.version("alice").await, driver.agents(None, 10).await),
        (0, Vec::new())
    );
}

/// An id finds nothing of another agent, and no made-up id finds anything.
pub async fn action_belongs_to_its_agent(store: &impl AgentStoreUnderTest) {
    let driver = Driver::of(store).await;
    waits(&driver, "alice", 1).await;
    let id = waiting(1).id;
    for (agent, id) in [
        ("bob", id.as_str()),
        ("", &id),
        ("alice\0", &id),
        ("alice", ""),
        ("alice", "%"),
        ("alice", "\0"),
    ] {
        assert_eq!(finds(&driver, agent, id).await, None);
        assert!(!takes(&driver, agent, id).await);
    }
    assert!(takes(&driver, "alice", &id).await);
}

/// Of many callers over several handles, one takes an action.
pub async fn action_is_taken_once(store: &impl AgentStoreUnderTest) {
    let drivers = [Driver::of(store).await, Driver::of(store).await];
    for round in 0..5 {
        waits(&drivers[0], "alice", round).await;
        let mut racers = JoinSet::new();
        for racer in 0..64 {
            let driver = drivers[racer % 2].clone();
            racers
                .spawn(async move { u32::from(takes(&driver, "alice", &waiting(round).id).await) });
        }
        assert_eq!(racers.join_all().await.into_iter().sum::<u32>(), 1);
    }
}

/// The actions of an agent are bounded, also over several handles. Those that wait are kept.
pub async fn actions_are_bounded(store: &impl AgentStoreUnderTest) {
    let drivers = [Driver::of(store).await, Driver::of(store).await];
    let limits = ApprovalLimits {
        session: 5,
        turn: u32::MAX,
        ..ApprovalLimits::default()
    };
    let mut verdicts = JoinSet::new();
    for number in 0..40 {
        let driver = drivers[number as usize % 2].clone();
        verdicts.spawn(async move { (number, keeps(&driver, "alice", number, limits).await) });
    }
    let verdicts = verdicts.join_all().await;
    let full = ApprovalVerdict::Full(ApprovalLimit::Session);
    let kept = verdicts
        .iter()
        .filter(|(_, verdict)| *verdict != full)
        .map(|(number, _)| *number)
        .collect::<Vec<_>>();
    assert_eq!(kept.len(), 5);
    assert_eq!(
        keeps(&drivers[0], "bob", 1, limits).await,
        ApprovalVerdict::Waits
    );
    for number in &kept {
        assert!(
            takes(&drivers[1], "alice", &waiting(*number).id).await,
            "action {number} still waits"
        );
    }
    assert_eq!(
        keeps(&drivers[0], "alice", 50, limits).await,
        ApprovalVerdict::Waits
    );
}

/// The bytes of an agent's actions are bounded, to the byte.
pub async fn bytes_of_actions_are_bounded(store: &impl AgentStoreUnderTest) {
    let driver = Driver::of(store).await;
    let bytes = 2 * waiting(1).size();
    let limits = |bytes| ApprovalLimits {
        bytes,
        turn: u32::MAX,
        ..ApprovalLimits::default()
    };
    assert_eq!(
        keeps(&driver, "alice", 1, limits(bytes)).await,
        ApprovalVerdict::Waits
    );
    assert_eq!(
        keeps(&driver, "alice", 2, limits(bytes - 1)).await,
        ApprovalVerdict::Full(ApprovalLimit::Bytes)
    );
    assert_eq!(
        keeps(&driver, "alice", 2, limits(bytes)).await,
        ApprovalVerdict::Waits
    );
    assert!(takes(&driver, "alice", &waiting(1).id).await);
    assert_eq!(
        keeps(&driver, "alice", 3, limits(bytes)).await,
        ApprovalVerdict::Waits,
        "the bytes are free again"
    );
}

/// An expired action is neither read nor taken, and makes room.
pub async fn action_expires<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    let limits = ApprovalLimits {
        session: 2,
        turn: u32::MAX,
        ..ApprovalLimits::default()
    };
    let short = driver
        .0
        .keep_action("alice", &waiting(1), T::TICK * 4, limits)
        .await;
    assert_eq!(short, Ok(ApprovalVerdict::Waits));
    let long = driver
        .0
        .keep_action("alice", &waiting(2), Duration::MAX, limits)
        .await;
    assert_eq!(long, Ok(ApprovalVerdict::Waits));
    assert!(finds(&driver, "alice", &waiting(1).id).await.is_some());
    store.pass(T::TICK * 5).await;
    assert_eq!(finds(&driver, "alice", &waiting(1).id).await, None);
    assert!(!takes(&driver, "alice", &waiting(1).id).await);
    assert_eq!(
        keeps(&driver, "alice", 3, limits).await,
        ApprovalVerdict::Waits
    );
    assert!(takes(&driver, "alice", &waiting(2).id).await);
}

/// Taking an action returns the time that it has left, by the store's clock.
pub async fn taken_action_has_the_time_that_is_left<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    let lifetime = T::TICK * 100;
    let kept = driver
        .0
        .keep_action("alice", &waiting(1), lifetime, ApprovalLimits::default())
        .await;
    assert_eq!(kept, Ok(ApprovalVerdict::Waits));
    store.pass(T::TICK * 2).await;
    let left = driver
        .0
        .take_action("alice", &waiting(1).id)
        .await
        .expect("the store takes")
        .expect("it waits");
    assert!(
        left > T::TICK && left + T::TICK <= lifetime,
        "{left:?} of {lifetime:?}"
    );
}
