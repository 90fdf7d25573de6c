//! Tests of grants, which approve calls before they are made.

use crate::call::mode::Mode;
use crate::session::grants::{GrantRequest, GrantVerdict};
use crate::testing::store::driver::{HOUR, StoreUnderTest, given, open, opening, text, waiting};
use std::time::Duration;
use tokio::task::JoinSet;

/// A grant comes back as it was, and its call no longer waits.
pub async fn grant_takes_the_place_of_its_call(store: &impl StoreUnderTest) {
    let session = text(store).await;
    let call = waiting(1);
    session.mint(&call, HOUR).await;

    let grant = given(1);
    let request = GrantRequest::new(&call.id, &grant, HOUR, 1);
    assert_eq!(session.grant(&request).await, GrantVerdict::Granted);
    assert_eq!(session.grants().await, [grant]);
    assert_eq!(session.pending(&call.id).await, None);
    assert!(!session.consume(&call.id).await);

    let again = given(2);
    let request = GrantRequest::new(&call.id, &again, HOUR, 9);
    assert_eq!(session.grant(&request).await, GrantVerdict::NotFound);
    assert_eq!(session.grants().await.len(), 1);
}

/// Without room for another grant the call waits on.
pub async fn full_session_keeps_the_call_of_a_grant(store: &impl StoreUnderTest) {
    let session = text(store).await;
    session.mint(&waiting(1), HOUR).await;
    session.mint(&waiting(2), HOUR).await;
    let first = waiting(1).id;
    let second = waiting(2).id;

    let grant = given(1);
    let request = GrantRequest::new(&first, &grant, HOUR, 1);
    assert_eq!(session.grant(&request).await, GrantVerdict::Granted);
    let grant = given(2);
    let request = GrantRequest::new(&second, &grant, HOUR, 1);
    assert_eq!(session.grant(&request).await, GrantVerdict::Full);
    assert_eq!(session.pending(&second).await, Some(waiting(2)));

    assert!(session.revoke(&given(1).id).await);
    assert_eq!(session.grant(&request).await, GrantVerdict::Granted);
    assert_eq!(session.grants().await, [grant]);
}

/// One of many decisions takes the call: of those with a grant and those without.
pub async fn one_of_racing_decisions_takes_the_call(store: &impl StoreUnderTest) {
    let sessions = [text(store).await, text(store).await];
    for round in 0..5 {
        sessions[0].mint(&waiting(round), HOUR).await;
        let mut racers = JoinSet::new();
        for racer in 0..16 {
            let session = sessions[racer as usize % 2].clone();
            racers.spawn(async move {
                let id = waiting(round).id;
                if racer % 4 < 2 {
                    return u32::from(session.consume(&id).await);
                }
                let grant = given(100 * round + racer);
                let request = GrantRequest::new(&id, &grant, HOUR, 100);
                u32::from(session.grant(&request).await == GrantVerdict::Granted)
            });
        }
        assert_eq!(racers.join_all().await.into_iter().sum::<u32>(), 1);
    }
}

/// The grants of a session are bounded, also over several handles.
pub async fn racing_grants_never_exceed_the_limit(store: &impl StoreUnderTest) {
    let sessions = [text(store).await, text(store).await];
    for number in 0..12 {
        sessions[0].mint(&waiting(number), HOUR).await;
    }
    let mut racers = JoinSet::new();
    for number in 0..12 {
        let session = sessions[number as usize % 2].clone();
        racers.spawn(async move {
            let id = waiting(number).id;
            let grant = given(number);
            let request = GrantRequest::new(&id, &grant, HOUR, 5);
            session.grant(&request).await
        });
    }
    let verdicts = racers.join_all().await;
    let granted = verdicts
        .iter()
        .filter(|verdict| **verdict == GrantVerdict::Granted);
    assert_eq!(granted.count(), 5);
    assert_eq!(sessions[1].grants().await.len(), 5);
}

/// The store decides which of many callers revokes a grant, and no handle sees it then.
pub async fn grant_is_revoked_once(store: &impl StoreUnderTest) {
    let sessions = [text(store).await, text(store).await];
    sessions[0].mint(&waiting(1), HOUR).await;
    let id = waiting(1).id;
    let grant = given(1);
    let request = GrantRequest::new(&id, &grant, HOUR, 1);
    assert_eq!(sessions[0].grant(&request).await, GrantVerdict::Granted);

    let mut racers = JoinSet::new();
    for racer in 0..16 {
        let session = sessions[racer % 2].clone();
        racers.spawn(async move { u32::from(session.revoke(&given(1).id).await) });
    }
    assert_eq!(racers.join_all().await.into_iter().sum::<u32>(), 1);
    for session in &sessions {
        assert_eq!(session.grants().await, []);
    }
}

/// Another process sees a grant in a later turn.
pub async fn grant_outlives_its_handle_and_its_turn(store: &impl StoreUnderTest) {
    let first = text(store).await;
    first.mint(&waiting(1), HOUR).await;
    let id = waiting(1).id;
    let grant = given(1);
    let request = GrantRequest::new(&id, &grant, HOUR, 1);
    assert_eq!(first.grant(&request).await, GrantVerdict::Granted);
    assert!(first.next_turn().await.is_some());
    drop(first);
    assert_eq!(text(store).await.grants().await, [grant]);
}

/// Another session of the same principal neither sees a grant nor revokes it.
pub async fn grant_belongs_to_its_session(store: &impl StoreUnderTest) {
    let session = text(store).await;
    let other = open(&store.handle().await, &opening("other", Mode::Text))
        .await
        .expect("the session opens");
    session.mint(&waiting(1), HOUR).await;
    let id = waiting(1).id;
    let grant = given(1);
    let request = GrantRequest::new(&id, &grant, HOUR, 1);
    assert_eq!(other.grant(&request).await, GrantVerdict::NotFound);
    assert_eq!(session.grant(&request).await, GrantVerdict::Granted);
    assert_eq!(other.grants().await, []);
    assert!(!other.revoke(&grant.id).await);
    assert_eq!(session.grants().await, [grant]);
}

/// A grant ends with its session, also for a later session of the same id.
pub async fn grant_ends_with_its_session(store: &impl StoreUnderTest) {
    let session = text(store).await;
    session.mint(&waiting(1), HOUR).await;
    session.mint(&waiting(2), HOUR).await;
    let id = waiting(1).id;
    let grant = given(1);
    let request = GrantRequest::new(&id, &grant, HOUR, 9);
    assert_eq!(session.grant(&request).await, GrantVerdict::Granted);
    session.end().await;

    let second = waiting(2).id;
    let late = GrantRequest::new(&second, &grant, HOUR, 9);
    assert_eq!(session.grant(&late).await, GrantVerdict::NotFound);
    assert_eq!(session.grants().await, []);
    assert!(!session.revoke(&grant.id).await);
    assert_eq!(text(store).await.grants().await, []);
    assert_eq!(session.grants().await, [], "of the earlier session");
}

/// Ids that were made up revoke nothing, and no grant is made for an unknown call.
pub async fn unknown_ids_find_no_grant(store: &impl StoreUnderTest) {
    let session = text(store).await;
    session.mint(&waiting(1), HOUR).await;
    let id = waiting(1).id;
    let grant = given(1);
    let request = GrantRequest::new(&id, &grant, HOUR, 9);
    assert_eq!(session.grant(&request).await, GrantVerdict::Granted);
    for id in ["", "*", &"0".repeat(32), &"x".repeat(100_000), "\u{0}"] {
        assert!(!session.revoke(id).await);
        let other = given(2);
        let request = GrantRequest::new(id, &other, HOUR, 9);
        assert_eq!(session.grant(&request).await, GrantVerdict::NotFound);
    }
    assert_eq!(session.grants().await, [grant]);
}

/// A grant ends after its lifetime, and makes room for another.
pub async fn grant_ends_after_its_lifetime<S: StoreUnderTest>(store: &S) {
    let session = text(store).await;
    for number in 1..4 {
        session.mint(&waiting(number), HOUR).await;
    }
    let calls = [waiting(1).id, waiting(2).id, waiting(3).id];
    let short = given(1);
    let long = given(2);
    let request = GrantRequest::new(&calls[0], &short, 3 * S::TICK, 2);
    assert_eq!(session.grant(&request).await, GrantVerdict::Granted);
    let request = GrantRequest::new(&calls[1], &long, Duration::from_secs(3_000), 2);
    assert_eq!(session.grant(&request).await, GrantVerdict::Granted);
    assert_eq!(session.grants().await.len(), 2);

    store.pass(6 * S::TICK).await;
    assert_eq!(session.grants().await, [long]);
    assert!(!session.revoke(&short.id).await);
    let request = GrantRequest::new(&calls[2], &short, HOUR, 2);
    assert_eq!(session.grant(&request).await, GrantVerdict::Granted);
}

/// A call that has expired gives no grant.
pub async fn expired_call_gives_no_grant<S: StoreUnderTest>(store: &S) {
    let session = text(store).await;
    session.mint(&waiting(1), S::TICK).await;
    store.pass(3 * S::TICK).await;
    let id = waiting(1).id;
    let grant = given(1);
    let request = GrantRequest::new(&id, &grant, HOUR, 9);
    assert_eq!(session.grant(&request).await, GrantVerdict::NotFound);
    assert_eq!(session.grants().await, []);
}
