//! Tests of the list of a principal's calls that wait for approval.

use crate::call::mode::Mode;
use crate::session::approvals::PendingCall;
use crate::session::grants::{GrantRequest, GrantVerdict};
use crate::session::store::{OpenRequest, SessionStore};
use crate::testing::store::driver::{
    HOUR, StoreUnderTest, TestSession, approvals_of, given, open, opening, waiting,
};
use futures_util::future::join_all;
use std::collections::HashSet;
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

async fn session_of(store: &impl StoreUnderTest, id: &str, principal: &str) -> TestSession {
    let request = OpenRequest {
        principal: principal.into(),
        ..opening(id, Mode::Text)
    };
    open(&store.handle().await, &request)
        .await
        .expect("the session opens")
}

fn numbered(calls: &[PendingCall]) -> Vec<&str> {
    calls
        .iter()
        .map(|call| call.id.trim_start_matches('0'))
        .collect()
}

/// The calls of all sessions are listed as they were, those that expire first come first.
pub async fn calls_of_all_sessions_are_listed_by_expiry(store: &impl StoreUnderTest) {
    let one = session_of(store, "one", "ada").await;
    let other = session_of(store, "other", "ada").await;
    one.mint(&waiting(1), HOUR).await;
    one.mint(&waiting(3), HOUR + 2 * MINUTE).await;
    other.mint(&waiting(2), HOUR + MINUTE).await;
    drop((one, other));
    let listed = approvals_of(&store.handle().await, "ada", 10).await;
    assert_eq!(listed, [waiting(1), waiting(2), waiting(3)]);
}

/// A principal sees no call of another one, however much alike their names are.
pub async fn calls_of_another_principal_are_not_listed(store: &impl StoreUnderTest) {
    let names = [
        "", "ada", "ada ", "Ada", "a", "%", "%25", "a:b", "}", "\u{0}", "%00", "*",
    ];
    for (number, name) in (1..).zip(names) {
        let session = session_of(store, &format!("session {number}"), name).await;
        session.mint(&waiting(number), HOUR).await;
    }
    let handle = store.handle().await;
    for (number, name) in (1..).zip(names) {
        let listed = approvals_of(&handle, name, 10).await;
        assert_eq!(listed, [waiting(number)], "the calls of {name:?}");
    }
    assert_eq!(approvals_of(&handle, "nobody", 10).await, []);
}

/// A call that was decided on is not listed.
pub async fn decided_calls_are_not_listed(store: &impl StoreUnderTest) {
    let session = session_of(store, "one", "ada").await;
    for number in 1..4 {
        session.mint(&waiting(number), HOUR).await;
    }
    assert!(session.consume(&waiting(1).id).await);
    let id = waiting(2).id;
    let grant = given(1);
    let request = GrantRequest::new(&id, &grant, HOUR, 9);
    assert_eq!(session.grant(&request).await, GrantVerdict::Granted);
    let listed = approvals_of(&store.handle().await, "ada", 10).await;
    assert_eq!(listed, [waiting(3)]);
}

/// The calls of a session that has ended are not listed, also not under a later one of its id.
pub async fn calls_of_an_ended_session_are_not_listed(store: &impl StoreUnderTest) {
    let ended = session_of(store, "one", "ada").await;
    ended.mint(&waiting(1), HOUR).await;
    let open = session_of(store, "other", "ada").await;
    open.mint(&waiting(2), HOUR).await;
    ended.end().await;
    let handle = store.handle().await;
    assert_eq!(approvals_of(&handle, "ada", 10).await, [waiting(2)]);

    let later = session_of(store, "one", "bob").await;
    later.mint(&waiting(3), HOUR).await;
    assert_eq!(approvals_of(&handle, "ada", 10).await, [waiting(2)]);
    assert_eq!(approvals_of(&handle, "bob", 10).await, [waiting(3)]);
}

/// Each call is on one page, in order, although calls are decided on between the pages.
pub async fn pages_have_each_waiting_call_once(store: &impl StoreUnderTest) {
    let sessions = [
        session_of(store, "one", "ada").await,
        session_of(store, "other", "ada").await,
    ];
    for number in 1..10 {
        let lifetime = HOUR + number * MINUTE;
        sessions[number as usize % 2]
            .mint(&waiting(number), lifetime)
            .await;
    }
    let handle = store.handle().await;
    for limit in [1, 2, 4, 9, 100] {
        let listed = approvals_of(&handle, "ada", limit).await;
        let expected = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];
        assert_eq!(numbered(&listed), expected, "{limit} a page");
    }

    let first = SessionStore::approvals_of(&handle, "ada", None, 4).await;
    let first = first.expect("the store reads");
    assert_eq!(numbered(&first.calls), ["1", "2", "3", "4"]);
    for decided in [2, 4, 5] {
        assert!(
            sessions[decided as usize % 2]
                .consume(&waiting(decided).id)
                .await
        );
    }
    let next = first.next.as_ref();
    let second = SessionStore::approvals_of(&handle, "ada", next, 4).await;
    let second = second.expect("the store reads");
    let listed = numbered(&second.calls);
    let is_in_order = ["6", "7", "8", "9"].starts_with(&listed);
    assert!(is_in_order && listed.len() >= 3, "{listed:?}");
}

/// Calls that expire in the same moment are all listed, however few are on a page.
pub async fn calls_of_one_moment_are_all_listed(store: &impl StoreUnderTest) {
    // So many that some have the same time.
    let calls = (0..48).map(waiting).collect::<Vec<_>>();
    for (number, calls) in calls.chunks(16).enumerate() {
        let session = session_of(store, &number.to_string(), "ada").await;
        join_all(calls.iter().map(|call| session.mint(call, HOUR))).await;
    }
    let handle = store.handle().await;
    for limit in [1, 2, 100] {
        let listed = approvals_of(&handle, "ada", limit).await;
        let ids = listed.iter().map(|call| &call.id).collect::<HashSet<_>>();
        assert_eq!((listed.len(), ids.len()), (48, 48), "{limit} a page");
    }
}

/// A call that has expired is not listed, nor is one of a session that has.
pub async fn expired_calls_are_not_listed<S: StoreUnderTest>(store: &S) {
    let session = session_of(store, "one", "ada").await;
    session.mint(&waiting(1), S::TICK).await;
    session.mint(&waiting(2), HOUR).await;
    let unused = OpenRequest {
        principal: "ada".into(),
        idle_timeout: 2 * S::TICK,
        ..opening("other", Mode::Text)
    };
    let unused = open(&store.handle().await, &unused)
        .await
        .expect("the session opens");
    unused.mint(&waiting(3), HOUR).await;
    store.pass(5 * S::TICK).await;
    let listed = approvals_of(&store.handle().await, "ada", 10).await;
    assert_eq!(listed, [waiting(2)]);
}
